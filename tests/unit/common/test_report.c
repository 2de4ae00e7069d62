/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading of figures out of prose and tables, and the findings on the 2008 figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "common/compare/report.h"

static struct report read_text(const char *text)
{
	struct report r;
	struct err err;

	if (report_read(text, strlen(text), &r, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static void test_2008(void **state)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	static char text[10000];
	FILE *f = fopen(TEST_DATA "/reports/rq-affinity-2008.txt", "r");
	json_t *doc;
	struct err err;
	size_t len;

	(void)state;
	assert_non_null(f);
	len = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_int_equal(report_check(text, len, &doc, &err), 0);
	report_render_text(doc, "post", &out);
	json_decref(doc);
	assert_non_null(strstr(out.data, "post:9: rq=0 -> rq=1: "));
	assert_non_null(strstr(out.data, "the text says 70.123, the table's average is 70.231"));
	assert_non_null(strstr(out.data, "70.123 and 70.231 have the same digits"));
	assert_non_null(strstr(out.data, "1.99 % follows only from 70.123 in the text"));
	assert_non_null(strstr(out.data, "post: 3 findings in 4 rows and 2 claims\n"));
}

static void test_pairs_of_words_and_numbers(void **state)
{
	struct report r = read_text("  [old] Min: 1.0, Average = 2.0, maximum: 3.0 (12 runs)\n"
				    "version 2.6.27 min=\n"
				    "only avg=5 here\n"
				    "p99.9 min=4 max=7 n=3\n");

	(void)state;
	assert_int_equal(r.n_rows, 2);
	assert_string_equal(r.rows[0].label, "old]");
	assert_int_equal(r.rows[0].line, 1);
	assert_string_equal(r.rows[0].row.avg.text, "2.0");
	assert_true(r.rows[0].row.max.value == 3 && r.rows[0].row.n == 0);
	assert_int_equal(r.rows[1].line, 4);
	assert_string_equal(r.rows[1].label, "p99.9");
	assert_true(r.rows[1].row.n == 3 && r.rows[1].row.max.value == 7);
	assert_string_equal(r.rows[1].row.avg.text, "");
	report_done(&r);
}

static void test_tables(void **state)
{
	struct report r = read_text("              min     avg     max    sdev\n"
				    "mean       A   22.18   24.00   27.22    1.88  +1.95 % [-3]\n"
				    "level 1        23.58   24.47   24.93    0.49\n"
				    "sdev       A       -    1.88       -       -\n"
				    "\n"
				    "runs,name,min,avg,max\n"
				    "10,first,1,2,3\n"
				    "10,second,4,5,6.5\n"
				    "\n"
				    "| side | min | avg | max |\n"
				    "|---|---:|---:|---:|\n"
				    "| A | 1.5 | 2.5 | 3.5 |\n"
				    "no figures in this line\n");

	(void)state;
	assert_int_equal(r.n_rows, 6);
	assert_string_equal(r.rows[0].label, "mean       A");
	assert_string_equal(r.rows[0].row.min.text, "22.18");
	assert_string_equal(r.rows[0].row.sdev.text, "1.88");
	assert_string_equal(r.rows[1].row.min.text, "23.58"); /* the label ends in a number */
	assert_string_equal(r.rows[2].row.avg.text, "1.88");
	assert_string_equal(r.rows[2].row.max.text, "");
	assert_string_equal(r.rows[4].row.max.text, "6.5");
	assert_true(r.rows[4].row.n == 10);
	assert_string_equal(r.rows[5].row.avg.text, "2.5");
	report_done(&r);
}

static void test_claims(void **state)
{
	struct report r = read_text("It fell from 12.0 us to 9.0 us, a reduction of 25%.\n\n"
				    "9.0 -> 12.0 (+33.3 %)\n\n"
				    "a 5% improvement: 100 => 95\n\n"
				    "CPU was at 50% from 10 to 12 o'clock\n\n"
				    "read 4, 5 and 6; p99.9 to 7\n\n"
				    "the last paragraph:\nfrom 1.0\nto 1.1\n");

	(void)state;
	assert_int_equal(r.n_claims, 5);
	assert_true(r.claims[0].claim.pct.value == -25);
	assert_string_equal(r.claims[1].claim.pct.text, "33.3");
	assert_int_equal(r.claims[1].line, 3);
	assert_true(r.claims[2].claim.pct.value == -5 && r.claims[2].claim.to.value == 95);
	assert_string_equal(r.claims[3].claim.pct.text, ""); /* a share, not a change */
	assert_int_equal(r.claims[4].line, 12);
	report_done(&r);
}

static void test_wrong_signs_and_percents_are_found(void **state)
{
	static const char *const bad[] = {
		"from 100.0 to 95.0 (+5.0 %)",
		"from 100.0 to 105.0 (+5.2 %)",
		"from 200 to 150, a drop of 50%",
	};
	static const char *const good[] = {
		"from 100.0 to 95.0 (-5.0 %)",
		"from 100.0 to 105.0 (+5.0 %)",
		"from 200 to 150, a drop of 25%",
		"nothing to see",
		"",
	};
	struct err err;
	json_t *doc;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(report_check(bad[i], strlen(bad[i]), &doc, &err), 0);
		assert_int_equal(json_array_size(json_object_get(doc, "findings")), 1);
		json_decref(doc);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(report_check(good[i], strlen(good[i]), &doc, &err), 0);
		assert_int_equal(json_array_size(json_object_get(doc, "findings")), 0);
		json_decref(doc);
	}
}

/* A mail in Latin-1, and a letter of UTF-8 that the limit of a label cuts. */
static void test_labels_are_utf8(void **state)
{
	static const char latin[] = "gr\xf6\xdf"
				    "e: min=1 max=2 range=3\n";
	static const char cut[] =
		"123456789012345678901234567890123456789012345678901234567 a\xc3\xa4"
		": min=1 max=2 range=3\n";
	struct err err;
	json_t *doc;

	(void)state;
	assert_int_equal(report_check(latin, strlen(latin), &doc, &err), 0);
	assert_int_equal(json_array_size(json_object_get(doc, "findings")), 1);
	json_decref(doc);
	assert_int_equal(report_check(cut, strlen(cut), &doc, &err), 0);
	assert_int_equal(json_array_size(json_object_get(doc, "findings")), 1);
	json_decref(doc);
}

static void test_bounds(void **state)
{
	CLEANUP(strbuf_done) struct strbuf many = {0};
	static char big[REPORT_BYTES_MAX + 1];
	struct report r;
	struct err err;

	(void)state;
	for (int i = 0; i <= REPORT_ROWS_MAX; i++)
		strbuf_puts(&many, "min=1 max=2\n");
	assert_int_equal(report_read(many.data, many.len, &r, &err), ERR_LIMIT);
	assert_non_null(strstr(err.text, "line 1001"));
	memset(big, 'x', sizeof(big));
	assert_int_equal(report_read(big, sizeof(big), &r, &err), ERR_LIMIT);
	/* any bytes are text without figures */
	for (size_t i = 0; i < 4096; i++)
		big[i] = (char)(i * 7919 >> 3);
	assert_int_equal(report_read(big, 4096, &r, &err), 0);
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2008),
		cmocka_unit_test(test_pairs_of_words_and_numbers),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_claims),
		cmocka_unit_test(test_wrong_signs_and_percents_are_found),
		cmocka_unit_test(test_labels_are_utf8),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
