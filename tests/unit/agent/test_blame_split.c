/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The synthetic sequences of the blame analyser. Times are us after an arbitrary origin; due is
 * 1000. In every case the parts must sum to the lateness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "agent/blame_split.h"

#define US(x)  ((int64_t)(x)*1000)
#define OURS   77
#define SWAP   0 /* idle */
#define RT     19
#define NORMAL 120

static struct blame_event ev[128];
static size_t n_ev;
static struct blame_window win;

static void fresh(int64_t run_us)
{
	memset(ev, 0, sizeof(ev));
	n_ev = 0;
	win = (struct blame_window){.events = ev,
				    .due_ns = US(1000),
				    .run_ns = US(run_us),
				    .tid = OURS,
				    .has_steal = true};
}

static struct blame_event *at(int64_t t_us, unsigned int kind, unsigned int id, unsigned int id2)
{
	struct blame_event *e = &ev[n_ev++];

	e->t_ns = US(t_us);
	e->kind = (uint8_t)kind;
	e->id = id;
	e->id2 = id2;
	win.n = n_ev;
	return e;
}

static const char *comm_of(unsigned int pid)
{
	switch (pid) {
	case OURS:
		return "rigstat-wake";
	case SWAP:
		return "swapper/0";
	case 5:
		return "hog";
	case 6:
		return "irq/24-vda";
	default:
		return "other";
	}
}

static struct blame_event *sw(int64_t t_us, unsigned int prev, unsigned int next, int prio)
{
	struct blame_event *e = at(t_us, BLAME_SWITCH, prev, next);

	e->next_prio = (int16_t)prio;
	e->prev_state = prev == OURS ? 1 : 0;
	(void)snprintf(e->name, sizeof(e->name), "%s", comm_of(next));
	(void)snprintf(e->prev_name, sizeof(e->prev_name), "%s", comm_of(prev));
	return e;
}

static void irq(int64_t in_us, int64_t out_us, unsigned int id, const char *name)
{
	(void)snprintf(at(in_us, BLAME_IRQ_IN, id, 0)->name, BLAME_NAME_LEN, "%s", name);
	at(out_us, BLAME_IRQ_OUT, id, 0);
}

/* Our timer's interrupt with our waking inside. */
static void timer(int64_t in_us, int64_t waking_us, int64_t out_us)
{
	at(in_us, BLAME_VECTOR_IN, BLAME_LOCAL_TIMER, 0);
	at(waking_us, BLAME_WAKING, 0, OURS);
	at(out_us, BLAME_VECTOR_OUT, BLAME_LOCAL_TIMER, 0);
}

static struct blame_split split(void)
{
	struct blame_split s;
	int64_t sum = 0;

	blame_split(&win, &s);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(s.holders[i].ns > 0);
		assert_true(i == 0 || s.holders[i - 1].ns >= s.holders[i].ns);
		sum += s.holders[i].ns;
	}
	assert_true(sum == win.run_ns - win.due_ns);
	return s;
}

static void has(const struct blame_split *s, const char *name, int64_t us)
{
	int64_t ns = 0;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->holders[i].name, name))
			ns += s->holders[i].ns;
	assert_int_equal(ns / 1000, us);
}

static void reason_is(const struct blame_split *s, const char *name, const char *reason)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->holders[i].name, name) && s->holders[i].reason &&
		    strstr(s->holders[i].reason, reason))
			return;
	fail_msg("no holder '%s' with reason '%s'", name, reason);
}

static void t01_hog_preempts_before_due(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(3000);
	sw(500, OURS, SWAP, NORMAL);
	sw(800, SWAP, 5, 0);
	timer(1002, 1003, 1005);
	sw(2990, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 2 + 1985);
	has(&s, "irq local_timer", 3);
	has(&s, "self", 10);
	reason_is(&s, "task hog", "preempted us");
	assert_string_equal(s.holders[0].name, "task hog");
}

static void t02_hog_starts_after_waking(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(2000);
	sw(500, OURS, SWAP, NORMAL);
	timer(1010, 1011, 1015);
	sw(1016, SWAP, 5, 0);
	sw(1990, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 974);
	has(&s, "idle", 11);
	reason_is(&s, "idle", "timer late in idle");
}

static void t03_lower_priority_task_was_not_preempted(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	sw(500, OURS, 9, NORMAL);
	timer(1001, 1002, 1004);
	sw(1490, 9, OURS, RT);
	s = split();
	has(&s, "task other", 1 + 486);
	reason_is(&s, "task other", "not preemptible");
}

static void t04_softirq_over_task_with_nested_timer(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(2000);
	sw(500, OURS, 9, NORMAL);
	at(990, BLAME_SOFTIRQ_IN, 3, 0);
	timer(1001, 1002, 1005);
	at(1900, BLAME_SOFTIRQ_OUT, 3, 0);
	sw(1950, 9, OURS, RT);
	s = split();
	has(&s, "softirq NET_RX", 1 + 895);
	has(&s, "irq local_timer", 4);
	has(&s, "task other", 50);
	has(&s, "self", 50);
}

static void t05_interrupt_in_softirq_in_task(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(2000);
	sw(500, OURS, 9, NORMAL);
	timer(1001, 1002, 1005);
	at(1010, BLAME_SOFTIRQ_IN, 4, 0);
	irq(1100, 1300, 24, "vda");
	at(1600, BLAME_SOFTIRQ_OUT, 4, 0);
	sw(1700, 9, OURS, RT);
	s = split();
	has(&s, "irq vda", 200);
	has(&s, "softirq BLOCK", 390);
	has(&s, "task other", 1 + 5 + 100);
}

static void t06_exit_without_entry_was_open_at_due(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1400);
	at(1200, BLAME_VECTOR_OUT, BLAME_RESCHEDULE, 0); /* inner: ends first */
	at(1300, BLAME_SOFTIRQ_OUT, 9, 0);
	timer(1310, 1311, 1312);
	sw(1390, 9, OURS, RT);
	s = split();
	has(&s, "irq reschedule", 200);
	has(&s, "softirq RCU", 100);
	has(&s, "task other", 10 + 78);
}

static void t07_entry_without_exit_ends_at_the_switch(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	sw(500, OURS, 9, NORMAL);
	timer(1001, 1002, 1004);
	at(1100, BLAME_SOFTIRQ_IN, 3, 0);
	sw(1200, 9, 5, 0);
	sw(1490, 5, OURS, RT);
	s = split();
	has(&s, "softirq NET_RX", 100);
	has(&s, "task hog", 290);
}

static void t08_no_event(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	s = split();
	has(&s, "unattributed", 500);
	reason_is(&s, "unattributed", "no event");
}

static void t09_ring_begins_after_due(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	win.truncated = true;
	timer(1300, 1301, 1305);
	sw(1400, 5, OURS, RT);
	s = split();
	has(&s, "unattributed", 300);
	reason_is(&s, "unattributed", "began after");
	has(&s, "task hog", 95);
}

static void t10_foreign_timer_before_ours(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	sw(500, OURS, SWAP, NORMAL);
	at(1050, BLAME_VECTOR_IN, BLAME_LOCAL_TIMER, 0);
	at(1060, BLAME_VECTOR_OUT, BLAME_LOCAL_TIMER, 0);
	timer(1400, 1401, 1405);
	sw(1420, SWAP, OURS, RT);
	s = split();
	assert_true(s.timer_ns == US(1400));
	has(&s, "idle", 50 + 340 + 15);
	reason_is(&s, "idle", "timer late in idle");
	reason_is(&s, "idle", "idle exit");
}

static void t11_two_wakings_do_not_underflow(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	sw(500, OURS, SWAP, NORMAL);
	timer(1010, 1011, 1015);
	at(1200, BLAME_WAKING, 0, OURS);
	sw(1250, SWAP, OURS, RT);
	s = split();
	assert_true(s.waking_ns == US(1200));
	assert_true(s.switch_in_ns == US(1250));
	has(&s, "self", 250);
}

static void t12_waking_on_another_cpu(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1300);
	sw(500, OURS, SWAP, NORMAL);
	sw(1280, SWAP, OURS, RT);
	s = split();
	reason_is(&s, "unattributed", "our waking was not seen");
	/* The reader found it in the other CPU's ring. */
	fresh(1300);
	sw(500, OURS, SWAP, NORMAL);
	at(1250, BLAME_WAKING, 0, OURS);
	sw(1280, SWAP, OURS, RT);
	s = split();
	has(&s, "idle", 280);
}

static void t13_stopped_thread(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(51000);
	sw(900, OURS, SWAP, NORMAL)->prev_state = 4;
	at(50900, BLAME_WAKING, 0, OURS);
	sw(50950, SWAP, OURS, RT);
	s = split();
	has(&s, "stopped", 49900);
	assert_int_equal(s.holders[0].kind, HOLDER_STOPPED);
}

static void t13_stopped_then_a_short_sleep(void **state)
{
	struct blame_split s;

	(void)state;
	/* The restarted sleep has its deadline behind it and sleeps for an instant. */
	fresh(51000);
	sw(900, OURS, SWAP, NORMAL)->prev_state = 4;
	at(50900, BLAME_WAKING, 0, OURS);
	sw(50910, SWAP, OURS, RT);
	sw(50920, OURS, SWAP, NORMAL);
	timer(50925, 50926, 50927);
	sw(50940, SWAP, OURS, RT);
	s = split();
	has(&s, "stopped", 49900);
}

/* A busy CPU: others ran long after the stop and before due; its waking was on another CPU. */
static void t13_stopped_while_others_ran(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(51000);
	sw(100, OURS, 9, NORMAL)->prev_state = 4;
	sw(900, 9, 5, NORMAL);
	sw(20000, 5, 9, NORMAL);
	sw(50950, 9, OURS, RT);
	s = split();
	has(&s, "stopped", 49950);
	has(&s, "self", 50);
	assert_int_equal(s.holders[0].kind, HOLDER_STOPPED);
	assert_int_equal(s.n, 2);
}

static void t14_timer_late_in_idle_with_and_without_steal(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(3000);
	sw(500, OURS, SWAP, NORMAL)->steal_ns = US(100);
	timer(2980, 2981, 2983);
	sw(2990, SWAP, OURS, RT)->steal_ns = US(100 + 1800);
	s = split();
	has(&s, "steal", 1800);
	has(&s, "idle", 1980 + 7 - 1800);
	win.has_steal = false;
	s = split();
	has(&s, "steal", 0);
	reason_is(&s, "unattributed", "or host steal");
}

static void t15_steal_larger_than_the_window_is_cut(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	sw(500, OURS, SWAP, NORMAL)->steal_ns = US(5);
	timer(1480, 1481, 1482);
	sw(1490, SWAP, OURS, RT)->steal_ns = US(9000);
	s = split();
	has(&s, "steal", 500);
	assert_int_equal(s.n, 1);
}

static void t16_steal_after_switch_in(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(2000);
	sw(500, OURS, SWAP, NORMAL)->steal_ns = US(5);
	timer(1010, 1011, 1012);
	sw(1020, SWAP, OURS, RT)->steal_ns = US(5);
	sw(2010, OURS, SWAP, NORMAL)->steal_ns = US(905);
	s = split();
	has(&s, "steal", 900);
	has(&s, "self", 80);
}

static void t17_gap_inside_an_interrupt(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(2000);
	win.has_steal = false;
	sw(500, OURS, 9, NORMAL);
	timer(1001, 1900, 1902);
	sw(1990, 9, OURS, RT);
	s = split();
	has(&s, "unattributed", 899);
	reason_is(&s, "unattributed", "inside an interrupt");
	win.has_steal = true;
	s = split();
	has(&s, "irq local_timer", 901);
}

static void t18_events_out_of_order(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(3000);
	sw(2990, 5, OURS, RT);
	at(1005, BLAME_VECTOR_OUT, BLAME_LOCAL_TIMER, 0);
	at(1003, BLAME_WAKING, 0, OURS);
	sw(800, SWAP, 5, 0);
	at(1002, BLAME_VECTOR_IN, BLAME_LOCAL_TIMER, 0);
	sw(500, OURS, SWAP, NORMAL);
	s = split();
	has(&s, "task hog", 1987);
	has(&s, "irq local_timer", 3);
}

static void t19_equal_time_stamps(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1100);
	sw(500, OURS, 9, NORMAL);
	timer(1000, 1000, 1000);
	sw(1050, 9, 5, 0);
	sw(1050, 5, OURS, RT);
	s = split();
	has(&s, "task other", 50);
	has(&s, "self", 50);
}

static void t23_lost_events(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	win.lost = true;
	timer(1001, 1002, 1003);
	s = split();
	has(&s, "unattributed", 500);
	reason_is(&s, "unattributed", "lost");
}

static void t25_unknown_event_kind(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1200);
	sw(500, OURS, 5, 0);
	at(1001, 99, 1, 2);
	timer(1010, 1011, 1012);
	sw(1190, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 188);
}

static void t27_names(void **state)
{
	static const struct {
		char comm[BLAME_NAME_LEN + 1];
		const char *want;
		enum blame_holder_kind kind;
	} cases[] = {
		{"irq/24-vda", "irq vda", HOLDER_IRQ},
		{"irq/9-acpi", "irq acpi", HOLDER_IRQ},
		{"kworker/3:1H", "task kworker", HOLDER_TASK},
		{"kworker/u8:2-ev", "task kworker", HOLDER_TASK},
		{"ksoftirqd/0", "task ksoftirqd", HOLDER_TASK},
		{"migration/11", "task migration", HOLDER_TASK},
		{"0123456789abcdef", "task 0123456789abcdef", HOLDER_TASK},
		{"a\nb\x1b", "task a?b?", HOLDER_TASK},
		{"", "task pid 42", HOLDER_TASK},
		{"a/b", "task a/b", HOLDER_TASK},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		enum blame_holder_kind kind;
		const char *reason = NULL;
		char name[40];

		blame_task_name(cases[i].comm, 42, name, sizeof(name), &kind, &reason);
		assert_string_equal(name, cases[i].want);
		assert_int_equal(kind, cases[i].kind);
	}
}

static void t27_threaded_and_hard_interrupt_are_one_cause(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1300);
	sw(500, OURS, 9, NORMAL);
	timer(1001, 1002, 1003);
	irq(1010, 1020, 24, "vda");
	sw(1030, 9, 6, 9);
	sw(1200, 6, OURS, RT);
	s = split();
	has(&s, "irq vda", 180);
	reason_is(&s, "irq vda", "hard interrupt");
	reason_is(&s, "irq vda", "threaded handler");
}

static void t28_due_exactly_on_an_event(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1200);
	sw(1000, OURS, 5, 0);
	timer(1010, 1011, 1012);
	sw(1150, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 148);
}

static void t29_run_a_little_before_switch_in_or_due(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1100);
	sw(500, OURS, 5, 0);
	timer(1010, 1011, 1012);
	sw(1100, 5, OURS, RT)->t_ns += 300;
	s = split();
	has(&s, "task hog", 98);
	reason_is(&s, "task hog", "preempted us");
	fresh(1000);
	win.run_ns = win.due_ns - 5;
	blame_split(&win, &s);
	assert_int_equal(s.n, 0);
}

static uint64_t seed = 7046029254386353131ull;

static unsigned int rnd(unsigned int below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned int)(seed % below);
}

static void t30_parts_sum_to_the_lateness(void **state)
{
	(void)state;
	for (int round = 0; round < 20000; round++) {
		fresh(1001 + rnd(2000));
		for (unsigned int i = rnd(60); i; i--) {
			struct blame_event *e = at(rnd(3500), 1 + rnd(9), rnd(4) ? rnd(12) : OURS,
						   rnd(3) ? rnd(12) : OURS);

			e->steal_ns = (uint64_t)US(rnd(4000));
			e->prev_state = (uint8_t)rnd(16);
			e->next_prio = (int16_t)rnd(140);
			if (rnd(2))
				(void)snprintf(e->name, sizeof(e->name), "n%u", rnd(30));
		}
		win.has_steal = rnd(2);
		win.blind_idle = rnd(4) == 0;
		win.truncated = rnd(4) == 0;
		(void)split();
	}
}

static void t31_many_holders_still_sum(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(3000);
	sw(500, OURS, 9, NORMAL)->steal_ns = 1;
	timer(1001, 1002, 1003);
	for (unsigned int i = 0; i < 25; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "dev%u", i);
		irq(1010 + 20 * i, 1020 + 20 * i, 30 + i, name);
	}
	sw(2900, 9, OURS, RT)->steal_ns = (uint64_t)US(300);
	s = split();
	assert_true(s.n <= BLAME_HOLDERS_MAX);
	reason_is(&s, "unattributed", "more holders");
	has(&s, "steal", 299);
}

static void t33_comm_changes_inside_the_window(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1400);
	(void)snprintf(sw(500, OURS, 9, NORMAL)->name, BLAME_NAME_LEN, "bash");
	timer(1001, 1002, 1003);
	(void)snprintf(sw(1100, 9, 5, 0)->prev_name, BLAME_NAME_LEN, "fio");
	sw(1390, 5, OURS, RT);
	s = split();
	has(&s, "task bash", 1 + 97);
	has(&s, "task hog", 290);
}

static void t34_blind_idle(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1500);
	win.blind_idle = true;
	sw(500, OURS, SWAP, NORMAL);
	timer(1400, 1401, 1405);
	sw(1420, SWAP, OURS, RT);
	s = split();
	has(&s, "idle", 0);
	reason_is(&s, "unattributed", "blind");
}

static void t35_preempted_after_switch_in(void **state)
{
	struct blame_split s;

	(void)state;
	fresh(1600);
	sw(500, OURS, SWAP, NORMAL);
	timer(1001, 1002, 1003);
	sw(1010, SWAP, OURS, RT);
	sw(1011, OURS, 5, 0)->prev_state = 0;
	sw(1590, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 579);
	reason_is(&s, "task hog", "preempted us");
}

static void t36_late_sample_of_a_long_stall(void **state)
{
	struct blame_split s;

	(void)state;
	/* Woken before this due time: the whole window lies behind one stall. */
	fresh(3000);
	sw(100, OURS, SWAP, NORMAL);
	timer(201, 202, 203);
	sw(204, SWAP, 5, 0);
	sw(2980, 5, OURS, RT);
	s = split();
	has(&s, "task hog", 1980);
	reason_is(&s, "task hog", "preempted us");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t01_hog_preempts_before_due),
		cmocka_unit_test(t02_hog_starts_after_waking),
		cmocka_unit_test(t03_lower_priority_task_was_not_preempted),
		cmocka_unit_test(t04_softirq_over_task_with_nested_timer),
		cmocka_unit_test(t05_interrupt_in_softirq_in_task),
		cmocka_unit_test(t06_exit_without_entry_was_open_at_due),
		cmocka_unit_test(t07_entry_without_exit_ends_at_the_switch),
		cmocka_unit_test(t08_no_event),
		cmocka_unit_test(t09_ring_begins_after_due),
		cmocka_unit_test(t10_foreign_timer_before_ours),
		cmocka_unit_test(t11_two_wakings_do_not_underflow),
		cmocka_unit_test(t12_waking_on_another_cpu),
		cmocka_unit_test(t13_stopped_thread),
		cmocka_unit_test(t13_stopped_then_a_short_sleep),
		cmocka_unit_test(t13_stopped_while_others_ran),
		cmocka_unit_test(t14_timer_late_in_idle_with_and_without_steal),
		cmocka_unit_test(t15_steal_larger_than_the_window_is_cut),
		cmocka_unit_test(t16_steal_after_switch_in),
		cmocka_unit_test(t17_gap_inside_an_interrupt),
		cmocka_unit_test(t18_events_out_of_order),
		cmocka_unit_test(t19_equal_time_stamps),
		cmocka_unit_test(t23_lost_events),
		cmocka_unit_test(t25_unknown_event_kind),
		cmocka_unit_test(t27_names),
		cmocka_unit_test(t27_threaded_and_hard_interrupt_are_one_cause),
		cmocka_unit_test(t28_due_exactly_on_an_event),
		cmocka_unit_test(t29_run_a_little_before_switch_in_or_due),
		cmocka_unit_test(t30_parts_sum_to_the_lateness),
		cmocka_unit_test(t31_many_holders_still_sum),
		cmocka_unit_test(t33_comm_changes_inside_the_window),
		cmocka_unit_test(t34_blind_idle),
		cmocka_unit_test(t35_preempted_after_switch_in),
		cmocka_unit_test(t36_late_sample_of_a_long_stall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
