/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Some hypervisors open every event and count nothing, or nonsense. Only a loop whose
 * instructions are known tells. */
#include "agent/pmu_group.h"

#include <stdio.h>

#define LOOPS	  5000000ull
#define PER_LOOP  2ull
#define TOLERANCE 0.02

/* Two instructions a turn, whatever the compiler thinks. False: not known for this CPU. */
static bool known_loop(uint64_t n)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned long left = (unsigned long)n;

	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(left) : : "cc");
	return true;
#elif defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
	return true;
#elif defined(__riscv)
	__asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
	return true;
#else
	(void)n;
	return false;
#endif
}

enum pmu_trust pmu_trust_of(uint64_t expected, uint64_t counted)
{
	double off = (double)counted / (double)expected - 1;

	return off >= -TOLERANCE && off <= TOLERANCE ? PMU_TRUSTED : PMU_UNTRUSTED;
}

static void set(struct pmu_selftest *ret, enum pmu_trust trust, const char *text)
{
	ret->trust = trust;
	snprintf(ret->text, sizeof(ret->text), "%s", text);
}

static void run_loop(struct pmu_group *g, struct pmu_selftest *ret)
{
	struct pmu_sum sum[PMU_GROUP_MAX];

	pmu_group_read(g, sum);
	if (!known_loop(LOOPS)) {
		set(ret, PMU_NOT_TESTED, "there is no known loop for this architecture");
		return;
	}
	pmu_group_read(g, sum);
	if (!pmu_state_has_value(sum[0].state) || !sum[0].running_ns) {
		set(ret, PMU_NOT_TESTED,
		    "the instruction counter was taken by another user during the self-test");
		return;
	}
	ret->counted = (uint64_t)(sum[0].scaled + 0.5);
	ret->trust = pmu_trust_of(ret->expected, ret->counted);
	snprintf(ret->text, sizeof(ret->text), "a loop of %llu instructions counts as %llu",
		 (unsigned long long)ret->expected, (unsigned long long)ret->counted);
}

void pmu_selftest(const char *root, struct pmu_selftest *ret)
{
	const struct pmu_target self = {.mode = PMU_TASK};
	struct pmu_event e;
	const struct pmu_event *events[] = {&e};
	struct pmu_group *g;
	char why[160];
	int error;

	*ret = (struct pmu_selftest){.expected = LOOPS * PER_LOOP};
	if (pmu_event_parse("instructions:u", root, &e, NULL)) {
		set(ret, PMU_NOT_TESTED, "instructions are no event here");
		return;
	}
	g = pmu_group_open(events, 1, &self);
	error = pmu_group_error(g, 0);
	if (error)
		set(ret, PMU_NO_PMU, pmu_error_text(error, PMU_TASK, why, sizeof(why)));
	else
		run_loop(g, ret);
	pmu_group_close(g);
}
