/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/http_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "common/parse.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int http_decode(char *s, bool plus, struct err *reterr)
{
	char *out = s;
	const char *start = s;

	for (const char *p = s; *p; p++) {
		char c = *p;

		if (c == '%') {
			int hi = hex_value(p[1]), lo = hi < 0 ? -1 : hex_value(p[2]);

			if (lo < 0)
				return err_set(reterr, ERR_INVALID,
					       "the URL has a %% without two hexadecimal digits");
			c = (char)(hi << 4 | lo);
			p += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return err_set(reterr, ERR_INVALID, "the URL has a control character");
		*out++ = c;
	}
	*out = '\0';
	if (!text_is_clean(start, (size_t)(out - start)))
		return err_set(reterr, ERR_INVALID, "the URL is not valid UTF-8");
	return 0;
}

int http_split_path(char *path, struct http_path *ret, struct err *reterr)
{
	ret->n = 0;
	if (*path != '/')
		return err_set(reterr, ERR_NOT_FOUND, "the path does not begin with /");
	path++;
	while (*path) {
		char *slash = strchr(path, '/');

		if (ret->n == HTTP_SEGMENTS_MAX)
			return err_set(reterr, ERR_NOT_FOUND, "the path is too deep");
		if (slash)
			*slash = '\0';
		if (http_decode(path, false, reterr) < 0)
			return reterr->code;
		ret->segments[ret->n++] = path;
		if (!slash)
			break;
		path = slash + 1;
	}
	return 0;
}

static void join_rest(const struct http_path *path, size_t from, char *rest, size_t cap)
{
	size_t len = 0;

	*rest = '\0';
	for (size_t i = from; i < path->n; i++) {
		int n = snprintf(rest + len, cap - len, "%s%s", i > from ? "/" : "",
				 path->segments[i]);

		if (n < 0 || (size_t)n >= cap - len)
			return;
		len += (size_t)n;
	}
}

/* The name points into the pattern, "id}/histograms/..": request_path compares up to the brace. */
static bool set_param(struct param *params, size_t *n, const char *name, const char *value)
{
	if (*n == REQUEST_PATH_PARAMS_MAX)
		return false;
	params[*n].name = name;
	params[*n].value = value;
	(*n)++;
	return true;
}

bool http_match(const char *pattern, const struct http_path *path, struct param *params,
		size_t *ret_n, char *rest, size_t cap)
{
	const char *p = pattern + 1;
	size_t i = 0;

	*ret_n = 0;
	while (*p) {
		size_t n = strcspn(p, "/");

		if (p[0] == '{' && n >= 3 && p[n - 2] == '*') {
			join_rest(path, i, rest, cap);
			return i < path->n && set_param(params, ret_n, p + 1, rest);
		}
		if (i == path->n)
			return false;
		if (p[0] == '{') {
			if (!*path->segments[i] ||
			    !set_param(params, ret_n, p + 1, path->segments[i]))
				return false;
		} else if (strlen(path->segments[i]) != n || memcmp(p, path->segments[i], n) != 0) {
			return false;
		}
		i++;
		p += n;
		p += *p == '/';
	}
	return i == path->n;
}

int http_split_query(char *query, struct param *params, size_t cap, size_t *ret_n,
		     struct err *reterr)
{
	*ret_n = 0;
	while (query && *query) {
		char *amp = strchr(query, '&');
		char *eq;

		if (amp)
			*amp = '\0';
		eq = strchr(query, '=');
		if (eq)
			*eq = '\0';
		if (*query) {
			if (*ret_n == cap)
				return err_set(reterr, ERR_INVALID,
					       "the URL has more than %zu parameters", cap);
			params[*ret_n].name = query;
			params[*ret_n].value = eq ? eq + 1 : "";
			if (http_decode(query, true, reterr) < 0 ||
			    (eq && http_decode(eq + 1, true, reterr) < 0))
				return reterr->code;
			(*ret_n)++;
		}
		query = amp ? amp + 1 : NULL;
	}
	return 0;
}

/* ---- headers ---- */

static bool is_token(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("!#$%&'*+-.^_`|~", *s))
			return false;
	return true;
}

static int refuse(int *ret_status, int status, struct err *reterr, const char *text)
{
	*ret_status = status;
	return err_set(reterr, ERR_INVALID, "%s", text);
}

/* Headers that must not come twice: two different ones are read differently by two programs. */
static bool must_be_single(const char *name)
{
	static const char *const names[] = {"Host",
					    "Content-Length",
					    "Content-Type",
					    "Content-Encoding",
					    "Authorization",
					    "If-None-Match",
					    "If-Match",
					    "X-Rigstat-Stream",
					    "X-Rigstat-First",
					    "X-Rigstat-Last",
					    "X-Rigstat-CRC32C",
					    "X-Rigstat-Host"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return false;
}

static int check_one(const struct http_header *h, struct http_framing *ret, int *ret_status,
		     struct err *reterr)
{
	if (!is_token(h->name))
		return refuse(ret_status, 400, reterr,
			      "a header name has a character that is not "
			      "allowed, such as a space before the colon");
	for (const char *p = h->value; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\t') || *p == 0x7f)
			return refuse(ret_status, 400, reterr,
				      "a header value has a control character");
	if (strcasecmp(h->name, "Content-Length") == 0) {
		if (!*h->value || strspn(h->value, "0123456789") != strlen(h->value) ||
		    parse_u64(h->value, &ret->content_length, NULL) < 0)
			return refuse(ret_status, 400, reterr, "Content-Length is not a number");
		ret->has_length = true;
	} else if (strcasecmp(h->name, "Expect") == 0) {
		if (strcasecmp(h->value, "100-continue") != 0)
			return refuse(ret_status, 417, reterr,
				      "the only expectation that can be met is 100-continue");
	} else if (strcasecmp(h->name, "Content-Encoding") == 0) {
		ret->gzip = strcasecmp(h->value, "gzip") == 0;
		if (!ret->gzip && strcasecmp(h->value, "identity") != 0)
			return refuse(ret_status, 415, reterr,
				      "the only content encoding that is read is gzip");
	}
	return 0;
}

int http_check_headers(const struct http_header *h, size_t n, const char *version,
		       struct http_framing *ret, int *ret_status, struct err *reterr)
{
	const char *coding = NULL;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < n; i++) {
		if (check_one(&h[i], ret, ret_status, reterr) < 0)
			return reterr->code;
		if (strcasecmp(h[i].name, "Transfer-Encoding") == 0)
			coding = h[i].value;
		if (!must_be_single(h[i].name))
			continue;
		for (size_t k = 0; k < i; k++)
			if (strcasecmp(h[i].name, h[k].name) == 0) {
				*ret_status = 400;
				return err_set(reterr, ERR_INVALID, "the header %s comes twice",
					       h[i].name);
			}
	}
	if (coding && ret->has_length)
		return refuse(ret_status, 400, reterr,
			      "Content-Length and Transfer-Encoding exclude each other");
	if (coding && strcmp(version, "HTTP/1.1") != 0)
		return refuse(ret_status, 400, reterr, "HTTP/1.0 has no Transfer-Encoding");
	if (coding && strcasecmp(coding, "chunked") != 0)
		return refuse(ret_status, 501, reterr, "this Transfer-Encoding is not read");
	if (coding)
		return refuse(ret_status, 411, reterr,
			      "send a Content-Length: chunked bodies are "
			      "not read");
	return 0;
}

/* ---- negotiation ---- */

static int quality_of(const char *params, const char *end)
{
	for (const char *p = params; p + 2 < end; p++)
		if (*p == ';') {
			p++;
			while (p < end && *p == ' ')
				p++;
			if (p + 1 < end && (*p == 'q' || *p == 'Q') && p[1] == '=')
				return (int)(strtod(p + 2, NULL) * 1000 + 0.5);
		}
	return 1000;
}

/* One range "text/csv;q=0.5" against a type: specificity 0 (no match) to 3. */
static int specificity(const char *range, size_t len, const char *type)
{
	const char *slash = strchr(type, '/');
	size_t major = (size_t)(slash - type);

	if (len == 3 && memcmp(range, "*/*", 3) == 0)
		return 1;
	if (len == major + 2 && strncasecmp(range, type, major + 1) == 0 && range[len - 1] == '*')
		return 2;
	return len == strlen(type) && strncasecmp(range, type, len) == 0 ? 3 : 0;
}

int http_accept_quality(const char *accept, const char *type)
{
	int best = 0, quality = 0;

	if (!accept)
		return 1000;
	for (const char *p = accept; *p;) {
		const char *end = p + strcspn(p, ",");
		size_t len = strcspn(p, ",; \t");
		int s = specificity(p, len, type);

		if (s > best) {
			best = s;
			quality = quality_of(p + len, end);
		}
		p = end + strspn(end, ", \t");
	}
	return quality < 0 ? 0 : quality > 1000 ? 1000 : quality;
}

bool http_accepts_gzip(const char *accept_encoding)
{
	const char *p = accept_encoding;

	while (p && *p) {
		const char *end = p + strcspn(p, ",");
		size_t len = strcspn(p, ",; \t");

		if (len == 4 && strncasecmp(p, "gzip", 4) == 0)
			return quality_of(p + len, end) > 0;
		p = end + strspn(end, ", \t");
	}
	return false;
}

bool http_etag_matches(const char *if_none_match, const char *text)
{
	size_t want = strlen(text);

	if (!if_none_match)
		return false;
	if (strcmp(if_none_match, "*") == 0)
		return true;
	for (const char *p = strchr(if_none_match, '"'); p; p = strchr(p, '"')) {
		const char *end = strchr(p + 1, '"');

		if (!end)
			return false;
		if ((size_t)(end - p - 1) == want && memcmp(p + 1, text, want) == 0)
			return true;
		p = end + 1;
	}
	return false;
}

/* ---- JSON bounds ---- */

int http_check_json(const char *text, size_t len, size_t values_max, size_t depth_max,
		    struct err *reterr)
{
	size_t values = 0, depth = 0;
	bool in_text = false;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (in_text) {
			if (c == '\\')
				i++;
			else if (c == '"')
				in_text = false;
			continue;
		}
		if (c == '"')
			in_text = true;
		else if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && depth)
			depth--;
		values += c == '{' || c == '[' || c == ',' || c == ':';
		if (depth > depth_max)
			return err_set(reterr, ERR_LIMIT, "the JSON is nested deeper than %zu",
				       depth_max);
		if (values > values_max)
			return err_set(reterr, ERR_LIMIT, "the JSON has more than %zu values",
				       values_max);
	}
	return 0;
}
