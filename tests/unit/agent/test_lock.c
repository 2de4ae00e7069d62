/* SPDX-License-Identifier: GPL-2.0-or-later */
/* measure.lock between a daemon and experiments; each open file is another process to the lock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "agent/lock.h"
#include "common/clock.h"

static char dir[64];

static struct measure_lock lock_open(void)
{
	struct measure_lock l;
	struct err e;

	if (measure_lock_open(&l, dir, &e))
		fail_msg("%s", e.text);
	return l;
}

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/rigstat-lock-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[100];

	(void)state;
	snprintf(path, sizeof(path), "%s/measure.lock", dir);
	return unlink(path) || rmdir(dir);
}

static void test_two_experiments(void **state)
{
	struct measure_lock a = lock_open(), b = lock_open();
	struct err e;

	(void)state;
	assert_int_equal(measure_lock_experiment(&a, "run rq, pid 4711", 0, &e), 0);
	assert_int_equal(measure_lock_experiment(&b, "run other", 0, &e), ERR_BUSY);
	assert_non_null(strstr(e.text, "run rq, pid 4711"));
	measure_lock_close(&a); /* as the end of the process does */
	assert_int_equal(measure_lock_experiment(&b, "run other", 0, &e), 0);
	measure_lock_close(&b);
}

static void *daemon_pauses(void *arg)
{
	struct measure_lock *d = arg;

	while (!measure_lock_wanted(d))
		usleep(1000);
	usleep(50000);
	measure_lock_unwatch(d);
	return NULL;
}

static void test_daemon_pauses(void **state)
{
	struct measure_lock d = lock_open(), x = lock_open();
	int64_t began;
	pthread_t t;
	struct err e;

	(void)state;
	assert_true(measure_lock_watch(&d));
	assert_false(measure_lock_wanted(&d));
	assert_int_equal(pthread_create(&t, NULL, daemon_pauses, &d), 0);
	began = clock_monotonic_ns();
	assert_int_equal(measure_lock_experiment(&x, "run", 5 * NS_PER_SEC, &e), 0);
	assert_true(clock_monotonic_ns() - began >= 40 * NS_PER_MS);
	pthread_join(t, NULL);
	assert_true(measure_lock_wanted(&d));
	assert_false(measure_lock_watch(&d)); /* not while the experiment has the box */
	measure_lock_close(&x);
	assert_true(measure_lock_watch(&d));
	measure_lock_close(&d);
}

static void test_daemon_hangs(void **state)
{
	struct measure_lock d = lock_open(), x = lock_open();
	struct err e;

	(void)state;
	assert_true(measure_lock_watch(&d));
	assert_int_equal(measure_lock_experiment(&x, "run", 60 * NS_PER_MS, &e), ERR_TIMEOUT);
	assert_non_null(strstr(e.text, "daemon"));
	assert_false(measure_lock_wanted(&d)); /* it has given up */
	measure_lock_close(&x);
	measure_lock_close(&d);
}

static void test_no_directory(void **state)
{
	struct measure_lock l;
	struct err e;

	(void)state;
	assert_true(measure_lock_open(&l, "/nonexistent", &e) < 0);
	assert_non_null(strstr(e.text, "/nonexistent/measure.lock"));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_two_experiments),
		T(test_daemon_pauses),
		T(test_daemon_hangs),
		cmocka_unit_test(test_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
