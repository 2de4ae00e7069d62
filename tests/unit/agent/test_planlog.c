/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/planlog.h"
#include "common/clock.h"

#define RUN_UID "00112233445566778899aabbccddeeff"

static const struct planlog_plan plan = {"ffeeddccbbaa99887766554433221100", 6, 42};
static char path[] = "/tmp/planlog-XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(path + sizeof(path) - 7, "XXXXXX");
	close(mkstemp(path));
	return unlink(path);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static struct planlog *open_plan(void)
{
	struct planlog *p;
	struct err err;

	assert_int_equal(planlog_open(path, &plan, &p, &err), 0);
	return p;
}

static void end(struct planlog *p, uint32_t order, uint32_t attempt, const char *state)
{
	const struct planlog_outcome o = {state, 100, 200, 300};

	planlog_begin(p, order, attempt, RUN_UID, "a=1, b=x y");
	planlog_end(p, order, attempt, &o);
}

static json_t *progress(void)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	json_t *doc;

	assert_true(planlog_put_progress(path, clock_realtime_ns(), &b));
	doc = json_loadb(b.data, b.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(doc);
	return doc;
}

static void append(const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_what_was_done_stays_done(void **state)
{
	struct planlog *p = open_plan();
	uint32_t ok, failed;

	(void)state;
	end(p, 1, 1, "ok");
	end(p, 2, 1, "failed");
	end(p, 3, 1, "aborted");
	end(p, 4, 1, "again");
	planlog_begin(p, 5, 1, RUN_UID, "cut off");
	assert_null(planlog_problem(p));
	planlog_close(p);
	p = open_plan();
	assert_true(planlog_is_done(p, 1));
	assert_true(planlog_is_done(p, 2));
	for (uint32_t order = 3; order <= 6; order++)
		assert_false(planlog_is_done(p, order));
	assert_int_equal(planlog_attempts(p, 5), 1);
	assert_int_equal(planlog_attempts(p, 6), 0);
	planlog_count(p, &ok, &failed);
	assert_int_equal(ok, 1);
	assert_int_equal(failed, 1);
	end(p, 5, 2, "ok");
	planlog_close(p);
	p = open_plan();
	assert_true(planlog_is_done(p, 5));
	assert_int_equal(planlog_attempts(p, 5), 2);
	planlog_close(p);
}

static void test_a_torn_line_is_no_line(void **state)
{
	struct planlog *p = open_plan();

	(void)state;
	end(p, 1, 1, "ok");
	planlog_begin(p, 2, 1, RUN_UID, "c");
	planlog_close(p);
	append("end 2 1 123 ok 1 2");
	p = open_plan();
	assert_false(planlog_is_done(p, 2));
	end(p, 2, 2, "ok"); /* on a line of its own */
	planlog_close(p);
	p = open_plan();
	assert_true(planlog_is_done(p, 2));
	planlog_close(p);
}

static void test_another_plan_is_refused(void **state)
{
	struct planlog_plan other = plan, found;
	struct planlog *p;
	struct err err;

	(void)state;
	assert_false(planlog_peek(path, &found));
	planlog_close(open_plan());
	other.total = 7;
	assert_int_equal(planlog_open(path, &other, &p, &err), ERR_CONFLICT);
	other = plan;
	other.seed++;
	assert_int_equal(planlog_open(path, &other, &p, &err), ERR_CONFLICT);
	assert_true(planlog_peek(path, &found));
	assert_string_equal(found.uid, plan.uid);
	assert_int_equal(found.seed, 42);
}

static void test_a_file_of_another_kind(void **state)
{
	struct planlog *p;
	struct err err;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	(void)state;
	close(fd);
	append("root:x:0:0\n");
	assert_int_equal(planlog_open(path, &plan, &p, &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "it is no plan file"));
}

static void test_progress(void **state)
{
	struct planlog *p = open_plan();
	json_t *doc = progress();

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(doc, "total")), 6);
	assert_null(json_object_get(doc, "left_ns")); /* nothing to reckon from */
	json_decref(doc);
	append("begin 1 1 1000000000 " RUN_UID " a=1\nend 1 1 3000000000 ok 7 8 9\n");
	append("begin 2 1 3000000000 " RUN_UID " a=2\n");
	assert_true(planlog_in_run(path));
	doc = progress();
	assert_int_equal(json_integer_value(json_object_get(doc, "ok")), 1);
	assert_int_equal(json_integer_value(json_object_get(doc, "order")), 2);
	assert_string_equal(json_string_value(json_object_get(doc, "cell")), "a=2");
	assert_string_equal(json_string_value(json_object_get(doc, "last_cell")), "a=1");
	assert_int_equal(json_integer_value(json_object_get(doc, "last_p99_ns")), 8);
	/* 5 runs of 2 s are left; the present one is long over its time */
	assert_int_equal(json_integer_value(json_object_get(doc, "left_ns")), 8 * NS_PER_SEC);
	json_decref(doc);
	planlog_close(p);
}

static void test_what_the_server_knows(void **state)
{
	struct planlog *p;
	struct err err;

	(void)state;
	assert_int_equal(planlog_note_known(path, &plan, "1-3,5", &err), 0);
	assert_int_equal(planlog_note_known(path, &plan, "", &err), 0);
	p = open_plan();
	for (uint32_t order = 1; order <= 6; order++)
		assert_int_equal(planlog_is_done(p, order), order <= 3 || order == 5);
	planlog_close(p);
	assert_int_equal(planlog_note_known(path, &plan, "1\nend", &err), ERR_REMOTE);
	assert_int_equal(planlog_note_known(path, &plan, "5-99999", &err), 0); /* beyond: ignored */
	p = open_plan();
	assert_false(planlog_is_done(p, 6));
	assert_false(planlog_is_done(p, 99999));
	planlog_close(p);
}

static void test_hostile_lines_are_ignored(void **state)
{
	struct planlog *p = open_plan();

	(void)state;
	append("begin 0 1 1 " RUN_UID " x\nbegin 99 1 1 " RUN_UID " x\nend 99 1 1 ok 1 1 1\n"
	       "end -1 1 1 ok 1 1 1\nend 1\nbegin\nnonsense\n\n");
	planlog_close(p);
	p = open_plan();
	for (uint32_t order = 0; order <= 7; order++)
		assert_false(planlog_is_done(p, order));
	planlog_begin(p, 1, 1, RUN_UID, "new\nline"); /* stays one line */
	planlog_close(p);
	json_decref(progress());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_was_done_stays_done, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_torn_line_is_no_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_plan_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_file_of_another_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_progress, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_the_server_knows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_lines_are_ignored, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
