/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Staged records -> the model. Items are taken in the order of the stream: what lies between
 * PHASE 2 and PHASE 3 is measured. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/sha256.h"
#include "server/compact_model.h"
#include "server/items.h"

static void note(struct cmodel *m, const char *code, const char *fmt, ...) PRINTF(3, 4);
static void note(struct cmodel *m, const char *code, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	if (json_array_size(m->notes) >= NOTES_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(m->notes, json_pack("{s:s, s:s*}", "code", code, "text", text));
}

/* ---- measurements ---- */

static struct cseries *declared(struct cmodel *m, uint64_t no, enum ckind kind)
{
	struct cseries *s = cmodel_series(m, no);

	if (s && s->kind == kind)
		return s;
	m->undeclared++;
	return NULL;
}

static void take_hist(struct cmodel *m, const struct record_item *it)
{
	struct item_hist h;
	struct cseries *s;

	if (item_hist_read(it, &h, NULL) < 0 || !(s = declared(m, h.series, CKIND_HIST)))
		return;
	if (hist_peek_scheme(h.hist.p, reader_left(&h.hist)) != HIST_LOG128) {
		s->whole = h.hist.p;
		s->whole_len = reader_left(&h.hist);
		return;
	}
	GROW(s->intervals, s->n_intervals, s->cap_intervals);
	s->intervals[s->n_intervals++] = (struct cinterval){
		h.t0_ns, h.dt_ns, m->phase, false, h.hist.p, reader_left(&h.hist)};
}

static void take_counter(struct cmodel *m, const struct record_item *it)
{
	struct item_counter c;
	struct counter_sample v;
	struct cseries *s;

	if (item_counter_read(it, &c, NULL) < 0 || !(s = declared(m, c.series, CKIND_COUNTER)))
		return;
	for (uint64_t i = 0; i < c.n && item_counter_next(&c, &v, NULL) == 0; i++) {
		GROW(s->samples, s->n_samples, s->cap_samples);
		s->samples[s->n_samples++] = (struct csample){c.t0_ns + (int64_t)i * c.dt_ns,
							      c.dt_ns, m->phase, false, v};
	}
}

static void take_value(struct cmodel *m, const struct record_item *it)
{
	struct cseries *s;
	uint64_t no;
	double v;

	if (item_value_read(it, &no, &v, NULL) < 0 || !(s = declared(m, no, CKIND_VALUE)))
		return;
	s->value = v;
	s->has_value = s->touched = true;
}

static void take_series(struct cmodel *m, const struct record_item *it)
{
	const char *text;
	enum ckind kind;
	uint64_t no;
	size_t len;
	json_t *decl;

	if (item_series_read(it, &no, &text, &len, NULL) < 0 ||
	    item_json(ITEM_SERIES, text, len, &decl, NULL) < 0)
		return;
	if (cmodel_series(m, no) || !ckind_of(item_text(decl, "kind"), &kind)) {
		json_decref(decl); /* declared again, e.g. after a fork: the first one counts */
		return;
	}
	cmodel_add_series(m, no, item_text(decl, "metric"), kind)->decl = decl;
}

static void take_phase(struct cmodel *m, const struct record_item *it)
{
	unsigned int phase;
	int64_t t_ns;

	if (item_phase_read(it, &phase, &t_ns, NULL) < 0)
		return;
	m->phase = phase;
	if (phase == PHASE_MEASURED)
		m->measured_from_ns = t_ns;
	else if (phase == PHASE_AFTER)
		m->measured_to_ns = t_ns;
}

/* ---- JSON items ---- */

static void take_environment(struct cmodel *m, const struct record_item *it, json_t *facts)
{
	char hex[SHA256_HEX];

	json_array_append_new(m->environments,
			      json_pack("{s:s, s:O}", "sha256", sha256_hex(it->data, it->len, hex),
					"facts", facts));
}

static void take_breach(struct cmodel *m, const json_t *item)
{
	json_t *row;

	m->n_breaches++;
	if (m->breaches_before + m->n_breaches > BREACHES_MAX)
		return;
	row = json_copy((json_t *)(uintptr_t)item);
	json_object_set_new(row, "no",
			    json_integer((json_int_t)(m->breaches_before + m->n_breaches)));
	json_object_set_new(row, "phase", json_integer((json_int_t)m->phase));
	json_array_append_new(m->breaches, row);
}

static void take_gap(struct cmodel *m, json_t *item)
{
	json_array_append(m->gaps, item);
	if (strcmp(item_text(item, "reason"), "unclean_end") == 0)
		json_array_append(m->unclean, json_object_get(item, "stream"));
}

static void take_json(struct cmodel *m, const struct record_item *it)
{
	struct err err;
	json_t *item;

	if (item_json(it->type, (const char *)it->data, it->len, &item, &err) < 0) {
		note(m, "unreadable-item", "%s", err.text);
		return;
	}
	switch (it->type) {
	case ITEM_RUN_START:
		if (!m->start)
			m->start = json_incref(item);
		break;
	case ITEM_RUN_END:
		if (!m->end)
			m->end = json_incref(item);
		break;
	case ITEM_ENVIRONMENT:
		take_environment(m, it, item);
		break;
	case ITEM_BREACH:
		take_breach(m, item);
		break;
	case ITEM_GAP:
		take_gap(m, item);
		break;
	case ITEM_LOG:
		note(m, "log", "%s", item_text(item, "text"));
		break;
	default:
		break;
	}
	json_decref(item);
}

static void take_item(struct cmodel *m, const struct record_item *it)
{
	switch (it->type) {
	case ITEM_HIST:
		take_hist(m, it);
		break;
	case ITEM_COUNTER:
		take_counter(m, it);
		break;
	case ITEM_VALUE:
		take_value(m, it);
		break;
	case ITEM_SERIES:
		take_series(m, it);
		break;
	case ITEM_PHASE:
		take_phase(m, it);
		break;
	case ITEM_RUN_START:
	case ITEM_RUN_END:
	case ITEM_GAP:
	case ITEM_BREACH:
	case ITEM_ENVIRONMENT:
	case ITEM_LOG:
		take_json(m, it);
		break;
	}
}

/* Calls fn for each item of a row of staging; false when the bytes are damaged. */
static bool each_item(const struct crecord *row,
		      void (*fn)(void *ctx, const struct record_header *h,
				 const struct record_item *it),
		      void *ctx)
{
	struct record_header h;

	for (size_t off = 0; off < row->len; off += h.length) {
		struct reader r;
		struct record_item it;
		int rc;

		if (record_check(row->data + off, row->len - off, &h, NULL) < 0)
			return false;
		r = record_payload(row->data + off, &h);
		while ((rc = record_next_item(&r, &it, NULL)) > 0)
			fn(ctx, &h, &it);
		if (rc < 0)
			return false;
	}
	return true;
}

static void on_item(void *ctx, const struct record_header *h, const struct record_item *it)
{
	struct cmodel *m = ctx;

	m->last_ns = h->realtime_ns;
	take_item(m, it);
}

void compact_decode(struct cmodel *m)
{
	for (size_t i = 0; i < m->n_records; i++) {
		const struct crecord *row = &m->records[i];

		if (!each_item(row, on_item, m))
			note(m, "damaged-record",
			     "records %" PRIu64 " to %" PRIu64 " were damaged in the database",
			     row->first_seq, row->last_seq);
		if (!i)
			m->first_seq = row->first_seq;
		m->last_seq = row->last_seq;
	}
	if (m->undeclared)
		note(m, "undeclared-series",
		     "%" PRIu64 " items name a series that was not declared", m->undeclared);
}

static void find_uid(void *ctx, const struct record_header *h, const struct record_item *it)
{
	char *uid = ctx;
	json_t *item;

	(void)h;
	if ((it->type != ITEM_RUN_START && it->type != ITEM_RUN_END) || *uid ||
	    item_json(it->type, (const char *)it->data, it->len, &item, NULL) < 0)
		return;
	(void)snprintf(uid, 33, "%s", item_text(item, "run_uid"));
	json_decref(item);
}

static void find_start(void *ctx, const struct record_header *h, const struct record_item *it)
{
	(void)h;
	*(bool *)ctx |= it->type == ITEM_RUN_START;
}

bool compact_has_start(const struct cmodel *m)
{
	bool found = false;

	for (size_t i = 0; i < m->n_records && !found; i++)
		(void)each_item(&m->records[i], find_start, &found);
	return found;
}

bool compact_find_uid(const struct cmodel *m, unsigned char ret[16])
{
	char uid[33] = "";

	for (size_t i = 0; i < m->n_records && !*uid; i++)
		(void)each_item(&m->records[i], find_uid, uid);
	return item_uid(uid, ret);
}

/* ---- rows that were packed before ---- */

int compact_unpack_hists(struct cmodel *m, uint64_t no, int64_t t0_ns, int64_t dt_ns,
			 unsigned int phase, uint64_t n, const void *d, size_t len,
			 struct err *reterr)
{
	struct cseries *s = cmodel_series(m, no);
	struct reader r = reader_of(cmodel_keep(m, d, len), len);
	int64_t t = t0_ns, dt = dt_ns;

	for (uint64_t i = 0; s && i < n; i++) {
		const unsigned char *data;
		uint64_t bytes;

		t = (int64_t)((uint64_t)t + (uint64_t)read_zigzag(&r));
		dt = (int64_t)((uint64_t)dt + (uint64_t)read_zigzag(&r));
		bytes = read_varint(&r);
		data = read_bytes(&r, bytes);
		if (r.bad)
			break;
		GROW(s->intervals, s->n_intervals, s->cap_intervals);
		s->intervals[s->n_intervals++] =
			(struct cinterval){t, dt, phase, true, data, (size_t)bytes};
		t += dt;
	}
	if (!s || r.bad || reader_left(&r))
		return err_set(reterr, ERR_INVALID, "a row of hist_chunk cannot be read");
	return 0;
}

int compact_unpack_samples(struct cmodel *m, uint64_t no, int64_t t0_ns, int64_t dt_ns,
			   unsigned int phase, uint64_t n, const void *d, size_t len,
			   struct err *reterr)
{
	struct cseries *s = cmodel_series(m, no);
	struct reader r = reader_of(d, len);
	uint64_t head = read_le(&r, 1);
	struct csample at = {t0_ns, dt_ns, phase, true, {0}};

	for (uint64_t i = 0; s && i < n && !r.bad; i++) {
		if (!(head & CHUNK_EVEN)) {
			at.t0_ns += read_zigzag(&r);
			at.dt_ns += read_zigzag(&r);
		}
		at.v.delta = (int64_t)((uint64_t)at.v.delta + (uint64_t)read_zigzag(&r));
		at.v.enabled_ns = head & CHUNK_ENABLED
					  ? (uint64_t)at.dt_ns
					  : at.v.enabled_ns + (uint64_t)read_zigzag(&r);
		at.v.running_ns = at.v.enabled_ns;
		if (!(head & CHUNK_RUNNING))
			at.v.running_ns -= (uint64_t)read_zigzag(&r);
		GROW(s->samples, s->n_samples, s->cap_samples);
		s->samples[s->n_samples++] = at;
		at.t0_ns += at.dt_ns;
	}
	if (!s || r.bad || reader_left(&r))
		return err_set(reterr, ERR_INVALID, "a row of chunk cannot be read");
	return 0;
}
