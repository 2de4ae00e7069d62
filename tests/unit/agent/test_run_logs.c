/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/run_logs.h"

static void touch(const char *dir, const char *name, int64_t seconds)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	const struct timespec t[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(futimens(fd, t), 0);
	close(fd);
}

static bool there(const char *dir, const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);

	return access(path, F_OK) == 0;
}

static void test_the_newest_stay(void **state)
{
	char parent[] = "/tmp/rigstat-logs-XXXXXX";
	CLEANUP(freep) char *dir = NULL, *remove_all = NULL;
	struct err err;

	(void)state;
	assert_non_null(mkdtemp(parent));
	dir = xasprintf("%s/logs", parent);
	assert_int_equal(run_logs_prepare(dir, 2, &err), 0);
	touch(dir, "a.log", 300);
	touch(dir, "b.log", 100);
	touch(dir, "c.log", 200);
	touch(dir, "notes.txt", 1);
	assert_int_equal(run_logs_prepare(dir, 2, &err), 0);
	assert_true(there(dir, "a.log"));
	assert_false(there(dir, "b.log"));
	assert_true(there(dir, "c.log"));
	assert_true(there(dir, "notes.txt"));
	assert_int_equal(run_logs_prepare("/no/such/parent/logs", 2, &err), ERR_NOT_FOUND);
	remove_all = xasprintf("rm -rf '%s'", parent);
	assert_int_equal(system(remove_all), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
