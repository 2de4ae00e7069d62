/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules on comparison documents: pass, fail or inconclusive (docs/STATISTICS.md, "gate"). */
#pragma once

#include "common/compare/compare.h"

enum gate_result { GATE_PASS = 0, GATE_FAIL = 1, GATE_INCONCLUSIVE = 2 };
enum gate_mode { GATE_NORMAL, GATE_STRICT, GATE_PROVE, GATE_ANYTIME };

/* One rule, read. Relative limits are of B against A; absolute ones are of B alone, in the
 * metric's unit, or events an hour for over(). */
struct gate_rule {
	const char *text; /* borrowed */
	char stat[48];
	bool at_most; /* <=, else >= */
	enum { GATE_RELATIVE, GATE_ABSOLUTE, GATE_PER_HOUR } kind;
	double limit;
};
/* The unit of absolute limits follows from the text ("200us" is ns, "70.5" is plain). */
int gate_rule_parse(const char *text, struct gate_rule *ret, struct err *reterr) MUSTCHECK;

/* Adds a "gate" member to the document (or list of documents). Rules: "p99<=+5%", "mean>=-2%",
 * "max<=200us", "over(100us)<=1/h". Their statistics must be rows of the document:
 * compare_options.also. A document of compare_single() has only absolute rules.
 *   normal  fails when the interval lies wholly past the limit, passes when wholly inside
 *   strict  fails as soon as the estimate is past the limit
 *   prove   fails unless the interval lies wholly inside
 *   anytime for repeated looks at a growing side: only over(..)<=N/h, which is judged by evidence
 *           that holds at every look, and max<=, min>=, which are facts */
int gate_apply(json_t *doc, const char *const *rules, size_t n, enum gate_mode mode,
	       enum gate_result *ret, struct err *reterr) MUSTCHECK;
/* The statistics that rules need, for compare_options.also: ret[0..n), each to be freed. */
void gate_stats(const char *const *rules, size_t n, char **ret);
int gate_mode_parse(const char *text, enum gate_mode *ret, struct err *reterr) MUSTCHECK;
/* Whether a rule may be judged again and again (anytime). */
bool gate_rule_is_anytime(const struct gate_rule *r);
const char *gate_mode_name(enum gate_mode m);
const char *gate_result_name(enum gate_result r); /* "pass", "fail", "inconclusive" */
/* Its inverse; -1 for any other text. */
int gate_result_parse(const char *name, enum gate_result *ret) MUSTCHECK;

/* A/A check of rules on the runs of one side: splits neighbours at random into two halves, again
 * and again, and reports how often each rule would have failed by itself and which change is
 * noise. {"splits", "rules": [{"rule", "failed_share", "noise_rel", "refused", "why"}]}; *ret_ok is
 * false when a rule asks for less than the noise. Needs 6 runs. */
int gate_self_check(const struct compare_side *a, const struct compare_options *o,
		    const char *const *rules, size_t n, enum gate_mode mode, json_t **ret,
		    bool *ret_ok, struct err *reterr) MUSTCHECK;

void gate_render_junit(const json_t *doc, struct strbuf *out);
