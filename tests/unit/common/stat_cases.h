/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks one case of tests/data/stat-cases.json. Every number under "expected" must be asked for by
 * want() or named in set_aside() with a reason: a number that nobody looked at is a failure. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "common/base.h"
#include "common/err.h"

#define POOL_MAX 64

struct checker {
	const json_t *spec;
	const char *id;
	json_t *seen; /* paths that were checked */
	double rel;   /* relative tolerance of the next want() */
	int failures;
	void *pool[POOL_MAX];
	size_t pool_n;
	struct err err;
};

static inline const json_t *at_path(const json_t *j, const char *path)
{
	char step[80];

	while (j && *path) {
		size_t len = strcspn(path, "/");

		assert_true(len < sizeof(step));
		memcpy(step, path, len);
		step[len] = '\0';
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(step))
				     : json_object_get(j, step);
		path += len + (path[len] == '/');
	}
	return j;
}

static inline void fail_case(struct checker *c, const char *path, const char *fmt, ...)
	PRINTF(3, 4);
static inline void fail_case(struct checker *c, const char *path, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: %s: ", c->id, path);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	c->failures++;
}

static inline bool close_to(double got, double want, double rel)
{
	return got == want || fabs(got - want) <= rel * fabs(want);
}

/* null in the file means "not defined or unbounded". Integers in the file are exact. */
static inline void want(struct checker *c, const char *path, double got)
{
	const json_t *j = at_path(json_object_get(c->spec, "expected"), path);

	if (!j)
		fail_case(c, path, "not in the file");
	else if (json_is_null(j) && isfinite(got))
		fail_case(c, path, "got %.12g, expected none", got);
	else if (json_is_boolean(j) && (got != 0) != json_is_true(j))
		fail_case(c, path, "got %g, expected a different truth", got);
	else if (json_is_integer(j) && got != json_number_value(j))
		fail_case(c, path, "got %.17g, expected exactly %.17g", got, json_number_value(j));
	else if (json_is_real(j) && !close_to(got, json_number_value(j), c->rel))
		fail_case(c, path, "got %.17g, expected %.12g", got, json_number_value(j));
	else if (json_is_string(j) || json_is_object(j) || json_is_array(j))
		fail_case(c, path, "not a number in the file");
	json_object_set_new(c->seen, path, json_true());
}

static inline void want_within(struct checker *c, const char *path, double got, double rel)
{
	double keep = c->rel;

	c->rel = rel;
	want(c, path, got);
	c->rel = keep;
}

static inline void want_all(struct checker *c, const char *path, const double *got, size_t n)
{
	const json_t *j = at_path(json_object_get(c->spec, "expected"), path);
	char sub[120];

	if (json_array_size(j) != n)
		fail_case(c, path, "got %zu numbers, expected %zu", n, json_array_size(j));
	for (size_t i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%zu", path, i);
		want(c, sub, got[i]);
	}
}

static inline void set_aside(struct checker *c, const char *path, const char *why)
{
	assert_true(*why);
	json_object_set_new(c->seen, path, json_true());
}

static inline double *pool_get(struct checker *c, size_t n)
{
	double *x = xcalloc(n + 1, sizeof(*x));

	assert_true(c->pool_n < POOL_MAX);
	c->pool[c->pool_n++] = x;
	return x;
}

/* An array of numbers under "input"; freed with the case. */
static inline double *in(struct checker *c, const char *path, size_t *ret_n)
{
	const json_t *a = at_path(json_object_get(c->spec, "input"), path);
	double *x = pool_get(c, json_array_size(a));

	assert_true(json_is_array(a));
	*ret_n = json_array_size(a);
	for (size_t i = 0; i < *ret_n; i++) {
		assert_true(json_is_number(json_array_get(a, i)));
		x[i] = json_number_value(json_array_get(a, i));
	}
	return x;
}

static inline double in_number(struct checker *c, const char *path)
{
	const json_t *j = at_path(json_object_get(c->spec, "input"), path);

	assert_true(json_is_number(j));
	return json_number_value(j);
}

static inline size_t expected_len(struct checker *c, const char *path)
{
	return json_array_size(at_path(json_object_get(c->spec, "expected"), path));
}

static inline double expected_number(struct checker *c, const char *path)
{
	return json_number_value(at_path(json_object_get(c->spec, "expected"), path));
}

/* The call must succeed; its message is printed when it does not. */
#define OK(c, call)                                                                                \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			fail_case((c), #call, "%s", (c)->err.text);                                \
	} while (0)

static inline void unseen(struct checker *c, const json_t *j, const char *path)
{
	char sub[200];
	const char *key;
	json_t *v;
	size_t i;

	if (json_object_get(c->seen, path))
		return;
	if (json_is_object(j)) {
		json_object_foreach((json_t *)j, key, v)
		{
			snprintf(sub, sizeof(sub), "%s%s%s", path, *path ? "/" : "", key);
			unseen(c, v, sub);
		}
	} else if (json_is_array(j)) {
		json_array_foreach(j, i, v)
		{
			snprintf(sub, sizeof(sub), "%s%s%zu", path, *path ? "/" : "", i);
			unseen(c, v, sub);
		}
	} else {
		fail_case(c, path, "the test never looked at this number");
	}
}

static inline int check_case(const json_t *spec, void (*fn)(struct checker *c))
{
	struct checker c = {.spec = spec, .rel = 1e-9, .seen = json_object()};

	c.id = json_string_value(json_object_get(spec, "id"));
	fn(&c);
	unseen(&c, json_object_get(spec, "expected"), "");
	json_decref(c.seen);
	for (size_t i = 0; i < c.pool_n; i++)
		free(c.pool[i]);
	return c.failures;
}
