/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way of the records: spool and server. */
#include "agent/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <uv.h>

#include "agent/curlloop.h"
#include "common/check.h"

#define SERVER_TIMEOUT_NS (5 * NS_PER_SEC)

/* ---- spool ---- */

static bool can_write(const char *dir)
{
	CLEANUP(freep) char *path = xasprintf("%s/.check-XXXXXX", dir);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	unlink(path);
	return true;
}

static void check_space(struct checks *c, const char *dir)
{
	struct statvfs fs;
	uint64_t avail;

	if (statvfs(dir, &fs) < 0) {
		check_add(c, CHECK_WARN, "disk", NULL, "%s: %s", dir, strerror(errno));
		return;
	}
	avail = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (avail < c->conf->spool_free_min)
		check_add(
			c, CHECK_FAIL, "disk", "free some space, or name another --spool",
			"%s has %llu MiB left, less than the %llu MiB that the agent leaves free: "
			"records would be kept in memory only",
			dir, (unsigned long long)(avail >> 20),
			(unsigned long long)(c->conf->spool_free_min >> 20));
	else if (avail < c->conf->spool_free_min + c->conf->spool_bytes_max)
		check_add(c, CHECK_WARN, "disk", "free some space, or lower --spool-max",
			  "%s has %llu MiB left: the spool cannot grow to its bound", dir,
			  (unsigned long long)(avail >> 20));
	else
		check_add(c, CHECK_OK, "disk", NULL, "%llu MiB left for the spool",
			  (unsigned long long)(avail >> 20));
}

void check_storage(struct checks *c)
{
	const char *dir = c->conf->spool_dir;
	bool made = mkdir(dir, 0750) == 0;

	if (!made && errno != EEXIST) {
		check_add(c, CHECK_FAIL, "spool", "make it, or name another with --spool",
			  "%s cannot be made: %s", dir, strerror(errno));
		return;
	}
	if (!can_write(dir))
		check_add(c, CHECK_FAIL, "spool", "chown it to the agent's user, or name another",
			  "%s cannot be written: %s", dir, strerror(errno));
	else
		check_add(c, CHECK_OK, "spool", NULL, "%s can be written", dir);
	check_space(c, dir);
	if (made)
		(void)rmdir(dir);
}

/* ---- server ---- */

struct probe_answer {
	bool done;
	int status;
	char error[200];
};

static void on_answer(void *user, const struct http_answer *a)
{
	struct probe_answer *p = user;

	p->done = true;
	p->status = a->status;
	snprintf(p->error, sizeof(p->error), "%s", a->error ? a->error : "no answer");
}

static int ask_server(const struct agent_conf *conf, struct probe_answer *p, struct err *reterr)
{
	CLEANUP(freep) char *url = xasprintf("%s/healthz", conf->server);
	const struct curlloop_conf cc = {.ca_file = conf->ca_file,
					 .user_agent = "rigstat-agent/" RIGSTAT_VERSION};
	static const char *const headers[] = {NULL};
	const struct http_request r = {
		.method = "GET", .url = url, .headers = headers, .timeout_ns = SERVER_TIMEOUT_NS};
	struct curlloop *curl;
	uv_loop_t loop;
	int rc;

	CHECK(uv_loop_init(&loop) == 0);
	rc = curlloop_new(&loop, &cc, &curl, reterr);
	if (!rc) {
		struct transport *t = curlloop_transport(curl);

		t->send(t, &r, on_answer, p);
		while (!p->done && uv_run(&loop, UV_RUN_ONCE))
			;
		curlloop_close(curl, NULL, NULL);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(&loop) == 0);
	return rc;
}

void check_server(struct checks *c)
{
	static const char fix[] = "check the URL, the network and whether rigstat-server runs";
	struct probe_answer p = {0};
	struct err err;

	if (!c->conf->server)
		check_add(c, CHECK_WARN, "server", "set server = URL in /etc/rigstat/agent.conf",
			  "none is named: runs stay in the spool");
	else if (ask_server(c->conf, &p, &err))
		check_add(c, CHECK_FAIL, "server", fix, "%s", err.text);
	else if (!p.status)
		check_add(c, CHECK_FAIL, "server", fix, "%s cannot be reached: %s", c->conf->server,
			  p.error);
	else if (p.status != 200)
		check_add(c, CHECK_FAIL, "server", fix, "%s answers %d to /healthz",
			  c->conf->server, p.status);
	else
		check_add(c, CHECK_OK, "server", NULL, "%s answers", c->conf->server);
}
