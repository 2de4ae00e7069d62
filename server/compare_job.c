/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On the loop: queries and bookkeeping. In the worker: compare_job_work.c. */
#include "server/compare_job.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/compare/profile.h"
#include "common/model/profile.h"
#include "common/sha256.h"
#include "server/compare_job_work.h"
#include "server/queries.h"
#include "server/run_load.h"
#include "server/run_query.h"
#include "server/server.h"
#include "server/work.h"

#define RUNS_PER_SIDE_MAX 2000

/* Waits for one query of each side and the one of the metrics, then for the series. */
struct flow {
	struct request *req;
	struct compare_call call;
	struct sql sql[COMPARE_SIDES_MAX], series;
	struct flow_side {
		struct flow *flow;
		size_t index;
		struct selector *selector;
		struct runs runs;
		struct strbuf facts; /* id, revision and state of each run */
		int64_t *ids;
		size_t n;
	} sides[COMPARE_SIDES_MAX];
	size_t waiting;
	struct metric_edit *edits;
	size_t n_edits;
	int64_t *all_ids;
	size_t n_all;
	int64_t runs_at_ns, totals_at_ns; /* monotonic: for Server-Timing */
	bool demo;
	bool over; /* replied with a problem */
	void *user_ctx;
	void (*user_ctx_free)(void *ctx);
};

static void flow_free(void *ctx)
{
	struct flow *f = ctx;

	for (size_t i = 0; i < COMPARE_SIDES_MAX; i++) {
		sql_done(&f->sql[i]);
		selector_free(f->sides[i].selector);
		runs_done(&f->sides[i].runs);
		free(f->sides[i].ids);
		strbuf_done(&f->sides[i].facts);
	}
	sql_done(&f->series);
	metric_edits_free(f->edits, f->n_edits);
	free(f->all_ids);
	compare_ask_done(&f->call.ask);
	if (f->user_ctx_free)
		f->user_ctx_free(f->user_ctx);
	free(f);
}

static const char *side_letter(size_t i)
{
	static const char *const names[] = {"a", "b", "b", "b", "b", "b"};

	return names[i];
}

/* ---- last: compute ---- */

/* Where the time went, for browsers' tools and tests/bench/compare_page. */
static void put_timing(struct flow *f, int64_t compare_ns)
{
	char text[120];

	(void)snprintf(text, sizeof(text), "runs;dur=%.2f, totals;dur=%.2f, compare;dur=%.2f",
		       (double)(f->runs_at_ns - f->req->arrived_ns) / 1e6,
		       (double)(f->totals_at_ns - f->runs_at_ns) / 1e6, (double)compare_ns / 1e6);
	reply_header(f->req, "Server-Timing", text);
}

static void on_work_done(void *ctx)
{
	struct compare_work *w = ctx;
	struct flow *f = w->flow;

	if (w->rc == ERR_UNSUPPORTED) { /* the data have no such chart */
		(void)reply_problem(f->req, 404, "no-chart", NULL, "%s", w->err.text);
		return;
	}
	if (w->rc) {
		(void)reply_err(f->req, &w->err);
		return;
	}
	for (size_t i = 0; i < w->n_sides; i++) {
		w->result.ids[i] = TAKE(f->sides[i].ids);
		w->result.n_ids[i] = f->sides[i].n;
	}
	w->result.n_sides = w->n_sides;
	w->result.demo = f->demo;
	put_timing(f, w->compare_ns);
	f->call.on_done(f->req, f->call.ctx, &w->result);
}

static void start_work(struct flow *f)
{
	struct compare_work *w = compare_work_new();
	struct err err;

	w->flow = f;
	w->ask = f->call.ask;
	memset(&f->call.ask, 0, sizeof(f->call.ask));
	w->formats = f->call.formats;
	w->chart = f->call.chart;
	w->dark = f->call.dark;
	w->profile = f->call.profile;
	w->n_sides = w->ask.n_sides;
	for (size_t i = 0; i < w->n_sides; i++) {
		w->runs[i] = f->sides[i].runs;
		memset(&f->sides[i].runs, 0, sizeof(f->sides[i].runs));
	}
	w->edits = TAKE(f->edits);
	w->n_edits = f->n_edits;
	f->n_edits = 0;
	if (work_submit(f->req->server->work, &f->req->pending, compare_work_run, on_work_done,
			compare_work_free, w, &err)) {
		compare_work_free(w);
		(void)reply_err(f->req, &err);
	}
}

static void on_series(void *ctx, const struct db_result *r, const struct err *err)
{
	struct flow *f = ctx;
	struct err bad;

	if (err) {
		(void)reply_err(f->req, err);
		return;
	}
	for (size_t i = 0; i < f->call.ask.n_sides; i++) {
		if (run_load_series(r, f->sides[i].runs.v, f->sides[i].ids, f->sides[i].n, &bad)) {
			(void)reply_err(f->req, &bad);
			return;
		}
	}
	f->totals_at_ns = clock_monotonic_ns();
	start_work(f);
}

/* ---- the runs are known ---- */

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void collect_ids(struct flow *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->call.ask.n_sides; i++)
		n += f->sides[i].n;
	f->all_ids = xcalloc(n + 1, sizeof(*f->all_ids));
	for (size_t i = 0; i < f->call.ask.n_sides; i++)
		for (size_t k = 0; k < f->sides[i].n; k++)
			f->all_ids[f->n_all++] = f->sides[i].ids[k];
	qsort(f->all_ids, f->n_all, sizeof(*f->all_ids), by_id);
}

static void tag_add(struct sha256 *tag, const char *text)
{
	sha256_add(tag, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Everything that the answer depends on. */
static void make_tag(struct flow *f, struct strbuf *out)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	unsigned char sha[SHA256_LEN];
	struct sha256 tag;

	sha256_init(&tag);
	tag_add(&tag, RIGSTAT_VERSION);
	compare_ask_query(&f->call.ask, &text);
	strbuf_printf(&text, " %u %d %d", f->call.formats, f->call.dark, f->call.profile);
	tag_add(&tag, text.data);
	tag_add(&tag, f->call.chart);
	for (size_t i = 0; i < f->call.ask.n_sides; i++)
		tag_add(&tag, f->sides[i].facts.data);
	for (size_t i = 0; i < f->n_edits; i++) {
		strbuf_clear(&text);
		strbuf_printf(&text, "%s %s %.17g %s", f->edits[i].name, f->edits[i].better,
			      f->edits[i].margin_rel,
			      f->edits[i].primary ? f->edits[i].primary : "");
		tag_add(&tag, text.data);
	}
	sha256_finish(&tag, sha);
	hex_put(out, sha, 16);
}

/* The series of all profile metrics in place of those of one metric. */
static void query_profiles(struct flow *f)
{
	char names[PROFILE_BASES * PROFILE_KINDS][40];
	const char *list[PROFILE_BASES * PROFILE_KINDS];
	char condition[60];

	for (int i = 0; i < PROFILE_BASES * PROFILE_KINDS; i++)
		list[i] = profile_metric((enum profile_basis)(i / PROFILE_KINDS),
					 (enum profile_kind)(i % PROFILE_KINDS), names[i],
					 sizeof(names[i]));
	sql_init(&f->series, &Q_RUN_SERIES,
		 (struct db_param[]){P_I64S(f->all_ids, f->n_all), P_TEXT(""), P_BOOL(false)}, 3);
	(void)snprintf(condition, sizeof(condition), "m.name = any ($%u::text[])",
		       sql_param(&f->series, P_TEXTS(list, ARRAY_LEN(list))));
	sql_replace(&f->series, "m.name = $2", condition);
	sql_run(&f->series, f->req->server->db, &f->req->pending, on_series, f);
}

static void query_series(struct flow *f)
{
	db_query(f->req->server->db, DB_QUERY, &Q_RUN_SERIES,
		 (struct db_param[]){P_I64S(f->all_ids, f->n_all), P_TEXT(f->call.ask.metric),
				     P_BOOL(true)},
		 3, DB_DEADLINE_MS, &f->req->pending, on_series, f);
}

static void on_all_known(struct flow *f)
{
	struct strbuf tag CLEANUP(strbuf_done) = {0};

	f->runs_at_ns = clock_monotonic_ns();
	make_tag(f, &tag);
	if (f->call.on_resolved && !f->call.on_resolved(f->req, tag.data))
		return;
	collect_ids(f);
	if (f->call.profile)
		query_profiles(f);
	else
		query_series(f);
}

/* True when the last answer came and nothing failed. */
static bool arrived(struct flow *f, const struct err *err)
{
	f->waiting--;
	if (err && !f->over) {
		f->over = true;
		pending_cancel_all(&f->req->pending);
		(void)reply_err(f->req, err);
	}
	return !f->over && !f->waiting;
}

static void on_metrics(void *ctx, const struct db_result *r, const struct err *err)
{
	struct flow *f = ctx;

	if (!err) {
		f->n_edits = db_rows(r);
		f->edits = xcalloc(f->n_edits + 1, sizeof(*f->edits));
		for (size_t i = 0; i < f->n_edits; i++)
			f->edits[i] = (struct metric_edit){
				.name = xstrdup(db_text(r, i, 0)),
				.better = xstrdup(db_text(r, i, 1)),
				.margin_rel = db_is_null(r, i, 2) ? -1 : db_f64(r, i, 2),
				.primary = db_is_null(r, i, 3) ? NULL : xstrdup(db_text(r, i, 3)),
			};
	}
	if (arrived(f, err))
		on_all_known(f);
}

/* What the selector names explicitly is wanted: then an excluded or failed run counts. */
static void make_wanted(const struct flow_side *s, struct run *run)
{
	if (run->excluded && selector_mentions(s->selector, "excluded")) {
		run_note(run, "excluded", "excluded (%s), but the selector asks for it",
			 run->excluded);
		free(TAKE(run->excluded));
	}
	if (run->state != RUN_OK && run->state != RUN_RUNNING &&
	    selector_mentions(s->selector, "state")) {
		run_note(run, "state", "the run %s, but the selector asks for it",
			 run->state == RUN_FAILED ? "failed" : "was aborted");
		run->state = RUN_OK;
	}
	/* A soak is judged while it goes on, by what was measured so far. */
	if (run->state == RUN_RUNNING && s->flow->call.ask.n_sides == 1 && run->measured_ns > 0) {
		run_note(run, "running", "the run goes on: this is what it measured so far");
		run->state = RUN_OK;
	}
}

static void set_shown_id(struct run *run, int64_t id)
{
	if (!json_is_object(run->extra)) {
		json_decref(run->extra);
		run->extra = json_object();
	}
	json_object_set_new(run->extra, "id", js_id('r', id));
}

static void load_side(struct flow_side *s, const struct db_result *r)
{
	s->n = db_rows(r);
	s->ids = xcalloc(s->n + 1, sizeof(*s->ids));
	run_load_rows(r, &s->runs);
	for (size_t i = 0; i < s->n; i++) {
		struct run *run = s->runs.v[i];

		s->ids[i] = run_load_row_id(r, i);
		strbuf_printf(&s->facts, "%lld %lld %d\n", (long long)s->ids[i],
			      (long long)run_load_row_revision(r, i), (int)run->state);
		set_shown_id(run, s->ids[i]);
		make_wanted(s, run);
		s->flow->demo = s->flow->demo && run_load_row_demo(r, i);
	}
}

static void reply_no_runs(struct flow_side *s)
{
	struct flow *f = s->flow;
	struct strbuf hint CLEANUP(strbuf_done) = {0};

	f->over = true;
	pending_cancel_all(&f->req->pending);
	strbuf_puts(&hint, "See what there is: /runs?q=");
	url_escape(&hint, f->call.ask.sides[s->index]);
	(void)reply_fault(f->req,
			  &(struct fault){.status = 404,
					  .slug = "no-runs",
					  .parameter = side_letter(s->index),
					  .hint = hint.data},
			  "%s: no run matches '%.300s'", side_letter(s->index),
			  f->call.ask.sides[s->index]);
}

static size_t runs_max(const struct flow *f)
{
	return f->call.profile ? PROFILE_RUNS_MAX : RUNS_PER_SIDE_MAX;
}

static void on_side(void *ctx, const struct db_result *r, const struct err *err)
{
	struct flow_side *s = ctx;
	struct flow *f = s->flow;
	struct err many;

	if (!err && db_rows(r) > runs_max(f)) {
		(void)err_set(&many, ERR_LIMIT, "%s: more than %zu runs match; narrow the selector",
			      side_letter(s->index), runs_max(f));
		err = &many;
	}
	if (!err && !db_rows(r)) {
		reply_no_runs(s);
		return;
	}
	if (!err)
		load_side(s, r);
	if (arrived(f, err))
		on_all_known(f);
}

static bool start_side(struct flow *f, size_t i)
{
	struct flow_side *s = &f->sides[i];
	struct selector *unused CLEANUP(selector_freep) = NULL;
	bool kind_named;

	s->flow = f;
	s->index = i;
	if (!api_selector(f->req, side_letter(i), f->call.ask.sides[i], &unused))
		return false;
	kind_named = selector_mentions(unused, "kind");
	sql_init(&f->sql[i], &Q_RUNS_LOAD, (struct db_param[]){P_I64(RUNS_PER_SIDE_MAX + 1)}, 1);
	return run_query_selector(f->req, side_letter(i), f->call.ask.sides[i],
				  kind_named ? NULL : " and r.kind <> 'watch'", &f->sql[i],
				  &s->selector);
}

enum step compare_start(struct request *req, struct compare_call *call)
{
	struct flow *f = xcalloc(1, sizeof(*f));
	struct db *db = req->server->db;

	f->req = req;
	f->call = *call;
	f->demo = true;
	memset(&call->ask, 0, sizeof(call->ask));
	f->user_ctx = req->ctx;
	f->user_ctx_free = req->ctx_free;
	req->ctx = f;
	req->ctx_free = flow_free;
	for (size_t i = 0; i < f->call.ask.n_sides; i++)
		if (!start_side(f, i))
			return STEP_DONE;
	f->waiting = f->call.ask.n_sides + 1;
	for (size_t i = 0; i < f->call.ask.n_sides; i++)
		sql_run(&f->sql[i], db, &req->pending, on_side, &f->sides[i]);
	db_query(db, DB_QUERY, &Q_METRICS_EDITED, NULL, 0, DB_DEADLINE_MS, &req->pending,
		 on_metrics, f);
	return STEP_WAIT;
}
