/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System-wide sampling by perf_event_open: one event and one ring a CPU, read without wake-ups.
 *
 * Hardware cycles where the CPU counts them, else the CPU clock: the two measure different things
 * (share of cycles, share of time), so the caller must name its metric by `kind`. Every sample
 * carries its period; weights are periods, never counts. Side-band records (fork, exec, comm,
 * mmap, exit) come in the same ring, so that names are those of the sample's time. */
#pragma once

#include "common/err.h"

enum perf_sampler_kind { SAMPLER_CYCLES, SAMPLER_CPU_CLOCK };

struct perf_sample {
	uint64_t ip, time_ns, period;
	uint32_t pid, tid, cpu;
	bool kernel; /* the instruction pointer is in the kernel */
};

struct perf_mapping {
	uint32_t pid;
	uint64_t start, length, offset;
	const char *file; /* borrowed */
};

/* Called while draining; any may be NULL. Times order records across CPUs only roughly. */
struct perf_sampler_ops {
	void (*sample)(void *ctx, const struct perf_sample *s);
	void (*fork)(void *ctx, uint32_t pid, uint32_t tid, uint32_t parent_pid);
	void (*comm)(void *ctx, uint32_t pid, uint32_t tid, const char *comm, bool exec);
	void (*exit)(void *ctx, uint32_t pid, uint32_t tid);
	void (*map)(void *ctx, const struct perf_mapping *m);
};

struct perf_sampler;
/* Opens on every online CPU, stopped. `hz` is the wanted rate. */
int perf_sampler_open(unsigned int hz, struct perf_sampler **ret, struct err *reterr) MUSTCHECK;
/* The same with a sample each `period` cycles (or ns of CPU time) instead of a rate: where the
 * number of samples must be known, as in tests/qemu. */
int perf_sampler_open_every(uint64_t period, struct perf_sampler **ret,
			    struct err *reterr) MUSTCHECK;
void perf_sampler_close(struct perf_sampler *s); /* NULL is fine */
int perf_sampler_start(struct perf_sampler *s, struct err *reterr) MUSTCHECK;
enum perf_sampler_kind perf_sampler_kind(const struct perf_sampler *s);
/* Hands out everything in the rings. */
void perf_sampler_drain(struct perf_sampler *s, const struct perf_sampler_ops *ops, void *ctx);
/* 1/divisor of the wanted rate. */
void perf_sampler_slow(struct perf_sampler *s, unsigned int divisor);
/* Estimated time that the kernel has taken for the samples so far: their number times the cost of
 * one, measured when the sampler was opened; -1: not known. */
int64_t perf_sampler_kernel_ns(const struct perf_sampler *s);

/* A CPU that took too many samples in one tick is not sampled until the next. */
struct throttle {
	uint64_t since_ns; /* 0: not throttled */
	uint64_t times, total_ns;
};
void throttle_begin(struct throttle *t, uint64_t at_ns);
void throttle_end(struct throttle *t, uint64_t at_ns);

struct perf_sampler_counts {
	uint64_t samples, lost, throttled;
	uint64_t throttled_ns; /* of all CPUs */
};
/* Since the last call. */
struct perf_sampler_counts perf_sampler_take_counts(struct perf_sampler *s);
size_t perf_sampler_cpus(const struct perf_sampler *s);
