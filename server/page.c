/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of lists by key: a cursor names the last row shown, so a page never shifts when rows
 * arrive. The cursor is bound to the other parameters of its request. */
#include "server/api_common.h"

#include <stdio.h>

#include "common/crc32c.h"
#include "common/parse.h"
#include "common/suggest.h"

/* Hash of everything that chooses rows, so that a cursor cannot be used with another filter. */
static uint32_t filter_hash(const struct request *req)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};

	strbuf_add(&b, req->url, (size_t)api_path_len(req));
	for (size_t i = 0; i < req->n_query; i++) {
		if (!strcmp(req->query[i].name, "cursor") || !strcmp(req->query[i].name, "limit"))
			continue;
		strbuf_printf(&b, "&%s=%s", req->query[i].name, req->query[i].value);
	}
	return crc32c(0, b.data, b.len);
}

/* Cursor: hex of "<hash> <id> <value>". */
static bool cursor_decode(const char *text, uint32_t want_hash, struct page *p)
{
	size_t len = strlen(text), n;
	char *plain CLEANUP(freep) = xcalloc(len / 2 + 1, 1);
	unsigned int hash;
	long long id;
	int at = 0;

	if (len % 2 || strspn(text, "0123456789abcdef") != len)
		return false;
	for (n = 0; n < len / 2; n++) {
		unsigned int byte;

		if (sscanf(text + 2 * n, "%2x", &byte) != 1 || !byte)
			return false;
		plain[n] = (char)byte;
	}
	if (sscanf(plain, "%8x %lld%n", &hash, &id, &at) != 2 || plain[at] != ' ' ||
	    hash != want_hash || !text_is_clean(plain, n))
		return false;
	p->has_cursor = true;
	p->id = id;
	p->value = xstrdup(plain + at + 1);
	return true;
}

static bool read_sort(struct request *req, const struct page_sort *sorts, struct page *p)
{
	const char *wanted = request_query(req, "sort");
	const char *names[20];
	size_t n = 0;

	p->sort = &sorts[0];
	if (!wanted)
		return true;
	for (n = 0; sorts[n].name; n++) {
		names[n] = sorts[n].name;
		if (!strcmp(sorts[n].name, wanted)) {
			p->sort = &sorts[n];
			return true;
		}
	}
	(void)reply_fault(req,
			  &(struct fault){.status = 400,
					  .slug = "invalid-parameter",
					  .parameter = "sort",
					  .suggestion = suggest_nearest(wanted, names, n)},
			  "sort: '%.40s' is no key to sort by; one is '%s'", wanted, sorts[0].name);
	return false;
}

bool page_read(struct request *req, const struct page_sort *sorts, struct page *ret)
{
	const char *cursor = request_query(req, "cursor");
	int64_t unused;
	struct err err;

	memset(ret, 0, sizeof(*ret));
	if (request_query_i64(req, "limit", PAGE_LIMIT_DEFAULT, 1, PAGE_LIMIT_MAX, &ret->limit,
			      &err)) {
		(void)reply_fault(req,
				  &(struct fault){.status = 400,
						  .slug = "invalid-parameter",
						  .parameter = "limit"},
				  "%s", err.text);
		return false;
	}
	if (!read_sort(req, sorts, ret))
		return false;
	if (!cursor)
		return true;
	if (cursor_decode(cursor, filter_hash(req), ret) &&
	    (ret->sort->text || !parse_i64(ret->value, &unused, NULL)))
		return true;
	page_done(ret);
	(void)reply_fault(req,
			  &(struct fault){.status = 400,
					  .slug = "cursor",
					  .parameter = "cursor",
					  .hint = "Start again without cursor."},
			  "the cursor is damaged or belongs to a list with other filters or order");
	return false;
}

void page_done(struct page *p)
{
	free(TAKE(p->value));
}

static void list_free(void *ctx)
{
	struct page_list *l = ctx;

	sql_done(&l->sql);
	page_done(&l->page);
	free(l);
}

struct page_list *page_list_new(struct request *req)
{
	struct page_list *l = xcalloc(1, sizeof(*l));

	l->req = req;
	req->ctx = l;
	req->ctx_free = list_free;
	return l;
}

void page_sql(const struct page *p, struct sql *q, const char *id_expr)
{
	const char *dir = p->sort->desc ? "desc" : "asc";
	char *key CLEANUP(freep) = xasprintf("(%s)::text", p->sort->expr);
	char *order CLEANUP(freep) = NULL, *after CLEANUP(freep) = NULL;
	int64_t value = 0;

	if (p->has_cursor && !p->sort->text && parse_i64(p->value, &value, NULL))
		value = 0; /* page_read checked it */
	if (p->has_cursor) {
		unsigned int v = sql_param(q, p->sort->text ? P_TEXT(p->value) : P_I64(value));
		unsigned int id = sql_param(q, P_I64(p->id));

		after = xasprintf("(%s, %s) %s ($%u::%s, $%u::bigint)", p->sort->expr, id_expr,
				  p->sort->desc ? "<" : ">", v, p->sort->text ? "text" : "bigint",
				  id);
	}
	order = xasprintf("%s %s, %s %s limit $%u::bigint", p->sort->expr, dir, id_expr, dir,
			  sql_param(q, P_I64(p->limit + 1)));
	sql_replace(q, "''::text /*key*/", key);
	sql_replace(q, "true /*after*/", after ? after : "true");
	sql_replace(q, "1 /*order*/ limit 1", order);
}

json_t *page_next(struct request *req, const struct page *p, bool more, const char *last_value,
		  int64_t last_id)
{
	struct strbuf url CLEANUP(strbuf_done) = {0}, plain CLEANUP(strbuf_done) = {0};
	char *link CLEANUP(freep) = NULL;

	(void)p;
	if (!more)
		return json_null();
	strbuf_add(&url, req->url, (size_t)api_path_len(req));
	strbuf_putc(&url, '?');
	for (size_t i = 0; i < req->n_query; i++) {
		if (!strcmp(req->query[i].name, "cursor"))
			continue;
		url_escape(&url, req->query[i].name);
		strbuf_putc(&url, '=');
		url_escape(&url, req->query[i].value);
		strbuf_putc(&url, '&');
	}
	strbuf_puts(&url, "cursor=");
	strbuf_printf(&plain, "%08x %lld %s", filter_hash(req), (long long)last_id, last_value);
	hex_put(&url, plain.data, plain.len);
	link = xasprintf("<%s>; rel=\"next\"", url.data);
	reply_header(req, "Link", link);
	return json_string(url.data);
}

json_t *js_rows(const struct db_result *r, size_t n, js_row row)
{
	json_t *items = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(items, row(r, i));
	return items;
}

json_t *js_document(const struct db_result *r, size_t row)
{
	return db_json(r, row, 0);
}

json_t *page_json(struct request *req, const struct page *p, const struct db_result *r, js_row row,
		  unsigned int key, unsigned int id)
{
	size_t limit = (size_t)p->limit, rows = db_rows(r), shown = rows > limit ? limit : rows;
	const char *last = shown ? db_text(r, shown - 1, key) : "";

	return json_pack(
		"{s:o, s:o}", "items", js_rows(r, shown, row), "next",
		page_next(req, p, rows > limit, last, shown ? db_i64(r, shown - 1, id) : 0));
}
