/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON of rt-tests: cyclictest, cyclicdeadline, oslat, ptsematest and its kin, signaltest,
 * rt-migrate-test. The shape of a thread says what it is; version strings lie (2.1 and 2.10 both
 * write "2.10").
 *
 * cyclictest has no overflow field: overflow = cycles - sum of the buckets. oslat's last bucket
 * holds everything above silently, and its keys are upper edges. */
#include "common/import/date.h"
#include "common/import/formats.h"
#include "common/import/json.h"
#include "common/import/rt_args.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define OSLAT_BUCKETS 32 /* default of -b */

struct rt {
	const struct import_options *o;
	const json_t *root;
	struct run *r;
	struct rt_args args;
	int64_t unit_ns;
};

/* One tool: how its threads look and how one is read. */
struct rt_shape {
	const char *key; /* a key that only this shape has */
	int (*read)(struct rt *t, const char *name, const json_t *thread, struct err *reterr);
};

static void label_cpu(struct series *s, const char *thread, const json_t *cpu)
{
	char text[24];

	labels_set(&s->labels, "thread", thread);
	if (!json_is_integer(cpu) || json_integer_value(cpu) < 0)
		return; /* -1: not pinned */
	(void)snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(cpu));
	labels_set(&s->labels, "cpu", text);
}

static int need_u64(const json_t *object, const char *key, uint64_t *ret, struct err *reterr)
{
	const json_t *v = json_object_get(object, key);

	if (json_get_u64(v, ret))
		return 0;
	return err_set(reterr, ERR_INVALID,
		       v ? "\"%s\" is not a whole number of 0 or more" : "\"%s\" is missing", key);
}

static int need_ns(const json_t *object, const char *key, int64_t unit_ns, int64_t *ret,
		   struct err *reterr)
{
	double v;

	if (!json_get_number(json_object_get(object, key), &v))
		return err_set(reterr, ERR_INVALID, "\"%s\" is missing or no number", key);
	if (!scale_ns(v, (double)unit_ns, ret))
		return err_set(reterr, ERR_INVALID, "\"%s\" is too large", key);
	return 0;
}

static void keep_avg(struct rt *t, const char *name, const json_t *thread)
{
	json_t *all = t->r->extra ? json_object_get(t->r->extra, "avg") : NULL;
	const json_t *avg = json_object_get(thread, "avg");

	if (!avg)
		return;
	if (!all) {
		all = json_object();
		import_extra(t->r, "avg", all);
	}
	(void)json_object_set(all, name, (json_t *)(uintptr_t)avg);
}

static int cyclic_buckets(const json_t *histogram, int64_t unit_ns, struct hist *h,
			  struct err *reterr)
{
	struct json_bin *bins;
	size_t len;
	int rc = json_bins(histogram, &bins, &len, reterr);

	if (rc)
		return rc;
	h->scheme = HIST_LINEAR;
	h->width = unit_ns;
	for (size_t i = 0; !rc && i < len; i++) {
		if (bins[i].key != floor(bins[i].key) || fabs(bins[i].key) > 9e15)
			rc = err_set(reterr, ERR_INVALID, "bin %.40s is not a whole number",
				     bins[i].text);
		else
			rc = import_bucket(h, (int64_t)bins[i].key, unit_ns, bins[i].n, reterr);
	}
	free(bins);
	return rc;
}

static int read_cyclic(struct rt *t, const char *name, const json_t *thread, struct err *reterr)
{
	const json_t *histogram = json_object_get(thread, "histogram");
	int64_t min = 0, max = 0, edge = 0;
	struct series *s;
	uint64_t cycles, index;
	int rc = need_u64(thread, "cycles", &cycles, reterr);

	if (!rc && cycles)
		rc = need_ns(thread, "min", t->unit_ns, &min, reterr);
	if (!rc && cycles)
		rc = need_ns(thread, "max", t->unit_ns, &max, reterr);
	if (rc)
		return rc;
	keep_avg(t, name, thread);
	if (!json_object_size(histogram) && !t->args.histogram) {
		s = import_range(t->r, "wakeup_latency", "cyclictest", cycles, min, max);
		run_note(
			t->r, "no-histogram",
			"thread %s: run without -h, so only the number of samples and the extremes "
			"are known",
			name);
	} else {
		s = import_hist(t->r, "wakeup_latency", "cyclictest", t->unit_ns);
		rc = cyclic_buckets(histogram, t->unit_ns, &s->hist, reterr);
		if (rc)
			return rc;
		if (s->hist.count > cycles)
			return err_set(reterr, ERR_INVALID,
				       "the histogram sums to %" PRIu64 ", but only %" PRIu64
				       " cycles were run",
				       s->hist.count, cycles);
		if (__builtin_mul_overflow(t->args.histogram, t->unit_ns, &edge))
			edge = 0;
		import_overflow(t->r, s, t->o, cycles - s->hist.count, edge);
		rc = import_extremes(&s->hist, min, max, 0, reterr);
	}
	label_cpu(s, name, json_object_get(thread, "cpu"));
	s->resolution_ns = t->unit_ns;
	s->omission = OMISSION_SKIPS_MISSED;
	if (span_u64((struct span){name, strlen(name)}, &index))
		s->interval_ns = rt_args_interval(&t->args, index);
	return rc;
}

/* Width of an oslat bucket in ns: -W, else the smallest step between keys. */
static int64_t oslat_width(const struct rt *t, const struct json_bin *bins, size_t len)
{
	double step = 0;
	int64_t ns;

	if (t->args.width_ns > 0)
		return t->args.width_ns;
	for (size_t i = 0; i < len; i++) {
		double d = bins[i].key - (i ? bins[i - 1].key : 0);

		if (strchr(bins[i].text, '.') && (step == 0 || d < step))
			step = d;
	}
	return step > 0 && scale_ns(step, 1000, &ns) && ns > 0 ? ns : NS_PER_US;
}

/* All keys but the last are buckets; the last one is the overflow when the maximum is above it or
 * it is the last that the tool has. */
static int oslat_buckets(struct rt *t, struct series *s, const struct json_bin *bins, size_t len,
			 int64_t width, int64_t max_ns, struct err *reterr)
{
	double last_us = t->args.buckets ? (double)t->args.buckets : OSLAT_BUCKETS;

	for (size_t i = 0; i < len; i++) {
		int64_t hi;
		int rc;

		if (!scale_ns(bins[i].key, 1000, &hi) || hi < width)
			return err_set(reterr, ERR_INVALID, "bin %.40s: not an upper edge in us",
				       bins[i].text);
		if (i + 1 == len && (bins[i].key >= last_us || max_ns > hi)) {
			s->hist.overflow = bins[i].n;
			s->hist.overflow_lo = hi - width;
			if (__builtin_add_overflow(s->hist.count, bins[i].n, &s->hist.count))
				return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
			run_note(t->r, "last-bucket-is-overflow",
				 "oslat puts everything above into its last bucket (%s us) without "
				 "saying so: %" PRIu64 " samples are read as %" PRId64
				 " ns or more",
				 bins[i].text, bins[i].n, hi - width);
			return 0;
		}
		rc = hist_append(&s->hist, hi - width, hi, bins[i].n, reterr);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_oslat(struct rt *t, const char *name, const json_t *thread, struct err *reterr)
{
	struct json_bin *bins;
	int64_t width, min, max;
	double seconds;
	bool in_ns;
	struct series *s;
	size_t len;
	int rc = json_bins(json_object_get(thread, "histogram"), &bins, &len, reterr);

	if (rc)
		return rc;
	width = oslat_width(t, bins, len);
	/* With -W that is no whole us, keys are us and min and max are ns, in one object. */
	in_ns = width % NS_PER_US != 0;
	rc = need_ns(thread, "min", in_ns ? 1 : NS_PER_US, &min, reterr);
	rc = rc ? rc : need_ns(thread, "max", in_ns ? 1 : NS_PER_US, &max, reterr);
	s = import_hist(t->r, "os_noise", "oslat", width);
	label_cpu(s, name, json_object_get(thread, "cpu"));
	s->hist.scheme = HIST_EDGES;
	rc = rc ? rc : oslat_buckets(t, s, bins, len, width, max, reterr);
	free(bins);
	if (rc)
		return rc;
	keep_avg(t, name, thread);
	if (json_get_number(json_object_get(thread, "duration"), &seconds))
		t->r->measured_ns = duration_ns(seconds);
	if (in_ns)
		run_note(t->r, "mixed-units",
			 "thread %s: with -W %" PRId64
			 " oslat writes keys in us but min and max in ns",
			 name, width);
	/* In us, oslat rounds up: the minimum may be up to one bucket less. */
	rc = import_extremes(&s->hist, min, max, width, reterr);
	s->hist.has_min = s->hist.has_min && in_ns;
	return rc;
}

/* ptsematest, pmqtest, svsematest, sigwaittest: a sender wakes a receiver. */
static int read_handoff(struct rt *t, const char *name, const json_t *thread, struct err *reterr)
{
	const json_t *sender = json_object_get(thread, "sender");
	const json_t *receiver = json_object_get(thread, "receiver");
	int64_t min, max;
	uint64_t samples;
	struct series *s;
	int rc = need_u64(sender, "samples", &samples, reterr);

	rc = rc ? rc : need_ns(receiver, "min", t->unit_ns, &min, reterr);
	rc = rc ? rc : need_ns(receiver, "max", t->unit_ns, &max, reterr);
	if (rc)
		return rc;
	if (min > max)
		return err_set(reterr, ERR_INVALID, "min is above max");
	s = import_range(t->r, "handoff_latency", NULL, samples, min, max);
	s->method = span_dup(t->args.program);
	s->resolution_ns = t->unit_ns;
	label_cpu(s, name, json_object_get(receiver, "cpu"));
	keep_avg(t, name, receiver);
	return 0;
}

/* rt-migrate-test: how long a task of each priority waited, without a number of samples. */
static int read_migrate(struct rt *t, const char *name, const json_t *thread, struct err *reterr)
{
	static const char *const keys[] = {"min", "avg", "max"};
	char prio[24];

	(void)snprintf(prio, sizeof(prio), "%" JSON_INTEGER_FORMAT,
		       json_integer_value(json_object_get(thread, "prio")));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char metric[32];
		struct series *s;
		int64_t ns;
		int rc = need_ns(thread, keys[i], t->unit_ns, &ns, reterr);

		if (rc)
			return rc;
		(void)snprintf(metric, sizeof(metric), "migrate_wait_%s", keys[i]);
		s = import_value(t->r, metric, "ns", (double)ns);
		s->method = xstrdup("rt-migrate-test");
		labels_set(&s->labels, "thread", name);
		labels_set(&s->labels, "priority", prio);
	}
	return 0;
}

static const struct rt_shape shapes[] = {
	{"receiver", read_handoff},
	{"duration", read_oslat},
	{"prio", read_migrate},
	{"cycles", read_cyclic},
};

static int read_thread(struct rt *t, const char *name, const json_t *thread, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (!json_object_get(thread, shapes[i].key))
			continue;
		if (shapes[i].read(t, name, thread, reterr))
			return err_prefix(reterr, "%s: thread %s: ", import_source(t->o), name);
		return 0;
	}
	return err_set(reterr, ERR_INVALID,
		       "%s: thread %s has no shape of a known rt-tests program",
		       import_source(t->o), name);
}

/* The environment that the file tells, under the names that the agent uses. */
static void read_sysinfo(struct rt *t)
{
	static const struct {
		const char *key, *fact;
	} facts[] = {
		{"release", "kernel.release"},
		{"version", "kernel.version"},
		{"machine", "kernel.machine"},
	};
	const json_t *info = json_object_get(t->root, "sysinfo");
	const char *node = json_get_text(info, "nodename");

	if (!info)
		return;
	t->r->environment = json_object();
	for (size_t i = 0; i < ARRAY_LEN(facts); i++)
		if (json_get_text(info, facts[i].key))
			(void)json_object_set(t->r->environment, facts[i].fact,
					      json_object_get(info, facts[i].key));
	if (json_is_integer(json_object_get(info, "realtime")))
		(void)json_object_set(t->r->environment, "kernel.realtime",
				      json_object_get(info, "realtime"));
	if (!t->r->host && node && *node)
		t->r->host = xstrdup(node);
}

static void read_times(struct rt *t)
{
	const char *start = json_get_text(t->root, "start_time");
	const char *end = json_get_text(t->root, "end_time");

	if (start)
		(void)date_rfc2822((struct span){start, strlen(start)}, &t->r->started_ns);
	if (end)
		(void)date_rfc2822((struct span){end, strlen(end)}, &t->r->ended_ns);
	/* Whole seconds: a base for rates only when that is fine enough. */
	if (t->r->started_ns && t->r->ended_ns - t->r->started_ns >= 60 * NS_PER_SEC)
		t->r->measured_ns = t->r->ended_ns - t->r->started_ns;
}

static void read_header(struct rt *t)
{
	const char *cmdline = json_get_text(t->root, "cmdline:");
	const json_t *code = json_object_get(t->root, "return_code");

	if (!cmdline)
		cmdline = json_get_text(t->root, "cmdline");
	if (cmdline) {
		rt_args_parse((struct span){cmdline, strlen(cmdline)}, &t->args);
		import_extra(t->r, "cmdline", json_string(cmdline));
		rt_args_tags(t->r, &t->args);
	}
	read_sysinfo(t);
	read_times(t);
	if (!json_is_integer(code) || json_integer_value(code) == 0)
		return;
	t->r->state = RUN_FAILED;
	run_note(t->r, "tool-failed", "the program ended with status %" JSON_INTEGER_FORMAT,
		 json_integer_value(code));
}

/* "resolution_in_ns" is a flag (0 us, 1 ns), not a resolution. oslat and others have none: us. */
static int read_unit(struct rt *t, struct err *reterr)
{
	bool ns = json_integer_value(json_object_get(t->root, "resolution_in_ns")) == 1;

	return import_unit(t->r, t->o, ns ? 1 : NS_PER_US, NS_PER_US, "", &t->unit_ns, reterr);
}

static int read_root(struct rt *t, struct err *reterr)
{
	const json_t *threads = json_object_get(t->root, "thread");
	const char *name;
	json_t *thread;
	int rc = read_unit(t, reterr);

	if (!rc && !json_object_size(threads))
		return err_set(
			reterr, ERR_INVALID,
			"%s: no latencies in it (pi_stress and ssdd only say passed or failed)",
			import_source(t->o));
	json_object_foreach((json_t *)(uintptr_t)threads, name, thread)
	{
		rc = rc ? rc : read_thread(t, name, thread, reterr);
	}
	return rc;
}

/* An average of no cycles is printed as "nan", which is no JSON. */
static int parse(const char *data, size_t len, const struct import_options *o, json_t **ret,
		 bool *ret_repaired, struct err *reterr)
{
	struct strbuf repaired = {0};
	int rc = json_only(data, len, o, ret, reterr);

	*ret_repaired = false;
	if (rc == ERR_INVALID && json_repair_nan(data, len, &repaired)) {
		*ret_repaired = true;
		rc = json_only(repaired.data, repaired.len, o, ret, reterr);
	}
	strbuf_done(&repaired);
	if (rc && span_find(sniff_head(data, len), "\"cmdline"))
		return err_prefix(reterr, "rt-tests do not escape their command line, look there "
					  "for a quote or backslash: ");
	return rc;
}

static int rt_json_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	struct rt t = {.o = o};
	bool repaired;
	json_t *root;
	int rc = parse(data, len, o, &root, &repaired, reterr);

	if (rc)
		return rc;
	t.root = root;
	t.r = import_run(ret, o);
	read_header(&t);
	if (repaired)
		run_note(t.r, "repaired-json", "\"nan\" was read as not known");
	rc = read_root(&t, reterr);
	json_decref(root);
	return rc;
}

static int rt_json_sniff(const char *data, size_t len)
{
	if (!json_sniff(data, len, "rt_test_version:") && !json_sniff(data, len, "rt_test_version"))
		return 0;
	return json_sniff(data, len, "file_version") ? 95 : 80;
}

const struct import_format import_rt_json = {
	.name = "rt-tests-json",
	.title = "JSON of rt-tests (cyclictest, oslat, ptsematest ...)",
	.sniff = rt_json_sniff,
	.read = rt_json_read,
};
