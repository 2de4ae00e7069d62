/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/blame_reader.h"
#include "agent/blame_ration.h"
#include "common/check.h"
#include "common/clock.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define QUEUE_MAX      1024
#define TEST_AFTER_NS  (150 * NS_PER_MS) /* the threads have settled by then */
#define TEST_WINDOW_NS (60 * NS_PER_MS)
#define TEST_SHARE     0.9
#define TESTS_MAX      8
#define TAKE_AT_ONCE   64

struct per_cpu {
	int cpu;
	uint32_t tid;
	struct ration ration;
	struct blame_done best; /* the worst of the open slot */
	bool has_best;
	bool blind;
};

struct blame_reader {
	struct wakeup *w;
	struct blame_recorder *rec;
	pthread_t thread;
	int fd;
	pthread_mutex_t lock; /* of all below */
	bool stop;
	int64_t test_at_ns; /* 0: no self-test is due */
	unsigned int tests; /* tries of it */
	struct per_cpu *cpu;
	size_t n;
	struct blame_done queue[QUEUE_MAX];
	size_t queued;
	uint64_t dropped;
	int64_t cpu_ns;
	struct blame_event scratch[BLAME_RING_SLOTS + 64];
};

static void finish(struct blame_reader *r, struct blame_done *d)
{
	if (r->queued == QUEUE_MAX) {
		free(d->events);
		r->dropped++;
		return;
	}
	r->queue[r->queued++] = *d;
}

static void finish_best(struct blame_reader *r, struct per_cpu *c)
{
	if (c->has_best)
		finish(r, &c->best);
	c->has_best = false;
}

/* Our waking may be in another CPU's ring: timers move off isolated CPUs. */
static size_t add_foreign_waking(struct blame_reader *r, const struct per_cpu *c, int64_t due_ns,
				 int64_t run_ns, size_t n)
{
	struct blame_event *other = &r->scratch[n];

	for (size_t i = 0; i < n; i++)
		if (r->scratch[i].kind == BLAME_WAKING && r->scratch[i].id2 == c->tid)
			return n;
	for (size_t k = 0; k < r->n; k++) {
		struct blame_read rd;

		if (r->cpu[k].cpu == c->cpu)
			continue;
		rd = blame_ring_read(blame_recorder_ring(r->rec, r->cpu[k].cpu), due_ns, run_ns,
				     other, ARRAY_LEN(r->scratch) - n);
		for (size_t i = 0; i < rd.n; i++) {
			if (other[i].kind != BLAME_WAKING || other[i].id2 != c->tid)
				continue;
			r->scratch[n] = other[i];
			return n + 1;
		}
	}
	return n;
}

static void keep_events(struct blame_reader *r, struct blame_done *d, size_t n)
{
	size_t skip = n > BLAME_EVENTS_KEPT ? n - BLAME_EVENTS_KEPT : 0;

	d->n_events = n - skip;
	if (!d->n_events)
		return;
	d->events = xcalloc(d->n_events, sizeof(*d->events));
	memcpy(d->events, r->scratch + skip, d->n_events * sizeof(*d->events));
}

/* The switch that stopped our thread, in front of a window that it was stopped in. */
static size_t add_stop(struct blame_reader *r, const struct per_cpu *c, int64_t due_ns, size_t n)
{
	struct blame_event stop;

	if (!n || n == ARRAY_LEN(r->scratch) || r->scratch[0].id == c->tid ||
	    r->scratch[0].id2 == c->tid ||
	    !blame_ring_stop(blame_recorder_ring(r->rec, c->cpu), due_ns, c->tid, &stop))
		return n;
	memmove(&r->scratch[1], r->scratch, n * sizeof(*r->scratch));
	r->scratch[0] = stop;
	return n + 1;
}

static void read_window(struct blame_reader *r, struct per_cpu *c, struct blame_done *d)
{
	int64_t run_ns = d->due_ns + d->late_ns;
	struct blame_read rd = blame_ring_read(blame_recorder_ring(r->rec, c->cpu), d->due_ns,
					       run_ns, r->scratch, BLAME_RING_SLOTS);
	struct blame_window win = {.events = r->scratch,
				   .due_ns = d->due_ns,
				   .run_ns = run_ns,
				   .tid = c->tid,
				   .has_steal = blame_recorder_has_steal(r->rec),
				   .lost = rd.lost,
				   .truncated = rd.truncated,
				   .blind_idle = c->blind};

	win.n = add_foreign_waking(r, c, d->due_ns, run_ns, rd.n);
	win.n = add_stop(r, c, d->due_ns, win.n);
	blame_split(&win, &d->split);
	d->read = true;
	keep_events(r, d, win.n);
}

static void on_breach(struct blame_reader *r, struct per_cpu *c, const struct wakeup_breach *b)
{
	struct blame_done d = {.due_ns = b->due_ns, .late_ns = b->late_ns, .cpu = c->cpu};

	enum ration_word word = RATION_SKIP;

	if (r->rec)
		word = ration_ask(&c->ration, b->due_ns, b->due_ns + b->late_ns);
	if (word != RATION_READ && word != RATION_WORSE) {
		finish(r, &d);
		return;
	}
	if (word == RATION_WORSE && c->has_best) { /* the earlier one loses its reading */
		free(c->best.events);
		c->best.events = NULL;
		c->best.n_events = 0;
		c->best.read = false;
	}
	finish_best(r, c);
	read_window(r, c, &d);
	c->best = d;
	c->has_best = true;
}

static void take_breaches(struct blame_reader *r)
{
	struct wakeup_breach b[TAKE_AT_ONCE];

	for (size_t i = 0; i < r->n; i++) {
		uint64_t dropped;
		size_t n = wakeup_breaches(r->w, i, b, ARRAY_LEN(b), &dropped);

		r->dropped += dropped;
		for (size_t k = 0; k < n; k++)
			on_breach(r, &r->cpu[i], &b[k]);
		if (ration_slot_over(&r->cpu[i].ration, clock_monotonic_ns()))
			finish_best(r, &r->cpu[i]);
	}
}

/* Own wakings must be in the ring as often as own sleeps: on some kernels events of the idle task
 * never reach it, and then "idle" must not be said. False: too few events to tell, try again. */
static bool self_test_cpu(struct blame_reader *r, struct per_cpu *c, int64_t now)
{
	int64_t from = now - TEST_WINDOW_NS;
	double wanted = (double)TEST_WINDOW_NS / (double)wakeup_period_ns(r->w);
	size_t wakings = 0, sleeps = 0;
	struct blame_read rd = blame_ring_read(blame_recorder_ring(r->rec, c->cpu), from, now,
					       r->scratch, BLAME_RING_SLOTS);

	for (size_t i = 0; i < rd.n; i++) {
		const struct blame_event *e = &r->scratch[i];

		if (e->t_ns < from || e->t_ns > now)
			continue;
		wakings += e->kind == BLAME_WAKING && e->id2 == c->tid;
		sleeps += e->kind == BLAME_SWITCH && e->id == c->tid && e->prev_state;
	}
	c->blind = (double)wakings < TEST_SHARE * (double)sleeps || !sleeps;
	return (double)sleeps >= wanted / 2 || wanted < 10;
}

/* A stall or a full ring leaves too few events: the test is repeated, a few times. */
static void self_test(struct blame_reader *r)
{
	int64_t now = clock_monotonic_ns();
	bool told = true;

	for (size_t k = 0; k < r->n; k++)
		told &= self_test_cpu(r, &r->cpu[k], now);
	r->test_at_ns = told || ++r->tests == TESTS_MAX ? 0 : now + TEST_AFTER_NS;
}

static int64_t own_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static bool slot_open(const struct blame_reader *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->cpu[i].has_best)
			return true;
	return r->test_at_ns != 0;
}

static void *reader_main(void *arg)
{
	struct blame_reader *r = arg;
	bool waiting = true;

	for (;;) {
		struct pollfd p = {.fd = r->fd, .events = POLLIN};
		uint64_t n;

		(void)poll(&p, 1, waiting ? 50 : 1000);
		if (p.revents && read(r->fd, &n, sizeof(n)) < 0)
			continue;
		pthread_mutex_lock(&r->lock);
		if (r->stop)
			break;
		take_breaches(r);
		if (r->rec && r->test_at_ns && clock_monotonic_ns() >= r->test_at_ns)
			self_test(r);
		waiting = slot_open(r);
		r->cpu_ns = own_cpu_ns();
		pthread_mutex_unlock(&r->lock);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct blame_reader *blame_reader_new(struct wakeup *w, struct blame_recorder *rec)
{
	struct blame_reader *r = xcalloc(1, sizeof(*r));
	sigset_t all, before;

	r->w = w;
	r->rec = rec;
	r->n = wakeup_threads(w);
	r->cpu = xcalloc(r->n, sizeof(*r->cpu));
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(r->fd >= 0 && !pthread_mutex_init(&r->lock, NULL));
	blame_reader_threads(r);
	wakeup_set_breach_fd(w, r->fd);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	CHECK(!pthread_create(&r->thread, NULL, reader_main, r));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void blame_reader_free(struct blame_reader *r)
{
	uint64_t one = 1;

	if (!r)
		return;
	wakeup_set_breach_fd(r->w, -1);
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_mutex_unlock(&r->lock);
	(void)!write(r->fd, &one, sizeof(one));
	pthread_join(r->thread, NULL);
	for (size_t i = 0; i < r->queued; i++)
		free(r->queue[i].events);
	for (size_t i = 0; i < r->n; i++)
		if (r->cpu[i].has_best)
			free(r->cpu[i].best.events);
	close(r->fd);
	pthread_mutex_destroy(&r->lock);
	free(r->cpu);
	free(r);
}

void blame_reader_threads(struct blame_reader *r)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++) {
		const struct wakeup_thread_info *info = wakeup_info(r->w, i);
		double rate = r->cpu[i].ration.per_second;

		finish_best(r, &r->cpu[i]);
		r->cpu[i] = (struct per_cpu){.cpu = info->cpu,
					     .tid = (uint32_t)info->tid,
					     .blind = r->cpu[i].blind,
					     .ration = {.per_second = rate}};
	}
	r->test_at_ns = clock_monotonic_ns() + TEST_AFTER_NS;
	r->tests = 0;
	pthread_mutex_unlock(&r->lock);
}

size_t blame_reader_take(struct blame_reader *r, struct blame_done *out, size_t cap, bool flush)
{
	size_t n;

	pthread_mutex_lock(&r->lock);
	if (flush) {
		take_breaches(r);
		for (size_t i = 0; i < r->n; i++)
			finish_best(r, &r->cpu[i]);
	}
	n = r->queued < cap ? r->queued : cap;
	memcpy(out, r->queue, n * sizeof(*out));
	memmove(r->queue, r->queue + n, (r->queued - n) * sizeof(*out));
	r->queued -= n;
	pthread_mutex_unlock(&r->lock);
	return n;
}

uint64_t blame_reader_dropped(struct blame_reader *r)
{
	uint64_t n;

	pthread_mutex_lock(&r->lock);
	n = r->dropped;
	r->dropped = 0;
	pthread_mutex_unlock(&r->lock);
	return n;
}

int64_t blame_reader_cpu_ns(struct blame_reader *r)
{
	int64_t ns;

	pthread_mutex_lock(&r->lock);
	ns = r->cpu_ns;
	pthread_mutex_unlock(&r->lock);
	return ns;
}

void blame_reader_slow(struct blame_reader *r, unsigned int divisor)
{
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++)
		r->cpu[i].ration.per_second = (double)RATION_PER_SECOND / divisor;
	pthread_mutex_unlock(&r->lock);
}

void blame_reader_blind(struct blame_reader *r, char *ret, size_t cap)
{
	size_t len = 0;

	ret[0] = '\0';
	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n && len + 8 < cap; i++)
		if (r->cpu[i].blind)
			len += (size_t)snprintf(ret + len, cap - len, "%s%d", len ? "," : "",
						r->cpu[i].cpu);
	pthread_mutex_unlock(&r->lock);
}
