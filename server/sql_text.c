/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/sql_text.h"

#include "common/check.h"

static void *copy(const void *data, size_t len)
{
	char *p = xcalloc(len + 1, 1);

	if (len)
		memcpy(p, data, len);
	return p;
}

/* The array of pointers and its texts in one piece. */
static void *copy_texts(const char *const *v, size_t n)
{
	size_t bytes = n * sizeof(char *);
	char **p;
	char *at;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(v[i]) + 1;
	p = xcalloc(bytes + 1, 1);
	at = (char *)(p + n);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(v[i]) + 1;

		memcpy(at, v[i], len);
		p[i] = at;
		at += len;
	}
	return p;
}

unsigned int sql_param(struct sql *q, struct db_param p)
{
	CHECK(q->n < SQL_PARAMS_MAX);
	switch (p.type) {
	case DB_TEXT:
	case DB_JSON:
	case DB_BYTES:
	case DB_UUID:
		if (!p.null)
			p.data = q->owned[q->n] = copy(p.data, p.len);
		break;
	case DB_TEXTS:
		p.data = q->owned[q->n] = copy_texts(p.data, p.len);
		break;
	case DB_I64S:
		p.data = q->owned[q->n] = copy(p.data, p.len * sizeof(int64_t));
		break;
	default:
		break;
	}
	q->params[q->n] = p;
	return (unsigned int)++q->n;
}

void sql_init(struct sql *q, const struct query *base, const struct db_param *params, size_t n)
{
	memset(q, 0, sizeof(*q));
	strbuf_puts(&q->text, base->text);
	for (size_t i = 0; i < n; i++)
		(void)sql_param(q, params[i]);
}

void sql_done(struct sql *q)
{
	for (size_t i = 0; i < q->n; i++)
		free(q->owned[i]);
	strbuf_done(&q->text);
	q->n = 0;
}

void sql_replace(struct sql *q, const char *marked, const char *with)
{
	char *at = strstr(q->text.data, marked);
	struct strbuf out = {0};

	CHECK(at && !strstr(at + 1, marked));
	strbuf_add(&out, q->text.data, (size_t)(at - q->text.data));
	strbuf_puts(&out, with);
	strbuf_puts(&out, at + strlen(marked));
	strbuf_done(&q->text);
	q->text = out;
}

void sql_run(const struct sql *q, struct db *db, struct pending_list *owner, db_on_result on_result,
	     void *ctx)
{
	struct query statement = {NULL, q->text.data};

	db_query(db, DB_QUERY, &statement, q->params, q->n, DB_DEADLINE_MS, owner, on_result, ctx);
}
