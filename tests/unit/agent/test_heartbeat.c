/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "agent/heartbeat.h"

static json_t *put(const struct heartbeat_facts *f, int64_t offset_ns, int64_t error_ns)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	json_t *doc;

	heartbeat_put(f, offset_ns, error_ns, &out);
	assert_true(out.len < 2048);
	doc = json_loadb(out.data, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(doc);
	return doc;
}

static void test_offset_is_box_minus_server(void **state)
{
	int64_t error;

	(void)state;
	/* the box is 1000 behind; 40 on the way there, 40 back */
	assert_int_equal(heartbeat_offset(5000, 5080, 6040, &error), -1000);
	assert_int_equal(error, 40);
	/* all of the way was on one leg: the truth is at the edge of the error */
	assert_int_equal(heartbeat_offset(5000, 5080, 5080, &error), -40);
	assert_int_equal(error, 40);
	assert_int_equal(heartbeat_offset(9000, 9000, 4000, &error), 5000); /* ahead */
	assert_int_equal(error, 0);
}

static void test_only_what_is_known_is_said(void **state)
{
	const struct heartbeat_facts f = {.doing = "idle"};
	json_t *doc = put(&f, HEARTBEAT_UNKNOWN, 0);

	(void)state;
	assert_null(json_object_get(doc, "clock_offset_ns"));
	assert_null(json_object_get(doc, "error"));
	assert_null(json_object_get(doc, "error_ns"));
	assert_null(json_object_get(doc, "boot_id"));
	assert_int_equal(json_integer_value(json_object_get(doc, "lag_ns")), 0);
	json_decref(doc);
}

static void test_texts_are_made_clean_and_numbers_bounded(void **state)
{
	struct heartbeat_facts f = {.doing = "experiment",
				    .spool_bytes = UINT64_MAX,
				    .error = "a\nb \"quoted\" \xff",
				    .error_ns = 7};
	json_t *doc;

	(void)state;
	memset(f.doing_text, '"', sizeof(f.doing_text) - 1); /* each becomes two bytes */
	doc = put(&f, -3, 4);
	assert_string_equal(json_string_value(json_object_get(doc, "error")), "a?b \"quoted\" ?");
	assert_int_equal(json_integer_value(json_object_get(doc, "spool_bytes")), INT64_MAX);
	assert_int_equal(json_integer_value(json_object_get(doc, "clock_offset_ns")), -3);
	assert_int_equal(json_integer_value(json_object_get(doc, "error_ns")), 7);
	assert_int_equal(json_string_length(json_object_get(doc, "doing_text")), 199);
	json_decref(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offset_is_box_minus_server),
		cmocka_unit_test(test_only_what_is_known_is_said),
		cmocka_unit_test(test_texts_are_made_clean_and_numbers_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
