/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fleet in one process: N times the agent's own spool and delivery, each with a record a second
 * of ten samples. Generates for --seconds, then delivers what is left, and prints a line:
 *   agents records samples ack_p50_ms ack_p99_ms ack_max_ms backlog_drained_ms failures
 * The latency is that of the live agents, from the append to the acknowledgement. With --backlog,
 * the first agent begins with so many records. SIGUSR1 restarts the latency statistics. */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include "agent/delivery.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/record.h"

#define SAMPLES	  10
#define WATCH_MS  10
#define APPENDS	  4096 /* append times that are remembered: an hour */
#define LATENCIES (4u << 20)
#define MS(ns)	  ((double)(ns) / 1e6)

struct box {
	struct agent_conf conf;
	struct spool *spool;
	struct delivery *delivery;
	uv_timer_t tick;
	uint64_t records, acked;
	int64_t *appended_ns; /* ring by number */
};

static struct {
	const char *server, *dir;
	uint64_t agents, seconds, backlog, drain;
} opt = {.agents = 500, .seconds = 30, .drain = 600};

static uv_loop_t loop;
static struct box *boxes;
static int64_t began_ns, *latency_ns, drained_ns;
static size_t latencies;
static bool ended;

static void die(const char *what)
{
	fprintf(stderr, "fleet: %s\n", what);
	exit(1);
}

static void put_start(struct record_writer *w, const struct box *b, uint64_t i)
{
	static const char series[] = "{\"metric\":\"fleet\",\"kind\":\"counter\",\"unit\":\"1\","
				     "\"labels\":{},\"method\":\"fleet/1\"}";
	char text[300];

	snprintf(text, sizeof(text),
		 "{\"run_uid\":\"%016" PRIx64 "%016" PRIx64
		 "\",\"kind\":\"watch\",\"host\":\"%s\",\"started_ns\":%" PRId64 "}",
		 (uint64_t)getpid(), i, b->conf.host, clock_realtime_ns());
	record_item_json(w, ITEM_RUN_START, text, strlen(text));
	record_item_series(w, 1, series, sizeof(series) - 1);
	record_item_phase(w, 2, clock_realtime_ns());
}

static void append(struct box *b)
{
	struct record_writer w = {0};
	struct counter_sample v[SAMPLES];

	for (size_t n = 0; n < SAMPLES; n++)
		v[n] = (struct counter_sample){(int64_t)(b->records * 7 + n), NS_PER_SEC / SAMPLES,
					       NS_PER_SEC / SAMPLES};
	record_begin(&w);
	if (!b->records)
		put_start(&w, b, (uint64_t)(b - boxes));
	record_item_counter(&w, 1, clock_realtime_ns(), NS_PER_SEC / SAMPLES, v, SAMPLES);
	b->appended_ns[b->records++ % APPENDS] = clock_boottime_ns();
	spool_append(b->spool, &w, 1);
	record_writer_done(&w);
}

static void on_tick(uv_timer_t *t)
{
	struct box *b = t->data;

	if (!ended)
		append(b);
	delivery_kick(b->delivery);
}

static void note_acks(struct box *b)
{
	struct upload_stats s;

	delivery_stats(b->delivery, &s);
	for (; b->acked < s.acked_records; b->acked++) {
		bool live = !opt.backlog || b != boxes;

		if (live && latencies < LATENCIES)
			latency_ns[latencies++] =
				s.last_ack_ns - b->appended_ns[b->acked % APPENDS];
	}
	if (opt.backlog && b == boxes && !drained_ns && b->acked >= opt.backlog)
		drained_ns = clock_boottime_ns() - began_ns;
}

static void on_watch(uv_timer_t *t)
{
	int64_t age_s = (clock_boottime_ns() - began_ns) / NS_PER_SEC;
	bool all = true;

	for (uint64_t i = 0; i < opt.agents; i++) {
		note_acks(&boxes[i]);
		all &= boxes[i].acked >= boxes[i].records;
	}
	ended |= age_s >= (int64_t)opt.seconds;
	if (ended && (all || age_s > (int64_t)(opt.seconds + opt.drain))) {
		if (!all)
			fprintf(stderr, "fleet: not everything was delivered\n");
		uv_stop(t->loop);
	}
}

static void on_usr1(uv_signal_t *s, int number)
{
	(void)s;
	(void)number;
	latencies = 0;
}

static void open_box(struct box *b, uint64_t i)
{
	char dir[300], host[40];
	struct spool_conf sc = {.dir = dir, .host = host, .boot_id = "fleet", .sync = SYNC_OFF};
	struct err e;

	snprintf(dir, sizeof(dir), "%s/%" PRIu64, opt.dir, i);
	snprintf(host, sizeof(host), "sim-%04" PRIu64, i);
	agent_conf_init(&b->conf);
	b->appended_ns = xcalloc(APPENDS, sizeof(int64_t));
	if (agent_conf_set(&b->conf, "server", opt.server, &e) ||
	    agent_conf_set(&b->conf, "host", host, &e) || spool_open(&sc, &b->spool, &e) ||
	    delivery_open(&loop, &b->conf, b->spool, &b->delivery, &e))
		die(e.text);
	for (uint64_t n = 0; i == 0 && n < opt.backlog; n++)
		append(b);
	CHECK(!uv_timer_init(&loop, &b->tick));
	b->tick.data = b;
	/* The phases are even: a fleet's agents were started at any time. */
	CHECK(!uv_timer_start(&b->tick, on_tick, i * 1000 / opt.agents, 1000));
}

static int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile(double q)
{
	return latencies ? MS(latency_ns[(size_t)(q * (double)(latencies - 1))]) : 0;
}

static int report(void)
{
	uint64_t records = 0, acked = 0, failures = 0;

	for (uint64_t i = 0; i < opt.agents; i++) {
		struct upload_stats s;

		delivery_stats(boxes[i].delivery, &s);
		records += boxes[i].records;
		acked += boxes[i].acked;
		failures += s.failures;
	}
	qsort(latency_ns, latencies, sizeof(*latency_ns), cmp_i64);
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %.0f %.0f %.0f %.0f %" PRIu64 "\n", opt.agents,
	       records, records * SAMPLES, quantile(0.5), quantile(0.99), quantile(1),
	       MS(drained_ns), failures);
	return acked == records ? 0 : 1;
}

static void parse(int argc, char **argv)
{
	static const struct option table[] = {
		{"server", 1, NULL, 'S'},
		{"dir", 1, NULL, 'D'},
		{"agents", 1, NULL, 'n'},
		{"seconds", 1, NULL, 't'},
		{"backlog", 1, NULL, 'b'},
		{"drain", 1, NULL, 'd'},
		{0},
	};
	uint64_t *numbers[128] = {['n'] = &opt.agents,
				  ['t'] = &opt.seconds,
				  ['b'] = &opt.backlog,
				  ['d'] = &opt.drain};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (c == 'S')
			opt.server = optarg;
		else if (c == 'D')
			opt.dir = optarg;
		else if (c > 0 && c < 128 && numbers[c])
			*numbers[c] = strtoull(optarg, NULL, 10);
		else
			exit(3);
	}
	if (!opt.server || !opt.dir || !opt.agents)
		die("--server URL --dir DIRECTORY are needed");
}

int main(int argc, char **argv)
{
	uv_timer_t watch;
	uv_signal_t usr1;
	int status;

	parse(argc, argv);
	CHECK(!uv_loop_init(&loop));
	boxes = xcalloc(opt.agents, sizeof(*boxes));
	latency_ns = xcalloc(LATENCIES, sizeof(*latency_ns));
	for (uint64_t i = 0; i < opt.agents; i++)
		open_box(&boxes[i], i);
	CHECK(!uv_timer_init(&loop, &watch) && !uv_signal_init(&loop, &usr1));
	CHECK(!uv_timer_start(&watch, on_watch, WATCH_MS, WATCH_MS));
	CHECK(!uv_signal_start(&usr1, on_usr1, SIGUSR1));
	began_ns = clock_boottime_ns();
	puts("ready");
	(void)fflush(stdout);
	(void)uv_run(&loop, UV_RUN_DEFAULT);
	status = report();
	(void)fflush(stdout);
	_exit(status); /* the spools are thrown away */
}
