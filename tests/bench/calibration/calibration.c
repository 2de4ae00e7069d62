/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does the engine keep its word? A/A experiments (nothing was changed) and A/B experiments of known
 * size, through compare_document() itself, with margin 0 so that every significant difference
 * counts. Prints the table of docs/STATISTICS.md; exit 1 when a bar is missed. Not part of ctest.
 *
 * usage: calibration [EXPERIMENTS [SEED]] */
#include <math.h>
#include <stdio.h>

#include "common/compare/compare.h"
#include "common/stats/rng.h"

#define RUNS_MAX 60
#define SAMPLES	 5000 /* wake-ups a run of a distribution */

enum noise { NOISE_IID, NOISE_AR, NOISE_DRIFT };

struct scene {
	const char *what;
	bool distribution; /* a histogram a run, primary p99; else one number a run */
	bool bursts;	   /* the tail comes in bursts of wake-ups */
	enum noise noise;  /* of the level from run to run */
	size_t per_side;
	size_t runs_per_boot; /* 0 = one boot; else the factor is fixed at boot */
	double shift_sd;      /* true change of B, in sd of the runs; higher is worse */
	bool sequential;      /* AAAA BBBB */
	double false_max, power_min;
};

static const struct scene scenes[] = {
	{"value, iid", false, false, NOISE_IID, 10, 0, 0, false, 0.06, -1},
	{"value, AR(0.5)", false, false, NOISE_AR, 10, 0, 0, false, 0.08, -1},
	{"value, drift 3 sd", false, false, NOISE_DRIFT, 10, 0, 0, false, 0.06, -1},
	{"p99, iid", true, false, NOISE_IID, 10, 0, 0, false, 0.06, -1},
	{"p99, AR(0.5)", true, false, NOISE_AR, 10, 0, 0, false, 0.08, -1},
	{"p99, drift 3 sd", true, false, NOISE_DRIFT, 10, 0, 0, false, 0.06, -1},
	{"p99, bursty tail", true, true, NOISE_IID, 10, 0, 0, false, 0.06, -1},
	{"p99, bursty, 5 runs", true, true, NOISE_IID, 5, 0, 0, false, -1, -1},
	{"value, 8 boots x 3 runs", false, false, NOISE_IID, 24, 3, 0, false, 0.06, -1},
	{"value, drift, AAAA BBBB", false, false, NOISE_DRIFT, 10, 0, 0, true, 0, -1},
	{"value, B 1.5 sd worse", false, false, NOISE_IID, 10, 0, 1.5, false, -1, 0.8},
	{"value, B 1.5 sd, drift", false, false, NOISE_DRIFT, 10, 0, 1.5, false, -1, -1},
	{"value, B 1.0 sd worse", false, false, NOISE_IID, 10, 0, 1.0, false, -1, -1},
};

struct tally {
	unsigned int better, worse, mixed, same, unclear, other;
};

/* Standardised level of every run, in the order in which they ran. */
static void make_levels(const struct scene *s, struct rng *r, double *level, size_t n)
{
	double noise = rng_normal(r), boot = 0, up = rng_unit(r) < 0.5 ? 1 : -1;

	for (size_t i = 0; i < n; i++) {
		if (s->runs_per_boot && i % s->runs_per_boot == 0)
			boot = rng_normal(r); /* as large as the noise between runs */
		level[i] = noise + boot;
		if (s->noise == NOISE_DRIFT)
			level[i] += up * 3 * ((double)i / (double)(n - 1) - 0.5);
		noise = s->noise == NOISE_AR ? 0.5 * noise + sqrt(0.75) * rng_normal(r)
					     : rng_normal(r);
	}
}

/* A B B A A B B A ... in runs, or in boots of several runs. */
static bool is_b(const struct scene *s, size_t i, size_t n)
{
	size_t place = s->runs_per_boot ? i / s->runs_per_boot : i;

	return s->sequential ? i >= n / 2 : place % 4 == 1 || place % 4 == 2;
}

static void record_one(struct hist_rec *rec, double us)
{
	hist_rec_add(rec, (int64_t)(us * 1000));
}

/* A body near 10 us that moves with the run; 1.5 % of the wake-ups are in the tail, singly or in
 * bursts of about 25 whose number differs from run to run. */
static void record_run(const struct scene *s, struct rng *r, double level, struct hist_rec *rec)
{
	double scale = exp(0.05 * level);
	size_t bursts = 0;
	double wait = rng_exponential(r);

	hist_rec_reset(rec);
	for (size_t i = 0; i < SAMPLES; i++)
		record_one(rec, scale * (10 + 1.5 * rng_normal(r)));
	for (; wait < 3; wait += rng_exponential(r)) /* Poisson(3) */
		bursts++;
	for (size_t b = 0; s->bursts && b < bursts; b++) {
		double base = 40 + 60 * rng_unit(r);
		size_t length = 1 + (size_t)(25 * rng_exponential(r));

		for (size_t i = 0; i < length; i++)
			record_one(rec, scale * (base + 5 * rng_unit(r)));
	}
	for (size_t i = 0; !s->bursts && i < SAMPLES * 15 / 1000; i++)
		record_one(rec, scale * (40 + 60 * rng_unit(r)));
}

static struct run *make_run(const struct scene *s, struct rng *r, size_t i, bool b, double level)
{
	struct run *run = run_new(RUN_MEASURED);
	const char *factor = s->runs_per_boot ? "kernel" : "arm";
	struct series *series;

	run->state = RUN_OK;
	run->host = xstrdup("box");
	run->experiment = xstrdup("calibration");
	run->order = (uint32_t)i + 1;
	run->started_ns = 1700000000 * NS_PER_SEC + (int64_t)i * 60 * NS_PER_SEC;
	run->measured_ns = 5 * NS_PER_SEC;
	snprintf(run->uid, sizeof(run->uid), "%032zx", i + 1);
	run->boot_id = xasprintf("boot-%zu", s->runs_per_boot ? i / s->runs_per_boot : 0);
	labels_set(&run->factors, factor, b ? "new" : "old");
	level += b ? s->shift_sd : 0;
	if (s->distribution) {
		struct hist_rec *rec = xcalloc(1, sizeof(*rec));

		series = run_add_series(run, "wakeup_latency", SERIES_HIST, "ns");
		record_run(s, r, level, rec);
		hist_from_rec(&series->hist, rec);
		free(rec);
	} else {
		series = run_add_series(run, "elapsed", SERIES_VALUE, "ns");
		series->value = 100 + level;
	}
	return run;
}

static void count_word(const char *word, struct tally *t)
{
	if (!strcmp(word, "better"))
		t->better++;
	else if (!strcmp(word, "worse"))
		t->worse++;
	else if (!strcmp(word, "mixed"))
		t->mixed++;
	else if (!strcmp(word, "same"))
		t->same++;
	else if (!strcmp(word, "unclear"))
		t->unclear++;
	else
		t->other++;
}

static void one_experiment(const struct scene *s, struct rng *r, struct tally *t)
{
	size_t n = 2 * s->per_side, len[2] = {0, 0};
	struct run *side[2][RUNS_MAX];
	double level[2 * RUNS_MAX];
	struct compare_side a = {.name = "A"}, b = {.name = "B"};
	struct compare_options o = {.margin_rel = 0, .better = "lower"};
	const char *word;
	json_t *doc;
	struct err err;

	make_levels(s, r, level, n);
	for (size_t i = 0; i < n; i++) {
		bool is = is_b(s, i, n);

		side[is][len[is]++] = make_run(s, r, i, is, level[i]);
	}
	a.runs = side[0];
	a.n = len[0];
	b.runs = side[1];
	b.n = len[1];
	if (compare_document(&a, &b, &o, &doc, &err) < 0) {
		fprintf(stderr, "calibration: %s: %s\n", s->what, err.text);
		exit(2);
	}
	word = json_string_value(json_object_get(json_object_get(doc, "verdict"), "word"));
	count_word(word, t);
	json_decref(doc);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < len[i]; k++)
			run_free(side[i][k]);
}

/* Prints one row; false when a bar is missed. */
static bool run_scene(const struct scene *s, unsigned int experiments, uint64_t seed)
{
	struct tally t = {0};
	double n = experiments, alarms, seen;
	bool ok = true;
	struct rng r;

	rng_init(&r, seed);
	for (unsigned int i = 0; i < experiments; i++)
		one_experiment(s, &r, &t);
	alarms = (t.better + t.worse) / n;
	seen = t.worse / n;
	if (s->false_max >= 0)
		ok = alarms <= s->false_max;
	if (s->power_min >= 0)
		ok = seen >= s->power_min;
	printf("| %-23s | %2zu+%-2zu | %5.1f | %5.1f | %5.1f | %5.1f | %5.1f | %5.1f |", s->what,
	       s->per_side, s->per_side, 100 * t.better / n, 100 * t.worse / n, 100 * t.mixed / n,
	       100 * t.same / n, 100 * t.unclear / n, 100 * t.other / n);
	if (s->false_max >= 0)
		printf(" better + worse %.1f <= %.0f %s |\n", 100 * alarms, 100 * s->false_max,
		       ok ? "ok" : "MISS");
	else if (s->power_min >= 0)
		printf(" worse %.1f >= %.0f %s |\n", 100 * seen, 100 * s->power_min,
		       ok ? "ok" : "MISS");
	else
		printf(" |\n");
	fflush(stdout);
	return ok;
}

int main(int argc, char **argv)
{
	unsigned int experiments = argc > 1 ? (unsigned int)atoi(argv[1]) : 2000;
	uint64_t seed = argc > 2 ? (uint64_t)atoll(argv[2]) : 1;
	bool ok = true;

	if (experiments < 1 || experiments > 1000000) {
		fprintf(stderr,
			"usage: calibration [EXPERIMENTS [SEED]]: 1 to 1,000,000 experiments\n");
		return 2;
	}
	printf("%u experiments a row, seed %llu, confidence 0.95, margin 0; percent of "
	       "verdicts\n\n",
	       experiments, (unsigned long long)seed);
	printf("| experiment              | runs  | better| worse | mixed | same  |unclear| other "
	       "| "
	       "bar |\n|---|---|---:|---:|---:|---:|---:|---:|---|\n");
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
		ok &= run_scene(&scenes[i], experiments, seed);
	return ok ? 0 : 1;
}
