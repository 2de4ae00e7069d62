/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making runs: see formats.h. */
#include "common/import/formats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct run *import_run(struct runs *rs, const struct import_options *o)
{
	struct run *r = run_new(RUN_IMPORTED);

	r->state = RUN_OK;
	runs_add(rs, r);
	if (!o)
		return r;
	r->source = o->source ? xstrdup(o->source) : NULL;
	r->host = o->host ? xstrdup(o->host) : NULL;
	r->boot_id = o->boot ? xstrdup(o->boot) : NULL;
	r->experiment = o->experiment ? xstrdup(o->experiment) : NULL;
	return r;
}

struct series *import_hist(struct run *r, const char *metric, const char *method,
			   int64_t resolution_ns)
{
	struct series *s = run_add_series(r, metric, SERIES_HIST, "ns");

	s->method = method ? xstrdup(method) : NULL;
	s->resolution_ns = resolution_ns;
	return s;
}

struct series *import_value(struct run *r, const char *metric, const char *unit, double value)
{
	struct series *s = run_add_series(r, metric, SERIES_VALUE, unit);

	s->value = value;
	return s;
}

struct series *import_absent(struct run *r, const char *metric, const char *unit, const char *fmt,
			     ...)
{
	struct series *s = run_add_series(r, metric, SERIES_ABSENT, unit);
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	s->reason = xstrdup(text);
	return s;
}

void import_extra(struct run *r, const char *key, json_t *value)
{
	if (!r->extra)
		r->extra = json_object();
	/* A value that jansson could not make (not UTF-8) is left out: it is for display only. */
	if (value)
		(void)json_object_set_new(r->extra, key, value);
}

int import_unit(struct run *r, const struct import_options *o, int64_t said_ns,
		int64_t convention_ns, const char *why, int64_t *ret_ns, struct err *reterr)
{
	int64_t asked = o ? o->unit_ns : 0;

	if (said_ns && asked && said_ns != asked)
		return err_set(reterr, ERR_INVALID,
			       "%s: the file says that its unit is %s, but --unit says %s; leave "
			       "--unit out",
			       import_source(o), unit_ns_name(said_ns), unit_ns_name(asked));
	*ret_ns = said_ns ? said_ns : asked ? asked : convention_ns;
	if (!said_ns && !asked)
		run_note(r, "inferred-unit",
			 "the file does not say its unit; read as %s (%s); --unit overrides",
			 unit_ns_name(convention_ns), why);
	return 0;
}

int import_bucket(struct hist *h, int64_t k, int64_t unit_ns, uint64_t n, struct err *reterr)
{
	int64_t lo, hi;

	if (k < 0) {
		h->negative += n;
		if (__builtin_add_overflow(h->count, n, &h->count))
			return err_set(reterr, ERR_LIMIT, "the counts leave the 64-bit range");
		return 0;
	}
	if (__builtin_mul_overflow(k, unit_ns, &lo) || __builtin_add_overflow(lo, unit_ns, &hi))
		return err_set(reterr, ERR_LIMIT,
			       "bucket %" PRId64 " leaves the range of 292 years", k);
	return hist_append(h, lo, hi, n, reterr);
}

void import_overflow(struct run *r, struct series *s, const struct import_options *o, uint64_t n,
		     int64_t edge_ns)
{
	struct hist *h = &s->hist;
	int64_t last = h->len ? h->b[h->len - 1].hi : 0;

	if (!n)
		return;
	if (!edge_ns && o)
		edge_ns = o->overflow_lo_ns;
	if (edge_ns < last) {
		edge_ns = last;
		run_note(r, "inferred-overflow-edge",
			 "%" PRIu64
			 " samples are in the overflow and the file does not say where it "
			 "begins; taken as the end of the last bucket, %" PRId64
			 " ns (--overflow overrides)",
			 n, edge_ns);
	}
	h->overflow = n;
	h->overflow_lo = edge_ns;
	h->count += n;
}

int import_extremes(struct hist *h, int64_t min_ns, int64_t max_ns, int64_t slack_ns,
		    struct err *reterr)
{
	const struct hist_bucket *first = h->len ? &h->b[0] : NULL;
	const struct hist_bucket *last = h->len ? &h->b[h->len - 1] : NULL;

	if (!h->count)
		return 0;
	if (min_ns > max_ns)
		return err_set(reterr, ERR_INVALID,
			       "min %" PRId64 " ns is above max %" PRId64 " ns", min_ns, max_ns);
	if (last && max_ns < last->lo - slack_ns)
		return err_set(reterr, ERR_INVALID,
			       "max is %" PRId64 " ns, but the histogram has samples of %" PRId64
			       " ns or more: the file contradicts itself",
			       max_ns, last->lo);
	if (h->overflow && max_ns < h->overflow_lo - slack_ns)
		return err_set(reterr, ERR_INVALID,
			       "max is %" PRId64 " ns, but %" PRIu64
			       " samples overflowed at %" PRId64 " ns: the file contradicts itself",
			       max_ns, h->overflow, h->overflow_lo);
	if (first && !h->negative && min_ns > first->hi - 1 + slack_ns)
		return err_set(reterr, ERR_INVALID,
			       "min is %" PRId64 " ns, but the histogram has samples below %" PRId64
			       " ns: the file contradicts itself",
			       min_ns, first->hi);
	if (last && !h->overflow && max_ns > last->hi - 1 + slack_ns)
		return err_set(reterr, ERR_INVALID,
			       "max is %" PRId64 " ns, but the last bucket ends at %" PRId64
			       " ns and nothing overflowed: samples are missing",
			       max_ns, last->hi);
	h->min = min_ns;
	h->max = max_ns;
	h->has_min = h->has_max = true;
	return 0;
}

struct series *import_range(struct run *r, const char *metric, const char *method, uint64_t count,
			    int64_t min_ns, int64_t max_ns)
{
	struct series *s = import_hist(r, metric, method, 0);

	s->hist.scheme = HIST_EDGES;
	s->hist.count = s->hist.overflow = count;
	if (!count)
		return s;
	s->hist.overflow_lo = s->hist.min = min_ns;
	s->hist.max = max_ns;
	s->hist.has_min = s->hist.has_max = true;
	return s;
}
