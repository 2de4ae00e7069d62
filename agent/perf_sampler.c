/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/perf_sampler.h"
#include "common/check.h"
#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Measuring what a sample costs: 15 times a millisecond with some 20 samples. */
#define WORK_LOOPS	   500000
#define WORK_TRIES	   15
#define COST_PERIOD_NS	   50000
#define COST_PERIOD_CYCLES 200000

#define DATA_PAGES 32 /* a power of two; 128 KiB hold 2,000 samples */

struct cpu_ring {
	int fd;
	struct perf_event_mmap_page *meta;
	uint64_t head, tail; /* of the present drain */
	uint64_t next_ns;    /* time of the record at tail, 0: not looked at */
	struct throttle throttle;
};

struct perf_sampler {
	struct cpu_ring *cpus;
	size_t n;
	size_t page, map_bytes;
	enum perf_sampler_kind kind;
	unsigned int hz, hz_now; /* wanted; as lowered */
	uint64_t period;	 /* in place of the rate; 0: the rate */
	uint64_t samples;	 /* since the start */
	double sample_cost_ns;	 /* -1: not known */
	struct perf_sampler_counts counts;
	unsigned char scratch[1 << 16]; /* a record that wraps the ring's end is copied here */
};

/* Bodies as the kernel lays them out for our sample_type (perf_event_open(2)). */
struct sample_body {
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
	uint64_t period;
};
struct task_body {
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};
struct comm_body {
	uint32_t pid, tid;
	char comm[];
};
struct mmap_body {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char file[];
};

static int open_event(const struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static void attr_fill(struct perf_event_attr *a, enum perf_sampler_kind kind, unsigned int hz)
{
	memset(a, 0, sizeof(*a));
	a->size = sizeof(*a);
	a->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_PERIOD;
	a->disabled = 1;
	a->sample_id_all = 1;
	a->comm = a->comm_exec = a->task = a->mmap = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->watermark = 1;
	a->wakeup_watermark = UINT32_MAX;
	if (kind == SAMPLER_CYCLES) {
		a->type = PERF_TYPE_HARDWARE;
		a->config = PERF_COUNT_HW_CPU_CYCLES;
		a->freq = 1;
		a->sample_freq = hz;
	} else {
		a->type = PERF_TYPE_SOFTWARE;
		a->config = PERF_COUNT_SW_CPU_CLOCK;
		a->sample_period = (uint64_t)NS_PER_SEC / hz;
	}
}

static void attr_fill_for(const struct perf_sampler *s, struct perf_event_attr *a)
{
	attr_fill(a, s->kind, s->hz);
	if (!s->period)
		return;
	a->freq = 0;
	a->sample_period = s->period;
}

static int open_cpu(struct perf_sampler *s, int cpu, struct err *reterr)
{
	struct perf_event_attr attr;
	struct cpu_ring *r = &s->cpus[s->n];
	void *p;

	attr_fill_for(s, &attr);
	r->fd = open_event(&attr, cpu);
	/* No counter for cycles (a virtual machine): the first CPU decides for all. */
	if (r->fd < 0 && s->n == 0 && s->kind == SAMPLER_CYCLES &&
	    (errno == ENOENT || errno == EOPNOTSUPP || errno == ENODEV)) {
		s->kind = SAMPLER_CPU_CLOCK;
		attr_fill_for(s, &attr);
		r->fd = open_event(&attr, cpu);
	}
	if (r->fd < 0 && errno == ENODEV)
		return 0; /* went offline just now */
	if (r->fd < 0 && (errno == EACCES || errno == EPERM))
		return err_set(reterr, ERR_PERM,
			       "sampling all CPUs is refused: CAP_PERFMON is needed, or "
			       "kernel.perf_event_paranoid below 1");
	if (r->fd < 0)
		return err_errno(reterr, errno, "perf_event_open on CPU %d", cpu);
	p = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED) {
		int rc = err_errno(reterr, errno,
				   "sampling ring of CPU %d (kernel.perf_event_mlock_kb?)", cpu);

		close(r->fd);
		return rc;
	}
	r->meta = p;
	s->n++;
	return 0;
}

/* ---- what a sample costs ---- */

/* A loop of fixed work, about a millisecond. */
static int64_t work_ns(void)
{
	int64_t begin = clock_monotonic_ns();

	for (volatile unsigned int i = 0; i < WORK_LOOPS; i++)
		;
	return clock_monotonic_ns() - begin;
}

/* The shortest time of the loop with and without samples of this thread: whatever else disturbs it
 * only makes it longer. Returns ns per sample, -1 when the two cannot be told apart. */
static double compare_loops(int fd, struct perf_event_mmap_page *meta)
{
	int64_t without_ns = INT64_MAX, with_ns = INT64_MAX;
	double samples = 0;

	for (int i = 0; i < WORK_TRIES; i++) {
		int64_t ns = work_ns();
		uint64_t bytes;

		without_ns = ns < without_ns ? ns : without_ns;
		if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
			return -1;
		ns = work_ns();
		(void)ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		bytes = __atomic_load_n(&meta->data_head, __ATOMIC_ACQUIRE) - meta->data_tail;
		meta->data_tail += bytes;
		if (ns >= with_ns)
			continue;
		with_ns = ns;
		samples = (double)bytes /
			  (sizeof(struct perf_event_header) + sizeof(struct sample_body));
	}
	return samples >= 1 && with_ns > without_ns ? (double)(with_ns - without_ns) / samples : -1;
}

static void measure_cost(struct perf_sampler *s)
{
	struct perf_event_attr attr;
	int fd;
	void *p;

	attr_fill(&attr, s->kind, s->hz);
	attr.comm = attr.comm_exec = attr.task = attr.mmap = 0;
	attr.freq = 0;
	attr.sample_period = s->kind == SAMPLER_CYCLES ? COST_PERIOD_CYCLES : COST_PERIOD_NS;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	s->sample_cost_ns = -1;
	if (fd < 0)
		return;
	p = mmap(NULL, s->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED) {
		s->sample_cost_ns = compare_loops(fd, p);
		munmap(p, s->map_bytes);
	}
	close(fd);
}

static int open_sampler(unsigned int hz, uint64_t period, struct perf_sampler **ret,
			struct err *reterr)
{
	struct perf_sampler *s = xcalloc(1, sizeof(*s));
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int rc = 0;

	CHECK(hz > 0);
	s->period = period;
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->map_bytes = (DATA_PAGES + 1) * s->page;
	s->hz = s->hz_now = hz;
	s->cpus = xcalloc((size_t)cpus, sizeof(*s->cpus));
	for (int cpu = 0; cpu < cpus && !rc; cpu++)
		rc = open_cpu(s, cpu, reterr);
	if (rc) {
		perf_sampler_close(s);
		return rc;
	}
	measure_cost(s);
	*ret = s;
	return 0;
}

int perf_sampler_open(unsigned int hz, struct perf_sampler **ret, struct err *reterr)
{
	return open_sampler(hz, 0, ret, reterr);
}

int perf_sampler_open_every(uint64_t period, struct perf_sampler **ret, struct err *reterr)
{
	CHECK(period > 0);
	return open_sampler(1, period, ret, reterr);
}

void perf_sampler_close(struct perf_sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		munmap(s->cpus[i].meta, s->map_bytes);
		close(s->cpus[i].fd);
	}
	free(s->cpus);
	free(s);
}

int perf_sampler_start(struct perf_sampler *s, struct err *reterr)
{
	for (size_t i = 0; i < s->n; i++)
		if (ioctl(s->cpus[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_errno(reterr, errno, "cannot start sampling");
	return 0;
}

enum perf_sampler_kind perf_sampler_kind(const struct perf_sampler *s)
{
	return s->kind;
}

void perf_sampler_slow(struct perf_sampler *s, unsigned int divisor)
{
	unsigned int hz = s->hz / divisor ? s->hz / divisor : 1;
	uint64_t value = s->kind == SAMPLER_CYCLES ? hz : (uint64_t)NS_PER_SEC / hz;

	if (hz == s->hz_now || s->period)
		return;
	s->hz_now = hz;
	for (size_t i = 0; i < s->n; i++)
		(void)ioctl(s->cpus[i].fd, PERF_EVENT_IOC_PERIOD, &value);
}

int64_t perf_sampler_kernel_ns(const struct perf_sampler *s)
{
	return s->sample_cost_ns < 0 ? -1 : (int64_t)(s->sample_cost_ns * (double)s->samples);
}

/* ---- records ---- */

static void on_sample(struct perf_sampler *s, const struct perf_event_header *h,
		      const struct perf_sampler_ops *ops, void *ctx)
{
	const struct sample_body *b = (const void *)(h + 1);
	unsigned int mode = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct perf_sample x = {.ip = b->ip,
				.time_ns = b->time,
				.period = b->period,
				.pid = b->pid,
				.tid = b->tid,
				.cpu = b->cpu,
				.kernel = mode == PERF_RECORD_MISC_KERNEL};

	s->counts.samples++;
	s->samples++;
	if (ops->sample)
		ops->sample(ctx, &x);
}

void throttle_begin(struct throttle *t, uint64_t at_ns)
{
	t->times++;
	if (!t->since_ns)
		t->since_ns = at_ns;
}

void throttle_end(struct throttle *t, uint64_t at_ns)
{
	if (t->since_ns && at_ns > t->since_ns)
		t->total_ns += at_ns - t->since_ns;
	t->since_ns = 0;
}

static void dispatch(struct perf_sampler *s, struct cpu_ring *r, const struct perf_event_header *h,
		     const struct perf_sampler_ops *ops, void *ctx)
{
	const void *body = h + 1;
	const struct task_body *task = body;
	const struct comm_body *comm = body;
	const struct mmap_body *map = body;
	const uint64_t *words = body;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		on_sample(s, h, ops, ctx);
		break;
	case PERF_RECORD_LOST:
		s->counts.lost += words[1];
		break;
	case PERF_RECORD_LOST_SAMPLES:
		s->counts.lost += words[0];
		break;
	case PERF_RECORD_THROTTLE:
		throttle_begin(&r->throttle, words[0]);
		break;
	case PERF_RECORD_UNTHROTTLE:
		throttle_end(&r->throttle, words[0]);
		break;
	case PERF_RECORD_FORK:
		if (ops->fork)
			ops->fork(ctx, task->pid, task->tid, task->ppid);
		break;
	case PERF_RECORD_EXIT:
		if (ops->exit)
			ops->exit(ctx, task->pid, task->tid);
		break;
	case PERF_RECORD_COMM:
		if (ops->comm)
			ops->comm(ctx, comm->pid, comm->tid, comm->comm,
				  h->misc & PERF_RECORD_MISC_COMM_EXEC);
		break;
	case PERF_RECORD_MMAP:
		if (ops->map)
			ops->map(ctx, &(struct perf_mapping){map->pid, map->addr, map->len,
							     map->pgoff, map->file});
		break;
	default:
		break;
	}
}

/* The record at a ring's tail, whole: one that wraps the end is copied to scratch. */
static const struct perf_event_header *record_at(struct perf_sampler *s, const struct cpu_ring *r)
{
	const unsigned char *data = (const unsigned char *)r->meta + s->page;
	uint64_t mask = DATA_PAGES * s->page - 1;
	const struct perf_event_header *h = (const void *)(data + (r->tail & mask));
	uint64_t left = mask + 1 - (r->tail & mask);
	uint16_t size = h->size; /* headers are 8-byte aligned: never split */

	if (size <= left)
		return h;
	memcpy(s->scratch, h, left);
	memcpy(s->scratch + left, data, size - left);
	return (const void *)s->scratch;
}

/* Samples carry their time in the body, side-band records in the trailer (pid, tid, time, cpu). */
static uint64_t time_of(const struct perf_event_header *h)
{
	uint64_t t;

	if (h->type == PERF_RECORD_SAMPLE)
		return ((const struct sample_body *)(const void *)(h + 1))->time;
	memcpy(&t, (const unsigned char *)h + h->size - 16, sizeof(t));
	return t;
}

/* The ring whose next record is the oldest, NULL when none is left before the horizon. */
static struct cpu_ring *oldest(struct perf_sampler *s, uint64_t horizon_ns)
{
	struct cpu_ring *best = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct cpu_ring *r = &s->cpus[i];

		if (r->tail >= r->head)
			continue;
		if (!r->next_ns)
			r->next_ns = time_of(record_at(s, r));
		if (r->next_ns <= horizon_ns && (!best || r->next_ns < best->next_ns))
			best = r;
	}
	return best;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* In the order of time over all CPUs: a task forks on one and execs on another, and its name must
 * be the last one. What is younger than the beginning of this drain waits for the next. */
void perf_sampler_drain(struct perf_sampler *s, const struct perf_sampler_ops *ops, void *ctx)
{
	uint64_t horizon_ns = now_ns();
	struct cpu_ring *r;

	for (size_t i = 0; i < s->n; i++) {
		r = &s->cpus[i];
		r->head = __atomic_load_n(&r->meta->data_head, __ATOMIC_ACQUIRE);
		r->tail = r->meta->data_tail;
		r->next_ns = 0;
	}
	while ((r = oldest(s, horizon_ns))) {
		const struct perf_event_header *h = record_at(s, r);

		dispatch(s, r, h, ops, ctx);
		r->tail += h->size;
		r->next_ns = 0;
	}
	for (size_t i = 0; i < s->n; i++)
		__atomic_store_n(&s->cpus[i].meta->data_tail, s->cpus[i].tail, __ATOMIC_RELEASE);
}

struct perf_sampler_counts perf_sampler_take_counts(struct perf_sampler *s)
{
	struct perf_sampler_counts c = s->counts;

	memset(&s->counts, 0, sizeof(s->counts));
	for (size_t i = 0; i < s->n; i++) {
		struct throttle *t = &s->cpus[i].throttle;

		c.throttled += t->times;
		c.throttled_ns += t->total_ns;
		t->times = t->total_ns = 0;
	}
	return c;
}

size_t perf_sampler_cpus(const struct perf_sampler *s)
{
	return s->n;
}
