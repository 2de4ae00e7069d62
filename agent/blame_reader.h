/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that reads the recorder when a wake-up was late. Between it and the loop thread: one
 * mutex, one queue. Measuring threads are never waited for and never wait. */
#pragma once

#include "agent/blame_recorder.h"
#include "agent/wakeup.h"

#define BLAME_EVENTS_KEPT 80 /* raw events of a window that are worth looking at */

struct blame_done {
	int64_t due_ns, late_ns; /* CLOCK_MONOTONIC */
	int cpu;
	bool read;
	struct blame_split split;   /* when read */
	struct blame_event *events; /* malloc'd, NULL: none; the window's last ones */
	size_t n_events;
};

struct blame_reader;
/* `rec` NULL: breaches are only counted and listed. Borrows both until blame_reader_free(). */
struct blame_reader *blame_reader_new(struct wakeup *w, struct blame_recorder *rec);
void blame_reader_free(struct blame_reader *r);
/* The measuring threads were (re)started: learn their ids. Loop thread. */
void blame_reader_threads(struct blame_reader *r);
/* Takes what is finished, at most `cap`; the caller frees the events. With `flush`, also what
 * still waits for the end of its 100 ms. */
size_t blame_reader_take(struct blame_reader *r, struct blame_done *out, size_t cap, bool flush);
/* Breaches that found a ring or the queue full, since the last call: counted, not listed. */
uint64_t blame_reader_dropped(struct blame_reader *r);
int64_t blame_reader_cpu_ns(struct blame_reader *r);
/* 1/divisor of the usual number of reads a second. */
void blame_reader_slow(struct blame_reader *r, unsigned int divisor);
/* CPUs whose self-test failed: "1,3", "" when none. */
void blame_reader_blind(struct blame_reader *r, char *ret, size_t cap);
