/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cyclictest -v: every sample, as "thread:cycle:latency". A cycle number that is missing is a
 * sample that was lost on the way out, and is counted. */
#include "common/import/formats.h"
#include "common/import/tally.h"

#include <inttypes.h>
#include <stdio.h>

#define THREADS_MAX 4096

struct verbose {
	struct scan scan;
	struct tally tally;	      /* key: the thread */
	uint64_t cycles[THREADS_MAX]; /* last number + 1 */
	uint64_t counts[THREADS_MAX];
};

static bool parse_line(struct span line, uint64_t *ret_thread, uint64_t *ret_cycle,
		       int64_t *ret_value)
{
	struct span thread, cycle, value;

	return span_field(&line, ':', &thread) && span_field(&line, ':', &cycle) &&
	       span_field(&line, ':', &value) && !line.p &&
	       span_u64(span_trim(thread), ret_thread) && span_u64(span_trim(cycle), ret_cycle) &&
	       span_i64(span_trim(value), ret_value);
}

static int add_sample(struct verbose *t, uint64_t thread, uint64_t cycle, int64_t value,
		      struct err *reterr)
{
	if (thread >= THREADS_MAX)
		return scan_error(&t->scan, NULL, reterr, "more than %d threads", THREADS_MAX);
	if (cycle >= INT64_MAX)
		return scan_error(&t->scan, NULL, reterr, "cycle %" PRIu64 " cannot be", cycle);
	if (cycle < t->cycles[thread])
		return scan_error(&t->scan, NULL, reterr,
				  "cycle %" PRIu64 " of thread %" PRIu64 " after cycle %" PRIu64
				  ": two files in one?",
				  cycle, thread, t->cycles[thread] - 1);
	t->cycles[thread] = cycle + 1;
	t->counts[thread]++;
	tally_add(&t->tally, (uint32_t)thread, value);
	return 0;
}

/* One thread's values in order. */
static int add_thread(const struct verbose *t, struct run *r, const struct tally_entry *v, size_t n,
		      int64_t unit, struct err *reterr)
{
	struct series *s = import_hist(r, "wakeup_latency", "cyclictest", unit);
	char label[16];

	(void)snprintf(label, sizeof(label), "%" PRIu32, v[0].key);
	labels_set(&s->labels, "thread", label);
	s->omission = OMISSION_SKIPS_MISSED;
	s->hist.scheme = HIST_LINEAR;
	s->hist.width = unit;
	for (size_t i = 0; i < n; i++) {
		if (import_bucket(&s->hist, v[i].value, unit, v[i].n, reterr))
			return err_prefix(reterr, "%s: thread %s: ", t->scan.source, label);
	}
	s->hist.lost = t->cycles[v[0].key] - t->counts[v[0].key];
	s->hist.has_min = !__builtin_mul_overflow(v[0].value, unit, &s->hist.min);
	s->hist.has_max = !__builtin_mul_overflow(v[n - 1].value, unit, &s->hist.max);
	return 0;
}

static int read_samples(struct verbose *t, struct err *reterr)
{
	uint64_t thread, cycle;
	struct span line;
	int64_t value;
	int rc = 0;

	while (!rc && scan_line(&t->scan, &line))
		if (parse_line(line, &thread, &cycle, &value))
			rc = add_sample(t, thread, cycle, value, reterr);
	if (!rc && !t->tally.len)
		return err_set(reterr, ERR_INVALID, "%s: no line \"thread:cycle:latency\"",
			       t->scan.source);
	return rc;
}

static int verbose_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	struct verbose *t = xcalloc(1, sizeof(*t));
	struct run *r = import_run(ret, o);
	int64_t unit;
	size_t end;
	int rc = import_unit(r, o, 0, NS_PER_US,
			     "cyclictest's default; with -N it prints nanoseconds", &unit, reterr);

	scan_init(&t->scan, data, len, o);
	rc = rc ? rc : read_samples(t, reterr);
	tally_settle(&t->tally);
	for (size_t i = 0; !rc && i < t->tally.len; i = end) {
		end = tally_key_end(&t->tally, i);
		rc = add_thread(t, r, t->tally.v + i, end - i, unit, reterr);
	}
	tally_done(&t->tally);
	free(t);
	return rc;
}

/* Several lines in a row: one could be a time of day. */
static int verbose_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	uint64_t thread, cycle, before = UINT64_MAX;
	int64_t value;
	struct scan s;
	int found = 0;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line)) {
		if (!parse_line(line, &thread, &cycle, &value) || thread >= THREADS_MAX)
			continue;
		found += cycle == before + 1 || cycle == before;
		before = cycle;
		if (found >= 3)
			return 75;
	}
	return 0;
}

const struct import_format import_cyclictest_verbose = {
	.name = "cyclictest-verbose",
	.title = "samples of cyclictest -v",
	.sniff = verbose_sniff,
	.read = verbose_read,
};
