/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict as a person would say it: what changed, by how much, how sure. */
#include <stdio.h>

#include "common/compare/format.h"
#include "common/compare/internal.h"

static const char *verb(double change)
{
	return change < 0 ? "fell" : "rose";
}

/* "p99 fell from 7.07 us to 6.37 us (-9.9 %, 95 % interval -10.0 % to -9.8 %)" */
static void put_change(const struct cmp *c, const struct row *r, struct strbuf *out)
{
	const struct calc_effect *e = &r->effect;
	char a[40], b[40], rel[24], lo[24], hi[24];

	format_value(r->unit, r->sum[0].avg, a, sizeof(a));
	format_value(r->unit, r->sum[1].avg, b, sizeof(b));
	if (e->abs == 0 || !strcmp(a, b))
		strbuf_printf(out, "%s stayed at %s", r->stat.name, a);
	else if (e->abs * e->rel < 0)
		/* Single runs weigh much in an average: the ratios say what is typical. */
		strbuf_printf(out, "the average of %s %s from %s to %s, but typically it %s",
			      r->stat.name, verb(e->abs), a, b, verb(e->rel));
	else
		strbuf_printf(out, "%s %s from %s to %s", r->stat.name, verb(e->abs), a, b);
	if (!isfinite(e->rel))
		return;
	strbuf_printf(out, " (%s", format_percent(e->rel, true, rel, sizeof(rel)));
	if (isfinite(e->rel_lo) && isfinite(e->rel_hi))
		strbuf_printf(out, ", %.4g %% interval %s to %s", c->conf * 100,
			      format_percent(e->rel_lo, true, lo, sizeof(lo)),
			      format_percent(e->rel_hi, true, hi, sizeof(hi)));
	strbuf_putc(out, ')');
}

static void put_more_blocks(const struct cmp *c, const struct calc_effect *e, struct strbuf *out)
{
	const char *what = c->plan.paired && c->plan.replicate != REPLICATE_HOST
				   ? "block"
				   : replicate_name(c->plan.replicate);
	const char *a_side = c->plan.paired ? "" : " a side";

	if (isnan(e->more_lo))
		return;
	if (isinf(e->more_lo)) {
		strbuf_puts(out, " More runs will not settle it: the effect is at the margin.");
		return;
	}
	if (isinf(e->more_hi))
		strbuf_printf(out, " At least %.0f more %ss%s are needed to settle it.",
			      ceil(e->more_lo), what, a_side);
	else if (ceil(e->more_lo) >= ceil(e->more_hi))
		strbuf_printf(out, " About %.0f more %ss%s would settle it.", ceil(e->more_hi),
			      what, a_side);
	else
		strbuf_printf(out, " About %.0f to %.0f more %ss%s would settle it.",
			      ceil(e->more_lo), ceil(e->more_hi), what, a_side);
}

static void put_unclear(const struct cmp *c, const struct row *r, struct strbuf *out)
{
	char p[32], margin[24];

	if (c->plan.confounded) {
		strbuf_puts(out, "The change cannot be told from the passing of time: ");
		put_change(c, r, out);
		strbuf_puts(out, ", but one side was measured after the other.");
		return;
	}
	if (r->reading == READING_NOT_RESOLVABLE) {
		strbuf_printf(out, "No answer: %s cannot be judged (%s).", r->stat.name,
			      r->caution);
		return;
	}
	if (r->reading == READING_LOWER || r->reading == READING_HIGHER) {
		strbuf_printf(out, "%s is %s: ", c->b, r->effect.abs < 0 ? "lower" : "higher");
		put_change(c, r, out);
		strbuf_printf(out, "; whether that is better is not known for %s.", c->title);
		return;
	}
	if (r->effect.p < cmp_alpha(c)) {
		strbuf_puts(out, "There is a change, but its size is not clear: ");
		put_change(c, r, out);
		strbuf_printf(out, ", with %s worth caring about.",
			      format_percent(c->margin, false, margin, sizeof(margin)));
	} else {
		strbuf_puts(out, "No clear difference: ");
		put_change(c, r, out);
		strbuf_printf(out, ", within what %ss vary by themselves (%s).",
			      replicate_name(c->plan.replicate),
			      format_p(r->effect.p, p, sizeof(p)));
	}
	put_more_blocks(c, &r->effect, out);
}

/* The far tail against the typical case, when they disagree. */
static void put_mixed(const struct cmp *c, struct strbuf *out)
{
	bool first = true;

	strbuf_printf(out, "%s is better in one respect and worse in another: ", c->b);
	for (int want = READING_BETTER; want <= READING_WORSE; want++) {
		for (size_t i = 0; i < c->n_rows; i++) {
			if ((int)c->rows[i].reading != want || c->rows[i].role == ROLE_EXTRA)
				continue;
			strbuf_puts(out, first ? "" : "; ");
			put_change(c, &c->rows[i], out);
			strbuf_puts(out, want == READING_BETTER ? ", better" : ", worse");
			first = false;
			break;
		}
	}
	strbuf_putc(out, '.');
}

/* The centre, the primary statistic, how many are beyond the threshold, and the largest. */
static bool worth_saying(const struct row *r)
{
	if (r->role == ROLE_PRIMARY || r->stat.kind == STAT_OVER || r->stat.kind == STAT_MAX)
		return true;
	return r->stat.kind == STAT_QUANTILE && r->stat.q == 0.5;
}

static void put_not_enough(const struct cmp *c, struct strbuf *out)
{
	size_t shown = 0;

	strbuf_printf(out, "Too few %ss to tell a difference from noise; the numbers: ",
		      replicate_name(c->plan.replicate));
	for (size_t i = 0; i < c->n_rows && shown < 4; i++) {
		const struct row *r = &c->rows[i];

		if (!isfinite(r->sum[0].avg) || !isfinite(r->sum[1].avg) || !worth_saying(r))
			continue;
		strbuf_puts(out, shown++ ? ", " : "");
		put_change(c, r, out);
	}
	strbuf_puts(out, shown ? "." : "none.");
}

static void put_forbidden(const struct cmp *c, struct strbuf *out)
{
	const json_t *first = json_array_get(c->reasons, 0);
	const char *text = json_string_value(json_object_get(first, "text"));

	strbuf_printf(out, "Not comparable: %s.", text ? text : "see the reasons");
}

/* Beside a primary statistic that shows nothing: what is clear elsewhere, the largest first. */
static void put_elsewhere(const struct cmp *c, struct strbuf *out)
{
	const struct row *best = NULL;

	for (size_t i = 0; i < c->n_rows; i++) {
		const struct row *r = &c->rows[i];

		if (r->role == ROLE_PRIMARY || r->role == ROLE_EXTRA || r->role == ROLE_SPREAD)
			continue;
		if (r->reading < READING_BETTER)
			continue;
		if (!best || fabs(r->effect.rel) > fabs(best->effect.rel))
			best = r;
	}
	if (!best)
		return;
	strbuf_puts(out, " Clear elsewhere: ");
	put_change(c, best, out);
	strbuf_printf(out, ", %s.", reading_name(best->reading));
}

/* Beside the word: a spread that changed. */
static void put_spread(const struct cmp *c, struct strbuf *out)
{
	char a[40], b[40], p[32];

	for (size_t i = 0; i < c->n_rows; i++) {
		const struct row *r = &c->rows[i];

		if (r->role != ROLE_SPREAD ||
		    (r->reading != READING_LOWER && r->reading != READING_HIGHER))
			continue;
		strbuf_printf(out, " Its runs vary %s: sdev %s instead of %s (%s%s).",
			      r->reading == READING_LOWER ? "less" : "more",
			      format_value(r->unit, r->sum[1].avg, b, sizeof(b)),
			      format_value(r->unit, r->sum[0].avg, a, sizeof(a)),
			      format_p(r->effect.p, p, sizeof(p)),
			      c->data == DATA_SUMMARY ? ", normal theory on summaries" : "");
	}
}

static void put_settled(const struct cmp *c, const struct row *r, struct strbuf *out)
{
	char margin[24];

	if (c->word == WORD_SAME) {
		strbuf_puts(out, r->reading == READING_BELOW_MARGIN
					 ? "A real but small change: "
					 : "No difference worth caring about: ");
		put_change(c, r, out);
		strbuf_printf(out, ", within +-%s.",
			      format_percent(c->margin, false, margin, sizeof(margin)));
		return;
	}
	strbuf_printf(out, "%s is %s: ", c->b, word_name(c->word));
	put_change(c, r, out);
	strbuf_putc(out, '.');
}

void sentence_make(struct cmp *c)
{
	const struct row *r = &c->rows[c->primary];
	struct strbuf *out = &c->sentence;

	switch (c->word) {
	case WORD_BETTER:
	case WORD_WORSE:
	case WORD_SAME:
		put_settled(c, r, out);
		break;
	case WORD_MIXED:
		put_mixed(c, out);
		break;
	case WORD_UNCLEAR:
		put_unclear(c, r, out);
		break;
	case WORD_NOT_ENOUGH_RUNS:
		put_not_enough(c, out);
		break;
	case WORD_NOT_COMPARABLE:
		put_forbidden(c, out);
		break;
	}
	if (c->word == WORD_UNCLEAR || c->word == WORD_SAME)
		put_elsewhere(c, out);
	put_spread(c, out);
}
