/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of cyclictest, cyclicdeadline, signaltest and jitterdebugger without a histogram:
 *
 *   T: 0 ( 1234) P:80 I:1000 C:    100 Min:     14 Act:   31 Avg:   32 Max:      41
 *
 * Only the number of samples and the extremes are known. The last line of a thread counts. */
#include "common/import/formats.h"

#include <inttypes.h>
#include <stdio.h>

#define THREADS_MAX 4096

struct thread {
	int64_t index, interval_us, min, max;
	uint64_t cycles;
	bool jitterdebugger, signaltest;
};

/* The number behind "name:" and blanks. */
static bool value_of(struct span line, const char *name, int64_t *ret)
{
	const char *at = span_find(line, name);
	struct span word, rest;

	if (!at)
		return false;
	rest = span_from(line, at + strlen(name));
	return span_word(&rest, &word) && span_i64(word, ret);
}

static bool parse_line(struct span line, struct thread *ret)
{
	const char *start = span_find(line, "T:");
	int64_t cycles, ignored;

	memset(ret, 0, sizeof(*ret));
	if (!start)
		return false;
	line = span_from(line, start);
	if (!value_of(line, "T:", &ret->index) || !value_of(line, " C:", &cycles) ||
	    !value_of(line, " Min:", &ret->min) || !value_of(line, " Max:", &ret->max) ||
	    cycles < 0 || ret->index < 0)
		return false;
	ret->cycles = (uint64_t)cycles;
	ret->jitterdebugger = value_of(line, " A:", &ignored);
	if (!value_of(line, " I:", &ret->interval_us))
		ret->signaltest = !ret->jitterdebugger;
	return true;
}

static int add_thread(const struct thread *t, struct run *r, int64_t unit, struct err *reterr)
{
	const char *metric = t->signaltest ? "signal_latency" : "wakeup_latency";
	const char *method = t->signaltest	 ? "signaltest"
			     : t->jitterdebugger ? "jitterdebugger"
						 : "cyclictest";
	struct series *s;
	char label[24];

	if (!t->cycles)
		return 0;
	if (t->min > t->max || t->min < 0 || t->max > INT64_MAX / NS_PER_SEC ||
	    t->interval_us > INT64_MAX / NS_PER_US)
		return err_set(reterr, ERR_INVALID,
			       "thread %" PRId64 ": Min %" PRId64 " and Max %" PRId64
			       " are impossible",
			       t->index, t->min, t->max);
	s = import_range(r, metric, method, t->cycles, t->min * unit, t->max * unit);
	(void)snprintf(label, sizeof(label), "%" PRId64, t->index);
	labels_set(&s->labels, "thread", label);
	s->resolution_ns = unit;
	s->interval_ns = t->interval_us > 0 ? t->interval_us * NS_PER_US : 0;
	if (!t->signaltest)
		s->omission = t->jitterdebugger ? OMISSION_KEEPS_DEADLINES : OMISSION_SKIPS_MISSED;
	return 0;
}

static int read_lines(struct scan *s, struct thread *threads, size_t *ret_n, struct err *reterr)
{
	struct span line;
	struct thread t;

	while (scan_line(s, &line)) {
		if (!parse_line(line, &t))
			continue;
		if (t.index >= THREADS_MAX)
			return scan_error(s, NULL, reterr, "more than %d threads", THREADS_MAX);
		threads[t.index] = t;
		if ((size_t)t.index >= *ret_n)
			*ret_n = (size_t)t.index + 1;
	}
	return 0;
}

static int live_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		     struct err *reterr)
{
	struct thread *threads = xcalloc(THREADS_MAX, sizeof(*threads));
	struct run *r = import_run(ret, o);
	struct scan s;
	int64_t unit;
	size_t n = 0;
	int rc = import_unit(r, o, 0, NS_PER_US, "the default of these programs", &unit, reterr);

	scan_init(&s, data, len, o);
	rc = rc ? rc : read_lines(&s, threads, &n, reterr);
	for (size_t i = 0; !rc && i < n; i++)
		if (add_thread(&threads[i], r, unit, reterr))
			rc = err_prefix(reterr, "%s: ", s.source);
	free(threads);
	if (!rc && n)
		run_note(
			r, "no-histogram",
			"run without -h, so only the number of samples and the extremes are known");
	return rc;
}

static int live_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct thread t;
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (parse_line(line, &t))
			return 60;
	return 0;
}

const struct import_format import_cyclictest_live = {
	.name = "cyclictest-lines",
	.title = "cyclictest without a histogram (T: C: Min: Max:)",
	.sniff = live_sniff,
	.read = live_read,
};
