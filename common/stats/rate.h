/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts, shares and rates of rare events (breaches). All assume independent events: with bursts
 * use the run as the unit and t on logs of the runs' rates. */
#pragma once

#include "common/stats/stat.h"

/* Share x / n. Clopper & Pearson (1934), Wilson (1927), exact Poisson rate (x / n), and the
 * one-sided upper bound at `conf` (Clopper-Pearson; about 3 / n for x = 0 at 95 %). */
struct rate_share {
	double share;
	struct stat_interval clopper_pearson, wilson, poisson;
	double upper;
};
int rate_share(double x, double n, double conf, struct rate_share *ret,
	       struct err *reterr) MUSTCHECK;

/* Upper end of the one-sided interval of a Poisson rate: x events in `exposure` (hours, wake-ups).
 */
int rate_upper(double x, double exposure, double conf, double *ret, struct err *reterr) MUSTCHECK;

/* Rates of B and A: exact conditional binomial test, two-sided by the sum of outcomes that are not
 * more probable, Clopper-Pearson interval of the ratio (as R's poisson.test). ratio is NAN for 0/0,
 * INFINITY for x/0. */
struct rate_ratio {
	enum stat_state state;
	double ratio, p, p_less, p_greater;
	struct stat_interval ci;
};
int rate_ratio(double xa, double exposure_a, double xb, double exposure_b, double conf,
	       struct rate_ratio *ret, struct err *reterr) MUSTCHECK;

/* Evidence that may be looked at as often as wanted, also to decide when to stop: how a Poisson
 * rate stands to `limit` > 0 after x events in `exposure`. Logs of two e-values: of rate > limit
 * against <= limit, and of rate < limit against >= limit; each exceeds log(1 / alpha) at any time
 * with probability <= alpha when its null holds (Ville 1939; Robbins 1970: likelihood ratio mixed
 * over an exponential prior of mean `limit`, cut at the limit). */
struct rate_evidence {
	double above, below;
};
int rate_evidence(double x, double exposure, double limit, struct rate_evidence *ret,
		  struct err *reterr) MUSTCHECK;

/* Two-sided exact binomial p (R's binom.test) and its one-sided forms. */
double rate_binomial_p(double x, double n, double prob);

/* P(the largest of `more` further samples exceeds the largest of `n`), iid continuous: why a
 * maximum of unequal sample counts is not compared. */
double rate_new_max(double n, double more);
