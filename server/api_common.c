/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/api_common.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/parse.h"
#include "common/suggest.h"

/* ---- problems ---- */

static const struct {
	const char *slug, *title;
} titles[] = {
	{"unknown-parameter", "Parameter is not known"},
	{"invalid-parameter", "Parameter cannot be read"},
	{"missing-parameter", "Parameter is missing"},
	{"selector-syntax", "Selector cannot be read"},
	{"invalid-body", "Body cannot be read"},
	{"cursor", "Cursor does not fit"},
	{"import-syntax", "File cannot be read"},
	{"no-runs", "No run matches"},
	{"not-acceptable", "Format is not offered"},
	{"already-imported", "Already imported with other labels"},
};

static const char *title_of(const char *slug)
{
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (!strcmp(titles[i].slug, slug))
			return titles[i].title;
	return slug;
}

int api_path_len(const struct request *req)
{
	return (int)strcspn(req->url, "?");
}

enum step reply_fault(struct request *req, const struct fault *f, const char *fmt, ...)
{
	char detail[600], type[100];
	struct strbuf body = {0};
	json_t *o, *e;
	va_list ap;
	char *text;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	(void)snprintf(type, sizeof(type), "/problems/%s", f->slug);
	o = json_pack("{s:s, s:s, s:i, s:o, s:o, s:s}", "type", type, "title", title_of(f->slug),
		      "status", f->status, "detail", js_text(detail), "instance", js_text(req->url),
		      "request_id", req->id);
	if (f->hint)
		json_object_set_new(o, "hint", js_text(f->hint));
	if (f->parameter || f->line) {
		e = json_pack("{s:o}", "detail", js_text(detail));
		if (f->parameter)
			json_object_set_new(e, "parameter", js_text(f->parameter));
		if (f->line)
			json_object_set_new(e, "line", json_integer((json_int_t)f->line));
		if (f->column)
			json_object_set_new(e, "column", json_integer((json_int_t)f->column));
		if (f->suggestion && *f->suggestion)
			json_object_set_new(e, "suggestion", js_text(f->suggestion));
		json_object_set_new(o, "errors", json_pack("[o]", e));
	}
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	strbuf_puts(&body, text);
	free(text);
	return reply_buf(req, f->status, "application/problem+json", &body);
}

/* ---- parameters ---- */

bool api_params(struct request *req, const char *const *names)
{
	size_t n = 0;

	while (names[n])
		n++;
	for (size_t i = 0; i < req->n_query; i++) {
		const char *name = req->query[i].name, *near;
		size_t k = 0;

		while (k < n && strcmp(names[k], name))
			k++;
		if (k < n)
			continue;
		near = suggest_nearest(name, names, n);
		(void)reply_fault(req,
				  &(struct fault){.status = 400,
						  .slug = "unknown-parameter",
						  .parameter = name,
						  .suggestion = near},
				  "'%.60s' is no parameter of %.*s%s%s%s", name, api_path_len(req),
				  req->url, near ? "; did you mean '" : "", near ? near : "",
				  near ? "' ?" : "");
		return false;
	}
	return true;
}

bool api_selector(struct request *req, const char *parameter, const char *text,
		  struct selector **ret)
{
	struct selector_fault fault = {0};
	struct err err;

	if (!selector_parse(text ? text : "", ret, &fault, &err))
		return true;
	(void)reply_fault(
		req,
		&(struct fault){.status = 400,
				.slug = "selector-syntax",
				.parameter = parameter,
				.column = fault.column,
				.suggestion = fault.suggestion,
				.hint = "The grammar of selectors stands in /api/v1/openapi.json."},
		"%s: %s", parameter, err.text);
	return false;
}

bool api_id(struct request *req, const char *name, char prefix, int64_t *ret)
{
	struct err err;

	if (!request_id(request_path(req, name), prefix, ret, &err))
		return true;
	(void)reply_fault(req, &(struct fault){.status = 404, .slug = "not-found"}, "%s", err.text);
	return false;
}

static bool bad_parameter(struct request *req, const char *name, const struct err *err)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, err->text);
	return false;
}

bool api_flag(struct request *req, const char *name, bool *ret)
{
	static const char *const on[] = {"true", "1", "", "yes"}, *const off[] = {"false", "0",
										  "no"};
	const char *v = request_query(req, name);
	struct err err;

	*ret = false;
	if (!v)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		if (!strcmp(v, off[i]))
			return true;
	*ret = true;
	for (size_t i = 0; i < ARRAY_LEN(on); i++)
		if (!strcmp(v, on[i]))
			return true;
	(void)err_set(&err, ERR_INVALID, "'%.40s' is neither true nor false", v);
	return bad_parameter(req, name, &err);
}

bool api_time(struct request *req, const char *name, bool end, int64_t *ret)
{
	const char *v = request_query(req, name);
	int64_t lo, hi, age;
	struct err err;

	if (!v)
		return true;
	if (selector_time(v, &lo, &hi)) {
		*ret = end && hi - lo > 1 ? hi : lo;
		return true;
	}
	if (!parse_duration(v, &age, &err)) {
		*ret = clock_realtime_ns() - age;
		return true;
	}
	(void)err_set(&err, ERR_INVALID,
		      "'%.40s' is no time; write 2026-11-30, 2026-11-30T17:00:00Z or an age as 7d",
		      v);
	return bad_parameter(req, name, &err);
}

bool api_equal_labels(struct request *req, const char *name, char **ret)
{
	struct selector *s CLEANUP(selector_freep) = NULL;
	json_auto_t *o = json_object();

	if (!api_selector(req, name, request_query(req, name), &s))
		return false;
	for (size_t i = 0; i < s->n; i++) {
		if (s->terms[i].op != SELECTOR_EQ) {
			(void)reply_fault(req,
					  &(struct fault){.status = 400,
							  .slug = "invalid-parameter",
							  .parameter = name},
					  "%s: write name=value, as cpu=0", name);
			return false;
		}
		json_object_set_new(o, s->terms[i].key, json_string(s->terms[i].values[0]));
	}
	*ret = json_dumps(o, JSON_COMPACT);
	return true;
}

/* ---- bodies ---- */

bool api_body(struct request *req, const char *const *members, json_t **ret)
{
	struct err err;
	const char *key, *near;
	json_t *v;
	size_t n = 0;

	if (request_json(req, ret, &err)) {
		(void)reply_err(req, &err);
		return false;
	}
	while (members[n])
		n++;
	if (!json_is_object(*ret)) {
		json_decref(TAKE(*ret));
		(void)reply_fault(req, &(struct fault){.status = 400, .slug = "invalid-body"},
				  "the body must be a JSON object");
		return false;
	}
	json_object_foreach(*ret, key, v)
	{
		size_t k = 0;

		while (k < n && strcmp(members[k], key))
			k++;
		if (k < n)
			continue;
		near = suggest_nearest(key, members, n);
		(void)reply_fault(req,
				  &(struct fault){.status = 400,
						  .slug = "invalid-body",
						  .parameter = key,
						  .suggestion = near},
				  "\"%.60s\" is no member of this body%s%s%s", key,
				  near ? "; did you mean \"" : "", near ? near : "",
				  near ? "\" ?" : "");
		json_decref(TAKE(*ret));
		return false;
	}
	return true;
}

static bool bad_member(struct request *req, const char *name, const char *what)
{
	(void)reply_fault(req,
			  &(struct fault){.status = 400, .slug = "invalid-body", .parameter = name},
			  "\"%s\" %s", name, what);
	return false;
}

bool api_labels(struct request *req, const char *parameter, const json_t *v)
{
	const char *key;
	json_t *item;

	if (!json_is_object(v) || json_object_size(v) > 64)
		return bad_member(req, parameter, "must be an object of at most 64 texts");
	json_object_foreach((json_t *)v, key, item)
	{
		size_t len = strlen(key);

		if (!len || len > 128 || !text_is_clean(key, len) || !json_is_string(item) ||
		    json_string_length(item) > 1000 ||
		    !text_is_clean(json_string_value(item), json_string_length(item)))
			return bad_member(req, parameter,
					  "must have names of 1 to 128 bytes and clean texts of at "
					  "most 1000");
	}
	return true;
}

bool api_text(struct request *req, const json_t *o, const char *name, size_t max, const char **ret)
{
	const json_t *v = json_object_get(o, name);

	*ret = NULL;
	if (!v || json_is_null(v))
		return true;
	if (!json_is_string(v) || json_string_length(v) > max ||
	    !text_is_clean(json_string_value(v), json_string_length(v)))
		return bad_member(req, name, "must be clean text of limited length");
	*ret = json_string_value(v);
	return true;
}

static bool flat_member(const struct api_member *m, const json_t *v)
{
	if (json_is_null(v))
		return true;
	if (!m->max)
		return json_is_integer(v);
	return json_is_string(v) && json_string_length(v) <= m->max &&
	       text_is_clean(json_string_value(v), json_string_length(v));
}

bool api_flat(struct request *req, const char *what, const json_t *o, const struct api_member *m,
	      size_t n)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return bad_member(req, what, "must be an object");
	json_object_foreach((json_t *)o, key, v)
	{
		size_t i = 0;

		while (i < n && strcmp(m[i].name, key) != 0)
			i++;
		if (i == n)
			return bad_member(req, what, "has a member that is not known");
		if (!flat_member(&m[i], v))
			return bad_member(req, m[i].name,
					  m[i].max ? "must be clean text of limited length"
						   : "must be a whole number or null");
	}
	return true;
}

bool api_is_host_name(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= 128 && !strpbrk(name, " \t\n/") && text_is_clean(name, len);
}

/* ---- pieces of JSON ---- */

json_t *js_time(int64_t realtime_ns)
{
	char buf[40];

	return realtime_ns ? json_string(clock_rfc3339(realtime_ns, buf, sizeof(buf)))
			   : json_null();
}

json_t *js_id(char prefix, int64_t id)
{
	return id ? json_sprintf("%c_%lld", prefix, (long long)id) : json_null();
}

/* Bytes that are no UTF-8 become '?': texts cut inside a character, texts of foreign files. */
static json_t *clean_text(const char *s)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};

	strbuf_puts(&b, "");
	while (*s) {
		size_t left = strlen(s), len;

		for (len = 1; len <= 4 && len <= left; len++) {
			json_t *one = json_stringn(s, len);

			json_decref(one);
			if (one)
				break;
		}
		if (len <= 4 && len <= left) {
			strbuf_add(&b, s, len);
			s += len;
		} else {
			strbuf_putc(&b, '?');
			s++;
		}
	}
	return json_string(b.data ? b.data : "");
}

json_t *js_text(const char *s)
{
	json_t *j;

	if (!s)
		return json_null();
	j = json_string(s);
	return j ? j : clean_text(s);
}

json_t *js_text_or_null(const char *s)
{
	return s && *s ? json_string(s) : json_null();
}

json_t *js_i64_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	return db_is_null(r, row, col) ? json_null() : json_integer(db_i64(r, row, col));
}

json_t *js_number(double v)
{
	if (!isfinite(v))
		return json_null();
	if (v == floor(v) && fabs(v) < 9e15)
		return json_integer((json_int_t)v);
	return json_real(v);
}

json_t *js_f64_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	return db_is_null(r, row, col) ? json_null() : js_number(db_f64(r, row, col));
}

void url_escape(struct strbuf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    strchr("-_.~", c))
			strbuf_putc(out, *s);
		else
			strbuf_printf(out, "%%%02X", c);
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool uid_bytes(const char *hex, unsigned char out[16])
{
	return hex_get(hex, out, 16);
}

bool hex_get(const char *hex, unsigned char *out, size_t len)
{
	if (strlen(hex) != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int hi = hex_digit(hex[2 * i]), lo = hex_digit(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (unsigned char)(hi << 4 | lo);
	}
	return true;
}

void hex_put(struct strbuf *out, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++) {
		strbuf_putc(out, digits[p[i] >> 4]);
		strbuf_putc(out, digits[p[i] & 15]);
	}
}
