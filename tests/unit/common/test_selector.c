/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/model/selector.h"
#include "common/suggest.h"

static struct selector *parse(const char *text)
{
	struct err err = {0};
	struct selector *s;

	if (selector_parse(text, &s, NULL, &err))
		fail_msg("'%s': %s", text, err.text);
	return s;
}

/* Parsing what was printed must give the same selector, and printing is then stable. */
static void round_trip(const char *text, const char *canonical)
{
	struct selector *s CLEANUP(selector_freep) = parse(text),
			   *again CLEANUP(selector_freep) = NULL;
	struct strbuf out CLEANUP(strbuf_done) = {0};

	strbuf_puts(&out, "");
	selector_print(s, &out);
	assert_string_equal(out.data ? out.data : "", canonical);
	again = parse(canonical);
	assert_true(selector_equal(s, again));
}

static void test_round_trip(void **state)
{
	(void)state;
	round_trip("", "");
	round_trip("  ", "");
	round_trip("experiment=17, rq_affinity = 0", "experiment=17,rq_affinity=0");
	round_trip("host in ( a , b ),x notin(c)", "host in (a,b),x notin (c)");
	round_trip("x not in (c)", "x notin (c)");
	round_trip("kernel~6.12,started>=2026-11-01", "kernel~6.12,started>=2026-11-01");
	round_trip("commit=6.12.9..6.12.11", "commit=6.12.9..6.12.11");
	round_trip("order=3..,block=..4", "order=3..,block=..4");
	round_trip("tag!=broken,excluded==false", "tag!=broken,excluded=false");
	round_trip("note!~old*", "note!~old*");
	round_trip("host=\"a, b\"", "host=\"a, b\"");
	round_trip("f=\"say \\\"hi\\\" \\\\o\"", "f=\"say \\\"hi\\\" \\\\o\"");
	round_trip("host=plain", "host=plain");
	round_trip("host=\"plain\"", "host=plain");
	round_trip("gerät=Größe", "gerät=Größe");
	round_trip("\"my factor\"=1", "\"my factor\"=1");
	round_trip("\"factor.a b\"=1", "\"factor.a b\"=1");
	round_trip("factor.host=x,tag.state=y,env.cpu.model~AMD",
		   "factor.host=x,tag.state=y,env.cpu.model~AMD");
	round_trip("x=\"\"", "x=\"\"");
	round_trip("x=\"a..b\"", "x=\"a..b\"");
	round_trip("x=\"a..b\"..\"c d\"", "x=\"a..b\"..\"c d\"");
	round_trip("x=\"1.\"..2", "x=\"1.\"..2");
	round_trip("x=\"=1\"", "x=\"=1\"");
	round_trip("url=http://a/b?c=d", "url=http://a/b?c=d");
	round_trip("in in (in)", "in in (in)");
}

static void refused(const char *text, size_t column, const char *suggestion, const char *says)
{
	struct selector_fault fault = {0};
	struct err err = {0};
	struct selector *s;

	assert_int_equal(selector_parse(text, &s, &fault, &err), ERR_INVALID);
	assert_null(s);
	if (fault.column != column || strcmp(fault.suggestion, suggestion) ||
	    !strstr(err.text, says))
		fail_msg("'%s': column %zu, suggestion '%s', text '%s'", text, fault.column,
			 fault.suggestion, err.text);
}

static void test_errors(void **state)
{
	(void)state;
	refused("started=>2026-11-01", 8, ">=", "unknown operator \"=>\" at column 8");
	refused("host=a,x<>3", 9, "!=", "unknown operator");
	refused("x=~a", 2, "~", "unknown operator");
	refused("x!a", 2, "!=", "unknown operator");
	refused("x=<3", 2, "<=", "unknown operator");
	refused("x<=>3", 2, "", "unknown operator \"<=>\"");
	refused("olab-12", 8, "", "an operator");
	refused("größe", 6, "", "an operator");
	refused("größe=\"ab", 7, "", "never closed");
	refused("a=1,", 5, "", "a term is missing");
	refused(",a=1", 1, "", "a term is missing");
	refused("=1", 1, "", "a key is missing");
	refused("a=", 3, "", "a value is missing");
	refused("a=1,,b=2", 5, "", "a term is missing");
	refused("a=two words", 7, "", "quotes");
	refused("a in b", 6, "", "'(' is missing");
	refused("a in (b", 8, "", "',' or ')'");
	refused("a in ()", 7, "", "a value is missing");
	refused("a=f(x)", 4, "", "parenthesis");
	refused("a=b\"c\"", 4, "", "quote in the middle");
	refused("a=\"x\\n\"", 5, "\\\\", "backslash");
	refused("a=..", 3, "", "at least one end");
	refused("a=1..2..3", 7, "", "a second '..'");
	refused("state=okay", 7, "", "not a value of 'state'");
	refused("state=runing", 7, "running", "not a value of 'state'");
	refused("kind=import", 6, "imported", "not a value of 'kind'");
	refused("excluded=ture", 10, "true", "not a value of 'excluded'");
	refused("state<ok", 6, "", "has no order");
	refused("host>a", 5, "", "has no order");
	refused("order~1", 6, "", "is no text");
	refused("order=one", 7, "", "not a whole number");
	refused("measured>=30", 11, "30s", "not a duration");
	refused("started>=yesterday", 10, "2026-11-30", "not a date");
	refused("a=\x01", 1, "", "not clean");
	refused("a=\xff", 1, "", "not clean");
}

static void test_limits(void **state)
{
	char long_text[SELECTOR_LEN_MAX + 10];
	struct strbuf b CLEANUP(strbuf_done) = {0}, list CLEANUP(strbuf_done) = {0};

	(void)state;
	memset(long_text, 'a', sizeof(long_text));
	long_text[sizeof(long_text) - 1] = 0;
	refused(long_text, 1, "", "longer than 4096");
	for (int i = 0; i < SELECTOR_TERMS_MAX; i++)
		strbuf_puts(&b, i ? ",a=1" : "a=1");
	selector_free(parse(b.data));
	strbuf_puts(&b, ",a=1");
	refused(b.data, b.len - 2, "", "more than 64 terms");
	strbuf_puts(&list, "a in (1");
	for (int i = 1; i < SELECTOR_VALUES_MAX; i++)
		strbuf_puts(&list, ",1");
	strbuf_puts(&list, ",2)");
	refused(list.data, list.len - 1, "", "more than 1000 values");
}

static struct run *sample_run(void)
{
	struct run *r = run_new(RUN_MEASURED);

	strcpy(r->uid, "8f14e45fceea167a5a36dedd4bea2543");
	r->state = RUN_OK;
	r->host = xstrdup("olab-12");
	r->experiment = xstrdup("rq");
	labels_set(&r->factors, "rq_affinity", "0");
	labels_set(&r->factors, "size", "9.5");
	labels_set(&r->factors, "commit", "6.12.10");
	labels_set(&r->tags, "rack", "a, \"b\"");
	labels_set(&r->tags, "rq_affinity", "tagged");
	if (!clock_parse_rfc3339("2026-11-02T10:00:00Z", &r->started_ns))
		fail();
	r->measured_ns = 30 * NS_PER_SEC;
	r->order = 3;
	r->environment = json_pack("{s:s, s:i}", "kernel.release", "6.12.9-rt7", "cpu.count", 32);
	run_add_series(r, "wakeup_latency", SERIES_VALUE, "ns");
	run_add_series(r, "elapsed", SERIES_VALUE, "ns");
	return r;
}

static void holds(const struct run *r, const char *text, bool want)
{
	struct selector *s CLEANUP(selector_freep) = parse(text);

	if (selector_match(s, r) != want)
		fail_msg("'%s' %s hold", text, want ? "must" : "must not");
}

static void test_match_text(void **state)
{
	struct run *r CLEANUP(run_freep) = sample_run();

	(void)state;
	holds(r, "", true);
	holds(r, "experiment=rq,rq_affinity=0", true);
	holds(r, "experiment=rq,rq_affinity=1", false);
	holds(r, "tag.rq_affinity=tagged", true);
	holds(r, "factor.rq_affinity=tagged", false);
	holds(r, "rack=\"a, \\\"b\\\"\"", true);
	holds(r, "host in (x,olab-12)", true);
	holds(r, "host notin (x,olab-12)", false);
	holds(r, "host~olab", true);
	holds(r, "host~lab", false);
	holds(r, "host~*lab*", true);
	holds(r, "host~olab-??", true);
	holds(r, "host~olab-?", false);
	holds(r, "host!~olab", false);
	holds(r, "metric=elapsed", true);
	holds(r, "metric!=elapsed", false);
	holds(r, "metric=io_latency", false);
	holds(r, "tag=rack", true);
	holds(r, "tag!=broken", true);
	holds(r, "state=ok,kind=measured,excluded=false", true);
	holds(r, "run=8f14e45fceea167a5a36dedd4bea2543", true);
}

static void test_match_absent(void **state)
{
	struct run *r CLEANUP(run_freep) = sample_run();

	(void)state;
	holds(r, "colour=red", false);
	holds(r, "colour!=red", true);
	holds(r, "colour notin (red)", true);
	holds(r, "colour~*", false);
	holds(r, "colour!~*", true);
	holds(r, "colour<9", false);
	holds(r, "block=1", false);
	holds(r, "block!=1", true);
	holds(r, "ended<2030-01-01", false);
	holds(r, "boot!=x", true);
}

static void test_match_order(void **state)
{
	struct run *r CLEANUP(run_freep) = sample_run();

	(void)state;
	holds(r, "size<10", true); /* as numbers, not as text */
	holds(r, "size>9.25", true);
	holds(r, "size=9..9.5", true);
	holds(r, "commit=6.12.9..6.12.11", true); /* as versions */
	holds(r, "commit<6.12.9", false);
	holds(r, "kernel>6.9,kernel<6.12.10", true);
	holds(r, "kernel~6.12", true);
	holds(r, "env.cpu.count>=32", true);
	holds(r, "order=2..3,order>2", true);
	holds(r, "order in (1,2)", false);
	holds(r, "measured>=30s,measured<31s", true);
	holds(r, "started=2026-11-02", true);
	holds(r, "started>=2026-11-02,started<=2026-11-02", true);
	holds(r, "started>2026-11-02", false);
	holds(r, "started<2026-11-02", false);
	holds(r, "started=2026-11-01..2026-11-02", true);
	holds(r, "started=..2026-11-01", false);
	holds(r, "started!=2026-11-02", false);
}

static void test_version_key(void **state)
{
	static const char *const sorted[] = {"",    "5.10", "5.10-rc1", "5.10.0",
					     "6.9", "6.12", "v1",	"v02"};
	struct strbuf last CLEANUP(strbuf_done) = {0};

	(void)state;
	strbuf_puts(&last, "");
	for (size_t i = 1; i < ARRAY_LEN(sorted); i++) {
		struct strbuf key = {0};

		selector_version_key(sorted[i], &key);
		if (last.data && strcmp(last.data, key.data) >= 0)
			fail_msg("%s is not above %s", sorted[i], sorted[i - 1]);
		strbuf_done(&last);
		last = key;
	}
}

static void test_suggest(void **state)
{
	static const char *const words[] = {"limit", "sort", "since", "until"};

	(void)state;
	assert_string_equal(suggest_nearest("limt", words, 4), "limit");
	assert_string_equal(suggest_nearest("sicne", words, 4), "since");
	assert_null(suggest_nearest("colour", words, 4));
	assert_null(suggest_nearest("", words, 4));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limits),	     cmocka_unit_test(test_match_text),
		cmocka_unit_test(test_match_absent), cmocka_unit_test(test_match_order),
		cmocka_unit_test(test_version_key),  cmocka_unit_test(test_suggest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
