/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of a comparison: from the query string of GET /compare or the body of
 * POST /comparisons. */
#pragma once

#include "common/compare/gate.h"
#include "server/api_common.h"

#define COMPARE_SIDES_MAX 6
#define COMPARE_STATS_MAX 32
#define COMPARE_RULES_MAX 32

struct compare_ask {
	char *sides[COMPARE_SIDES_MAX]; /* selectors, A first */
	size_t n_sides;
	char *metric, *primary, *factor;    /* NULL: not given */
	char *stats[COMPARE_STATS_MAX + 1]; /* NULL-terminated */
	size_t n_stats;
	char *rules[COMPARE_RULES_MAX];
	size_t n_rules;
	enum gate_mode gate_mode;
	struct labels labels;
	double confidence, margin_rel; /* 0 and -1: the default */
	int64_t tail_threshold;	       /* 0: chosen from the data */
	bool anyway, corrected, history;
};

/* Both reply with a problem and return false when something is wrong. */
bool compare_ask_from_query(struct request *req, struct compare_ask *ret);
bool compare_ask_from_body(struct request *req, const json_t *body, struct compare_ask *ret);
void compare_ask_done(struct compare_ask *a);
/* The canonical query string of the live comparison, without "?". */
void compare_ask_query(const struct compare_ask *a, struct strbuf *out);

/* Parameters of compare_ask_from_query, for api_params. */
#define COMPARE_ASK_PARAMS                                                                         \
	"a", "b", "metric", "stat", "ci", "margin", "primary", "factor", "labels", "anyway",       \
		"corrected", "history", "gate", "gate_mode", "tail"
