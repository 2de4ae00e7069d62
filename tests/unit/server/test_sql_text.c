/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statements made at run time: numbers of parameters, copies, and selectors as conditions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "server/selector_sql.h"

static const struct query base = {"base", "select 1 from t where $1 and true /*where*/ and $2"};

static void test_parameters_are_copied_and_numbered(void **state)
{
	char text[] = "abc";
	int64_t numbers[] = {1, 2, 3};
	const char *texts[] = {text, "x"};
	struct sql q;

	(void)state;
	sql_init(&q, &base, (struct db_param[]){P_BOOL(true), P_TEXT(text)}, 2);
	assert_int_equal(sql_param(&q, P_I64S(numbers, 3)), 3);
	assert_int_equal(sql_param(&q, P_TEXTS(texts, 2)), 4);
	assert_int_equal(sql_param(&q, P_TEXT(NULL)), 5);
	memset(text, '!', 3);
	numbers[1] = 99;
	assert_string_equal(q.params[1].data, "abc");
	assert_int_equal(((const int64_t *)q.params[2].data)[1], 2);
	assert_string_equal(((const char *const *)q.params[3].data)[0], "abc");
	assert_string_equal(((const char *const *)q.params[3].data)[1], "x");
	assert_true(q.params[4].null);
	sql_replace(&q, "true /*where*/", "x = $3");
	assert_string_equal(q.text.data, "select 1 from t where $1 and x = $3 and $2");
	sql_done(&q);
}

static void compile(const char *text, struct sql *q, struct strbuf *out)
{
	struct selector *s CLEANUP(selector_freep) = NULL;
	struct err err;

	sql_init(q, &base, NULL, 0);
	assert_int_equal(selector_parse(text, &s, NULL, &err), 0);
	assert_int_equal(selector_sql(s, q, out, NULL, &err), 0);
}

/* Whatever stands in a selector: none of it is in the statement. */
static void test_no_value_or_key_is_in_the_text(void **state)
{
	static const char *const ops[] = {"=", "!=", "~", "!~", "<", "<=", ">", ">="};
	static const char *const keys[] = {"ZZkey", "factor.ZZkey", "tag.ZZkey", "env.ZZkey",
					   "kernel"};

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
		for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
			char *text CLEANUP(freep) = xasprintf("%s%s\"ZZ'value\"", keys[k], ops[i]);
			struct strbuf out CLEANUP(strbuf_done) = {0};
			struct sql q;

			compile(text, &q, &out);
			assert_null(strstr(out.data, "ZZ"));
			assert_non_null(strstr(out.data, "$1"));
			assert_true(q.n >= 1);
			sql_done(&q);
		}
	}
}

/* A client cannot make more parameters than there is room for. */
static void test_the_largest_selector_fits(void **state)
{
	struct strbuf text CLEANUP(strbuf_done) = {0}, out CLEANUP(strbuf_done) = {0};
	struct sql q;

	(void)state;
	for (int i = 0; i < SELECTOR_TERMS_MAX; i++)
		strbuf_printf(&text, "%sf=1.5..2.5", i ? "," : "");
	compile(text.data, &q, &out);
	assert_true(q.n + 20 < SQL_PARAMS_MAX);
	sql_done(&q);
}

static void test_patterns_escape_what_like_means(void **state)
{
	static const struct {
		const char *selector, *like;
	} cases[] = {
		{"host~abc", "abc%"},
		{"host~a*c?", "a%c_"},
		{"host~50%_x", "50\\%\\_x%"},
		{"host~\"a\\\\*b\"", "a*b%"},
		{"host~\"a\\\\\\\\b\"", "a\\\\b%"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct strbuf out CLEANUP(strbuf_done) = {0};
		struct sql q;

		compile(cases[i].selector, &q, &out);
		assert_string_equal(q.params[0].data, cases[i].like);
		sql_done(&q);
	}
}

static void test_an_id_that_is_none_has_a_column(void **state)
{
	struct selector *s CLEANUP(selector_freep) = NULL;
	struct strbuf out CLEANUP(strbuf_done) = {0};
	struct selector_fault fault = {0};
	struct err err;
	struct sql q;

	(void)state;
	sql_init(&q, &base, NULL, 0);
	assert_int_equal(selector_parse("host=a,run in (r_1,nope)", &s, NULL, &err), 0);
	assert_int_equal(selector_sql(s, &q, &out, &fault, &err), ERR_INVALID);
	assert_int_equal(fault.column, 8);
	assert_non_null(strstr(err.text, "nope"));
	sql_done(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parameters_are_copied_and_numbered),
		cmocka_unit_test(test_no_value_or_key_is_in_the_text),
		cmocka_unit_test(test_the_largest_selector_fits),
		cmocka_unit_test(test_patterns_escape_what_like_means),
		cmocka_unit_test(test_an_id_that_is_none_has_a_column),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
