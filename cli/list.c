/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/list.h"

#include <math.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "common/parse.h"

#define PAGES_MAX   10000
#define COLUMNS_MAX 16

enum form { FORM_TABLE, FORM_JSON, FORM_CSV };

struct list_request {
	struct strbuf url;
	const char *server;
	enum form form;
	bool all;
};

static void add_parameter(struct strbuf *url, const char *key, const char *value)
{
	strbuf_printf(url, "%c%s=", strchr(url->data, '?') ? '&' : '?', key);
	client_escape(value, url);
}

static int parse(const struct list_verb *v, int argc, char **argv, struct list_request *rq,
		 struct err *reterr)
{
	struct args a = {.argv = argv, .argc = argc, .at = 1};

	strbuf_puts(&rq->url, v->path);
	for (;;) {
		const char *value;
		int id = args_next(&a, v->options, &value, reterr);

		if (id == ARG_END)
			return 0;
		if (id < 0)
			return id;
		if (id == ARG_OPERAND && !v->operand)
			return err_set(reterr, ERR_INVALID, "%s takes no %.60s", v->name, value);
		if (id == ARG_OPERAND)
			add_parameter(&rq->url, v->operand, value);
		else if (id == LIST_SERVER)
			rq->server = value;
		else if (id == LIST_JSON)
			rq->form = FORM_JSON;
		else if (id == LIST_CSV)
			rq->form = FORM_CSV;
		else if (id == LIST_ALL)
			rq->all = true;
		else
			add_parameter(&rq->url, v->parameters[id - LIST_PARAMETER], value);
	}
}

static const json_t *at_path(const json_t *item, const char *path)
{
	while (item && *path) {
		char key[40];
		size_t n = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		item = json_object_get(item, key);
		path += n + (path[n] == '.');
	}
	return item;
}

static void put_labels(const json_t *v, struct strbuf *out)
{
	const char *key;
	json_t *level;

	json_object_foreach((json_t *)v, key, level)
		strbuf_printf(out, "%s%s=%s", out->len ? "," : "", key, json_string_value(level));
}

static void put_list(const json_t *v, struct strbuf *out)
{
	size_t i;
	json_t *one;

	json_array_foreach(v, i, one)
	{
		const char *name = json_is_object(one)
					   ? json_string_value(json_object_get(one, "name"))
					   : json_string_value(one);

		strbuf_printf(out, "%s%s", i ? "," : "", name ? name : "?");
	}
}

static void put_bytes(double n, struct strbuf *out)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t u = 0;

	for (; n >= 1024 && u + 1 < ARRAY_LEN(units); u++)
		n /= 1024;
	strbuf_printf(out, "%.3g %s", n, units[u]);
}

/* Control characters of a hostile server do not reach the terminal. */
static void clean(struct strbuf *out)
{
	for (size_t i = 0; i < out->len; i++)
		if ((unsigned char)out->data[i] < ' ' || out->data[i] == 127)
			out->data[i] = '?';
}

static char *cell_text(const struct list_column *c, const json_t *item, bool plain)
{
	const json_t *v = at_path(item, c->path);
	struct strbuf out = {0};
	char buf[40];

	strbuf_puts(&out, "");
	if (c->kind == COLUMN_LABELS)
		put_labels(v, &out);
	else if (c->kind == COLUMN_LIST)
		put_list(v, &out);
	else if (c->kind == COLUMN_NS && json_is_number(v) && !plain)
		strbuf_puts(&out, format_ns(json_number_value(v), buf, sizeof(buf)));
	else if (c->kind == COLUMN_BYTES && json_is_number(v) && !plain)
		put_bytes(json_number_value(v), &out);
	else if (json_is_string(v))
		strbuf_puts(&out, json_string_value(v));
	else if (json_is_number(v))
		strbuf_printf(&out, "%.15g", json_number_value(v));
	clean(&out);
	return strbuf_take(&out);
}

/* --- output --- */

static void put_table(const struct list_verb *v, const json_t *items, struct strbuf *out)
{
	size_t rows = json_array_size(items), width[COLUMNS_MAX];
	char **cells = xcalloc(rows * v->n + 1, sizeof(*cells));

	for (size_t c = 0; c < v->n; c++) {
		width[c] = strlen(v->columns[c].title);
		for (size_t r = 0; r < rows; r++) {
			char *text = cell_text(&v->columns[c], json_array_get(items, r), false);

			cells[r * v->n + c] = text;
			if (strlen(text) > width[c])
				width[c] = strlen(text);
		}
	}
	for (size_t c = 0; c < v->n; c++)
		strbuf_printf(out, "%*s%s", c + 1 < v->n ? -(int)width[c] : 0, v->columns[c].title,
			      c + 1 < v->n ? "  " : "\n");
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < v->n; c++) {
			bool right = v->columns[c].kind == COLUMN_NUMBER ||
				     v->columns[c].kind == COLUMN_NS ||
				     v->columns[c].kind == COLUMN_BYTES;
			int w = (int)width[c];

			strbuf_printf(out, "%*s%s",
				      right	     ? w
				      : c + 1 < v->n ? -w
						     : 0,
				      cells[r * v->n + c], c + 1 < v->n ? "  " : "\n");
			free(cells[r * v->n + c]);
		}
	free(cells);
}

static void put_csv(const struct list_verb *v, const json_t *items, struct strbuf *out)
{
	for (size_t c = 0; c < v->n; c++)
		strbuf_printf(out, "%s%s", v->columns[c].path, c + 1 < v->n ? "," : "\r\n");
	for (size_t r = 0; r < json_array_size(items); r++)
		for (size_t c = 0; c < v->n; c++) {
			CLEANUP(freep)
			char *text = cell_text(&v->columns[c], json_array_get(items, r), true);

			strbuf_put_csv(out, text);
			strbuf_puts(out, c + 1 < v->n ? "," : "\r\n");
		}
}

static int print(const struct list_verb *v, const struct list_request *rq, const json_t *items,
		 bool more)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};

	if (rq->form == FORM_JSON) {
		char *text = json_dumps(items, JSON_INDENT(1));

		strbuf_printf(&out, "{\"items\":%s}\n", text);
		free(text);
	} else if (rq->form == FORM_CSV) {
		put_csv(v, items, &out);
	} else {
		put_table(v, items, &out);
	}
	if (more)
		fprintf(stderr, "rigstat: there are more; --all shows every one\n");
	return cli_print(&out);
}

/* One page; *ret_next is the path of the next one, NULL at the end. Owned by the caller. */
static int fetch(const char *server, const char *path, json_t *items, char **ret_next,
		 struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	int r = client_request(server, path, NULL, &answer, reterr);
	const char *next;
	json_error_t je;
	json_t *page;

	*ret_next = NULL;
	if (r < 0)
		return r;
	page = json_loadb(answer.body.data, answer.body.len, 0, &je);
	if (!json_is_array(json_object_get(page, "items"))) {
		json_decref(page);
		return err_set(reterr, ERR_REMOTE, "%s%s: not a list: is it a rigstat-server?",
			       server, path);
	}
	json_array_extend(items, json_object_get(page, "items"));
	next = json_string_value(json_object_get(page, "next"));
	if (next && *next == '/')
		*ret_next = xstrdup(next);
	json_decref(page);
	return 0;
}

static int fetch_all(const struct list_request *rq, const char *server, json_t *items,
		     bool *ret_more, struct err *reterr)
{
	CLEANUP(freep) char *path = xstrdup(rq->url.data);

	for (size_t page = 0; page < PAGES_MAX; page++) {
		char *next;
		int r = fetch(server, path, items, &next, reterr);

		if (r < 0)
			return r;
		free(path);
		path = next;
		*ret_more = next != NULL;
		if (!next || !rq->all)
			return 0;
	}
	return err_set(reterr, ERR_LIMIT, "more than %d pages", PAGES_MAX);
}

int list_run(const struct list_verb *v, int argc, char **argv)
{
	struct list_request rq = {0};
	const char *server;
	json_t *items;
	bool more = false;
	struct err e;
	int status;

	if (parse(v, argc, argv, &rq, &e) < 0) {
		strbuf_done(&rq.url);
		return cli_usage(v->name, &e);
	}
	items = json_array();
	if (client_server(rq.server, &server, &e) < 0 ||
	    fetch_all(&rq, server, items, &more, &e) < 0)
		status = cli_fail(&e);
	else
		status = print(v, &rq, items, more);
	json_decref(items);
	strbuf_done(&rq.url);
	return status;
}
