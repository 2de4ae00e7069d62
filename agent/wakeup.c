/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measuring loop does nothing but sleep, read the clock and count: no allocation, no lock.
 *
 * Handing over: the thread publishes which buffer it is inside of (`inside`), then checks that
 * this is still the active one; the taker changes `active`, then waits until the thread is not
 * inside the old one. Both orders are store-then-load on two variables, hence seq_cst. The thread
 * repeats at most once per take; the taker waits for a few instructions of the thread, unless
 * that was preempted just there. */
#include "agent/wakeup.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define STACK_BYTES    (128 * 1024)
#define STACK_PREFAULT (16 * 1024)
#define BREACH_RING    64
#define START_DELAY_NS (10 * NS_PER_MS)
#define CATCH_UP_MAX   60000 /* periods recorded one by one after a stall; more are `lost` */
#define OUTSIDE	       2u

struct buffer {
	struct hist_rec hist;
	uint64_t missed;
};

struct cpu {
	_Alignas(64) atomic_uint active; /* buffer to write to, set by the taker */
	atomic_uint inside;		 /* buffer that the thread is in, or OUTSIDE */
	struct buffer *buf[2];
	int64_t period_ns, start_ns;
	atomic_llong breach_ns; /* threshold */
	atomic_int breach_fd;	/* eventfd of the reader, -1 none */
	const atomic_bool *stop;
	atomic_uint breach_head, breach_tail; /* written by thread, by taker */
	atomic_ullong breach_dropped;
	struct wakeup_breach breach[BREACH_RING];
	pthread_t thread;
	bool running;
	int64_t cpu_ns; /* of threads that have ended */
	struct wakeup_thread_info info;
	atomic_int tid;
};

struct wakeup {
	struct cpu *cpu;
	size_t len;
	struct wakeup_conf conf;
	atomic_bool stop;
	int dma_fd;
	struct marks marks;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static void sleep_until(int64_t due_ns)
{
	struct timespec ts = {due_ns / NS_PER_SEC, due_ns % NS_PER_SEC};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* The one system call that measuring may add, and only for a late sample after a quiet time. */
static void wake_reader(struct cpu *c)
{
	int fd = atomic_load_explicit(&c->breach_fd, memory_order_acquire);
	uint64_t one = 1;

	if (fd >= 0)
		(void)!write(fd, &one, sizeof(one));
}

static void note_breach(struct cpu *c, int64_t due_ns, int64_t late_ns)
{
	unsigned int head = atomic_load_explicit(&c->breach_head, memory_order_relaxed);
	unsigned int tail = atomic_load_explicit(&c->breach_tail, memory_order_acquire);

	if (head - tail == BREACH_RING) {
		atomic_fetch_add_explicit(&c->breach_dropped, 1, memory_order_relaxed);
		return;
	}
	c->breach[head % BREACH_RING] = (struct wakeup_breach){due_ns, late_ns};
	atomic_store_explicit(&c->breach_head, head + 1, memory_order_release);
	if (head == tail)
		wake_reader(c);
}

static struct buffer *enter(struct cpu *c)
{
	unsigned int at = atomic_load_explicit(&c->active, memory_order_relaxed);

	for (;;) {
		unsigned int still;

		atomic_store(&c->inside, at);
		still = atomic_load(&c->active);
		if (still == at)
			return c->buf[at];
		at = still;
	}
}

static void leave(struct cpu *c)
{
	atomic_store_explicit(&c->inside, OUTSIDE, memory_order_release);
}

/* After a stall of more than CATCH_UP_MAX periods the rest is counted, not replayed: an hour of a
 * stopped machine must not become minutes of a real-time busy loop. */
static int64_t skip_hopeless(struct cpu *c, int64_t due, int64_t now)
{
	int64_t behind = (now - due) / c->period_ns;
	struct buffer *b;

	if (behind <= CATCH_UP_MAX)
		return due;
	b = enter(c);
	b->hist.lost += (uint64_t)(behind - CATCH_UP_MAX);
	leave(c);
	return due + (behind - CATCH_UP_MAX) * c->period_ns;
}

static void prefault_stack(void)
{
	volatile char page[STACK_PREFAULT];

	for (size_t i = 0; i < sizeof(page); i += 512)
		page[i] = 1;
}

static void *measure(void *arg)
{
	struct cpu *c = arg;
	int64_t due = c->start_ns, now = 0;

	prefault_stack();
	atomic_store(&c->tid, gettid());
	while (!atomic_load_explicit(c->stop, memory_order_relaxed)) {
		bool missed = now >= due;
		struct buffer *b;
		int64_t late;

		if (missed)
			due = skip_hopeless(c, due, now);
		else
			sleep_until(due);
		now = now_ns();
		late = now - due;
		b = enter(c);
		hist_rec_add(&b->hist, late);
		b->missed += missed;
		leave(c);
		if (late >= atomic_load_explicit(&c->breach_ns, memory_order_relaxed))
			note_breach(c, due, late);
		due += c->period_ns;
	}
	return NULL;
}

static int create(struct cpu *c, int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};
	pthread_attr_t attr;
	cpu_set_t set;
	int error;

	CPU_ZERO(&set);
	CPU_SET(c->info.cpu, &set);
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, STACK_BYTES));
	error = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!error)
		error = pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	if (!error)
		error = pthread_attr_setschedpolicy(&attr, policy);
	if (!error)
		error = pthread_attr_setschedparam(&attr, &param);
	if (!error)
		error = pthread_create(&c->thread, &attr, measure, c);
	pthread_attr_destroy(&attr);
	return error;
}

/* What the kernel really gives us, not what we asked for: by thread id, as glibc's
 * pthread_getschedparam() answers from its own memory. */
static void read_back(struct cpu *c)
{
	struct sched_param param;
	cpu_set_t set;
	int tid = atomic_load(&c->tid);

	c->info.policy = sched_getscheduler(tid);
	if (!sched_getparam(tid, &param))
		c->info.priority = param.sched_priority;
	c->info.pinned = !sched_getaffinity(tid, sizeof(set), &set) && CPU_COUNT(&set) == 1 &&
			 CPU_ISSET(c->info.cpu, &set);
}

static bool start_thread(struct wakeup *w, struct cpu *c)
{
	int policy = w->conf.policy;
	int priority = policy == SCHED_FIFO || policy == SCHED_RR ? w->conf.priority : 0;
	int error = create(c, policy, priority);

	if (error == EPERM && priority) {
		marks_add(&w->marks, "no-realtime",
			  "the kernel refused SCHED_%s priority %d, so latency was measured with "
			  "SCHED_OTHER and is larger. Grant CAP_SYS_NICE (AmbientCapabilities= in "
			  "the unit, or setcap cap_sys_nice+ep) or LimitRTPRIO=%d",
			  policy == SCHED_FIFO ? "FIFO" : "RR", priority, priority);
		error = create(c, SCHED_OTHER, 0);
	}
	if (error) {
		char code[32];

		snprintf(code, sizeof(code), "no-thread-cpu%d", c->info.cpu);
		marks_add(&w->marks, code,
			  "CPU %d is not measured: no thread there (%s); is it "
			  "online and inside the agent's cpuset?",
			  c->info.cpu, strerror(error));
		return false;
	}
	c->running = true;
	return true;
}

int wakeup_resume(struct wakeup *w, struct err *reterr)
{
	int64_t start = now_ns() + START_DELAY_NS;
	sigset_t all, before;
	size_t started = 0;

	atomic_store(&w->stop, false);
	if (w->conf.use_dma_latency && w->dma_fd < 0)
		w->dma_fd = rights_hold_dma_latency(&w->marks);
	sigfillset(&all); /* signals belong to the loop thread */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < w->len; i++) {
		/* Phases are spread over the period: CPUs that wake in the same instant would
		 * measure each other. */
		w->cpu[i].start_ns = start + w->conf.period_ns * (int64_t)i / (int64_t)w->len;
		if (!w->cpu[i].running)
			started += start_thread(w, &w->cpu[i]);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started)
		return err_set(reterr, ERR_UNSUPPORTED, "no measuring thread could be started: %s",
			       w->marks.len ? w->marks.v[w->marks.len - 1].text : "no CPU given");
	for (size_t i = 0; i < w->len; i++) {
		if (!w->cpu[i].running)
			continue;
		while (!atomic_load(&w->cpu[i].tid))
			usleep(100);
		read_back(&w->cpu[i]);
	}
	return 0;
}

static int64_t thread_cpu_ns(const struct cpu *c)
{
	struct timespec ts;
	clockid_t id;

	if (!c->running || pthread_getcpuclockid(c->thread, &id) || clock_gettime(id, &ts))
		return 0;
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

void wakeup_pause(struct wakeup *w)
{
	atomic_store(&w->stop, true);
	for (size_t i = 0; i < w->len; i++) {
		struct cpu *c = &w->cpu[i];

		if (!c->running)
			continue;
		c->cpu_ns += thread_cpu_ns(c);
		pthread_join(c->thread, NULL);
		c->running = false;
		atomic_store(&c->tid, 0);
	}
	if (w->dma_fd >= 0)
		close(w->dma_fd);
	w->dma_fd = -1;
}

static struct buffer *new_buffer(void)
{
	struct buffer *b = xcalloc(1, sizeof(*b));

	memset(b, 1, sizeof(*b)); /* writes to every page: no fault in the loop */
	memset(b, 0, sizeof(*b));
	return b;
}

static void init_cpu(struct wakeup *w, struct cpu *c, int number)
{
	c->buf[0] = new_buffer();
	c->buf[1] = new_buffer();
	c->info.cpu = number;
	c->stop = &w->stop;
	c->period_ns = w->conf.period_ns;
	atomic_init(&c->breach_ns, w->conf.breach_ns > 0 ? w->conf.breach_ns : INT64_MAX);
	atomic_init(&c->breach_fd, -1);
	atomic_init(&c->inside, OUTSIDE);
}

int wakeup_start(const struct wakeup_conf *conf, struct wakeup **ret, struct err *reterr)
{
	struct wakeup *w CLEANUP(wakeup_stopp) = xcalloc(1, sizeof(*w));
	size_t n = 0;
	int r;

	CHECK(conf->period_ns > 0);
	w->dma_fd = -1;
	w->conf = *conf;
	w->conf.cpus = NULL; /* borrowed for this call only */
	for (size_t i = 0; i < conf->cpus_len; i++)
		n += conf->cpus[i];
	if (!n)
		return err_set(reterr, ERR_INVALID, "no CPU to measure: name some with --cpus");
	w->cpu = aligned_alloc(64, n * sizeof(*w->cpu));
	CHECK(w->cpu);
	memset(w->cpu, 0, n * sizeof(*w->cpu));
	for (size_t i = 0; i < conf->cpus_len && i < CPU_SETSIZE; i++)
		if (conf->cpus[i])
			init_cpu(w, &w->cpu[w->len++], (int)i);
	rights_lock_memory(&w->marks);
	r = wakeup_resume(w, reterr);
	if (r)
		return r;
	*ret = TAKE(w);
	return 0;
}

void wakeup_stop(struct wakeup *w)
{
	if (!w)
		return;
	wakeup_pause(w);
	for (size_t i = 0; i < w->len; i++) {
		free(w->cpu[i].buf[0]);
		free(w->cpu[i].buf[1]);
	}
	free(w->cpu);
	marks_done(&w->marks);
	free(w);
}

void wakeup_stopp(struct wakeup **w)
{
	wakeup_stop(TAKE(*w));
}

size_t wakeup_threads(const struct wakeup *w)
{
	return w->len;
}

const struct wakeup_thread_info *wakeup_info(const struct wakeup *w, size_t i)
{
	CHECK(i < w->len);
	w->cpu[i].info.tid = atomic_load(&w->cpu[i].tid);
	w->cpu[i].info.running = w->cpu[i].running;
	return &w->cpu[i].info;
}

int64_t wakeup_period_ns(const struct wakeup *w)
{
	return w->conf.period_ns;
}

const struct marks *wakeup_marks(const struct wakeup *w)
{
	return &w->marks;
}

void wakeup_check(struct wakeup *w, size_t i)
{
	struct cpu *c;
	struct wakeup_thread_info before;
	char code[32];

	CHECK(i < w->len);
	c = &w->cpu[i];
	if (!c->running)
		return;
	before = c->info;
	read_back(c);
	snprintf(code, sizeof(code), "moved-cpu%d", c->info.cpu);
	if (before.pinned && !c->info.pinned)
		marks_add(
			&w->marks, code,
			"the measuring thread of CPU %d was moved off it (the CPU went offline, or "
			"somebody changed its affinity): its samples are of other CPUs",
			c->info.cpu);
	snprintf(code, sizeof(code), "policy-cpu%d", c->info.cpu);
	if (before.policy != c->info.policy || before.priority != c->info.priority)
		marks_add(&w->marks, code,
			  "the measuring thread of CPU %d changed from %s:%d to %s:%d while it "
			  "measured",
			  c->info.cpu, policy_name(before.policy), before.priority,
			  policy_name(c->info.policy), c->info.priority);
}

const struct hist_rec *wakeup_take(struct wakeup *w, size_t i, uint64_t *ret_missed)
{
	struct cpu *c;
	unsigned int full;
	struct buffer *next;

	CHECK(i < w->len);
	c = &w->cpu[i];
	full = atomic_load_explicit(&c->active, memory_order_relaxed);
	next = c->buf[!full];
	hist_rec_reset(&next->hist);
	next->missed = 0;
	atomic_store(&c->active, !full);
	while (atomic_load(&c->inside) == full)
		usleep(20);
	*ret_missed = c->buf[full]->missed;
	return &c->buf[full]->hist;
}

size_t wakeup_breaches(struct wakeup *w, size_t i, struct wakeup_breach *out, size_t cap,
		       uint64_t *ret_dropped)
{
	struct cpu *c;
	unsigned int head, tail;
	size_t n = 0;

	CHECK(i < w->len);
	c = &w->cpu[i];
	head = atomic_load_explicit(&c->breach_head, memory_order_acquire);
	tail = atomic_load_explicit(&c->breach_tail, memory_order_relaxed);
	while (tail != head && n < cap)
		out[n++] = c->breach[tail++ % BREACH_RING];
	atomic_store_explicit(&c->breach_tail, tail, memory_order_release);
	*ret_dropped = atomic_exchange_explicit(&c->breach_dropped, 0, memory_order_relaxed);
	return n;
}

void wakeup_set_breach(struct wakeup *w, int64_t breach_ns)
{
	for (size_t i = 0; i < w->len; i++)
		atomic_store(&w->cpu[i].breach_ns, breach_ns > 0 ? breach_ns : INT64_MAX);
}

void wakeup_set_breach_fd(struct wakeup *w, int fd)
{
	for (size_t i = 0; i < w->len; i++)
		atomic_store(&w->cpu[i].breach_fd, fd);
}

int64_t wakeup_cpu_ns(const struct wakeup *w)
{
	int64_t sum = 0;

	for (size_t i = 0; i < w->len; i++)
		sum += w->cpu[i].cpu_ns + thread_cpu_ns(&w->cpu[i]);
	return sum;
}
