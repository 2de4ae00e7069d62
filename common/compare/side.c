/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs -> observations. A run that does not count is listed with its reason, never dropped. */
#include <stdarg.h>
#include <stdio.h>

#include "common/check.h"
#include "common/compare/internal.h"
#include "common/compare/omission.h"

#define RUNS_PER_SIDE_MAX 2000

const char *side_name(const struct cmp *c, int side)
{
	const char *name = c->side[side].in->name;

	return name && *name ? name : side == SIDE_A ? "A" : "B";
}

static bool labels_match(const struct labels *have, const struct labels *want)
{
	for (size_t i = 0; want && i < want->len; i++) {
		const char *v = labels_get(have, want->v[i].key);

		if (!v || strcmp(v, want->v[i].value) != 0)
			return false;
	}
	return true;
}

static bool is_wanted(const struct cmp *c, const struct series *s)
{
	return !strcmp(s->metric, c->metric.name) && labels_match(&s->labels, c->o->labels);
}

static PRINTF(4, 5) void leave_out(struct side *s, const struct run *r, const char *code,
				   const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->out = xrealloc(s->out, s->n_out + 1, sizeof(*s->out));
	s->out[s->n_out++] = (struct left_out){r, code, xstrdup(text)};
}

/* Counters of the box are what every other program's are: they need no word. */
static const char *scope_of(const struct series *s)
{
	const char *scope = labels_get(&s->labels, "scope");

	return scope && strcmp(scope, "box") != 0 ? scope : NULL;
}

static void note_scope(struct side *side, const struct series *s, bool first)
{
	const char *scope = scope_of(s);

	if (first)
		side->scope = scope;
	else if (strcmp(side->scope ? side->scope : "", scope ? scope : "") != 0)
		side->mixed_scopes = true;
}

/* Remembers how the series was measured; what differs inside one side is said later. */
static void note_measurement(struct side *side, const struct series *s)
{
	bool first = !side->unit;

	note_scope(side, s, first);
	side->estimated += s->kind == SERIES_VALUE && s->state == VALUE_ESTIMATED;
	side->doubtful += s->kind == SERIES_VALUE && s->state == VALUE_DOUBTFUL;
	if (first) {
		side->unit = s->unit;
		side->method = s->method;
		side->omission = s->omission;
		side->interval_ns = s->interval_ns;
		side->resolution_ns = s->resolution_ns;
		return;
	}
	if (strcmp(side->method ? side->method : "", s->method ? s->method : "") != 0 ||
	    side->omission != s->omission || side->interval_ns != s->interval_ns)
		side->varies = true;
	if (s->resolution_ns > side->resolution_ns)
		side->resolution_ns = s->resolution_ns;
}

/* Sources that skip what they missed: counted, and corrected when that is asked for. */
static int correct(struct cmp *c, struct side *side, const struct series *s, struct hist *h,
		   struct err *reterr)
{
	int r;

	if (s->omission != OMISSION_SKIPS_MISSED)
		return 0;
	side->skips++;
	if (!c->o->corrected)
		return 0;
	r = omission_correct(h, s->interval_ns, reterr);
	side->corrected += r == 0;
	/* What cannot be corrected stays as it is, and is said so. */
	return r == ERR_UNSUPPORTED || r == ERR_INVALID ? 0 : r;
}

static int add_series(struct cmp *c, struct side *side, const struct series *s, struct obs *o,
		      struct err *reterr)
{
	struct hist h = {0};
	int r;

	hist_copy(&h, &s->hist);
	r = correct(c, side, s, &h, reterr);
	if (r == 0 && o->has_hist) {
		r = hist_merge(&o->hist, &h, reterr);
	} else if (r == 0) {
		o->hist = h;
		o->has_hist = true;
		return 0;
	}
	hist_done(&h);
	return r;
}

static int add_hists(struct cmp *c, struct side *side, const struct run *r, struct obs *o,
		     struct err *reterr)
{
	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *s = &r->series[i];

		if (!is_wanted(c, s) || s->kind != SERIES_HIST)
			continue;
		note_measurement(side, s);
		o->missed += s->missed;
		if (add_series(c, side, s, o, reterr) < 0)
			return err_prefix(reterr, "run %s, series of %s: ", r->uid, s->metric);
	}
	return 0;
}

/* The scope tells what was counted, not a part of it. */
static bool is_total(const struct series *s)
{
	return s->labels.len == (labels_get(&s->labels, "scope") ? 1 : 0);
}

static bool is_value(const struct cmp *c, const struct series *s)
{
	return is_wanted(c, s) && s->kind == SERIES_VALUE && isfinite(s->value);
}

/* The unlabelled value when there is one, else the mean of the labelled ones. */
static bool find_value(struct cmp *c, struct side *side, const struct run *r, double *ret)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->series_len; i++)
		if (is_value(c, &r->series[i]) && is_total(&r->series[i])) {
			note_measurement(side, &r->series[i]);
			*ret = r->series[i].value;
			return true;
		}
	for (size_t i = 0; i < r->series_len; i++) {
		if (!is_value(c, &r->series[i]))
			continue;
		note_measurement(side, &r->series[i]);
		sum += r->series[i].value;
		n++;
	}
	*ret = n ? sum / (double)n : NAN;
	return n > 0;
}

static const struct series *find_series(struct cmp *c, const struct run *r, enum series_kind kind)
{
	for (size_t i = 0; i < r->series_len; i++)
		if (is_wanted(c, &r->series[i]) && r->series[i].kind == kind)
			return &r->series[i];
	return NULL;
}

/* Squares and logarithms of values must stay finite; nothing that a box measures is out of this. */
static bool in_range(double v)
{
	return v == 0 || (fabs(v) >= 1e-60 && fabs(v) <= 1e60);
}

/* What the summary says must be usable: a published table may be wrong, not infinite. */
static bool summary_is_sane(const struct summary *s)
{
	return s->n <= 1000000000 && (!s->has_min || in_range(s->min)) &&
	       (!s->has_max || in_range(s->max)) && s->has_avg && in_range(s->avg) &&
	       (!s->has_sdev || (in_range(s->sdev) && s->sdev >= 0));
}

static int add_summary(struct cmp *c, struct side *side, const struct run *r,
		       const struct series *s, struct err *reterr)
{
	if (side->summary_run)
		return err_set(reterr, ERR_INVALID,
			       "side %s has two published summaries of %s: choose one, by a factor "
			       "level or by labels",
			       side->tag, c->metric.name);
	if (!summary_is_sane(&s->summary)) {
		leave_out(side, r, "absent", "the summary has no average, or figures out of range");
		return 0;
	}
	side->summary_run = r;
	side->summary = s->summary;
	note_measurement(side, s);
	return 0;
}

static bool usable_state(struct side *side, const struct run *r)
{
	if (r->excluded) {
		leave_out(side, r, "excluded", "excluded: %s",
			  *r->excluded ? r->excluded : "no reason was given");
		return false;
	}
	if (r->state != RUN_OK) {
		leave_out(side, r, "state", "the run is not complete (%s)",
			  run_state_name(r->state));
		return false;
	}
	return true;
}

static int add_run(struct cmp *c, struct side *side, const struct run *r, struct err *reterr)
{
	struct obs o = {.run = r, .value = NAN};
	const struct series *s;
	int e;

	if (!usable_state(side, r))
		return 0;
	s = find_series(c, r, SERIES_SUMMARY);
	if (s)
		return add_summary(c, side, r, s, reterr);
	e = add_hists(c, side, r, &o, reterr);
	if (e < 0) {
		hist_done(&o.hist);
		return e;
	}
	if (o.has_hist && !o.hist.count) {
		hist_done(&o.hist);
		leave_out(side, r, "empty", "the histogram has no samples");
		return 0;
	}
	if (!o.has_hist && find_value(c, side, r, &o.value) && !in_range(o.value)) {
		leave_out(side, r, "range", "the value %g is out of range", o.value);
		return 0;
	}
	if (!o.has_hist && !isfinite(o.value)) {
		s = find_series(c, r, SERIES_ABSENT);
		leave_out(side, r, "absent", "no %s%s%s", c->metric.name,
			  s && s->reason ? ": " : "", s && s->reason ? s->reason : "");
		return 0;
	}
	side->obs[side->n++] = o;
	return 0;
}

/* The value of all (interrupts of every handler): the labelled ones beside it were not merged. */
static bool has_value_of_all(struct cmp *c, const struct run *r)
{
	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *s = &r->series[i];

		if (is_wanted(c, s) && s->kind == SERIES_VALUE && !s->labels.len &&
		    isfinite(s->value))
			return true;
	}
	return false;
}

/* "cpu=0 cpu=1": only used to see that both sides merged the same series. */
static void describe_labels(struct cmp *c, struct side *side)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	const struct run *r = side->n ? side->obs[0].run : NULL;

	if (r && has_value_of_all(c, r))
		r = NULL;
	for (size_t i = 0; r && i < r->series_len; i++) {
		const struct labels *l = &r->series[i].labels;

		if (!is_wanted(c, &r->series[i]) || r->series[i].kind == SERIES_ABSENT)
			continue;
		for (size_t k = 0; k < l->len; k++) {
			if (!strcmp(l->v[k].key, "scope") && !scope_of(&r->series[i]))
				continue;
			strbuf_printf(&b, "%s%s=%s", b.len ? " " : "", l->v[k].key, l->v[k].value);
		}
	}
	side->labels = strbuf_take(&b);
}

static bool same_grid(const struct hist *x, const struct hist *y)
{
	if (x->scheme != y->scheme || x->scheme == HIST_EDGES)
		return false;
	return x->scheme == HIST_LOG128 || (x->base == y->base && x->width == y->width);
}

/* Buckets of `h` summed into those of `grid`, each of which holds whole buckets of h. */
static void project(struct hist *h, const struct hist *grid)
{
	size_t from = 0, to = 0;

	/* In place: the result never has more buckets than what was read. */
	for (size_t k = 0; k < grid->len && from < h->len; k++) {
		struct hist_bucket b = {grid->b[k].lo, grid->b[k].hi, 0};

		while (from < h->len && h->b[from].lo < b.hi)
			b.n += h->b[from++].n;
		if (b.n)
			h->b[to++] = b;
	}
	h->len = to;
	h->scheme = HIST_EDGES;
	h->coarsened = true;
}

/* Sides on different grids are compared on the common coarser one, never on the finer. */
static int to_common_grid(struct cmp *c, struct err *reterr)
{
	struct hist grid = {.scheme = HIST_LOG128};
	bool same = true;
	int r;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n; i++)
			same &= same_grid(&c->side[0].obs[0].hist, &c->side[s].obs[i].hist);
	if (same)
		return 0;
	hist_copy(&grid, &c->side[0].pooled);
	r = hist_merge(&grid, &c->side[1].pooled, reterr);
	for (int s = 0; s < 2 && r == 0; s++) {
		for (size_t i = 0; i < c->side[s].n; i++)
			project(&c->side[s].obs[i].hist, &grid);
		project(&c->side[s].pooled, &grid);
	}
	c->regridded = grid.coarsened;
	hist_done(&grid);
	return r;
}

static int add_up(struct side *side, struct err *reterr)
{
	side->hours = side->n ? 0 : NAN;
	for (size_t i = 0; i < side->n; i++) {
		const struct obs *o = &side->obs[i];
		int e;

		side->hours += o->run->measured_ns > 0 ? (double)o->run->measured_ns / 3.6e12 : NAN;
		if (__builtin_add_overflow(side->missed, o->missed, &side->missed) ||
		    side->missed > INT64_MAX)
			return err_set(reterr, ERR_LIMIT,
				       "side %s has more than 2^63 missed periods", side->tag);
		if (!o->has_hist)
			continue;
		if (__builtin_add_overflow(side->samples, o->hist.count, &side->samples) ||
		    __builtin_add_overflow(side->lost, o->hist.lost, &side->lost) ||
		    side->samples > INT64_MAX || side->lost > INT64_MAX)
			return err_set(reterr, ERR_LIMIT, "side %s has more than 2^63 samples",
				       side->tag);
		side->overflow += o->hist.overflow;
		side->negative += o->hist.negative;
		if (!side->pooled.count) {
			hist_copy(&side->pooled, &o->hist);
			continue;
		}
		e = hist_merge(&side->pooled, &o->hist, reterr);
		if (e < 0)
			return err_prefix(reterr, "side %s: ", side->tag);
	}
	return 0;
}

/* A published summary against runs: the runs are summarised, so that both are of one kind.
 */
static void summarize_runs(struct side *side)
{
	double *x = xcalloc(side->n + 1, sizeof(*x));
	struct calc_summary s;

	for (size_t i = 0; i < side->n; i++)
		x[i] = side->obs[i].value;
	calc_summarize(x, side->n, &s);
	side->summary = (struct summary){side->n, s.min, s.avg, s.max,	    s.sdev,
					 true,	  true,	 true,	side->n > 1};
	free(x);
}

static int decide_data(struct cmp *c, struct err *reterr)
{
	bool summary = c->side[0].summary_run || c->side[1].summary_run;
	size_t hists = 0, values = 0;
	bool coarse = false;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->side[s].n; i++) {
			const struct obs *o = &c->side[s].obs[i];

			hists += o->has_hist;
			values += !o->has_hist;
			coarse |= o->has_hist && o->hist.scheme != HIST_LOG128;
		}
	}
	if ((hists && values) || (hists && summary))
		return err_set(reterr, ERR_INVALID,
			       "%s is a distribution in some runs and one number in others: "
			       "compare runs of one kind",
			       c->metric.name);
	for (int s = 0; s < 2 && summary; s++) {
		if (c->side[s].summary_run && c->side[s].n)
			return err_set(reterr, ERR_INVALID,
				       "side %s mixes a published summary with runs of %s",
				       c->side[s].tag, c->metric.name);
		if (!c->side[s].summary_run)
			summarize_runs(&c->side[s]);
	}
	c->data = summary ? DATA_SUMMARY : values ? DATA_VALUES : coarse ? DATA_COARSE : DATA_FULL;
	return 0;
}

int side_collect(struct cmp *c, struct err *reterr)
{
	for (int s = 0; s < 2; s++) {
		struct side *side = &c->side[s];

		if (side->in->n > RUNS_PER_SIDE_MAX)
			return err_set(reterr, ERR_LIMIT,
				       "side %s has %zu runs, at most %d can be compared: "
				       "narrow the "
				       "selection",
				       side->tag, side->in->n, RUNS_PER_SIDE_MAX);
		side->obs = xcalloc(side->in->n + 1, sizeof(*side->obs));
		for (size_t i = 0; i < side->in->n; i++) {
			int e = add_run(c, side, side->in->runs[i], reterr);

			if (e < 0)
				return e;
		}
		describe_labels(c, side);
		if (add_up(side, reterr) < 0)
			return reterr->code;
	}
	if (decide_data(c, reterr) < 0)
		return reterr->code;
	if (c->data == DATA_VALUES || c->data == DATA_SUMMARY || !c->side[0].n || !c->side[1].n)
		return 0;
	return to_common_grid(c, reterr);
}

void side_done(struct side *s)
{
	for (size_t i = 0; s->obs && i < s->n; i++)
		hist_done(&s->obs[i].hist);
	for (size_t i = 0; i < s->n_out; i++)
		free(s->out[i].text);
	free(s->obs);
	free(s->out);
	free(s->labels);
	hist_done(&s->pooled);
}
