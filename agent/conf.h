/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent is told: built-in defaults, then /etc/rigstat/agent.conf (`key = value`, `#`
 * comments), then $RIGSTAT_SERVER, then options. An unknown key or a bad value is an error with
 * file and line. Keys are the long options without dashes. */
#pragma once

#include "agent/pmu_group.h"
#include "agent/shares.h"
#include "common/err.h"

#define AGENT_CPUS_MAX	  1024
#define AGENT_APPS_MAX	  16
#define AGENT_EVENTS_MAX  16
#define AGENT_BUDGETS_MAX 16

enum sync_policy {
	SYNC_INTERVAL, /* fdatasync every second or 1 MiB */
	SYNC_ALWAYS,   /* after every record */
	SYNC_QUIET,    /* not while a measured window is open */
	SYNC_OFF       /* never (tmpfs) */
};

struct agent_conf {
	char *server; /* URL, NULL: spool only */
	char *spool_dir;
	char *lock_dir; /* of measure.lock */
	char *host;
	char *token_file;	   /* NULL: no Authorization header */
	char *ca_file;		   /* NULL: the system's */
	char *server_pin;	   /* sha256//BASE64 of the server's key; NULL: none */
	char *file;		   /* that was read, or would have been */
	bool may_lack_file;	   /* set before agent_conf_args(): --config of a new file */
	bool cpus[AGENT_CPUS_MAX]; /* measured; all online ones by default */
	bool cpus_given;
	int housekeeping; /* CPU of everything that does not measure; -1: any that is not measured
			   */
	int policy, priority; /* of the measuring threads: SCHED_FIFO 80 */
	int64_t period_ns;    /* between wake-ups: 1 ms */
	int64_t interval_ns;  /* slices of a series: 1 s */
	int64_t watch_ns;     /* length of a watch run: 1 h */
	bool quiet;	      /* no network and no fsync while a measured window is open */
	bool use_dma_latency; /* hold /dev/cpu_dma_latency at 0 */
	int64_t blame_ns;     /* threshold of late wake-ups; 0: the run's own p99.9, -1: no blame */
	bool experiments;     /* the daemon carries out what the server asks for */
	bool shares;	      /* sample who uses the CPUs */
	enum pmu_mode counters; /* what counters count: pmu_scope.h */
	char *counters_cgroup;	/* PMU_CGROUP */
	bool io, locks;		/* latency of block requests; contended kernel locks */
	bool system;		/* what the kernel counts about itself */
	struct {
		char probe[16];
		double part; /* of one CPU */
	} budgets[AGENT_BUDGETS_MAX];
	size_t budgets_len;
	struct share_app apps[AGENT_APPS_MAX];
	size_t apps_len;
	char *events[AGENT_EVENTS_MAX]; /* perf events to count beside the usual ones */
	size_t events_len;
	enum sync_policy sync;
	uint64_t spool_bytes_max;
	uint64_t spool_free_min; /* leave so many bytes of the file system free */
	int64_t retry_spread_ns; /* a lost server is tried again within this */
};

void agent_conf_init(struct agent_conf *c);
void agent_conf_done(struct agent_conf *c);
/* One key; `value` of a flag is "yes" or "no". */
int agent_conf_set(struct agent_conf *c, const char *key, const char *value,
		   struct err *reterr) MUSTCHECK;
/* Reads a file. A missing one is an error only when `must_exist`. */
int agent_conf_read(struct agent_conf *c, const char *path, bool must_exist,
		    struct err *reterr) MUSTCHECK;
/* Options of a subcommand, after the file (--config FILE or the default) and the environment:
 * `--key value`, `--key=value`, flags `--key` and `--no-key`. Stops at the first argument that is
 * no option or after "--"; *ret_rest is its index. An option that is not ours is offered to
 * `other` (may be NULL): it returns how many arguments it took, 0 when it is not known, negative
 * on error. --help sets *ret_help. */
typedef int (*conf_other_fn)(void *user, int argc, char **argv, struct err *reterr);
int agent_conf_args(struct agent_conf *c, int argc, char **argv, conf_other_fn other, void *user,
		    int *ret_rest, bool *ret_help, struct err *reterr) MUSTCHECK;
/* The part of a --help text that describes these options. */
extern const char agent_conf_help[];
