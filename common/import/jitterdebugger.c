/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitterdebugger: results.json, and samples.raw or its CSV form from jittersamples.
 *
 * results.json keeps 1 ms of range and drops every larger sample silently: the overflow is
 * count - sum. samples.raw has them all, as packed records in host byte order:
 * { u32 cpu; struct timespec ts; u64 value }, 28 bytes on a 64-bit box. */
#include "common/import/formats.h"
#include "common/import/json.h"
#include "common/import/tally.h"

#include <inttypes.h>
#include <stdio.h>

#define RECORD_BYTES 28
#define CPU_MAX	     4096

/* ---- results.json ---- */

static int results_cpu(const json_t *cpu, const char *name, int64_t unit, struct run *r,
		       struct err *reterr)
{
	struct series *s = import_hist(r, "wakeup_latency", "jitterdebugger", unit);
	struct json_bin *bins;
	uint64_t count, min, max;
	size_t len;
	int rc = json_bins(json_object_get(cpu, "histogram"), &bins, &len, reterr);

	if (rc)
		return rc;
	labels_set(&s->labels, "thread", name);
	s->omission = OMISSION_KEEPS_DEADLINES;
	s->hist.scheme = HIST_LINEAR;
	s->hist.width = unit;
	for (size_t i = 0; !rc && i < len; i++) {
		uint64_t k;

		if (!span_u64((struct span){bins[i].text, strlen(bins[i].text)}, &k) ||
		    k > INT64_MAX)
			rc = err_set(reterr, ERR_INVALID, "bin '%.40s' is not a whole number",
				     bins[i].text);
		else
			rc = import_bucket(&s->hist, (int64_t)k, unit, bins[i].n, reterr);
	}
	free(bins);
	if (rc)
		return rc;
	if (!json_get_u64(json_object_get(cpu, "count"), &count) ||
	    !json_get_u64(json_object_get(cpu, "min"), &min) ||
	    !json_get_u64(json_object_get(cpu, "max"), &max) || min > INT64_MAX / 1000 ||
	    max > INT64_MAX / 1000)
		return err_set(reterr, ERR_INVALID, "count, min or max is missing");
	if (count < s->hist.count)
		return err_set(reterr, ERR_INVALID,
			       "the histogram sums to %" PRIu64 ", but count is %" PRIu64,
			       s->hist.count, count);
	s->hist.overflow = count - s->hist.count;
	s->hist.overflow_lo = s->hist.overflow ? NS_PER_MS : 0;
	s->hist.count = count;
	if (s->hist.overflow)
		run_note(r, "dropped-samples",
			 "thread %s: jitterdebugger left %" PRIu64
			 " samples of 1 ms or more out of "
			 "its histogram; they are read as overflow (samples.raw has them)",
			 name, s->hist.overflow);
	return import_extremes(&s->hist, (int64_t)min * unit, (int64_t)max * unit, 0, reterr);
}

static int results_unit(struct run *r, const json_t *info, const struct import_options *o,
			int64_t *ret, struct err *reterr)
{
	const json_t *resolution = json_object_get(info, "resolution_in_ns");
	int64_t said = json_is_integer(resolution) ? json_integer_value(resolution) : 0;

	if (said != 0 && said != 1 && said != NS_PER_US)
		return err_set(reterr, ERR_INVALID,
			       "%s: resolution_in_ns is %" PRId64 "; 1 or 1000 was expected",
			       import_source(o), said);
	return import_unit(r, o, said, NS_PER_US, "jitterdebugger's default", ret, reterr);
}

static int results_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	const json_t *info, *cpus;
	const char *name, *node;
	json_t *root, *cpu;
	struct run *r;
	int64_t unit;
	int rc = json_only(data, len, o, &root, reterr);

	if (rc)
		return rc;
	r = import_run(ret, o);
	info = json_object_get(root, "sysinfo");
	cpus = json_object_get(root, "cpu");
	node = json_get_text(info, "nodename");
	if (!r->host && node)
		r->host = xstrdup(node);
	if (json_get_text(info, "release")) {
		r->environment = json_object();
		(void)json_object_set(r->environment, "kernel.release",
				      json_object_get(info, "release"));
	}
	rc = results_unit(r, info, o, &unit, reterr);
	json_object_foreach((json_t *)(uintptr_t)cpus, name, cpu)
	{
		if (!rc && results_cpu(cpu, name, unit, r, reterr))
			rc = err_prefix(reterr, "%s: cpu %s: ", import_source(o), name);
	}
	json_decref(root);
	return rc;
}

static int results_sniff(const char *data, size_t len)
{
	if (!json_sniff(data, len, "cpu") || !json_sniff(data, len, "histogram") ||
	    json_sniff(data, len, "thread"))
		return 0;
	return json_sniff(data, len, "resolution_in_ns") ? 90 : 40;
}

/* ---- samples.raw ---- */

static uint64_t little_endian(const char *p, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i-- > 0;)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

static bool plausible_record(const char *p)
{
	return little_endian(p, 4) < CPU_MAX && little_endian(p + 12, 8) < NS_PER_SEC &&
	       little_endian(p + 4, 8) < (uint64_t)1 << 34;
}

/* Series of one CPU from its values in order. */
static int samples_of_cpu(struct run *r, const struct tally_entry *v, size_t n, int64_t unit,
			  struct err *reterr)
{
	struct series *s = import_hist(r, "wakeup_latency", "jitterdebugger", unit);
	struct hist *h = &s->hist;
	bool sum_lost = false;
	char label[16];

	(void)snprintf(label, sizeof(label), "%" PRIu32, v[0].key);
	labels_set(&s->labels, "cpu", label);
	s->omission = OMISSION_KEEPS_DEADLINES;
	h->scheme = HIST_LINEAR;
	h->width = unit;
	for (size_t i = 0; i < n; i++) {
		int64_t part;
		int rc = import_bucket(h, v[i].value, unit, v[i].n, reterr);

		if (rc)
			return rc;
		sum_lost |= __builtin_mul_overflow(v[i].value * unit, (int64_t)v[i].n, &part) ||
			    __builtin_add_overflow(h->sum, part, &h->sum);
	}
	h->has_sum = !sum_lost;
	h->sum = sum_lost ? 0 : h->sum;
	h->min = v[0].value * unit;
	h->max = v[n - 1].value * unit;
	h->has_min = h->has_max = true;
	return 0;
}

/* Keys are CPUs. */
static int samples_to_run(struct tally *t, const struct import_options *o, struct runs *ret,
			  struct err *reterr)
{
	struct run *r = import_run(ret, o);
	int64_t unit;
	size_t end;
	int rc = import_unit(r, o, 0, NS_PER_US,
			     "jitterdebugger's default; with -N it is nanoseconds", &unit, reterr);

	tally_settle(t);
	for (size_t i = 0; !rc && i < t->len; i = end) {
		const struct tally_entry *v = t->v + i;

		end = tally_key_end(t, i);
		if (t->v[end - 1].value > INT64_MAX / unit - 1 || v->value < 0)
			return err_set(reterr, ERR_INVALID,
				       "%s: a sample of cpu %" PRIu32
				       " is negative or longer than 292 years",
				       import_source(o), v->key);
		rc = samples_of_cpu(r, v, end - i, unit, reterr);
	}
	return rc;
}

static int raw_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		    struct err *reterr)
{
	size_t n = len / RECORD_BYTES;
	struct tally t = {0};
	int rc;

	if (len % RECORD_BYTES || !n)
		return err_set(
			reterr, ERR_INVALID,
			"%s: %zu bytes are not a whole number of records of %d bytes: cut off, or "
			"from a 32-bit box",
			import_source(o), len, RECORD_BYTES);
	for (size_t i = 0; i < n; i++) {
		const char *p = data + i * RECORD_BYTES;

		if (!plausible_record(p)) {
			tally_done(&t);
			return err_set(
				reterr, ERR_INVALID,
				"%s: record %zu (byte %zu) has an impossible cpu or time: not a "
				"samples.raw of a little-endian 64-bit box",
				import_source(o), i + 1, i * RECORD_BYTES);
		}
		tally_add(&t, (uint32_t)little_endian(p, 4), (int64_t)little_endian(p + 20, 8));
	}
	rc = samples_to_run(&t, o, ret, reterr);
	tally_done(&t);
	return rc;
}

static int raw_sniff(const char *data, size_t len)
{
	if (!len || len % RECORD_BYTES)
		return 0;
	for (size_t i = 0; i < len / RECORD_BYTES && i < 100; i++)
		if (!plausible_record(data + i * RECORD_BYTES))
			return 0;
	return 85;
}

/* ---- the CSV of jittersamples: "cpu;seconds.nanoseconds;value" ---- */

static bool csv_sample(struct span line, struct tally_entry *ret)
{
	struct span cpu, time, value;
	double seconds;
	uint64_t id;

	if (!span_field(&line, ';', &cpu) || !span_field(&line, ';', &time) ||
	    !span_field(&line, ';', &value) || line.p || !span_u64(cpu, &id) || id >= CPU_MAX ||
	    !span_double(time, &seconds) || !span_i64(value, &ret->value))
		return false;
	ret->key = (uint32_t)id;
	return true;
}

static int samples_csv_read(const char *data, size_t len, const struct import_options *o,
			    struct runs *ret, struct err *reterr)
{
	struct tally t = {0};
	struct span line;
	struct scan s;
	int rc = 0;

	scan_init(&s, data, len, o);
	while (!rc && scan_line(&s, &line)) {
		struct tally_entry one;

		if (!span_trim(line).len)
			continue;
		if (!csv_sample(line, &one))
			rc = scan_error(&s, line.p, reterr,
					"not \"cpu;seconds.nanoseconds;value\"");
		else
			tally_add(&t, one.key, one.value);
	}
	if (!rc && !t.len)
		rc = err_set(reterr, ERR_INVALID, "%s: no samples", s.source);
	if (!rc)
		rc = samples_to_run(&t, o, ret, reterr);
	tally_done(&t);
	return rc;
}

static int samples_csv_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct tally_entry sample;
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	return scan_line(&s, &line) && csv_sample(line, &sample) && memchr(line.p, '.', line.len)
		       ? 60
		       : 0;
}

const struct import_format import_jitterdebugger_json = {
	.name = "jitterdebugger",
	.title = "results.json of jitterdebugger",
	.sniff = results_sniff,
	.read = results_read,
};

const struct import_format import_jitterdebugger_raw = {
	.name = "jitterdebugger-raw",
	.title = "samples.raw of jitterdebugger",
	.sniff = raw_sniff,
	.read = raw_read,
};

const struct import_format import_jitterdebugger_csv = {
	.name = "jitterdebugger-csv",
	.title = "samples of jitterdebugger as CSV (jittersamples)",
	.sniff = samples_csv_sniff,
	.read = samples_csv_read,
};
