/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client may send, and what is refused: URLs, headers, negotiation, JSON bounds, gzip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "server/http_parse.h"
#include "server/inflate.h"
#include "server/sqlstate.h"

static void test_decode(void **state)
{
	static const struct {
		const char *in;
		bool plus;
		const char *out; /* NULL: refused */
	} cases[] = {
		{"plain", false, "plain"},
		{"a%20b", false, "a b"},
		{"a+b", true, "a b"},
		{"a+b", false, "a+b"},
		{"%C3%A9", false, "\xc3\xa9"},
		{"%2fetc", false, "/etc"},
		{"%", false, NULL},
		{"%2", false, NULL},
		{"%zz", false, NULL},
		{"a%00b", false, NULL},
		{"a%0d%0aSet: x", false, NULL},
		{"%7f", false, NULL},
		{"%ff", false, NULL},
		{"%c0%af", false, NULL},
		{"%ed%a0%80", false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char buf[64];
		struct err err;
		int rc;

		(void)snprintf(buf, sizeof(buf), "%s", cases[i].in);
		rc = http_decode(buf, cases[i].plus, &err);
		if (cases[i].out) {
			assert_int_equal(rc, 0);
			assert_string_equal(buf, cases[i].out);
		} else {
			assert_int_equal(rc, ERR_INVALID);
		}
	}
}

/* The pattern's parameters for a path, as "value value"; NULL when it does not match. */
static const char *match(const char *pattern, const char *path)
{
	static char out[200], text[200], rest[200];
	struct param params[REQUEST_PATH_PARAMS_MAX];
	struct http_path split;
	struct err err;
	size_t n;

	(void)snprintf(text, sizeof(text), "%s", path);
	if (http_split_path(text, &split, &err) < 0 ||
	    !http_match(pattern, &split, params, &n, rest, sizeof(rest)))
		return NULL;
	out[0] = '\0';
	for (size_t i = 0; i < n; i++)
		(void)snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i ? " " : "",
			       params[i].value);
	return out;
}

static void test_match(void **state)
{
	(void)state;
	assert_string_equal(match("/", "/"), "");
	assert_string_equal(match("/runs", "/runs"), "");
	assert_null(match("/runs", "/runs/1"));
	assert_null(match("/runs/{id}", "/runs"));
	assert_null(match("/runs/{id}", "/runs/"));
	assert_string_equal(match("/runs/{id}", "/runs/r_1"), "r_1");
	assert_string_equal(match("/runs/{id}/h/{m}", "/runs/7/h/wakeup"), "7 wakeup");
	assert_null(match("/runs/{id}/h/{m}", "/runs/7/x/wakeup"));
	/* An escaped slash stays inside its segment. */
	assert_string_equal(match("/hosts/{h}", "/hosts/a%2fb"), "a/b");
	assert_string_equal(match("/f/{rest*}", "/f/a/b/c"), "a/b/c");
	assert_null(match("/f/{rest*}", "/f"));
	/* Dots are not special: nothing is ever opened by such a name. */
	assert_string_equal(match("/f/{x}", "/f/%2e%2e"), "..");
	assert_null(match("/a", "http://evil/a"));
	assert_null(match("/a", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14"));
}

static void test_query(void **state)
{
	char text[] = "a=1&b=&c&&a=x%26y+z&=skip";
	struct param p[8];
	struct err err;
	size_t n;

	(void)state;
	assert_int_equal(http_split_query(text, p, 8, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_string_equal(p[0].value, "1");
	assert_string_equal(p[1].value, "");
	assert_string_equal(p[2].name, "c");
	assert_string_equal(p[3].name, "a");
	assert_string_equal(p[3].value, "x&y z");
	{
		char many[] = "a&b&c";

		assert_int_equal(http_split_query(many, p, 2, &n, &err), ERR_INVALID);
	}
}

static int framing(const char *version, const struct http_header *h, size_t n)
{
	struct http_framing f;
	struct err err;
	int status = 0;

	return http_check_headers(h, n, version, &f, &status, &err) < 0 ? status : 0;
}
#define FRAMING(version, ...)                                                                      \
	framing(version, (const struct http_header[]){__VA_ARGS__},                                \
		ARRAY_LEN(((const struct http_header[]){__VA_ARGS__})))

static void test_smuggling_shapes(void **state)
{
	(void)state;
	assert_int_equal(FRAMING("HTTP/1.1", {"Host", "x"}, {"Content-Length", "5"}), 0);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "5"}, {"content-length", "6"}),
			 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "5"}, {"Content-Length", "5"}),
			 400);
	assert_int_equal(
		FRAMING("HTTP/1.1", {"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}),
		400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Transfer-Encoding", "chunked"}), 411);
	assert_int_equal(FRAMING("HTTP/1.0", {"Transfer-Encoding", "chunked"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Transfer-Encoding", "gzip, chunked"}), 501);
	assert_int_equal(FRAMING("HTTP/1.1", {"Transfer-Encoding", "xchunked"}), 501);
	assert_int_equal(FRAMING("HTTP/1.1", {"Transfer-Encoding ", "chunked"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "+5"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "0x5"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", ""}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "5,5"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Length", "99999999999999999999"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Host", "a"}, {"Host", "b"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Authorization", "a"}, {"authorization", "b"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"X", "a\x01"}), 400);
	assert_int_equal(FRAMING("HTTP/1.1", {"Expect", "foo"}), 417);
	assert_int_equal(FRAMING("HTTP/1.1", {"Expect", "100-continue"}), 0);
	assert_int_equal(FRAMING("HTTP/1.1", {"Content-Encoding", "br"}), 415);
	assert_int_equal(FRAMING("HTTP/1.1", {"Accept", "a"}, {"Accept", "b"}), 0);
}

static void test_negotiation(void **state)
{
	(void)state;
	assert_int_equal(http_accept_quality(NULL, "text/csv"), 1000);
	assert_int_equal(http_accept_quality("text/csv", "text/csv"), 1000);
	assert_int_equal(http_accept_quality("*/*;q=0.1, text/*;q=0.5", "text/csv"), 500);
	assert_int_equal(http_accept_quality("*/*;q=0.1, text/*;q=0.5", "image/svg+xml"), 100);
	assert_int_equal(http_accept_quality("text/csv;q=0, */*", "text/csv"), 0);
	assert_int_equal(http_accept_quality("application/json", "text/csv"), 0);
	assert_int_equal(http_accept_quality("text/html , TEXT/CSV ; q=0.3", "text/csv"), 300);
	assert_true(http_accepts_gzip("deflate, gzip;q=0.5"));
	assert_false(http_accepts_gzip("gzip;q=0"));
	assert_false(http_accepts_gzip("xgzip"));
	assert_false(http_accepts_gzip(NULL));
	assert_true(http_etag_matches("\"a\", W/\"b\"", "b"));
	assert_true(http_etag_matches("*", "b"));
	assert_false(http_etag_matches("\"ab\"", "b"));
	assert_false(http_etag_matches("\"b", "b"));
	assert_false(http_etag_matches(NULL, "b"));
}

static void test_json_bounds(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(http_check_json("[1,2,3]", 7, 3, 1, &err), 0);
	assert_int_equal(http_check_json("[1,2,3]", 7, 2, 1, &err), ERR_LIMIT);
	assert_int_equal(http_check_json("[[1]]", 5, 9, 1, &err), ERR_LIMIT);
	assert_int_equal(http_check_json("\"[[[[,,,\\\"[[\"", 13, 1, 1, &err), 0);
	assert_int_equal(http_check_json("\"\\", 2, 1, 1, &err), 0);
}

static void test_gzip(void **state)
{
	struct strbuf packed CLEANUP(strbuf_done) = {0}, out CLEANUP(strbuf_done) = {0};
	struct strbuf zeros CLEANUP(strbuf_done) = {0}, bomb CLEANUP(strbuf_done) = {0};
	struct err err;

	(void)state;
	gzip_deflate("hello hello hello", 17, &packed);
	assert_int_equal(gzip_inflate(packed.data, packed.len, 17, &out, &err), 0);
	assert_memory_equal(out.data, "hello hello hello", 17);
	strbuf_clear(&out);
	assert_int_equal(gzip_inflate(packed.data, packed.len, 16, &out, &err), ERR_LIMIT);
	strbuf_clear(&out);
	assert_int_equal(gzip_inflate(packed.data, packed.len - 1, 99, &out, &err), ERR_INVALID);
	strbuf_clear(&out);
	packed.data[packed.len - 5]++; /* its CRC */
	assert_int_equal(gzip_inflate(packed.data, packed.len, 99, &out, &err), ERR_INVALID);
	packed.data[packed.len - 5]--;
	strbuf_putc(&packed, 'x');
	strbuf_clear(&out);
	assert_int_equal(gzip_inflate(packed.data, packed.len, 99, &out, &err), ERR_INVALID);
	strbuf_clear(&out);
	assert_int_equal(gzip_inflate("", 0, 99, &out, &err), ERR_INVALID);
	for (size_t i = 0; i < 8 << 20; i++)
		strbuf_putc(&zeros, 0);
	gzip_deflate(zeros.data, zeros.len, &bomb);
	strbuf_clear(&out);
	assert_int_equal(gzip_inflate(bomb.data, bomb.len, 64 << 20, &out, &err),
			 bomb.len * 200 < zeros.len ? ERR_LIMIT : 0);
}

static void test_sqlstates(void **state)
{
	(void)state;
	assert_int_equal(sqlstate_act("40001"), SQLSTATE_RETRY);
	assert_int_equal(sqlstate_act("40P01"), SQLSTATE_RETRY);
	assert_int_equal(sqlstate_act("57P03"), SQLSTATE_CONN_LOST);
	assert_int_equal(sqlstate_act("08006"), SQLSTATE_CONN_LOST);
	assert_int_equal(sqlstate_act(NULL), SQLSTATE_CONN_LOST);
	assert_int_equal(sqlstate_act("25006"), SQLSTATE_READ_ONLY);
	assert_int_equal(sqlstate_act("53100"), SQLSTATE_OVERLOAD);
	assert_int_equal(sqlstate_act("55P03"), SQLSTATE_OVERLOAD);
	assert_int_equal(sqlstate_act("22P02"), SQLSTATE_DATA);
	assert_int_equal(sqlstate_act("23514"), SQLSTATE_DATA);
	assert_int_equal(sqlstate_act("23505"), SQLSTATE_CONFLICT);
	assert_int_equal(sqlstate_act("RS409"), SQLSTATE_STALE_MARK);
	assert_int_equal(sqlstate_act("RS404"), SQLSTATE_NO_STREAM);
	assert_int_equal(sqlstate_act("RS403"), SQLSTATE_FORBIDDEN);
	assert_int_equal(sqlstate_err_code("RS403"), ERR_PERM);
	assert_int_equal(sqlstate_act("42P01"), SQLSTATE_BUG);
	assert_int_equal(sqlstate_err_code("57014"), ERR_TIMEOUT);
	assert_int_equal(sqlstate_err_code("55P03"), ERR_LOCKED);
	assert_int_equal(sqlstate_err_code("42P01"), ERR_DB);
	assert_int_equal(sqlstate_err_code("22003"), ERR_INVALID);
	assert_int_equal(sqlstate_err_code("40001"), ERR_BUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decode),	    cmocka_unit_test(test_match),
		cmocka_unit_test(test_query),	    cmocka_unit_test(test_smuggling_shapes),
		cmocka_unit_test(test_negotiation), cmocka_unit_test(test_json_bounds),
		cmocka_unit_test(test_gzip),	    cmocka_unit_test(test_sqlstates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
