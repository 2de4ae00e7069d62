/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/heartbeat.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent/facts.h"
#include "agent/serverlink.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"

#define EVERY_MS   10000u  /* online is 3 of these */
#define AGAIN_MS   1000u   /* after the first, which has no clock offset yet */
#define FAILING_MS 60000u  /* at most, between tries when the server does not answer well */
#define OLD_MS	   600000u /* the server does not know heartbeats */
#define TIMEOUT_NS (10 * NS_PER_SEC)
#define RTT_MAX_NS (5 * NS_PER_SEC) /* such an answer says little about clocks */

struct heartbeat {
	struct heartbeat_conf conf;
	struct serverlink *link;
	uv_timer_t timer;
	struct strbuf path, body;
	int64_t asked_ns;	     /* realtime */
	int64_t offset_ns, error_ns; /* HEARTBEAT_UNKNOWN until the first answer */
	unsigned int failures;
	bool hold, closing;
};

int64_t heartbeat_offset(int64_t asked_ns, int64_t answered_ns, int64_t server_ns,
			 int64_t *ret_error_ns)
{
	int64_t half = (answered_ns - asked_ns) / 2;

	*ret_error_ns = half < 0 ? 0 : half;
	return asked_ns + half - server_ns;
}

/* ---- the body ---- */

static void put_text(struct strbuf *out, const char *name, const char *text)
{
	char clean[400];

	if (!*text)
		return;
	snprintf(clean, sizeof(clean), "%s", text);
	if (!text_is_clean(clean, strlen(clean)) || strpbrk(clean, "\n\t"))
		for (unsigned char *s = (unsigned char *)clean; *s; s++)
			if (*s < 0x20 || *s >= 0x7f)
				*s = '?';
	strbuf_printf(out, ",\"%s\":", name);
	json_put_string(out, clean);
}

static void put_number(struct strbuf *out, const char *name, uint64_t v)
{
	strbuf_printf(out, ",\"%s\":%" PRIu64, name, v > INT64_MAX ? INT64_MAX : v);
}

static void put_ns(struct strbuf *out, const char *name, int64_t ns)
{
	strbuf_printf(out, ",\"%s\":%" PRId64, name, ns);
}

void heartbeat_put(const struct heartbeat_facts *f, int64_t offset_ns, int64_t error_ns,
		   struct strbuf *out)
{
	strbuf_puts(out, "{\"version\":\"" RIGSTAT_VERSION "\"");
	put_text(out, "doing", f->doing);
	put_text(out, "doing_text", f->doing_text);
	put_text(out, "boot_id", f->boot_id);
	put_ns(out, "uptime_ns", f->uptime_ns);
	put_ns(out, "box_uptime_ns", f->box_uptime_ns);
	put_ns(out, "lag_ns", f->lag_ns);
	put_number(out, "spool_bytes", f->spool_bytes);
	put_number(out, "spool_records", f->spool_records);
	put_text(out, "spool_problem", f->spool_problem);
	put_number(out, "dropped_records", f->dropped_records);
	put_number(out, "dropped_samples", f->dropped_samples);
	put_number(out, "refused_records", f->refused_records);
	put_text(out, "settings", f->settings);
	if (*f->error) {
		put_text(out, "error", f->error);
		put_ns(out, "error_ns", f->error_ns);
	}
	if (offset_ns != HEARTBEAT_UNKNOWN) {
		put_ns(out, "clock_offset_ns", offset_ns);
		put_ns(out, "clock_error_ns", error_ns);
	}
	strbuf_putc(out, '}');
}

/* ---- sending ---- */

static void on_timer(uv_timer_t *timer);

/* Spread by a quarter to each side, so that a lab does not beat in step. */
static void wait_for(struct heartbeat *h, unsigned int ms)
{
	unsigned int random = 0;

	CHECK(getrandom(&random, sizeof(random), 0) == sizeof(random));
	if (!h->closing)
		uv_timer_start(&h->timer, on_timer, ms - ms / 4 + random % (ms / 2 + 1), 0);
}

static void take_clock(struct heartbeat *h, const json_t *doc)
{
	int64_t now = clock_realtime_ns();
	const json_t *server = json_object_get(doc, "server_ns");

	if (!json_is_integer(server) || now < h->asked_ns || now - h->asked_ns > RTT_MAX_NS)
		return; /* or our own clock was set meanwhile */
	h->offset_ns = heartbeat_offset(h->asked_ns, now, json_integer_value(server), &h->error_ns);
}

static void failed(struct heartbeat *h, int status)
{
	unsigned int ms = EVERY_MS << (h->failures < 4 ? h->failures : 4);

	h->failures++;
	if (status == 404 || status == 405)
		ms = OLD_MS;
	else if (ms > FAILING_MS)
		ms = FAILING_MS;
	wait_for(h, ms);
}

static void on_answer(void *user, const struct http_answer *answer)
{
	struct heartbeat *h = user;
	bool first = h->offset_ns == HEARTBEAT_UNKNOWN;
	json_t *doc;

	if (answer->status != 200) {
		log_debug("heartbeat: HTTP %d %s", answer->status,
			  answer->error ? answer->error : "");
		failed(h, answer->status);
		return;
	}
	h->failures = 0;
	doc = json_loadb(answer->body, answer->body_len, JSON_REJECT_DUPLICATES, NULL);
	take_clock(h, doc);
	if (json_is_object(doc) && h->conf.on_answer)
		h->conf.on_answer(h->conf.user, doc);
	json_decref(doc);
	wait_for(h, first ? AGAIN_MS : EVERY_MS);
}

static void on_timer(uv_timer_t *timer)
{
	struct heartbeat *h = timer->data;
	struct heartbeat_facts f = {0};

	if (h->hold) {
		wait_for(h, AGAIN_MS);
		return;
	}
	if (serverlink_busy(h->link))
		return; /* its answer goes on */
	h->conf.facts(h->conf.user, &f);
	strbuf_clear(&h->path);
	strbuf_clear(&h->body);
	serverlink_put_agent_path(h->conf.agent, &h->path);
	heartbeat_put(&f, h->offset_ns, h->error_ns, &h->body);
	h->asked_ns = clock_realtime_ns();
	serverlink_send(h->link, "POST", h->path.data, &h->body, TIMEOUT_NS, on_answer, h);
}

/* ---- life ---- */

int heartbeat_open(uv_loop_t *loop, const struct heartbeat_conf *conf, struct heartbeat **ret,
		   struct err *reterr)
{
	CLEANUP(freep) struct heartbeat *h = NULL;
	int rc;

	*ret = NULL;
	if (!conf->agent->server)
		return 0;
	h = xcalloc(1, sizeof(*h));
	h->conf = *conf;
	h->offset_ns = HEARTBEAT_UNKNOWN;
	rc = serverlink_open(loop, conf->agent, &h->link, reterr);
	if (rc)
		return rc;
	CHECK(uv_timer_init(loop, &h->timer) == 0);
	h->timer.data = h;
	wait_for(h, AGAIN_MS);
	*ret = TAKE(h);
	return 0;
}

void heartbeat_hold(struct heartbeat *h, bool hold)
{
	if (!h)
		return;
	h->hold = hold;
	if (hold && serverlink_busy(h->link)) {
		serverlink_cancel(h->link);
		wait_for(h, AGAIN_MS);
	}
}

void heartbeat_now(struct heartbeat *h)
{
	if (h && !serverlink_busy(h->link))
		wait_for(h, AGAIN_MS / 10);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct heartbeat *h = handle->data;

	strbuf_done(&h->path);
	strbuf_done(&h->body);
	free(h);
}

static void on_link_closed(void *user)
{
	struct heartbeat *h = user;

	uv_close((uv_handle_t *)&h->timer, on_timer_closed);
}

void heartbeat_close(struct heartbeat *h)
{
	if (!h)
		return;
	h->closing = true;
	uv_timer_stop(&h->timer);
	serverlink_close(TAKE(h->link), on_link_closed, h);
}
