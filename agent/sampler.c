/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/sampler.h"

#include "agent/facts.h"
#include "common/check.h"
#include "common/clock.h"

struct sampler {
	struct probe **probe;
	size_t len, cap;
	int64_t last_boottime_ns, last_realtime_ns;
};

struct series_list {
	struct record_writer *w;
	uint64_t last;
};

struct sampler *sampler_new(void)
{
	return xcalloc(1, sizeof(struct sampler));
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->len; i++)
		s->probe[i]->free(s->probe[i]);
	free(s->probe);
	free(s);
}

void sampler_add(struct sampler *s, struct probe *p)
{
	GROW(s->probe, s->len, s->cap);
	s->probe[s->len++] = p;
}

static void put_member(struct strbuf *j, const char *key, const char *value)
{
	if (!value)
		return;
	strbuf_printf(j, ",\"%s\":", key);
	json_put_string(j, value);
}

static void put_decl(struct strbuf *j, const struct series_decl *d)
{
	strbuf_puts(j, "{\"metric\":");
	json_put_string(j, d->metric);
	put_member(j, "kind", d->kind);
	put_member(j, "unit", d->unit);
	strbuf_puts(j, ",\"labels\":{");
	for (size_t i = 0; i < ARRAY_LEN(d->label) && d->label[i][0]; i++) {
		if (i)
			strbuf_putc(j, ',');
		json_put_string(j, d->label[i][0]);
		strbuf_putc(j, ':');
		json_put_string(j, d->label[i][1]);
	}
	strbuf_putc(j, '}');
	put_member(j, "method", d->method);
	put_member(j, "omission", d->omission);
	put_member(j, "state", d->state);
	put_member(j, "reason", d->reason);
	if (d->interval_ns)
		strbuf_printf(j, ",\"interval_ns\":%lld", (long long)d->interval_ns);
	if (d->resolution_ns)
		strbuf_printf(j, ",\"resolution_ns\":%lld", (long long)d->resolution_ns);
	strbuf_putc(j, '}');
}

uint64_t series_declare_more(struct record_writer *w, uint64_t *last, const struct series_decl *d)
{
	struct strbuf j CLEANUP(strbuf_done) = {0};

	put_decl(&j, d);
	record_item_series(w, ++*last, j.data, j.len);
	return *last;
}

uint64_t series_declare(struct series_list *l, const struct series_decl *d)
{
	return series_declare_more(l->w, &l->last, d);
}

static void now(struct sampler *s)
{
	s->last_boottime_ns = clock_boottime_ns();
	s->last_realtime_ns = clock_realtime_ns();
}

uint64_t sampler_begin(struct sampler *s, struct record_writer *w)
{
	struct series_list l = {.w = w};

	for (size_t i = 0; i < s->len; i++)
		s->probe[i]->declare(s->probe[i], &l);
	sampler_discard(s);
	return l.last;
}

void sampler_collect(struct sampler *s, bool measured, struct record_writer *w)
{
	struct interval in = {.t0_ns = s->last_realtime_ns, .measured = measured};
	int64_t before = s->last_boottime_ns;

	now(s);
	in.dt_ns = s->last_boottime_ns - before;
	for (size_t i = 0; i < s->len; i++)
		s->probe[i]->collect(s->probe[i], &in, w);
}

void sampler_discard(struct sampler *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->probe[i]->begin)
			s->probe[i]->begin(s->probe[i]);
	now(s);
}

void sampler_finish(struct sampler *s, struct record_writer *w, uint64_t *last_series)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->probe[i]->finish)
			s->probe[i]->finish(s->probe[i], w, last_series);
}

void sampler_summary(struct sampler *s, struct run_summary *ret)
{
	*ret = (struct run_summary){0};
	for (size_t i = 0; i < s->len; i++)
		if (s->probe[i]->summary)
			s->probe[i]->summary(s->probe[i], ret);
}

void run_summary_missed(struct run_summary *s, uint64_t series, uint64_t missed)
{
	GROW(s->missed, s->missed_len, s->missed_cap);
	s->missed[s->missed_len].series = series;
	s->missed[s->missed_len++].missed = missed;
}

void run_summary_done(struct run_summary *s)
{
	marks_done(&s->marks);
	free(s->missed);
	*s = (struct run_summary){0};
}
