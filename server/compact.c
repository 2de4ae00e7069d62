/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When to pack what. */
#include "server/compact.h"

#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "server/compact_internal.h"
#include "server/queries.h"

#define JOBS_MAX	2
#define QUERY_MS	20000
#define RETAIN_MS	120000
#define SILENT_TICKS	60  /* how often silent runs are looked for, in seconds */
#define PARTITION_TICKS 600 /* and partitions made ahead and old ones dropped */

enum { COL_HOST, COL_STREAM, COL_RUN, COL_OLDEST };

static bool key_equal(const struct run_key *a, const struct run_key *b)
{
	return a->host_id == b->host_id && a->run_no == b->run_no &&
	       memcmp(a->stream, b->stream, STREAM_ID_LEN) == 0;
}

static bool is_for_later(const struct compact *c, const struct run_key *key)
{
	int64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < LATER_MAX; i++)
		if (c->later_ns[i] > now && key_equal(&c->later[i], key))
			return true;
	for (const struct job *j = c->jobs; j; j = j->next)
		if (key_equal(&j->key, key))
			return true;
	return false;
}

static void look(struct compact *c);
static void retain(struct compact *c);

/* Starts what was found; looks again when there is nothing left. */
static void go_on(struct compact *c)
{
	while (c->next_found < c->n_found && c->stats.running < JOBS_MAX) {
		size_t i = c->next_found++;

		if (!is_for_later(c, &c->found[i]))
			job_start(c, &c->found[i], c->found_ns[i]);
	}
}

static void on_candidates(void *ctx, const struct db_result *res, const struct err *err)
{
	struct compact *c = ctx;

	c->looking = false;
	c->n_found = c->next_found = 0;
	if (err)
		return; /* db has said why, or the next request will */
	for (size_t i = 0; i < db_rows(res) && i < CANDIDATES_MAX; i++) {
		struct run_key *key = &c->found[c->n_found];

		key->host_id = db_i64(res, i, COL_HOST);
		key->run_no = db_i64(res, i, COL_RUN);
		db_uuid(res, i, COL_STREAM, key->stream);
		c->found_ns[c->n_found++] = db_time_ns(res, i, COL_OLDEST);
	}
	go_on(c);
}

static void look(struct compact *c)
{
	const struct db_param params[] = {P_I64(CANDIDATES_MAX)};

	if (c->looking || c->stopping || c->stats.running || c->next_found < c->n_found)
		return;
	c->looking = true;
	db_query(c->db, DB_INGEST, &Q_COMPACT_CANDIDATES, params, 1, QUERY_MS, &c->pending,
		 on_candidates, c);
}

void job_free(struct job *j)
{
	*j->link = j->next;
	if (j->next)
		j->next->link = j->link;
	j->c->stats.running--;
	if (j->m)
		cmodel_free(j->m);
	free(j);
}

void compact_job_done(struct job *j, unsigned int again_ms)
{
	struct compact *c = j->c;

	c->stats.busy_ns += (uint64_t)(clock_monotonic_ns() - j->started_ns);
	if (again_ms) {
		c->later[c->later_at] = j->key;
		c->later_ns[c->later_at] = clock_monotonic_ns() + again_ms * NS_PER_MS;
		c->later_at = (c->later_at + 1) % LATER_MAX;
		c->stats.deferred++;
	}
	job_free(j);
	if (c->stopping)
		return;
	go_on(c);
	if (again_ms == 0)
		look(c); /* more may have come in the meantime */
}

static void on_housekeeping(void *ctx, const struct db_result *res, const struct err *err)
{
	const char *what = ctx;

	(void)res;
	if (err)
		log_warn("compact: %s: %s", what, err->text);
}

/* Piece by piece until nothing is due: each has short locks of its own. */
static void on_retained(void *ctx, const struct db_result *res, const struct err *err)
{
	struct compact *c = ctx;

	c->retaining = false;
	if (err)
		log_warn("compact: retention: %s", err->text);
	else if (db_i64(res, 0, 0) > 0)
		retain(c);
}

static void retain(struct compact *c)
{
	const struct retention *k = &c->keep;

	if (c->retaining || c->stopping)
		return;
	c->retaining = true;
	db_query(c->db, DB_INGEST, &Q_COMPACT_RETAIN,
		 (const struct db_param[]){P_I64(k->samples_days), P_I64(k->minutes_days),
					   P_I64(k->watch_days), P_I64(k->runs_days)},
		 4, RETAIN_MS, &c->pending, on_retained, c);
}

static void housekeep(struct compact *c)
{
	db_query(c->db, DB_INGEST, &Q_COMPACT_PARTITIONS, NULL, 0, QUERY_MS, &c->pending,
		 on_housekeeping, (void *)(uintptr_t) "partitions");
	retain(c);
}

void compact_tick(struct compact *c)
{
	if (c->stopping)
		return;
	if (c->ticks % SILENT_TICKS == 0)
		db_query(c->db, DB_INGEST, &Q_COMPACT_SILENT, NULL, 0, QUERY_MS, &c->pending,
			 on_housekeeping, (void *)(uintptr_t) "silent runs");
	if (c->ticks % PARTITION_TICKS == 0)
		housekeep(c);
	c->ticks++;
	look(c);
}

struct compact *compact_new(struct db *db, struct work_pool *work, const struct retention *keep)
{
	struct compact *c = xcalloc(1, sizeof(*c));

	c->keep = *keep;
	c->db = db;
	c->work = work;
	c->later = xcalloc(LATER_MAX, sizeof(*c->later));
	c->later_ns = xcalloc(LATER_MAX, sizeof(*c->later_ns));
	return c;
}

void compact_stop(struct compact *c)
{
	struct job *next;

	c->stopping = true;
	pending_cancel_all(&c->pending);
	for (struct job *j = c->jobs; j; j = next) {
		next = j->next;
		j->dead = true;
		if (!j->in_work && !j->committing)
			job_free(j);
	}
}

void compact_free(struct compact *c)
{
	if (!c)
		return;
	CHECK(!c->jobs);
	free(c->later);
	free(c->later_ns);
	free(c);
}

struct compact_stats compact_stats(const struct compact *c)
{
	return c->stats;
}
