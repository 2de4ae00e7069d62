/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/http_parse.h"
#include "server/routes.h"

static void allow(struct strbuf *out, enum http_method method)
{
	static const struct {
		enum http_method method;
		const char *text;
	} names[] = {{HTTP_GET, "GET, HEAD"},
		     {HTTP_POST, "POST"},
		     {HTTP_PUT, "PUT"},
		     {HTTP_PATCH, "PATCH"},
		     {HTTP_DELETE, "DELETE"}};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].method == method)
			strbuf_printf(out, "%s%s", out->len ? ", " : "", names[i].text);
}

const struct route *route_find(struct request *req, const struct http_path *path, char *rest,
			       size_t rest_cap, struct strbuf *ret_allow)
{
	enum http_method want = req->method == HTTP_HEAD ? HTTP_GET : req->method;

	for (const struct route *r = routes; r->begin; r++) {
		struct param params[REQUEST_PATH_PARAMS_MAX];
		size_t n;

		if (!http_match(r->path, path, params, &n, rest, rest_cap))
			continue;
		if (r->method == want) {
			memcpy(req->path_params, params, sizeof(params));
			req->n_path_params = n;
			return r;
		}
		/* A page for every path must not hide that a method is wrong elsewhere. */
		allow(ret_allow, r->method);
	}
	return NULL;
}
