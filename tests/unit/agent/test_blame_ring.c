/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the flight recorder's ring: wrapped at every offset, half written, never filled, lapped
 * while it is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "agent/blame_recorder.h"

static struct blame_ring *ring;
static struct blame_event out[BLAME_RING_SLOTS];

static struct blame_slot *put(uint64_t t_ns, unsigned int kind)
{
	uint64_t at = ring->head++;
	struct blame_slot *s = &ring->slot[at % BLAME_RING_SLOTS];

	memset(s, 0, sizeof(*s));
	s->t_ns = t_ns;
	s->kind = (unsigned char)kind;
	s->id = (unsigned int)at;
	s->seq = at + 1;
	return s;
}

static int setup(void **state)
{
	(void)state;
	ring = xcalloc(1, sizeof(*ring));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(ring);
	return 0;
}

/* Ten events 100..1000, a switch at 200 and one at 1000; asked for [450, 800]. */
static void fill(void)
{
	for (uint64_t t = 100; t <= 1000; t += 100)
		put(t, t == 200 || t == 1000 ? BLAME_SWITCH : BLAME_IRQ_OUT);
}

static void check_fill(const struct blame_read *r)
{
	assert_int_equal(r->n, 8); /* 200 .. 800 and the switch behind */
	assert_int_equal(out[0].t_ns, 200);
	assert_int_equal(out[6].t_ns, 800);
	assert_int_equal(out[7].t_ns, 1000);
	assert_false(r->lost);
	assert_false(r->truncated);
}

static void test_every_offset_of_the_ring_end(void **state)
{
	(void)state;
	for (uint64_t offset = 0; offset < 12; offset++) {
		struct blame_read r;

		memset(ring, 0, sizeof(*ring));
		ring->head = 3ull * BLAME_RING_SLOTS - offset;
		fill();
		r = blame_ring_read(ring, 450, 800, out, BLAME_RING_SLOTS);
		check_fill(&r);
	}
}

static void test_empty_and_short_rings(void **state)
{
	struct blame_read r;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	r = blame_ring_read(ring, 450, 800, out, BLAME_RING_SLOTS);
	assert_int_equal(r.n, 0);
	assert_true(r.truncated);
	put(500, BLAME_IRQ_OUT); /* no switch before the range */
	r = blame_ring_read(ring, 450, 800, out, BLAME_RING_SLOTS);
	assert_int_equal(r.n, 1);
	assert_true(r.truncated);
}

static void test_half_written_slot_is_loss_only_inside_the_range(void **state)
{
	struct blame_read r;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	fill();
	ring->slot[5].seq = 0; /* 600 */
	r = blame_ring_read(ring, 450, 800, out, BLAME_RING_SLOTS);
	assert_true(r.lost);
	assert_int_equal(r.n, 7);
	memset(ring, 0, sizeof(*ring));
	fill();
	ring->slot[8].seq = 0; /* 900: behind the range, before the switch that ends it */
	r = blame_ring_read(ring, 450, 700, out, BLAME_RING_SLOTS);
	assert_false(r.lost);
}

static void test_lapped_ring_is_truncated_not_lost(void **state)
{
	struct blame_read r;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	for (uint64_t i = 0; i < BLAME_RING_SLOTS + 100; i++)
		put(1000 + i, BLAME_IRQ_OUT);
	r = blame_ring_read(ring, 5, 1000 + BLAME_RING_SLOTS + 50, out, BLAME_RING_SLOTS);
	assert_true(r.truncated);
	assert_false(r.lost);
	assert_int_equal(out[0].t_ns, 1100);
}

static void test_small_buffer(void **state)
{
	struct blame_read r;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	fill();
	r = blame_ring_read(ring, 450, 800, out, 3);
	assert_int_equal(r.n, 3);
	assert_true(r.truncated);
	assert_int_equal(out[2].t_ns, 1000);
}

static void test_stale_names_are_not_shown(void **state)
{
	struct blame_read r;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	put(100, BLAME_SWITCH);
	(void)snprintf(put(500, BLAME_SOFTIRQ_IN)->name, BLAME_NAME_LEN, "old name");
	r = blame_ring_read(ring, 450, 800, out, 10);
	assert_int_equal(r.n, 2);
	assert_string_equal(out[1].name, "");
}

static void put_switch(uint64_t t_ns, unsigned int prev, unsigned int next, unsigned int state)
{
	struct blame_slot *s = put(t_ns, BLAME_SWITCH);

	s->id = prev;
	s->id2 = next;
	s->prev_state = (unsigned char)state;
}

/* The last own switch decides, however many others came after it. */
static void test_stopped_before_the_window(void **state)
{
	struct blame_event e;

	(void)state;
	memset(ring, 0, sizeof(*ring));
	assert_false(blame_ring_stop(ring, 1000, 77, &e)); /* nothing is known */
	put_switch(100, 77, 9, 1);
	assert_false(blame_ring_stop(ring, 1000, 77, &e)); /* it sleeps */
	put_switch(200, 9, 77, 0);
	put_switch(300, 77, 9, 4);
	for (uint64_t t = 400; t < 900; t += 100)
		put_switch(t, 9, 10, 0);
	put(950, BLAME_IRQ_IN)->id = 77; /* a number of something else */
	assert_true(blame_ring_stop(ring, 1000, 77, &e));
	assert_int_equal(e.t_ns, 300);
	assert_false(blame_ring_stop(ring, 250, 77, &e)); /* before that it ran */
	put_switch(960, 9, 77, 0);
	assert_false(blame_ring_stop(ring, 1000, 77, &e)); /* and it goes on */
	assert_true(blame_ring_stop(ring, 955, 77, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_offset_of_the_ring_end),
		cmocka_unit_test(test_empty_and_short_rings),
		cmocka_unit_test(test_half_written_slot_is_loss_only_inside_the_range),
		cmocka_unit_test(test_lapped_ring_is_truncated_not_lost),
		cmocka_unit_test(test_small_buffer),
		cmocka_unit_test(test_stale_names_are_not_shown),
		cmocka_unit_test(test_stopped_before_the_window),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
