/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often does changepoint_find() call a change that is not there, and how often does it see one
 * that is? Prints the table of docs/STATISTICS.md; exit 1 when a bar is missed. Not part of ctest.
 *
 * usage: changepoint_rates [SERIES [SEED]] */
#include <math.h>
#include <stdio.h>

#include "common/stats/changepoint.h"
#include "common/stats/rng.h"

struct scene {
	const char *what;
	size_t n;
	double rho, step, drift; /* in sd of the noise; the step is in the middle */
	double false_max;	 /* bar on steps, or -1 */
	double power_min;	 /* bar on a step within 5 points of the middle, or -1 */
};

static const struct scene scenes[] = {
	{"no change, AR(0)", 200, 0, 0, 0, 0.03, -1},
	{"no change, AR(0.3)", 200, 0.3, 0, 0, 0.03, -1},
	{"no change, AR(0.5)", 200, 0.5, 0, 0, 0.03, -1},
	{"no change, AR(0.7)", 200, 0.7, 0, 0, -1, -1},
	{"no change, AR(0.9)", 200, 0.9, 0, 0, -1, -1},
	{"no change, AR(0.9)", 500, 0.9, 0, 0, -1, -1},
	{"no change, AR(0)", 50, 0, 0, 0, -1, -1},
	{"no change, AR(0)", 100, 0, 0, 0, -1, -1},
	{"no change, AR(0.5)", 100, 0.5, 0, 0, -1, -1},
	{"no change, AR(0.5)", 500, 0.5, 0, 0, -1, -1},
	{"step 2 sd, AR(0)", 100, 0, 2, 0, -1, 0.9},
	{"step 2 sd, AR(0.3)", 100, 0.3, 2, 0, -1, -1},
	{"step 2 sd, AR(0.5)", 200, 0.5, 2, 0, -1, -1},
	{"step 1 sd, AR(0)", 100, 0, 1, 0, -1, -1},
	{"step 5 sd, AR(0)", 40, 0, 5, 0, -1, -1},
	{"drift 4 sd in all, AR(0)", 100, 0, 0, 4, -1, -1},
	{"drift 4 sd in all, AR(0.3)", 200, 0.3, 0, 4, -1, -1},
};

static void make_series(const struct scene *s, struct rng *r, double *x)
{
	double noise = rng_normal(r), keep = sqrt(1 - s->rho * s->rho);

	for (size_t i = 0; i < s->n; i++) {
		x[i] = 100 + noise + (i >= s->n / 2 ? s->step : 0) +
		       s->drift * (double)i / (double)s->n;
		noise = s->rho * noise + keep * rng_normal(r);
	}
}

static bool sees_step(const struct changepoint_result *c, size_t n)
{
	for (size_t i = 0; i < c->steps; i++)
		if (c->step[i].at + 5 >= n / 2 && c->step[i].at <= n / 2 + 5)
			return true;
	return false;
}

/* Prints one row; false when a bar is missed. */
static bool run_scene(const struct scene *s, unsigned int series, uint64_t seed)
{
	double reading[4] = {0}, seen = 0, more_than_one = 0;
	bool ok = true;
	struct rng r;

	rng_init(&r, seed);
	for (unsigned int i = 0; i < series; i++) {
		struct changepoint_options o = {.seed = i};
		struct changepoint_result c;
		double x[SEGMENT_N_MAX];
		struct err err;

		make_series(s, &r, x);
		if (changepoint_find(x, s->n, &o, &c, &err) < 0) {
			fprintf(stderr, "%s: %s\n", s->what, err.text);
			exit(2);
		}
		reading[c.reading]++;
		seen += sees_step(&c, s->n);
		more_than_one += c.steps > 1;
	}
	if (s->false_max >= 0)
		ok &= reading[CHANGEPOINT_STEPS] / series <= s->false_max;
	if (s->power_min >= 0)
		ok &= seen / series >= s->power_min;
	printf("| %-26s | %3zu | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% | %5.1f %% | %-4s |\n",
	       s->what, s->n, 100 * reading[CHANGEPOINT_STEPS] / series,
	       100 * reading[CHANGEPOINT_DRIFT] / series, 100 * reading[CHANGEPOINT_SHORT] / series,
	       s->step != 0 ? 100 * seen / series : 0, 100 * more_than_one / series,
	       s->false_max < 0 && s->power_min < 0 ? ""
	       : ok				    ? "ok"
						    : "MISS");
	fflush(stdout);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned int series = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000;
	uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
	bool ok = true;

	if (series < 1 || series > 1000000) {
		fprintf(stderr,
			"usage: changepoint_rates [SERIES [SEED]]: 1 to 1,000,000 series\n");
		return 2;
	}
	printf("%u series a row, seed %llu\n\n", series, (unsigned long long)seed);
	printf("| series                     |   n | steps   | drift   | short   | step seen | "
	       ">1 step | bar  |\n");
	printf("|---|---:|---:|---:|---:|---:|---:|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
		ok &= run_scene(&scenes[i], series, seed);
	return ok ? 0 : 1;
}
