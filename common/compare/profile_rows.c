/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/profile_rows.h"

#include <stdio.h>

/* ---- which names ---- */

static struct profile_row *find_row(struct profile_rows *rows, enum profile_kind kind,
				    const char *name)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].kind == kind && !strcmp(rows->v[i].name, name))
			return &rows->v[i];
	GROW(rows->v, rows->n, rows->cap);
	rows->v[rows->n] = (struct profile_row){.kind = kind, .name = name};
	return &rows->v[rows->n++];
}

static void add_names(const struct profile_run *p, int side, enum profile_kind want,
		      struct profile_rows *rows)
{
	for (size_t i = 0; i < p->run->series_len; i++) {
		const struct series *s = &p->run->series[i];
		enum profile_basis basis;
		enum profile_kind kind;
		struct profile_row *row;
		const char *name;

		if (!profile_series(s, &basis, &kind, &name) || basis != p->basis || kind != want)
			continue;
		row = find_row(rows, kind, name);
		row->seen[side]++;
		row->hi[side] = fmax(row->hi[side], s->value); /* for names that go at once */
	}
}

/* A name that is in few runs was at the end of the lists: nothing can be said of it. */
static void drop_rare(const struct profile_sides *s, struct profile_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++) {
		const struct profile_row *r = &rows->v[i];

		if (2 * r->seen[0] >= s->c->side[0].n || 2 * r->seen[1] >= s->c->side[1].n) {
			rows->v[kept++] = *r;
			continue;
		}
		rows->rare++;
		rows->rare_most = fmax(rows->rare_most, fmax(r->hi[0], r->hi[1]));
	}
	rows->n = kept;
}

/* ---- numbers ---- */

/* The shares of one row: one of each replicate, at both ends of what is possible. */
struct ends {
	double *x[2][2]; /* [side][low, high] */
};

static void ends_fill(const struct profile_sides *s, const struct profile_row *r, struct ends *e)
{
	const struct plan *p = &s->c->plan;

	for (int side = 0; side < 2; side++) {
		for (int end = 0; end < 2; end++)
			e->x[side][end] = xcalloc(p->n[side] + 1, sizeof(double));
		for (size_t i = 0; i < s->c->side[side].n; i++) {
			size_t u = p->unit_of[side][i];
			struct profile_share v;

			if (u == SIZE_MAX)
				continue;
			v = profile_share_of(&s->runs[side][i], r->kind, r->name);
			e->x[side][0][u] += v.lo / (double)p->units[side][u].runs;
			e->x[side][1][u] += v.hi / (double)p->units[side][u].runs;
		}
	}
}

static void ends_done(struct ends *e)
{
	for (int i = 0; i < 4; i++)
		free(e->x[i / 2][i % 2]);
}

static void describe_side(const struct profile_sides *s, const struct ends *e, int side,
			  struct profile_row *r)
{
	size_t n = s->c->plan.n[side];
	struct calc_summary high;

	calc_summarize(e->x[side][0], n, &r->sum[side]);
	calc_summarize(e->x[side][1], n, &high);
	r->lo[side] = r->sum[side].avg;
	r->hi[side] = high.avg;
}

/* B at one end against A at the other: paired as the runs are. */
static void test_end(const struct profile_sides *s, const struct ends *e, int end,
		     struct calc_effect *ret)
{
	const struct plan *p = &s->c->plan;
	struct row row = {.x = {e->x[0][1 - end], e->x[1][end]}};
	double *a, *b;
	size_t n = row_blocks(p, &row, &a, &b);

	if (n)
		calc_paired_points(a, b, n, s->c->conf,
				   p->replicate == REPLICATE_HOST ? "hosts" : "blocks", ret);
	else
		calc_unpaired_points(row.x[0], p->n[0], row.x[1], p->n[1], s->c->conf, ret);
	free(a);
	free(b);
}

/* Of the two ends what is less clear: the wider interval, the larger p. */
static void join_ends(const struct calc_effect *low, const struct calc_effect *high,
		      struct profile_row *r)
{
	r->abs_lo = low->abs;
	r->abs_hi = high->abs;
	r->ci_lo = low->abs_lo;
	r->ci_hi = high->abs_hi;
	r->p = low->abs * high->abs <= 0 && low->abs != high->abs ? 1 : fmax(low->p, high->p);
	if (isfinite(low->abs_lo) && isfinite(high->abs_lo)) {
		r->ci_lo = fmin(low->abs_lo, high->abs_lo);
		r->ci_hi = fmax(low->abs_hi, high->abs_hi);
	}
	snprintf(r->test, sizeof(r->test), "%s", low->test);
}

static void forget_test(struct profile_row *r, const char *why)
{
	r->ci_lo = r->ci_hi = r->p = NAN;
	snprintf(r->test, sizeof(r->test), "%s", why);
}

static void compute(const struct profile_sides *s, struct profile_row *r)
{
	struct calc_effect low, high;
	struct ends e;

	ends_fill(s, r, &e);
	describe_side(s, &e, 0, r);
	describe_side(s, &e, 1, r);
	test_end(s, &e, 0, &low);
	test_end(s, &e, 1, &high);
	join_ends(&low, &high, r);
	if (s->test == PROFILE_TOO_FEW)
		forget_test(r, "none: too few runs");
	else if (s->test == PROFILE_NOT_TESTED)
		forget_test(r, s->c->plan.confounded ? "none: confounded with time"
						     : "none: not comparable");
	ends_done(&e);
}

/* calc_summarize takes no NaN, so such rows go before. */
static bool all_know(const struct profile_sides *s, const struct profile_row *r)
{
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < s->c->side[side].n; i++)
			if (isnan(profile_share_of(&s->runs[side][i], r->kind, r->name).lo))
				return false;
	return true;
}

static void drop_unknown(const struct profile_sides *s, struct profile_rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++) {
		if (all_know(s, &rows->v[i])) {
			rows->v[kept++] = rows->v[i];
			continue;
		}
		rows->unknown++;
		rows->unknown_name = rows->v[i].name;
	}
	rows->n = kept;
}

/* ---- readings ---- */

static enum profile_reading read_row(const struct profile_sides *s, const struct profile_row *r)
{
	bool changed = r->p_adjusted < cmp_alpha(s->c) && (r->ci_lo > 0 || r->ci_hi < 0);

	if (s->test == PROFILE_TOO_FEW)
		return MOVED_NOT_ENOUGH;
	if (s->test == PROFILE_NOT_TESTED)
		return MOVED_NOT_TESTED;
	if (s->margin > 0 && r->ci_lo >= -s->margin && r->ci_hi <= s->margin)
		return changed ? MOVED_BELOW_MARGIN : MOVED_SAME;
	if (!changed || fabs(profile_row_move(r)) < s->margin)
		return MOVED_UNCLEAR;
	return r->abs_lo > 0 ? MOVED_HIGHER : MOVED_LOWER;
}

static void adjust(const struct profile_sides *s, struct profile_rows *rows)
{
	double *p = xcalloc(rows->n + 1, sizeof(*p)), *q = xcalloc(rows->n + 1, sizeof(*q));

	for (size_t i = 0; i < rows->n; i++)
		p[i] = rows->v[i].p;
	calc_holm(p, rows->n, q);
	for (size_t i = 0; i < rows->n; i++) {
		rows->v[i].p_adjusted = q[i];
		rows->v[i].reading = read_row(s, &rows->v[i]);
	}
	free(p);
	free(q);
}

double profile_row_move(const struct profile_row *r)
{
	if (r->abs_lo > 0)
		return r->abs_lo;
	return r->abs_hi < 0 ? r->abs_hi : 0;
}

bool profile_row_moved(const struct profile_row *r)
{
	return r->reading == MOVED_LOWER || r->reading == MOVED_HIGHER;
}

/* What moved for certain, then by size; then the larger shares; then the name, so that one set of
 * runs gives one order. */
static int by_move(const void *a, const void *b)
{
	const struct profile_row *x = a, *y = b;
	double mx = fabs(profile_row_move(x)), my = fabs(profile_row_move(y));
	double sx = fmax(x->lo[0], x->lo[1]), sy = fmax(y->lo[0], y->lo[1]);

	if (profile_row_moved(x) != profile_row_moved(y))
		return profile_row_moved(x) ? -1 : 1;
	if (mx != my)
		return mx < my ? 1 : -1;
	if (sx != sy)
		return sx < sy ? 1 : -1;
	return strcmp(x->name, y->name);
}

void profile_rows_make(const struct profile_sides *s, const enum profile_kind *kinds, size_t n,
		       struct profile_rows *ret)
{
	*ret = (struct profile_rows){0};
	for (size_t k = 0; k < n; k++)
		for (int side = 0; side < 2; side++)
			for (size_t i = 0; i < s->c->side[side].n; i++)
				add_names(&s->runs[side][i], side, kinds[k], ret);
	drop_rare(s, ret);
	drop_unknown(s, ret);
	for (size_t i = 0; i < ret->n; i++)
		compute(s, &ret->v[i]);
	adjust(s, ret);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof(*ret->v), by_move);
}

void profile_rows_done(struct profile_rows *r)
{
	free(r->v);
}
