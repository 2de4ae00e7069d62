/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check of printed figures, on the 2008 post (tests/data) and on figures that are wrong on
 * purpose, one at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <math.h>

#include "common/stats/published.h"

static struct published_number number(const char *text)
{
	struct published_number n = {0};
	struct err err;

	if (published_number(text, &n, &err) < 0)
		fail_msg("%s", err.text);
	return n;
}

static struct published_row row(const char *min, const char *avg, const char *max, const char *sdev,
				const char *range)
{
	return (struct published_row){"row",	   10,		 number(min),  number(avg),
				      number(max), number(sdev), number(range)};
}

static size_t check_row(const struct published_row *r, struct published_finding *f, size_t max)
{
	struct err err;
	size_t n;

	assert_int_equal(published_check_row(r, f, max, &n, &err), 0);
	return n;
}

static size_t check_claim(const struct published_claim *c, struct published_finding *f)
{
	struct err err;
	size_t n;

	assert_int_equal(published_check_claim(c, f, 8, &n, &err), 0);
	return n;
}

static void test_2008_table_agrees_with_itself(void **state)
{
	struct published_row rows[] = {
		row("22.180", "24.001", "27.220", "1.881", "5.040"),
		row("23.580", "24.469", "24.930", "0.486", "1.350"),
		row("69.890", "70.231", "71.170", "0.379", "1.280"),
		row("71.420", "71.520", "71.670", "0.080", "0.250"),
	};
	struct published_finding f[8];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(check_row(&rows[i], f, 8), 0);
}

static void test_2008_prose_contradicts_table(void **state)
{
	json_t *j = json_load_file(TEST_DATA "/compare/published-2008-consistency.json", 0, NULL);
	const json_t *other = json_object_get(j, "other_claim");
	struct published_row old = row("69.890", "70.231", "71.170", "0.379", "1.280");
	struct published_row new = row("71.420", "71.520", "71.670", "0.080", "0.250");
	struct published_finding f[8];
	struct published_claim claim = {
		.label = "cycles in the application", .base = &old, .other = &new};

	(void)state;
	assert_non_null(j);
	assert_string_equal(json_string_value(json_object_get(j, "table_avg")), old.avg.text);
	claim.from = number(json_string_value(json_object_get(j, "prose_value")));
	claim.to = number(json_string_value(json_object_get(j, "new_avg")));
	claim.pct = number(json_string_value(json_object_get(j, "claimed_pct_from_prose")));
	assert_int_equal(check_claim(&claim, f), 3);
	assert_int_equal(f[0].code, PUBLISHED_QUOTE);
	assert_non_null(strstr(f[0].text, "70.123"));
	assert_non_null(strstr(f[0].text, "70.231"));
	assert_non_null(strstr(f[0].text, "0.108 (0.154 %)"));
	assert_non_null(strstr(f[0].text, "0.0005"));
	assert_int_equal(f[1].code, PUBLISHED_TRANSPOSED);
	assert_int_equal(f[2].code, PUBLISHED_PERCENT_PROSE);
	assert_non_null(strstr(f[2].text, "1.99 % follows only from 70.123"));
	assert_non_null(strstr(f[2].text, "1.84 %"));
	/* the table's own percentage has nothing against it */
	claim.from = old.avg;
	claim.pct = number(json_string_value(json_object_get(j, "pct_from_table")));
	assert_int_equal(check_claim(&claim, f), 0);
	/* and so has the other claim of the post */
	claim = (struct published_claim){.label = "unstalled instructions"};
	claim.from = number(json_string_value(json_object_get(other, "old_avg")));
	claim.to = number(json_string_value(json_object_get(other, "new_avg")));
	claim.pct = number(json_string_value(json_object_get(other, "claimed_pct")));
	assert_int_equal(check_claim(&claim, f), 0);
	json_decref(j);
}

static void test_each_error_of_a_row(void **state)
{
	struct published_row r = row("22.180", "27.301", "27.220", "1.881", "5.040");
	struct published_finding f[8];

	(void)state;
	assert_int_equal(check_row(&r, f, 8), 1);
	assert_int_equal(f[0].code, PUBLISHED_ORDER);
	r = row("22.180", "24.001", "27.220", "1.881", "5.042");
	assert_int_equal(check_row(&r, f, 8), 1);
	assert_int_equal(f[0].code, PUBLISHED_RANGE);
	r = row("22.180", "24.001", "27.220", "1.881", "5.041"); /* both ends may be rounded */
	assert_int_equal(check_row(&r, f, 8), 0);
	r = row("22.180", "24.001", "27.220", "2.620", "5.040"); /* Bhatia-Davis: at most 2.553 */
	assert_int_equal(check_row(&r, f, 8), 1);
	assert_int_equal(f[0].code, PUBLISHED_SDEV);
	r = row("22.180", "24.001", "27.220", "1.000", "5.040"); /* two ends alone give 1.127 */
	assert_int_equal(check_row(&r, f, 8), 1);
	assert_int_equal(f[0].code, PUBLISHED_SDEV);
	r = row("30.0", "24.0", "27.0", "99", "1");
	assert_int_equal(check_row(&r, f, 2), 2); /* no room for more: the count says 2 */
}

static void test_sdev_bounds_are_reached(void **state)
{
	/* nine values at one end, one at the other: sd = range / sqrt(10), the mean at the end */
	struct published_row r = row("0.000", "1.000", "10.000", "3.162", "10.000");
	struct published_finding f[8];

	(void)state;
	assert_int_equal(check_row(&r, f, 8), 0);
	r.sdev = number("3.166");
	assert_int_equal(check_row(&r, f, 8), 1);
}

static void test_missing_fields_are_not_wrong(void **state)
{
	struct published_row r = {.label = "only an average"};
	struct published_claim c = {.label = "no percent"};
	struct published_finding f[8];

	(void)state;
	r.avg = number("70.231");
	assert_int_equal(check_row(&r, f, 8), 0);
	c.from = number("70.2"); /* fewer digits of the same value */
	c.base = &r;
	assert_int_equal(check_claim(&c, f), 0);
	c.from = number("70.3");
	assert_int_equal(check_claim(&c, f), 1);
	assert_int_equal(f[0].code, PUBLISHED_QUOTE);
	c.from = number("0.0");
	c.base = NULL;
	c.to = number("5");
	c.pct = number("400%");
	assert_int_equal(check_claim(&c, f), 0); /* the base may be 0: nothing can be said */
	c.from = number("-10.0");
	c.to = number("-9.0");
	c.pct = number("+10 %");
	assert_int_equal(check_claim(&c, f), 0);
	c.pct = number("-10 %");
	assert_int_equal(check_claim(&c, f), 1);
	assert_int_equal(f[0].code, PUBLISHED_PERCENT);
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {"",	  "%",	 "nan",
					  "0x10", "1,5", "++1",
					  "+-1",  "7 7", "12345678901234567890123456789012345",
					  "1e"};
	struct published_number n;
	struct err err;

	(void)state;
	n = number("70.231");
	assert_true(n.value == 70.231 && fabs(n.half - 0.0005) < 1e-15);
	n = number("+1.99 %");
	assert_true(n.value == 1.99 && fabs(n.half - 0.005) < 1e-15);
	assert_string_equal(n.text, "1.99");
	n = number("1200");
	assert_true(n.half == 0.5);
	n = number("1.5e3");
	assert_true(n.value == 1500 && n.half == 50);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(published_number(bad[i], &n, &err), ERR_INVALID);
		assert_true(err.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2008_table_agrees_with_itself),
		cmocka_unit_test(test_2008_prose_contradicts_table),
		cmocka_unit_test(test_each_error_of_a_row),
		cmocka_unit_test(test_sdev_bounds_are_reached),
		cmocka_unit_test(test_missing_fields_are_not_wrong),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
