/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/run_query.h"

#include "server/selector_sql.h"

bool run_query_selector(struct request *req, const char *parameter, const char *text,
			const char *and_also, struct sql *q, struct selector **ret)
{
	struct strbuf where CLEANUP(strbuf_done) = {0};
	struct selector_fault fault = {0};
	struct err err;

	if (!api_selector(req, parameter, text, ret))
		return false;
	strbuf_puts(&where, "true");
	if (selector_sql(*ret, q, &where, &fault, &err)) {
		(void)reply_fault(req,
				  &(struct fault){.status = 400,
						  .slug = "selector-syntax",
						  .parameter = parameter,
						  .column = fault.column},
				  "%s: %s", parameter, err.text);
		return false;
	}
	if (and_also)
		strbuf_puts(&where, and_also);
	sql_replace(q, "true /*where*/", where.data);
	return true;
}

/* ids=r_17,r_18 as a term of the selector. */
static void put_ids(struct strbuf *out, const char *ids)
{
	strbuf_puts(out, out->len ? ",run in (" : "run in (");
	strbuf_puts(out, ids);
	strbuf_putc(out, ')');
}

static void put_time(struct sql *q, struct strbuf *out, const char *op, int64_t ns)
{
	strbuf_printf(out, " and r.started_ns %s $%u::bigint", op, sql_param(q, P_I64(ns)));
}

bool run_query_where(struct request *req, struct sql *q)
{
	static const char *const equal[] = {"host", "experiment", "metric"};
	struct strbuf plain CLEANUP(strbuf_done) = {0};
	struct selector *s CLEANUP(selector_freep) = NULL, *t CLEANUP(selector_freep) = NULL;
	const char *ids = request_query(req, "ids");
	struct strbuf also CLEANUP(strbuf_done) = {0};
	int64_t since = 0, until = 0;
	struct err err;

	if (!api_time(req, "since", false, &since) || !api_time(req, "until", true, &until))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(equal); i++)
		if (request_query(req, equal[i]))
			selector_print_eq(equal[i], request_query(req, equal[i]), &plain);
	if (ids)
		put_ids(&plain, ids);
	if (!api_selector(req, ids ? "ids" : "host", plain.data, &t))
		return false;
	strbuf_puts(&also, "");
	if (selector_sql(t, q, &also, NULL, &err)) {
		(void)reply_err(req, &err);
		return false;
	}
	if (since)
		put_time(q, &also, ">=", since);
	if (until)
		put_time(q, &also, "<", until);
	return run_query_selector(req, "q", request_query(req, "q"), also.data, q, &s);
}

bool run_query_path(struct request *req, struct db_param params[2], unsigned char uid[16])
{
	const char *text = request_path(req, "run");
	int64_t id = 0;

	if (uid_bytes(text, uid)) {
		params[0] = P_NULL(DB_I64);
		params[1] = P_UUID(uid);
		return true;
	}
	if (!api_id(req, "run", 'r', &id))
		return false;
	params[0] = P_I64(id);
	params[1] = P_NULL(DB_UUID);
	return true;
}
