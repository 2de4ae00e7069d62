/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of events that count together, and what each of their numbers is worth.
 *
 * A group has one place for each CPU (box, cgroup) or one for a task. The members of a place run
 * at the same time, so their ratios are honest even when the kernel multiplexes. Values are
 * deltas between two reads of the same descriptors, scaled by enabled / running per place: totals
 * that were scaled are never subtracted. A place that stood still (its CPU went away and came
 * back) is opened again and begins a new epoch; the interval in between has no number. */
#pragma once

#include <sys/types.h>

#include "agent/pmu_event.h"

/* 3 programmable ones fit a CPU with 4 counters of which the NMI watchdog has one; the others of
 * these slots are for fixed counters and the topdown metrics, which take none. */
#define PMU_GROUP_MAX 6

/* In the order of how bad they are: the state of a sum is the worst of its parts. */
enum pmu_state {
	PMU_IDLE,	 /* the task or cgroup did not run: a true 0 */
	PMU_EXACT,	 /* counted all the time */
	PMU_ESTIMATED,	 /* counted 90 % of the time or more, scaled */
	PMU_DOUBTFUL,	 /* counted 25 to 90 % of the time: no verdict may rest on it */
	PMU_REFUSED,	 /* too little for an estimate: no number, as in all that follow */
	PMU_NOT_COUNTED, /* enabled, never on a counter */
	PMU_GAP,	 /* not enabled all the time: hotplug, suspend, a stolen CPU */
	PMU_PINNED_LOST, /* a pinned group lost its counters */
	PMU_IMPLAUSIBLE, /* counted, but it cannot be true */
	PMU_ABSENT,	 /* could not be opened */
};
const char *pmu_state_name(enum pmu_state s); /* "exact", "not-counted" ... */
bool pmu_state_has_value(enum pmu_state s);
/* A sentence for people: why there is no number or no exact one. */
const char *pmu_state_reason(enum pmu_state s);

enum pmu_mode { PMU_BOX, PMU_CGROUP, PMU_TASK };

/* One event of one place between two reads. */
struct pmu_delta {
	uint64_t value, enabled_ns, running_ns;
	int64_t wall_ns;
};
/* The state that these times allow. `mux_ns` is the rotation period of multiplexed groups. */
enum pmu_state pmu_judge(enum pmu_mode mode, const struct pmu_delta *d, int64_t mux_ns);

/* One event over all places of an interval, or over intervals. */
struct pmu_sum {
	uint64_t value, enabled_ns, running_ns; /* raw, of the places that have a number */
	double scaled;				/* sum of value * enabled / running of each place */
	enum pmu_state state;			/* worst of the places */
	unsigned int places;			/* with a number */
};
/* Adds an interval. One without a number leaves the sum as it is: the caller counts those. */
void pmu_sum_add(struct pmu_sum *to, const struct pmu_sum *interval);

struct pmu_target {
	enum pmu_mode mode;
	const bool *cpus; /* PMU_BOX, PMU_CGROUP */
	size_t cpus_len;
	int cgroup_fd;	/* PMU_CGROUP: an open directory of the cgroup file system */
	pid_t pid;	/* PMU_TASK; children that it makes later are counted too */
	bool on_exec;	/* PMU_TASK: begin at its exec() */
	bool part;	/* PMU_TASK: the events are of one core type of several */
	bool pinned;	/* visible loss instead of silent multiplexing; at most two events */
	int64_t mux_ns; /* 0: 4 ms */
};

struct pmu_group;
/* Opens and enables. Never fails as a whole: what the kernel refuses is in pmu_group_error. The
 * events are copied. */
struct pmu_group *pmu_group_open(const struct pmu_event *const *events, size_t n,
				 const struct pmu_target *target);
void pmu_group_close(struct pmu_group *g); /* NULL is fine */
/* errno of the member's refusal, 0 when it counts. */
int pmu_group_error(const struct pmu_group *g, size_t member);
/* What an errno of perf_event_open means and what to do. Returns buf. */
const char *pmu_error_text(int error, enum pmu_mode mode, char *buf, size_t cap);
/* The interval since the last read; one sum a member. */
void pmu_group_read(struct pmu_group *g, struct pmu_sum ret[PMU_GROUP_MAX]);
/* How often a place had to be opened again. */
unsigned int pmu_group_epochs(const struct pmu_group *g);

/* Does the CPU count what we know it does? A loop of known length, in this thread. */
enum pmu_trust { PMU_TRUSTED, PMU_UNTRUSTED, PMU_NO_PMU, PMU_NOT_TESTED };
struct pmu_selftest {
	enum pmu_trust trust;
	uint64_t expected, counted; /* instructions */
	char text[200];
};
void pmu_selftest(const char *root, struct pmu_selftest *ret);
/* PMU_TRUSTED when `counted` is within 2 % of `expected`. */
enum pmu_trust pmu_trust_of(uint64_t expected, uint64_t counted);
