/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which events a CPU gets for the percentages, the formulas, and the states of counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>

#include "agent/pmu_derived.h"
#include "agent/pmu_group.h"

#define INTEL(m)      .vendor = PMU_INTEL, .family = 6, .model = (m)
#define AMD(f, m)     .vendor = PMU_AMD, .family = (f), .model = (m)
#define ARM_SLOT_CORE .stall_slot = true, .op_retired = true, .op_spec = true
#define STALLS	      .stall_frontend = true, .stall_backend = true

/* NULL: not available. */
static const struct {
	const char *name;
	struct pmu_cpu cpu;
	const char *unstalled, *unstalled_event, *retiring;
	double width;
} cpus[] = {
	{"Ivy Bridge", {INTEL(0x3a)}, NULL, NULL, NULL, 0},
	{"Haswell",
	 {INTEL(0x3f)},
	 "intel-stalls-total/1",
	 "event=0xa3,umask=0x4,cmask=4",
	 "intel-retire-slots/1",
	 4},
	{"Broadwell", {INTEL(0x4f)}, "intel-stalls-total/1", NULL, "intel-retire-slots/1", 4},
	{"Cascade Lake, SMT on", {INTEL(0x55), .smt = true}, "intel-stalls-total/1", NULL, NULL, 0},
	{"Ice Lake",
	 {INTEL(0x6a), .topdown = true},
	 "intel-stalls-total/1",
	 NULL,
	 "intel-topdown-l1/1",
	 0},
	{"Sapphire Rapids in a VM", {INTEL(0x8f)}, "intel-stalls-total/1", NULL, NULL, 0},
	{"Alder Lake P",
	 {INTEL(0x97), .type = PMU_CORE_P, .topdown = true},
	 "intel-stalls-total/1",
	 NULL,
	 "intel-topdown-l1/1",
	 0},
	{"Alder Lake E",
	 {INTEL(0x97), .type = PMU_CORE_E, .topdown = true},
	 NULL,
	 NULL,
	 "intel-atom-retiring/1",
	 5},
	{"Sierra Forest", {INTEL(0xaf)}, NULL, NULL, "intel-atom6-retiring/1", 6},
	{"Lunar Lake P",
	 {INTEL(0xbd), .type = PMU_CORE_P, .topdown = true},
	 "intel-retired-cycles/1",
	 "event=0xc2,umask=0x2,cmask=1",
	 "intel-topdown-l1/1",
	 0},
	{"Lunar Lake E", {INTEL(0xbd), .type = PMU_CORE_E}, NULL, NULL, NULL, 0},
	{"a later Intel", {INTEL(0xff)}, NULL, NULL, NULL, 0},
	{"family 15", {.vendor = PMU_INTEL, .family = 15, .model = 0x55}, NULL, NULL, NULL, 0},
	{"Bulldozer", {AMD(0x15, 2)}, NULL, NULL, NULL, 0},
	{"Zen 1", {AMD(0x17, 1)}, "amd-retire-cmask1/1", "event=0xc1,umask=0x0,cmask=1", NULL, 0},
	{"Zen 2", {AMD(0x17, 0x31)}, "amd-retire-cmask1/1", NULL, NULL, 0},
	{"Zen 3", {AMD(0x19, 0x01)}, "amd-retire-cmask1/1", NULL, NULL, 0},
	{"Zen 3, Cezanne", {AMD(0x19, 0x50)}, "amd-retire-cmask1/1", NULL, NULL, 0},
	{"Zen 4, Genoa",
	 {AMD(0x19, 0x11)},
	 "amd-no-retire/1",
	 "event=0xd6,umask=0x1b",
	 "amd-ret-ops-6/1",
	 6},
	{"Zen 4, Raphael", {AMD(0x19, 0x61)}, "amd-no-retire/1", NULL, "amd-ret-ops-6/1", 6},
	{"Zen 5", {AMD(0x1a, 0x02)}, "amd-no-retire/1", NULL, "amd-ret-ops-8/1", 8},
	{"Cortex-A57", {.vendor = PMU_ARM, .midr = 0x411fd070}, NULL, NULL, NULL, 0},
	{"Neoverse N1",
	 {.vendor = PMU_ARM, .midr = 0x413fd0c1, STALLS},
	 "arm-stall-fe-be/1",
	 "event=0x23",
	 NULL,
	 0},
	{"Neoverse V1",
	 {.vendor = PMU_ARM, .midr = 0x411fd401, STALLS, ARM_SLOT_CORE, .slots = 8, .stall = true},
	 "arm-stall/1",
	 "event=0x3c",
	 "arm-slots/1",
	 8},
	{"Neoverse N2 r0p0",
	 {.vendor = PMU_ARM, .midr = 0x410fd490, STALLS, ARM_SLOT_CORE, .slots = 5},
	 "arm-stall-fe-be/1",
	 NULL,
	 "arm-slots-n2-erratum/1",
	 5},
	{"Neoverse N2 r0p3",
	 {.vendor = PMU_ARM, .midr = 0x410fd493, STALLS, ARM_SLOT_CORE, .slots = 5},
	 "arm-stall-fe-be/1",
	 NULL,
	 "arm-slots/1",
	 5},
	{"Neoverse V2",
	 {.vendor = PMU_ARM, .midr = 0x410fd4f0, STALLS, ARM_SLOT_CORE, .slots = 8},
	 "arm-stall-fe-be/1",
	 NULL,
	 "arm-slots/1",
	 8},
	{"Neoverse V2, slots not told",
	 {.vendor = PMU_ARM, .midr = 0x410fd4f0, STALLS, ARM_SLOT_CORE},
	 "arm-stall-fe-be/1",
	 NULL,
	 NULL,
	 0},
	{"another vendor's Arm",
	 {.vendor = PMU_ARM, .midr = 0x460fd490, ARM_SLOT_CORE, .slots = 8},
	 NULL,
	 NULL,
	 NULL,
	 0},
	{"RISC-V", {.vendor = PMU_OTHER}, NULL, NULL, NULL, 0},
};

static void check_plan(const char *cpu, const struct pmu_plan *p, const char *method)
{
	if (!method) {
		if (p->formula != PMU_F_NONE || !p->reason)
			fail_msg("%s: %s instead of nothing", cpu, p->method);
		assert_non_null(strstr(p->reason, "not available"));
		return;
	}
	if (p->formula == PMU_F_NONE || strcmp(p->method, method) != 0)
		fail_msg("%s: %s instead of %s", cpu, p->method ? p->method : p->reason, method);
	assert_non_null(p->event[0]);
}

static void plans(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cpus); i++) {
		struct pmu_plan p;

		pmu_plan_unstalled(&cpus[i].cpu, &p);
		check_plan(cpus[i].name, &p, cpus[i].unstalled);
		if (cpus[i].unstalled_event)
			assert_string_equal(p.event[0], cpus[i].unstalled_event);
		pmu_plan_retiring(&cpus[i].cpu, &p);
		check_plan(cpus[i].name, &p, cpus[i].retiring);
		if (cpus[i].width > 0)
			assert_true(fabs(p.width - cpus[i].width) < 0.01);
	}
}

static void near(double a, double b)
{
	if (!(fabs(a - b) < 1e-9))
		fail_msg("%.12g is not %.12g", a, b);
}

static void formulas(void **state)
{
	struct pmu_plan p = {.formula = PMU_F_REST, .event = {"a", "b"}};
	const double two[] = {2e6, 1e6}, slots[] = {8e6, 3e6, 1e6, 2e6, 2e6};
	const double arm[] = {8e6, 10e6, 16e6};

	(void)state;
	near(pmu_plan_value(&p, 10e6, two), 70);
	p = (struct pmu_plan){.formula = PMU_F_SHARE, .event = {"a"}, .width = 4};
	near(pmu_plan_value(&p, 1e6, two), 50);
	p = (struct pmu_plan){
		.formula = PMU_F_TOPDOWN, .event = {"s", "r", "b", "f", "e"}, .alone = true};
	near(pmu_plan_value(&p, 0, slots), 37.5);
	p = (struct pmu_plan){.formula = PMU_F_ARM_SLOTS, .event = {"r", "s", "t"}, .width = 8};
	near(pmu_plan_value(&p, 4e6, arm), 40);
	p.formula = PMU_F_ARM_N2;
	near(pmu_plan_value(&p, 4e6, arm), 50);
}

static void impossible_values(void **state)
{
	struct pmu_plan p = {.formula = PMU_F_REST, .event = {"stall"}};
	const double none[] = {0}, too_many[] = {2e6}, slightly[] = {1.005e6}, some[] = {1};

	(void)state;
	assert_true(isnan(pmu_plan_value(&p, 1e6, too_many))); /* more stalls than cycles */
	near(pmu_plan_value(&p, 1e6, slightly), 0);	       /* skew of two counters */
	assert_true(isnan(pmu_plan_value(&p, 2e6, none)));     /* a stub */
	assert_true(isnan(pmu_plan_value(&p, 0, some)));
	p.formula = PMU_F_NONE;
	assert_true(isnan(pmu_plan_value(&p, 1e6, some)));
}

static void implausible(void **state)
{
	(void)state;
	assert_null(pmu_implausible(3e9, 4e9, 1e9, 1e9, 3.5e9));
	assert_null(pmu_implausible(0, 0, 1e9, 0, 0));
	assert_non_null(strstr(pmu_implausible(2e6, 0, 1e9, 0, 0), "no instructions"));
	assert_non_null(strstr(pmu_implausible(1e6, 2e7, 1e9, 0, 0), "can issue"));
	/* A guest whose counter barely moves: 395 a second in a busy second. */
	assert_non_null(strstr(pmu_implausible(395, 395, 1e9, 1e9, 0), "100 MHz"));
	assert_non_null(strstr(pmu_implausible(5e9, 5e9, 1e9, 1e9, 4e9), "highest frequency"));
}

#define MS NS_PER_MS

static void states(void **state)
{
	static const struct {
		enum pmu_mode mode;
		struct pmu_delta d;
		enum pmu_state expected;
	} cases[] = {
		{PMU_BOX, {5, 1000 * MS, 1000 * MS, 1000 * MS}, PMU_EXACT},
		{PMU_BOX, {5, 10000 * MS, 9991 * MS, 10000 * MS}, PMU_EXACT},
		{PMU_BOX, {5, 1000 * MS, 950 * MS, 1000 * MS}, PMU_ESTIMATED},
		{PMU_BOX, {5, 1000 * MS, 500 * MS, 1000 * MS}, PMU_DOUBTFUL},
		{PMU_BOX, {5, 1000 * MS, 249 * MS, 1000 * MS}, PMU_REFUSED},
		{PMU_BOX, {5, 100 * MS, 60 * MS, 100 * MS}, PMU_REFUSED}, /* 15 rotations */
		{PMU_BOX, {0, 1000 * MS, 0, 1000 * MS}, PMU_NOT_COUNTED},
		{PMU_BOX, {5, 940 * MS, 940 * MS, 1000 * MS}, PMU_GAP},
		{PMU_BOX, {0, 0, 0, 1000 * MS}, PMU_GAP}, /* an offline CPU stands still */
		{PMU_TASK, {0, 0, 0, 1000 * MS}, PMU_IDLE},
		{PMU_CGROUP, {0, 0, 0, 1000 * MS}, PMU_IDLE},
		{PMU_CGROUP, {5, 10 * MS, 10 * MS, 1000 * MS}, PMU_EXACT},
		{PMU_CGROUP, {0, 10 * MS, 0, 1000 * MS}, PMU_NOT_COUNTED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum pmu_state s = pmu_judge(cases[i].mode, &cases[i].d, 4 * MS);

		if (s != cases[i].expected)
			fail_msg("case %zu: %s instead of %s", i, pmu_state_name(s),
				 pmu_state_name(cases[i].expected));
	}
	for (enum pmu_state s = PMU_IDLE; s <= PMU_ABSENT; s++) {
		assert_true(*pmu_state_name(s) && *pmu_state_reason(s));
		assert_int_equal(pmu_state_has_value(s), s <= PMU_DOUBTFUL);
	}
}

static void sums(void **state)
{
	struct pmu_sum run = {0};

	(void)state;
	pmu_sum_add(&run, &(struct pmu_sum){10, 100, 100, 10, PMU_EXACT, 2});
	pmu_sum_add(&run, &(struct pmu_sum){99, 100, 1, 9900, PMU_REFUSED, 2});
	pmu_sum_add(&run, &(struct pmu_sum){10, 100, 50, 20, PMU_DOUBTFUL, 2});
	assert_int_equal(run.value, 20);
	near(run.scaled, 30);
	assert_int_equal(run.state, PMU_DOUBTFUL);
}

static void trust(void **state)
{
	(void)state;
	assert_int_equal(pmu_trust_of(10000000, 10000013), PMU_TRUSTED);
	assert_int_equal(pmu_trust_of(10000000, 10199999), PMU_TRUSTED);
	assert_int_equal(pmu_trust_of(10000000, 10210000), PMU_UNTRUSTED);
	assert_int_equal(pmu_trust_of(10000000, 0), PMU_UNTRUSTED);
}

static void error_texts(void **state)
{
	static const int errors[] = {ENOENT, EACCES, EPERM,	 EMFILE, EINVAL,
				     EBUSY,  ENODEV, EOPNOTSUPP, E2BIG};
	char buf[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(errors); i++)
		assert_true(strlen(pmu_error_text(errors[i], PMU_BOX, buf, sizeof(buf))) > 20);
	assert_non_null(strstr(pmu_error_text(ENOENT, PMU_CGROUP, buf, sizeof(buf)), "cgroup"));
	assert_null(strstr(pmu_error_text(ENOENT, PMU_BOX, buf, sizeof(buf)), "cgroup"));
}

static double total(const struct pmu_part *part, size_t n, char method[128], char why[300])
{
	return pmu_total(part, n, method, 128, why, 300);
}

/* P cores: 3 instructions a cycle of 4e9 cycles; E cores: 1 of 1e9. Together 13 / 5. */
static void totals_of_a_hybrid(void **state)
{
	const struct pmu_part ipc[] = {{"cpu_core", "ipc/1", 3, 4e9, NULL},
				       {"cpu_atom", "ipc/1", 1, 1e9, NULL}};
	const struct pmu_part slots[] = {{"cpu_core", "intel-topdown-l1/1", 60, 3e9, NULL},
					 {"cpu_atom", "intel-atom-retiring/1", 20, 1e9, NULL}};
	char method[128], why[300];

	(void)state;
	assert_float_equal(total(ipc, 2, method, why), 2.6, 1e-9);
	assert_string_equal(method, "ipc/1");
	assert_string_equal(why, "");
	assert_float_equal(total(slots, 2, method, why), 50, 1e-9);
	assert_string_equal(method, "intel-topdown-l1/1+intel-atom-retiring/1");
}

/* E cores without the event: no total, and never the P cores' value in its place. */
static void a_total_lacks_no_part(void **state)
{
	struct pmu_part part[] = {{"cpu_core", "intel-stalls-total/1", 70, 4e9, NULL},
				  {"cpu_atom", NULL, NAN, 1e6, "E-cores have no such event"}};
	char method[128], why[300];

	(void)state;
	assert_true(isnan(total(part, 2, method, why)));
	assert_string_equal(why,
			    "not available: the total lacks cpu_atom: E-cores have no such event");
	/* Nothing ran on them: nothing is lacking. */
	part[1] = (struct pmu_part){"cpu_atom", NULL, NAN, 0, NULL};
	assert_float_equal(total(part, 2, method, why), 70, 1e-9);
	assert_string_equal(method, "intel-stalls-total/1");
	part[0] = part[1];
	assert_true(isnan(total(part, 2, method, why)));
	assert_non_null(strstr(why, "nothing ran"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans),
		cmocka_unit_test(formulas),
		cmocka_unit_test(impossible_values),
		cmocka_unit_test(implausible),
		cmocka_unit_test(states),
		cmocka_unit_test(sums),
		cmocka_unit_test(trust),
		cmocka_unit_test(totals_of_a_hybrid),
		cmocka_unit_test(a_total_lacks_no_part),
		cmocka_unit_test(error_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
