/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/heatmap.h"

#include <math.h>

#include "common/check.h"
#include "common/varint.h"

void heatmap_init(struct heatmap *m, int64_t from_ns, int64_t to_ns, int64_t unit_ns,
		  size_t columns, size_t rows)
{
	int64_t span, units;

	CHECK(to_ns > from_ns && columns >= 1 && columns <= HEATMAP_COLUMNS_MAX && rows >= 1 &&
	      rows <= HEATMAP_ROWS_MAX);
	m->from_ns = from_ns - from_ns % unit_ns;
	span = to_ns - m->from_ns;
	units = (span + unit_ns - 1) / unit_ns;
	m->step_ns = (units + (int64_t)columns - 1) / (int64_t)columns * unit_ns;
	m->columns = (size_t)((span + m->step_ns - 1) / m->step_ns);
	m->rows = rows;
	m->v = xcalloc(m->columns, sizeof(*m->v));
}

void heatmap_done(struct heatmap *m)
{
	for (size_t i = 0; m->v && i < m->columns; i++)
		hist_done(&m->v[i]);
	free(m->v);
	memset(m, 0, sizeof(*m));
}

int heatmap_add(struct heatmap *m, int64_t t_ns, const void *d, size_t len, struct err *reterr)
{
	struct hist one CLEANUP(hist_done) = {0};
	struct reader r = reader_of(d, len);
	int64_t k = (t_ns - m->from_ns) / m->step_ns;
	struct hist *to;

	if (t_ns < m->from_ns || k >= (int64_t)m->columns)
		return 0;
	if (hist_decode(&one, &r, reterr))
		return err_prefix(reterr, "a stored histogram: ");
	to = &m->v[k];
	if (to->len || to->count || to->lost)
		return hist_merge(to, &one, reterr);
	hist_done(to);
	*to = one;
	memset(&one, 0, sizeof(one));
	return 0;
}

int heatmap_add_chunk(struct heatmap *m, int64_t t_ns, int64_t dt_ns, uint64_t n, const void *d,
		      size_t len, struct err *reterr)
{
	struct reader r = reader_of(d, len);

	for (uint64_t i = 0; i < n; i++) {
		const unsigned char *data;
		uint64_t bytes;
		int rc;

		t_ns = (int64_t)((uint64_t)t_ns + (uint64_t)read_zigzag(&r));
		dt_ns = (int64_t)((uint64_t)dt_ns + (uint64_t)read_zigzag(&r));
		bytes = read_varint(&r);
		data = read_bytes(&r, bytes);
		if (r.bad)
			return err_set(reterr, ERR_INVALID, "a row of hist_chunk cannot be read");
		rc = heatmap_add(m, t_ns, data, (size_t)bytes, reterr);
		if (rc)
			return rc;
		t_ns += dt_ns;
	}
	return 0;
}

/* ---- the grid ---- */

struct grid {
	size_t rows; /* 0: no samples */
	int64_t edges[HEATMAP_ROWS_MAX + 1];
};

static double log_of(int64_t x)
{
	return log((double)(x > 0 ? x : 1));
}

static void make_grid(const struct heatmap *m, struct grid *g)
{
	double lo = INFINITY, hi = -INFINITY;

	for (size_t i = 0; i < m->columns; i++) {
		const struct hist *h = &m->v[i];

		if (!h->len)
			continue;
		lo = fmin(lo, log_of(h->b[0].lo));
		hi = fmax(hi, log_of(h->b[h->len - 1].hi));
	}
	g->rows = hi > lo ? m->rows : 0;
	for (size_t i = 0; g->rows && i <= g->rows; i++)
		g->edges[i] = llround(exp(lo + (hi - lo) / (double)g->rows * (double)i));
}

/* Decimal digits by hand: the body is mostly small integers, and this is what it costs. */
static void put_u64(struct strbuf *out, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	strbuf_add(out, digits + n, sizeof(digits) - n);
}

/* A bucket counts in the row that holds its lower edge; both are in order, so one walk does. */
static void put_counts(const struct grid *g, const struct hist *h, struct strbuf *out)
{
	uint64_t n[HEATMAP_ROWS_MAX] = {0};
	size_t row = 0;

	for (size_t i = 0; i < h->len; i++) {
		while (row + 1 < g->rows && h->b[i].lo >= g->edges[row + 1])
			row++;
		n[row] += h->b[i].n;
	}
	strbuf_puts(out, "[");
	for (size_t i = 0; i < g->rows; i++) {
		if (i)
			strbuf_add(out, ",", 1);
		put_u64(out, n[i]);
	}
	strbuf_puts(out, "]");
}

/* ---- the answer ---- */

static bool is_used(const struct hist *h)
{
	return h->count || h->lost;
}

static void put_quantile(const struct hist *h, double q, struct strbuf *out)
{
	struct hist_quantile at = hist_quantile(h, q);

	if (h->count && (at.answer == HIST_VALUE || at.answer == HIST_AT_LEAST))
		strbuf_printf(out, "%lld", (long long)at.lo);
	else
		strbuf_puts(out, "null"); /* the samples cannot show it */
}

enum column { COL_T, COL_COUNT, COL_LOST, COL_OVERFLOW, COL_P50, COL_P99, COL_MAX, COL_COUNTS };

static void put_cell(const struct heatmap *m, const struct grid *g, enum column c, size_t k,
		     struct strbuf *out)
{
	const struct hist *h = &m->v[k];

	switch (c) {
	case COL_T:
		put_u64(out, k);
		break;
	case COL_COUNT:
		put_u64(out, h->count);
		break;
	case COL_LOST:
		put_u64(out, h->lost);
		break;
	case COL_OVERFLOW:
		put_u64(out, h->overflow);
		break;
	case COL_P50:
		put_quantile(h, 0.5, out);
		break;
	case COL_P99:
		put_quantile(h, 0.99, out);
		break;
	case COL_MAX:
		if (h->has_max || h->len)
			strbuf_printf(out, "%lld",
				      (long long)(h->has_max ? h->max : h->b[h->len - 1].lo));
		else
			strbuf_puts(out, "null");
		break;
	case COL_COUNTS:
		put_counts(g, h, out);
		break;
	}
}

void heatmap_put(const struct heatmap *m, struct strbuf *out)
{
	static const char *const names[] = {"t",   "count", "lost", "overflow",
					    "p50", "p99",   "max",  "counts"};
	struct grid g;

	make_grid(m, &g);
	strbuf_puts(out, "\"edges\":[");
	for (size_t i = 0; g.rows && i <= g.rows; i++)
		strbuf_printf(out, "%s%lld", i ? "," : "", (long long)g.edges[i]);
	strbuf_puts(out, "]");
	for (unsigned int c = 0; c < ARRAY_LEN(names); c++) {
		bool any = false;

		strbuf_printf(out, ",\"%s\":[", names[c]);
		for (size_t k = 0; k < m->columns; k++) {
			if (!is_used(&m->v[k]))
				continue;
			if (any)
				strbuf_add(out, ",", 1);
			any = true;
			put_cell(m, &g, (enum column)c, k, out);
		}
		strbuf_puts(out, "]");
	}
}
