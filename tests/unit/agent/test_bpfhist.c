/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms that BPF programs fill: a program may be cut off between any two of its writes, and
 * the times of a request whose entry outlives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "agent/bpf/io_times.h"
#include "agent/bpfhist.h"

/* The writes of HIST_ADD in its order, as far as `steps` goes. */
static void add(struct bpf_hist *h, uint64_t ns, int from, int steps)
{
	for (int i = from; i < steps; i++) {
		if (i == 0)
			h->count++;
		else if (i == 1)
			h->sum += ns;
		else if (i == 2 && ns > h->max)
			h->max = ns;
		else if (i == 3 && ~ns > h->min)
			h->min = ~ns;
		else if (i == 4)
			h->n[hist_slot((int64_t)ns)]++;
	}
}
#define WHOLE 5

static struct bpf_hist *from;
static struct hist_rec *to;

static int setup(void **state)
{
	(void)state;
	from = xcalloc(1, sizeof(*from));
	to = xcalloc(1, sizeof(*to));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(from);
	free(to);
	return 0;
}

static void check_rec(uint64_t count, int64_t min, int64_t max, int64_t sum)
{
	uint64_t n = 0;

	for (size_t i = 0; i < HIST_SLOTS; i++)
		n += to->n[i];
	assert_int_equal(n, count);
	assert_int_equal(to->count, count);
	assert_int_equal(to->min, min);
	assert_int_equal(to->max, max);
	assert_int_equal(to->sum, sum);
}

static void takes_and_empties(void **state)
{
	(void)state;
	add(from, 0, 0, WHOLE);
	add(from, 100, 0, WHOLE);
	add(from, 5000, 0, WHOLE);
	assert_true(bpfhist_open(from));
	assert_int_equal(bpfhist_take(from, to), 3);
	check_rec(3, 0, 5000, 5100);
	assert_false(bpfhist_open(from));
	assert_int_equal(bpfhist_take(from, to), 0);
	add(from, 7, 0, WHOLE);
	assert_int_equal(bpfhist_take(from, to), 1);
	check_rec(4, 0, 5000, 5107);
}

/* A program cut off after each of its writes: nothing is lost, and never a bucket without a count.
 */
static void a_cut_off_add_comes_with_the_next_take(void **state)
{
	(void)state;
	for (int cut = 0; cut < WHOLE; cut++) {
		uint64_t expected;

		memset(from, 0, sizeof(*from));
		memset(to, 0, sizeof(*to));
		add(from, 1000, 0, WHOLE);
		add(from, 90000, 0, cut);
		expected = bpfhist_take(from, to);
		assert_int_equal(expected, 1);
		assert_int_equal(to->count, 1);
		assert_in_range(to->min, hist_slot_lo(hist_slot(1000)), 1000);
		assert_in_range(to->max, 1000, hist_slot_hi(hist_slot(1000)) - 1);
		assert_int_equal(bpfhist_open(from), cut > 0);
		add(from, 90000, cut, WHOLE);
		assert_true(bpfhist_open(from));
		assert_int_equal(bpfhist_take(from, to), 1);
		assert_false(bpfhist_open(from));
		assert_int_equal(to->count, 2);
		assert_int_equal(to->sum, 91000);
		assert_in_range(to->max, hist_slot_lo(hist_slot(90000)),
				hist_slot_hi(hist_slot(90000)) - 1);
	}
}

/* What the old gate lost: the bucket was there, its count had been taken. */
static void a_bucket_without_extremes_has_those_of_its_bucket(void **state)
{
	(void)state;
	add(from, 90000, 0, WHOLE);
	from->min = from->max = from->sum = 0;
	assert_int_equal(bpfhist_take(from, to), 1);
	assert_in_range(to->min, hist_slot_lo(hist_slot(90000)), 90000);
	assert_in_range(to->max, hist_slot_lo(hist_slot(90000)), 90000);
}

static void turns_to_the_other_set(void **state)
{
	uint64_t control[2] = {0, 0};

	(void)state;
	assert_int_equal(bpfhist_flip(control), 0);
	assert_int_equal(bpfhist_idle(control), 0);
	assert_int_equal(bpfhist_flip(control), 1);
	assert_int_equal(bpfhist_idle(control), 1);
}

/* ---- the times of a request ---- */

static void insertion_issue_completion(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_insert(&t, 1000);
	io_times_issue(&t, 1300);
	assert_true(io_times_complete(&t, 2000, &ns, &total));
	assert_int_equal(ns, 700);
	assert_int_equal(total, 1000);
	assert_false(io_times_complete(&t, 2100, &ns, &total)); /* its second part */
}

static void direct_issue(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_issue(&t, 1300);
	assert_true(io_times_complete(&t, 2000, &ns, &total));
	assert_int_equal(ns, 700);
	assert_int_equal(total, 700);
}

/* The entry of a completed request could not be deleted; its address is used again. */
static void an_entry_that_was_not_deleted_is_no_slow_request(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_insert(&t, 1000);
	io_times_issue(&t, 1300);
	assert_true(io_times_complete(&t, 2000, &ns, &total));
	io_times_issue(&t, 5000000);
	assert_true(io_times_complete(&t, 5000400, &ns, &total));
	assert_int_equal(ns, 400);
	assert_int_equal(total, 400);
}

/* Its completion was missed. */
static void a_second_issue_is_another_request(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_insert(&t, 1000);
	io_times_issue(&t, 1300);
	io_times_issue(&t, 5000000);
	assert_true(io_times_complete(&t, 5000400, &ns, &total));
	assert_int_equal(total, 400);
}

static void a_requeued_request_waits_on(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_insert(&t, 1000);
	io_times_issue(&t, 1300);
	io_times_requeue(&t);
	assert_false(t.issue_ns);
	io_times_issue(&t, 9000);
	assert_true(io_times_complete(&t, 10000, &ns, &total));
	assert_int_equal(ns, 1000);
	assert_int_equal(total, 9000);
}

static void a_request_that_never_went_out_is_not_measured(void **state)
{
	struct io_times t = {0};
	unsigned long long ns, total;

	(void)state;
	io_times_insert(&t, 1000);
	assert_false(io_times_complete(&t, 2000, &ns, &total));
	assert_int_equal(t.insert_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(takes_and_empties, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cut_off_add_comes_with_the_next_take, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_bucket_without_extremes_has_those_of_its_bucket,
						setup, teardown),
		cmocka_unit_test(turns_to_the_other_set),
		cmocka_unit_test(insertion_issue_completion),
		cmocka_unit_test(direct_issue),
		cmocka_unit_test(an_entry_that_was_not_deleted_is_no_slow_request),
		cmocka_unit_test(a_second_issue_is_another_request),
		cmocka_unit_test(a_requeued_request_waits_on),
		cmocka_unit_test(a_request_that_never_went_out_is_not_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
