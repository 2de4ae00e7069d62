/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/exceed.h"

#include <math.h>

const struct exceed_step exceed_steps[EXCEED_STEPS] = {
	{"ppm_over_10us", 10000},    {"ppm_over_20us", 20000},	 {"ppm_over_50us", 50000},
	{"ppm_over_100us", 100000},  {"ppm_over_200us", 200000}, {"ppm_over_500us", 500000},
	{"ppm_over_1ms", 1000000},   {"ppm_over_2ms", 2000000},	 {"ppm_over_5ms", 5000000},
	{"ppm_over_10ms", 10000000},
};

struct exceed_share exceed_share(const struct hist *h, int64_t threshold_ns)
{
	struct hist_above above = hist_count_above(h, threshold_ns);
	double count = (double)h->count;

	if (!h->count)
		return (struct exceed_share){NAN, NAN};
	return (struct exceed_share){1e6 * (double)above.lo / count,
				     1e6 * (double)above.hi / count};
}
