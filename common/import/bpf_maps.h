/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bcc and bpftrace share: a map, or a section of a table, is one series. One that is printed
 * again is taken as cumulative when no bucket ever falls, else as intervals that are added up;
 * either way a note says so. */
#pragma once

#include "common/import/formats.h"

/* A print of one map. */
struct bpf_print {
	char *metric;
	struct labels labels;
	struct hist hist;
};

/* A print costs a search among those before it. */
#define BPF_PRINTS_MAX 5000

struct bpf_maps {
	const struct import_options *o;
	struct run *r;
	struct bpf_print *prints;
	size_t len, cap;
	size_t scalars_left_out;
};

void bpf_maps_done(struct bpf_maps *b);
/* A new print; valid until the next call. */
struct bpf_print *bpf_maps_print(struct bpf_maps *b, const char *metric);
/* An error when there are too many. */
int bpf_maps_check(const struct bpf_maps *b, struct err *reterr) MUSTCHECK;
/* The series of print `first` and all later ones of the same map, which are used up. */
int bpf_maps_add(struct bpf_maps *b, size_t first, const char *unit, int64_t resolution,
		 struct err *reterr) MUSTCHECK;
int bpf_maps_add_all(struct bpf_maps *b, const char *unit, int64_t resolution,
		     struct err *reterr) MUSTCHECK;

/* [lo, hi) in units of the file; samples below 0; samples at or above lo. */
int bpf_bucket(struct hist *h, int64_t lo, int64_t hi, uint64_t n, int64_t unit,
	       struct err *reterr) MUSTCHECK;
int bpf_negative(struct hist *h, uint64_t n, struct err *reterr) MUSTCHECK;
int bpf_overflow(struct hist *h, int64_t lo, uint64_t n, int64_t unit,
		 struct err *reterr) MUSTCHECK;
