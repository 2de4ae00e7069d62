/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model -> rows: intervals and samples packed by tens, minutes and totals merged. */
#include "server/compact_model.h"

#include "common/check.h"

#define INTERVALS_A_ROW 60
#define SAMPLES_A_ROW	300
#define MINUTE_NS	(60 * NS_PER_SEC)

/* ---- rows ---- */

static size_t rows_add(struct crows *r, const int64_t *a, size_t n_a, const double *f, size_t n_f,
		       struct strbuf *blob)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		for (size_t i = 0; i < n_a; i++)
			r->a[i] = xrealloc(r->a[i], r->cap, sizeof(int64_t));
		for (size_t i = 0; i < n_f; i++)
			r->f[i] = xrealloc(r->f[i], r->cap, sizeof(double));
		r->blobs = xrealloc(r->blobs, r->cap, sizeof(struct strbuf));
	}
	for (size_t i = 0; i < n_a; i++)
		r->a[i][r->n] = a[i];
	for (size_t i = 0; i < n_f; i++)
		r->f[i][r->n] = f[i];
	r->blobs[r->n] = *blob;
	*blob = (struct strbuf){0};
	return r->n++;
}

/* The phases follow one another, so phase and then time is the order of the run, also when the
 * box's clock was set back. */
static int cmp_interval(const void *pa, const void *pb)
{
	const struct cinterval *a = pa, *b = pb;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return a->t0_ns < b->t0_ns ? -1 : a->t0_ns > b->t0_ns;
}

static int cmp_sample(const void *pa, const void *pb)
{
	const struct csample *a = pa, *b = pb;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return a->t0_ns < b->t0_ns ? -1 : a->t0_ns > b->t0_ns;
}

/* They nearly always are in order. */
static void sort(void *v, size_t n, size_t size, int (*cmp)(const void *a, const void *b))
{
	size_t i = 1;

	while (i < n && cmp((char *)v + (i - 1) * size, (char *)v + i * size) <= 0)
		i++;
	if (i < n)
		qsort(v, n, size, cmp);
}

/* A watch run that never tells its phases is measured from its start. */
static bool is_measured(const struct cmodel *m, unsigned int phase)
{
	return phase == PHASE_MEASURED || (m->watch && phase == PHASE_NONE);
}

/* ---- histograms ---- */

static void add_bytes(struct hist_rec *to, const unsigned char *data, size_t len)
{
	struct reader r = reader_of(data, len);

	/* Checked at ingest, or written by us. */
	CHECK(hist_rec_decode_add(to, &r, NULL) == 0);
}

static uint64_t count_of(const unsigned char *data, size_t len, struct hist_rec *scratch)
{
	hist_rec_reset(scratch);
	add_bytes(scratch, data, len);
	return scratch->count;
}

static void pack_row(struct cmodel *m, const struct cseries *s, const struct cinterval *v, size_t n,
		     struct hist_rec *scratch)
{
	int64_t t = v[0].t0_ns, dt = v[0].dt_ns;
	struct strbuf blob = {0};
	uint64_t count = 0;

	for (size_t i = 0; i < n; i++) {
		put_zigzag(&blob, v[i].t0_ns - t);
		put_zigzag(&blob, v[i].dt_ns - dt);
		put_varint(&blob, v[i].len);
		strbuf_add(&blob, v[i].data, v[i].len);
		count += count_of(v[i].data, v[i].len, scratch);
		dt = v[i].dt_ns;
		t = v[i].t0_ns + dt;
	}
	(void)rows_add(&m->hists,
		       (const int64_t[]){(int64_t)s->no, v[0].t0_ns, v[0].dt_ns, v[0].phase,
					 (int64_t)n, (int64_t)count},
		       6, NULL, 0, &blob);
}

static void pack_intervals(struct cmodel *m, const struct cseries *s, struct hist_rec *scratch)
{
	for (size_t i = 0; i < s->n_intervals;) {
		size_t n = 1;

		while (i + n < s->n_intervals && n < INTERVALS_A_ROW &&
		       s->intervals[i + n].phase == s->intervals[i].phase)
			n++;
		pack_row(m, s, &s->intervals[i], n, scratch);
		i += n;
	}
}

static int64_t minute_of(int64_t t_ns)
{
	int64_t rest = t_ns % MINUTE_NS;

	return t_ns - rest - (rest < 0 ? MINUTE_NS : 0);
}

static void put_minute(struct cmodel *m, const struct cseries *s, int64_t minute_ns,
		       unsigned int phase, struct hist_rec *rec)
{
	struct strbuf blob = {0};

	for (size_t i = 0; i < s->n_minutes; i++)
		if (s->minutes[i].minute_ns == minute_ns && s->minutes[i].phase == phase)
			add_bytes(rec, s->minutes[i].data, s->minutes[i].len);
	hist_rec_encode(rec, &blob);
	(void)rows_add(&m->minutes,
		       (const int64_t[]){(int64_t)s->no, minute_ns, phase, (int64_t)rec->negative,
					 (int64_t)rec->count, (int64_t)rec->lost},
		       6, NULL, 0, &blob);
}

static void pack_minutes(struct cmodel *m, const struct cseries *s, struct hist_rec *rec)
{
	bool open = false;
	int64_t minute_ns = 0;
	unsigned int phase = 0;

	for (size_t i = 0; i < s->n_intervals; i++) {
		const struct cinterval *v = &s->intervals[i];

		if (v->old)
			continue;
		if (!open || minute_of(v->t0_ns) != minute_ns || v->phase != phase) {
			if (open)
				put_minute(m, s, minute_ns, phase, rec);
			hist_rec_reset(rec);
			minute_ns = minute_of(v->t0_ns);
			phase = v->phase;
			open = true;
		}
		add_bytes(rec, v->data, v->len);
	}
	if (open)
		put_minute(m, s, minute_ns, phase, rec);
}

static bool is_foreign(const unsigned char *data, size_t len)
{
	return data && hist_peek_scheme(data, len) != HIST_LOG128;
}

/* A tool's own histogram, of the whole run: it has no intervals, and the last one counts. */
static void pack_whole(struct cmodel *m, struct cseries *s)
{
	bool is_new = s->whole;
	const unsigned char *data = is_new ? s->whole : s->total;
	size_t len = is_new ? s->whole_len : s->total_len;
	struct reader r = reader_of(data, len);
	struct strbuf blob = {0};
	const struct hist *h = &s->merged;

	CHECK(hist_decode(&s->merged, &r, NULL) == 0); /* checked at ingest, or written by us */
	if (!is_new)
		return;
	s->touched = true;
	strbuf_add(&blob, data, len);
	(void)rows_add(&m->totals,
		       (const int64_t[]){(int64_t)s->no, (int64_t)h->negative, (int64_t)h->count,
					 (int64_t)h->lost, (int64_t)h->overflow},
		       5, NULL, 0, &blob);
}

static void pack_total(struct cmodel *m, struct cseries *s, struct hist_rec *rec)
{
	struct strbuf blob = {0};

	if (s->whole || is_foreign(s->total, s->total_len)) {
		pack_whole(m, s);
		return;
	}
	hist_rec_reset(rec);
	if (s->total)
		add_bytes(rec, s->total, s->total_len);
	for (size_t i = 0; i < s->n_intervals; i++) {
		const struct cinterval *v = &s->intervals[i];

		if (v->old || !is_measured(m, v->phase))
			continue;
		s->touched = true;
		add_bytes(rec, v->data, v->len);
	}
	hist_from_rec(&s->merged, rec);
	if (!s->touched)
		return;
	hist_rec_encode(rec, &blob);
	(void)rows_add(&m->totals,
		       (const int64_t[]){(int64_t)s->no, (int64_t)rec->negative,
					 (int64_t)rec->count, (int64_t)rec->lost, 0},
		       5, NULL, 0, &blob);
}

/* ---- counters ---- */

/* Events a second, scaled for multiplexing; false when the counter never ran: no value. */
static bool rate_of(const struct csample *v, double *ret_delta, double *ret_rate)
{
	if (!v->v.running_ns)
		return false;
	*ret_delta = (double)v->v.delta;
	if (v->v.running_ns < v->v.enabled_ns)
		*ret_delta *= (double)v->v.enabled_ns / (double)v->v.running_ns;
	*ret_rate = *ret_delta / ((double)v->dt_ns / 1e9);
	return true;
}

/* Welford's update: mean and sum of squared differences in one pass. */
static void rate_add(struct crate *r, const struct csample *v)
{
	double delta, rate, d;

	r->enabled_ns += (int64_t)v->v.enabled_ns;
	r->running_ns += (int64_t)v->v.running_ns;
	if (!rate_of(v, &delta, &rate)) {
		r->lost++;
		return;
	}
	if (!r->count || rate < r->min)
		r->min = rate;
	if (!r->count || rate > r->max)
		r->max = rate;
	r->count++;
	r->delta += delta;
	r->seconds += (double)v->dt_ns / 1e9;
	d = rate - r->mean;
	r->mean += d / (double)r->count;
	r->m2 += d * (rate - r->mean);
}

static unsigned int chunk_flags(const struct csample *v, size_t n)
{
	unsigned int flags = CHUNK_EVEN | CHUNK_ENABLED | CHUNK_RUNNING;

	for (size_t i = 0; i < n; i++) {
		if (v[i].dt_ns != v[0].dt_ns ||
		    (i && v[i].t0_ns != v[i - 1].t0_ns + v[i - 1].dt_ns))
			flags &= ~(unsigned int)CHUNK_EVEN;
		if (v[i].v.enabled_ns != (uint64_t)v[i].dt_ns)
			flags &= ~(unsigned int)CHUNK_ENABLED;
		if (v[i].v.running_ns != v[i].v.enabled_ns)
			flags &= ~(unsigned int)CHUNK_RUNNING;
	}
	return flags;
}

static void chunk_bytes(struct strbuf *b, const struct csample *v, size_t n)
{
	unsigned int flags = chunk_flags(v, n);
	struct csample at = v[0];

	at.v = (struct counter_sample){0};
	strbuf_putc(b, (char)flags);
	for (size_t i = 0; i < n; i++) {
		if (!(flags & CHUNK_EVEN)) {
			put_zigzag(b, v[i].t0_ns - at.t0_ns);
			put_zigzag(b, v[i].dt_ns - at.dt_ns);
		}
		put_zigzag(b, (int64_t)((uint64_t)v[i].v.delta - (uint64_t)at.v.delta));
		if (!(flags & CHUNK_ENABLED))
			put_zigzag(b, (int64_t)(v[i].v.enabled_ns - at.v.enabled_ns));
		if (!(flags & CHUNK_RUNNING))
			put_zigzag(b, (int64_t)(v[i].v.enabled_ns - v[i].v.running_ns));
		at = v[i];
		at.t0_ns += at.dt_ns;
	}
}

static void chunk_row(struct cmodel *m, const struct cseries *s, const struct csample *v, size_t n)
{
	double min = 0, max = 0, sum = 0, delta, rate;
	struct strbuf blob = {0};
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!rate_of(&v[i], &delta, &rate))
			continue;
		min = !any || rate < min ? rate : min;
		max = !any || rate > max ? rate : max;
		sum += rate;
		any = true;
	}
	chunk_bytes(&blob, v, n);
	(void)rows_add(
		&m->chunks,
		(const int64_t[]){(int64_t)s->no, v[0].t0_ns, v[0].dt_ns, v[0].phase, (int64_t)n},
		5, (const double[]){min, max, sum}, 3, &blob);
}

static void pack_samples(struct cmodel *m, const struct cseries *s)
{
	for (size_t i = 0; i < s->n_samples;) {
		size_t n = 1;

		while (i + n < s->n_samples && n < SAMPLES_A_ROW &&
		       s->samples[i + n].phase == s->samples[i].phase)
			n++;
		chunk_row(m, s, &s->samples[i], n);
		i += n;
	}
}

static void pack_rate(struct cmodel *m, struct cseries *s)
{
	const struct crate *r = &s->rate;

	for (size_t i = 0; i < s->n_samples; i++) {
		if (s->samples[i].old || !is_measured(m, s->samples[i].phase))
			continue;
		s->touched = true;
		rate_add(&s->rate, &s->samples[i]);
	}
	if (!s->touched)
		return;
	json_array_append_new(
		m->rates, json_pack("{s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:f, s:f, s:f, s:f}", "no",
				    (json_int_t)s->no, "count", (json_int_t)r->count, "lost",
				    (json_int_t)r->lost, "delta", r->delta, "seconds", r->seconds,
				    "enabled_ns", (json_int_t)r->enabled_ns, "running_ns",
				    (json_int_t)r->running_ns, "rate_min", r->min, "rate_max",
				    r->max, "rate_mean", r->mean, "rate_m2", r->m2));
}

void compact_pack(struct cmodel *m)
{
	struct hist_rec *rec = xcalloc(1, sizeof(*rec));

	for (size_t i = 0; i < m->cap_series; i++) {
		struct cseries *s = m->series[i];

		if (!s)
			continue;
		if (s->kind == CKIND_HIST) {
			sort(s->intervals, s->n_intervals, sizeof(*s->intervals), cmp_interval);
			pack_intervals(m, s, rec);
			pack_minutes(m, s, rec);
			pack_total(m, s, rec);
		} else if (s->kind == CKIND_COUNTER) {
			sort(s->samples, s->n_samples, sizeof(*s->samples), cmp_sample);
			pack_samples(m, s);
			pack_rate(m, s);
		}
	}
	free(rec);
}
