/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an experiment stands whose factor is fixed at boot: a file in the spool's directory that
 * outlives the process and the boot, and the decision what comes next. */
#pragma once

#include "agent/design.h"

struct boot_plan {
	char **argv;	     /* of `rigstat-agent run` without its name, ended by NULL */
	char *directory;     /* in which it was started */
	char *name;	     /* of the experiment, for messages */
	char uid[33];	     /* of the experiment */
	uint64_t seed;	     /* of its order */
	uint32_t boot;	     /* which one is asked for or under way, from 1; 0: none yet */
	bool running;	     /* its runs have begun */
	size_t next;	     /* run that is next while running (index into the design) */
	char boot_id[37];    /* in which it was asked for, then in which it runs */
	int64_t asked_ns;    /* realtime */
	int64_t timeout_ns;  /* from asked_ns until the agent is back */
	uint32_t ok, failed; /* runs so far */
};

/* ERR_NOT_FOUND when no experiment waits. */
int boot_plan_load(const char *dir, struct boot_plan *ret, struct err *reterr) MUSTCHECK;
/* Replaced in one step and synced: the box goes down next. */
int boot_plan_save(const char *dir, const struct boot_plan *p, struct err *reterr) MUSTCHECK;
int boot_plan_remove(const char *dir, struct err *reterr) MUSTCHECK;
bool boot_plan_exists(const char *dir);
void boot_plan_done(struct boot_plan *p);

enum boot_step {
	BOOT_ASK,  /* ask for boot `boot` */
	BOOT_WAIT, /* it was asked for and has not come yet */
	BOOT_RUN,  /* carry out runs [first, end) of it */
	BOOT_SKIP, /* the same runs cannot be made: `why` */
	BOOT_END,  /* nothing is left */
};

struct boot_decision {
	enum boot_step step;
	uint32_t boot;
	size_t first, end;
	char why[300];
};

/* What the box looks like now. */
struct boot_now {
	const char *boot_id;
	const char *level; /* of the boot factor, as the tunable's verify step prints it */
	int64_t realtime_ns;
};

/* Pure. */
void boot_plan_decide(const struct boot_plan *p, const struct design *d, const struct boot_now *now,
		      struct boot_decision *ret);
/* The level that boot `boot` of the design is for. */
const char *boot_plan_level(const struct design *d, uint32_t boot);
