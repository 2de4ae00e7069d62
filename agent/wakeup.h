/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wake-up latency: one real-time thread per CPU sleeps to absolute deadlines and records
 * now - due. No deadline is skipped: a stall of 200 ms at 1 kHz gives 200 late samples, and the
 * periods that had already passed when the thread came to sleep for them are counted as missed.
 *
 * Threads: the measuring threads write, one thread (the loop) takes. A CPU has two histograms;
 * wakeup_take() turns the thread to the other one and hands out the full one. */
#pragma once

#include "agent/probe.h"

struct wakeup_conf {
	const bool *cpus; /* measured CPUs, `cpus_len` entries */
	size_t cpus_len;
	int64_t period_ns;
	int policy, priority; /* SCHED_FIFO, 80 */
	int64_t breach_ns;    /* samples at or above are kept one by one; 0: none */
	bool use_dma_latency;
};

/* Effective settings of one measuring thread, read back after start. */
struct wakeup_thread_info {
	int cpu, policy, priority, tid;
	bool running; /* false: no thread could be started there */
	bool pinned;  /* affinity is exactly this CPU */
};

struct wakeup_breach {
	int64_t due_ns, late_ns; /* CLOCK_MONOTONIC */
};

struct wakeup;
/* Starts the threads. Fails only when no thread could be started; missing rights become marks. */
int wakeup_start(const struct wakeup_conf *conf, struct wakeup **ret, struct err *reterr) MUSTCHECK;
void wakeup_stop(struct wakeup *w); /* joins and frees; NULL is fine */
void wakeup_stopp(struct wakeup **w);

/* Ends the threads but keeps everything else; resume starts them again. */
void wakeup_pause(struct wakeup *w);
int wakeup_resume(struct wakeup *w, struct err *reterr) MUSTCHECK;

size_t wakeup_threads(const struct wakeup *w);
const struct wakeup_thread_info *wakeup_info(const struct wakeup *w, size_t i);
int64_t wakeup_period_ns(const struct wakeup *w);
const struct marks *wakeup_marks(const struct wakeup *w);

/* Reads the effective settings of CPU number i again; what has changed since the start (the CPU
 * went offline, somebody used chrt or taskset) becomes a mark. */
void wakeup_check(struct wakeup *w, size_t i);

/* What CPU number i recorded since the last take. Borrowed until the next take of the same i. */
const struct hist_rec *wakeup_take(struct wakeup *w, size_t i, uint64_t *ret_missed);
/* Breaches of CPU number i since the last call, oldest first; *ret_dropped those that found the
 * ring (64) full. Returns how many were written to `out`. */
size_t wakeup_breaches(struct wakeup *w, size_t i, struct wakeup_breach *out, size_t cap,
		       uint64_t *ret_dropped);
/* The threshold from now on; 0: none. */
void wakeup_set_breach(struct wakeup *w, int64_t breach_ns);
/* An eventfd that a measuring thread writes to when its ring of breaches was empty; -1: none.
 * Borrowed until it is set to another. */
void wakeup_set_breach_fd(struct wakeup *w, int fd);
/* CPU time of all measuring threads since their start. */
int64_t wakeup_cpu_ns(const struct wakeup *w);

/* The same as a probe of the sampler: metric wakeup_latency, one series per CPU. The probe does
 * not own `w`. */
struct probe *wakeup_probe(struct wakeup *w);
/* The warm-up of the present run; borrowed. */
const struct hist_rec *wakeup_probe_warmup(const struct probe *p);
/* All CPUs and the whole measured window of the present or last run; borrowed. */
const struct hist_rec *wakeup_probe_total(const struct probe *p);
