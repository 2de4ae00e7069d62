/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence about a rate: against numerical integrals, and by simulation under the null. */
#include "common/check.h"
#include "common/stats/rate.h"
#include "common/stats/rng.h"
#include "compare_data.h"

/* log of int (l/L)^x exp(-(l-L)t) exp(-l/L)/L dl over the side / prior of the side, by
 * scipy.integrate.quad. */
static void test_against_quadrature(void **state)
{
	static const struct {
		double x, t, limit, above, below;
	} cases[] = {
		{0, 1, 1, -0.6931471805599451, 0.6201145069582775},
		{0, 4.3, 1, -1.6677068205580756, 3.085964231304538},
		{0, 2, 2, -1.6094379124340998, 2.8424764835034932},
		{3, 1, 1, 0.8649974374866045, -1.4679284893865832},
		{10, 2.5, 1, 4.823000005252964, -2.6058514515860534},
		{20, 6, 2, 1.4463500325556131, -2.7580520417532064},
		{5, 20, 1, -2.78943698186195, 6.978998955976748},
		{7, 0.1, 3, 7.726182969550978, -2.467437501978961},
	};
	struct rate_evidence v;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(rate_evidence(cases[i].x, cases[i].t, cases[i].limit, &v, &e), 0);
		assert_near(v.above, cases[i].above, 1e-8);
		assert_near(v.below, cases[i].below, 1e-8);
	}
	assert_int_equal(rate_evidence(1.5, 1, 1, &v, &e), ERR_INVALID);
	assert_int_equal(rate_evidence(1, 0, 1, &v, &e), ERR_INVALID);
	assert_int_equal(rate_evidence(1, 1, 0, &v, &e), ERR_INVALID);
}

/* A stream of 60 expected events is looked at after each event and just before it. */
static void looks(struct rng *r, double rate, bool *ret_above, bool *ret_below)
{
	struct rate_evidence v;
	struct err e;
	double t = 0;

	*ret_above = *ret_below = false;
	for (int x = 0; x < 60; x++) {
		t += rng_exponential(r) / rate;
		assert_int_equal(rate_evidence(x, t, 1, &v, &e), 0);
		*ret_below |= v.below >= log(20);
		assert_int_equal(rate_evidence(x + 1, t, 1, &v, &e), 0);
		*ret_above |= v.above >= log(20);
	}
}

static double share(double rate, bool want_above)
{
	struct rng r;
	int hits = 0;

	rng_init(&r, 7);
	for (int i = 0; i < 4000; i++) {
		bool above, below;

		looks(&r, rate, &above, &below);
		hits += want_above ? above : below;
	}
	return hits / 4000.0;
}

static void test_however_often_one_looks(void **state)
{
	const double slack = 3 * sqrt(0.05 * 0.95 / 4000);

	(void)state;
	assert_true(share(1, true) <= 0.05 + slack);
	assert_true(share(1, false) <= 0.05 + slack);
	assert_true(share(0.7, true) <= 0.05 + slack);
	assert_true(share(1.3, false) <= 0.05 + slack);
	/* and it does decide: twice and half the limit */
	assert_true(share(2, true) > 0.95);
	assert_true(share(0.5, false) > 0.95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_quadrature),
		cmocka_unit_test(test_however_often_one_looks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
