/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a request: what handlers call. */
#include <stdio.h>
#include <strings.h>

#include "common/check.h"
#include "common/parse.h"
#include "server/http_internal.h"

#define JSON_VALUES_MAX 100000
#define JSON_DEPTH_MAX	32

const char *request_path(const struct request *req, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < req->n_path_params; i++) {
		const char *p = req->path_params[i].name; /* in the pattern: "id}/..." */

		if (strncmp(p, name, len) == 0 && (p[len] == '}' || p[len] == '*'))
			return req->path_params[i].value;
	}
	CHECK(!"the route has no such path parameter");
	return NULL;
}

const char *request_query(const struct request *req, const char *name)
{
	for (size_t i = 0; i < req->n_query; i++)
		if (strcmp(req->query[i].name, name) == 0)
			return req->query[i].value;
	return NULL;
}

size_t request_query_all(const struct request *req, const char *name, const char **ret, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < req->n_query; i++) {
		if (strcmp(req->query[i].name, name) != 0)
			continue;
		if (n < cap)
			ret[n] = req->query[i].value;
		n++;
	}
	return n;
}

int request_query_i64(const struct request *req, const char *name, int64_t def, int64_t min,
		      int64_t max, int64_t *ret, struct err *reterr)
{
	const char *text = request_query(req, name);

	*ret = def;
	if (!text)
		return 0;
	if (parse_i64(text, ret, NULL) < 0 || *ret < min || *ret > max)
		return err_set(reterr, ERR_INVALID,
			       "parameter %s: expected a number from %lld to %lld, not '%.60s'",
			       name, (long long)min, (long long)max, text);
	return 0;
}

bool request_query_flag(const struct request *req, const char *name)
{
	const char *text = request_query(req, name);

	return text && (!*text || strcmp(text, "1") == 0 || strcmp(text, "true") == 0);
}

int request_query_known(const struct request *req, const char *const *names, struct err *reterr)
{
	for (size_t i = 0; i < req->n_query; i++) {
		size_t k = 0;

		while (names[k] && strcmp(names[k], req->query[i].name) != 0)
			k++;
		if (!names[k])
			return err_set(reterr, ERR_INVALID,
				       "parameter '%.60s' is not known at this address",
				       req->query[i].name);
	}
	return 0;
}

const char *request_header(const struct request *req, const char *name)
{
	return MHD_lookup_connection_value(req->x->conn, MHD_HEADER_KIND, name);
}

const char *request_remote(const struct request *req)
{
	return req->x->remote;
}

static bool is_json_type(const char *type)
{
	size_t n = type ? strcspn(type, "; \t") : 0;

	return (n == 16 && strncasecmp(type, "application/json", 16) == 0) ||
	       (n == 28 && strncasecmp(type, "application/merge-patch+json", 28) == 0);
}

int request_json(struct request *req, json_t **ret, struct err *reterr)
{
	json_error_t why;

	if (!is_json_type(request_header(req, "Content-Type")))
		return err_set(reterr, ERR_INVALID,
			       "the body must be JSON: send Content-Type: "
			       "application/json");
	if (http_check_json(req->body, req->body_len, JSON_VALUES_MAX, JSON_DEPTH_MAX, reterr) < 0)
		return reterr->code;
	*ret = json_loadb(req->body, req->body_len, JSON_REJECT_DUPLICATES, &why);
	if (!*ret)
		return err_set(reterr, ERR_INVALID,
			       "the JSON cannot be read: line %d, column %d: %s", why.line,
			       why.column, why.text);
	return 0;
}

/* "csv text/csv" -> the two words. */
static const char *split_format(const char *entry, char *name, size_t cap)
{
	const char *space = strchr(entry, ' ');

	CHECK(space && (size_t)(space - entry) < cap);
	memcpy(name, entry, (size_t)(space - entry));
	name[space - entry] = '\0';
	return space + 1;
}

const char *request_format(const struct request *req, const char *const *formats)
{
	const char *wanted = request_query(req, "format");
	const char *accept = request_header(req, "Accept");
	const char *best = NULL;
	int best_quality = 0;
	char name[20];

	for (size_t i = 0; formats[i]; i++) {
		const char *type = split_format(formats[i], name, sizeof(name));
		int quality = http_accept_quality(accept, type);

		if (wanted ? strcmp(wanted, name) == 0 : quality > best_quality) {
			best = formats[i];
			best_quality = quality;
		}
	}
	return best;
}

bool format_is(const char *format, const char *name)
{
	size_t n = strlen(name);

	return format && strncmp(format, name, n) == 0 && format[n] == ' ';
}

const char *format_type(const char *format)
{
	return strchr(format, ' ') + 1;
}

int request_id(const char *text, char prefix, int64_t *ret, struct err *reterr)
{
	const char *digits = text[0] == prefix && text[1] == '_' ? text + 2 : text;

	if (parse_i64(digits, ret, NULL) < 0 || *ret < 1)
		return err_set(reterr, ERR_NOT_FOUND, "'%.60s' is not an id such as %c_17", text,
			       prefix);
	return 0;
}
