/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that compare, gate and pin share, offline and against a server. */
#pragma once

#include "cli/args.h"
#include "cli/sides.h"

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV, OUTPUT_MARKDOWN, OUTPUT_SVG, OUTPUT_JUNIT };

#define STATS_MAX 32
#define RULES_MAX 32

struct request {
	struct sides sides;
	struct compare_options o;
	struct import_options import;
	struct labels labels;
	char *stats[STATS_MAX + 1];
	size_t stats_len;
	const char *by, *server, *chart;
	const char *margin, *confidence, *threshold; /* as given, for the server */
	enum output output;
	bool all_metrics; /* --metric all */
	bool dark;
	/* gate */
	char *rules[RULES_MAX];
	size_t rules_len;
	const char *mode, *inconclusive;
	const char *against; /* "baseline:main" instead of side A */
	bool history;	     /* side A is a baseline that does not depend on time */
	bool self, stop_on_breach;
	int64_t every_ns; /* between two looks of stop_on_breach */
	bool single;	  /* one side is enough */
	char *rule_stats[RULES_MAX + 1];
	/* pin */
	const char *title;
};

void request_init(struct request *rq);
void request_done(struct request *rq);
int request_parse(struct request *rq, int argc, char **argv, struct err *reterr) MUSTCHECK;
/* --server was given, or the sides are selectors and no files: "experiment=rq,rq_affinity=0". */
bool request_is_remote(const struct request *rq);
/* Offline: reads the files; request_compare() does that first when it was not done. */
int request_read(struct request *rq, struct err *reterr) MUSTCHECK;
/* Compares. A new reference. */
int request_compare(struct request *rq, json_t **ret, struct err *reterr) MUSTCHECK;
/* "/api/v1/compare?a=..." */
int request_url(const struct request *rq, const char *path, struct strbuf *ret,
		struct err *reterr) MUSTCHECK;
/* Asks the server for the document of two sides and prints it; returns the exit status. */
int request_remote(const struct request *rq, const char *verb, const char *path);
/* Prints a document as asked; returns the exit status. */
int request_print(const struct request *rq, const json_t *doc);
