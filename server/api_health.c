/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Liveness, readiness and our own counters. */
#include "common/clock.h"
#include "server/api.h"
#include "server/compact.h"
#include "server/db.h"
#include "server/http_server.h"
#include "server/ingest.h"
#include "server/live.h"
#include "server/server.h"

enum step api_healthz(struct request *req)
{
	return reply_json(req, 200,
			  json_pack("{s:s, s:s}", "status", "ok", "version", RIGSTAT_VERSION));
}

enum step api_readyz(struct request *req)
{
	const char *problem;

	if (!req->server->ready)
		return reply_problem(req, 503, "busy", NULL, "The server is starting or stopping.");
	if (!db_is_up(req->server->db)) {
		reply_header(req, "Retry-After", "2");
		return reply_problem(req, 503, "database", NULL,
				     "PostgreSQL cannot be reached at the moment.");
	}
	problem = ingest_problem(req->server->ingest);
	if (problem) {
		reply_header(req, "Retry-After", "2");
		return reply_problem(req, 503, "database", NULL, "Records are not stored: %s.",
				     problem);
	}
	return reply_json(req, 200, json_pack("{s:s}", "status", "ready"));
}

static void put_pool(struct strbuf *out, const struct server *s, enum db_pool pool,
		     const char *name)
{
	struct db_stats d = db_stats(s->db, pool);

	strbuf_printf(out,
		      "rigstat_db_connections{pool=\"%s\"} %u\nrigstat_db_busy{pool=\"%s\"} %u\n"
		      "rigstat_db_queued{pool=\"%s\"} %zu\n"
		      "rigstat_db_operations_total{pool=\"%s\"} %llu\n"
		      "rigstat_db_failures_total{pool=\"%s\"} %llu\n"
		      "rigstat_db_refused_total{pool=\"%s\"} %llu\n"
		      "rigstat_db_connection_losses_total{pool=\"%s\"} %llu\n"
		      "rigstat_db_seconds_total{pool=\"%s\"} %.6f\n",
		      name, d.connections, name, d.busy, name, d.queued, name,
		      (unsigned long long)d.done, name, (unsigned long long)d.failed, name,
		      (unsigned long long)d.refused, name, (unsigned long long)d.reconnects, name,
		      (double)d.busy_ns / 1e9);
}

static void put_ingest(struct strbuf *out, const struct server *s)
{
	struct ingest_stats i = ingest_stats(s->ingest);
	const struct {
		const char *name, *type;
		uint64_t v;
	} table[] = {
		{"streams", "gauge", i.streams},
		{"posts_pending", "gauge", i.posts},
		{"pending_bytes", "gauge", i.pending_bytes},
		{"groups_total", "counter", i.groups},
		{"groups_split_total", "counter", i.groups_split},
		{"posts_total", "counter", i.stored_posts},
		{"bytes_total", "counter", i.stored_records_bytes},
		{"samples_total", "counter", i.stored_samples},
		{"gap_samples_total", "counter", i.gap_samples},
		{"duplicates_total", "counter", i.duplicates},
		{"gaps_total", "counter", i.gaps},
		{"forks_total", "counter", i.forks},
		{"wrong_total", "counter", i.wrong},
		{"refused_total", "counter", i.refused},
	};

	for (size_t k = 0; k < ARRAY_LEN(table); k++)
		strbuf_printf(out, "# TYPE rigstat_ingest_%s %s\nrigstat_ingest_%s %llu\n",
			      table[k].name, table[k].type, table[k].name,
			      (unsigned long long)table[k].v);
}

static void put_compact(struct strbuf *out, const struct server *s)
{
	struct compact_stats c = compact_stats(s->compact);

	strbuf_printf(
		out,
		"# TYPE rigstat_compact_passes_total counter\nrigstat_compact_passes_total %llu\n"
		"# TYPE rigstat_compact_rows_total counter\nrigstat_compact_rows_total %llu\n"
		"# TYPE rigstat_compact_failed_total counter\nrigstat_compact_failed_total %llu\n"
		"# TYPE rigstat_compact_deferred_total counter\n"
		"rigstat_compact_deferred_total %llu\n"
		"# TYPE rigstat_compact_seconds_total counter\n"
		"rigstat_compact_seconds_total %.6f\n"
		"# TYPE rigstat_compact_running gauge\nrigstat_compact_running %zu\n",
		(unsigned long long)c.passes, (unsigned long long)c.rows_read,
		(unsigned long long)c.failed, (unsigned long long)c.deferred,
		(double)c.busy_ns / 1e9, c.running);
}

static void put_live(struct strbuf *out, const struct server *s)
{
	struct live_stats l = live_stats(s->live);
	const struct {
		const char *name, *type;
		uint64_t v;
	} table[] = {
		{"watchers", "gauge", l.watchers},     {"notes_total", "counter", l.notes},
		{"events_total", "counter", l.events}, {"merged_total", "counter", l.merged},
		{"resets_total", "counter", l.resets}, {"refused_total", "counter", l.refused},
		{"denied_total", "counter", l.denied},
	};

	for (size_t k = 0; k < ARRAY_LEN(table); k++)
		strbuf_printf(out, "# TYPE rigstat_live_%s %s\nrigstat_live_%s %llu\n",
			      table[k].name, table[k].type, table[k].name,
			      (unsigned long long)table[k].v);
}

enum step api_self_metrics(struct request *req)
{
	const struct server *s = req->server;
	struct strbuf out = {0};

	strbuf_printf(&out,
		      "# TYPE rigstat_build_info gauge\nrigstat_build_info{version=\"%s\"} 1\n",
		      RIGSTAT_VERSION);
	strbuf_printf(&out,
		      "# TYPE rigstat_start_time_seconds gauge\nrigstat_start_time_seconds %.3f\n",
		      (double)s->started_ns / 1e9);
	http_put_metrics(s->http, &out);
	put_pool(&out, s, DB_QUERY, "query");
	put_pool(&out, s, DB_INGEST, "ingest");
	put_ingest(&out, s);
	put_compact(&out, s);
	put_live(&out, s);
	return reply_buf(req, 200, "text/plain; version=0.0.4; charset=utf-8", &out);
}
