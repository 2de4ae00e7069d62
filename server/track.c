/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One chain: take runs until none is left -> claim trends with their windows -> analyse them in a
 * thread -> store one by one -> claim again, until none is stale. Then it waits for the next tick.
 */
#include "server/track.h"

#include <math.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/track_find.h"
#include "server/work.h"

#define TAKE_RUNS     20
#define CLAIM_TRENDS  16
#define CLAIM_SECONDS 60
#define WINDOW	      300 /* points that are analysed; SEGMENT_N_MAX is the engine's limit */
#define QUERY_MS      30000

struct batch {
	struct track_trend trend[CLAIM_TRENDS];
	json_t *result[CLAIM_TRENDS];
	size_t n, at; /* at: the next to store */
	int64_t busy_ns;
};

struct track {
	struct db *db;
	struct work_pool *work;
	struct pending_list pending;
	struct batch *batch; /* NULL: none claimed; in the thread or being stored otherwise */
	bool busy, stopping;
	struct track_stats stats;
};

static void batch_free(struct batch *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		track_trend_done(&b->trend[i]);
		json_decref(b->result[i]);
	}
	free(b);
}

/* The rest is taken up at the next tick; what was claimed, when the claim ends. */
static void fail(struct track *t, const char *what, const char *text)
{
	log_warn("track: %s: %s", what, text);
	t->stats.failed++;
	t->busy = false;
	batch_free(TAKE(t->batch));
}

static void claim(struct track *t);

/* ---- storing ---- */

static void store_next(struct track *t);

static void on_stored(void *ctx, const struct db_result *res, const struct err *err)
{
	struct track *t = ctx;

	(void)res;
	if (err) {
		fail(t, "storing an analysis", err->text);
		return;
	}
	t->stats.trends++;
	store_next(t);
}

static void store_next(struct track *t)
{
	struct batch *b = t->batch;
	char *text CLEANUP(freep) = NULL;

	if (b->at == b->n) {
		batch_free(TAKE(t->batch));
		claim(t);
		return;
	}
	text = json_dumps(b->result[b->at], JSON_COMPACT);
	CHECK(text);
	db_query(t->db, DB_INGEST, &Q_TRACK_STORE,
		 (const struct db_param[]){P_I64(b->trend[b->at].trend_id),
					   P_I64(b->trend[b->at].revision), P_JSON(text)},
		 3, QUERY_MS, &t->pending, on_stored, t);
	b->at++;
}

/* ---- the analysis, in a thread: owns the batch until it is given back ---- */

struct thread_work {
	struct track *t;
	struct batch *batch;
};

static void run_find(void *ctx)
{
	struct batch *b = ((struct thread_work *)ctx)->batch;
	int64_t start = clock_monotonic_ns();

	for (size_t i = 0; i < b->n; i++)
		b->result[i] = track_find(&b->trend[i]);
	b->busy_ns = clock_monotonic_ns() - start;
}

static void on_found(void *ctx)
{
	struct thread_work *w = ctx;

	w->t->batch = TAKE(w->batch);
	w->t->stats.busy_ns += (uint64_t)w->t->batch->busy_ns;
	store_next(w->t);
}

static void on_dropped(void *ctx)
{
	struct thread_work *w = ctx;

	batch_free(w->batch);
	free(w);
}

static void analyse(struct track *t, struct batch *b)
{
	struct thread_work *w = xcalloc(1, sizeof(*w));
	struct err err;

	*w = (struct thread_work){t, b};
	if (work_submit(t->work, &t->pending, run_find, on_found, on_dropped, w, &err) < 0) {
		on_dropped(w);
		fail(t, "analysis", err.text);
	}
}

/* ---- claiming ---- */

enum {
	C_TREND,
	C_REVISION,
	C_METRIC,
	C_BETTER,
	C_EDITED,
	C_MARGIN,
	C_TOTAL,
	C_RUN,
	C_VALUE,
	C_KNOWN
};

static enum better better_of(const char *name)
{
	return !strcmp(name, "lower")	 ? BETTER_LOWER
	       : !strcmp(name, "higher") ? BETTER_HIGHER
					 : BETTER_NONE;
}

static void begin_trend(struct track_trend *d, const struct db_result *res, size_t row)
{
	const struct metric *m = metric_find(db_text(res, row, C_METRIC));
	bool known = *m->name && !db_bool(res, row, C_EDITED);

	d->trend_id = db_i64(res, row, C_TREND);
	d->revision = db_i64(res, row, C_REVISION);
	d->total = db_i64(res, row, C_TOTAL);
	d->better = known ? m->better : better_of(db_text(res, row, C_BETTER));
	d->margin_rel = db_is_null(res, row, C_MARGIN) ? m->margin_rel : db_f64(res, row, C_MARGIN);
}

static void add_point(struct track_trend *d, const struct db_result *res, size_t row)
{
	if (d->n == d->cap) {
		d->cap = d->cap ? 2 * d->cap : 64;
		d->run_ids = xrealloc(d->run_ids, d->cap, sizeof(*d->run_ids));
		d->values = xrealloc(d->values, d->cap, sizeof(*d->values));
	}
	if (db_bool(res, row, C_KNOWN) && d->n_known < TRACK_KNOWN_MAX)
		d->known[d->n_known++] = d->n;
	d->run_ids[d->n] = db_i64(res, row, C_RUN);
	d->values[d->n++] = db_f64(res, row, C_VALUE);
}

static struct batch *batch_of(const struct db_result *res)
{
	struct batch *b = xcalloc(1, sizeof(*b));

	for (size_t i = 0; i < db_rows(res); i++) {
		if (!b->n || b->trend[b->n - 1].trend_id != db_i64(res, i, C_TREND)) {
			CHECK(b->n < CLAIM_TRENDS);
			begin_trend(&b->trend[b->n++], res, i);
		}
		if (!db_is_null(res, i, C_RUN))
			add_point(&b->trend[b->n - 1], res, i);
	}
	return b;
}

static void on_claimed(void *ctx, const struct db_result *res, const struct err *err)
{
	struct track *t = ctx;

	if (err)
		fail(t, "trends", err->text);
	else if (!db_rows(res))
		t->busy = false;
	else {
		t->stats.points += db_rows(res);
		analyse(t, batch_of(res));
	}
}

static void claim(struct track *t)
{
	db_query(
		t->db, DB_INGEST, &Q_TRACK_CLAIM,
		(const struct db_param[]){P_I64(CLAIM_TRENDS), P_I64(WINDOW), P_I64(CLAIM_SECONDS)},
		3, QUERY_MS, &t->pending, on_claimed, t);
}

/* ---- taking runs ---- */

static void take(struct track *t);

static void on_taken(void *ctx, const struct db_result *res, const struct err *err)
{
	struct track *t = ctx;
	int64_t n;

	if (err) {
		fail(t, "runs", err->text);
		return;
	}
	n = db_i64(res, 0, 0);
	t->stats.runs += (uint64_t)n;
	if (n)
		take(t);
	else
		claim(t);
}

static void take(struct track *t)
{
	db_query(t->db, DB_INGEST, &Q_TRACK_TAKE, (const struct db_param[]){P_I64(TAKE_RUNS)}, 1,
		 QUERY_MS, &t->pending, on_taken, t);
}

void track_tick(struct track *t)
{
	if (t->busy || t->stopping)
		return;
	t->busy = true;
	take(t);
}

/* ---- life ---- */

struct track *track_new(struct db *db, struct work_pool *work)
{
	struct track *t = xcalloc(1, sizeof(*t));

	t->db = db;
	t->work = work;
	return t;
}

void track_stop(struct track *t)
{
	t->stopping = true;
	pending_cancel_all(&t->pending);
	batch_free(TAKE(t->batch));
}

void track_free(struct track *t)
{
	if (t)
		CHECK(!t->batch);
	free(t);
}

struct track_stats track_stats(const struct track *t)
{
	return t->stats;
}
