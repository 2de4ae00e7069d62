/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Would a rule fail by itself? The runs of one side are split in two at random, neighbours into
 * different halves, and each split is judged as if it were a change. */
#include <math.h>
#include <stdio.h>

#include "common/compare/gate.h"
#include "common/compare/render.h"
#include "common/stats/rng.h"
#include "common/stats/stat.h"
#include "common/compare/pack.h"

#define SPLITS	      200
#define RUNS_AT_LEAST 6
/* A rule may fail by itself at most this often. */
#define FAILED_AT_MOST 0.05

static int in_order(const void *a, const void *b)
{
	const struct run *x = *(struct run *const *)a, *y = *(struct run *const *)b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->started_ns < y->started_ns ? -1 : x->started_ns > y->started_ns;
}

struct split {
	struct run **all;
	size_t n;
	struct run **half[2];
};

static size_t usable_runs(const struct compare_side *a, struct run **out)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (a->runs[i]->state == RUN_OK && !a->runs[i]->excluded)
			out[n++] = a->runs[i];
	qsort(out, n, sizeof(*out), in_order);
	return n & ~(size_t)1;
}

struct tally {
	double *changes; /* |rel| of each split */
	size_t n, failed;
};

static void count_rule(const json_t *gate_rule, struct tally *t)
{
	double v = render_num(gate_rule, "value");

	t->failed += !strcmp(render_str(gate_rule, "result"), "fail");
	if (!isnan(v))
		t->changes[t->n++] = fabs(v);
}

static int judge_split(const struct split *s, const struct compare_options *o,
		       const char *const *rules, size_t n, enum gate_mode mode,
		       struct tally *tallies, struct err *reterr)
{
	struct compare_side side[2] = {
		{.name = "first half", .runs = s->half[0], .n = s->n / 2},
		{.name = "second half", .runs = s->half[1], .n = s->n / 2},
	};
	enum gate_result ignored;
	json_t *doc;
	int r = compare_document(&side[0], &side[1], o, &doc, reterr);

	if (r < 0)
		return r;
	r = gate_apply(doc, rules, n, mode, &ignored, reterr);
	for (size_t i = 0; r == 0 && i < n; i++)
		count_rule(
			json_array_get(json_object_get(json_object_get(doc, "gate"), "rules"), i),
			&tallies[i]);
	json_decref(doc);
	return r;
}

static json_t *rule_report(const char *text, struct tally *t, bool *ret_ok)
{
	struct gate_rule rule;
	struct err e;
	double noise = NAN, share = t->n ? (double)t->failed / (double)t->n : NAN;
	bool refused = false;
	char why[200];

	if (gate_rule_parse(text, &rule, &e) < 0)
		return json_null();
	if (t->n) {
		stat_sort(t->changes, t->n);
		noise = t->changes[(size_t)(0.95 * (double)(t->n - 1))];
	}
	if (rule.kind == GATE_RELATIVE && fabs(rule.limit) < noise)
		refused = true;
	refused |= share > FAILED_AT_MOST;
	if (rule.kind != GATE_RELATIVE)
		snprintf(why, sizeof(why), "a limit of one side has no A/A noise");
	else if (refused)
		snprintf(why, sizeof(why),
			 "refused: the same runs split in two differ by up to %.3g %% in 95 of 100 "
			 "splits, and the rule would fail in %.3g %% of them",
			 noise * 100, share * 100);
	else
		snprintf(why, sizeof(why),
			 "the same runs split in two differ by up to %.3g %% in 95 of 100 splits",
			 noise * 100);
	refused &= rule.kind == GATE_RELATIVE;
	*ret_ok &= !refused;
	return PACK("{s:s,s:o,s:o,s:b,s:s}", "rule", text, "failed_share",
		    isnan(share) ? json_null() : json_real(share), "noise_rel",
		    isnan(noise) ? json_null() : json_real(noise), "refused", refused, "why", why);
}

int gate_self_check(const struct compare_side *a, const struct compare_options *o,
		    const char *const *rules, size_t n, enum gate_mode mode, json_t **ret,
		    bool *ret_ok, struct err *reterr)
{
	struct split s = {.all = xcalloc(a->n + 1, sizeof(*s.all))};
	struct tally *tallies = xcalloc(n + 1, sizeof(*tallies));
	json_t *list = json_array();
	struct rng rng;
	int r = 0;

	s.n = usable_runs(a, s.all);
	s.half[0] = xcalloc(s.n + 1, sizeof(*s.half[0]));
	s.half[1] = xcalloc(s.n + 1, sizeof(*s.half[1]));
	if (s.n < RUNS_AT_LEAST)
		r = err_set(reterr, ERR_INVALID,
			    "an A/A check needs at least %d runs of side A, there are %zu",
			    RUNS_AT_LEAST, s.n);
	for (size_t i = 0; i < n; i++)
		tallies[i].changes = xcalloc(SPLITS, sizeof(double));
	rng_init(&rng, 1);
	for (size_t k = 0; k < SPLITS && r == 0; k++) {
		for (size_t i = 0; i < s.n; i += 2) {
			uint32_t swap = rng_below(&rng, 2);

			s.half[0][i / 2] = s.all[i + swap];
			s.half[1][i / 2] = s.all[i + 1 - swap];
		}
		r = judge_split(&s, o, rules, n, mode, tallies, reterr);
	}
	*ret_ok = true;
	for (size_t i = 0; i < n; i++) {
		if (r == 0)
			json_array_append_new(list, rule_report(rules[i], &tallies[i], ret_ok));
		free(tallies[i].changes);
	}
	free(tallies);
	free(s.all);
	free(s.half[0]);
	free(s.half[1]);
	if (r == 0)
		*ret = PACK("{s:i,s:i,s:o}", "splits", SPLITS, "runs", (int)s.n, "rules", list);
	else
		json_decref(list);
	return r;
}
