/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one table of all routes. */
#pragma once

#include "server/http.h"

/* SCOPE_TOKEN: any valid token; SCOPE_GATE: what a CI job does beside reading. */
enum scope {
	SCOPE_NONE,
	SCOPE_TOKEN,
	SCOPE_READ,
	SCOPE_GATE,
	SCOPE_INGEST,
	SCOPE_WRITE,
	SCOPE_ADMIN
};

struct route {
	enum http_method method; /* HTTP_GET also answers HEAD */
	const char *path; /* "/api/v1/runs/{id}/histograms/{metric}"; "{rest*}" takes slashes */
	enum scope scope; /* what a token must allow */
	size_t body_max;  /* 0: a body is refused; larger ones get 413 before they are read */
	unsigned int deadline_ms; /* until the answer must begin, 0 = 15 s; then 503 */
	/* Replies and returns STEP_DONE, or starts something and returns STEP_WAIT. */
	enum step (*begin)(struct request *req);
};

/* Ended by a row whose begin is NULL. */
extern const struct route routes[];

struct http_path;
struct strbuf;
/* Finds the row; fills the path parameters of req (http.c calls it). NULL: no such path (ret_allow
 * stays empty) or another method is wanted (ret_allow is the text of the Allow header). */
const struct route *route_find(struct request *req, const struct http_path *path, char *rest,
			       size_t rest_cap, struct strbuf *ret_allow);
