/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run's profile: who used the CPUs, as the shares probe stores it (agent/shares.h), read back.
 *
 * A share is a percentage of sampled cycles (`cycle_...`) or of sampled CPU time (`time_...`); the
 * two are different quantities. A run keeps the PROFILE_TOP largest names of a kind, so a name
 * that it does not have is not 0: it is at most the smallest that was kept. */
#pragma once

#include "common/model/run.h"

#define PROFILE_TOP 20

enum profile_basis { PROFILE_CYCLE, PROFILE_TIME, PROFILE_BASES };

enum profile_kind {
	PROFILE_IDLE,	      /* of everything; the others are shares of what was not idle */
	PROFILE_UNATTRIBUTED, /* tasks whose name is not known */
	PROFILE_AGENT,	      /* rigstat-agent itself */
	PROFILE_APP,	      /* applications that the experiment names (--app) */
	PROFILE_SYMBOL,	 /* kernel symbols; with the objects they make up all that was not idle */
	PROFILE_OBJECT,	 /* files that user code lies in */
	PROFILE_COMMAND, /* task names */
	PROFILE_KINDS
};

const char *profile_basis_name(enum profile_basis b); /* "cycle", "time" */
const char *profile_kind_name(enum profile_kind k);   /* "symbol", "object", ... */
/* The kind keeps its largest names only. */
bool profile_is_top(enum profile_kind k);
/* "time_symbol"; returns buf. */
const char *profile_metric(enum profile_basis b, enum profile_kind k, char *buf, size_t cap);

/* The kind and basis of a series, and its name ("" for idle, unattributed and agent; borrowed).
 * False: it is no part of a profile, or its value is no percentage. */
bool profile_series(const struct series *s, enum profile_basis *ret_basis,
		    enum profile_kind *ret_kind, const char **ret_name) MUSTCHECK;
/* The run was sampled on this basis and its shares were not refused. */
bool profile_has(const struct run *r, enum profile_basis b);

/* What is certain of a name in one run: lo = hi where it was kept, 0 and the smallest that was kept
 * where it was not. NAN: the run cannot say (an application that it did not ask for, kernel symbols
 * that were hidden). */
struct profile_share {
	double lo, hi;
};
/* One run's lists, for many questions. */
struct profile_run {
	const struct run *run;
	enum profile_basis basis;
	size_t n[PROFILE_KINDS];     /* names */
	double least[PROFILE_KINDS]; /* the smallest share kept; NAN without any */
	double total[PROFILE_KINDS]; /* sum of those kept */
};
void profile_read(const struct run *r, enum profile_basis b, struct profile_run *ret);
struct profile_share profile_share_of(const struct profile_run *p, enum profile_kind k,
				      const char *name);
