/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/sides.h"

#include <stdio.h>

#include "cli/fetch.h"
#include "cli/input.h"

void sides_done(struct sides *s)
{
	for (size_t i = 0; i < SIDES_MAX; i++) {
		free(s->request[i].files);
		labels_done(&s->request[i].factors);
		runs_done(&s->runs[i]);
		free(s->names[i]);
	}
}

static int read_one(const char *path, const struct side_request *rq,
		    const struct import_options *base, struct runs *ret, struct err *reterr)
{
	CLEANUP(input_close) struct input in = {0};
	struct import_options o = *base;
	int r = input_open(path, &in, reterr);

	if (r < 0)
		return r;
	o.source = input_name(path);
	o.factors = rq->factors;
	return fetch_add(in.data, in.len, &o, ret, reterr); /* the text names the file already */
}

/* "before.txt" for one file, "before-1.txt and 3 more" for several. */
static char *name_of(const struct side_request *rq)
{
	const char *slash = strrchr(rq->files[0], '/');
	const char *first = slash ? slash + 1 : rq->files[0];

	if (rq->n == 1)
		return xstrdup(first);
	return xasprintf("%s and %zu more", first, rq->n - 1);
}

static void point_at_runs(struct sides *s)
{
	for (size_t i = 0; i < s->n; i++)
		s->side[i] = (struct compare_side){
			.name = s->names[i], .runs = s->runs[i].v, .n = s->runs[i].len};
}

/* --- one file, split by a factor --- */

static size_t level_index(char **levels, size_t n, const char *level)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(levels[i], level))
			return i;
	return n;
}

/* Distinct levels of a factor, in the order of the file; more than SIDES_MAX count on. */
static size_t count_levels(const struct runs *rs, const char *factor, char **levels)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->len; i++) {
		const char *l = labels_get(&rs->v[i]->factors, factor);

		if (!l || level_index(levels, n < SIDES_MAX ? n : SIDES_MAX, l) < n)
			continue;
		if (n < SIDES_MAX)
			levels[n] = (char *)l;
		n++;
	}
	return n;
}

static void list_factors(const struct runs *rs, struct strbuf *out)
{
	const struct labels *l = rs->len ? &rs->v[0]->factors : NULL;

	for (size_t i = 0; l && i < l->len; i++)
		strbuf_printf(out, "%s%s", i ? ", " : "", l->v[i].key);
	if (!out->len)
		strbuf_puts(out, "none");
}

/* The only factor with 2 to 6 levels. */
static const char *only_factor(const struct runs *rs, struct err *reterr)
{
	const struct labels *l = rs->len ? &rs->v[0]->factors : NULL;
	CLEANUP(strbuf_done) struct strbuf names = {0};
	const char *found = NULL;
	size_t n = 0;

	for (size_t i = 0; l && i < l->len; i++) {
		char *levels[SIDES_MAX];
		size_t count = count_levels(rs, l->v[i].key, levels);

		if (count < 2 || count > SIDES_MAX)
			continue;
		found = l->v[i].key;
		n++;
	}
	if (n == 1)
		return found;
	list_factors(rs, &names);
	err_set(reterr, ERR_INVALID,
		"one file makes two sides when a factor splits it: say --by FACTOR (there is: "
		"%.200s) "
		"or name a second file",
		names.data);
	return NULL;
}

static int split(struct sides *s, const char *by, struct err *reterr)
{
	struct runs all = s->runs[0];
	char *levels[SIDES_MAX];
	size_t n;

	if (!by)
		by = only_factor(&all, reterr);
	if (!by)
		return reterr->code;
	n = count_levels(&all, by, levels);
	if (n < 2 || n > SIDES_MAX) {
		CLEANUP(strbuf_done) struct strbuf names = {0};

		list_factors(&all, &names);
		return err_set(reterr, ERR_INVALID,
			       "--by %s: the runs have %zu levels of it, 2 to %d can be compared; "
			       "factors: %.200s",
			       by, n, SIDES_MAX, names.data);
	}
	free(s->names[0]);
	for (size_t i = 0; i < n; i++)
		s->names[i] = xasprintf("%s=%s", by, levels[i]);
	s->runs[0] = (struct runs){0};
	s->n = n;
	for (size_t i = 0; i < all.len; i++) {
		const char *l = labels_get(&all.v[i]->factors, by);

		if (l)
			runs_add(&s->runs[level_index(levels, n, l)], all.v[i]);
		else
			run_free(all.v[i]);
	}
	free(all.v);
	return 0;
}

int sides_read(struct sides *s, const struct import_options *base, const char *by, bool single,
	       struct err *reterr)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!s->request[i].n)
			return err_set(reterr, ERR_INVALID, "side %c has no files", 'A' + (int)i);
		s->names[i] = name_of(&s->request[i]);
		for (size_t k = 0; k < s->request[i].n; k++) {
			int r = read_one(s->request[i].files[k], &s->request[i], base, &s->runs[i],
					 reterr);

			if (r < 0)
				return r;
		}
	}
	if (s->n == 1 && (by || !single) && split(s, by, reterr) < 0)
		return reterr->code;
	if (s->n > 1 && by && s->request[1].n)
		return err_set(reterr, ERR_INVALID,
			       "--by splits one file; there are several sides");
	point_at_runs(s);
	return 0;
}
