/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One HTTP request at a time, as upload.c needs it. Implemented by curlloop.c, and by a scripted
 * peer in tests. */
#pragma once

#include "common/err.h"

/* url and headers are copied by send(). */
struct http_request {
	const char *method; /* "GET" or "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", ended by NULL */
	const void *body;	    /* borrowed until the answer */
	size_t body_len;
	int64_t timeout_ns;
};

struct http_answer {
	int status;	  /* 0: no answer, `error` says why */
	const char *body; /* NUL-terminated, at most 64 KiB */
	size_t body_len;
	int64_t retry_after_ns; /* -1: none or unusable */
	const char *error;
};

struct transport {
	/* Calls on_answer exactly once, later, unless cancelled. */
	void (*send)(struct transport *t, const struct http_request *r,
		     void (*on_answer)(void *user, const struct http_answer *a), void *user);
	void (*cancel)(struct transport *t);
	/* Closes kept connections and forgets resolved names (after a suspend). */
	void (*drop_connections)(struct transport *t);
};
