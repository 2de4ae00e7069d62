/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One pass over the staged records of one run, in one transaction:
 *
 *   lock -> read -> the run, its series and totals -> decode (thread) -> old rows that grow
 *   -> pack (thread) -> write, table by table -> delete what was read -> commit
 *
 * A failure rolls everything back; the records stay staged and are tried again. */
#include <inttypes.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/compact_internal.h"
#include "server/items.h"
#include "server/queries.h"
#include "server/work.h"

#define PASS_MS	     60000
#define AGAIN_LOCKED 2000
#define AGAIN_FAILED 10000
#define AGAIN_ORPHAN 30000
#define ORPHAN_NS    (86400 * NS_PER_SEC) /* records of a run that never appears */
#define TAKE_BACK_NS (3600 * NS_PER_SEC)  /* how old a short row may be to be written again */

static void fail(struct job *j, const struct err *err)
{
	log_warn("compact: host %" PRId64 ", run %" PRId64 " of its stream: %s", j->key.host_id,
		 j->key.run_no, err->text);
	j->c->stats.failed++;
	if (j->txn)
		db_txn_rollback(TAKE(j->txn));
	compact_job_done(j, AGAIN_FAILED);
}

static void leave(struct job *j, unsigned int again_ms)
{
	db_txn_rollback(TAKE(j->txn));
	compact_job_done(j, again_ms);
}

/* ---- writing: one statement after another ---- */

static void write_next(struct job *j);

static void on_written(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;

	if (err) {
		fail(j, err);
		return;
	}
	if (j->step - 1 == WRITE_RUN) {
		j->exists = true;
		j->run_id = db_i64(res, 0, 0);
	}
	write_next(j);
}

static void on_committed(void *ctx, const struct err *err)
{
	struct job *j = ctx;

	j->committing = false;
	if (j->dead) {
		job_free(j);
	} else if (err) {
		fail(j, err);
	} else {
		j->c->stats.passes++;
		compact_job_done(j, 0);
	}
}

static void write_next(struct job *j)
{
	struct write w CLEANUP(write_done) = {.n = 0};
	const struct query *q = NULL;

	while (!q && j->step < WRITE_STEPS)
		q = write_step(j, (enum write_step)j->step++, &w);
	if (q) {
		db_txn_query(j->txn, q, w.params, w.n, on_written, j);
		return;
	}
	j->committing = true;
	db_txn_commit(TAKE(j->txn), on_committed, j);
}

/* ---- work in the thread pool ---- */

/* A job that is stopped while it is in a thread ends when the thread gives it back. */
struct thread_work {
	struct job *j;
	void (*run)(struct job *j);
	void (*done)(struct job *j);
	bool given_back;
};

static void on_thread(void *ctx)
{
	struct thread_work *w = ctx;

	w->run(w->j);
}

static void on_thread_done(void *ctx)
{
	struct thread_work *w = ctx;

	w->given_back = true;
	w->j->in_work = false;
	w->done(w->j);
}

static void on_thread_dropped(void *ctx)
{
	struct thread_work *w = ctx;

	if (!w->given_back)
		job_free(w->j);
	free(w);
}

static void submit(struct job *j, void (*run)(struct job *j), void (*done)(struct job *j))
{
	struct thread_work *w = xcalloc(1, sizeof(*w));
	struct err err;

	*w = (struct thread_work){j, run, done, false};
	j->in_work = true;
	if (work_submit(j->c->work, &j->c->pending, on_thread, on_thread_done, on_thread_dropped, w,
			&err) < 0) {
		j->in_work = false;
		free(w);
		fail(j, &err);
	}
}

static void run_pack(struct job *j)
{
	compact_pack(j->m);
	compact_values(j->m);
}

static void on_packed(struct job *j)
{
	write_next(j);
}

/* ---- old rows that grow ---- */

enum { TAKE_SERIES, TAKE_T0, TAKE_DT, TAKE_PHASE, TAKE_N, TAKE_BYTES };

static bool unpack(struct job *j, const struct db_result *res, bool hists, struct err *reterr)
{
	for (size_t i = 0; i < db_rows(res); i++) {
		size_t len;
		const void *d = db_bytes(res, i, TAKE_BYTES, &len);
		int rc = (hists ? compact_unpack_hists : compact_unpack_samples)(
			j->m, (uint64_t)db_i64(res, i, TAKE_SERIES), db_i64(res, i, TAKE_T0),
			db_i64(res, i, TAKE_DT), (unsigned int)db_i64(res, i, TAKE_PHASE),
			(uint64_t)db_i64(res, i, TAKE_N), d, len, reterr);

		if (rc < 0)
			return false;
	}
	return true;
}

static void on_chunks(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;
	struct err wrong;

	if (err)
		fail(j, err);
	else if (!unpack(j, res, false, &wrong))
		fail(j, &wrong);
	else
		submit(j, run_pack, on_packed);
}

static void take_back(struct job *j, const struct query *q, db_on_result on_result)
{
	const struct db_param params[] = {P_I64(j->key.host_id), P_I64(j->run_id),
					  P_I64(j->m->last_ns - TAKE_BACK_NS)};

	db_txn_query(j->txn, q, params, ARRAY_LEN(params), on_result, j);
}

static void on_hists(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;
	struct err wrong;

	if (err)
		fail(j, err);
	else if (!unpack(j, res, true, &wrong))
		fail(j, &wrong);
	else
		take_back(j, &Q_COMPACT_TAKE_CHUNKS, on_chunks);
}

enum { MINUTE_SERIES, MINUTE_NS, MINUTE_PHASE, MINUTE_BYTES };

static void on_minutes(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;

	if (err) {
		fail(j, err);
		return;
	}
	for (size_t i = 0; i < db_rows(res); i++) {
		struct cseries *s = cmodel_series(j->m, (uint64_t)db_i64(res, i, MINUTE_SERIES));
		size_t len;
		const void *d = db_bytes(res, i, MINUTE_BYTES, &len);

		if (!s)
			continue;
		GROW(s->minutes, s->n_minutes, s->cap_minutes);
		s->minutes[s->n_minutes++] = (struct cminute){
			db_i64(res, i, MINUTE_NS), (unsigned int)db_i64(res, i, MINUTE_PHASE),
			cmodel_keep(j->m, d, len), len};
	}
	take_back(j, &Q_COMPACT_TAKE_HISTS, on_hists);
}

/* ---- decoding ---- */

static void run_decode(struct job *j)
{
	compact_decode(j->m);
}

static void on_decoded(struct job *j)
{
	int64_t from = INT64_MAX, to = INT64_MIN;

	j->m->final |= j->m->end != NULL;
	if (!j->exists) { /* nothing that could grow */
		submit(j, run_pack, on_packed);
		return;
	}
	for (size_t i = 0; i < j->m->cap_series; i++) {
		const struct cseries *s = j->m->series[i];

		for (size_t k = 0; s && k < s->n_intervals; k++) {
			from = s->intervals[k].t0_ns < from ? s->intervals[k].t0_ns : from;
			to = s->intervals[k].t0_ns > to ? s->intervals[k].t0_ns : to;
		}
	}
	if (from > to)
		from = to = 0;
	db_txn_query(j->txn, &Q_COMPACT_MINUTES,
		     (const struct db_param[]){P_I64(j->key.host_id), P_I64(j->run_id),
					       P_I64(from - 60 * NS_PER_SEC), P_I64(to)},
		     4, on_minutes, j);
}

/* ---- the run as it is ---- */

enum {
	SER_NO,
	SER_METRIC,
	SER_KIND,
	SER_D,
	SER_COUNT,
	SER_LOST,
	SER_DELTA,
	SER_SECONDS,
	SER_ENABLED,
	SER_RUNNING,
	SER_MIN,
	SER_MAX,
	SER_MEAN,
	SER_M2,
	SER_COLUMNS
};

static void add_series(struct job *j, const struct db_result *res, size_t i)
{
	struct cseries *s;
	enum ckind kind;
	const void *d;

	if (!ckind_of(db_text(res, i, SER_KIND), &kind))
		return; /* of an import: no agent adds to it */
	s = cmodel_add_series(j->m, (uint64_t)db_i64(res, i, SER_NO), db_text(res, i, SER_METRIC),
			      kind);
	d = db_bytes(res, i, SER_D, &s->total_len);
	if (d)
		s->total = cmodel_keep(j->m, d, s->total_len);
	s->rate = (struct crate){.count = (uint64_t)db_i64(res, i, SER_COUNT),
				 .lost = (uint64_t)db_i64(res, i, SER_LOST),
				 .delta = db_f64(res, i, SER_DELTA),
				 .seconds = db_f64(res, i, SER_SECONDS),
				 .enabled_ns = db_i64(res, i, SER_ENABLED),
				 .running_ns = db_i64(res, i, SER_RUNNING),
				 .min = db_f64(res, i, SER_MIN),
				 .max = db_f64(res, i, SER_MAX),
				 .mean = db_f64(res, i, SER_MEAN),
				 .m2 = db_f64(res, i, SER_M2)};
}

static void on_series(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;

	if (err) {
		fail(j, err);
		return;
	}
	CHECK(db_columns(res) == SER_COLUMNS);
	for (size_t i = 0; i < db_rows(res); i++)
		add_series(j, res, i);
	submit(j, run_decode, on_decoded);
}

enum { RUN_ID, RUN_KIND, RUN_STATE, RUN_PHASE, RUN_BREACHES, RUN_BY_UID };

static void on_run(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;

	if (err) {
		fail(j, err);
		return;
	}
	if (!db_rows(res)) {
		bool starts = compact_has_start(j->m);

		if (!starts && clock_realtime_ns() - j->oldest_ns < ORPHAN_NS) {
			leave(j, AGAIN_ORPHAN);
			return;
		}
		if (!starts)
			log_warn("compact: records %" PRIu64 " to %" PRIu64 " of host %" PRId64
				 " belong to no run: dropped after a day",
				 j->m->records[0].first_seq,
				 j->m->records[j->m->n_records - 1].last_seq, j->key.host_id);
		submit(j, run_decode, on_decoded);
		return;
	}
	j->exists = true;
	j->run_id = db_i64(res, 0, RUN_ID);
	j->by_uid = db_bool(res, 0, RUN_BY_UID);
	j->m->watch = strcmp(db_text(res, 0, RUN_KIND), "watch") == 0;
	j->m->final = strcmp(db_text(res, 0, RUN_STATE), "running") != 0;
	j->m->phase = (unsigned int)db_i64(res, 0, RUN_PHASE);
	j->m->breaches_before = (uint64_t)db_i64(res, 0, RUN_BREACHES);
	db_txn_query(j->txn, &Q_COMPACT_SERIES,
		     (const struct db_param[]){P_I64(j->key.host_id), P_I64(j->run_id)}, 2,
		     on_series, j);
}

/* ---- the staged records ---- */

enum { READ_FIRST, READ_LAST, READ_SAMPLES, READ_RECEIVED, READ_RECORDS };

static void on_read(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;
	unsigned char uid[16];
	bool named;

	if (err) {
		fail(j, err);
		return;
	}
	if (!db_rows(res)) {
		leave(j, 0); /* another server has packed them */
		return;
	}
	for (size_t i = 0; i < db_rows(res); i++) {
		struct cmodel *m = j->m;
		size_t len;
		const void *data = db_bytes(res, i, READ_RECORDS, &len);

		GROW(m->records, m->n_records, m->cap_records);
		m->records[m->n_records++] = (struct crecord){(uint64_t)db_i64(res, i, READ_FIRST),
							      (uint64_t)db_i64(res, i, READ_LAST),
							      cmodel_keep(m, data, len), len};
		m->samples += (uint64_t)db_i64(res, i, READ_SAMPLES);
	}
	j->c->stats.rows_read += db_rows(res);
	if (!j->key.run_no) {
		submit(j, run_decode, on_decoded);
		return;
	}
	named = compact_find_uid(j->m, uid);
	db_txn_query(j->txn, &Q_COMPACT_RUN,
		     (const struct db_param[]){P_I64(j->key.host_id), P_UUID(j->key.stream),
					       P_I64(j->key.run_no), P_UUID(named ? uid : NULL)},
		     4, on_run, j);
}

static void on_locked(void *ctx, const struct db_result *res, const struct err *err)
{
	struct job *j = ctx;

	if (err)
		fail(j, err);
	else if (!db_bool(res, 0, 0))
		leave(j, AGAIN_LOCKED);
	else
		db_txn_query(j->txn, &Q_COMPACT_READ,
			     (const struct db_param[]){P_I64(j->key.host_id), P_UUID(j->key.stream),
						       P_I64(j->key.run_no)},
			     3, on_read, j);
}

static void on_begin(void *ctx, struct db_txn *txn, const struct err *err)
{
	struct job *j = ctx;

	if (err) {
		fail(j, err);
		return;
	}
	j->txn = txn;
	db_txn_query(txn, &Q_COMPACT_LOCK,
		     (const struct db_param[]){P_I64(j->key.host_id), P_UUID(j->key.stream),
					       P_I64(j->key.run_no)},
		     3, on_locked, j);
}

void job_start(struct compact *c, const struct run_key *key, int64_t oldest_ns)
{
	struct job *j = xcalloc(1, sizeof(*j));

	j->c = c;
	j->key = *key;
	j->oldest_ns = oldest_ns;
	j->started_ns = clock_monotonic_ns();
	j->m = cmodel_new();
	j->next = c->jobs;
	j->link = &c->jobs;
	if (j->next)
		j->next->link = &j->next;
	c->jobs = j;
	c->stats.running++;
	db_begin(c->db, DB_INGEST, PASS_MS, &c->pending, on_begin, j);
}
