/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/delivery.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/curlloop.h"
#include "agent/sysread.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define SUSPEND_NS (30 * NS_PER_SEC)

struct delivery {
	uv_loop_t *loop;
	struct spool *spool;
	struct curlloop *curl; /* NULL: no server */
	struct upload *upload;
	char *token_file;
	uv_timer_t timer; /* when upload_poll() wants to be called */
	uv_work_t work;
	struct spool_sync sync;
	bool syncing, closing, timer_closed, curl_closed;
	struct stat token_stat;
	int64_t asleep_ns; /* boot time - monotonic: grows in a suspend */
};

static void free_when_closed(struct delivery *d)
{
	if (!d->closing || d->syncing || !d->timer_closed || !d->curl_closed)
		return;
	free(d->token_file);
	free(d);
}

/* ---- fsync ---- */

static void on_work(uv_work_t *w)
{
	struct delivery *d = w->data;

	spool_sync_work(&d->sync);
}

static void on_work_done(uv_work_t *w, int status)
{
	struct delivery *d = w->data;

	(void)status;
	d->syncing = false;
	spool_sync_end(d->spool, &d->sync);
	free_when_closed(d);
}

static void sync_spool(struct delivery *d)
{
	if (d->syncing || !spool_sync_begin(d->spool, &d->sync))
		return;
	d->syncing = true;
	CHECK(!uv_queue_work(d->loop, &d->work, on_work, on_work_done));
}

/* ---- requests ---- */

static void poll_upload(struct delivery *d);

static void on_timer(uv_timer_t *t)
{
	poll_upload(t->data);
}

static void poll_upload(struct delivery *d)
{
	int64_t now, next;

	if (!d->upload || d->closing)
		return;
	now = clock_boottime_ns();
	next = upload_poll(d->upload, now);
	if (next == INT64_MAX) {
		uv_timer_stop(&d->timer);
		return;
	}
	uv_update_time(d->loop);
	CHECK(!uv_timer_start(&d->timer, on_timer, (uint64_t)((next - now) / NS_PER_MS) + 1, 0));
}

/* From inside an answer: the next request begins from the loop, not from curl's callback. */
static void on_wake(void *user)
{
	struct delivery *d = user;

	if (!d->closing)
		CHECK(!uv_timer_start(&d->timer, on_timer, 0, 0));
}

static void check_suspend(struct delivery *d)
{
	int64_t asleep = clock_boottime_ns() - clock_monotonic_ns();

	if (d->upload && asleep - d->asleep_ns > SUSPEND_NS) {
		log_info("the box was suspended for %lld s: connections are opened anew",
			 (long long)((asleep - d->asleep_ns) / NS_PER_SEC));
		upload_resumed(d->upload);
	}
	d->asleep_ns = asleep;
}

/* `rigstat-agent rotate` or an enrolment has put another token there. */
static void check_token_file(struct delivery *d)
{
	struct stat st;

	if (!d->upload || !d->token_file || stat(d->token_file, &st) < 0 ||
	    (st.st_ino == d->token_stat.st_ino &&
	     st.st_mtim.tv_sec == d->token_stat.st_mtim.tv_sec &&
	     st.st_mtim.tv_nsec == d->token_stat.st_mtim.tv_nsec))
		return;
	d->token_stat = st;
	delivery_reload_token(d);
}

void delivery_kick(struct delivery *d)
{
	if (d->closing)
		return;
	check_token_file(d);
	check_suspend(d);
	spool_tick(d->spool);
	sync_spool(d);
	poll_upload(d);
}

void delivery_hold(struct delivery *d, bool hold)
{
	if (!d->upload)
		return;
	upload_hold(d->upload, hold);
	poll_upload(d);
}

bool delivery_done(const struct delivery *d)
{
	return !d->upload || upload_done(d->upload);
}

void delivery_stats(const struct delivery *d, struct upload_stats *ret)
{
	*ret = (struct upload_stats){0};
	if (d->upload)
		upload_stats(d->upload, ret);
}

/* ---- life ---- */

static int read_token(const char *path, char *buf, size_t cap, struct err *reterr)
{
	if (!sysread_line(buf, cap, "", "%s", path))
		return err_errno(reterr, errno ? errno : ENOENT,
				 "token-file: cannot read a token from %s", path);
	for (const char *p = buf; *p; p++)
		if (*p <= ' ' || *p > '~')
			return err_set(reterr, ERR_INVALID,
				       "token-file: %s holds a character that no token has", path);
	return 0;
}

void delivery_reload_token(struct delivery *d)
{
	char token[512];
	struct err e;

	if (!d->upload || !d->token_file)
		return;
	if (read_token(d->token_file, token, sizeof(token), &e)) {
		log_error("%s; the old one stays in use", e.text);
		return;
	}
	upload_set_token(d->upload, token);
	explicit_bzero(token, sizeof(token));
	poll_upload(d);
}

static int open_upload(struct delivery *d, const struct agent_conf *conf, struct err *reterr)
{
	const struct curlloop_conf cc = {.ca_file = conf->ca_file,
					 .pin = conf->server_pin,
					 .user_agent = "rigstat-agent/" RIGSTAT_VERSION};
	struct upload_conf uc = {.server = conf->server,
				 .host = conf->host,
				 .spread_ns = conf->retry_spread_ns,
				 .wake = on_wake,
				 .wake_user = d};
	char token[512];
	int r = 0;

	if (conf->token_file) {
		(void)stat(conf->token_file, &d->token_stat);
		r = read_token(conf->token_file, token, sizeof(token), reterr);
		uc.token = token;
	}
	if (!r)
		r = curlloop_new(d->loop, &cc, &d->curl, reterr);
	if (r)
		return r;
	d->curl_closed = false;
	d->upload = upload_new(&uc, d->spool, curlloop_transport(d->curl));
	explicit_bzero(token, sizeof(token));
	return 0;
}

int delivery_open(uv_loop_t *loop, const struct agent_conf *conf, struct spool *spool,
		  struct delivery **ret, struct err *reterr)
{
	struct delivery *d = xcalloc(1, sizeof(*d));
	int r;

	d->loop = loop;
	d->spool = spool;
	d->work.data = d;
	d->curl_closed = true;
	d->token_file = conf->token_file ? xstrdup(conf->token_file) : NULL;
	d->asleep_ns = clock_boottime_ns() - clock_monotonic_ns();
	r = conf->server ? open_upload(d, conf, reterr) : 0;
	if (r) {
		free(d->token_file);
		free(d);
		return r;
	}
	CHECK(!uv_timer_init(loop, &d->timer));
	d->timer.data = d;
	*ret = d;
	return 0;
}

static void on_timer_closed(uv_handle_t *h)
{
	struct delivery *d = h->data;

	d->timer_closed = true;
	free_when_closed(d);
}

static void on_curl_closed(void *user)
{
	struct delivery *d = user;

	d->curl_closed = true;
	free_when_closed(d);
}

void delivery_close(struct delivery *d)
{
	if (!d)
		return;
	d->closing = true;
	upload_free(TAKE(d->upload));
	if (d->curl)
		curlloop_close(d->curl, on_curl_closed, d);
	uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
