/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POST /imports: foreign bytes to runs. The file is read in a worker thread; then, in one
 * transaction under a lock, either every run is here already, or the labels differ (a conflict),
 * or the bytes and the runs are stored. */
#include "server/api.h"

#include <stdio.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/import/import.h"
#include "common/parse.h"
#include "common/sha256.h"
#include "server/api_common.h"
#include "server/audit.h"
#include "server/queries.h"
#include "server/run_row.h"
#include "server/run_store.h"
#include "server/server.h"
#include "server/work.h"

#define RUNS_MAX 2000

struct outcome {
	int64_t id; /* 0: not stored */
	bool already;
};

/* What the request keeps. */
struct import {
	struct request *req;
	bool dry_run, demo;
	struct import_result result;
	struct outcome *runs; /* one each of result.runs */
	unsigned char sha[SHA256_LEN];
	char sha_hex[SHA256_HEX], labels_hex[SHA256_HEX];
	char *options; /* JSON, as stored */
	int64_t import_id, created_ns;
	struct db_txn *txn;
	size_t at; /* the run that is being stored */
};

/* What the worker thread has: nothing of the request, which may be gone. */
struct job {
	struct import *import; /* used on the loop only */
	struct strbuf bytes;
	struct import_options o;
	char *texts[6]; /* owns the strings of o */
	struct import_result result;
	unsigned char sha[SHA256_LEN];
	int rc;
	struct err err;
};

static void import_free(void *ctx)
{
	struct import *im = ctx;

	import_result_done(&im->result);
	free(im->runs);
	free(im->options);
	free(im);
}

static void job_drop(void *ctx)
{
	struct job *j = ctx;

	strbuf_done(&j->bytes);
	for (size_t i = 0; i < ARRAY_LEN(j->texts); i++)
		free(j->texts[i]);
	labels_done(&j->o.factors);
	labels_done(&j->o.tags);
	import_result_done(&j->result);
	free(j);
}

/* ---- parameters ---- */

static bool bad(struct request *req, const char *name, const char *detail)
{
	(void)reply_fault(
		req, &(struct fault){.status = 400, .slug = "invalid-parameter", .parameter = name},
		"%s: %s", name, detail);
	return false;
}

/* "name=value" of every repetition of a parameter. */
static bool read_pairs(struct request *req, const char *name, struct labels *ret)
{
	const char *values[REQUEST_QUERY_PARAMS_MAX];
	size_t n = request_query_all(req, name, values, ARRAY_LEN(values));

	for (size_t i = 0; i < n; i++) {
		const char *eq = strchr(values[i], '=');
		char *key CLEANUP(freep) = NULL;

		if (!eq || eq == values[i] || eq - values[i] > 128 || strlen(eq + 1) > 1000)
			return bad(req, name, "write name=value");
		key = xstrndup(values[i], (size_t)(eq - values[i]));
		labels_set(ret, key, eq + 1);
	}
	return true;
}

static bool read_duration(struct request *req, const char *name, int64_t *ret)
{
	const char *v = request_query(req, name);
	struct err err;

	if (v && parse_duration(v, ret, &err))
		return bad(req, name, err.text);
	return true;
}

static bool read_unit(struct request *req, int64_t *ret)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", NS_PER_US}, {"ms", NS_PER_MS}, {"s", NS_PER_SEC}};
	const char *v = request_query(req, "unit");

	*ret = 0;
	for (size_t i = 0; v && i < ARRAY_LEN(units); i++)
		if (!strcmp(units[i].name, v))
			*ret = units[i].ns;
	return !v || *ret || bad(req, "unit", "one of ns, us, ms, s");
}

/* Texts are copied: the worker must not look at the request. */
static bool read_options(struct request *req, struct job *j)
{
	static const char *const names[] = {"format",	  "source", "metric",
					    "experiment", "host",   "boot"};
	const char **const fields[] = {&j->o.format,	 &j->o.source, &j->o.metric,
				       &j->o.experiment, &j->o.host,   &j->o.boot};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *v = request_query(req, names[i]);

		if (!v || !*v)
			continue;
		if (strlen(v) > (i == 1 ? 1000u : 128u))
			return bad(req, names[i], "is too long");
		*fields[i] = j->texts[i] = xstrdup(v);
	}
	return read_pairs(req, "set", &j->o.factors) && read_pairs(req, "tag", &j->o.tags) &&
	       read_unit(req, &j->o.unit_ns) && read_duration(req, "interval", &j->o.interval_ns) &&
	       read_duration(req, "overflow", &j->o.overflow_lo_ns);
}

static json_t *labels_json(const struct labels *l)
{
	json_t *o = json_object();

	for (size_t i = 0; i < l->len; i++)
		json_object_set_new(o, l->v[i].key, js_text(l->v[i].value));
	return o;
}

/* What was said about the bytes; its hash tells whether the same was said before. */
static void describe_options(struct import *im, const struct import_options *o)
{
	json_t *j = json_object();

	json_object_set_new(j, "experiment", js_text(o->experiment));
	json_object_set_new(j, "host", js_text(o->host));
	if (o->boot) /* what was imported before there was this option keeps its hash */
		json_object_set_new(j, "boot", js_text(o->boot));
	json_object_set_new(j, "metric", js_text(o->metric));
	json_object_set_new(j, "set", labels_json(&o->factors));
	json_object_set_new(j, "tag", labels_json(&o->tags));
	json_object_set_new(j, "unit_ns", json_integer(o->unit_ns));
	json_object_set_new(j, "interval_ns", json_integer(o->interval_ns));
	json_object_set_new(j, "overflow_lo_ns", json_integer(o->overflow_lo_ns));
	im->options = json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT);
	(void)sha256_hex(im->options, strlen(im->options), im->labels_hex);
	json_decref(j);
}

/* ---- the reply ---- */

static json_t *metric_json(const struct series *s)
{
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o}", "metric", s->metric, "kind",
		series_kind_name(s->kind), "unit", s->unit, "labels", labels_json(&s->labels),
		"count",
		s->kind == SERIES_HIST ? json_integer((json_int_t)s->hist.count) : json_null(), "n",
		s->kind == SERIES_SUMMARY ? json_integer((json_int_t)s->summary.n) : json_null());
}

static json_t *outcome_json(const struct run *r, const struct outcome *out)
{
	json_t *metrics = json_array(), *notes = json_array();

	for (size_t i = 0; i < r->series_len; i++)
		json_array_append_new(metrics, metric_json(&r->series[i]));
	for (size_t i = 0; i < r->notes_len; i++)
		json_array_append_new(notes, json_pack("{s:s, s:s}", "code", r->notes[i].code,
						       "text", r->notes[i].text));
	return json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "id", js_id('r', out->id),
			 "already", out->already, "host", js_text(r->host), "factors",
			 labels_json(&r->factors), "tags", labels_json(&r->tags), "metrics",
			 metrics, "notes", notes);
}

static void reply_import(struct import *im)
{
	struct runs *rs = &im->result.runs;
	json_t *runs = json_array();
	bool already = rs->len > 0;

	for (size_t i = 0; i < rs->len; i++) {
		already = already && im->runs[i].already;
		json_array_append_new(runs, outcome_json(rs->v[i], &im->runs[i]));
	}
	audit_note(im->req, NULL, "import i_%lld", (long long)im->import_id);
	(void)reply_json(im->req, already || im->dry_run ? 200 : 201,
			 json_pack("{s:o, s:b, s:b, s:s, s:o, s:s, s:I, s:o, s:o, s:o}", "id",
				   js_id('i', im->import_id), "dry_run", im->dry_run, "already",
				   already, "format", im->result.format, "source",
				   js_text_or_null(request_query(im->req, "source")), "sha256",
				   im->sha_hex, "bytes", (json_int_t)im->req->body_len, "created",
				   js_time(im->created_ns), "experiment",
				   js_text(rs->len ? rs->v[0]->experiment : NULL), "runs", runs));
}

static void fail(struct import *im, const struct err *err)
{
	if (im->txn)
		db_txn_rollback(TAKE(im->txn));
	(void)reply_err(im->req, err);
}

/* ---- storing ---- */

static void store_next(struct import *im);

static void on_commit(void *ctx, const struct err *err)
{
	struct import *im = ctx;

	if (err)
		(void)reply_err(im->req, err);
	else
		reply_import(im);
}

static void on_stored(void *ctx, const struct db_result *r, const struct err *err)
{
	struct import *im = ctx;

	if (err) {
		fail(im, err);
		return;
	}
	im->runs[im->at].id = db_i64(r, 0, 0);
	im->runs[im->at].already = db_bool(r, 0, 1);
	im->at++;
	store_next(im);
}

/* Runs that were known by their uid alone need no second copy of their bytes. */
static void finish_storing(struct import *im)
{
	size_t known = 0;

	for (size_t i = 0; i < im->result.runs.len; i++)
		known += im->runs[i].already;
	if (known < im->result.runs.len) {
		db_txn_commit(TAKE(im->txn), on_commit, im);
		return;
	}
	db_txn_rollback(TAKE(im->txn));
	im->import_id = im->created_ns = 0;
	reply_import(im);
}

static void store_next(struct import *im)
{
	struct runs *rs = &im->result.runs;
	struct run_store_place place = {
		.demo = im->demo, .import_id = im->import_id, .labels_sha256 = im->labels_hex};
	char *json CLEANUP(freep) = NULL;
	struct err err;

	while (im->at < rs->len && im->runs[im->at].already)
		im->at++;
	if (im->at == rs->len) {
		finish_storing(im);
		return;
	}
	place.import_index = (int)im->at;
	if (run_store_json(rs->v[im->at], &place, &json, &err)) {
		fail(im, &err);
		return;
	}
	db_txn_query(im->txn, &Q_RUN_STORE, (struct db_param[]){P_JSON(json)}, 1, on_stored, im);
}

static void on_inserted(void *ctx, const struct db_result *r, const struct err *err)
{
	struct import *im = ctx;

	if (err) {
		fail(im, err);
		return;
	}
	im->import_id = db_i64(r, 0, 0);
	im->created_ns = db_time_ns(r, 0, 1);
	store_next(im);
}

/* ---- is it here already? ---- */

/* The stored factors as text for messages: "max_sectors_kb=64". */
static void factors_text(const json_t *o, struct strbuf *out)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
		selector_print_eq(key, json_string_value(v) ? json_string_value(v) : "", out);
	if (!out->len)
		strbuf_puts(out, "no factors");
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/* Whether the stored run (row) is what this import would make, also after a relabelling. */
static bool same_labels(const struct import *im, const struct run *r, const struct db_result *res,
			size_t row)
{
	json_t *stored, *mine;
	bool same;

	if (same_text(db_text_or_null(res, row, 3), im->labels_hex))
		return true;
	stored = json_loads(db_text(res, row, 6), 0, NULL);
	mine = labels_json(&r->factors);
	same = json_equal(stored, mine) && same_text(db_text_or_null(res, row, 5), r->experiment) &&
	       !strcmp(db_text(res, row, 4), r->host ? r->host : HOST_UNKNOWN);
	json_decref(stored);
	json_decref(mine);
	return same;
}

/* 'name=level' as a word of a shell. */
static void put_shell_pair(struct strbuf *out, const struct label *l)
{
	char *pair CLEANUP(freep) = xasprintf("%s=%s", l->key, l->value);

	strbuf_puts(out, " '");
	for (const char *p = pair; *p; p++) {
		if (*p == '\'')
			strbuf_puts(out, "'\\'");
		strbuf_putc(out, *p);
	}
	strbuf_putc(out, '\'');
}

static void reply_conflict(struct import *im, const struct run *r, const struct db_result *res,
			   size_t row)
{
	struct strbuf was CLEANUP(strbuf_done) = {0}, is CLEANUP(strbuf_done) = {0};
	struct strbuf hint CLEANUP(strbuf_done) = {0};
	json_t *stored = json_loads(db_text(res, row, 6), 0, NULL),
	       *mine = labels_json(&r->factors);
	const char *experiment = db_text_or_null(res, row, 5);
	long long id = (long long)db_i64(res, row, 1);

	factors_text(stored, &was);
	factors_text(mine, &is);
	if (!json_equal(stored, mine)) {
		strbuf_printf(&hint, "rigstat relabel r_%lld", id);
		for (size_t i = 0; i < r->factors.len; i++)
			put_shell_pair(&hint, &r->factors.v[i]);
	} else {
		strbuf_printf(&hint, "rigstat import --undo i_%lld, then import again",
			      (long long)db_i64(res, row, 2));
	}
	if (im->txn)
		db_txn_rollback(TAKE(im->txn));
	(void)reply_fault(
		im->req,
		&(struct fault){.status = 409, .slug = "already-imported", .hint = hint.data},
		"the same bytes are already run r_%lld with %s (experiment %s, host %s); "
		"this import says %s (experiment %s, host %s)",
		id, was.data, experiment ? experiment : "none", db_text(res, row, 4), is.data,
		r->experiment ? r->experiment : "none", r->host ? r->host : HOST_UNKNOWN);
	json_decref(stored);
	json_decref(mine);
}

/* False: the labels of a stored run differ and a conflict was sent. */
static bool settle_known(struct import *im, const struct db_result *r)
{
	for (size_t i = 0; i < db_rows(r); i++) {
		size_t index = (size_t)db_i64(r, i, 0);

		if (index >= im->result.runs.len || im->runs[index].already)
			continue;
		if (!same_labels(im, im->result.runs.v[index], r, i)) {
			reply_conflict(im, im->result.runs.v[index], r, i);
			return false;
		}
		im->runs[index] = (struct outcome){db_i64(r, i, 1), true};
		im->import_id = db_i64(r, i, 2);
		im->created_ns = db_time_ns(r, i, 7);
	}
	return true;
}

static void on_found(void *ctx, const struct db_result *r, const struct err *err)
{
	struct import *im = ctx;
	size_t known = 0;

	if (err) {
		fail(im, err);
		return;
	}
	if (!settle_known(im, r))
		return;
	for (size_t i = 0; i < im->result.runs.len; i++)
		known += im->runs[i].already;
	if (!im->txn) {
		reply_import(im);
		return;
	}
	if (known == im->result.runs.len) {
		db_txn_rollback(TAKE(im->txn));
		reply_import(im);
		return;
	}
	db_txn_query(im->txn, &Q_IMPORT_INSERT,
		     (struct db_param[]){
			     P_BYTES(im->sha, SHA256_LEN),
			     P_BYTES(im->req->body, im->req->body_len), P_TEXT(im->result.format),
			     P_TEXT(request_query(im->req, "source")), P_JSON(im->options)},
		     5, on_inserted, im);
}

static void on_locked(void *ctx, const struct db_result *r, const struct err *err)
{
	struct import *im = ctx;

	(void)r;
	if (err) {
		fail(im, err);
		return;
	}
	db_txn_query(im->txn, &Q_IMPORT_FIND,
		     (struct db_param[]){P_BYTES(im->sha, SHA256_LEN), P_BOOL(im->demo)}, 2,
		     on_found, im);
}

static void on_begin(void *ctx, struct db_txn *txn, const struct err *err)
{
	struct import *im = ctx;

	if (err) {
		(void)reply_err(im->req, err);
		return;
	}
	im->txn = txn;
	db_txn_query(txn, &Q_IMPORT_LOCK, NULL, 0, on_locked, im);
}

/* ---- reading ---- */

static void job_run(void *ctx)
{
	struct job *j = ctx;
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, j->bytes.data, j->bytes.len);
	sha256_finish(&s, j->sha);
	j->rc = import_bytes(j->bytes.data, j->bytes.len, &j->o, &j->result, &j->err);
	if (!j->rc && j->result.runs.len > RUNS_MAX)
		j->rc = err_set(&j->err, ERR_LIMIT, "the file has %zu runs; at most %d at once",
				j->result.runs.len, RUNS_MAX);
	for (size_t i = 0; !j->rc && i < j->result.runs.len; i++)
		run_store_clean(j->result.runs.v[i]);
}

/* The place stands in front of the message: "source:line:column: text" or "source:line: text". */
static void reply_unread(struct request *req, const struct job *j)
{
	const char *source = j->o.source ? j->o.source : "input";
	size_t len = strlen(source), line = 0, column = 0;

	if (!strncmp(j->err.text, source, len) && j->err.text[len] == ':' &&
	    sscanf(j->err.text + len, ":%zu:%zu:", &line, &column) < 1)
		line = 0;
	if (j->rc != ERR_INVALID && j->rc != ERR_UNSUPPORTED) {
		(void)reply_err(req, &j->err);
		return;
	}
	(void)reply_fault(
		req,
		&(struct fault){.status = 400,
				.slug = "import-syntax",
				.line = line,
				.column = column,
				.hint = "GET /api/v1/imports/formats lists what can be read; "
					"format= chooses one."},
		"%s", j->err.text);
}

static void job_done(void *ctx)
{
	struct job *j = ctx;
	struct import *im = j->import;
	struct strbuf hex CLEANUP(strbuf_done) = {0};

	if (j->rc) {
		reply_unread(im->req, j);
		return;
	}
	im->result = j->result;
	memset(&j->result, 0, sizeof(j->result));
	im->runs = xcalloc(im->result.runs.len + 1, sizeof(*im->runs));
	memcpy(im->sha, j->sha, sizeof(im->sha));
	hex_put(&hex, j->sha, SHA256_LEN);
	memcpy(im->sha_hex, hex.data, SHA256_HEX);
	if (im->dry_run)
		db_query(im->req->server->db, DB_QUERY, &Q_IMPORT_FIND,
			 (struct db_param[]){P_BYTES(im->sha, SHA256_LEN), P_BOOL(im->demo)}, 2,
			 DB_DEADLINE_MS, &im->req->pending, on_found, im);
	else
		db_begin(im->req->server->db, DB_QUERY, DB_DEADLINE_MS, &im->req->pending, on_begin,
			 im);
}

enum step api_import(struct request *req)
{
	static const char *const names[] = {"dry_run",	  "format",   "source", "set",	  "tag",
					    "experiment", "host",     "boot",	"metric", "unit",
					    "interval",	  "overflow", "demo",	NULL};
	struct import *im;
	struct job *j;
	struct err err;

	if (!api_params(req, names))
		return STEP_DONE;
	im = xcalloc(1, sizeof(*im));
	im->req = req;
	req->ctx = im;
	req->ctx_free = import_free;
	j = xcalloc(1, sizeof(*j));
	j->import = im;
	if (!api_flag(req, "dry_run", &im->dry_run) || !api_flag(req, "demo", &im->demo) ||
	    !read_options(req, j)) {
		job_drop(j);
		return STEP_DONE;
	}
	describe_options(im, &j->o);
	strbuf_add(&j->bytes, req->body, req->body_len);
	if (work_submit(req->server->work, &req->pending, job_run, job_done, job_drop, j, &err)) {
		job_drop(j);
		return reply_err(req, &err);
	}
	return STEP_WAIT;
}
