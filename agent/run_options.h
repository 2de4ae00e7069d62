/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `rigstat-agent run`, checked and with their defaults. */
#pragma once

#include "agent/experiment.h"

extern const char run_usage[];

struct run_options {
	struct agent_conf agent;
	struct experiment_conf x;
	struct workload_def def; /* --workload */
	const char *workloads_dir;
	char *log_dir;
	const char *plan_file;
	bool dry_run, json, seed_given, resume, abandon;
	struct strbuf *answer; /* of --dry-run --json: the settings; NULL: to people */
	bool of_server;	       /* a server made the experiment */
	char *const *args;     /* of this command, to be repeated after a boot */
};

/* Options end at the workload: argv[*ret_rest] on. `o` holds defaults or zeros before, and borrows
 * from argv. */
int run_options_parse(struct run_options *o, int argc, char **argv, int *ret_rest, bool *ret_help,
		      struct err *reterr) MUSTCHECK;
/* With the workload's argv. Chooses what was left open (seed, identity) and makes the design. */
int run_options_check(struct run_options *o, int argc, char **argv, struct err *reterr) MUSTCHECK;
void run_options_done(struct run_options *o);
