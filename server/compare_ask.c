/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/compare_ask.h"

#include <stdio.h>

#include "common/parse.h"

#define TEXT_MAX 4096

/* One place for both sources: a body is turned into the same named texts as a query string. */
struct source {
	struct request *req;
	const json_t *body; /* NULL: the query string */
	char number[40];    /* a number of the body as text */
};

static bool bad(struct source *s, const char *name, const char *detail)
{
	(void)reply_fault(
		s->req,
		&(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, detail);
	return false;
}

static bool get(struct source *s, const char *name, const char **ret)
{
	const json_t *v;

	*ret = NULL;
	if (!s->body) {
		*ret = request_query(s->req, name);
		return !*ret || strlen(*ret) <= TEXT_MAX || bad(s, name, "is too long");
	}
	v = json_object_get(s->body, name);
	if (json_is_boolean(v))
		*ret = json_is_true(v) ? "true" : "false";
	else if (json_is_number(v)) {
		(void)snprintf(s->number, sizeof(s->number), "%.15g", json_number_value(v));
		*ret = s->number;
	} else if (json_is_string(v)) {
		if (json_string_length(v) > TEXT_MAX ||
		    !text_is_clean(json_string_value(v), json_string_length(v)))
			return bad(s, name, "must be clean text of limited length");
		*ret = json_string_value(v);
	} else if (v && !json_is_null(v)) {
		return bad(s, name, "must be text");
	}
	return true;
}

static bool get_copy(struct source *s, const char *name, char **ret)
{
	const char *v;

	if (!get(s, name, &v))
		return false;
	if (v && *v)
		*ret = xstrdup(v);
	return true;
}

/* "p50,p99" to copies; commas inside parentheses do not split. */
static bool get_list(struct source *s, const char *name, char **ret, size_t cap, size_t *ret_n)
{
	const char *v, *start;
	int depth = 0;

	if (!get(s, name, &v))
		return false;
	for (start = v; v && *v; v++) {
		depth += *v == '(' ? 1 : *v == ')' ? -1 : 0;
		if (v[1] && (v[1] != ',' || depth))
			continue;
		if (*ret_n == cap)
			return bad(s, name, "has too many entries");
		ret[(*ret_n)++] = xstrndup(start, (size_t)(v + 1 - start));
		if (v[1] == ',')
			v++;
		start = v + 1;
	}
	return true;
}

static bool get_flag(struct source *s, const char *name, bool *ret)
{
	const char *v;

	if (!s->body)
		return api_flag(s->req, name, ret);
	if (!get(s, name, &v))
		return false;
	*ret = v && !strcmp(v, "true");
	return !v || *ret || !strcmp(v, "false") || bad(s, name, "must be true or false");
}

/* "5%" or "0.05". */
static bool get_share(struct source *s, const char *name, double *ret)
{
	char *text CLEANUP(freep) = NULL;
	const char *v;
	struct err err;
	size_t len;

	if (!get(s, name, &v) || !v || !*v)
		return !v || !*v;
	text = xstrdup(v);
	len = strlen(text);
	if (text[len - 1] == '%')
		text[len - 1] = 0;
	if (parse_double(text, ret, &err))
		return bad(s, name, err.text);
	if (v[len - 1] == '%')
		*ret /= 100;
	return true;
}

static bool get_labels(struct source *s, struct labels *ret)
{
	struct selector *l CLEANUP(selector_freep) = NULL;
	const char *v;

	if (!get(s, "labels", &v) || !api_selector(s->req, "labels", v, &l))
		return false;
	for (size_t i = 0; i < l->n; i++) {
		if (l->terms[i].op != SELECTOR_EQ || l->terms[i].scope == SELECTOR_FIELD)
			return bad(s, "labels", "write name=value, as cpu=0");
		labels_set(ret, l->terms[i].key, l->terms[i].values[0]);
	}
	return true;
}

static bool get_gate_mode(struct source *s, enum gate_mode *ret)
{
	const char *v;
	struct err err;

	if (!get(s, "gate_mode", &v))
		return false;
	return !v || !gate_mode_parse(v, ret, &err) || bad(s, "gate_mode", err.text);
}

/* "47us", or a number in the metric's unit. */
static bool get_threshold(struct source *s, int64_t *ret)
{
	const char *v;
	struct err err;

	if (!get(s, "tail", &v) || !v || !*v)
		return !v || !*v;
	if ((parse_duration(v, ret, &err) && parse_i64(v, ret, &err)) || *ret <= 0)
		return bad(s, "tail", "a threshold such as 47us");
	return true;
}

static bool add_side(struct source *s, const char *name, const char *text, struct compare_ask *a)
{
	if (!text || !*text) {
		(void)reply_fault(s->req,
				  &(struct fault){.status = 400,
						  .slug = "missing-parameter",
						  .parameter = name},
				  "%s: a selector is needed, as %s=experiment=rq,rq_affinity=%d",
				  name, name, *name == 'b');
		return false;
	}
	if (a->n_sides == COMPARE_SIDES_MAX)
		return bad(s, name, "at most five sides against A");
	a->sides[a->n_sides++] = xstrdup(text);
	return true;
}

static bool sides_from_query(struct source *s, struct compare_ask *a)
{
	const char *b[REQUEST_QUERY_PARAMS_MAX];
	size_t n = request_query_all(s->req, "b", b, ARRAY_LEN(b));

	if (!add_side(s, "a", request_query(s->req, "a"), a))
		return false;
	if (!n) /* a gate may judge one side alone: the rules say whether they need another */
		return request_query(s->req, "gate") || add_side(s, "b", NULL, a);
	for (size_t i = 0; i < n; i++)
		if (!add_side(s, "b", b[i], a))
			return false;
	return true;
}

static bool sides_from_body(struct source *s, struct compare_ask *a)
{
	const json_t *b = json_object_get(s->body, "b");
	const char *v;

	if (!get(s, "a", &v) || !add_side(s, "a", v, a))
		return false;
	if (!json_is_array(b))
		return get(s, "b", &v) && add_side(s, "b", v, a);
	if (!json_array_size(b))
		return add_side(s, "b", NULL, a);
	for (size_t i = 0; i < json_array_size(b); i++) {
		v = json_string_value(json_array_get(b, i));
		if (v && strlen(v) > TEXT_MAX)
			return bad(s, "b", "is too long");
		if (!add_side(s, "b", v, a))
			return false;
	}
	return true;
}

static bool read_all(struct source *s, struct compare_ask *a)
{
	if (!get_copy(s, "metric", &a->metric) || !get_copy(s, "primary", &a->primary) ||
	    !get_copy(s, "factor", &a->factor) ||
	    !get_list(s, "stat", a->stats, COMPARE_STATS_MAX, &a->n_stats) ||
	    !get_list(s, "gate", a->rules, COMPARE_RULES_MAX, &a->n_rules) ||
	    !get_gate_mode(s, &a->gate_mode) || !get_labels(s, &a->labels) ||
	    !get_share(s, "ci", &a->confidence) || !get_share(s, "margin", &a->margin_rel) ||
	    !get_flag(s, "anyway", &a->anyway) || !get_flag(s, "corrected", &a->corrected) ||
	    !get_flag(s, "history", &a->history) || !get_threshold(s, &a->tail_threshold))
		return false;
	if (a->confidence != 0 && !(a->confidence >= 0.5 && a->confidence <= 0.9999))
		return bad(s, "ci", "between 0.5 and 0.9999, as 0.95");
	if (a->margin_rel != -1 && !(a->margin_rel >= 0 && a->margin_rel <= 10))
		return bad(s, "margin", "a share such as 5% or 0.05");
	return true;
}

bool compare_ask_from_query(struct request *req, struct compare_ask *ret)
{
	struct source s = {.req = req};

	*ret = (struct compare_ask){.margin_rel = -1};
	return sides_from_query(&s, ret) && read_all(&s, ret);
}

bool compare_ask_from_body(struct request *req, const json_t *body, struct compare_ask *ret)
{
	struct source s = {.req = req, .body = body};

	*ret = (struct compare_ask){.margin_rel = -1};
	return sides_from_body(&s, ret) && read_all(&s, ret);
}

void compare_ask_done(struct compare_ask *a)
{
	for (size_t i = 0; i < a->n_sides; i++)
		free(a->sides[i]);
	for (size_t i = 0; i < a->n_stats; i++)
		free(a->stats[i]);
	for (size_t i = 0; i < a->n_rules; i++)
		free(a->rules[i]);
	free(a->metric);
	free(a->primary);
	free(a->factor);
	labels_done(&a->labels);
	memset(a, 0, sizeof(*a));
}

static void put(struct strbuf *out, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	if (out->len)
		strbuf_putc(out, '&');
	strbuf_puts(out, name);
	strbuf_putc(out, '=');
	url_escape(out, value);
}

static void put_list(struct strbuf *out, const char *name, char *const *v, size_t n)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};

	for (size_t i = 0; i < n; i++) {
		strbuf_puts(&text, i ? "," : "");
		strbuf_puts(&text, v[i]);
	}
	put(out, name, text.data);
}

static void put_real(struct strbuf *out, const char *name, double v)
{
	char text[40];

	(void)snprintf(text, sizeof(text), "%.15g", v);
	put(out, name, text);
}

void compare_ask_query(const struct compare_ask *a, struct strbuf *out)
{
	struct strbuf labels CLEANUP(strbuf_done) = {0};

	for (size_t i = 0; i < a->n_sides; i++)
		put(out, i ? "b" : "a", a->sides[i]);
	for (size_t i = 0; i < a->labels.len; i++)
		selector_print_eq(a->labels.v[i].key, a->labels.v[i].value, &labels);
	put(out, "metric", a->metric);
	put_list(out, "stat", a->stats, a->n_stats);
	if (a->confidence != 0)
		put_real(out, "ci", a->confidence);
	if (a->margin_rel >= 0)
		put_real(out, "margin", a->margin_rel);
	put(out, "primary", a->primary);
	put(out, "factor", a->factor);
	put(out, "labels", labels.data);
	if (a->tail_threshold) {
		char text[32];

		(void)snprintf(text, sizeof(text), "%lld", (long long)a->tail_threshold);
		put(out, "tail", text);
	}
	put(out, "anyway", a->anyway ? "true" : NULL);
	put(out, "history", a->history ? "true" : NULL);
	put(out, "corrected", a->corrected ? "true" : NULL);
	put_list(out, "gate", a->rules, a->n_rules);
	put(out, "gate_mode", a->gate_mode == GATE_NORMAL ? NULL : gate_mode_name(a->gate_mode));
}
