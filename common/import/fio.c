/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fio: JSON and JSON+ (also several documents in one file, with text before and between them) and
 * the histogram log of --write_hist_log.
 *
 * fio's bins: 64 to each power of two, exact below 128 ns. JSON+ names a bin by its midpoint; the
 * last one (from 17 s) is open. A document is one run; jobs and directions are labels. */
#include "common/import/formats.h"
#include "common/import/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define BINS	       1856 /* 29 groups of 64 */
#define COARSENESS_MAX 6
#define START_SLACK    (2 * NS_PER_SEC)

static int64_t bin_lo(unsigned int index)
{
	unsigned int shift;

	if (index < 128)
		return index;
	shift = (index >> 6) - 1;
	return (int64_t)(64 + (index & 63)) << shift;
}

static int64_t bin_hi(unsigned int index)
{
	return bin_lo(index + 1);
}

/* The bin that a value is in. */
static unsigned int bin_of(int64_t v)
{
	unsigned int msb, shift;

	if (v < 128)
		return (unsigned int)v;
	msb = 63u - (unsigned int)__builtin_clzll((unsigned long long)v);
	shift = msb - 6;
	return ((shift + 1) << 6) + ((unsigned int)(v >> shift) & 63);
}

/* ---- JSON ---- */

struct fio {
	const struct import_options *o;
	struct run *r;
	const char *job, *direction;
};

static void label(const struct fio *f, struct series *s)
{
	labels_set(&s->labels, "op", f->direction);
	if (f->job && *f->job)
		labels_set(&s->labels, "job", f->job);
}

static int add_bins(struct hist *h, const json_t *object, struct err *reterr)
{
	struct json_bin *bins;
	size_t len;
	int rc = json_bins(object, &bins, &len, reterr);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < len; i++) {
		int64_t middle = bins[i].key >= 0 && bins[i].key < 9e18 ? (int64_t)bins[i].key : -1;
		unsigned int index = middle < 0 ? 0 : bin_of(middle);

		if (middle < 0 || bin_lo(index) + (bin_hi(index) - bin_lo(index)) / 2 != middle) {
			rc = err_set(reterr, ERR_INVALID,
				     "bin '%.40s' is not the midpoint of one of fio's bins",
				     bins[i].text);
		} else if (index >= BINS - 1) {
			h->overflow_lo = bin_lo(BINS - 1);
			h->overflow += bins[i].n;
			h->count += bins[i].n;
		} else {
			rc = hist_append(h, bin_lo(index), bin_hi(index), bins[i].n, reterr);
		}
	}
	free(bins);
	return rc;
}

/* fio's mean has six decimals, which makes the sum exact for less than a million I/Os. */
static void set_sum(struct hist *h, const json_t *block)
{
	double mean;

	if (!json_get_number(json_object_get(block, "mean"), &mean) || h->count >= 1000000)
		return;
	h->has_sum = scale_ns(mean, (double)h->count, &h->sum);
}

/* [at, hi) += n, joined with the last bucket when it would be empty or lie below it. */
static int add_between(struct hist *h, int64_t *at, int64_t hi, uint64_t n, struct err *reterr)
{
	int rc;

	if (!n)
		return 0;
	if (hi <= *at) {
		if (!h->len) { /* below the minimum's bin */
			*at = hi - 1;
		} else {
			h->b[h->len - 1].n += n;
			h->count += n;
			return 0;
		}
	}
	rc = hist_append(h, *at, hi, n, reterr);
	*at = hi;
	return rc;
}

/* Plain JSON has percentiles, each the bin of one rank: that rank stands in its bin, those between
 * two percentiles between their bins. */
static int add_percentiles(struct hist *h, const json_t *object, uint64_t count, int64_t min,
			   int64_t max, struct err *reterr)
{
	struct json_bin *p;
	uint64_t below = 0;
	int64_t at = min;
	size_t len;
	int rc = json_bins(object, &p, &len, reterr);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < len; i++) {
		double rank = ceil(p[i].key / 100 * (double)count - 1e-9);
		unsigned int bin = p[i].n < INT64_MAX ? bin_of((int64_t)p[i].n) : BINS;

		if (p[i].key < 0 || p[i].key > 100 || bin >= BINS || (i && p[i].n < p[i - 1].n)) {
			rc = err_set(reterr, ERR_INVALID,
				     "percentile %.20s is out of order or range", p[i].text);
		} else if (rank > (double)below) {
			rc = add_between(h, &at, bin_lo(bin), (uint64_t)rank - below - 1, reterr);
			rc = rc ? rc : add_between(h, &at, bin_hi(bin), 1, reterr);
			below = (uint64_t)rank;
		}
	}
	if (!rc && below < count)
		rc = add_between(h, &at, max == INT64_MAX ? max : max + 1, count - below, reterr);
	free(p);
	return rc;
}

/* Without bins or percentiles (slat, lat): what the run has as numbers. */
static void add_scalars(const struct fio *f, const json_t *block, const char *metric, int64_t max,
			int64_t unit)
{
	char name[64];
	double mean;

	if (json_get_number(json_object_get(block, "mean"), &mean)) {
		(void)snprintf(name, sizeof(name), "%s_mean", metric);
		label(f, import_value(f->r, name, "ns", mean * (double)unit));
	}
	(void)snprintf(name, sizeof(name), "%s_max", metric);
	label(f, import_value(f->r, name, "ns", (double)(max * unit)));
}

/* A distribution from bins (JSON+) or percentiles (JSON); neither: the mean and the maximum. */
static int read_latency(const struct fio *f, const json_t *block, const char *metric, int64_t unit,
			struct err *reterr)
{
	const json_t *bins = json_object_get(block, "bins");
	const json_t *percentiles = json_object_get(block, "percentile");
	uint64_t n, min, max;
	struct series *s;
	int rc;

	if (!json_get_u64(json_object_get(block, "N"), &n) || !n)
		return 0; /* none measured, or a fio that does not say how many */
	if (!json_get_u64(json_object_get(block, "min"), &min) ||
	    !json_get_u64(json_object_get(block, "max"), &max) || min > max ||
	    max > (uint64_t)(INT64_MAX / unit))
		return err_set(reterr, ERR_INVALID, "%s: min or max is missing or impossible",
			       metric);
	if (unit != 1 || (!json_object_size(bins) && !json_object_size(percentiles))) {
		add_scalars(f, block, metric, (int64_t)max, unit);
		return 0;
	}
	s = import_hist(f->r, metric, "fio", 1);
	label(f, s);
	s->hist.scheme = HIST_EDGES;
	if (json_object_size(bins)) {
		rc = add_bins(&s->hist, bins, reterr);
	} else {
		rc = add_percentiles(&s->hist, percentiles, n, (int64_t)min, (int64_t)max, reterr);
		run_note(f->r, "from-percentiles",
			 "%s: plain JSON has percentiles only: they are right to their bin, what "
			 "lies "
			 "between them is not known (--output-format=json+ has all)",
			 metric);
	}
	if (!rc && s->hist.count != n)
		rc = err_set(reterr, ERR_INVALID,
			     "%s: the bins sum to %" PRIu64 ", but N is %" PRIu64, metric,
			     s->hist.count, n);
	if (rc)
		return rc;
	set_sum(&s->hist, block);
	return import_extremes(&s->hist, (int64_t)min, (int64_t)max, 0, reterr);
}

static int read_latencies(const struct fio *f, const json_t *direction, struct err *reterr)
{
	static const struct {
		const char *key, *metric;
		int64_t unit;
	} kinds[] = {
		{"clat_ns", "completion_latency", 1}, {"lat_ns", "io_latency", 1},
		{"slat_ns", "submit_latency", 1},     {"clat", "completion_latency", NS_PER_US},
		{"lat", "io_latency", NS_PER_US},     {"slat", "submit_latency", NS_PER_US},
	};
	int rc = 0;

	for (size_t i = 0; !rc && i < ARRAY_LEN(kinds); i++)
		rc = read_latency(f, json_object_get(direction, kinds[i].key), kinds[i].metric,
				  kinds[i].unit, reterr);
	return rc;
}

static void read_rates(const struct fio *f, const json_t *direction)
{
	double v;

	if (json_get_number(json_object_get(direction, "iops"), &v) && v > 0)
		label(f, import_value(f->r, "iops", "1/s", v));
	if (json_get_number(json_object_get(direction, "bw_bytes"), &v) && v > 0)
		label(f, import_value(f->r, "throughput", "bytes/s", v));
}

static int read_job(struct fio *f, const json_t *job, struct err *reterr)
{
	static const char *const directions[] = {"read", "write", "trim", "sync"};
	const json_t *error = json_object_get(job, "error");
	int64_t runtime = json_integer_value(json_object_get(job, "job_runtime"));
	int rc = 0;

	f->job = json_get_text(job, "jobname");
	if (runtime > 0 && runtime < INT64_MAX / NS_PER_MS &&
	    runtime * NS_PER_MS > f->r->measured_ns)
		f->r->measured_ns = runtime * NS_PER_MS;
	if (json_integer_value(error)) {
		f->r->state = RUN_FAILED;
		run_note(f->r, "tool-failed", "job %s ended with error %" JSON_INTEGER_FORMAT,
			 f->job ? f->job : "?", json_integer_value(error));
	}
	for (size_t i = 0; !rc && i < ARRAY_LEN(directions); i++) {
		const json_t *direction = json_object_get(job, directions[i]);

		f->direction = directions[i];
		rc = read_latencies(f, direction, reterr);
		if (!rc && direction)
			read_rates(f, direction);
	}
	return rc ? err_prefix(reterr, "job %s: ", f->job ? f->job : "?") : 0;
}

static int read_document(const json_t *root, const struct import_options *o, struct runs *ret,
			 struct err *reterr)
{
	const json_t *jobs = json_object_get(root, "jobs");
	const json_t *clients = json_object_get(root, "client_stats");
	struct fio f = {.o = o, .r = import_run(ret, o)};
	int64_t ms = json_integer_value(json_object_get(root, "timestamp_ms"));
	int rc = 0;

	if (!json_is_array(jobs))
		jobs = clients;
	if (!json_is_array(jobs))
		return err_set(reterr, ERR_INVALID, "no \"jobs\" in the document");
	if (json_get_text(root, "fio version"))
		import_extra(f.r, "fio version", json_incref(json_object_get(root, "fio version")));
	if (ms > 0 && ms < INT64_MAX / NS_PER_MS)
		f.r->ended_ns = ms * NS_PER_MS;
	for (size_t i = 0; !rc && i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		const char *name = json_get_text(job, "jobname");

		/* The client's "All clients" repeats what its jobs say. */
		if (jobs == clients && json_array_size(jobs) > 1 && name &&
		    !strcmp(name, "All clients"))
			continue;
		rc = read_job(&f, job, reterr);
	}
	if (f.r->ended_ns > f.r->measured_ns && f.r->measured_ns)
		f.r->started_ns = f.r->ended_ns - f.r->measured_ns;
	return rc;
}

/* Same jobs, begun at the same time, and nothing fell: --status-interval prints everything since
 * the start again and again. */
static bool continues(const struct run *before, const struct run *after)
{
	int64_t apart = after->started_ns - before->started_ns;

	if (!before->started_ns || !after->started_ns || apart < -START_SLACK ||
	    apart > START_SLACK || after->measured_ns < before->measured_ns ||
	    before->series_len > after->series_len)
		return false;
	for (size_t i = 0; i < before->series_len; i++) {
		const struct series *a = &before->series[i], *b = &after->series[i];

		if (strcmp(a->metric, b->metric) || !labels_equal(&a->labels, &b->labels) ||
		    a->hist.count > b->hist.count)
			return false;
	}
	return true;
}

/* Keeps the last document of each execution. */
static void keep_last_of_each(struct runs *rs)
{
	size_t kept = 0, documents = 1;

	for (size_t i = 0; i < rs->len; i++) {
		bool more = i + 1 < rs->len && continues(rs->v[i], rs->v[i + 1]);

		if (more) {
			run_free(rs->v[i]);
			documents++;
			continue;
		}
		if (documents > 1)
			run_note(rs->v[i], "status-interval",
				 "%zu documents of one execution (--status-interval), each with "
				 "everything since the start: the last one counts",
				 documents);
		rs->v[kept++] = rs->v[i];
		documents = 1;
	}
	rs->len = kept;
}

static int fio_json_read(const char *data, size_t len, const struct import_options *o,
			 struct runs *ret, struct err *reterr)
{
	struct span s = json_begin(data, len);
	size_t document = 0;

	while (s.p) {
		json_t *root;
		int rc = json_next(&s, o, data, &root, reterr);

		if (rc)
			return rc;
		document++;
		rc = read_document(root, o, ret, reterr);
		json_decref(root);
		if (rc)
			return err_prefix(reterr, "%s: document %zu: ", import_source(o), document);
		s = json_begin(s.p, s.len);
	}
	keep_last_of_each(ret);
	return 0;
}

static int fio_json_sniff(const char *data, size_t len)
{
	return json_sniff(data, len, "fio version") ? 95 : 0;
}

/* ---- the histogram log: time in ms, direction, block size, a count for each bin ---- */

static const char *const directions[] = {"read", "write", "trim"};

struct log_shape {
	size_t columns, leading; /* bins, and fields before them */
	unsigned int stride;	 /* bins that were joined into one column (log_hist_coarseness) */
};

struct hist_log {
	struct scan scan;
	struct log_shape shape;
	uint64_t n[ARRAY_LEN(directions)][BINS];
	uint64_t last_ms;
};

/* How many of `fields` stand before the bins; false when none of fio's shapes fits. */
static bool find_shape(size_t fields, struct log_shape *ret)
{
	for (unsigned int c = 0; c <= COARSENESS_MAX; c++) {
		size_t bins = BINS >> c;

		if (fields < bins + 3 || fields > bins + 6)
			continue;
		ret->columns = bins;
		ret->leading = fields - bins;
		ret->stride = 1u << c;
		return true;
	}
	return false;
}

static size_t count_fields(struct span line)
{
	struct span cell;
	size_t n = 0;

	while (span_field(&line, ',', &cell))
		n++;
	return n;
}

static int log_row(struct hist_log *l, struct span line, struct err *reterr)
{
	struct span cell;
	uint64_t ms, op = 0, n;
	struct log_shape shape;

	if (!find_shape(count_fields(line), &shape) ||
	    (l->shape.columns &&
	     (shape.columns != l->shape.columns || shape.leading != l->shape.leading)))
		return scan_error(&l->scan, NULL, reterr,
				  "%zu fields are not a row of fio's histogram log: cut off?",
				  count_fields(line));
	l->shape = shape;
	for (size_t i = 0; span_field(&line, ',', &cell); i++) {
		cell = span_trim(cell);
		if (!span_u64(cell, i == 0 ? &ms : i == 1 ? &op : &n))
			return scan_error(&l->scan, cell.p, reterr, "'%.*s' is not a count",
					  SPAN_ARG(cell));
		if (i == 1 && op >= ARRAY_LEN(directions))
			return scan_error(&l->scan, cell.p, reterr,
					  "direction %" PRIu64 "; 0 (read), 1 or 2 was expected",
					  op);
		if (i >= shape.leading && __builtin_add_overflow(l->n[op][i - shape.leading], n,
								 &l->n[op][i - shape.leading]))
			return scan_error(&l->scan, cell.p, reterr, "the counts exceed 64 bits");
	}
	l->last_ms = ms;
	return 0;
}

static int log_series(const struct hist_log *l, size_t op, struct run *r, struct err *reterr)
{
	struct series *s = import_hist(r, "completion_latency", "fio", 1);
	int rc = 0;

	labels_set(&s->labels, "op", directions[op]);
	s->hist.scheme = HIST_EDGES;
	for (size_t i = 0; !rc && i < l->shape.columns; i++) {
		unsigned int first = (unsigned int)i * l->shape.stride,
			     last = first + l->shape.stride - 1;

		if (last < BINS - 1) {
			rc = hist_append(&s->hist, bin_lo(first), bin_hi(last), l->n[op][i],
					 reterr);
		} else if (l->n[op][i]) {
			s->hist.overflow = l->n[op][i];
			s->hist.overflow_lo = bin_lo(first);
			if (__builtin_add_overflow(s->hist.count, l->n[op][i], &s->hist.count))
				rc = err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
		}
	}
	return rc;
}

static int log_to_run(const struct hist_log *l, struct run *r, struct err *reterr)
{
	int rc = 0;

	for (size_t op = 0; !rc && op < ARRAY_LEN(directions); op++) {
		bool any = false;

		for (size_t i = 0; i < l->shape.columns; i++)
			any |= l->n[op][i] != 0;
		if (any)
			rc = log_series(l, op, r, reterr);
	}
	if (l->last_ms < (uint64_t)(INT64_MAX / NS_PER_MS))
		r->measured_ns = (int64_t)l->last_ms * NS_PER_MS;
	run_note(r, "last-interval-missing",
		 "fio does not write the last, partial interval to its histogram log");
	return rc;
}

static int fio_log_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	struct hist_log *l = xcalloc(1, sizeof(*l));
	struct span line;
	int rc = 0;

	scan_init(&l->scan, data, len, o);
	while (!rc && scan_line(&l->scan, &line))
		if (span_trim(line).len)
			rc = log_row(l, line, reterr);
	if (!rc)
		rc = log_to_run(l, import_run(ret, o), reterr);
	free(l);
	return rc;
}

static int fio_log_sniff(const char *data, size_t len)
{
	struct log_shape shape;
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	return scan_line(&s, &line) && find_shape(count_fields(line), &shape) && line.len &&
			       *line.p >= '0' && *line.p <= '9'
		       ? 80
		       : 0;
}

const struct import_format import_fio_json = {
	.name = "fio-json",
	.title = "fio --output-format=json or json+",
	.sniff = fio_json_sniff,
	.read = fio_json_read,
};

const struct import_format import_fio_log = {
	.name = "fio-hist-log",
	.title = "fio --write_hist_log",
	.sniff = fio_log_sniff,
	.read = fio_log_read,
};
