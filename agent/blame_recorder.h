/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flight recorder: BPF programs that write scheduler and interrupt events of chosen CPUs into
 * one ring a CPU, which is read here without stopping it. Needs CAP_BPF and CAP_PERFMON, kernel
 * BTF, and a build with clang and libbpf; otherwise opening says which of them is missing. */
#pragma once

#include "agent/blame_split.h"
#include "common/err.h"

struct blame_recorder;
/* Loads and attaches. ERR_UNSUPPORTED or ERR_PERM with the reason. */
int blame_recorder_open(const bool *cpus, size_t cpus_len, struct blame_recorder **ret,
			struct err *reterr) MUSTCHECK;
void blame_recorder_close(struct blame_recorder *r); /* NULL is fine */
/* A run begins; an interval has passed, the last of the warm-up or not. */
void blame_recorder_begin(struct blame_recorder *r);
void blame_recorder_tick(struct blame_recorder *r, bool last);
/* Estimated time of the programs since they were loaded; -1: not known. */
int64_t blame_recorder_kernel_ns(const struct blame_recorder *r);
bool blame_recorder_has_steal(const struct blame_recorder *r);
/* The ring of a CPU; valid until close. */
const struct blame_ring *blame_recorder_ring(const struct blame_recorder *r, int cpu);

struct blame_read {
	size_t n;
	bool lost;	/* a slot inside the range was half written or overwritten while reading */
	bool truncated; /* the ring does not reach back to a switch before `from_ns` */
};
/* Was the task stopped (SIGSTOP, a debugger) at that time? Looks at its last switch before it,
 * which on a busy CPU lies before the switch that a window begins with. True: *ret is the switch
 * that stopped it. */
bool blame_ring_stop(const struct blame_ring *ring, int64_t at_ns, uint32_t tid,
		     struct blame_event *ret);
/* Copies the events from the last switch not after from_ns (so that the state then is known) up to
 * to_ns and the first switch behind it, oldest first. Lock-free against the writer. */
struct blame_read blame_ring_read(const struct blame_ring *ring, int64_t from_ns, int64_t to_ns,
				  struct blame_event *out, size_t cap);
