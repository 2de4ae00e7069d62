/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules on comparison documents: pass, fail or inconclusive (docs/STATISTICS.md, "gate"). */
#pragma once

#include "common/compare/compare.h"

enum gate_result { GATE_PASS = 0, GATE_FAIL = 1, GATE_INCONCLUSIVE = 2 };
enum gate_mode { GATE_NORMAL, GATE_STRICT, GATE_PROVE };

/* Adds a "gate" member to the document. Rules: "p99<=+5%", "mean>=-2%", "max<=200us",
 * "over(100us)<=1/h" (one-sided, needs no side B). */
int gate_apply(json_t *doc, const char *const *rules, size_t n, enum gate_mode mode,
	       enum gate_result *ret, struct err *reterr) MUSTCHECK;
void gate_render_junit(const json_t *doc, struct strbuf *out);
