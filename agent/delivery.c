/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/delivery.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/curlloop.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define TOKEN_MAX 4096

struct delivery {
	struct spool *spool;
	struct curlloop *curl; /* NULL: no server */
	struct upload *upload; /* NULL: no server */
	uv_loop_t *loop;
	uv_timer_t timer; /* when upload_poll wants to be called again */
	uv_work_t work;
	struct spool_sync sync;
	bool syncing, closing, timer_closed, curl_closed;
	void (*on_closed)(void *user);
	void *user;
};

/* The first line of the token file. */
static int read_token(const char *path, char *buf, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return err_errno(reterr, errno, "%s: cannot read the token", path);
	n = read(fd, buf, TOKEN_MAX - 1);
	close(fd);
	if (n < 0)
		return err_errno(reterr, errno, "%s: cannot read the token", path);
	buf[n] = '\0';
	buf[strcspn(buf, "\r\n")] = '\0';
	return *buf ? 0 : err_set(reterr, ERR_INVALID, "%s: holds no token", path);
}

static void poll_upload(struct delivery *d);

static void on_timer(uv_timer_t *timer)
{
	poll_upload(timer->data);
}

static void on_wake(void *user)
{
	poll_upload(user);
}

static void poll_upload(struct delivery *d)
{
	int64_t now = clock_boottime_ns(), next;
	uint64_t wait_ms;

	if (!d->upload || d->closing)
		return;
	next = upload_poll(d->upload, now);
	if (next == INT64_MAX) {
		uv_timer_stop(&d->timer);
		return;
	}
	wait_ms = next > now ? (uint64_t)((next - now) / NS_PER_MS) + 1 : 1;
	uv_timer_start(&d->timer, on_timer, wait_ms, 0);
}

static void do_sync(uv_work_t *work)
{
	struct delivery *d = CONTAINER_OF(work, struct delivery, work);

	spool_sync_work(&d->sync);
}

static void finish_close(struct delivery *d)
{
	if (!d->closing || d->syncing || !d->timer_closed || !d->curl_closed)
		return;
	if (d->on_closed)
		d->on_closed(d->user);
	free(d);
}

static void on_synced(uv_work_t *work, int status UNUSED)
{
	struct delivery *d = CONTAINER_OF(work, struct delivery, work);

	d->syncing = false;
	spool_sync_end(d->spool, &d->sync);
	finish_close(d);
}

static void begin_sync(struct delivery *d)
{
	if (d->syncing || !spool_sync_begin(d->spool, &d->sync))
		return;
	d->syncing = true;
	CHECK(uv_queue_work(d->loop, &d->work, do_sync, on_synced) == 0);
}

void delivery_kick(struct delivery *d)
{
	if (d->closing)
		return;
	spool_tick(d->spool);
	begin_sync(d);
	poll_upload(d);
}

void delivery_set_quiet(struct delivery *d, bool quiet)
{
	spool_set_quiet(d->spool, quiet);
	if (d->upload)
		upload_hold(d->upload, quiet);
	if (!quiet)
		delivery_kick(d);
}

bool delivery_done(const struct delivery *d)
{
	return !d->upload || upload_done(d->upload);
}

bool delivery_stats(const struct delivery *d, struct upload_stats *ret)
{
	*ret = (struct upload_stats){0};
	if (!d->upload)
		return false;
	upload_stats(d->upload, ret);
	return true;
}

static int open_upload(struct delivery *d, const struct agent_conf *conf, struct err *reterr)
{
	const struct curlloop_conf curl = {.ca_file = conf->ca_file,
					   .user_agent = "rigstat-agent/" RIGSTAT_VERSION};
	struct upload_conf up = {
		.server = conf->server, .host = conf->host, .wake = on_wake, .wake_user = d};
	char token[TOKEN_MAX];
	int rc = 0;

	if (conf->token_file)
		rc = read_token(conf->token_file, token, reterr);
	if (!rc)
		rc = curlloop_new(d->loop, &curl, &d->curl, reterr);
	if (rc)
		return rc;
	up.token = conf->token_file ? token : NULL;
	d->upload = upload_new(&up, d->spool, curlloop_transport(d->curl));
	return 0;
}

int delivery_new(uv_loop_t *loop, const struct agent_conf *conf, struct spool *spool,
		 struct delivery **ret, struct err *reterr)
{
	CLEANUP(freep) struct delivery *d = xcalloc(1, sizeof(*d));
	int rc;

	d->spool = spool;
	d->loop = loop;
	d->curl_closed = true;
	if (conf->server) {
		rc = open_upload(d, conf, reterr);
		if (rc)
			return rc;
		d->curl_closed = false;
	}
	CHECK(uv_timer_init(loop, &d->timer) == 0);
	d->timer.data = d;
	*ret = TAKE(d);
	return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct delivery *d = handle->data;

	d->timer_closed = true;
	finish_close(d);
}

static void on_curl_closed(void *user)
{
	struct delivery *d = user;

	d->curl_closed = true;
	finish_close(d);
}

void delivery_close(struct delivery *d, void (*on_closed)(void *user), void *user)
{
	d->closing = true;
	d->on_closed = on_closed;
	d->user = user;
	upload_free(TAKE(d->upload));
	if (d->curl)
		curlloop_close(TAKE(d->curl), on_curl_closed, d);
	uv_close((uv_handle_t *)&d->timer, on_timer_closed);
}
