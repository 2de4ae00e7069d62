/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/profile.h"

#include <stdio.h>

#include "common/compare/document.h"
#include "common/compare/format.h"
#include "common/compare/profile_rows.h"

/* Changes only when values may change. */
#define METHOD 1

/* Kernel symbols and user objects are one partition of what was not idle, task names another. */
static const struct table {
	const char *name, *title;
	enum profile_kind kinds[3];
	size_t n;
} tables[] = {
	{"code", "code", {PROFILE_SYMBOL, PROFILE_OBJECT}, 2},
	{"programs", "programs", {PROFILE_COMMAND}, 1},
	{"applications", "applications", {PROFILE_APP}, 1},
	{"whole", "the whole", {PROFILE_IDLE, PROFILE_UNATTRIBUTED, PROFILE_AGENT}, 3},
};
enum { TABLE_CODE, TABLE_PROGRAMS, TABLE_APPLICATIONS, TABLE_WHOLE, TABLES };

struct diff {
	struct cmp c;
	enum profile_basis basis;
	const char *state; /* "tested", "not_enough_runs", "confounded", "not_comparable" */
	struct profile_sides sides;
	struct profile_rows rows[TABLES];
};

/* ---- which profile ---- */

static bool side_has(const struct compare_side *s, enum profile_basis b)
{
	for (size_t i = 0; i < s->n; i++)
		if (profile_has(s->runs[i], b))
			return true;
	return false;
}

/* PROFILE_BASES when the sides share none. */
static int choose_basis(const struct compare_side *a, const struct compare_side *b,
			const struct compare_options *o, enum profile_basis *ret,
			struct err *reterr)
{
	int only = -1;
	char name[40];

	for (int k = 0; o->metric && k < PROFILE_BASES && only < 0; k++)
		if (!strcmp(o->metric,
			    profile_metric((enum profile_basis)k, PROFILE_APP, name, sizeof(name))))
			only = k;
	if (o->metric && only < 0)
		return err_set(reterr, ERR_INVALID,
			       "a profile is of cycle_share or of time_share, not of %.40s",
			       o->metric);
	*ret = PROFILE_BASES;
	for (int k = 0; k < PROFILE_BASES && *ret == PROFILE_BASES; k++)
		if ((only < 0 || only == k) && side_has(a, (enum profile_basis)k) &&
		    side_has(b, (enum profile_basis)k))
			*ret = (enum profile_basis)k;
	return 0;
}

/* The sides share no profile: which of the two reasons. */
static json_t *no_common_profile(const struct compare_side *a, const struct compare_side *b)
{
	bool ac = side_has(a, PROFILE_CYCLE), at = side_has(a, PROFILE_TIME);
	bool bc = side_has(b, PROFILE_CYCLE), bt = side_has(b, PROFILE_TIME);
	bool mixed = (ac || at) && (bc || bt);
	const char *sentence =
		mixed ? ac ? "Not comparable: A was sampled by hardware cycles, B by CPU time; the "
			     "two are never mixed."
			   : "Not comparable: A was sampled by CPU time, B by hardware cycles; the "
			     "two are never mixed."
		: !ac && !at && !bc && !bt
			? "No profile: no run of either side was sampled (the shares probe of "
			  "rigstat-agent)."
		: !ac && !at ? "No profile: no run of side A was sampled (the shares probe of "
			       "rigstat-agent)."
			     : "No profile: no run of side B was sampled (the shares probe of "
			       "rigstat-agent).";

	return PACK("{s:i,s:s,s:n,s:s,s:[],s:[]}", "method", METHOD, "state",
		    mixed ? "not_comparable" : "no_profile", "basis", "sentence", sentence,
		    "reasons", "tables");
}

/* ---- the sentence ---- */

static const char *basis_words(enum profile_basis b)
{
	return b == PROFILE_CYCLE ? "cycles" : "CPU time";
}

/* "3.1 %", "at most 0.4 %", "0.2 to 0.5 %" */
static void put_share(struct strbuf *out, const struct profile_row *r, int side)
{
	if (r->lo[side] == r->hi[side])
		strbuf_printf(out, "%.2f %%", r->lo[side]);
	else if (r->lo[side] <= 0)
		strbuf_printf(out, "at most %.2f %%", r->hi[side]);
	else
		strbuf_printf(out, "%.2f to %.2f %%", r->lo[side], r->hi[side]);
}

static void put_move(const struct cmp *c, const struct profile_row *r, struct strbuf *out)
{
	strbuf_printf(out, "%s%+.2f points", r->abs_lo == r->abs_hi ? "" : "at least ",
		      profile_row_move(r));
	if (isfinite(r->ci_lo) && isfinite(r->ci_hi))
		strbuf_printf(out, ", %.4g %% interval %+.2f to %+.2f", c->conf * 100, r->ci_lo,
			      r->ci_hi);
}

static size_t count_moved(const struct profile_rows *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < rows->n; i++)
		n += profile_row_moved(&rows->v[i]);
	return n;
}

/* The largest move of the code, else of the programs; NULL without rows. */
static const struct profile_row *headline(const struct diff *d)
{
	const struct profile_rows *code = &d->rows[TABLE_CODE], *prog = &d->rows[TABLE_PROGRAMS];

	if (code->n && (profile_row_moved(&code->v[0]) || !prog->n))
		return &code->v[0];
	if (prog->n && (profile_row_moved(&prog->v[0]) || !code->n))
		return &prog->v[0];
	return code->n ? &code->v[0] : NULL;
}

static void put_others(const struct diff *d, const struct profile_row *head, struct strbuf *out)
{
	size_t code = count_moved(&d->rows[TABLE_CODE]);
	size_t prog = count_moved(&d->rows[TABLE_PROGRAMS]);

	if (head->kind == PROFILE_COMMAND)
		prog--;
	else
		code--;
	if (code)
		strbuf_printf(out, "; %zu other place%s in the code", code, code == 1 ? "" : "s");
	if (prog)
		strbuf_printf(out, "%s %zu %sprogram%s", code ? " and" : ";", prog,
			      head->kind == PROFILE_COMMAND ? "other " : "", prog == 1 ? "" : "s");
	if (code + prog)
		strbuf_puts(out, " moved clearly");
}

static void put_quiet(const struct diff *d, const struct profile_row *head, struct strbuf *out)
{
	if (!strcmp(d->state, "tested"))
		strbuf_printf(out,
			      "Nothing moved clearly among %zu places in the code and %zu "
			      "programs; the largest difference is of ",
			      d->rows[TABLE_CODE].n, d->rows[TABLE_PROGRAMS].n);
	else
		strbuf_printf(
			out, "%s; the largest difference is of ",
			!strcmp(d->state, "not_enough_runs")
				? "Too few runs to tell what moved from the noise between runs"
			: !strcmp(d->state, "confounded")
				? "What moved cannot be told from a drift in time"
				: "Not comparable");
	strbuf_printf(out, "%s, ", head->name);
	put_share(out, head, 0);
	strbuf_puts(out, " in A and ");
	put_share(out, head, 1);
	strbuf_printf(out, " in B of non-idle %s", basis_words(d->basis));
	if (profile_row_move(head) != 0) {
		strbuf_puts(out, " (");
		put_move(&d->c, head, out);
		strbuf_putc(out, ')');
	}
}

static bool left_out(const struct diff *d)
{
	const struct profile_rows *code = &d->rows[TABLE_CODE], *prog = &d->rows[TABLE_PROGRAMS];

	return code->rare || code->unknown || prog->rare || prog->unknown;
}

static void make_sentence(struct diff *d)
{
	const struct profile_row *head = headline(d);
	struct strbuf *out = &d->c.sentence;

	if (!head) {
		strbuf_puts(out, left_out(d) ? "Nothing to compare: no name is in half of the runs "
					       "of a side."
					     : "Nothing but idle time was sampled.");
		return;
	}
	if (!profile_row_moved(head)) {
		put_quiet(d, head, out);
		strbuf_putc(out, '.');
		return;
	}
	strbuf_printf(out, "%s %s from ", head->name,
		      head->reading == MOVED_HIGHER ? "rose" : "fell");
	put_share(out, head, 0);
	strbuf_puts(out, " to ");
	put_share(out, head, 1);
	strbuf_printf(out, " of non-idle %s (", basis_words(d->basis));
	put_move(&d->c, head, out);
	strbuf_putc(out, ')');
	put_others(d, head, out);
	strbuf_putc(out, '.');
}

/* ---- JSON ---- */

static const char *reading_word(enum profile_reading r)
{
	static const char *const names[] = {"not_enough_runs", "not_tested", "unclear", "same",
					    "below_margin",    "lower",	     "higher"};

	return names[r];
}

static json_t *row_side(const struct diff *d, const struct profile_row *r, int s)
{
	bool known = r->lo[s] == r->hi[s];
	const struct calc_summary *y = &r->sum[s];

	return PACK("{s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "n", json_num((double)d->c.plan.n[s]),
		    "seen", (json_int_t)r->seen[s], "lo", json_num(r->lo[s]), "hi",
		    json_num(r->hi[s]), "avg", json_num(known ? y->avg : NAN), "min",
		    json_num(known ? y->min : NAN), "max", json_num(known ? y->max : NAN), "sdev",
		    json_num(known ? y->sdev : NAN));
}

static json_t *row_json(const struct diff *d, const struct profile_row *r)
{
	json_t *delta =
		PACK("{s:o,s:[o,o],s:o,s:o,s:o,s:s,s:s}", "abs",
		     json_num(r->abs_lo == r->abs_hi ? r->abs_lo : NAN), "between",
		     json_num(r->abs_lo), json_num(r->abs_hi), "ci",
		     json_interval(r->ci_lo, r->ci_hi), "p", json_num(r->p), "p_adjusted",
		     json_num(r->p_adjusted), "reading", reading_word(r->reading), "test", r->test);

	return PACK("{s:s,s:o,s:s,s:o,s:o,s:o}", "kind", profile_kind_name(r->kind), "name",
		    json_text(r->name), "of", r->kind == PROFILE_IDLE ? "all" : "non-idle", "a",
		    row_side(d, r, 0), "b", row_side(d, r, 1), "delta", delta);
}

/* Mean share of what was not idle that the listed names make up. */
static double covered(const struct diff *d, const struct table *t, int s)
{
	double sum = 0;

	for (size_t i = 0; i < d->c.side[s].n; i++)
		for (size_t k = 0; k < t->n; k++)
			sum += d->sides.runs[s][i].total[t->kinds[k]];
	return sum / (double)d->c.side[s].n;
}

static json_t *table_json(const struct diff *d, size_t i)
{
	const struct table *t = &tables[i];
	const struct profile_rows *rows = &d->rows[i];
	bool part = i == TABLE_CODE || i == TABLE_PROGRAMS;
	json_t *list = json_array();

	for (size_t k = 0; k < rows->n; k++)
		json_array_append_new(list, row_json(d, &rows->v[k]));
	return PACK("{s:s,s:s,s:o,s:I,s:o,s:o}", "name", t->name, "title", t->title, "covered",
		    part ? PACK("[o,o]", json_num(covered(d, t, 0)), json_num(covered(d, t, 1)))
			 : json_null(),
		    "rare", (json_int_t)rows->rare, "rare_at_most",
		    json_num(rows->rare ? rows->rare_most : NAN), "rows", list);
}

static json_t *diff_json(struct diff *d)
{
	const struct plan *p = &d->c.plan;
	CLEANUP(strbuf_done) struct strbuf text = {0};
	json_t *list = json_array();

	for (size_t i = 0; i < TABLES; i++)
		if (d->rows[i].n)
			json_array_append_new(list, table_json(d, i));
	plan_describe(&d->c, p, &text);
	return PACK("{s:i,s:s,s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:O,s:o,s:O,s:o}", "method", METHOD,
		    "state", d->state, "basis", profile_basis_name(d->basis), "unit", "%",
		    "confidence", json_num(d->c.conf), "margin_points", json_num(d->sides.margin),
		    "a", json_side(&d->c, 0), "b", json_side(&d->c, 1), "design",
		    PACK("{s:s,s:I,s:b,s:b,s:s}", "order", run_order_name(p->order), "blocks",
			 (json_int_t)p->pairs, "paired", p->paired, "confounded", p->confounded,
			 "text", text.data),
		    "reasons", d->c.reasons, "sentence", json_text(d->c.sentence.data),
		    "environment", d->c.environment, "tables", list);
}

/* ---- steps ---- */

static void decide_state(struct diff *d)
{
	d->sides.test = PROFILE_NOT_TESTED;
	if (verdict_forbidden(&d->c)) {
		d->state = "not_comparable";
	} else if (verdict_too_few(&d->c)) {
		d->state = "not_enough_runs";
		d->sides.test = PROFILE_TOO_FEW;
	} else if (d->c.plan.confounded) {
		d->state = "confounded";
	} else {
		d->state = "tested";
		d->sides.test = PROFILE_TESTED;
	}
	verdict_explain_design(&d->c);
}

/* What the tables leave out, as reasons. */
static void explain_rows(struct diff *d)
{
	for (size_t i = 0; i < TABLES; i++) {
		const struct profile_rows *r = &d->rows[i];

		if (r->unknown)
			cmp_reason(&d->c, "not_in_all_runs",
				   "%s: %zu name%s left out, because some runs cannot speak of "
				   "%s (%s)",
				   tables[i].title, r->unknown, r->unknown == 1 ? " is" : "s are",
				   r->unknown == 1 ? "it" : "them", r->unknown_name);
		if (r->rare)
			cmp_reason(&d->c, "rare_names",
				   "%s: %zu name%s in fewer than half of the runs of either side, "
				   "at most %.2f %% in any, %s left out",
				   tables[i].title, r->rare, r->rare == 1 ? "" : "s", r->rare_most,
				   r->rare == 1 ? "is" : "are");
	}
}

static void read_profiles(struct diff *d)
{
	for (int s = 0; s < 2; s++) {
		const struct side *side = &d->c.side[s];

		d->sides.runs[s] = xcalloc(side->n + 1, sizeof(*d->sides.runs[s]));
		for (size_t i = 0; i < side->n; i++)
			profile_read(side->obs[i].run, d->basis, &d->sides.runs[s][i]);
	}
}

static void make_rows(struct diff *d)
{
	read_profiles(d);
	for (size_t i = 0; i < TABLES; i++)
		profile_rows_make(&d->sides, tables[i].kinds, tables[i].n, &d->rows[i]);
	explain_rows(d);
	make_sentence(d);
}

/* The idle share stands for the profile: it says which runs count, and how they were measured. */
static int collect(struct diff *d, struct err *reterr)
{
	int r = resolve_request(&d->c, reterr);

	if (r == 0)
		r = side_collect(&d->c, reterr);
	if (r < 0)
		return r;
	find_hosts_and_factors(&d->c);
	environment_compare(&d->c);
	plan_make(&d->c);
	decide_state(d);
	if (d->c.side[0].n && d->c.side[1].n)
		make_rows(d);
	else /* excluded, failed, or not sampled */
		strbuf_printf(&d->c.sentence, "Nothing to compare: no run of side %s counts.",
			      d->c.side[0].n ? "B" : "A");
	return 0;
}

static void diff_done(struct diff *d)
{
	for (size_t i = 0; i < TABLES; i++)
		profile_rows_done(&d->rows[i]);
	free(d->sides.runs[0]);
	free(d->sides.runs[1]);
	cmp_done(&d->c);
}

static int check_size(const struct compare_side *s, const char *letter, struct err *reterr)
{
	if (s->n <= PROFILE_RUNS_MAX)
		return 0;
	return err_set(reterr, ERR_LIMIT,
		       "side %s has %zu runs, at most %d can be compared by profile: narrow the "
		       "selection",
		       letter, s->n, PROFILE_RUNS_MAX);
}

int profile_diff(const struct compare_side *a, const struct compare_side *b,
		 const struct compare_options *o, json_t **ret, struct err *reterr)
{
	struct compare_options own = *o;
	struct diff d = {
		.c = {.o = &own, .b = "B", .side = {{.in = a, .tag = "a"}, {.in = b, .tag = "b"}}}};
	char metric[40];
	int r = check_size(a, "A", reterr);

	if (r == 0)
		r = check_size(b, "B", reterr);
	if (r == 0)
		r = choose_basis(a, b, o, &d.basis, reterr);
	if (r < 0)
		return r;
	if (d.basis == PROFILE_BASES) {
		*ret = no_common_profile(a, b);
		return 0;
	}
	own.metric = profile_metric(d.basis, PROFILE_IDLE, metric, sizeof(metric));
	d.sides.c = &d.c;
	d.sides.margin = o->margin_rel > 0 ? 100 * o->margin_rel : 0;
	own.margin_rel = -1;
	d.c.reasons = json_array();
	r = collect(&d, reterr);
	if (r == 0)
		*ret = diff_json(&d);
	diff_done(&d);
	return r;
}
