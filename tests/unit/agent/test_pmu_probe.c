/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of a run on made-up boxes: what each state of a host makes of the series and notes.
 * The kernel below is this one, so counts are those of software events; hardware: tests/qemu. */
#include "probe_run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "agent/pmu.h"
#include "agent/pmu_cores.h"

#define DEVICES	 "/sys/bus/event_source/devices"
#define BOX	 "{\"scope\":\"box\"}"
#define OF(name) "{\"pmu\":\"" name "\",\"scope\":\"box\"}"

static int setup(void **state)
{
	*state = fixture_new();
	return 0;
}

static int teardown(void **state)
{
	fixture_free(*state);
	return 0;
}

static void run(struct fixture *f, const char *event, const struct pmu_scope_conf *scope)
{
	char *events[] = {(char *)(uintptr_t)event};
	const struct pmu_conf conf = {
		.events = events, .events_len = event ? 1 : 0, .scope = *scope, .root = f->root};

	sampler_add(f->sampler, pmu_probe(&conf));
	begin(f);
	collect(f, true, true);
	finish(f);
}

static const struct pmu_scope_conf box = {PMU_BOX, NULL, false};
static const char *const derived[] = {"cycles",	 "instructions",	 "ipc",
				      "cpu_ghz", "unstalled_cycles_pct", "retiring_slots_pct"};

/* Nothing of the hardware, one reason; software events go on. */
static void no_pmu(void **state)
{
	struct fixture *f = *state;

	put(f, DEVICES "/software/type", "1\n");
	run(f, "page-faults", &box);
	for (size_t i = 0; i < ARRAY_LEN(derived); i++)
		assert_string_equal(reason(f, derived[i], BOX), "not available: no hardware PMU");
	assert_non_null(
		find(f, "event_page_faults", "{\"event\":\"page-faults\",\"scope\":\"box\"}"));
	assert_int_equal(json_object_size(f->notes), 0);
}

static void put_guest(struct fixture *f)
{
	put(f, DEVICES "/cpu/type", "4\n");
	put(f, "/proc/sys/kernel/nmi_watchdog", "1\n");
	put(f, "/proc/cpuinfo",
	    "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
	    "flags\t\t: fpu tsc hypervisor ssse3\n");
}

/* Somebody else's counter and somebody else's PMU are notes of every run. */
static void watchdog_and_hypervisor(void **state)
{
	struct fixture *f = *state;
	const char *text;

	put_guest(f);
	run(f, NULL, &box);
	text = json_string_value(json_object_get(f->notes, "nmi-watchdog"));
	assert_non_null(text);
	assert_non_null(strstr(text, "kernel.nmi_watchdog=0"));
	text = json_string_value(json_object_get(f->notes, "virtual-pmu"));
	assert_non_null(text);
	assert_non_null(strstr(text, "self-test: "));
}

static void neither(void **state)
{
	struct fixture *f = *state;

	put_guest(f);
	put(f, "/proc/sys/kernel/nmi_watchdog", "0\n");
	put(f, "/proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu nohypervisor\n");
	run(f, NULL, &box);
	assert_null(json_object_get(f->notes, "nmi-watchdog"));
	assert_null(json_object_get(f->notes, "virtual-pmu"));
}

/* No descriptor left: a reason of its own, with what to raise, and no number. */
static void out_of_descriptors(void **state)
{
	const struct pmu_target self = {.mode = PMU_TASK};
	struct pmu_event e;
	const struct pmu_event *events[] = {&e};
	struct pmu_sum sum[PMU_GROUP_MAX];
	struct rlimit before, none;
	struct pmu_group *g;
	char text[300];
	int next = open("/", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(next >= 0);
	close(next);
	assert_int_equal(pmu_event_parse("page-faults", "", &e, NULL), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	g = pmu_group_open(events, 1, &self);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(pmu_group_error(g, 0), EMFILE);
	assert_non_null(
		strstr(pmu_error_text(EMFILE, PMU_TASK, text, sizeof(text)), "LimitNOFILE"));
	pmu_group_read(g, sum);
	assert_int_equal(sum[0].state, PMU_ABSENT);
	pmu_group_close(g);
}

/* A cgroup that is not there when the run begins, and a workload that a watch run does not have. */
static void scopes_that_are_not_there(void **state)
{
	struct fixture *f = *state;

	run(f, "page-faults", &(struct pmu_scope_conf){PMU_CGROUP, "/rigstat-no-such", true});
	assert_non_null(
		strstr(reason(f, "event_page_faults",
			      "{\"event\":\"page-faults\",\"scope\":\"cgroup:/rigstat-no-such\"}"),
		       "cgroup"));
	f = fixture_new();
	run(f, "page-faults", &(struct pmu_scope_conf){PMU_TASK, NULL, false});
	assert_non_null(strstr(reason(f, "event_page_faults",
				      "{\"event\":\"page-faults\",\"scope\":\"workload\"}"),
			       "no workload"));
	fixture_free(f);
}

/* ---- a hybrid CPU: one set of counters for each core type, and totals ---- */

struct hybrid {
	struct probe p;
	struct pmu_scope scope;
	struct core_counters *core[2];
};

static void hybrid_declare(struct probe *p, struct series_list *l)
{
	struct hybrid *h = CONTAINER_OF(p, struct hybrid, p);

	for (size_t i = 0; i < 2; i++)
		core_counters_declare(h->core[i], l);
}

static void hybrid_begin(struct probe *p)
{
	for (size_t i = 0; i < 2; i++)
		core_counters_begin(CONTAINER_OF(p, struct hybrid, p)->core[i]);
}

static void hybrid_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	for (size_t i = 0; i < 2; i++)
		core_counters_collect(CONTAINER_OF(p, struct hybrid, p)->core[i], in, w);
}

static void hybrid_finish(struct probe *p, struct record_writer *w, uint64_t *last)
{
	struct hybrid *h = CONTAINER_OF(p, struct hybrid, p);

	for (size_t i = 0; i < 2; i++)
		core_counters_finish(h->core[i], w, last);
	core_counters_finish_totals(h->core, 2, w, last);
}

static void hybrid_free(struct probe *p)
{
	struct hybrid *h = CONTAINER_OF(p, struct hybrid, p);

	for (size_t i = 0; i < 2; i++)
		core_counters_free(h->core[i]);
	free(h);
}

static void core_types_are_apart(void **state)
{
	struct fixture *f = *state;
	struct hybrid *h = xcalloc(1, sizeof(*h));
	struct pmu_core cores[PMU_OPENINGS_MAX];
	static const bool cpus[16] = {[0] = true, [1] = true, [8] = true};
	static const char *const of[] = {OF("cpu_atom"), OF("cpu_core")};

	put(f, DEVICES "/cpu_core/type", "4\n");
	put(f, DEVICES "/cpu_core/cpus", "0-7\n");
	put(f, DEVICES "/cpu_core/format/event", "config:0-7\n");
	put(f, DEVICES "/cpu_core/format/umask", "config:8-15\n");
	put(f, DEVICES "/cpu_core/format/cmask", "config:24-31\n");
	put(f, DEVICES "/cpu_atom/type", "12\n");
	put(f, DEVICES "/cpu_atom/cpus", "8-15\n");
	put(f, DEVICES "/cpu_atom/format/event", "config:0-7\n");
	put(f, DEVICES "/cpu_atom/format/umask", "config:8-15\n");
	put(f, "/proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\n");
	put(f, "/proc/stat", "cpu  1 0 1 1 0 0 0\ncpu0 1 0 1 1 0 0 0\n");
	assert_int_equal(pmu_cores(f->root, cores), 2);
	pmu_scope_init(&h->scope, &box);
	for (size_t i = 0; i < 2; i++)
		h->core[i] = core_counters_open(f->root, &cores[i], true, cpus, ARRAY_LEN(cpus),
						&h->scope);
	h->p = (struct probe){.name = "hybrid",
			      .declare = hybrid_declare,
			      .begin = hybrid_begin,
			      .collect = hybrid_collect,
			      .finish = hybrid_finish,
			      .free = hybrid_free};
	sampler_add(f->sampler, &h->p);
	begin(f);
	collect(f, true, true);
	finish(f);
	for (size_t k = 0; k < ARRAY_LEN(of); k++)
		for (size_t i = 0; i < ARRAY_LEN(derived); i++)
			assert_non_null(find(f, derived[i], of[k]));
	/* Alder Lake's E cores have no stall event, whatever the kernel below says. */
	assert_non_null(strstr(reason(f, "unstalled_cycles_pct", OF("cpu_atom")), "E-cores"));
	/* And so there is no total either: not the P cores' alone. */
	assert_non_null(strstr(reason(f, "unstalled_cycles_pct", BOX), "lacks cpu_atom: "));
	assert_null(find(f, "cycles", BOX));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {T(no_pmu),
					   T(watchdog_and_hypervisor),
					   T(neither),
					   T(out_of_descriptors),
					   T(scopes_that_are_not_there),
					   T(core_types_are_apart)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
