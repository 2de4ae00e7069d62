/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `rigstat-agent run`: the runs of a design, one after the other, each under its settings, with
 * its workload, into the spool and on to the server. */
#pragma once

#include "agent/delivery.h"
#include "agent/design.h"
#include "agent/planlog.h"
#include "agent/progress.h"
#include "agent/session.h"
#include "agent/tunable.h"
#include "agent/workload.h"

struct experiment_conf {
	const char *name;
	char uid[33];
	struct design design;
	int64_t warmup_ns, duration_ns; /* duration 0: until the workload ends */
	bool stop_on_failure;
	uint32_t retries;	   /* further attempts of a failed run */
	char *const *argv;	   /* of the workload; NULL: none, an idle box is measured */
	const char *workload_name; /* of the box's list; NULL: given directly */
	const char *workload_dir;  /* working directory; NULL: ours */
	const char *metric;	   /* of the comparison at the end; NULL: wakeup_latency */
	const char *parse;	   /* the output's format, or "auto"; NULL: it is not read */
	const char *log_dir;	   /* the workload's output, a file a run */
	int64_t grace_ns;	   /* from TERM to KILL */
	int64_t drain_ns;	   /* how long to wait for the server at the end */
	cpu_set_t cpus;		   /* that the workload may use: those that we were started with */

	/* Boots: the runs of one of them only. */
	size_t first, end; /* of the design's runs; end 0: all */
	const char *unfit; /* why these runs cannot be made: they are filed as failed */
	bool (*run_done)(void *user, size_t index, bool ok); /* false: no further run */
	void *run_done_user;
	struct tunable_conf tunable;
};

/* What experiment_run() borrows. */
struct experiment_parts {
	const struct agent_conf *agent;
	struct spool *spool;
	struct session *session;
	struct tunable_client *tunables; /* NULL when no factor is set; closed by the experiment */
	struct progress *progress;
	struct planlog *planlog; /* NULL: what is done is not noted, and it cannot pause */
};

/* One run that has ended, for the summary. */
struct run_result {
	uint32_t cell;
	bool ok;
	bool has_latency;
	int64_t p50_ns, p99_ns, max_ns;
};

struct experiment_result {
	struct run_result *runs;
	size_t len, cap;
	uint32_t failed, aborted;
	uint32_t earlier_ok, earlier_failed; /* of the same plan, by earlier processes */
	bool interrupted;		     /* by a signal */
	int signal;			     /* which */
	bool paused;			     /* runs are left, to be done by a later process */
	bool delivered;			     /* the server has everything */
	uint64_t left;			     /* records in the spool */
	char problem[200];		     /* of the delivery */
	int64_t elapsed_ns;
};
void experiment_result_done(struct experiment_result *r);

/* Fails when the experiment could not be carried on (a setting that does not hold, a workload that
 * cannot be run); failed runs alone are in the result. Settings are put back in every case. */
int experiment_run(const struct experiment_conf *conf, const struct experiment_parts *parts,
		   struct experiment_result *ret, struct err *reterr) MUSTCHECK;

/* ---- texts (experiment_text.c), pure ---- */

/* Members of RUN_START beside those of the session: "\"experiment\":{...},...". */
void experiment_put_start(const struct experiment_conf *conf, const struct design_run *run,
			  uint32_t attempt, int64_t quiet_until_ns, struct strbuf *out);
/* The "workload" object of RUN_END. */
void experiment_put_workload(const struct workload_result *r, struct strbuf *out);
/* In place: bytes that a server would refuse (control characters, bad UTF-8) become '?'. */
void experiment_clean(char *text);
/* Why a workload counts as failed; NULL when it does not. buf of 100 bytes. */
const char *experiment_fault(const struct workload_result *r, char *buf);
/* "experiment=rq,rq_affinity=0" */
void experiment_put_selector(const struct experiment_conf *conf, uint32_t cell, struct strbuf *out);
/* The plan, for --dry-run and the head of a run. */
void experiment_put_plan(const struct experiment_conf *conf, bool every_run, struct strbuf *out);
/* The command and link that compare; nothing with a single cell. */
void experiment_put_comparison(const struct experiment_conf *conf, const char *server,
			       struct strbuf *out);
/* The summary with the command and link that compare. `server` may be NULL. */
void experiment_put_summary(const struct experiment_conf *conf, const struct experiment_result *r,
			    const char *server, const char *spool_dir, struct strbuf *out);
