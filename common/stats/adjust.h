/* SPDX-License-Identifier: GPL-2.0-or-later */
/* p-values corrected for being many. NAN entries (no test was made) stay NAN and are not counted.
 */
#pragma once

#include "common/stats/stat.h"

enum adjust_method {
	ADJUST_BH,	 /* Benjamini & Hochberg (1995): false discovery rate */
	ADJUST_BY,	 /* Benjamini & Yekutieli (2001): the same under any dependence */
	ADJUST_HOLM,	 /* Holm (1979): family-wise */
	ADJUST_HOCHBERG, /* Hochberg (1988) */
	ADJUST_BONFERRONI
};
/* Adjusted values are monotone in p and at most 1. `out` may be `p`. */
int adjust_p(enum adjust_method method, const double *p, size_t n, double *out,
	     struct err *reterr) MUSTCHECK;
