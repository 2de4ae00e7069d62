/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of two sides' profiles and what moved: between profile.c and profile_rows.c. */
#pragma once

#include "common/compare/internal.h"
#include "common/model/profile.h"

enum profile_reading {
	MOVED_NOT_ENOUGH,
	MOVED_NOT_TESTED, /* confounded or not comparable: see the reasons */
	MOVED_UNCLEAR,
	MOVED_SAME, /* within the margin that was asked for */
	MOVED_BELOW_MARGIN,
	MOVED_LOWER,
	MOVED_HIGHER
};

struct profile_row {
	enum profile_kind kind;
	const char *name;	    /* borrowed from a run's label */
	size_t seen[2];		    /* runs that kept the name */
	double lo[2], hi[2];	    /* mean share of the side lies here; equal when it is known */
	struct calc_summary sum[2]; /* over replicates, when it is known */
	double abs_lo, abs_hi;	    /* B - A lies here */
	double ci_lo, ci_hi, p, p_adjusted;
	char test[96];
	enum profile_reading reading;
};

struct profile_rows {
	struct profile_row *v;
	size_t n, cap;
	size_t rare;		  /* names that no side has in half of its runs */
	double rare_most;	  /* the largest share that one of them had in a run */
	size_t unknown;		  /* names that some runs cannot speak about */
	const char *unknown_name; /* one of them */
};

enum profile_test { PROFILE_TESTED, PROFILE_TOO_FEW, PROFILE_NOT_TESTED };

struct profile_sides {
	struct cmp *c; /* sides collected, plan made */
	struct profile_run *runs[2];
	double margin; /* in points */
	enum profile_test test;
};

/* All names of these kinds, one family for the adjustment of p; largest move first. */
void profile_rows_make(const struct profile_sides *s, const enum profile_kind *kinds, size_t n,
		       struct profile_rows *ret);
void profile_rows_done(struct profile_rows *r);
/* How far it moved for certain, with its sign; 0 when it may not have moved at all. */
double profile_row_move(const struct profile_row *r);
bool profile_row_moved(const struct profile_row *r); /* clearly: lower or higher */
