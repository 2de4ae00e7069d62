/* SPDX-License-Identifier: GPL-2.0-or-later */
/* States: see enum upload_state.
 *   IDLE      nothing to send; the owner polls when records came
 *   LOCATING  asked where an old stream stands; waiting for the answer
 *   SENDING   a range is on its way; waiting for the answer
 *   WAITING   until wake_ns after a failure
 *   HELD      quiet; upload_hold(false) ends it
 * A body stays as it is until its fate is known, so a retry sends the same bytes. */
#include "agent/upload.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/random.h>

#include "common/check.h"
#include "common/clock.h"
#include "common/crc32c.h"
#include "common/log.h"
#include "common/parse.h"

#define BATCH_BYTES	(256u << 10)
#define BACKOFF_BASE_NS NS_PER_SEC
#define BACKOFF_CAP_NS	(300 * NS_PER_SEC)
#define REFUSED_BASE_NS (30 * NS_PER_SEC) /* 401, 403: a person has to act */
#define RETRY_AFTER_MAX (3600 * NS_PER_SEC)
#define SPREAD_NS	(30 * NS_PER_SEC)
#define OUTAGE_NS	(60 * NS_PER_SEC)
#define AFTER_OUTAGE_NS (30 * NS_PER_SEC)
#define PACE_NS		(100 * NS_PER_MS) /* between full batches of a backlog */
#define TIMEOUT_NS	(30 * NS_PER_SEC)
#define CONFLICTS_MAX	3

struct upload {
	struct upload_conf conf;
	char *server, *host, *token;
	struct spool *spool;
	struct transport *t;
	enum upload_state state;
	bool hold;

	struct strbuf body;
	char stream[STREAM_HEX];  /* of the body, or that is located */
	char located[STREAM_HEX]; /* old stream whose position the server has told */
	uint64_t first, last;
	size_t bytes_now; /* limit of the next body; shrinks to find a refused record */

	unsigned int failures, conflicts;
	int64_t delay_ns, wake_ns; /* delay_ns >= 0: counts from the next poll */
	int64_t failing_since_ns;  /* 0: not failing */
	struct upload_stats stats;
};

static uint64_t system_random(void *user, uint64_t below)
{
	uint64_t v;

	(void)user;
	if (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		v = (uint64_t)clock_monotonic_ns();
	return below ? v % below : 0;
}

static int64_t random_ns(struct upload *u, int64_t below)
{
	return below > 0 ? (int64_t)u->conf.random(u->conf.random_user, (uint64_t)below) : 0;
}

struct upload *upload_new(const struct upload_conf *conf, struct spool *spool, struct transport *t)
{
	struct upload *u = xcalloc(1, sizeof(*u));

	u->conf = *conf;
	u->server = xstrdup(conf->server);
	u->host = xstrdup(conf->host);
	u->token = conf->token ? xstrdup(conf->token) : NULL;
	if (!u->conf.batch_bytes)
		u->conf.batch_bytes = BATCH_BYTES;
	if (!u->conf.spread_ns)
		u->conf.spread_ns = SPREAD_NS;
	if (!u->conf.random)
		u->conf.random = system_random;
	u->bytes_now = u->conf.batch_bytes;
	u->spool = spool;
	u->t = t;
	u->delay_ns = -1;
	return u;
}

static void wipe(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	freep(secret);
}

void upload_free(struct upload *u)
{
	if (!u)
		return;
	if (u->state == UPLOAD_SENDING || u->state == UPLOAD_LOCATING)
		u->t->cancel(u->t);
	strbuf_done(&u->body);
	wipe(&u->token);
	free(u->server);
	free(u->host);
	free(u);
}

void upload_set_token(struct upload *u, const char *token)
{
	wipe(&u->token);
	u->token = token ? xstrdup(token) : NULL;
	if (u->state == UPLOAD_WAITING)
		u->wake_ns = 0;
}

/* ---- waiting ---- */

static void wait_for(struct upload *u, int64_t delay_ns)
{
	u->state = UPLOAD_WAITING;
	u->delay_ns = delay_ns;
}

/* Full jitter, and that after the cap, so that a fleet at the cap is spread over all of it. When
 * the server is lost a fleet notices within a second: one quick try, then all come back spread. */
static int64_t backoff(struct upload *u, int64_t base_ns, bool lost)
{
	int64_t top = base_ns;

	for (unsigned int i = 0; i < u->failures + lost && top < BACKOFF_CAP_NS; i++)
		top *= 3;
	if (lost && u->failures && top < u->conf.spread_ns)
		top = u->conf.spread_ns;
	if (top > BACKOFF_CAP_NS)
		top = BACKOFF_CAP_NS;
	return base_ns + random_ns(u, top - base_ns + 1);
}

static void fail(struct upload *u, const struct http_answer *a, int64_t base_ns, const char *text)
{
	bool first = !u->failures;

	u->stats.failures++;
	if (!u->failing_since_ns)
		u->failing_since_ns = clock_boottime_ns();
	if (first || strcmp(u->stats.problem, text))
		log_warn("delivery to %s: %s; trying again, records wait in the spool", u->server,
			 text);
	snprintf(u->stats.problem, sizeof(u->stats.problem), "%s", text);
	if (a->retry_after_ns >= 0 && a->retry_after_ns <= RETRY_AFTER_MAX)
		wait_for(u, a->retry_after_ns + random_ns(u, a->retry_after_ns / 2 + 1));
	else
		wait_for(u, backoff(u, base_ns, !a->status));
	if (u->failures < 32)
		u->failures++;
}

static void succeeded(struct upload *u)
{
	int64_t outage = u->failing_since_ns ? clock_boottime_ns() - u->failing_since_ns : 0;

	if (u->failures)
		log_info("delivery to %s works again", u->server);
	u->failures = u->conflicts = 0;
	u->failing_since_ns = 0;
	u->stats.problem[0] = '\0';
	u->stats.last_ack_ns = clock_boottime_ns();
	u->state = UPLOAD_IDLE;
	if (outage >= OUTAGE_NS)
		wait_for(u, random_ns(u, AFTER_OUTAGE_NS)); /* the whole fleet is back now */
	else if (u->body.len >= u->conf.batch_bytes / 2)
		wait_for(u, PACE_NS + random_ns(u, PACE_NS));
}

/* ---- answers ---- */

struct reply {
	int64_t next_seq, expected; /* 0: not there */
	bool fork;
	char detail[160];
};

static void parse_reply(const struct http_answer *a, struct reply *ret)
{
	json_t *root =
		a->body_len ? json_loadb(a->body, a->body_len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	const char *detail;

	*ret = (struct reply){0};
	ret->next_seq = json_integer_value(json_object_get(root, "next_seq"));
	ret->expected = json_integer_value(json_object_get(root, "expected"));
	ret->fork = json_is_true(json_object_get(root, "fork"));
	detail = json_string_value(json_object_get(root, "detail"));
	if (detail && text_is_clean(detail, strlen(detail)))
		snprintf(ret->detail, sizeof(ret->detail), "%s", detail);
	json_decref(root);
}

static void drop_body(struct upload *u)
{
	strbuf_clear(&u->body);
}

static void acked(struct upload *u, const struct reply *r)
{
	uint64_t next = (uint64_t)r->next_seq;

	if (next > u->last + 1)
		next = u->last + 1; /* nobody can have what was not sent */
	spool_acked(u->spool, u->stream, next);
	u->stats.acked_records += next - u->first;
	succeeded(u);
	drop_body(u);
	u->bytes_now =
		u->bytes_now * 2 < u->conf.batch_bytes ? u->bytes_now * 2 : u->conf.batch_bytes;
}

static void fork_stream(struct upload *u)
{
	log_error("delivery: the server holds other bytes under numbers of stream %s (a restored "
		  "snapshot or a cloned disk?); what was not delivered goes to rejected/",
		  u->stream);
	spool_fork(u->spool, u->stream);
	drop_body(u);
	u->state = UPLOAD_IDLE;
}

/* The server is the authority on the position: behind us it has lost commits, so we rewind; ahead
 * of everything that we wrote, the numbers are not ours. */
static void conflict(struct upload *u, const struct http_answer *a, const struct reply *r)
{
	struct spool_position pos;

	if (r->fork || (spool_pending(u->spool, &pos) && pos.own &&
			!strcmp(pos.stream, u->stream) && (uint64_t)r->expected > pos.next)) {
		fork_stream(u);
		return;
	}
	if (r->expected <= 0) {
		fail(u, a, BACKOFF_BASE_NS, "HTTP 409 that names no expected number");
		return;
	}
	if (++u->conflicts > CONFLICTS_MAX) {
		fail(u, a, BACKOFF_BASE_NS, "the server keeps asking for another position");
		u->conflicts = 0;
	} else {
		u->state = UPLOAD_IDLE;
	}
	if ((uint64_t)r->expected < u->first)
		log_warn("delivery: the server asks for stream %s from %" PRId64 " again",
			 u->stream, r->expected);
	spool_acked(u->spool, u->stream, (uint64_t)r->expected);
	drop_body(u);
}

/* Halves the range until the record that the server will never take stands alone. */
static void refused(struct upload *u, const struct http_answer *a, const struct reply *r)
{
	char reason[260];

	if (u->last > u->first) {
		u->bytes_now = u->body.len / 2;
		drop_body(u);
		u->state = UPLOAD_IDLE;
		return;
	}
	snprintf(reason, sizeof(reason), "the server refused it: HTTP %d%s%s", a->status,
		 *r->detail ? ", " : "", r->detail);
	log_error("delivery: record %" PRIu64 " of stream %s goes to rejected/: %s", u->first,
		  u->stream, reason);
	spool_reject(u->spool, u->stream, u->first, u->last, reason);
	u->stats.rejected_records += u->last - u->first + 1;
	drop_body(u);
	u->state = UPLOAD_IDLE;
}

static bool is_permanent(int status)
{
	return status == 400 || status == 413 || status == 415 || status == 422;
}

static void on_other(struct upload *u, const struct http_answer *a, const struct reply *r)
{
	char text[260];

	if (!a->status)
		snprintf(text, sizeof(text), "%s", a->error ? a->error : "no answer");
	else if (a->status == 200)
		snprintf(text, sizeof(text),
			 "an answer without next_seq: this is no rigstat-server "
			 "(a proxy or portal?)");
	else
		snprintf(text, sizeof(text), "HTTP %d%s%s", a->status, *r->detail ? ", " : "",
			 r->detail);
	fail(u, a, a->status == 401 || a->status == 403 ? REFUSED_BASE_NS : BACKOFF_BASE_NS, text);
}

static void on_sent(struct upload *u, const struct http_answer *a)
{
	struct reply r;

	parse_reply(a, &r);
	if (a->status == 200 && r.next_seq > 0 && (uint64_t)r.next_seq > u->first)
		acked(u, &r);
	else if (a->status == 200 && r.next_seq > 0)
		conflict(u, a, &(struct reply){.expected = r.next_seq});
	else if (a->status == 409)
		conflict(u, a, &r);
	else if (is_permanent(a->status))
		refused(u, a, &r);
	else
		on_other(u, a, &r);
}

static void on_located(struct upload *u, const struct http_answer *a)
{
	struct reply r;

	parse_reply(a, &r);
	if (a->status != 200 || r.next_seq <= 0) {
		on_other(u, a, &r);
		return;
	}
	snprintf(u->located, sizeof(u->located), "%s", u->stream);
	spool_acked(u->spool, u->stream, (uint64_t)r.next_seq);
	succeeded(u);
}

static void on_answer(void *user, const struct http_answer *a)
{
	struct upload *u = user;

	CHECK(u->state == UPLOAD_SENDING || u->state == UPLOAD_LOCATING);
	if (u->state == UPLOAD_LOCATING)
		on_located(u, a);
	else
		on_sent(u, a);
	if (u->conf.wake)
		u->conf.wake(u->conf.wake_user);
}

/* ---- requests ---- */

static void request(struct upload *u, enum upload_state state, const char *method, const char *url)
{
	char crc[64], stream[96], first[64], last[64], host[200], auth[600];
	const char *headers[8];
	size_t n = 0;
	struct http_request r = {
		.method = method, .url = url, .headers = headers, .timeout_ns = TIMEOUT_NS};

	if (state == UPLOAD_SENDING) {
		snprintf(stream, sizeof(stream), "X-Rigstat-Stream: %s", u->stream);
		snprintf(first, sizeof(first), "X-Rigstat-First: %" PRIu64, u->first);
		snprintf(last, sizeof(last), "X-Rigstat-Last: %" PRIu64, u->last);
		snprintf(crc, sizeof(crc), "X-Rigstat-CRC32C: %08x",
			 crc32c(0, u->body.data, u->body.len));
		headers[n++] = "Content-Type: application/x-rigstat-records";
		headers[n++] = stream;
		headers[n++] = first;
		headers[n++] = last;
		headers[n++] = crc;
		r.body = u->body.data;
		r.body_len = u->body.len;
	}
	snprintf(host, sizeof(host), "X-Rigstat-Host: %s", u->host);
	headers[n++] = host;
	if (u->token) {
		snprintf(auth, sizeof(auth), "Authorization: Bearer %s", u->token);
		headers[n++] = auth;
	}
	CHECK(n < ARRAY_LEN(headers));
	headers[n] = NULL;
	u->state = state;
	u->stats.requests++;
	u->t->send(u->t, &r, on_answer, u); /* copies url and headers */
	explicit_bzero(auth, sizeof(auth));
}

static void send_body(struct upload *u)
{
	char *url CLEANUP(freep) = xasprintf("%s/api/v1/ingest", u->server);

	request(u, UPLOAD_SENDING, "POST", url);
}

static void locate(struct upload *u)
{
	char *url CLEANUP(freep) = xasprintf("%s/api/v1/ingest/%s", u->server, u->stream);

	request(u, UPLOAD_LOCATING, "GET", url);
}

/* Begins what comes next; false when there is nothing. */
static bool begin(struct upload *u)
{
	struct spool_position pos;

	if (u->body.len) {
		send_body(u);
		return true;
	}
	if (!spool_pending(u->spool, &pos))
		return false;
	memcpy(u->stream, pos.stream, sizeof(u->stream));
	if (!pos.own && strcmp(u->located, pos.stream)) {
		locate(u);
		return true;
	}
	u->first = pos.acked;
	if (!spool_read(u->spool, u->stream, u->first, u->bytes_now, &u->body, &u->last))
		return false;
	send_body(u);
	return true;
}

int64_t upload_poll(struct upload *u, int64_t now_ns)
{
	if (u->state == UPLOAD_SENDING || u->state == UPLOAD_LOCATING)
		return INT64_MAX;
	if (u->delay_ns >= 0) {
		u->wake_ns = now_ns + u->delay_ns;
		u->delay_ns = -1;
	}
	if (u->hold) {
		if (u->state == UPLOAD_IDLE)
			u->state = UPLOAD_HELD;
		return INT64_MAX;
	}
	if (u->state == UPLOAD_WAITING && now_ns < u->wake_ns)
		return u->wake_ns;
	u->state = UPLOAD_IDLE;
	(void)begin(u);
	return INT64_MAX;
}

void upload_hold(struct upload *u, bool hold)
{
	u->hold = hold;
	if (!hold && u->state == UPLOAD_HELD)
		u->state = UPLOAD_IDLE;
}

void upload_resumed(struct upload *u)
{
	u->t->drop_connections(u->t);
	if (u->state == UPLOAD_WAITING)
		wait_for(u, random_ns(u, BACKOFF_BASE_NS));
}

void upload_stats(const struct upload *u, struct upload_stats *ret)
{
	*ret = u->stats;
	ret->state = u->state;
}

bool upload_done(const struct upload *u)
{
	struct spool_position pos;

	return u->state != UPLOAD_SENDING && u->state != UPLOAD_LOCATING && !u->body.len &&
	       !spool_pending(u->spool, &pos);
}
