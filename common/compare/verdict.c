/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The word, why, and one sentence that a person would write. The primary statistic sets the word;
 * what makes a comparison impossible comes before it. */
#include <stdarg.h>
#include <stdio.h>

#include "common/compare/format.h"
#include "common/compare/internal.h"
#include "common/compare/pack.h"

const char *word_name(enum word w)
{
	static const char *const names[] = {"better",  "worse",		  "mixed",	   "same",
					    "unclear", "not_enough_runs", "not_comparable"};

	return names[w];
}

void cmp_reason(struct cmp *c, const char *code, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(c->reasons, PACK("{s:s,s:o}", "code", code, "text", json_text(text)));
}

static const char *list_text(const json_t *items, size_t most, char *buf, size_t cap)
{
	size_t i, len = 0;
	json_t *item;

	buf[0] = '\0';
	json_array_foreach(items, i, item)
	{
		const char *key = json_string_value(json_object_get(item, "key"));

		if (i == most) {
			snprintf(buf + len, cap - len, " and %zu more", json_array_size(items) - i);
			break;
		}
		len += (size_t)snprintf(buf + len, cap - len, "%s%s", i ? ", " : "", key);
		if (len >= cap)
			break;
	}
	return buf;
}

/* --- what forbids the comparison --- */

static bool methods_differ(struct cmp *c)
{
	const struct side *a = &c->side[0], *b = &c->side[1];

	if (a->unit && b->unit && strcmp(a->unit, b->unit) != 0) {
		cmp_reason(c, "different_units", "%s is in %s in A and in %s in %s", c->metric.name,
			   a->unit, b->unit, c->b);
		return true;
	}
	if (!a->method || !b->method || !strcmp(a->method, b->method)) {
		if (!a->method != !b->method)
			cmp_reason(c, "method_unknown",
				   "how side %s was measured is not recorded; side %s used %s",
				   a->method ? c->b : "A", a->method ? "A" : c->b,
				   a->method ? a->method : b->method);
		return false;
	}
	cmp_reason(c, "different_methods",
		   "A was measured by %s, %s by %s: their values are never compared", a->method,
		   c->b, b->method);
	return true;
}

/* Counters of the box, of a workload and of a cgroup are different quantities. */
static bool scopes_block(struct cmp *c)
{
	bool mixed = false;

	for (int s = 0; s < 2; s++) {
		if (!c->side[s].mixed_scopes)
			continue;
		cmp_reason(c, "mixed_scopes",
			   "the runs of side %s did not all count the same thing (box, workload or "
			   "cgroup): choose one by its label scope, or count them again",
			   side_name(c, s));
		mixed = true;
	}
	return mixed;
}

static bool environment_blocks(struct cmp *c)
{
	const json_t *blocking = json_object_get(c->environment, "blocking");
	char keys[300];

	if (!json_array_size(blocking))
		return false;
	list_text(blocking, 4, keys, sizeof(keys));
	if (c->o->anyway) {
		cmp_reason(c, "compared_anyway", "compared on request in spite of different %s",
			   keys);
		return false;
	}
	cmp_reason(c, "environment", "the sides differ in what decides such numbers: %s", keys);
	return true;
}

static bool host_has(const struct side *s, const char *host)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->obs[i].run->host ? s->obs[i].run->host : "", host))
			return true;
	return false;
}

/* A host that only one side has cannot be told from the change. */
static bool hosts_block(struct cmp *c)
{
	for (size_t h = 0; c->n_hosts > 1 && h < c->n_hosts; h++) {
		bool a = host_has(&c->side[0], c->hosts[h]), b = host_has(&c->side[1], c->hosts[h]);

		if (a && b)
			continue;
		cmp_reason(c, "unbalanced_hosts",
			   "%s has runs on side %s only: a difference may be the host. Compare the "
			   "same hosts on both sides",
			   *c->hosts[h] ? c->hosts[h] : "a host without a name", a ? "A" : c->b);
		return !c->o->anyway;
	}
	return false;
}

/* A run that is on both sides is no comparison with anything. */
static bool same_runs_block(struct cmp *c)
{
	const struct side *a = &c->side[0], *b = &c->side[1];
	const struct run *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < a->n && a->in != b->in; i++) {
		for (size_t k = 0; k < b->n; k++) {
			const struct run *x = a->obs[i].run, *y = b->obs[k].run;

			if (x != y && (!*x->uid || strcmp(x->uid, y->uid) != 0))
				continue;
			first = first ? first : x;
			n++;
		}
	}
	if (n)
		cmp_reason(c, "same_runs", "%zu run%s (%s) %s on both sides", n, n == 1 ? "" : "s",
			   *first->uid ? first->uid : "given twice", n == 1 ? "is" : "are");
	return n > 0;
}

static bool cpu_models_block(struct cmp *c)
{
	const char *first = NULL, *other = NULL;

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < c->side[s].n; i++) {
			const json_t *e = c->side[s].obs[i].run->environment;
			const char *m = json_string_value(json_object_get(e, "cpu.model"));

			if (m && !first)
				first = m;
			else if (m && strcmp(m, first) != 0)
				other = m;
		}
	}
	if (!other || c->n_hosts < 2)
		return false;
	cmp_reason(c, "mixed_cpu_models",
		   "the hosts have different CPUs (%s, %s): each host is compared with itself, but "
		   "they are not pooled",
		   first, other);
	return true;
}

/* --- what limits it --- */

static void explain_boot(struct cmp *c)
{
	size_t unknown = 0;

	if (!c->boot_fixed || c->data == DATA_SUMMARY)
		return;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n; i++)
			unknown += !c->side[s].obs[i].run->boot_id;
	cmp_reason(c, "boot_is_replicate",
		   "%s is fixed at boot, so runs within one boot count as one: %zu + %zu runs are "
		   "%zu + %zu boots",
		   c->boot_why, c->side[0].n, c->side[1].n, c->plan.n[0], c->plan.n[1]);
	if (unknown)
		cmp_reason(c, "boots_unknown",
			   "%zu runs do not record their boot and are taken as one boot a side (an "
			   "import can "
			   "name it)",
			   unknown);
}

static void explain_order(struct cmp *c)
{
	if (c->plan.confounded)
		cmp_reason(
			c, "confounded_with_time",
			"one side was measured after the other, so a slow drift of the box looks "
			"like a difference: alternate the runs (ABBA) and repeat");
	else if (c->o->history && c->plan.order == ORDER_SEQUENTIAL)
		cmp_reason(c, "history_is_exchangeable",
			   "B was measured after A; A's history shows no dependence on time, so "
			   "that its spread stands for that of time");
	else if (c->data != DATA_SUMMARY && c->plan.order == ORDER_UNKNOWN && c->plan.n[0] > 1 &&
		 c->plan.n[1] > 1)
		cmp_reason(c, "order_unknown",
			   "the order of the runs is not recorded: a drift cannot be excluded");
	if (c->plan.drift.tested && c->plan.drift.p < 0.05)
		cmp_reason(c, "drift", "the runs drift with time (%s)%s",
			   format_p(c->plan.drift.p, (char[32]){0}, 32),
			   c->plan.paired ? "; blocks take it out of the difference" : "");
}

/* Both views are said: raw counts are shown unless the corrected ones were asked for. */
static void explain_omission(struct cmp *c)
{
	size_t skips = c->side[0].skips + c->side[1].skips;
	size_t corrected = c->side[0].corrected + c->side[1].corrected;

	if (!skips)
		return;
	if (!c->o->corrected)
		cmp_reason(
			c, "omission_skips",
			"the source skips the periods that a long delay covers, so its tail is too "
			"thin: the corrected view adds them");
	else if (corrected == skips)
		cmp_reason(c, "omission_corrected",
			   "corrected view: the periods that long delays covered were added, they "
			   "were "
			   "not measured");
	else
		cmp_reason(c, "omission_not_corrected",
			   "%zu of %zu series could not be corrected for skipped periods: their "
			   "period "
			   "or grid is not known",
			   skips - corrected, skips);
}

static void explain_data(struct cmp *c)
{
	const struct side *a = &c->side[0], *b = &c->side[1];
	const json_t *unexpected = json_object_get(c->environment, "unexpected");
	const json_t *within = json_object_get(c->environment, "within");
	char keys[300], la[32], lb[32];

	if (c->data == DATA_SUMMARY)
		cmp_reason(c, "summary_only",
			   "only n, mean and sdev were published: normal theory, no order, no "
			   "distribution");
	if (c->primary_fallback)
		cmp_reason(c, "primary_fallback",
			   "too few samples a run for the metric's own primary statistic %s: %s "
			   "decides instead",
			   !strcmp(c->metric.primary, "mean") ? "p99" : c->metric.primary,
			   c->rows[c->primary].stat.name);
	if (c->regridded)
		cmp_reason(c, "grids_differ",
			   "the sides have different buckets: both are read on the coarser ones");
	if (a->varies || b->varies)
		cmp_reason(c, "measured_differently",
			   "the runs of one side were not all measured in the same way");
	if (a->lost + b->lost)
		cmp_reason(c, "lost_samples", "lost samples: %s in A, %s in %s",
			   format_count(a->lost, la, sizeof(la)),
			   format_count(b->lost, lb, sizeof(lb)), c->b);
	if (a->missed + b->missed)
		cmp_reason(c, "missed_periods", "missed periods: %s in A, %s in %s",
			   format_count(a->missed, la, sizeof(la)),
			   format_count(b->missed, lb, sizeof(lb)), c->b);
	if (a->overflow + b->overflow)
		cmp_reason(c, "overflow", "beyond the histogram's range: %s in A, %s in %s",
			   format_count(a->overflow, la, sizeof(la)),
			   format_count(b->overflow, lb, sizeof(lb)), c->b);
	if (a->labels && b->labels && strcmp(a->labels, b->labels) != 0)
		cmp_reason(c, "labels_differ", "the sides merge different series (A: %s; %s: %s)",
			   *a->labels ? a->labels : "unlabelled", c->b,
			   *b->labels ? b->labels : "unlabelled");
	if (a->scope && b->scope && !strcmp(a->scope, b->scope))
		cmp_reason(c, "scope", "counted in %s only, not in the whole box",
			   !strcmp(a->scope, "workload") ? "the workload" : a->scope);
	if (json_array_size(within))
		cmp_reason(
			c, "differs_within",
			"the runs of one side differ among themselves, which widens its spread: %s",
			list_text(within, 4, keys, sizeof(keys)));
	if (json_array_size(unexpected))
		cmp_reason(c, "environment_differs", "not asked for, but different: %s",
			   list_text(unexpected, 4, keys, sizeof(keys)));
}

/* What multiplexed or interrupted counts allow to say. */
static void explain_counts(struct cmp *c)
{
	const struct side *a = &c->side[0], *b = &c->side[1];

	if (a->doubtful + b->doubtful)
		cmp_reason(c, "doubtful_counts",
			   "doubtful values (%zu in A, %zu in %s), which decide nothing: their "
			   "events were counted in a part of the time only; ask for fewer events",
			   a->doubtful, b->doubtful, c->b);
	if (a->estimated + b->estimated)
		cmp_reason(c, "estimated_counts",
			   "estimated values (%zu in A, %zu in %s): their events were counted more "
			   "than 90 %% of the time and scaled",
			   a->estimated, b->estimated, c->b);
}

static void explain_host_results(struct cmp *c)
{
	size_t agree = 0, better = 0, worse = 0, unclear = 0;
	bool fell = c->rows[c->primary].effect.abs < 0;

	for (size_t h = 0; h < c->n_host_results; h++) {
		const struct host_result *r = &c->host_results[h];

		agree += (r->row.effect.abs < 0) == fell;
		better += r->row.reading == READING_BETTER;
		worse += r->row.reading == READING_WORSE;
		unclear += r->row.reading != READING_BETTER && r->row.reading != READING_WORSE;
	}
	if (!c->n_host_results)
		return;
	cmp_reason(c, "hosts",
		   "%s is %s in %s on %zu of %zu hosts; by itself %zu better, %zu worse, "
		   "%zu without a clear difference",
		   c->rows[c->primary].stat.name, fell ? "lower" : "higher", c->b, agree,
		   c->n_host_results, better, worse, unclear);
	if (c->heterogeneity.tested && c->heterogeneity.p < 0.05)
		cmp_reason(c, "hosts_disagree",
			   "the hosts differ in the size of the change (%s, I2 = %.0f %%)",
			   format_p(c->heterogeneity.p, (char[32]){0}, 32),
			   c->heterogeneity.i2 * 100);
}

/* --- the word --- */

static double replicates(const struct cmp *c, int side)
{
	return c->data == DATA_SUMMARY ? (double)c->side[side].summary.n : (double)c->plan.n[side];
}

static bool reads(const struct cmp *c, enum reading what)
{
	for (size_t i = 0; i < c->n_rows; i++)
		if (c->rows[i].reading == what && c->rows[i].role != ROLE_EXTRA)
			return true;
	return false;
}

static enum word word_of_primary(struct cmp *c)
{
	const struct row *r = &c->rows[c->primary];

	switch (r->reading) {
	case READING_NOT_ENOUGH:
		return WORD_NOT_ENOUGH_RUNS;
	case READING_NOT_RESOLVABLE:
		cmp_reason(c, "primary_not_resolvable", "%s: %s", r->stat.name, r->caution);
		return WORD_UNCLEAR;
	case READING_SAME:
		return reads(c, READING_BETTER) && reads(c, READING_WORSE) ? WORD_MIXED : WORD_SAME;
	case READING_BELOW_MARGIN:
		cmp_reason(c, "changed_below_margin",
			   "there is a change, but it is smaller than what is worth caring about");
		return WORD_SAME;
	case READING_BETTER:
		return reads(c, READING_WORSE) ? WORD_MIXED : WORD_BETTER;
	case READING_WORSE:
		return reads(c, READING_BETTER) ? WORD_MIXED : WORD_WORSE;
	case READING_LOWER:
	case READING_HIGHER:
		cmp_reason(c, "no_direction",
			   "there is a change, but whether higher or lower is better is not known "
			   "for %s",
			   c->metric.name);
		return WORD_UNCLEAR;
	case READING_UNCLEAR:
		break;
	}
	if (r->effect.p < cmp_alpha(c) && !c->plan.confounded)
		cmp_reason(c, "size_unclear",
			   "there is a change, but whether it is worth caring about is not clear");
	return WORD_UNCLEAR;
}

static bool is_doubtful(const struct cmp *c)
{
	return c->side[0].doubtful + c->side[1].doubtful > 0;
}

bool verdict_forbidden(struct cmp *c)
{
	bool forbidden = methods_differ(c);

	forbidden |= scopes_block(c);
	forbidden |= environment_blocks(c);
	forbidden |= hosts_block(c);
	forbidden |= cpu_models_block(c);
	forbidden |= same_runs_block(c);
	c->blocked = forbidden;
	return forbidden;
}

bool verdict_too_few(struct cmp *c)
{
	if (replicates(c, 0) >= 3 && replicates(c, 1) >= 3)
		return false;
	cmp_reason(c, "few_replicates",
		   "%.0f + %.0f %ss: at least 3 a side are needed to tell a difference from "
		   "the noise between %ss",
		   replicates(c, 0), replicates(c, 1), replicate_name(c->plan.replicate),
		   replicate_name(c->plan.replicate));
	return true;
}

static enum word decide(struct cmp *c)
{
	if (verdict_forbidden(c))
		return WORD_NOT_COMPARABLE;
	if (verdict_too_few(c))
		return WORD_NOT_ENOUGH_RUNS;
	return is_doubtful(c) ? WORD_UNCLEAR : word_of_primary(c);
}

/* Numbers stay visible, but nothing is read from sides that may not be compared. */
static void silence_rows(struct cmp *c)
{
	for (size_t i = 0; i < c->n_rows; i++) {
		struct row *r = &c->rows[i];

		if (r->reading != READING_NOT_RESOLVABLE)
			r->reading = c->word == WORD_NOT_ENOUGH_RUNS ? READING_NOT_ENOUGH
								     : READING_UNCLEAR;
		if (c->word == WORD_NOT_COMPARABLE)
			calc_nothing(&r->effect, "none: not comparable");
	}
}

void verdict_explain_design(struct cmp *c)
{
	explain_order(c);
	explain_boot(c);
	explain_data(c);
}

void verdict_make(struct cmp *c)
{
	c->word = decide(c);
	if (c->word == WORD_NOT_COMPARABLE || c->word == WORD_NOT_ENOUGH_RUNS || is_doubtful(c))
		silence_rows(c);
	explain_order(c);
	explain_boot(c);
	explain_host_results(c);
	explain_data(c);
	explain_counts(c);
	explain_omission(c);
	sentence_make(c);
}
