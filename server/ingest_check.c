/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/ingest_check.h"

#include <inttypes.h>
#include <math.h>

#include "server/items.h"

#define SERIES_MAX	1000000
#define INTERVAL_MAX_NS (86400 * NS_PER_SEC)
#define SEQ_MAX		(INT64_MAX / 2)
#define SAMPLES_MAX	(1ull << 40) /* in one record, also of a gap */

void ingest_batch_done(struct ingest_batch *b)
{
	free(TAKE(b->parts));
	memset(b, 0, sizeof(*b));
}

/* What one record turned out to be. */
struct facts {
	uint64_t first, last; /* numbers that it stands for */
	uint64_t gap_samples;
	bool run_end;
	bool hole; /* a GAP in place of records: made anew for each POST, its bytes may differ */
};

static int check_slice(uint64_t series, int64_t dt_ns, struct err *reterr)
{
	if (series < 1 || series > SERIES_MAX)
		return err_set(reterr, ERR_INVALID, "series %" PRIu64 " is out of bounds", series);
	if (dt_ns < 1 || dt_ns > INTERVAL_MAX_NS)
		return err_set(reterr, ERR_INVALID, "an interval of %" PRId64 " ns", dt_ns);
	return 0;
}

static int check_hist(const struct record_item *it, struct err *reterr)
{
	struct item_hist item;
	struct hist h CLEANUP(hist_done) = {0};

	if (item_hist_read(it, &item, reterr) < 0 ||
	    check_slice(item.series, item.dt_ns, reterr) < 0 ||
	    hist_decode(&h, &item.hist, reterr) < 0)
		return reterr->code;
	if ((h.scheme == HIST_LOG128 && h.overflow) || reader_left(&item.hist))
		return err_set(reterr, ERR_INVALID, "a histogram that is not of the fixed layout");
	if (h.count > SAMPLES_MAX || h.lost > SAMPLES_MAX)
		return err_set(reterr, ERR_INVALID, "a histogram with an impossible count");
	return 0;
}

/* item_counter_next without its copies: this loop sees every sample that comes in. */
static int check_counter(const struct record_item *it, struct err *reterr)
{
	struct item_counter item;
	uint64_t enabled = 0, stopped, wrong = 0;
	struct reader *r = &item.samples;

	if (item_counter_read(it, &item, reterr) < 0 ||
	    check_slice(item.series, item.dt_ns, reterr) < 0)
		return reterr->code;
	for (uint64_t i = 0; i < item.n; i++) {
		(void)read_varint(r); /* any delta is one */
		enabled += (uint64_t)read_zigzag(r);
		stopped = (uint64_t)read_zigzag(r);
		wrong |= (uint64_t)(enabled > INT64_MAX) | (uint64_t)(stopped > enabled);
	}
	if (r->bad)
		return err_set(reterr, ERR_INVALID, "counter item is cut short");
	if (wrong)
		return err_set(reterr, ERR_INVALID,
			       "a counter that ran longer than it was enabled");
	if (reader_left(r))
		return err_set(reterr, ERR_INVALID, "a counter item with bytes left over");
	return 0;
}

static int check_value(const struct record_item *it, struct err *reterr)
{
	uint64_t series;
	double value;

	if (item_value_read(it, &series, &value, reterr) < 0 || check_slice(series, 1, reterr) < 0)
		return reterr->code;
	if (!isfinite(value))
		return err_set(reterr, ERR_INVALID, "a value that is not a finite number");
	return 0;
}

static int check_series(const struct record_item *it, struct err *reterr)
{
	uint64_t number;
	const char *text;
	size_t len;
	json_t *obj;

	if (item_series_read(it, &number, &text, &len, reterr) < 0 ||
	    check_slice(number, 1, reterr) < 0 ||
	    item_json(ITEM_SERIES, text, len, &obj, reterr) < 0)
		return reterr->code;
	json_decref(obj);
	return 0;
}

static int note_gap(const json_t *obj, const struct ingest_source *src, uint64_t seq,
		    struct facts *f, struct err *reterr)
{
	uint64_t from = (uint64_t)item_i64(obj, "from_seq", 0);
	uint64_t to = (uint64_t)item_i64(obj, "to_seq", 0);
	uint64_t samples = (uint64_t)item_i64(obj, "samples", 0);
	unsigned char stream[STREAM_ID_LEN];

	if (from < 1 || to < from || to > SEQ_MAX || samples > SAMPLES_MAX)
		return err_set(reterr, ERR_INVALID, "a gap from %" PRIu64 " to %" PRIu64, from, to);
	f->gap_samples += samples;
	if (item_uid(item_text(obj, "stream"), stream) &&
	    memcmp(stream, src->stream, STREAM_ID_LEN) == 0 && from <= seq && seq <= to) {
		f->first = from;
		f->last = to;
		f->hole = true;
	}
	return 0;
}

static int check_json(const struct record_item *it, const struct ingest_source *src,
		      const struct record_header *h, struct facts *f, struct err *reterr)
{
	json_t *obj;
	const char *host;
	int rc = item_json(it->type, (const char *)it->data, it->len, &obj, reterr);

	if (rc < 0)
		return rc;
	host = item_text(obj, "host");
	if (it->type == ITEM_RUN_START && strcmp(host, src->host) != 0)
		rc = err_set(reterr, ERR_INVALID, "the run is of host %.60s, the request of %.60s",
			     host, src->host);
	else if ((it->type == ITEM_RUN_START || it->type == ITEM_RUN_END) && h->run == 0)
		rc = err_set(reterr, ERR_INVALID, "a run's start or end in a record of no run");
	else if (it->type == ITEM_GAP)
		rc = note_gap(obj, src, h->seq, f, reterr);
	f->run_end |= it->type == ITEM_RUN_END;
	json_decref(obj);
	return rc;
}

static int check_item(const struct record_item *it, const struct ingest_source *src,
		      const struct record_header *h, struct facts *f, struct err *reterr)
{
	unsigned int phase;
	int64_t t_ns;

	switch (it->type) {
	case ITEM_HIST:
		return check_hist(it, reterr);
	case ITEM_COUNTER:
		return check_counter(it, reterr);
	case ITEM_VALUE:
		return check_value(it, reterr);
	case ITEM_SERIES:
		return check_series(it, reterr);
	case ITEM_PHASE:
		return item_phase_read(it, &phase, &t_ns, reterr);
	case ITEM_RUN_START:
	case ITEM_RUN_END:
	case ITEM_GAP:
	case ITEM_BREACH:
	case ITEM_ENVIRONMENT:
	case ITEM_LOG:
		return check_json(it, src, h, f, reterr);
	}
	return 0; /* newer than this program: kept, skipped when packed */
}

static int check_record(const unsigned char *data, const struct record_header *h,
			const struct ingest_source *src, struct facts *f, struct err *reterr)
{
	struct reader r = record_payload(data, h);
	struct record_item it;
	int rc;

	*f = (struct facts){.first = h->seq, .last = h->seq};
	if (h->seq > SEQ_MAX)
		return err_set(reterr, ERR_INVALID, "a sequence number that is out of bounds");
	while ((rc = record_next_item(&r, &it, reterr)) > 0)
		if (check_item(&it, src, h, f, reterr) < 0)
			return reterr->code;
	return rc;
}

static void add_record(struct ingest_batch *b, const struct record_header *h, const struct facts *f,
		       size_t off)
{
	struct ingest_part *p = b->n ? &b->parts[b->n - 1] : NULL;

	if (!p || p->run != h->run || p->run_end) {
		GROW(b->parts, b->n, b->cap);
		p = &b->parts[b->n++];
		*p = (struct ingest_part){.run = h->run,
					  .first_seq = f->first,
					  .first_ns = h->realtime_ns,
					  .off = off};
	}
	p->last_seq = f->last;
	p->last_ns = h->realtime_ns;
	p->samples += h->samples;
	p->run_end = f->run_end;
	p->len = off + h->length - p->off;
	b->samples += h->samples;
	b->gap_samples += f->gap_samples;
}

/* Fits the record into the sequence: 1 = it is new, 0 = it is known. */
static int place(const struct facts *f, const struct record_header *h,
		 const struct ingest_source *src, uint64_t next, struct err *reterr)
{
	if (f->last < src->expected) {
		if (f->last == src->expected - 1 && src->has_crc && !f->hole &&
		    h->crc != src->last_crc)
			return err_set(reterr, ERR_CONFLICT,
				       "record %" PRIu64 " was stored with other bytes", h->seq);
		return 0;
	}
	if (f->first > next)
		return err_set(reterr, next == src->expected ? ERR_NOT_FOUND : ERR_INVALID,
			       "record %" PRIu64 " follows %" PRIu64, f->first, next - 1);
	if (f->last < next)
		return err_set(reterr, ERR_INVALID, "record %" PRIu64 " comes twice", f->last);
	return 1;
}

int ingest_check(const void *body, size_t len, const struct ingest_source *src,
		 struct ingest_batch *ret, struct err *reterr)
{
	const unsigned char *data = body;
	uint64_t next = src->expected;
	struct record_header h;
	struct facts f;
	int rc;

	memset(ret, 0, sizeof(*ret));
	for (size_t off = 0; off < len; off += h.length) {
		if (record_check(data + off, len - off, &h, reterr) < 0)
			goto wrong;
		if (check_record(data + off, &h, src, &f, reterr) < 0) {
			(void)err_prefix(reterr, "record %" PRIu64 ": ", h.seq);
			goto wrong;
		}
		if (!off)
			ret->first = f.first;
		rc = place(&f, &h, src, next, reterr);
		if (rc < 0)
			goto wrong;
		if (rc > 0) {
			if (f.first < next)
				f.first = next; /* a gap whose beginning is known */
			add_record(ret, &h, &f, off);
			next = f.last + 1;
		}
		ret->last = f.last;
		ret->last_crc = h.crc;
		ret->has_crc = !f.hole;
	}
	if (ret->last)
		return 0;
	(void)err_set(reterr, ERR_INVALID, "the body holds no record");
wrong:
	ingest_batch_done(ret);
	/* A torn record is wrong for ever, not too large. */
	if (reterr->code == ERR_LIMIT)
		reterr->code = ERR_INVALID;
	return reterr->code;
}

int ingest_last_crc(const void *body, size_t len, uint32_t *ret, bool *ret_has, struct err *reterr)
{
	struct reader r = reader_of(body, len);

	*ret_has = false;
	while (reader_left(&r)) {
		struct reader head = r;
		uint64_t record;

		(void)read_le(&head, 4);
		record = read_le(&head, 4);
		(void)read_bytes(&head, 32);
		*ret = (uint32_t)read_le(&head, 4);
		if (head.bad || record < RECORD_HEADER_LEN || !read_bytes(&r, record))
			return err_set(reterr, ERR_INVALID, "the body is not a row of records");
		*ret_has = read_varint(&head) != ITEM_GAP;
	}
	return len ? 0 : err_set(reterr, ERR_INVALID, "the body is empty");
}
