/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTTP to the server, one request at a time, on libcurl. The token comes from $RIGSTAT_TOKEN, a
 * file named by $RIGSTAT_TOKEN_FILE, or ~/.config/rigstat/token: never from an argument, where
 * `ps` would show it. Redirects are not followed, so the token goes nowhere else. */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "common/strbuf.h"

#define ANSWER_BYTES_MAX ((size_t)256 << 20)

struct client_answer {
	long status;
	struct strbuf body;
	char content_type[80];
	char gate[20]; /* X-Gate header, "" when absent */
};
void client_answer_done(struct client_answer *a);

/* Percent-encodes everything but unreserved characters. */
void client_escape(const char *text, struct strbuf *out);
/* --server, else $RIGSTAT_SERVER, else an error that says so. Borrowed. */
int client_server(const char *option, const char **ret, struct err *reterr) MUSTCHECK;
struct client_call {
	const char *server, *path;
	const char *method;	  /* "GET", "POST", "PATCH", "DELETE" */
	const char *content_type; /* of the body, NULL: none */
	const void *body;	  /* borrowed */
	size_t body_len;
};
/* Any call. A status of 300 or more is an error with the problem's text and hint. */
int client_call(const struct client_call *c, struct client_answer *ret,
		struct err *reterr) MUSTCHECK;
/* A call with a JSON body (NULL: none) whose answer is a JSON object: a new reference. */
int client_json(const char *server, const char *method, const char *path, const json_t *body,
		json_t **ret, struct err *reterr) MUSTCHECK;
/* `json` NULL: GET, else POST of that body. A status of 400 or more is an error with the
 * problem's text and hint. */
int client_request(const char *server, const char *path, const char *json,
		   struct client_answer *ret, struct err *reterr) MUSTCHECK;
