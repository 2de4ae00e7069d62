/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/progress.h"

struct fixture {
	struct progress p;
	char *text;
	size_t len;
};

static void begin(struct fixture *f, bool tty)
{
	FILE *to = open_memstream(&f->text, &f->len);

	assert_non_null(to);
	progress_init(&f->p, to, tty, 20, 32 * NS_PER_SEC);
	progress_begin(&f->p, 7, "rq_affinity=0");
}

static void end(struct fixture *f)
{
	fclose(f->p.to);
	free(f->text);
}

static void test_plain(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, false);
	progress_show(&f.p, "measuring");
	fflush(f.p.to);
	assert_int_equal(f.len, 0);
	progress_end(&f.p, NS_PER_SEC, "ok");
	assert_string_equal(f.text, "run 7/20  rq_affinity=0  ok\n");
	end(&f);
}

static void test_terminal(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, true);
	progress_show(&f.p, "measuring");
	assert_string_equal(f.text, "\r\033[Krun 7/20  rq_affinity=0  measuring  (11 min left)");
	progress_note(&f.p, "careful: %d", 5);
	assert_non_null(strstr(f.text, "left)\r\033[Kcareful: 5\n"));
	end(&f);
}

/* The plan's length counts until a run has shown how long one takes. */
static void test_time_left(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, false);
	assert_int_equal(progress_left_ns(&f.p), 640 * NS_PER_SEC);
	progress_end(&f.p, 40 * NS_PER_SEC, "ok");
	progress_end(&f.p, 20 * NS_PER_SEC, "ok");
	assert_int_equal(progress_left_ns(&f.p), 18 * 30 * NS_PER_SEC);
	f.p.done = 0;
	f.p.run_ns = 0;
	assert_int_equal(progress_left_ns(&f.p), -1);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
