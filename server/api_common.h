/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the handlers of api_*.c share: parameters, problems that name them, pages of lists, and
 * small pieces of JSON. */
#pragma once

#include "common/model/selector.h"
#include "server/http.h"
#include "server/sql_text.h"

/* A problem about one parameter or a place in the body. 0 and NULLs leave members out. */
struct fault {
	int status;
	const char *slug;
	const char *parameter;
	size_t line, column;
	const char *suggestion; /* what to write instead */
	const char *hint;
};
enum step reply_fault(struct request *req, const struct fault *f, const char *fmt, ...)
	PRINTF(3, 4);

/* The functions below that return bool have replied with a problem when they return false; the
 * handler then returns STEP_DONE. */

/* Refuses parameters that are not in the NULL-terminated list, with a suggestion. */
bool api_params(struct request *req, const char *const *names);
/* The selector in a text that came as `parameter`; NULL or "" chooses everything. */
bool api_selector(struct request *req, const char *parameter, const char *text,
		  struct selector **ret);
/* An id of the path such as r_17. */
bool api_id(struct request *req, const char *name, char prefix, int64_t *ret);
/* The experiment of the path, e_5 or a name, as the two parameters of rigstat.experiment_of(). */
void experiment_params(const struct request *req, struct db_param ret[2]);
/* The path as sent, without the query: length of its part of req->url. */
int api_path_len(const struct request *req);
/* "true", "false", "1", "0"; absent is false. */
bool api_flag(struct request *req, const char *name, bool *ret);
/* RFC 3339, a date, or an age such as 7d; absent leaves *ret. `end` takes a date's last ns. */
bool api_time(struct request *req, const char *name, bool end, int64_t *ret);
/* The body as a JSON object with no members but these (NULL-terminated). New reference. */
bool api_body(struct request *req, const char *const *members, json_t **ret);
/* An object of texts, at most 64. */
bool api_labels(struct request *req, const char *parameter, const json_t *v);
/* A parameter as cpu=0,context=thread: a JSON object of what must be equal (owned by the caller).
 */
bool api_equal_labels(struct request *req, const char *name, char **ret);
/* A clean text or null of at most `max` bytes; *ret is NULL for null or absent (borrowed). */
bool api_text(struct request *req, const json_t *o, const char *name, size_t max, const char **ret);

/* Members of a flat object. */
struct api_member {
	const char *name;
	size_t max; /* bytes of a text; 0: a whole number */
};
/* Every member is in the list and is null or what the list says; `what` names the object. */
bool api_flat(struct request *req, const char *what, const json_t *o, const struct api_member *m,
	      size_t n);

/* A name that an agent may have (its option --host). */
bool api_is_host_name(const char *name);

/* ---- lists ---- */

/* One way to sort. `expr` is never null; ties are broken by the id in the same direction. */
struct page_sort {
	const char *name, *expr;
	bool desc, text;
};

struct page {
	int64_t limit;
	const struct page_sort *sort;
	bool has_cursor;
	char *value; /* of the last row of the page before */
	int64_t id;
};

#define PAGE_LIMIT_DEFAULT 100
#define PAGE_LIMIT_MAX	   1000

/* Reads limit, cursor and sort (the first sort is the default; the table ends with a NULL name). */
bool page_read(struct request *req, const struct page_sort *sorts, struct page *ret);
void page_done(struct page *p);
/* Replaces the marked parts of a list statement:
 *   "''::text /\*key*\/"       the sort key as text, for the cursor
 *   "true /\*after*\/"         rows behind the cursor
 *   "1 /\*order*\/ limit 1"    order and limit; one more row than the page shows */
void page_sql(const struct page *p, struct sql *q, const char *id_expr);
/* The URL of the next page (new reference), or null when there is none; also sets Link. */
json_t *page_next(struct request *req, const struct page *p, bool more, const char *last_value,
		  int64_t last_id);

/* A list that is being read. */
struct page_list {
	struct request *req;
	struct sql sql;
	struct page page;
	bool one; /* a single item is asked for */
};
/* The request's context, freed with it. */
struct page_list *page_list_new(struct request *req);

/* One item of a list (new reference). */
typedef json_t *(*js_row)(const struct db_result *r, size_t row);
/* The document of a page: {"items", "next"}; `key`, `id`: columns of what page_next needs. */
json_t *page_json(struct request *req, const struct page *p, const struct db_result *r, js_row row,
		  unsigned int key, unsigned int id);

/* ---- pieces of JSON ---- */

/* The first `n` rows as an array. */
json_t *js_rows(const struct db_result *r, size_t n, js_row row);
/* A row whose first column is its document. */
json_t *js_document(const struct db_result *r, size_t row);

json_t *js_time(int64_t realtime_ns);	/* null when 0 */
json_t *js_id(char prefix, int64_t id); /* "r_17", null when 0 */
json_t *js_text(const char *s);		/* null when NULL */
json_t *js_text_or_null(const char *s); /* null when NULL or "" */
json_t *js_i64_or_null(const struct db_result *r, size_t row, unsigned int col);
json_t *js_f64_or_null(const struct db_result *r, size_t row, unsigned int col);
/* Whole numbers as JSON integers, others as reals, not finite as null. */
json_t *js_number(double v);
/* Percent-encodes a query value or path segment. */
void url_escape(struct strbuf *out, const char *s);
/* 32 hex digits to 16 bytes. */
bool uid_bytes(const char *hex, unsigned char out[16]);
bool hex_get(const char *hex, unsigned char *out, size_t len);
void hex_put(struct strbuf *out, const void *data, size_t len);
