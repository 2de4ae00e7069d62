/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat doctor: is all well between here, the server and its boxes? rigstat-agent check says the
 * same of a box. */
#include <jansson.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"
#include "common/compare/render.h"
#include "common/clock.h"
#include "common/findings.h"
#include "common/parse.h"

const char verb_doctor_help[] =
	"  rigstat doctor --server http://lab:8420\n"
	"  rigstat doctor --json\n"
	"\n"
	"usage: rigstat doctor [--server URL] [--json]\n"
	"\n"
	"A line for each thing that can be wrong, OK, WARN or FAIL, with what to do: is the "
	"server\n"
	"there and its database with it, may this token read, write and administer, do the\n"
	"versions and clocks agree, is there room on the disk, is old data dropped, does the\n"
	"server keep up, and which boxes are silent, behind, losing samples or of another "
	"version.\n"
	"rigstat-agent check says the same of a box.\n"
	"\n"
	"Exit status: 0 no FAIL, 1 at least one, 3 usage.\n";

#define CLOCK_WARN_NS NS_PER_SEC
#define BEHIND_NS     (600 * NS_PER_SEC)
#define DISK_WARN     0.10
#define DISK_FAIL     0.02
#define NAMES_SHOWN   8

struct doctor {
	const char *server;
	struct findings found;
};

static long long number(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

/* The status of a call, 0 without an answer; *ret_doc (may be NULL) is a new reference or NULL. */
static long ask(const struct doctor *d, const char *method, const char *path, const char *body,
		json_t **ret_doc, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer a = {0};
	const struct client_call call = {.server = d->server,
					 .path = path,
					 .method = method,
					 .content_type = body ? "application/json" : NULL,
					 .body = body,
					 .body_len = body ? strlen(body) : 0};

	*reterr = (struct err){0};
	if (client_call(&call, &a, reterr) && !a.status)
		return 0;
	if (ret_doc)
		*ret_doc = json_loadb(a.body.data ? a.body.data : "", a.body.len, 0, NULL);
	return a.status;
}

/* ---- server and database ---- */

static bool check_server(struct doctor *d)
{
	json_auto_t *doc = NULL;
	struct err err;
	long status = ask(d, "GET", "/healthz", NULL, &doc, &err);
	const char *version = render_str(doc, "version");

	if (!status) {
		findings_add(&d->found, CHECK_FAIL, "server",
			     "check the URL, the network and whether rigstat-server runs", "%s",
			     err.text);
		return false;
	}
	if (status != 200 || !*version) {
		findings_add(&d->found, CHECK_FAIL, "server",
			     "is the URL that of rigstat-server? a proxy or portal may answer",
			     "%s answers HTTP %ld, but not as rigstat-server does", d->server,
			     status);
		return false;
	}
	findings_add(&d->found, CHECK_OK, "server", NULL, "%s answers", d->server);
	if (strcmp(version, RIGSTAT_VERSION) != 0)
		findings_add(&d->found, CHECK_WARN, "version",
			     "update the older one; servers go first",
			     "the server is %.40s, this program " RIGSTAT_VERSION, version);
	else
		findings_add(&d->found, CHECK_OK, "version", NULL,
			     "server and this program are both %.40s", version);
	status = ask(d, "GET", "/readyz", NULL, NULL, &err);
	if (status != 200)
		findings_add(&d->found, CHECK_FAIL, "database",
			     "start PostgreSQL, and see the server's log",
			     "the server cannot reach its database");
	return status == 200;
}

static void check_clock(struct doctor *d, const json_t *status, int64_t asked, int64_t answered)
{
	int64_t half = (answered - asked) / 2, server, offset, most;
	char a[40], b[40];

	if (!clock_parse_rfc3339(render_str(status, "now"), &server))
		return;
	offset = asked + half - server;
	most = offset < 0 ? -offset : offset;
	(void)format_ns((double)most, a, sizeof(a));
	(void)format_ns((double)half, b, sizeof(b));
	if (most - half > CLOCK_WARN_NS)
		findings_add(&d->found, CHECK_WARN, "clock", "synchronise both clocks",
			     "this machine is %s %s the server (within %s)", a,
			     offset < 0 ? "behind" : "ahead of", b);
	else
		findings_add(&d->found, CHECK_OK, "clock", NULL,
			     "agrees with the server's within %s (measured to %s)", a, b);
}

static void check_database(struct doctor *d, const json_t *status)
{
	const json_t *db = json_object_get(status, "database");
	int major = atoi(render_str(db, "version"));

	if (major < 15)
		findings_add(&d->found, CHECK_WARN, "database", "use PostgreSQL 15 or newer",
			     "PostgreSQL %.40s is older than what is tested",
			     render_str(db, "version"));
	else
		findings_add(&d->found, CHECK_OK, "database", NULL,
			     "PostgreSQL %.40s, schema %lld, %lld MiB", render_str(db, "version"),
			     number(db, "schema"), number(db, "bytes") >> 20);
}

static void check_disk(struct doctor *d, const json_t *status)
{
	const json_t *disk = json_object_get(status, "disk");
	long long left = number(disk, "free_bytes"), total = number(disk, "total_bytes");
	double share = total > 0 ? (double)left / (double)total : 0;

	if (!json_is_object(disk))
		findings_add(&d->found, CHECK_OK, "disk", NULL,
			     "is that of another PostgreSQL: watch it there");
	else if (share < DISK_FAIL)
		findings_add(&d->found, CHECK_FAIL, "disk",
			     "make room now, or drop old data with --keep-days",
			     "%lld MiB (%.1f %%) are left for the database", left >> 20,
			     100 * share);
	else if (share < DISK_WARN)
		findings_add(&d->found, CHECK_WARN, "disk",
			     "make room, or drop old data with --keep-days",
			     "%lld MiB (%.1f %%) are left for the database", left >> 20,
			     100 * share);
	else
		findings_add(&d->found, CHECK_OK, "disk", NULL,
			     "%lld MiB (%.0f %%) are left for the database", left >> 20,
			     100 * share);
}

static void check_retention(struct doctor *d, const json_t *status)
{
	const json_t *keep = json_object_get(status, "keep");

	if (json_is_integer(json_object_get(keep, "samples_days")))
		findings_add(&d->found, CHECK_OK, "retention", NULL,
			     "single intervals and watch runs are dropped after %lld days",
			     number(keep, "samples_days"));
	else
		findings_add(&d->found, CHECK_WARN, "retention",
			     "start the server with --keep-days N when the disk is bounded",
			     "everything is kept for ever: the database only grows");
}

static void check_keeping_up(struct doctor *d, const json_t *status)
{
	const json_t *staging = json_object_get(status, "staging");
	int64_t oldest, now;
	char age[40];

	if (!clock_parse_rfc3339(render_str(staging, "oldest"), &oldest) ||
	    !clock_parse_rfc3339(render_str(status, "now"), &now) || now - oldest < BEHIND_NS) {
		findings_add(&d->found, CHECK_OK, "packing", NULL,
			     "keeps up with what comes in (%lld posts wait)",
			     number(staging, "rows"));
		return;
	}
	findings_add(&d->found, CHECK_WARN, "packing",
		     "see the server's log; one of its processes must be able to write",
		     "the oldest of %lld posts has waited for %s", number(staging, "rows"),
		     format_ns((double)(now - oldest), age, sizeof(age)));
}

/* ---- rights ---- */

/* Asked of things that are not there, so that nothing changes: what is forbidden is said first. */
static void check_rights(struct doctor *d)
{
	static const struct {
		const char *scope, *method, *path, *body;
	} tries[] = {{"write", "PATCH", "/api/v1/experiments/e_9223372036854775807", "{}"},
		     {"admin", "GET", "/api/v1/tokens", NULL},
		     {"ingest for any host", "GET", "/api/v1/hosts/-/agent", NULL}};
	CLEANUP(strbuf_done) struct strbuf may = {0}, not = {0};
	struct err err;

	strbuf_puts(&may, "read");
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		long status = ask(d, tries[i].method, tries[i].path, tries[i].body, NULL, &err);
		bool no = status == 401 || status == 403;

		strbuf_printf(no ? &not : &may, "%s%s", !no || not .len ? ", " : "",
			      tries[i].scope);
	}
	findings_add(&d->found, CHECK_OK, "token", NULL, "this token may %s%s%s", may.data,
		     not .len ? "; it may not " : "", not .len ? not .data : "");
}

static bool check_status(struct doctor *d)
{
	json_auto_t *doc = NULL;
	int64_t asked = clock_realtime_ns(), answered;
	struct err err;
	long status = ask(d, "GET", "/api/v1/status", NULL, &doc, &err);

	answered = clock_realtime_ns();
	if (status == 401 || status == 403) {
		findings_add(&d->found, CHECK_FAIL, "token",
			     "put a token into ~/.config/rigstat/token, or name its file in "
			     "$RIGSTAT_TOKEN_FILE; an administrator makes one",
			     status == 401 ? "the server wants a valid token"
					   : "this token has no right to read");
		return false;
	}
	if (status != 200) {
		findings_add(&d->found, CHECK_FAIL, "database", "see the server's log",
			     "GET /api/v1/status: HTTP %ld %s", status, err.text);
		return false;
	}
	check_rights(d);
	check_clock(d, doc, asked, answered);
	check_database(d, doc);
	check_disk(d, doc);
	check_retention(d, doc);
	check_keeping_up(d, doc);
	return true;
}

/* ---- boxes ---- */

enum trouble { SILENT, OFFLINE, LOSING, SPOOL, CLOCK, VERSION, TROUBLES };

static bool has_trouble(const json_t *host, enum trouble t)
{
	const json_t *agent = json_object_get(host, "agent");
	const char *state = render_str(host, "state"), *version = render_str(host, "agent_version");
	long long offset = number(agent, "clock_offset_ns");

	switch (t) {
	case SILENT:
		return !strcmp(state, "stale");
	case OFFLINE:
		return !strcmp(state, "offline");
	case LOSING:
		return number(host, "lost_1h") > 0;
	case SPOOL:
		return *render_str(json_object_get(agent, "spool"), "problem");
	case CLOCK:
		return (offset < 0 ? -offset : offset) - number(agent, "clock_error_ns") >
		       CLOCK_WARN_NS;
	case VERSION:
		return *version && strcmp(version, RIGSTAT_VERSION) != 0;
	case TROUBLES:
		break;
	}
	return false;
}

static void put_names(const json_t *hosts, enum trouble t, struct strbuf *out)
{
	const json_t *h;
	size_t i, n = 0;

	json_array_foreach(hosts, i, h)
	{
		if (!has_trouble(h, t))
			continue;
		if (n < NAMES_SHOWN)
			strbuf_printf(out, "%s%s", n ? ", " : "", render_str(h, "name"));
		n++;
	}
	if (n > NAMES_SHOWN)
		strbuf_printf(out, " and %zu more", n - NAMES_SHOWN);
}

static void check_hosts(struct doctor *d)
{
	static const struct {
		const char *name, *what, *fix;
	} troubles[] = {
		[SILENT] = {"hosts-stale", "not heard of for 30 s to 10 min",
			    "systemctl status rigstat-agent there, and the network"},
		[OFFLINE] = {"hosts-offline", "not heard of for more than 10 min",
			     "start it, or rigstat host retire NAME"},
		[LOSING] = {"hosts-losing", "lost samples in the last hour",
			    "rigstat host show NAME says why; rigstat-agent check on the box"},
		[SPOOL] = {"hosts-spool", "keeps records in memory only",
			   "free some disk there; rigstat host show NAME"},
		[CLOCK] = {"hosts-clock", "clock more than 1 s off the server's",
			   "start chrony or systemd-timesyncd there"},
		[VERSION] = {"hosts-version", "agent of another version than this program",
			     "update the older ones"},
	};
	json_auto_t *doc = NULL;
	const json_t *items, *counts;
	struct err err;
	size_t before = findings_count(&d->found, CHECK_WARN);

	if (ask(d, "GET", "/api/v1/hosts?limit=1000", NULL, &doc, &err) != 200) {
		findings_add(&d->found, CHECK_FAIL, "hosts", "see the server's log", "%s",
			     err.text);
		return;
	}
	items = json_object_get(doc, "items");
	counts = json_object_get(doc, "counts");
	for (enum trouble t = 0; t < TROUBLES; t++) {
		CLEANUP(strbuf_done) struct strbuf names = {0};

		put_names(items, t, &names);
		if (names.len)
			findings_add(&d->found, CHECK_WARN, troubles[t].name, troubles[t].fix,
				     "%s: %s", troubles[t].what, names.data);
	}
	if (findings_count(&d->found, CHECK_WARN) == before)
		findings_add(&d->found, CHECK_OK, "hosts", NULL,
			     "%lld online, nothing to say about them", number(counts, "online"));
}

/* ---- the whole ---- */

static int print(const struct doctor *d, bool json)
{
	static const char *const levels[] = {"ok", "warn", "fail"};
	size_t fail = findings_count(&d->found, CHECK_FAIL),
	       warn = findings_count(&d->found, CHECK_WARN);
	CLEANUP(strbuf_done) struct strbuf out = {0};
	int status;

	if (json) {
		json_auto_t *list = json_array(), *doc = NULL;
		char *dumped;

		for (size_t i = 0; i < d->found.len; i++) {
			const struct finding *f = &d->found.v[i];

			json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s?}", "name",
							      f->name, "level", levels[f->level],
							      "text", f->text, "fix", f->fix));
		}
		doc = json_pack("{s:s, s:I, s:I, s:O}", "server", d->server, "warn",
				(json_int_t)warn, "fail", (json_int_t)fail, "checks", list);
		dumped = json_dumps(doc, JSON_INDENT(1));
		strbuf_printf(&out, "%s\n", dumped ? dumped : "{}");
		free(dumped);
	} else {
		strbuf_printf(&out, "%s: %zu of %zu checks failed", d->server, fail, d->found.len);
		if (warn)
			strbuf_printf(&out, ", %zu want a look", warn);
		strbuf_puts(&out, ".\n\n");
		findings_put_text(&d->found, &out);
	}
	cli_clean(&out);
	status = cli_print(&out);
	return status ? status : fail ? EXIT_GATE_FAIL : EXIT_DONE;
}

int verb_doctor(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", 1, true}, {"--json", 2, false}, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	struct doctor d = {0};
	const char *value;
	struct err err = {0};
	bool json = false;
	int id, status;

	while ((id = args_next(&a, defs, &value, &err)) != ARG_END) {
		if (id == ARG_OPERAND)
			id = err_set(&err, ERR_INVALID, "\"%.60s\" means nothing here", value);
		if (id < 0)
			return cli_usage("doctor", &err);
		if (id == 1)
			d.server = value;
		json |= id == 2;
	}
	if (client_server(d.server, &d.server, &err))
		return cli_usage("doctor", &err);
	if (check_server(&d) && check_status(&d))
		check_hosts(&d);
	status = print(&d, json);
	findings_done(&d.found);
	return status;
}
