/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/gate.h"

#include <math.h>
#include <stdio.h>

#include "common/compare/calc.h"
#include "common/compare/render.h"
#include "common/parse.h"
#include "common/stats/rate.h"
#include "common/compare/pack.h"

/* With more lost samples than this share a rule does not pass. */
#define LOST_AT_MOST 0.001

const char *gate_result_name(enum gate_result r)
{
	static const char *const names[] = {"pass", "fail", "inconclusive"};

	return names[r];
}

int gate_result_parse(const char *name, enum gate_result *ret)
{
	for (int i = GATE_PASS; i <= GATE_INCONCLUSIVE; i++) {
		if (!strcmp(name, gate_result_name((enum gate_result)i))) {
			*ret = (enum gate_result)i;
			return 0;
		}
	}
	return -1;
}

static const char *const mode_names[] = {"normal", "strict", "prove", "anytime"};

const char *gate_mode_name(enum gate_mode m)
{
	return mode_names[m];
}

int gate_mode_parse(const char *text, enum gate_mode *ret, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(mode_names); i++) {
		if (!strcmp(text, mode_names[i])) {
			*ret = (enum gate_mode)i;
			return 0;
		}
	}
	return err_set(reterr, ERR_INVALID,
		       "gate mode \"%.30s\": one of normal, strict, prove, anytime", text);
}

/* --- rules --- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n > k && !strcmp(text + n - k, end);
}

static int parse_limit(const char *text, struct gate_rule *r, struct err *reterr)
{
	char number[40];
	size_t len = strlen(text), cut = 0;
	int64_t ns;

	if (!len || len >= sizeof(number))
		return err_set(reterr, ERR_INVALID, "no limit");
	if (ends_with(text, "%")) {
		r->kind = GATE_RELATIVE;
		cut = 1;
	} else if (ends_with(text, "/h")) {
		r->kind = GATE_PER_HOUR;
		cut = 2;
	} else {
		r->kind = GATE_ABSOLUTE;
	}
	snprintf(number, sizeof(number), "%.*s", (int)(len - cut), *text == '+' ? text + 1 : text);
	if (*text == '+')
		number[len - cut - 1] = '\0';
	if (r->kind == GATE_ABSOLUTE && ends_with(number, "s")) {
		if (parse_duration(number, &ns, reterr) < 0)
			return reterr->code;
		r->limit = (double)ns;
		return 0;
	}
	if (parse_double(number, &r->limit, reterr) < 0)
		return reterr->code;
	if (r->kind == GATE_RELATIVE)
		r->limit /= 100;
	return 0;
}

int gate_rule_parse(const char *text, struct gate_rule *ret, struct err *reterr)
{
	const char *op = strpbrk(text, "<>");
	size_t len = op ? (size_t)(op - text) : 0;

	memset(ret, 0, sizeof(*ret));
	ret->text = text;
	if (!len || op[1] != '=' || len >= sizeof(ret->stat))
		return err_set(reterr, ERR_INVALID,
			       "rule \"%.60s\": write STATISTIC<=LIMIT, such as p99<=+5%%, "
			       "max<=200us or over(100us)<=1/h",
			       text);
	memcpy(ret->stat, text, len);
	while (len && ret->stat[len - 1] == ' ')
		ret->stat[--len] = '\0';
	ret->at_most = *op == '<';
	op += 2;
	while (*op == ' ')
		op++;
	if (parse_limit(op, ret, reterr) < 0)
		return err_prefix(reterr, "rule \"%s\": ", text);
	if (ret->kind == GATE_PER_HOUR && strncmp(ret->stat, "over(", 5) != 0)
		return err_set(reterr, ERR_INVALID,
			       "rule \"%s\": only over(THRESHOLD) has a limit an hour", text);
	return 0;
}

static bool is_extreme(const struct gate_rule *r)
{
	return !strcmp(r->stat, r->at_most ? "max" : "min");
}

bool gate_rule_is_anytime(const struct gate_rule *r)
{
	return (r->kind == GATE_PER_HOUR && r->at_most) ||
	       (r->kind == GATE_ABSOLUTE && is_extreme(r));
}

/* --- judging --- */

struct judgement {
	enum gate_result result;
	double value, lo, hi;
	char why[300];
};

/* How an interval stands to a limit, turned so that larger is worse. */
static void judge_interval(const struct gate_rule *r, enum gate_mode mode, struct judgement *j)
{
	double sign = r->at_most ? 1 : -1;
	double est = sign * j->value, limit = sign * r->limit;
	double low = r->at_most ? j->lo : -j->hi, high = r->at_most ? j->hi : -j->lo;
	const char *far = r->at_most ? "above" : "below";

	if (mode == GATE_STRICT && est > limit) {
		j->result = GATE_FAIL;
		snprintf(j->why, sizeof(j->why), "the estimate is %s the limit", far);
	} else if (isnan(low) || isnan(high)) {
		j->result = GATE_INCONCLUSIVE;
		snprintf(j->why, sizeof(j->why),
			 "there is no interval: too few runs, or a design "
			 "that allows none");
	} else if (low > limit) {
		j->result = GATE_FAIL;
		snprintf(j->why, sizeof(j->why),
			 "even the near end of the interval is %s the limit", far);
	} else if (high <= limit) {
		j->result = GATE_PASS;
		snprintf(j->why, sizeof(j->why), "the whole interval is inside the limit");
	} else if (mode == GATE_PROVE) {
		j->result = GATE_FAIL;
		snprintf(j->why, sizeof(j->why), "not proved: the interval reaches %s the limit",
			 far);
	} else {
		j->result = GATE_INCONCLUSIVE;
		snprintf(j->why, sizeof(j->why), "the limit lies inside the interval");
	}
}

static void put_blocks(const json_t *delta, struct judgement *j)
{
	const json_t *more = json_object_get(delta, "more_blocks");
	size_t len = strlen(j->why);

	if (j->result == GATE_INCONCLUSIVE && json_is_integer(json_array_get(more, 1)))
		snprintf(j->why + len, sizeof(j->why) - len, "; about %lld more blocks would help",
			 (long long)json_integer_value(json_array_get(more, 1)));
}

static void judge_relative(const struct gate_rule *r, const json_t *row, enum gate_mode mode,
			   struct judgement *j)
{
	const json_t *delta = json_object_get(row, "delta");
	const json_t *ci = json_object_get(delta, "ci_rel");

	j->value = render_num(delta, "rel");
	if (json_is_array(ci)) {
		const json_t *lo = json_array_get(ci, 0), *hi = json_array_get(ci, 1);

		j->lo = json_is_number(lo) ? json_number_value(lo) : -INFINITY;
		j->hi = json_is_number(hi) ? json_number_value(hi) : INFINITY;
	}
	if (isnan(j->value)) {
		snprintf(j->why, sizeof(j->why), "no relative change exists (%s)",
			 *render_str(row, "caution")
				 ? render_str(row, "caution")
				 : "a base of 0, or sides that cannot be compared");
		return;
	}
	judge_interval(r, mode, j);
	put_blocks(delta, j);
}

/* The largest value seen is a fact: no interval is needed, only that nothing hides beyond the
 * histogram's range. */
static void judge_extreme(const struct gate_rule *r, const json_t *side, struct judgement *j)
{
	double seen = render_num(side, r->at_most ? "max" : "min");
	const json_t *bounds = json_object_get(side, "bounds");
	bool open = json_is_true(json_object_get(side, "at_least")) ||
		    (bounds && json_is_null(json_array_get(bounds, 1)));

	j->value = j->lo = j->hi = seen;
	if (r->at_most ? seen > r->limit : seen < r->limit) {
		j->result = GATE_FAIL;
		snprintf(j->why, sizeof(j->why), "a run went past it");
	} else if (open) {
		snprintf(j->why, sizeof(j->why),
			 "samples beyond the histogram's range: the extreme is not known");
	} else {
		j->result = GATE_PASS;
		snprintf(j->why, sizeof(j->why), "no run went past it");
	}
}

static void judge_absolute(const struct gate_rule *r, const json_t *doc, const json_t *row,
			   enum gate_mode mode, struct judgement *j)
{
	const json_t *side = json_object_get(row, "b");

	if (!strcmp(render_str(row, "unit"), "1/h")) {
		snprintf(j->why, sizeof(j->why), "write the limit an hour, such as %s<=1/h",
			 r->stat);
		return;
	}
	if (is_extreme(r)) {
		judge_extreme(r, side, j);
		return;
	}
	j->value = render_num(side, "avg");
	if (json_is_true(json_object_get(side, "at_least"))) {
		snprintf(j->why, sizeof(j->why), "it lies beyond the histogram's range");
		return;
	}
	calc_mean_interval(render_num(side, "n"), j->value, render_num(side, "sdev"),
			   render_num(doc, "confidence"), &j->lo, &j->hi);
	judge_interval(r, mode, j);
}

static enum gate_result by_evidence(double events, double hours, double limit, double conf)
{
	double bar = -log1p(-conf);
	struct rate_evidence v;
	struct err e;

	if (!(limit > 0)) /* not even one is allowed, and no time shows that there is none */
		return events > 0 ? GATE_FAIL : GATE_INCONCLUSIVE;
	if (rate_evidence(events, hours, limit, &v, &e) < 0)
		return GATE_INCONCLUSIVE;
	return v.above >= bar ? GATE_FAIL : v.below >= bar ? GATE_PASS : GATE_INCONCLUSIVE;
}

/* How long it takes until no further event shows the rate: doubling, then halving. */
static double hours_until_pass(double events, double hours, double limit, double conf)
{
	double lo = hours, hi = hours;

	do
		hi *= 2;
	while (by_evidence(events, hi, limit, conf) != GATE_PASS && hi * limit < 1e9);
	for (int i = 0; i < 50; i++) {
		double mid = (lo + hi) / 2;

		*(by_evidence(events, mid, limit, conf) == GATE_PASS ? &hi : &lo) = mid;
	}
	return hi;
}

/* The bounds of judge_per_hour hold for one look; this holds for any number of them. */
static void judge_anytime(const struct gate_rule *r, double events, double hours, double conf,
			  struct judgement *j)
{
	j->value = events / hours;
	j->result = by_evidence(events, hours, r->limit, conf);
	if (j->result == GATE_PASS)
		snprintf(j->why, sizeof(j->why),
			 "%.0f in %.3g h: below the limit at %.4g %% confidence, however often "
			 "it is looked at",
			 events, hours, conf * 100);
	else if (j->result == GATE_FAIL)
		snprintf(j->why, sizeof(j->why),
			 "%.0f in %.3g h: above the limit at %.4g %% confidence, however often "
			 "it is looked at",
			 events, hours, conf * 100);
	else if (r->limit > 0)
		snprintf(j->why, sizeof(j->why),
			 "%.0f in %.3g h: open; %.3g h more without another would show it", events,
			 hours, hours_until_pass(events, hours, r->limit, conf) - hours);
	else
		snprintf(j->why, sizeof(j->why), "no finite time shows a rate of 0");
}

/* Events are few: one-sided Poisson bounds of the whole time, and the time that is still missing
 * if nothing more happens. */
static void judge_per_hour(const struct gate_rule *r, const json_t *doc, const json_t *row,
			   enum gate_mode mode, struct judgement *j)
{
	double events = render_num(json_object_get(row, "b"), "above");
	double hours = render_num(json_object_get(doc, "b"), "measured_h");
	double conf = render_num(doc, "confidence"), need;

	if (!(hours > 0)) {
		snprintf(j->why, sizeof(j->why), "the runs do not say how long they measured");
		return;
	}
	if (mode == GATE_ANYTIME) {
		judge_anytime(r, events, hours, conf, j);
		return;
	}
	j->value = events / hours;
	j->lo = calc_rate_lower(events, hours, conf);
	j->hi = calc_rate_upper(events, hours, conf);
	need = calc_rate_upper(events, 1, conf) / r->limit - hours;
	if (!r->at_most) {
		snprintf(j->why, sizeof(j->why), "a rate has an upper limit only: write <=");
	} else if (j->hi <= r->limit) {
		j->result = GATE_PASS;
		snprintf(j->why, sizeof(j->why),
			 "%.0f in %.3g h: at most %.3g an hour at %.4g %% confidence", events,
			 hours, j->hi, conf * 100);
	} else if (j->lo > r->limit) {
		j->result = GATE_FAIL;
		snprintf(j->why, sizeof(j->why), "%.0f in %.3g h: at least %.3g an hour", events,
			 hours, j->lo);
	} else if (r->limit > 0) {
		snprintf(j->why, sizeof(j->why),
			 "%.0f in %.3g h allow up to %.3g an hour; %.3g h more without another "
			 "would "
			 "show it",
			 events, hours, j->hi, need);
	} else {
		snprintf(j->why, sizeof(j->why), "no finite time shows a rate of 0");
	}
}

static const json_t *find_row(const json_t *doc, const char *stat)
{
	size_t i;
	json_t *row;

	if (!strcmp(stat, "avg"))
		stat = "mean";
	if (!strcmp(stat, "median"))
		stat = "p50";
	json_array_foreach(json_object_get(doc, "rows"), i,
			   row) if (!strcmp(render_str(row, "stat"), stat)) return row;
	return NULL;
}

static bool too_much_lost(const json_t *side)
{
	double lost = render_num(side, "lost"), seen = render_num(side, "samples");

	return lost > LOST_AT_MOST * (lost + seen);
}

/* A doubtful count is shown, and no rule rests on it. */
static bool is_doubtful(const json_t *doc)
{
	return render_num(json_object_get(doc, "a"), "doubtful") > 0 ||
	       render_num(json_object_get(doc, "b"), "doubtful") > 0;
}

static void judge(const struct gate_rule *r, const json_t *doc, const json_t *row,
		  enum gate_mode mode, struct judgement *j)
{
	*j = (struct judgement){.result = GATE_INCONCLUSIVE, .value = NAN, .lo = NAN, .hi = NAN};
	if (r->kind == GATE_PER_HOUR)
		judge_per_hour(r, doc, row, mode, j);
	else if (r->kind == GATE_ABSOLUTE)
		judge_absolute(r, doc, row, mode, j);
	else
		judge_relative(r, row, mode, j);
	if (j->result == GATE_PASS && too_much_lost(json_object_get(doc, "b"))) {
		j->result = GATE_INCONCLUSIVE;
		snprintf(j->why, sizeof(j->why), "too many lost samples to be sure of a pass");
	}
	if (is_doubtful(doc)) {
		j->result = GATE_INCONCLUSIVE;
		snprintf(j->why, sizeof(j->why),
			 "doubtful values: their events were counted in a part of the time only");
	}
}

/* Reasons for which nothing of the comparison may be judged. */
static json_t *blocked_by(const json_t *doc)
{
	const json_t *v = json_object_get(doc, "verdict"), *reason;
	json_t *out = json_array();
	size_t i;

	if (strcmp(render_str(v, "word"), "not_comparable") != 0)
		return out;
	json_array_foreach(json_object_get(v, "reasons"), i, reason)
		json_array_append(out, (json_t *)reason);
	return out;
}

static json_t *number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *judgement_json(const struct gate_rule *r, const struct judgement *j)
{
	json_t *ci = isnan(j->lo) || isnan(j->hi)
			     ? json_null()
			     : PACK("[o,o]", number_or_null(j->lo), number_or_null(j->hi));

	return PACK("{s:s,s:s,s:o,s:o,s:f,s:s}", "rule", r->text, "result",
		    gate_result_name(j->result), "value", number_or_null(j->value), "ci", ci,
		    "limit", r->limit, "why", j->why);
}

/* fail beats inconclusive beats pass */
static enum gate_result worse_of(enum gate_result a, enum gate_result b)
{
	if (a == GATE_FAIL || b == GATE_FAIL)
		return GATE_FAIL;
	return a == GATE_INCONCLUSIVE || b == GATE_INCONCLUSIVE ? GATE_INCONCLUSIVE : GATE_PASS;
}

static int apply_rule(const json_t *doc, const struct gate_rule *r, enum gate_mode mode,
		      bool blocked, json_t *list, enum gate_result *total, struct err *reterr)
{
	const json_t *row = find_row(doc, r->stat);
	struct judgement j;
	json_t *out;

	if (r->kind == GATE_RELATIVE && !json_is_object(json_object_get(doc, "a")))
		return err_set(reterr, ERR_INVALID,
			       "rule \"%s\" compares two sides, and there is only one", r->text);
	if (!row)
		return err_set(
			reterr, ERR_INVALID,
			"rule \"%s\": the comparison has no row %s; ask for it as a statistic",
			r->text, r->stat);
	if (mode == GATE_ANYTIME && !gate_rule_is_anytime(r))
		return err_set(reterr, ERR_INVALID,
			       "rule \"%s\" cannot be judged again and again: anytime takes "
			       "over(THRESHOLD)<=N/h, max<= and min>=",
			       r->text);
	judge(r, doc, row, mode, &j);
	if (blocked && r->kind == GATE_RELATIVE) {
		j.result = GATE_INCONCLUSIVE;
		snprintf(j.why, sizeof(j.why), "the sides are not comparable");
	}
	out = judgement_json(r, &j);
	json_object_set(out, "b", json_object_get(json_object_get(doc, "b"), "name"));
	json_array_append_new(list, out);
	*total = worse_of(*total, j.result);
	return 0;
}

static int apply_to_item(json_t *item, const char *const *rules, size_t n, enum gate_mode mode,
			 enum gate_result *ret, struct err *reterr)
{
	json_t *list = json_array(), *blocked = blocked_by(item);

	*ret = GATE_PASS;
	for (size_t i = 0; i < n; i++) {
		struct gate_rule rule;

		if (gate_rule_parse(rules[i], &rule, reterr) < 0 ||
		    apply_rule(item, &rule, mode, json_array_size(blocked) > 0, list, ret, reterr) <
			    0) {
			json_decref(list);
			json_decref(blocked);
			return reterr->code;
		}
	}
	json_object_set_new(item, "gate",
			    PACK("{s:s,s:s,s:o,s:o}", "result", gate_result_name(*ret), "mode",
				 gate_mode_name(mode), "rules", list, "blocked_by", blocked));
	return 0;
}

/* The gate of a list: the rules of all its items, and the worst result. */
static void sum_up(json_t *doc, enum gate_mode mode, enum gate_result total)
{
	json_t *list = json_array(), *blocked = json_array();
	const json_t *item;

	for (size_t k = 0; (item = render_item(doc, k)); k++) {
		const json_t *gate = json_object_get(item, "gate");

		json_array_extend(list, json_object_get(gate, "rules"));
		json_array_extend(blocked, json_object_get(gate, "blocked_by"));
	}
	json_object_set_new(doc, "gate",
			    PACK("{s:s,s:s,s:o,s:o}", "result", gate_result_name(total), "mode",
				 gate_mode_name(mode), "rules", list, "blocked_by", blocked));
}

int gate_apply(json_t *doc, const char *const *rules, size_t n, enum gate_mode mode,
	       enum gate_result *ret, struct err *reterr)
{
	json_t *items = json_object_get(doc, "items");

	if (!items)
		return apply_to_item(doc, rules, n, mode, ret, reterr);
	*ret = GATE_PASS;
	for (size_t k = 0; k < json_array_size(items); k++) {
		enum gate_result one;

		if (apply_to_item(json_array_get(items, k), rules, n, mode, &one, reterr) < 0)
			return reterr->code;
		*ret = worse_of(*ret, one);
	}
	sum_up(doc, mode, *ret);
	return 0;
}

void gate_stats(const char *const *rules, size_t n, char **ret)
{
	for (size_t i = 0; i < n; i++) {
		struct gate_rule rule;
		struct err ignored;

		/* A rule that cannot be read is refused when it is applied. */
		ret[i] = xstrdup(gate_rule_parse(rules[i], &rule, &ignored) == 0 ? rule.stat
										 : "mean");
	}
}
