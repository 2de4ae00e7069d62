/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison in the making. Steps, each in its own file, in this order:
 *
 *   request.c      the metric, its direction and margin, hosts and factors
 *   side.c         runs -> observations (one histogram or number a run), what is left out and why
 *   environment.c  what else differs between the sides
 *   plan.c         the replicate, the order in time, blocks: what may be concluded at all
 *   rows.c         one statistic after another: values, effect, reading
 *   verdict.c      the word, its reasons, the sentence
 *   tail.c         what lies beyond the threshold; the staircase hypothesis
 *   charts.c       curves
 *   document.c     all of it -> JSON
 *
 * Nothing here outlives compare_document(). Numbers that are not defined are NAN. */
#pragma once

#include <math.h>

#include "common/compare/calc.h"
#include "common/compare/compare.h"
#include "common/compare/stat.h"

enum { SIDE_A, SIDE_B };

/* One run that counts. */
struct obs {
	const struct run *run;
	bool has_hist;
	struct hist hist; /* all wanted series of the run, merged */
	double value;	  /* when there is no histogram */
	uint64_t missed;
};

struct left_out {
	const struct run *run;
	const char *code;
	char *text; /* owned */
};

struct side {
	const struct compare_side *in;
	const char *tag; /* "a" or "b" */
	struct obs *obs;
	size_t n;
	struct left_out *out;
	size_t n_out;
	const struct run *summary_run; /* of a published summary: then n is 0 */
	struct summary summary;
	struct hist pooled; /* all observations, on the grid common to both sides */
	uint64_t samples, lost, missed, overflow, negative;
	double hours; /* measured time of all runs, NAN when one does not say */
	const char *method, *unit;
	char *labels; /* labels of the merged series, for telling that the sides differ */
	enum omission omission;
	int64_t interval_ns, resolution_ns;
	size_t skips, corrected;    /* series of sources that skip missed periods */
	bool varies;		    /* method, interval or omission differ inside the side */
	const char *scope;	    /* what counters counted, NULL: the box or nothing to say */
	size_t estimated, doubtful; /* values that rest on counts of a part of the time */
	bool mixed_scopes;	    /* the runs of the side counted different things */
};

enum data_kind { DATA_FULL, DATA_COARSE, DATA_VALUES, DATA_SUMMARY };
enum replicate { REPLICATE_RUN, REPLICATE_BOOT, REPLICATE_HOST };
enum run_order { ORDER_UNKNOWN, ORDER_SEQUENTIAL, ORDER_ALTERNATING, ORDER_ABBA, ORDER_RANDOM };

/* A replicate: what the factor was applied to anew. */
struct unit {
	const char *host;
	uint32_t rank; /* position among all units of both sides, from 1; 0 unknown */
	uint32_t pair; /* block that it is compared in, from 1; 0 none */
	size_t runs;
};

/* The units of both sides and what their order allows. `unit_of[side][i]` is the unit of
 * observation i, SIZE_MAX when the plan leaves it out (another host). */
struct plan {
	enum replicate replicate;
	struct unit *units[2];
	size_t n[2];
	size_t *unit_of[2];
	size_t *block_of[2]; /* of a unit: 0..pairs-1, SIZE_MAX without a partner; NULL unpaired */
	enum run_order order;
	bool confounded;
	bool paired;
	size_t pairs, unpaired; /* complete blocks; units in no complete block */
	struct calc_drift drift;
};

enum role { ROLE_PRIMARY, ROLE_LOCATION, ROLE_TAIL, ROLE_SPREAD, ROLE_EXTRA };
enum reading {
	READING_NOT_ENOUGH,
	READING_NOT_RESOLVABLE,
	READING_UNCLEAR,
	READING_SAME,
	READING_BELOW_MARGIN,
	READING_BETTER,
	READING_WORSE,
	READING_LOWER,
	READING_HIGHER
};

struct row {
	struct stat_def stat;
	enum role role;
	const char *unit;
	struct calc_summary sum[2];
	double *x[2]; /* one value a unit of the plan */
	struct calc_effect effect;
	double p_adjusted;
	enum reading reading;
	double beyond_min; /* fewest samples beyond the quantile in one run */
	double sure[2][2]; /* what is certain: smallest lo, largest hi over the runs */
	double above[2];   /* STAT_OVER: samples certainly at or above, of all runs */
	bool at_least[2];  /* some value is only a lower bound */
	char caution[200]; /* "" none */
};

enum word {
	WORD_BETTER,
	WORD_WORSE,
	WORD_MIXED,
	WORD_SAME,
	WORD_UNCLEAR,
	WORD_NOT_ENOUGH_RUNS,
	WORD_NOT_COMPARABLE
};

/* One host of several. */
struct host_result {
	const char *host;
	struct plan plan;
	struct row row; /* the primary statistic */
};

struct cmp {
	const struct compare_options *o;
	const char *b;	      /* letter of side B in sentences: "B", in a list "C" ... */
	struct metric metric; /* resolved: unit, direction, margin */
	char *title;	      /* owned */
	bool unit_is_ns;
	double conf, margin;
	enum data_kind data;
	bool regridded; /* the sides' grids differed */
	struct side side[2];
	const char **hosts; /* distinct, sorted; "" = unknown */
	size_t n_hosts;
	struct label *factors; /* what differs between the sides: borrowed keys */
	size_t n_factors;
	const char *factor; /* under test, NULL when nothing is declared */
	bool boot_fixed;    /* the factor is fixed at boot */
	const char *boot_why;
	struct plan plan;
	struct row *rows;
	size_t n_rows, primary;
	bool primary_fallback;
	struct host_result *host_results;
	size_t n_host_results;
	struct calc_heterogeneity heterogeneity;
	int64_t threshold; /* of the tail, 0 none */
	const char *threshold_basis;
	json_t *environment; /* the document's member */
	bool blocked;	     /* a blocking difference and not `anyway` */
	enum word word;
	json_t *reasons;
	struct strbuf sentence;
};

static inline double cmp_alpha(const struct cmp *c)
{
	return 1 - c->conf;
}
/* Adds {code, text} to the reasons. */
void cmp_reason(struct cmp *c, const char *code, const char *fmt, ...) PRINTF(3, 4);
void cmp_done(struct cmp *c);

int resolve_request(struct cmp *c, struct err *reterr) MUSTCHECK;
/* Names of the metrics that both sides have besides the one compared. */
json_t *other_metrics(const struct cmp *c);
void find_hosts_and_factors(struct cmp *c);

int side_collect(struct cmp *c, struct err *reterr) MUSTCHECK;
void side_done(struct side *s);
const char *side_name(const struct cmp *c, int side);

void environment_compare(struct cmp *c);

void plan_make(struct cmp *c);
/* The plan of one host alone. */
void plan_of_host(struct cmp *c, const char *host, struct plan *ret);
void plan_done(struct plan *p);
const char *run_order_name(enum run_order o);
const char *replicate_name(enum replicate r);
/* "10 + 10 runs, alternating, analysed in 10 blocks" */
void plan_describe(const struct cmp *c, const struct plan *p, struct strbuf *out);

int rows_make(struct cmp *c, struct err *reterr) MUSTCHECK;
void row_fill(struct cmp *c, const struct plan *p, struct row *r);
void row_done(struct row *r);
/* Block means of a row, `n` of them (0 when the plan is not paired); the caller frees both. */
size_t row_blocks(const struct plan *p, const struct row *r, double **ret_a, double **ret_b);
/* The reading of an effect that has a test, by significance, margin and direction. */
enum reading row_read(const struct cmp *c, const struct calc_effect *e, double base, double p);
const char *role_name(enum role r);
const char *reading_name(enum reading r);

void hosts_compare(struct cmp *c);

void verdict_make(struct cmp *c);
/* Its parts that need no rows, with their reasons: sides that must not be compared; fewer than
 * three replicates a side; what order, boots and environment limit. */
bool verdict_forbidden(struct cmp *c);
bool verdict_too_few(struct cmp *c);
void verdict_explain_design(struct cmp *c);
void sentence_make(struct cmp *c);
const char *word_name(enum word w);

void tail_threshold(struct cmp *c);
json_t *tail_json(struct cmp *c);
json_t *hypothesis_json(struct cmp *c);
json_t *blame_json(struct cmp *c);
json_t *charts_json(struct cmp *c);
json_t *methods_json(struct cmp *c);

/* compare_document() with the letter of side B. */
int compare_lettered(const struct compare_side *a, const struct compare_side *b,
		     const struct compare_options *o, const char *letter, json_t **ret,
		     struct err *reterr) MUSTCHECK;

/* null when not finite */
json_t *json_num(double v);
