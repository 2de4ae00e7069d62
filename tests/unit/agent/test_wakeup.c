/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hand-over between measuring thread and taker. Run under TSan, too (preset tsan). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/sysinfo.h"
#include "agent/wakeup.h"
#include "common/clock.h"

#define CPUS 64

static struct wakeup *start(int64_t period_ns, int64_t breach_ns)
{
	static bool cpus[CPUS];
	struct wakeup_conf c = {.cpus = cpus,
				.cpus_len = CPUS,
				.period_ns = period_ns,
				.policy = SCHED_OTHER,
				.breach_ns = breach_ns};
	struct wakeup *w = NULL;
	struct err e;

	sysinfo_online_cpus(cpus, CPUS);
	if (wakeup_start(&c, &w, &e))
		fail_msg("%s", e.text);
	return w;
}

static void check(const struct hist_rec *h)
{
	uint64_t sum = h->negative;

	for (size_t i = 0; i < HIST_SLOTS; i++)
		sum += h->n[i];
	assert_int_equal(sum, h->count);
	if (h->count)
		assert_true(h->min <= h->max);
}

/* Takes as fast as it can for a second, at 20 kHz: no sample is lost, doubled or torn. */
static void test_take_loses_nothing(void **state)
{
	int64_t began = clock_monotonic_ns(), elapsed;
	struct wakeup *w = start(50 * NS_PER_US, 0);
	uint64_t count = 0, lost = 0, missed, all_missed = 0, takes = 0;

	(void)state;
	while (clock_monotonic_ns() - began < NS_PER_SEC) {
		for (size_t i = 0; i < wakeup_threads(w); i++) {
			const struct hist_rec *h = wakeup_take(w, i, &missed);

			check(h);
			count += h->count;
			lost += h->lost;
			all_missed += missed;
		}
		takes++;
		if (takes % 3 == 0)
			usleep(300);
	}
	wakeup_pause(w);
	elapsed = clock_monotonic_ns() - began;
	for (size_t i = 0; i < wakeup_threads(w); i++) {
		const struct hist_rec *h = wakeup_take(w, i, &missed);

		check(h);
		count += h->count;
	}
	assert_int_equal(lost, 0);
	assert_true(takes > 100);
	/* One sample a period and CPU from 10 ms after the start until the pause; the last periods
	 * may be unborn when the pause comes on a busy box. */
	assert_in_range(count, (uint64_t)((double)elapsed * 0.8 / 50e3) * wakeup_threads(w),
			(uint64_t)((double)elapsed / 50e3 + 2) * wakeup_threads(w));
	assert_true(all_missed < count);
	wakeup_stop(w);
}

static void test_pause_and_resume(void **state)
{
	struct wakeup *w = start(NS_PER_MS, 0);
	uint64_t missed, count = 0;
	int64_t cpu;
	struct err e;

	(void)state;
	usleep(60000);
	wakeup_pause(w);
	for (size_t i = 0; i < wakeup_threads(w); i++) {
		count += wakeup_take(w, i, &missed)->count;
		assert_false(wakeup_info(w, i)->running);
	}
	assert_true(count > 0);
	cpu = wakeup_cpu_ns(w);
	assert_true(cpu > 0);
	usleep(60000);
	assert_int_equal(wakeup_cpu_ns(w), cpu);
	assert_int_equal(wakeup_resume(w, &e), 0);
	usleep(60000);
	for (size_t i = 0; i < wakeup_threads(w); i++) {
		const struct hist_rec *h = wakeup_take(w, i, &missed);

		/* The time in between is nobody's latency. */
		assert_true(h->count > 0 && h->count < 100);
		assert_true(wakeup_info(w, i)->running && wakeup_info(w, i)->pinned);
		assert_int_equal(wakeup_info(w, i)->policy, SCHED_OTHER);
	}
	assert_true(wakeup_cpu_ns(w) > cpu);
	wakeup_stop(w);
}

/* A threshold of 1 ns makes every sample a breach; the ring holds 64 and counts the rest. */
static void test_breaches(void **state)
{
	struct wakeup *w = start(NS_PER_MS, 1);
	struct wakeup_breach b[100];
	uint64_t dropped;
	size_t n;

	(void)state;
	usleep(200000);
	n = wakeup_breaches(w, 0, b, ARRAY_LEN(b), &dropped);
	assert_int_equal(n, 64);
	assert_in_range(dropped, 50, 1000);
	for (size_t i = 1; i < n; i++) {
		assert_int_equal(b[i].due_ns - b[i - 1].due_ns, NS_PER_MS);
		assert_true(b[i].late_ns >= 1);
	}
	usleep(20000);
	n = wakeup_breaches(w, 0, b, 3, &dropped);
	assert_int_equal(n, 3);
	wakeup_stop(w);
}

static void test_no_cpu(void **state)
{
	bool none[4] = {false};
	struct wakeup_conf c = {.cpus = none, .cpus_len = 4, .period_ns = NS_PER_MS};
	struct wakeup *w = NULL;
	struct err e;

	(void)state;
	assert_int_equal(wakeup_start(&c, &w, &e), ERR_INVALID);
	assert_null(w);
	none[3] = sysconf(_SC_NPROCESSORS_CONF) < 4;
	if (!none[3])
		return;
	assert_int_equal(wakeup_start(&c, &w, &e), ERR_UNSUPPORTED);
	assert_non_null(strstr(e.text, "CPU 3"));
}

/* The loop touches only memory that is there: no page fault while it measures. */
static void test_no_page_fault(void **state)
{
	struct wakeup *w = start(100 * NS_PER_US, 0);
	struct rusage before, after;
	uint64_t missed;

	(void)state;
#ifdef __SANITIZE_THREAD__
	wakeup_stop(w);
	skip(); /* TSan's shadow memory faults */
#endif
	usleep(50000);
	(void)wakeup_take(w, 0, &missed);
	getrusage(RUSAGE_SELF, &before);
	usleep(300000);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_minflt - before.ru_minflt <= 2);
	assert_int_equal(after.ru_majflt, before.ru_majflt);
	wakeup_stop(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_loses_nothing), cmocka_unit_test(test_pause_and_resume),
		cmocka_unit_test(test_breaches),	   cmocka_unit_test(test_no_cpu),
		cmocka_unit_test(test_no_page_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
