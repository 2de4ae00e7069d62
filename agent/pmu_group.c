/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_group.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/clock.h"

#define EXACT_MIN      0.999
#define ESTIMATED_MIN  0.90
#define DOUBTFUL_MIN   0.25
#define MUX_PERIODS    20   /* fewer rotations say nothing about the average */
#define ENABLED_MIN    0.95 /* of the wall time, for events of a CPU */
#define MUX_NS_DEFAULT (4 * NS_PER_MS)

struct place {
	int cpu;	/* -1: a task */
	size_t opening; /* of a task: which core type */
	int leader;
	int fd[PMU_GROUP_MAX];	    /* -1: not open */
	size_t slot[PMU_GROUP_MAX]; /* position in a group read */
	size_t open;
	struct pmu_delta last[PMU_GROUP_MAX]; /* totals at the last read */
	int64_t last_ns;
	bool offline; /* its CPU is away: it counts for nothing */
};

struct pmu_group {
	struct pmu_target target;
	struct pmu_event *event;
	size_t events;
	int error[PMU_GROUP_MAX];
	struct place *place;
	size_t places;
	unsigned int epochs;
};

/* ---- judging ---- */

static const struct {
	const char *name, *reason;
} states[] = {
	[PMU_IDLE] = {"idle", "nothing ran: the count is 0"},
	[PMU_EXACT] = {"exact", "counted all the time"},
	[PMU_ESTIMATED] = {"estimated", "scaled: counted more than 90 % of the time"},
	[PMU_DOUBTFUL] = {"doubtful", "scaled: counted only 25 to 90 % of the time, because more "
				      "events were asked for than the CPU has counters"},
	[PMU_REFUSED] = {"refused-low-residency",
			 "counted too little of the time for an estimate; ask for fewer events"},
	[PMU_NOT_COUNTED] = {"not-counted",
			     "never on a counter: others hold them (NMI watchdog, perf, a guest)"},
	[PMU_GAP] = {"gap", "not enabled all the time: a CPU went away, the box slept or the "
			    "hypervisor took the CPU"},
	[PMU_PINNED_LOST] = {"pinned-lost", "the pinned group lost its counters to another user"},
	[PMU_IMPLAUSIBLE] = {"implausible", "the count cannot be true: counters untrusted"},
	[PMU_ABSENT] = {"absent", "the event could not be opened"},
};

const char *pmu_state_name(enum pmu_state s)
{
	return states[s].name;
}

const char *pmu_state_reason(enum pmu_state s)
{
	return states[s].reason;
}

bool pmu_state_has_value(enum pmu_state s)
{
	return s <= PMU_DOUBTFUL;
}

enum pmu_state pmu_judge(enum pmu_mode mode, const struct pmu_delta *d, int64_t mux_ns)
{
	double share;

	if (mode == PMU_BOX && (double)d->enabled_ns < ENABLED_MIN * (double)d->wall_ns)
		return PMU_GAP;
	if (!d->enabled_ns)
		return mode == PMU_BOX ? PMU_GAP : PMU_IDLE;
	if (!d->running_ns)
		return PMU_NOT_COUNTED;
	share = (double)d->running_ns / (double)d->enabled_ns;
	if (share >= EXACT_MIN)
		return PMU_EXACT;
	if (share < DOUBTFUL_MIN || (int64_t)d->running_ns < MUX_PERIODS * mux_ns)
		return PMU_REFUSED;
	return share >= ESTIMATED_MIN ? PMU_ESTIMATED : PMU_DOUBTFUL;
}

static void sum_delta(struct pmu_sum *to, const struct pmu_delta *d, enum pmu_state state)
{
	if (state > to->state)
		to->state = state;
	if (!pmu_state_has_value(state))
		return;
	to->places++;
	to->value += d->value;
	to->enabled_ns += d->enabled_ns;
	to->running_ns += d->running_ns;
	if (d->running_ns)
		to->scaled += (double)d->value * (double)d->enabled_ns / (double)d->running_ns;
}

void pmu_sum_add(struct pmu_sum *to, const struct pmu_sum *interval)
{
	if (!pmu_state_has_value(interval->state))
		return;
	if (interval->state > to->state)
		to->state = interval->state;
	to->value += interval->value;
	to->enabled_ns += interval->enabled_ns;
	to->running_ns += interval->running_ns;
	to->scaled += interval->scaled;
	to->places = interval->places;
}

/* ---- opening ---- */

/* An older kernel writes back the size of the structure that it knows. */
static int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group,
			      flags | PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == E2BIG && attr->size < sizeof(*attr))
		fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group,
				  flags | PERF_FLAG_FD_CLOEXEC);
	return fd;
}

static const struct pmu_opening *opening_of(const struct pmu_event *e, const struct place *p)
{
	if (p->cpu >= 0)
		return pmu_event_on_cpu(e, (unsigned int)p->cpu);
	return p->opening < e->openings ? &e->opening[p->opening] : NULL;
}

static int open_member(const struct pmu_group *g, const struct place *p, size_t m)
{
	const struct pmu_target *t = &g->target;
	const struct pmu_opening *o = opening_of(&g->event[m], p);
	struct perf_event_attr attr;
	int group = t->mode == PMU_TASK ? -1 : p->leader;

	if (!o) {
		errno = 0; /* not for this CPU, see open_place */
		return -1;
	}
	pmu_event_attr(&g->event[m], o, &attr);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = group < 0;
	attr.pinned = group < 0 && t->pinned;
	/* Inherited groups are read badly or not at all (perf_event_open(2)): tasks have none. */
	if (t->mode == PMU_TASK) {
		attr.inherit = 1;
		attr.enable_on_exec = t->on_exec;
		return perf_open(&attr, t->pid, -1, -1, 0);
	}
	attr.read_format |= PERF_FORMAT_GROUP;
	if (t->mode == PMU_CGROUP)
		return perf_open(&attr, t->cgroup_fd, p->cpu, group, PERF_FLAG_PID_CGROUP);
	return perf_open(&attr, -1, p->cpu, group, 0);
}

static void close_place(struct place *p)
{
	for (size_t m = 0; m < PMU_GROUP_MAX; m++) {
		if (p->fd[m] >= 0)
			close(p->fd[m]);
		p->fd[m] = -1;
	}
	p->leader = -1;
	p->open = 0;
}

/* Reads the totals of every open member; false when a pinned group has lost its counters. */
static bool read_totals(const struct pmu_group *g, const struct place *p,
			struct pmu_delta ret[PMU_GROUP_MAX])
{
	uint64_t v[3 + PMU_GROUP_MAX] = {0};

	memset(ret, 0, PMU_GROUP_MAX * sizeof(*ret));
	if (g->target.mode != PMU_TASK) {
		if (p->leader < 0 || read(p->leader, v, sizeof(v)) <= 0)
			return false;
		for (size_t m = 0; m < g->events; m++)
			if (p->fd[m] >= 0)
				ret[m] = (struct pmu_delta){v[3 + p->slot[m]], v[1], v[2], 0};
		return true;
	}
	for (size_t m = 0; m < g->events; m++) {
		if (p->fd[m] < 0)
			continue;
		if (read(p->fd[m], v, 3 * sizeof(v[0])) <= 0)
			return false;
		ret[m] = (struct pmu_delta){v[0], v[1], v[2], 0};
	}
	return true;
}

static void enable_place(const struct pmu_group *g, const struct place *p)
{
	for (size_t m = 0; m < g->events; m++)
		if (p->fd[m] >= 0 && !g->target.on_exec &&
		    (p->fd[m] == p->leader || g->target.mode == PMU_TASK))
			(void)ioctl(p->fd[m], PERF_EVENT_IOC_ENABLE, 0);
}

/* ENODEV: the CPU is away. Any other refusal holds for the member on every CPU. */
static void open_place(struct pmu_group *g, struct place *p)
{
	p->offline = false;
	for (size_t m = 0; m < g->events; m++) {
		p->fd[m] = g->error[m] ? -1 : open_member(g, p, m);
		if (p->fd[m] >= 0) {
			p->slot[m] = p->open++;
			if (p->leader < 0)
				p->leader = p->fd[m];
		} else if (!g->error[m] && errno == ENODEV && p->cpu >= 0) {
			p->offline = true;
			break;
		} else if (!g->error[m]) {
			g->error[m] = errno;
		}
	}
	enable_place(g, p);
	(void)read_totals(g, p, p->last);
	p->last_ns = clock_monotonic_ns();
}

static bool same_errors(const int *a, const int *b)
{
	return !memcmp(a, b, PMU_GROUP_MAX * sizeof(*a));
}

/* Again when a later CPU refused what an earlier one had opened: all CPUs have the same members. */
static void open_all(struct pmu_group *g)
{
	int before[PMU_GROUP_MAX];

	do {
		memcpy(before, g->error, sizeof(before));
		for (size_t i = 0; i < g->places; i++) {
			close_place(&g->place[i]);
			open_place(g, &g->place[i]);
		}
	} while (!same_errors(before, g->error));
}

static size_t most_openings(const struct pmu_group *g)
{
	size_t most = 0;

	for (size_t m = 0; m < g->events; m++)
		if (g->event[m].openings > most)
			most = g->event[m].openings;
	return most;
}

static bool wanted_on(const struct pmu_group *g, unsigned int cpu)
{
	for (size_t m = 0; m < g->events; m++)
		if (pmu_event_on_cpu(&g->event[m], cpu))
			return true;
	return false;
}

static void add_place(struct pmu_group *g, int cpu, size_t opening)
{
	struct place *p = &g->place[g->places++];

	p->cpu = cpu;
	p->opening = opening;
	p->leader = -1;
	for (size_t m = 0; m < PMU_GROUP_MAX; m++)
		p->fd[m] = -1;
}

struct pmu_group *pmu_group_open(const struct pmu_event *const *events, size_t n,
				 const struct pmu_target *target)
{
	struct pmu_group *g = xcalloc(1, sizeof(*g));
	size_t cpus = target->mode == PMU_TASK ? PMU_OPENINGS_MAX : target->cpus_len;

	CHECK(n >= 1 && n <= PMU_GROUP_MAX);
	g->target = *target;
	if (!g->target.mux_ns)
		g->target.mux_ns = MUX_NS_DEFAULT;
	g->event = xcalloc(n, sizeof(*g->event));
	g->events = n;
	for (size_t m = 0; m < n; m++)
		g->event[m] = *events[m];
	g->place = xcalloc(cpus, sizeof(*g->place));
	if (target->mode == PMU_TASK)
		for (size_t i = 0; i < most_openings(g); i++)
			add_place(g, -1, i);
	else
		for (unsigned int cpu = 0; cpu < cpus; cpu++)
			if (target->cpus[cpu] && wanted_on(g, cpu))
				add_place(g, (int)cpu, 0);
	g->target.cpus = NULL; /* the caller's */
	open_all(g);
	return g;
}

void pmu_group_close(struct pmu_group *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->places; i++)
		close_place(&g->place[i]);
	free(g->place);
	free(g->event);
	free(g);
}

int pmu_group_error(const struct pmu_group *g, size_t member)
{
	return g->error[member] ? g->error[member] : g->places ? 0 : ENODEV;
}

unsigned int pmu_group_epochs(const struct pmu_group *g)
{
	return g->epochs;
}

const char *pmu_error_text(int error, enum pmu_mode mode, char *buf, size_t cap)
{
	const char *text = NULL;

	if (error == ENOENT && mode == PMU_CGROUP)
		text = "not available: the kernel does not count this event by cgroup yet (no "
		       "controller is enabled in the root's cgroup.subtree_control), or not at all";
	else if (error == ENOENT)
		text = "not available: this CPU or virtual machine does not count the event "
		       "(no hardware PMU?)";
	else if ((error == EACCES || error == EPERM) && mode == PMU_TASK)
		text = "no right: grant CAP_PERFMON or set kernel.perf_event_paranoid to 1 or less "
		       "(in a container the seccomp profile may forbid it, too)";
	else if (error == EACCES || error == EPERM)
		text = "no right: grant CAP_PERFMON or set kernel.perf_event_paranoid to 0 or less "
		       "(in a container the seccomp profile may forbid it, too)";
	else if (error == EMFILE || error == ENFILE)
		text = "out of file descriptors; raise LimitNOFILE= of the service";
	else if (error == EINVAL && mode != PMU_BOX)
		text = "not available: the kernel refuses this event for a task or cgroup (a PMU "
		       "that counts for whole CPUs only, or a modifier that it lacks)";
	else if (error == EINVAL)
		text = "not available: the kernel refuses this combination (more events than "
		       "counters, or a modifier that this PMU lacks)";
	else if (error == EBUSY)
		text = "another program holds this PMU for itself";
	else if (error == EOPNOTSUPP)
		text = "not available: the PMU cannot count this way";
	else if (error == ENODEV)
		text = "not available: no CPU that is online has this PMU";
	if (text)
		snprintf(buf, cap, "%s", text);
	else
		snprintf(buf, cap, "perf_event_open: %s", strerror(error));
	return buf;
}

/* ---- reading ---- */

static void reopen(struct pmu_group *g, struct place *p)
{
	int before[PMU_GROUP_MAX];

	/* A refusal now (descriptors, a lost counter) is not one for good. */
	memcpy(before, g->error, sizeof(before));
	close_place(p);
	open_place(g, p);
	memcpy(g->error, before, sizeof(before));
	g->epochs += !p->offline;
}

/* A task's event of one core type is enabled on all of them and runs on its own, so scaling would
 * invent work: the count stands as it is, marked when it may be a part. */
static enum pmu_state judge_hybrid(struct pmu_delta *d)
{
	bool part = d->running_ns < d->enabled_ns;

	d->enabled_ns = d->running_ns;
	return !d->running_ns ? PMU_IDLE : part ? PMU_DOUBTFUL : PMU_EXACT;
}

static enum pmu_state judge_member(const struct pmu_group *g, size_t m, struct pmu_delta *d)
{
	if (g->target.mode == PMU_TASK && (g->event[m].openings > 1 || g->target.part))
		return judge_hybrid(d);
	return pmu_judge(g->target.mode, d, g->target.mux_ns);
}

static void read_place(struct pmu_group *g, struct place *p, struct pmu_sum ret[PMU_GROUP_MAX])
{
	struct pmu_delta now[PMU_GROUP_MAX];
	/* From the end of one read to the begin of the next: a slow read is no gap. */
	int64_t wall_ns = clock_monotonic_ns() - p->last_ns;
	bool ok = read_totals(g, p, now), lost = !ok;

	for (size_t m = 0; m < g->events; m++) {
		struct pmu_delta d = {now[m].value - p->last[m].value,
				      now[m].enabled_ns - p->last[m].enabled_ns,
				      now[m].running_ns - p->last[m].running_ns, wall_ns};
		enum pmu_state s = g->target.pinned && p->leader >= 0 ? PMU_PINNED_LOST : PMU_GAP;

		if (p->fd[m] < 0 && p->leader >= 0)
			continue; /* refused, or not an event of this CPU */
		if (ok)
			s = judge_member(g, m, &d);
		lost |= s == PMU_GAP;
		sum_delta(&ret[m], &d, s);
	}
	if (lost) {
		reopen(g, p);
		return;
	}
	memcpy(p->last, now, sizeof(now));
	p->last_ns = clock_monotonic_ns();
}

void pmu_group_read(struct pmu_group *g, struct pmu_sum ret[PMU_GROUP_MAX])
{
	memset(ret, 0, PMU_GROUP_MAX * sizeof(*ret));
	for (size_t i = 0; i < g->places; i++) {
		struct place *p = &g->place[i];

		if (!p->offline) {
			read_place(g, p, ret);
			continue;
		}
		/* Away since an earlier interval, which was a gap. Back: this one is a gap, too. */
		reopen(g, p);
		for (size_t m = 0; !p->offline && m < g->events; m++)
			sum_delta(&ret[m], &(struct pmu_delta){0}, PMU_GAP);
	}
	for (size_t m = 0; m < g->events; m++)
		if (pmu_group_error(g, m))
			ret[m].state = PMU_ABSENT;
		else if (!ret[m].places && pmu_state_has_value(ret[m].state))
			ret[m].state = PMU_GAP; /* every CPU is away */
}
