/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a record: reading must be safe, and what is accepted must satisfy its invariants. */
#include "common/check.h"
#include "common/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_hist(const struct record_item *it)
{
	struct item_hist ih;
	struct hist h CLEANUP(hist_done) = {0};
	struct err err;

	if (item_hist_read(it, &ih, &err))
		return;
	if (!hist_decode(&h, &ih.hist, &err))
		CHECK(!hist_check(&h, &err));
}

static void read_counter(const struct record_item *it)
{
	struct item_counter c;
	struct counter_sample s;
	struct err err;

	if (item_counter_read(it, &c, &err))
		return;
	for (uint64_t i = 0; i < c.n && !item_counter_next(&c, &s, &err); i++)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_header h;
	struct record_item it;
	struct err err;
	struct reader r;

	/* The checksum would stop nearly every mutation, so items are read without it too. */
	if (!record_check(data, size, &h, &err))
		CHECK(h.length <= size);
	r = reader_of(data, size);
	while (record_next_item(&r, &it, &err) == 1) {
		const char *json;
		size_t len;
		uint64_t number;
		unsigned int phase;
		int64_t t;
		double v;

		read_hist(&it);
		read_counter(&it);
		(void)!item_series_read(&it, &number, &json, &len, &err);
		(void)!item_value_read(&it, &number, &v, &err);
		(void)!item_phase_read(&it, &phase, &t, &err);
	}
	return 0;
}
