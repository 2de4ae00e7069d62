/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The design of an experiment: factors with levels, crossed into cells, and the order of their
 * runs. Pure. A block is one run of each cell next to each other; comparisons are made inside
 * blocks, so that drift of the box does not look like an effect.
 *
 *   alternate   A B | A B | A B      every block in the same order
 *   abba        A B | B A | A B      every second block reversed: a linear drift cancels
 *   random      A B | B A | B A      shuffled inside each block, from the seed
 *   sequential  A A A B B B          no blocks: drift and effect cannot be told apart
 *
 * A factor that is fixed at boot orders the boots: each block is one boot of each of its levels,
 * and in every boot the cells of the other factors are run, runs_per_boot times. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

enum design_order { ORDER_ALTERNATE, ORDER_ABBA, ORDER_RANDOM, ORDER_SEQUENTIAL };

struct factor {
	char *name;
	char **levels;
	size_t levels_len;
	char *tune; /* path, sysctl or tunable that it sets; NULL: a label only */
	bool boot;  /* the tunable is set by a boot */
};

struct design_run {
	uint32_t cell;	/* from 0 */
	uint32_t order; /* position in the sequence, from 1 */
	uint32_t block; /* from 1; 0: the order has no blocks */
	uint32_t boot;	/* from 1: in which boot; 0: the design has none */
};

struct design {
	struct factor *factors;
	size_t factors_len, factors_cap;
	enum design_order order;
	uint32_t runs_per_cell;	       /* with boots: made of the next two */
	uint32_t boots, runs_per_boot; /* of each level; only with a boot factor, which is first */
	uint64_t seed;
	uint32_t cells; /* by design_make */
	struct design_run *runs;
	size_t runs_len;
};

/* "rq_affinity=0,1"; levels may be quoted: "sched='a,b',none". */
int design_add_factor(struct design *d, const char *text, struct err *reterr) MUSTCHECK;
/* "rq_affinity=/sys/block/vda/queue/rq_affinity" for a factor that is there already. */
int design_set_tune(struct design *d, const char *text, struct err *reterr) MUSTCHECK;
/* "kernel=TUNABLE" for a factor that is there already: it is fixed at boot and comes first. */
int design_set_boot(struct design *d, const char *text, struct err *reterr) MUSTCHECK;
bool design_has_boots(const struct design *d);
/* How many boots there are in all, and the runs of one of them (from 1): [*ret_first, *ret_end). */
uint32_t design_boots(const struct design *d);
void design_runs_of_boot(const struct design *d, uint32_t boot, size_t *ret_first, size_t *ret_end);
int design_parse_order(const char *name, enum design_order *ret, struct err *reterr) MUSTCHECK;
const char *design_order_name(enum design_order order);
/* Fills cells and runs from the rest. At most 1,000 cells and 100,000 runs. */
int design_make(struct design *d, struct err *reterr) MUSTCHECK;

/* The level of one factor in a cell; the last factor varies fastest. */
const char *design_level(const struct design *d, uint32_t cell, size_t factor);
/* "rq_affinity=0, sched=none"; "(one cell)" without factors. */
void design_put_cell(const struct design *d, uint32_t cell, struct strbuf *out);
/* "rq_affinity" -> "RIGSTAT_FACTOR_RQ_AFFINITY"; malloc'd. */
char *design_env_name(const char *factor) MUSTCHECK;
void design_done(struct design *d);
