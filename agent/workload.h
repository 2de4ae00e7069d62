/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload of one run: a process group of its own, its output in a bounded log, its resources
 * by wait4(). Loop thread only.
 *
 * When the program itself has ended, the rest of its group is asked to end too (TERM, after the
 * grace KILL), so that nothing of it disturbs the next run; on_end comes after that. */
#pragma once

#include <sched.h>
#include <uv.h>

#include "common/err.h"
#include "common/strbuf.h"

#define WORKLOADS_DIR "/etc/rigstat/workloads.d"

/* ---- the box's own list ---- */

/* [NAME] with command = PROGRAM ARG..., directory = DIR, parse = FORMAT (of its output, as run
 * --parse), description = TEXT. */
struct workload_def {
	char *name, *directory, *description, *parse;
	char **argv;
};
/* Finds one in the files of a directory that only root may write; ERR_NOT_FOUND lists the names. */
int workload_find(const char *dir, const char *name, struct workload_def *ret,
		  struct err *reterr) MUSTCHECK;
void workload_def_done(struct workload_def *d);

/* ---- running ---- */

struct workload_conf {
	char *const *argv;     /* argv[0] is searched in $PATH */
	const char *directory; /* NULL: ours */
	char *const *env;      /* "NAME=value", added to ours; ended by NULL */
	const cpu_set_t *cpus; /* CPUs that it may use; NULL: ours */
	const char *log_path;  /* stdout and stderr */
	uint64_t log_bytes_max;
	int64_t grace_ns; /* from TERM to KILL */
	/* Called once while the child waits before its exec(); NULL: nothing. */
	void (*before_exec)(void *user, int pid);
};

struct workload_result {
	int exit_status; /* -1: ended by a signal */
	int signal;	 /* 0: ended by itself */
	int64_t elapsed_ns, user_ns, sys_ns, max_rss_bytes;
	bool stopped; /* we ended it */
};

struct workload;
/* Everything in conf is copied or used up. Fails when the program cannot be run at all. on_exit
 * comes once when the program itself ends, on_end (later) when its group is gone. */
int workload_start(uv_loop_t *loop, const struct workload_conf *conf,
		   void (*on_exit)(void *user, const struct workload_result *r),
		   void (*on_end)(void *user), void *user, struct workload **ret,
		   struct err *reterr) MUSTCHECK;
/* TERM now, KILL after the grace; with `now` KILL at once. */
void workload_stop(struct workload *w, bool now);
/* To the program itself only, as SIGUSR1. Nothing once it has ended. */
void workload_signal(const struct workload *w, int sig);
/* The last lines of the output, for people; nothing is added when it wrote nothing. */
void workload_tail(const struct workload *w, size_t lines, struct strbuf *out);
/* After on_end only. Memory is freed when the loop has closed the handles. */
void workload_close(struct workload *w);
