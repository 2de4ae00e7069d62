/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ini.h"
#include "common/strbuf.h"

static int collect(void *user, unsigned int line, const char *section, const char *key,
		   const char *value, struct err *reterr)
{
	if (key && !strcmp(key, "bad"))
		return err_set(reterr, ERR_INVALID, "no such key");
	strbuf_printf(user, "%u:%s/%s=%s;", line, section, key ? key : "-", value ? value : "-");
	return 0;
}

static void test_parse(void **state)
{
	static const char text[] = "# c\n a = b c \r\n\n[ s 1 ]\n; x\nk=\nlast = [x] = y";
	CLEANUP(strbuf_done) struct strbuf b = {0};
	struct err err;

	(void)state;
	assert_int_equal(ini_parse("f", text, strlen(text), collect, &b, &err), 0);
	assert_string_equal(b.data, "2:/a=b c;4:s 1/-=-;6:s 1/k=;7:s 1/last=[x] = y;");
}

static void test_errors_name_the_line(void **state)
{
	static const char *const bad[] = {"x", "= y", "[open", "bad = 1"};
	CLEANUP(strbuf_done) struct strbuf b = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(freep) char *text = xasprintf("\n%s\n", bad[i]);
		struct err err = {0};

		assert_int_equal(ini_parse("f", text, strlen(text), collect, &b, &err),
				 ERR_INVALID);
		assert_non_null(strstr(err.text, "f:2: "));
	}
	assert_int_equal(ini_parse("f", "a=\0b", 4, collect, &b, NULL), ERR_INVALID);
}

static void test_files_are_trusted_only_when_closed(void **state)
{
	char dir[] = "/tmp/rigstat-ini-XXXXXX";
	CLEANUP(strbuf_done) struct strbuf b = {0};
	CLEANUP(freep) char *second = NULL, *first = NULL, *other = NULL;
	struct err err;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(ini_parse_dir("/nonexistent/x", true, collect, &b, &err), 0);
	second = xasprintf("%s/20-b.conf", dir);
	first = xasprintf("%s/10-a.conf", dir);
	other = xasprintf("%s/README", dir);
	f = fopen(second, "w");
	fputs("k=2\n", f);
	fclose(f);
	f = fopen(first, "w");
	fputs("k=1\n", f);
	fclose(f);
	f = fopen(other, "w");
	fputs("not a conf\n", f);
	fclose(f);
	assert_int_equal(chmod(first, 0644), 0);
	assert_int_equal(chmod(second, 0644), 0);
	assert_int_equal(ini_parse_dir(dir, true, collect, &b, &err), 0);
	assert_string_equal(b.data, "1:/k=1;1:/k=2;");
	assert_int_equal(chmod(second, 0664), 0);
	assert_int_equal(ini_parse_dir(dir, true, collect, &b, &err), ERR_PERM);
	assert_non_null(strstr(err.text, "20-b.conf"));
	assert_int_equal(ini_parse_dir(dir, false, collect, &b, &err), 0);
	unlink(first);
	unlink(second);
	unlink(other);
	rmdir(dir);
}

static void test_words(void **state)
{
	CLEANUP(words_freep) char **w = NULL;
	size_t n;
	struct err err;

	(void)state;
	assert_int_equal(words_split("fio --a='x y' \"q\\\"\"z b\\ c '' ", &w, &n, &err), 0);
	assert_int_equal(n, 5);
	assert_string_equal(w[0], "fio");
	assert_string_equal(w[1], "--a=x y");
	assert_string_equal(w[2], "q\"z");
	assert_string_equal(w[3], "b c");
	assert_string_equal(w[4], "");
	assert_null(w[5]);
}

static void test_words_bad(void **state)
{
	CLEANUP(words_freep) char **w = NULL;
	size_t n;
	struct err err;

	(void)state;
	assert_int_equal(words_split("a 'b", &w, &n, &err), ERR_INVALID);
	assert_int_equal(words_split("a\\", &w, &n, &err), ERR_INVALID);
	assert_int_equal(words_split("  ", &w, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_null(w[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_errors_name_the_line),
		cmocka_unit_test(test_files_are_trusted_only_when_closed),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_words_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
