/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /compare, /compare/gate.txt and /profile/diff. */
#include "server/api.h"
#include "server/compare_job.h"
#include "server/server.h"

static const struct {
	const char *name, *media, *type;
	enum compare_format format;
} formats[] = {
	{"json", "json application/json", "application/json", COMPARE_JSON},
	{"text", "text text/plain", "text/plain; charset=utf-8", COMPARE_TEXT},
	{"csv", "csv text/csv", "text/csv; charset=utf-8", COMPARE_CSV},
	{"markdown", "markdown text/markdown", "text/markdown; charset=utf-8", COMPARE_MARKDOWN},
	{"svg", "svg image/svg+xml", "image/svg+xml", COMPARE_SVG},
	{"junit", "junit application/xml", "application/xml", COMPARE_JUNIT},
};

bool compare_choose_format(struct request *req, unsigned int allowed, enum compare_format *ret)
{
	const char *media[ARRAY_LEN(formats) + 1] = {0}, *chosen;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (allowed & formats[i].format)
			media[n++] = formats[i].media;
	chosen = request_format(req, media);
	for (size_t i = 0; chosen && i < ARRAY_LEN(formats); i++) {
		if (format_is(chosen, formats[i].name)) {
			*ret = formats[i].format;
			return true;
		}
	}
	(void)reply_fault(
		req,
		&(struct fault){.status = 406, .slug = "not-acceptable", .parameter = "format"},
		"format: one of json, text, csv, markdown, svg%s",
		allowed & COMPARE_JUNIT ? ", junit" : "");
	return false;
}

const char *compare_format_type(enum compare_format f)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (formats[i].format == f)
			return formats[i].type;
	return "application/octet-stream";
}

/* One of the words; static text. */
static bool choose(struct request *req, const char *name, const char *const *words,
		   const char **ret)
{
	const char *v = request_query(req, name);

	for (*ret = words[0]; v && *words; words++) {
		if (!strcmp(*words, v)) {
			*ret = *words;
			return true;
		}
	}
	if (v)
		(void)reply_fault(req,
				  &(struct fault){.status = 400,
						  .slug = "invalid-parameter",
						  .parameter = name},
				  "%s: '%.40s' is not known; one is '%s'", name, v, *ret);
	return !v;
}

bool compare_chart_params(struct request *req, const char **ret_chart, bool *ret_dark)
{
	static const char *const charts[] = {"histogram", "percentiles", "shift",
					     "ccdf",	  "runs",	 NULL};
	static const char *const themes[] = {"light", "dark", NULL};
	const char *theme;

	if (!choose(req, "chart", charts, ret_chart) || !choose(req, "theme", themes, &theme))
		return false;
	*ret_dark = !strcmp(theme, "dark");
	return true;
}

static const char *gate_text(enum gate_result g)
{
	static const char *const words[] = {"pass", "fail", "inconclusive"};

	return words[g];
}

/* A comparison of the same runs by the same program is the same bytes. */
static bool on_resolved(struct request *req, const char *tag)
{
	return !reply_etag(req, tag, false, false);
}

static void on_done(struct request *req, void *ctx, struct compare_result *r)
{
	enum compare_format f = (enum compare_format)(uintptr_t)ctx;

	if (r->gated)
		reply_header(req, "X-Gate", gate_text(r->gate));
	(void)reply_buf(req, 200, compare_format_type(f), &r->out[__builtin_ctz(f)]);
}

enum step api_compare(struct request *req)
{
	static const char *const names[] = {COMPARE_ASK_PARAMS, "format", "chart", "theme", NULL};
	struct compare_call call = {.on_resolved = on_resolved, .on_done = on_done};
	enum compare_format f = COMPARE_JSON;

	if (!api_params(req, names) ||
	    !compare_choose_format(req,
				   COMPARE_JSON | COMPARE_TEXT | COMPARE_CSV | COMPARE_MARKDOWN |
					   COMPARE_SVG | COMPARE_JUNIT,
				   &f) ||
	    !compare_chart_params(req, &call.chart, &call.dark))
		return STEP_DONE;
	if (!compare_ask_from_query(req, &call.ask)) {
		compare_ask_done(&call.ask);
		return STEP_DONE;
	}
	if (f == COMPARE_JUNIT && !call.ask.n_rules) {
		compare_ask_done(&call.ask);
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "missing-parameter",
						   .parameter = "gate"},
				   "format=junit reports a gate: give gate=p99<=+5%%");
	}
	call.formats = f;
	call.ctx = (void *)(uintptr_t)f;
	return compare_start(req, &call);
}

/* ---- profiles: the same runs, another question ---- */

enum step api_profile_diff(struct request *req)
{
	static const char *const names[] = {"a",      "b",	"metric", "ci", "margin",
					    "factor", "anyway", "format", NULL};
	struct compare_call call = {
		.on_resolved = on_resolved, .on_done = on_done, .profile = true};
	enum compare_format f = COMPARE_JSON;

	if (!api_params(req, names) ||
	    !compare_choose_format(
		    req, COMPARE_JSON | COMPARE_TEXT | COMPARE_CSV | COMPARE_MARKDOWN, &f))
		return STEP_DONE;
	if (!compare_ask_from_query(req, &call.ask)) {
		compare_ask_done(&call.ask);
		return STEP_DONE;
	}
	if (call.ask.n_sides != 2) {
		compare_ask_done(&call.ask);
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "invalid-parameter",
						   .parameter = "b"},
				   "b: profiles are compared two sides at a time");
	}
	call.formats = f;
	call.ctx = (void *)(uintptr_t)f;
	return compare_start(req, &call);
}

/* ---- for shells ---- */

static void on_gate_done(struct request *req, void *ctx, struct compare_result *r)
{
	static const char *const words[] = {"PASS", "FAIL", "INCONCLUSIVE"};
	struct strbuf *text = &r->out[__builtin_ctz(COMPARE_TEXT)], body = {0};

	(void)ctx;
	strbuf_printf(&body, "%s\n\n", words[r->gate]);
	strbuf_add(&body, text->data, text->len);
	reply_header(req, "X-Gate", gate_text(r->gate));
	(void)reply_buf(req, 200, "text/plain; charset=utf-8", &body);
}

enum step api_compare_gate(struct request *req)
{
	static const char *const names[] = {COMPARE_ASK_PARAMS, NULL};
	struct compare_call call = {.on_done = on_gate_done, .formats = COMPARE_TEXT};

	if (!api_params(req, names))
		return STEP_DONE;
	if (!compare_ask_from_query(req, &call.ask)) {
		compare_ask_done(&call.ask);
		return STEP_DONE;
	}
	if (!call.ask.n_rules) {
		compare_ask_done(&call.ask);
		return reply_fault(req,
				   &(struct fault){.status = 400,
						   .slug = "missing-parameter",
						   .parameter = "gate"},
				   "gate: give a rule, as gate=p99<=+5%%");
	}
	return compare_start(req, &call);
}
