/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison from stored runs: resolves the sides, fetches totals (kilobytes, two rounds to the
 * database), computes in a worker thread, gives the rendered bytes back. Loop thread only. */
#pragma once

#include "server/compare_ask.h"

enum compare_format {
	COMPARE_JSON = 1 << 0,
	COMPARE_TEXT = 1 << 1,
	COMPARE_CSV = 1 << 2,
	COMPARE_MARKDOWN = 1 << 3,
	COMPARE_SVG = 1 << 4,
	COMPARE_JUNIT = 1 << 5,
};
#define COMPARE_FORMATS 6

struct compare_result {
	struct strbuf out[COMPARE_FORMATS]; /* those asked for, by bit number */
	bool gated;
	enum gate_result gate;
	char word[32];	/* of a single comparison, else "" */
	char *sentence; /* same, else NULL */
	char *query;	/* canonical query string of the live comparison */
	int method;
	int64_t *ids[COMPARE_SIDES_MAX]; /* run ids of each side */
	size_t n_ids[COMPARE_SIDES_MAX];
	size_t n_sides;
	bool demo; /* every run is demo data */
};

struct compare_call {
	struct compare_ask ask; /* taken */
	unsigned int formats;	/* bits of enum compare_format */
	const char *chart;	/* COMPARE_SVG; static text */
	bool dark;
	bool profile; /* what moved in the runs' profiles, in place of a metric */
	/* The runs are known: `tag` identifies question, runs and their revisions. False: it has
	 * replied (304) and the comparison is not made. May be NULL. */
	bool (*on_resolved)(struct request *req, const char *tag);
	/* The result is borrowed until it returns. On errors a problem was sent instead. */
	void (*on_done)(struct request *req, void *ctx, struct compare_result *r);
	void *ctx;
};

/* Uses req->ctx. *call's ask is taken over, also when it fails; replies itself on errors. */
enum step compare_start(struct request *req, struct compare_call *call);

/* ---- parameters that /compare and /comparisons/{pin} share (api_compare.c) ---- */
/* By format= or Accept, among these bits; replies and returns false when none fits. */
bool compare_choose_format(struct request *req, unsigned int allowed, enum compare_format *ret);
const char *compare_format_type(enum compare_format f);
/* chart= (static text) and theme=. */
bool compare_chart_params(struct request *req, const char **ret_chart, bool *ret_dark);
