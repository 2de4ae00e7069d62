/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selectors: the one grammar that chooses runs, in URLs, on the command line and in exports.
 *
 *   selector = [ term { "," term } ]             all terms must hold; empty chooses every run
 *   term     = key ( "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">=" ) value
 *            | key "=" value ".." value          a closed range; one end may be left out
 *            | key [ "not" ] "in" "(" value { "," value } ")"
 *   value    = bare | '"' text '"'               \" and \\ inside quotes
 *
 * A value with a comma, space, quote or parenthesis must be quoted. "~" is a prefix, or a glob
 * when it has * or ?. A run without the key holds for != , !~ and notin, and for nothing else.
 * A key that is not in the table below is a factor or a tag. Pure; safe on any bytes. */
#pragma once

#include "common/err.h"
#include "common/model/run.h"
#include "common/strbuf.h"

#define SELECTOR_LEN_MAX    4096
#define SELECTOR_TERMS_MAX  64
#define SELECTOR_VALUES_MAX 1000

enum selector_op {
	SELECTOR_EQ,
	SELECTOR_NE,
	SELECTOR_IN,
	SELECTOR_NOTIN,
	SELECTOR_MATCH,
	SELECTOR_NOMATCH,
	SELECTOR_LT,
	SELECTOR_LE,
	SELECTOR_GT,
	SELECTOR_GE,
	SELECTOR_RANGE, /* value[0] .. value[1]; an end may be NULL, not both */
};

enum selector_type {
	SELECTOR_TEXT,
	SELECTOR_ID,	   /* r_17, 17 or a 32-digit uid; experiments also a name */
	SELECTOR_WORD,	   /* one of a closed list */
	SELECTOR_BOOL,	   /* true, false */
	SELECTOR_NUMBER,   /* whole number */
	SELECTOR_DURATION, /* 30s, 5m */
	SELECTOR_TIME,	   /* RFC 3339, or a date: the whole day */
	SELECTOR_VERSION,  /* ordered as versions: 6.9 < 6.12 */
	SELECTOR_LABEL,	   /* order: as numbers when both are, else as versions */
};

enum selector_scope {
	SELECTOR_FIELD,	 /* a field of the run, from the table */
	SELECTOR_FACTOR, /* factor.NAME */
	SELECTOR_TAG,	 /* tag.NAME */
	SELECTOR_ENV,	 /* env.NAME */
	SELECTOR_ANY,	 /* NAME: the factor, or the tag when there is no such factor */
};

struct selector_field {
	const char *name;
	enum selector_type type;
	const char *const *words; /* SELECTOR_WORD: the values, NULL-terminated */
};
/* Ended by an entry whose name is NULL. */
const struct selector_field *selector_fields(void);

struct selector_term {
	enum selector_scope scope;
	const struct selector_field *field; /* SELECTOR_FIELD only */
	char *key;			    /* without its scope prefix */
	enum selector_op op;
	char **values;
	size_t n;
	size_t column; /* of the key, in characters from 1 */
};

struct selector {
	struct selector_term *terms;
	size_t n, cap;
};

/* Where a selector is wrong, for problem documents and carets. */
struct selector_fault {
	size_t column;	     /* in characters, from 1 */
	char suggestion[80]; /* what to write instead; "" when nothing comes to mind */
};

/* *ret is NULL-safe to free with selector_free. ret_fault may be NULL. The text of the error
 * names the column and the suggestion. */
int selector_parse(const char *text, struct selector **ret, struct selector_fault *ret_fault,
		   struct err *reterr) MUSTCHECK;
void selector_free(struct selector *s);
void selector_freep(struct selector **s);
/* Canonical text; parsing it gives an equal selector. */
void selector_print(const struct selector *s, struct strbuf *out);
/* Appends "key=value", each quoted when needed, with a comma before when out is not empty. */
void selector_print_eq(const char *key, const char *value, struct strbuf *out);
bool selector_equal(const struct selector *a, const struct selector *b);
/* True when a term is about this field: `excluded` is then the person's business. */
bool selector_mentions(const struct selector *s, const char *field);

/* Whether the run is chosen. Fields that only a server knows (run numbers, demo, import) hold for
 * no run here, except that `run` also takes a uid. */
bool selector_match(const struct selector *s, const struct run *r);

/* ---- for those who compile selectors to something else ---- */
/* A SELECTOR_TIME value as the half-open interval of ns that it stands for. */
bool selector_time(const char *value, int64_t *ret_lo_ns, int64_t *ret_hi_ns) MUSTCHECK;
/* A key whose byte order is version order: each run of digits without leading zeros, padded to
 * 24 (cut there). The SQL side computes the same of the column. */
void selector_version_key(const char *s, struct strbuf *out);
#define SELECTOR_VERSION_PAD 24
/* A plain decimal number ("12", "-0.5"), which SELECTOR_LABEL compares as one. */
bool selector_is_number(const char *s);
/* True when a ~ pattern has an unescaped * or ?. */
bool selector_is_glob(const char *pattern);
