/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real processes on a loop: results, process groups, logs, the box's list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/joblog.h"
#include "agent/workload.h"
#include "common/clock.h"

struct fixture {
	char dir[64], log[96];
	uv_loop_t loop;
	uv_timer_t timer;
	struct workload *w;
	struct workload_result r;
	bool exited, ended;
	struct strbuf tail;
	void (*on_timer)(struct fixture *f);
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/rigstat-workload-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	assert_int_equal(uv_loop_init(&f->loop), 0);
	assert_int_equal(uv_timer_init(&f->loop, &f->timer), 0);
	f->timer.data = f;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	uv_close((uv_handle_t *)&f->timer, NULL);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	strbuf_done(&f->tail);
	unlink(f->log);
	rmdir(f->dir);
	free(f);
	return 0;
}

static void on_exit_(void *user, const struct workload_result *r)
{
	struct fixture *f = user;

	assert_false(f->exited);
	f->exited = true;
	f->r = *r;
}

static void on_end(void *user)
{
	struct fixture *f = user;

	assert_true(f->exited);
	f->ended = true;
	workload_tail(f->w, 10, &f->tail);
	workload_close(f->w);
	uv_timer_stop(&f->timer);
}

static void on_timer(uv_timer_t *timer)
{
	struct fixture *f = timer->data;

	f->on_timer(f);
}

static int start(struct fixture *f, const char *script, int64_t grace_ns, struct err *err)
{
	char sh[] = "/bin/sh", c[] = "-c", extra[] = "RIGSTAT_FACTOR_X=42";
	char *text = xstrdup(script);
	char *argv[] = {sh, c, text, NULL}, *env[] = {extra, NULL};
	const struct workload_conf conf = {.argv = argv,
					   .directory = "/",
					   .env = env,
					   .log_path = f->log,
					   .log_bytes_max = 4096,
					   .grace_ns = grace_ns};
	int rc = workload_start(&f->loop, &conf, on_exit_, on_end, f, &f->w, err);

	free(text);
	return rc;
}

static void run(struct fixture *f, const char *script)
{
	struct err err;

	assert_int_equal(start(f, script, NS_PER_SEC, &err), 0);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_true(f->ended);
}

static void test_results(void **state)
{
	struct fixture *f = *state;

	run(f, "echo $RIGSTAT_FACTOR_X $(pwd); "
	       "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 3");
	assert_int_equal(f->r.exit_status, 3);
	assert_int_equal(f->r.signal, 0);
	assert_false(f->r.stopped);
	assert_true(f->r.elapsed_ns > 0);
	/* one process cannot use more CPU time than time has passed, and this one did use some */
	assert_in_range(f->r.user_ns + f->r.sys_ns, NS_PER_MS, f->r.elapsed_ns + 10 * NS_PER_MS);
	assert_in_range(f->r.max_rss_bytes, 100 << 10, 1 << 30);
	assert_string_equal(f->tail.data, "42 /\n");
}

static void test_signal(void **state)
{
	struct fixture *f = *state;

	run(f, "kill -SEGV $$");
	assert_int_equal(f->r.exit_status, -1);
	assert_int_equal(f->r.signal, SIGSEGV);
}

static void test_cannot_run(void **state)
{
	char program[] = "/no/such/program", *argv[] = {program, NULL};
	struct fixture *f = *state;
	const struct workload_conf conf = {
		.argv = argv, .log_path = f->log, .log_bytes_max = 10, .grace_ns = 1};
	struct err err;

	assert_int_equal(workload_start(&f->loop, &conf, on_exit_, on_end, f, &f->w, &err),
			 ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "/no/such/program"));
}

static void stop_it(struct fixture *f)
{
	workload_stop(f->w, false);
}

static void run_and_stop(struct fixture *f, const char *script, int64_t grace_ns)
{
	struct err err;

	assert_int_equal(start(f, script, grace_ns, &err), 0);
	f->on_timer = stop_it;
	uv_timer_start(&f->timer, on_timer, 200, 0);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_true(f->ended);
	assert_true(f->r.stopped);
}

static void test_stop_term(void **state)
{
	struct fixture *f = *state;

	run_and_stop(f, "trap 'echo bye; exit 7' TERM; while :; do sleep 0.05; done",
		     20 * NS_PER_SEC);
	assert_int_equal(f->r.exit_status, 7);
	assert_non_null(strstr(f->tail.data, "bye"));
}

static void test_stop_kill_after_grace(void **state)
{
	struct fixture *f = *state;
	int64_t t = clock_monotonic_ns();

	run_and_stop(f, "trap '' TERM; while :; do sleep 0.05; done", 300 * NS_PER_MS);
	assert_int_equal(f->r.signal, SIGKILL);
	assert_in_range(clock_monotonic_ns() - t, 450 * NS_PER_MS, 10 * NS_PER_SEC);
}

static void expect_child_gone(struct fixture *f)
{
	int pid = 0;

	assert_int_equal(f->r.exit_status, 0);
	assert_int_equal(sscanf(f->tail.data, "%d", &pid), 1);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

/* A child that outlives the program is ended before on_end: asked first ... */
static void test_leftovers_are_asked(void **state)
{
	struct fixture *f = *state;
	int64_t t = clock_monotonic_ns();
	struct err err;

	assert_int_equal(start(f, "sleep 300 & echo $!; sleep 0.3", 60 * NS_PER_SEC, &err), 0);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_true(clock_monotonic_ns() - t < 20 * NS_PER_SEC);
	expect_child_gone(f);
}

/* ... then killed, when it ignores TERM (which takes a moment to be set up). */
static void test_leftovers_are_killed(void **state)
{
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(start(f, "(trap '' TERM; exec sleep 300) & echo $!; sleep 0.3",
			       200 * NS_PER_MS, &err),
			 0);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	expect_child_gone(f);
}

static void test_log_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	run(f, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done");
	assert_int_equal(stat(f->log, &st), 0);
	assert_in_range(st.st_size, 4096, 4096 + 1024);
	assert_non_null(strstr(f->tail.data, "line 3000\n"));
	assert_non_null(strstr(f->tail.data, "line 2991\n"));
	assert_null(strstr(f->tail.data, "line 2990\n"));
}

static void test_tail(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct fixture *f = *state;
	struct joblog l;
	struct err err;

	assert_int_equal(joblog_open(&l, f->log, 100, &err), 0);
	joblog_tail(&l, 3, &b);
	assert_int_equal(b.len, 0);
	joblog_add(&l, "a\nb\nc\nd\x1b[31m", 12);
	joblog_tail(&l, 2, &b);
	assert_string_equal(b.data, "c\nd?[31m");
	joblog_close(&l);
}

static void write_list(struct fixture *f, const char *text)
{
	CLEANUP(freep) char *path = xasprintf("%s/a.conf", f->dir);
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	assert_int_equal(chmod(path, 0644), 0);
}

static void test_list(void **state)
{
	struct fixture *f = *state;
	CLEANUP(freep) char *path = xasprintf("%s/a.conf", f->dir);
	struct workload_def d;
	struct err err;

	write_list(f,
		   "[rand]\ncommand = fio --name 'x y'\ndirectory = /tmp\n[seq]\ncommand = dd\n");
	assert_int_equal(workload_find(f->dir, "rand", &d, &err), 0);
	assert_string_equal(d.argv[0], "fio");
	assert_string_equal(d.argv[2], "x y");
	assert_string_equal(d.directory, "/tmp");
	workload_def_done(&d);
	assert_int_equal(workload_find(f->dir, "no", &d, &err), ERR_NOT_FOUND);
	assert_non_null(strstr(err.text, "rand, seq"));
	write_list(f, "[x]\ndescription = nothing to run\n");
	assert_int_equal(workload_find(f->dir, "x", &d, &err), ERR_INVALID);
	write_list(f, "[x]\nshell = rm -rf\n");
	assert_int_equal(workload_find(f->dir, "x", &d, &err), ERR_INVALID);
	unlink(path);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_results),
		TEST(test_signal),
		TEST(test_cannot_run),
		TEST(test_stop_term),
		TEST(test_stop_kill_after_grace),
		TEST(test_leftovers_are_asked),
		TEST(test_leftovers_are_killed),
		TEST(test_log_is_bounded),
		TEST(test_tail),
		TEST(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
