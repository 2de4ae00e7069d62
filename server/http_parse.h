/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what a client sent, strictly. Pure: no connection, no loop. */
#pragma once

#include "common/err.h"
#include "server/http.h"

/* Decodes %XX in place (and '+' as a space when `plus`). Refuses bad escapes, control characters
 * and what is not UTF-8. */
int http_decode(char *s, bool plus, struct err *reterr) MUSTCHECK;

#define HTTP_SEGMENTS_MAX 12
/* The path split at '/' and decoded segment by segment, in place. "/" has no segments. */
struct http_path {
	char *segments[HTTP_SEGMENTS_MAX];
	size_t n;
};
int http_split_path(char *path, struct http_path *ret, struct err *reterr) MUSTCHECK;
/* Does the pattern ("/api/v1/runs/{id}") match? Fills the parameters. A last "{rest*}" takes what
 * is left, joined with '/' into `rest` (capacity `cap`). */
bool http_match(const char *pattern, const struct http_path *path, struct param *params,
		size_t *ret_n, char *rest, size_t cap);
/* "a=1&b=2", in place. */
int http_split_query(char *query, struct param *params, size_t cap, size_t *ret_n,
		     struct err *reterr) MUSTCHECK;

struct http_header {
	const char *name, *value;
};

/* What the headers say about the message, after libmicrohttpd has let them through: it accepts
 * shapes that smuggle a second request. On failure *ret_status is the answer, and the connection
 * must be closed after it. */
struct http_framing {
	uint64_t content_length;
	bool has_length, gzip;
};
int http_check_headers(const struct http_header *h, size_t n, const char *version,
		       struct http_framing *ret, int *ret_status, struct err *reterr) MUSTCHECK;

/* Quality of a media type ("text/csv") in an Accept header, 0 to 1000; NULL header: 1000. */
int http_accept_quality(const char *accept, const char *type);
bool http_accepts_gzip(const char *accept_encoding);
/* Does an If-None-Match (weak comparison) hold this opaque text? */
bool http_etag_matches(const char *if_none_match, const char *text);

/* Bounds before a JSON parser sees it: structural characters (values) and depth. */
int http_check_json(const char *text, size_t len, size_t values_max, size_t depth_max,
		    struct err *reterr) MUSTCHECK;
