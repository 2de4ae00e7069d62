/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server: is it there, may this box write to it, does its clock agree, is the box taken? */
#include "agent/check.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#include "agent/heartbeat.h"
#include "agent/serverlink.h"
#include "common/clock.h"
#include "common/parse.h"

#define SERVER_TIMEOUT_NS (5 * NS_PER_SEC)
#define CLOCK_WARN_NS	  NS_PER_SEC

/* A secret that others can read is none. */
static void check_token_file(struct checks *c)
{
	const char *path = c->conf->token_file;
	struct stat st;

	if (!path)
		return;
	if (stat(path, &st) < 0)
		check_add(c, CHECK_FAIL, "token-file",
			  "write the token there, readable by the agent's user only",
			  "%s cannot be read", path);
	else if (st.st_mode & 077)
		check_add(c, CHECK_WARN, "token-file", "chmod 600 that file",
			  "%s can be read by others", path);
	else
		check_add(c, CHECK_OK, "token-file", NULL, "%s is the agent's alone", path);
}

static const char *detail_of(const json_t *doc)
{
	const char *s = json_string_value(json_object_get(doc, "detail"));

	return s && text_is_clean(s, strlen(s)) ? s : "";
}

static void check_right(struct checks *c, int status, const json_t *doc)
{
	const char *host = c->conf->host;

	if (status == 200)
		check_add(c, CHECK_OK, "rights", NULL, "records of %s are accepted", host);
	else if (status == 401)
		check_add(c, CHECK_FAIL, "rights",
			  c->conf->token_file
				  ? "the token is wrong, over or revoked: ask for a new one"
				  : "give the agent a token: token-file = FILE in "
				    "/etc/rigstat/agent.conf",
			  "the server wants a valid token");
	else if (status == 403)
		check_add(
			c, CHECK_FAIL, "rights",
			"use a token with scope ingest for this host, or --host NAME as the token "
			"says",
			"records of %s are refused: %s", host, detail_of(doc));
	else if (status == 404)
		check_add(c, CHECK_WARN, "rights", "update rigstat-server",
			  "the server is older than this agent and cannot say");
	else
		check_add(c, CHECK_FAIL, "rights", "see the server's log", "HTTP %d %s", status,
			  detail_of(doc));
}

static void check_versions(struct checks *c, const json_t *doc)
{
	const char *version = json_string_value(json_object_get(doc, "server_version"));

	if (!version || !text_is_clean(version, strlen(version)))
		return;
	if (strcmp(version, RIGSTAT_VERSION) != 0)
		check_add(c, CHECK_WARN, "version", "update the older one; servers go first",
			  "the server is %.40s, this agent " RIGSTAT_VERSION, version);
	else
		check_add(c, CHECK_OK, "version", NULL, "server and agent are both %.40s", version);
}

static void check_clock(struct checks *c, const json_t *doc, int64_t asked, int64_t answered)
{
	const json_t *server = json_object_get(doc, "server_ns");
	int64_t error, offset, most;
	char a[40], b[40];

	if (!json_is_integer(server))
		return;
	offset = heartbeat_offset(asked, answered, json_integer_value(server), &error);
	most = offset < 0 ? -offset : offset;
	(void)format_ns((double)most, a, sizeof(a));
	(void)format_ns((double)error, b, sizeof(b));
	if (most - error > CLOCK_WARN_NS)
		check_add(c, CHECK_WARN, "server-clock", "synchronise both clocks",
			  "this box is %s %s the server (within %s): times of its runs are off", a,
			  offset < 0 ? "behind" : "ahead of", b);
	else
		check_add(c, CHECK_OK, "server-clock", NULL,
			  "agrees with the server's within %s (measured to %s)", a, b);
}

static void check_reserved(struct checks *c, const json_t *doc)
{
	const json_t *r = json_object_get(doc, "reserved");
	const char *by = json_string_value(json_object_get(r, "by"));

	if (by && text_is_clean(by, strlen(by)))
		check_add(c, CHECK_WARN, "reserved",
			  "ask them, or rigstat host release NAME --force",
			  "this box is reserved by %s", by);
}

static void ask(struct checks *c)
{
	static const char fix[] = "check the URL, the network and whether rigstat-server runs";
	CLEANUP(strbuf_done) struct strbuf path = {0};
	CLEANUP(freep) char *body = NULL;
	int64_t asked = clock_realtime_ns(), answered;
	json_auto_t *doc = NULL;
	struct err err;
	int status;

	serverlink_put_agent_path(c->conf, &path);
	status = serverlink_get(c->conf, path.data, SERVER_TIMEOUT_NS, &body, &err);
	answered = clock_realtime_ns();
	if (!status) {
		check_add(c, CHECK_FAIL, "server", fix, "%s", err.text);
		return;
	}
	doc = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(doc) && status != 404) {
		check_add(c, CHECK_FAIL, "server", fix,
			  "%s answers HTTP %d, but not as rigstat-server does (a proxy or portal?)",
			  c->conf->server, status);
		return;
	}
	check_add(c, CHECK_OK, "server", NULL, "%s answers", c->conf->server);
	check_right(c, status, doc);
	if (status != 200)
		return;
	check_versions(c, doc);
	check_clock(c, doc, asked, answered);
	check_reserved(c, doc);
}

void check_server(struct checks *c)
{
	check_token_file(c);
	if (c->conf->server)
		ask(c);
	else
		check_add(c, CHECK_WARN, "server", "set server = URL in /etc/rigstat/agent.conf",
			  "none is named: runs stay in the spool");
}
