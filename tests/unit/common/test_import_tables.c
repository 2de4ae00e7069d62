/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The importers of tables: Delay Count, summaries, CSV, columns, our own JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "common/import/import.h"

static struct import_result result;
static struct err err;

static int import_text_as(const char *text, const struct import_options *o)
{
	struct import_options with_source = o ? *o : (struct import_options){0};

	with_source.source = "t";
	import_result_done(&result);
	err.text[0] = '\0';
	return import_bytes(text, strlen(text), &with_source, &result, &err);
}

static int import_text(const char *text)
{
	return import_text_as(text, NULL);
}

static int teardown(void **state)
{
	(void)state;
	import_result_done(&result);
	return 0;
}

#define ASSERT_READ(bytes)                                                                         \
	do {                                                                                       \
		if (import_text(bytes))                                                            \
			fail_msg("%s", err.text);                                                  \
	} while (0)
#define ASSERT_REFUSED(bytes, message)                                                             \
	do {                                                                                       \
		assert_int_not_equal(import_text(bytes), 0);                                       \
		if (!strstr(err.text, message))                                                    \
			fail_msg("'%s' has no '%s'", err.text, message);                           \
	} while (0)

static bool has_note(const struct run *r, const char *code)
{
	for (size_t i = 0; i < r->notes_len; i++)
		if (!strcmp(r->notes[i].code, code))
			return true;
	return false;
}

static void test_quoted_mail(void **state)
{
	const struct hist *h;

	(void)state;
	ASSERT_READ("On Sunday Lee wrote:\r\n"
		    "> I ran 500,000 cycles.\r\n"
		    "> With max_sectors_kb=32:\r\n"
		    ">\r\n"
		    "> Delay\tCount\r\n"
		    "> -----\t-----\r\n"
		    "> 6\t3\r\n"
		    "> 9\t2\r\n"
		    ">\r\n"
		    "> > With max_sectors_kb=16:\r\n"
		    "> >  Delay   Count\r\n"
		    "> >  7       10\r\n"
		    "and then 8 9 other things\r\n");
	assert_string_equal(result.format, "delay-count");
	assert_int_equal(result.runs.len, 2);
	h = &result.runs.v[0]->series[0].hist;
	assert_int_equal(h->count, 5);
	assert_int_equal(h->b[1].lo, 9000);
	assert_int_equal(h->b[1].hi, 10000);
	assert_false(h->has_max);
	assert_string_equal(labels_get(&result.runs.v[0]->factors, "max_sectors_kb"), "32");
	assert_string_equal(labels_get(&result.runs.v[1]->factors, "max_sectors_kb"), "16");
	assert_int_equal(result.runs.v[1]->series[0].hist.count, 10);
	assert_true(has_note(result.runs.v[0], "claimed-count-differs"));
	assert_true(has_note(result.runs.v[0], "inferred-unit"));
}

static void test_delay_count_unit(void **state)
{
	struct import_options o = {.unit_ns = 1};

	(void)state;
	assert_int_equal(import_text_as("Delay Count\n5 2\n-1 3\n", &o), -2);
	assert_non_null(strstr(err.text, "t:3"));
	assert_int_equal(import_text_as("Delay Count\n-1 3\n5 2\n", &o), 0);
	assert_int_equal(result.runs.v[0]->series[0].hist.negative, 3);
	assert_int_equal(result.runs.v[0]->series[0].hist.b[0].hi, 6);
	assert_false(has_note(result.runs.v[0], "inferred-unit"));
}

static void test_delay_count_refused(void **state)
{
	(void)state;
	ASSERT_REFUSED("Delay Count\n5 2\n...\n9 1\n", "t:3:1: rows were left out");
	ASSERT_REFUSED("Delay Count\n5 2\n5 3\n", "t:3:1: delay 5 after delay 5");
	ASSERT_REFUSED("Delay Count\n\nnothing\n", "without rows");
	ASSERT_REFUSED("Delay Count\n5 18446744073709551615\n6 1\n", "64 bits");
}

static void test_summary(void **state)
{
	const struct series *s;

	(void)state;
	ASSERT_READ("metric,unit,factor,level,n,min,mean,max,stddev\n"
		    "x,%,f,a,10,1.0,2.0,3.0,0.7\n"
		    "x,%,f,b,10,1.0,2.0,3.0,0.7\n"
		    "y,%,f,a,10,,2.0,,\n");
	assert_int_equal(result.runs.len, 2);
	assert_int_equal(result.runs.v[0]->series_len, 2);
	s = &result.runs.v[0]->series[1];
	assert_int_equal(s->kind, SERIES_SUMMARY);
	assert_false(s->summary.has_sdev || s->summary.has_min);
	assert_true(s->summary.has_avg);
	assert_string_equal(labels_get(&result.runs.v[1]->factors, "f"), "b");
}

static void test_summary_contradictions(void **state)
{
#define HEAD "metric,factor,level,runs,min,avg,max,sdev,range\n"
	(void)state;
	ASSERT_REFUSED(HEAD "x,f,0,10,1.0,2.0,3.0,0.7,2.5\n",
		       "t:2: range is 2.5, but max - min is 2");
	ASSERT_REFUSED(HEAD "x,f,0,10,1.0,3.5,3.0,0.7,2.0\n", "avg 3.5 is not between");
	ASSERT_REFUSED(HEAD "x,f,0,10,4.0,3.5,3.0,0.7,1.0\n", "min 4 is above max 3");
	/* Ten values between 1 and 3 have a standard deviation from 0.45 to 1.05. */
	ASSERT_REFUSED(HEAD "x,f,0,10,1.0,2.0,3.0,1.3,2.0\n", "sdev 1.3 cannot be");
	ASSERT_REFUSED(HEAD "x,f,0,10,1.0,2.0,3.0,0.2,2.0\n", "sdev 0.2 cannot be");
	ASSERT_REFUSED(HEAD "x,f,0,0,1.0,2.0,3.0,0.7,2.0\n", "number of runs");
	ASSERT_REFUSED(HEAD "x,f,0,10,1.0,2.0,3.0,0.7,2.0\nx,f,0,10,1.0,2.0,3.0,0.7,2.0\n",
		       "t:3: a second row");
	ASSERT_REFUSED(HEAD "x,f,0,10,1,0,2.0,3.0,0.7,2.0\n", "decimal commas");
}

static void test_plain_numbers(void **state)
{
	(void)state;
	ASSERT_READ("# seconds\n1.5\n\n-2\n3e3\n");
	assert_string_equal(result.format, "columns");
	assert_int_equal(result.runs.len, 3);
	assert_string_equal(result.runs.v[0]->series[0].metric, "value");
	assert_true(result.runs.v[2]->series[0].value == 3000);
	assert_int_equal(result.runs.v[2]->order, 3);
	ASSERT_REFUSED("1 2\n3 4\n", "several columns and no header");
	ASSERT_REFUSED("1\nx\n", "t:2:1: 'x' is not a number");
	ASSERT_REFUSED("1,5\n", "not one that rigstat reads");
}

static void test_named_metric(void **state)
{
	struct import_options o = {.metric = "p99", .unit_ns = 1000};

	(void)state;
	assert_int_equal(import_text_as("12\n13\n", &o), 0);
	assert_string_equal(result.runs.v[1]->series[0].metric, "p99");
	assert_string_equal(result.runs.v[1]->series[0].unit, "ns");
	assert_true(result.runs.v[1]->series[0].value == 13000);
}

static void test_columns_with_header(void **state)
{
	(void)state;
	ASSERT_READ("throughput  p99_us\n10.5  7\n11.5  NA\n");
	assert_int_equal(result.runs.len, 2);
	assert_int_equal(result.runs.v[0]->series_len, 2);
	assert_string_equal(result.runs.v[0]->series[1].metric, "p99");
	assert_true(result.runs.v[0]->series[1].value == 7000);
	assert_int_equal(result.runs.v[1]->series[1].kind, SERIES_ABSENT);
}

static void test_csv_roles(void **state)
{
	const struct run *r;

	(void)state;
	ASSERT_READ("run,block,rq_affinity,kernel,host,iops,lat (ms)\n"
		    "0,1,0,6.1,a,100,1.5\n"
		    "1,1,1,6.1,a,103,1.25\n"
		    "2,2,0,6.1,a,101,1.5\n"
		    "3,2,1,6.1,a,104,1.125\n");
	assert_string_equal(result.format, "csv");
	r = result.runs.v[3];
	assert_int_equal(r->order, 4);
	assert_int_equal(r->block, 2);
	assert_string_equal(r->host, "a");
	assert_string_equal(labels_get(&r->factors, "rq_affinity"), "1");
	assert_true(has_note(r, "inferred-factor"));
	/* 6.1 is a number to a program: it needs "factor:kernel" to be a factor. */
	assert_null(labels_get(&r->factors, "kernel"));
	assert_string_equal(r->series[2].metric, "lat");
	assert_true(r->series[2].value == 1125000);
}

static void test_csv_quotes_and_prefix(void **state)
{
	(void)state;
	ASSERT_READ("factor:kernel;\"what, \"\"really\"\"\";x\n6.1;\"a;b\";5\n6.12;c;6\n");
	assert_string_equal(labels_get(&result.runs.v[0]->factors, "kernel"), "6.1");
	assert_string_equal(labels_get(&result.runs.v[0]->factors, "what, \"really\""), "a;b");
	ASSERT_REFUSED("a,b\n1,2,3\n", "t:2: 3 cells");
	ASSERT_REFUSED("a,a\n1,2\n", "two columns");
	ASSERT_REFUSED("name,what\nx,y\n", "not one that rigstat reads");
}

static void test_own_documents(void **state)
{
	struct runs rs = {0};
	struct strbuf text = {0};
	struct run *r = run_new(RUN_MEASURED);
	struct series *s = run_add_series(r, "iops", SERIES_VALUE, "1/s");
	char *one;
	json_t *j;

	(void)state;
	s->value = 12.5;
	runs_add(&rs, r);
	j = run_to_json(r);
	one = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	strbuf_printf(&text, "%s\n%s\n", one, one);
	ASSERT_READ(text.data);
	assert_string_equal(result.format, "rigstat-json");
	assert_int_equal(result.runs.len, 2);
	assert_true(result.runs.v[1]->series[0].value == 12.5);
	strbuf_clear(&text);
	strbuf_printf(&text, "{\"runs\": [%s]}", one);
	ASSERT_READ(text.data);
	assert_int_equal(result.runs.len, 1);
	strbuf_clear(&text);
	strbuf_printf(&text, "%s\n{\"series\": [{\"metric\": ", one);
	ASSERT_REFUSED(text.data, "t:2:");
	strbuf_done(&text);
	free(one);
	runs_done(&rs);
}

static void test_options(void **state)
{
	struct import_options o = {.experiment = "e", .host = "h"};

	(void)state;
	labels_set(&o.factors, "f", "1");
	labels_set(&o.tags, "t", "2");
	assert_int_equal(import_text_as("5\n", &o), 0);
	assert_string_equal(result.runs.v[0]->experiment, "e");
	assert_string_equal(result.runs.v[0]->host, "h");
	assert_string_equal(labels_get(&result.runs.v[0]->factors, "f"), "1");
	assert_string_equal(labels_get(&result.runs.v[0]->tags, "t"), "2");
	labels_done(&o.factors);
	labels_done(&o.tags);
	o = (struct import_options){.format = "nonsense"};
	assert_int_not_equal(import_text_as("5\n", &o), 0);
	ASSERT_REFUSED("PERFILE2\1\2", "perf's binary recording");
	ASSERT_REFUSED("BZh91AY", "bzip2");
	ASSERT_REFUSED("", "the file is empty");
	ASSERT_REFUSED("just a letter to a friend\n", "not one that rigstat reads");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quoted_mail),
		cmocka_unit_test(test_delay_count_unit),
		cmocka_unit_test(test_delay_count_refused),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_summary_contradictions),
		cmocka_unit_test(test_plain_numbers),
		cmocka_unit_test(test_named_metric),
		cmocka_unit_test(test_columns_with_header),
		cmocka_unit_test(test_csv_roles),
		cmocka_unit_test(test_csv_quotes_and_prefix),
		cmocka_unit_test(test_own_documents),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
