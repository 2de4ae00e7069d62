/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of tracepoints: what root writes, what everybody reads, and why there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tracepoint.h"

struct box {
	char root[64], file[100];
};

static void put(const struct box *b, const char *path, const char *text)
{
	char full[300];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", b->root, path);
	for (char *s = full + strlen(b->root) + 1; (s = strchr(s, '/')); *s++ = '/') {
		*s = '\0';
		assert_true(!mkdir(full, 0755) || errno == EEXIST);
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	struct box *b = calloc(1, sizeof(*b));

	snprintf(b->root, sizeof(b->root), "/tmp/rigstat-tracepoint-XXXXXX");
	assert_non_null(mkdtemp(b->root));
	snprintf(b->file, sizeof(b->file), "%s/tracepoints", b->root);
	put(b, "proc/sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555\n");
	put(b, "sys/kernel/tracing/events/sched/sched_switch/id", "316\n");
	put(b, "sys/kernel/tracing/events/block/block_rq_issue/id", "1024\n");
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct box *b = *state;
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", b->root);
	assert_int_equal(system(command), 0);
	free(b);
	return 0;
}

static void names(void **state)
{
	static const char *const good[] = {"sched:sched_switch", "block:block_rq_issue", "a-b:c_1"};
	static const char *const bad[] = {"cycles",	 ":a",	     "a:",    "a::b",	"SKL::INST",
					  "RETIRED:ANY", "msr/smi/", "a:b:u", "../x:y", "a b:c"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(tracepoint_is_name(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(tracepoint_is_name(bad[i]));
}

static void save(const struct box *b, struct strbuf *report)
{
	char *const events[] = {(char *)"cycles", (char *)"sched:sched_switch",
				(char *)"sched:no_such", (char *)"block:block_rq_issue"};
	struct err err;

	if (tracepoints_save(b->root, b->file, events, ARRAY_LEN(events), report, &err))
		fail_msg("%s", err.text);
}

/* What was saved is found; what was not asked for or does not exist is refused with the way out. */
static void saved_and_found(void **state)
{
	const struct box *b = *state;
	struct strbuf report = {0};
	struct pmu_event e;
	struct stat st;
	struct err err;

	save(b, &report);
	assert_non_null(strstr(report.data, "sched:sched_switch: 316\n"));
	assert_non_null(strstr(report.data, "sched:no_such: not found"));
	assert_null(strstr(report.data, "cycles"));
	strbuf_done(&report);
	assert_int_equal(stat(b->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(tracepoint_saved(b->root, b->file, "sched:sched_switch", &e, &err), 0);
	assert_true(e.opening[0].type == PERF_TYPE_TRACEPOINT && e.opening[0].config == 316);
	assert_true(e.software && e.openings == 1);
	assert_int_equal(tracepoint_saved(b->root, b->file, "block:block_rq_issue", &e, &err), 0);
	assert_int_equal(e.opening[0].config, 1024);
	assert_int_equal(tracepoint_saved(b->root, b->file, "sched:sched", &e, &err), ERR_PERM);
	assert_non_null(strstr(err.text, "event = sched:sched"));
}

static void refused(void **state)
{
	const struct box *b = *state;
	struct strbuf report = {0};
	struct pmu_event e;
	struct err err;

	assert_int_equal(tracepoint_saved(b->root, b->file, "sched:sched_switch", &e, &err),
			 ERR_PERM);
	assert_non_null(strstr(err.text, "known to root only"));
	save(b, &report);
	strbuf_done(&report);
	put(b, "proc/sys/kernel/random/boot_id", "99999999-2222-3333-4444-555555555555\n");
	assert_int_equal(tracepoint_saved(b->root, b->file, "sched:sched_switch", &e, &err),
			 ERR_PERM);
	assert_non_null(strstr(err.text, "another boot"));
}

/* Anything else in the file is no number. */
static void damaged(void **state)
{
	static const char *const texts[] = {
		"",
		"boot\n",
		"boot 11111111-2222-3333-4444-555555555555",
		"boot 11111111-2222-3333-4444-555555555555\nsched:sched_switch",
		"boot 11111111-2222-3333-4444-555555555555\nsched:sched_switch \n",
		"boot 11111111-2222-3333-4444-555555555555\nsched:sched_switch 3x\n",
		"boot 11111111-2222-3333-4444-555555555555\nsched:sched_switch 316"};
	const struct box *b = *state;
	struct pmu_event e;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		put(b, "tracepoints", texts[i]);
		assert_int_equal(tracepoint_saved(b->root, b->file, "sched:sched_switch", &e, &err),
				 ERR_PERM);
	}
}

/* The directory is the group's: what lies at the place is replaced, not written through. */
static void a_link_is_replaced(void **state)
{
	const struct box *b = *state;
	struct strbuf report = {0};
	char victim[200];
	struct stat st;

	put(b, "victim", "precious");
	snprintf(victim, sizeof(victim), "%s/victim", b->root);
	assert_int_equal(symlink(victim, b->file), 0);
	save(b, &report);
	strbuf_done(&report);
	assert_int_equal(lstat(b->file, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(stat(victim, &st), 0);
	assert_int_equal(st.st_size, strlen("precious"));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {cmocka_unit_test(names), T(saved_and_found), T(refused),
					   T(damaged), T(a_link_is_replaced)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
