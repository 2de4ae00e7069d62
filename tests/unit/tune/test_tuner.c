/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Setting and putting back on plain files under a private root, with the journal of a process
 * that died at each point. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tune/sysfile.h"
#include "agent/tune/tuner.h"
#include "agent/tune/value.h"

#define BOOT "11111111-2222-3333-4444-555555555555"

struct fixture {
	char dir[64], a[96], b[96], journal[96], copy[112];
	const char *roots[2];
	struct tuner t;
};

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The value as the tuner would see it. */
static const char *get(const char *path)
{
	static char raw[TUNE_VALUE_MAX], value[TUNE_VALUE_MAX];
	struct err err;

	memset(raw, 0, sizeof(raw));
	assert_int_equal(sysfile_read(path, raw, &err), 0);
	return value_normal(raw, value);
}

static void begin_boot(struct fixture *f, const char *boot)
{
	struct err err;

	f->t = (struct tuner){.roots = f->roots, .may_name_paths = true};
	assert_int_equal(journal_open(&f->t.journal, f->journal, boot, 0, &err), 0);
}

static void begin(struct fixture *f)
{
	begin_boot(f, BOOT);
}

static void bind_a(struct fixture *f)
{
	char present[TUNE_VALUE_MAX];
	struct err err;

	assert_int_equal(tuner_bind(&f->t, "fa", f->a, present, &err), 0);
	assert_string_equal(present, "1");
}

/* The process dies: nothing is put back. */
static void die(struct fixture *f)
{
	tuner_done(&f->t);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/rigstat-tuner-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	snprintf(f->a, sizeof(f->a), "%s/a", f->dir);
	snprintf(f->b, sizeof(f->b), "%s/b", f->dir);
	snprintf(f->journal, sizeof(f->journal), "%s/journal", f->dir);
	snprintf(f->copy, sizeof(f->copy), "%s.earlier-boot", f->journal);
	f->roots[0] = f->dir;
	put(f->a, "1\n");
	put(f->b, "2\n");
	begin(f);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tuner_done(&f->t);
	unlink(f->a);
	unlink(f->b);
	unlink(f->journal);
	unlink(f->copy);
	rmdir(f->dir);
	free(f);
	return 0;
}

static off_t journal_size(const struct fixture *f)
{
	struct stat st;

	assert_int_equal(stat(f->journal, &st), 0);
	return st.st_size;
}

static void test_set_and_restore(void **state)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	assert_string_equal(get(f->a), "7");
	assert_int_equal(tuner_verify(&f->t, "fa", &err), 0);
	assert_int_equal(tuner_set(&f->t, "fa", "8", &err), 0);
	assert_int_equal(tuner_restore(&f->t, &report, &err), 0);
	assert_string_equal(get(f->a), "1");
	assert_int_equal(report.len, 0);
	assert_int_equal(journal_size(f), 0);
	/* and again: a second experiment of the same process */
	assert_int_equal(tuner_set(&f->t, "fa", "9", &err), 0);
	assert_int_equal(tuner_restore(&f->t, &report, &err), 0);
	assert_string_equal(get(f->a), "1");
}

static void test_the_journal_comes_first(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	close(f->t.journal.fd); /* the disk is gone */
	f->t.journal.fd = open("/dev/full", O_WRONLY);
	assert_true(tuner_set(&f->t, "fa", "7", &err) < 0);
	assert_non_null(strstr(err.text, "nothing is changed"));
	assert_string_equal(get(f->a), "1");
}

static void test_changed_by_another(void **state)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	put(f->a, "55\n");
	assert_int_equal(tuner_verify(&f->t, "fa", &err), ERR_CONFLICT);
	assert_int_equal(tuner_set(&f->t, "fa", "8", &err), ERR_CONFLICT);
	assert_int_equal(tuner_restore(&f->t, &report, &err), 0);
	assert_string_equal(get(f->a), "55");
	assert_non_null(strstr(report.data, "left alone"));
	assert_int_equal(journal_size(f), 0);
}

static void recover_says(struct fixture *f, const char *says, const char *value)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct err err;

	assert_int_equal(tuner_recover(&f->t, &report, &err), 0);
	if (!says)
		assert_int_equal(report.len, 0);
	else if (!report.len || !strstr(report.data, says))
		fail_msg("the report is: %s", report.len ? report.data : "");
	if (value)
		assert_string_equal(get(f->a), value);
	assert_int_equal(journal_size(f), 0);
}

static void test_recover_same_boot(void **state)
{
	struct fixture *f = *state;
	char present[TUNE_VALUE_MAX];
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_bind(&f->t, "fb", f->b, present, &err), 0);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	assert_int_equal(tuner_set(&f->t, "fb", "9", &err), 0);
	assert_int_equal(tuner_set(&f->t, "fa", "8", &err), 0);
	die(f);
	begin(f);
	recover_says(f, "was put back from '8' to '1'", "1");
	assert_string_equal(get(f->b), "2");
	recover_says(f, NULL, "1");
}

/* Killed between the journal line and the write: the present value is the one before. */
static void test_recover_between_journal_and_write(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(journal_note(&f->t.journal, TARGET_PATH, f->a, "1", "7", &err), 0);
	die(f);
	begin(f);
	recover_says(f, NULL, "1");
	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	assert_int_equal(journal_note(&f->t.journal, TARGET_PATH, f->a, "1", "8", &err), 0);
	die(f);
	begin(f);
	recover_says(f, "put back from '7' to '1'", "1");
}

static void test_recover_leaves_foreign_values(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	die(f);
	put(f->a, "33\n");
	begin(f);
	recover_says(f, "left alone", "33");
}

static void test_earlier_boot_is_reported_only(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	die(f);
	begin_boot(f, "another-boot");
	recover_says(f, "from '1' to '7' when the box went down", "7");
	assert_int_equal(access(f->copy, F_OK), 0);
}

static void test_vanished_target(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	die(f);
	unlink(f->a);
	begin(f);
	recover_says(f, "is gone", NULL);
}

static void append(const struct fixture *f, const char *text)
{
	FILE *j = fopen(f->journal, "a");

	fputs(text, j);
	fclose(j);
}

static void test_torn_and_damaged_lines(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	die(f);
	append(f, "00000000\tset\tpath\t/etc/passwd\tx\ty\n"); /* wrong checksum */
	append(f, "1234abcd\tset\tpath");		       /* torn */
	begin(f);
	assert_int_equal(f->t.journal.book.len, 1);
	assert_int_equal(f->t.journal.book.damaged, 1);
	recover_says(f, "1 damaged lines were skipped", "1");
}

/* What is written after a torn line must not join it. */
static void test_lines_after_a_torn_one(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	die(f);
	append(f, "1234abcd\tset\tpath");
	begin(f);
	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	die(f);
	begin(f);
	assert_int_equal(f->t.journal.book.damaged, 0);
	recover_says(f, "put back from '7' to '1'", "1");
}

/* The last setting goes first, as brackets close. */
static void test_restored_in_reverse(void **state)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct fixture *f = *state;
	CLEANUP(freep) char *text = NULL;
	struct tunables *t = &f->t.tunables;
	char present[TUNE_VALUE_MAX];
	struct err err;

	/* putting back `one` writes b, so b must have been put back before: else 'one' wins */
	text = xasprintf("[one]\napply = /bin/sh -c 'echo $1 >%s; echo 2 >%s' sh {value}\n"
			 "verify = /bin/cat %s\n",
			 f->a, f->b, f->a);
	assert_int_equal(tunables_parse(t, "t", text, strlen(text), &err), 0);
	assert_int_equal(tuner_bind(&f->t, "fa", "one", present, &err), 0);
	assert_int_equal(tuner_bind(&f->t, "fb", f->b, present, &err), 0);
	assert_int_equal(tuner_set(&f->t, "fa", "5", &err), 0);
	put(f->b, "30\n");
	assert_int_equal(tuner_set(&f->t, "fb", "40", &err), 0);
	assert_int_equal(tuner_restore(&f->t, &report, &err), 0);
	/* reverse: b back to 30, then `one` sets 2; forward: `one` sets 2, which is not ours in b
	 */
	assert_string_equal(get(f->b), "2");
	assert_int_equal(report.len, 0);
}

static void test_values_are_checked(void **state)
{
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_check(&f->t, "fa", "", &err), ERR_INVALID);
	assert_int_equal(tuner_set(&f->t, "fa", "1\n2", &err), ERR_INVALID);
	assert_string_equal(get(f->a), "1");
}

static void test_a_step_that_hangs_is_killed_with_its_children(void **state)
{
	struct fixture *f = *state;
	char present[TUNE_VALUE_MAX];
	CLEANUP(freep)
	char *text = xasprintf("[hang]\napply = /bin/true {value}\ntimeout = 300ms\n"
			       "verify = /bin/sh -c 'sleep 300 & echo $! >%s; wait'\n",
			       f->b);
	struct err err;
	int pid;

	assert_int_equal(tunables_parse(&f->t.tunables, "t", text, strlen(text), &err), 0);
	assert_int_equal(tuner_bind(&f->t, "x", "hang", present, &err), ERR_TIMEOUT);
	pid = atoi(get(f->b));
	assert_true(pid > 1);
	for (int i = 0; i < 200 && kill(pid, 0) == 0; i++) /* init reaps it */
		usleep(10000);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_a_failure_stays_in_the_journal(void **state)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct fixture *f = *state;
	struct err err;

	/* a named tunable whose file is gone at recovery */
	bind_a(f);
	assert_int_equal(tuner_set(&f->t, "fa", "7", &err), 0);
	assert_int_equal(journal_note(&f->t.journal, TARGET_NAMED, "rx", "20", "0", &err), 0);
	die(f);
	begin(f);
	assert_true(tuner_recover(&f->t, &report, &err) < 0);
	assert_non_null(strstr(report.data, "put '20' back by hand"));
	assert_string_equal(get(f->a), "1"); /* the rest is done all the same */
	die(f);
	begin(f);
	assert_int_not_equal(f->t.journal.book.len, 0);
	assert_non_null(journal_find(&f->t.journal, TARGET_NAMED, "rx"));
	assert_null(journal_find(&f->t.journal, TARGET_PATH, f->a));
}

static void test_links_may_not_lead_away(void **state)
{
	char outside[] = "/tmp/rigstat-outside-XXXXXX", present[TUNE_VALUE_MAX], link[112];
	struct fixture *f = *state;
	int fd = mkstemp(outside);
	struct err err;

	assert_true(fd >= 0);
	close(fd);
	put(outside, "1\n");
	snprintf(link, sizeof(link), "%s/link", f->dir);
	assert_int_equal(symlink(outside, link), 0);
	assert_int_equal(tuner_bind(&f->t, "x", link, present, &err), ERR_PERM);
	assert_int_equal(tuner_bind(&f->t, "x", outside, present, &err), ERR_PERM);
	/* nor may a path outside lead in */
	unlink(outside);
	assert_int_equal(symlink(f->a, outside), 0);
	assert_int_equal(tuner_bind(&f->t, "x", outside, present, &err), ERR_PERM);
	unlink(outside);
	put(outside, "1\n");
	/* a link inside the root is resolved once, then must stay what it was */
	unlink(link);
	assert_int_equal(symlink(f->a, link), 0);
	assert_int_equal(tuner_bind(&f->t, "x", link, present, &err), 0);
	assert_string_equal(tuner_target(&f->t, "x"), f->a);
	unlink(f->a);
	assert_int_equal(symlink(outside, f->a), 0);
	assert_true(tuner_set(&f->t, "x", "666", &err) < 0);
	assert_string_equal(get(outside), "1");
	unlink(link);
	unlink(outside);
}

static void test_rights_of_others(void **state)
{
	static const char text[] = "[open]\npath = /sys/x\n[steps]\nvalues = a b\n"
				   "apply = /bin/false {value}\nverify = /bin/echo a\n"
				   "[free]\napply = /bin/true {value}\nverify = /bin/echo a\n";
	char present[TUNE_VALUE_MAX];
	struct fixture *f = *state;
	struct err err;

	assert_int_equal(tunables_parse(&f->t.tunables, "t", text, strlen(text), &err), 0);
	f->t.may_name_paths = false;
	assert_int_equal(tuner_bind(&f->t, "x", f->a, present, &err), ERR_PERM);
	assert_int_equal(tuner_bind(&f->t, "x", "kernel.printk", present, &err), ERR_PERM);
	assert_int_equal(tuner_bind(&f->t, "x", "free", present, &err), ERR_PERM);
	assert_int_equal(tuner_bind(&f->t, "x", "nothing", present, &err), ERR_NOT_FOUND);
	assert_int_equal(tuner_bind(&f->t, "x", "steps", present, &err), 0);
	assert_int_equal(tuner_check(&f->t, "x", "c", &err), ERR_PERM);
	assert_int_equal(tuner_check(&f->t, "x", "b", &err), 0);
	assert_true(tuner_set(&f->t, "x", "b", &err) < 0); /* /bin/false */
	assert_non_null(strstr(err.text, "exit status 1"));
}

/* Steps that keep their value in a file: apply, verify, restore, and a value that does not hold. */
static void test_steps(void **state)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct fixture *f = *state;
	char present[TUNE_VALUE_MAX];
	struct err err;
	CLEANUP(freep)
	char *text = xasprintf(
		"[s]\napply = /bin/sh -c 'test $1 != 13 || { echo unlucky >&2; exit 3; }; "
		"echo $(($1 < 50 ? $1 : 50)) >$2' sh {value} %s\nverify = /bin/cat %s\n"
		"restore = /bin/sh -c 'echo $1 >$2; echo back >$3' sh {old} %s %s\n"
		"[slow]\napply = /bin/true {value}\nverify = /bin/sleep 20\ntimeout = 50ms\n",
		f->b, f->b, f->b, f->a);

	assert_int_equal(tunables_parse(&f->t.tunables, "t", text, strlen(text), &err), 0);
	assert_int_equal(tuner_bind(&f->t, "x", "s", present, &err), 0);
	assert_string_equal(present, "2");
	assert_int_equal(tuner_set(&f->t, "x", "13", &err), ERR_IO);
	assert_non_null(strstr(err.text, "unlucky"));
	assert_int_equal(tuner_set(&f->t, "x", "40", &err), 0);
	assert_int_equal(tuner_set(&f->t, "x", "60", &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "reads '50'"));
	die(f);
	begin(f);
	assert_int_equal(tunables_parse(&f->t.tunables, "t", text, strlen(text), &err), 0);
	assert_int_equal(tuner_recover(&f->t, &report, &err), 0);
	assert_string_equal(get(f->b), "2");
	assert_string_equal(get(f->a), "back");
	assert_int_equal(tuner_bind(&f->t, "y", "slow", present, &err), ERR_TIMEOUT);
}

static void test_two_factors_one_target(void **state)
{
	char present[TUNE_VALUE_MAX];
	struct fixture *f = *state;
	struct err err;

	bind_a(f);
	assert_int_equal(tuner_bind(&f->t, "again", f->a, present, &err), ERR_CONFLICT);
	assert_int_equal(tuner_bind(&f->t, "fa", f->b, present, &err), ERR_CONFLICT);
	assert_int_equal(tuner_set(&f->t, "unknown", "1", &err), ERR_NOT_FOUND);
}

static void test_sysctl_names(void **state)
{
	CLEANUP(freep) char *path = NULL;
	struct err err;

	(void)state;
	assert_int_equal(sysfile_resolve("kernel.sched_rt_runtime_us", sysfile_roots, &path, &err),
			 0);
	assert_string_equal(path, "/proc/sys/kernel/sched_rt_runtime_us");
	assert_int_equal(sysfile_resolve("/proc/self/comm", sysfile_roots, &path, &err), ERR_PERM);
	assert_int_equal(sysfile_resolve("/sys/../etc/passwd", sysfile_roots, &path, &err),
			 ERR_PERM);
	assert_int_equal(sysfile_resolve("kernel.no_such", sysfile_roots, &path, &err),
			 ERR_NOT_FOUND);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_set_and_restore),
		TEST(test_the_journal_comes_first),
		TEST(test_changed_by_another),
		TEST(test_recover_same_boot),
		TEST(test_recover_between_journal_and_write),
		TEST(test_recover_leaves_foreign_values),
		TEST(test_earlier_boot_is_reported_only),
		TEST(test_vanished_target),
		TEST(test_torn_and_damaged_lines),
		TEST(test_lines_after_a_torn_one),
		TEST(test_restored_in_reverse),
		TEST(test_values_are_checked),
		TEST(test_a_step_that_hangs_is_killed_with_its_children),
		TEST(test_a_failure_stays_in_the_journal),
		TEST(test_links_may_not_lead_away),
		TEST(test_rights_of_others),
		TEST(test_steps),
		TEST(test_two_factors_one_target),
		TEST(test_sysctl_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
