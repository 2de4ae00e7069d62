/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Load of tests/bench/ingest: N agents that post records in a closed loop, each on its own
 * connection and stream. Makes all bodies first, writes the same samples as packed rows (one a
 * series and post, like rigstat.chunk) into a COPY BINARY file, prints "ready", waits for a line
 * on standard input, runs, prints one line:
 *   seconds posts samples bytes p50_ms p99_ms */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/record.h"

struct post {
	struct strbuf request; /* head and body */
	size_t body;	       /* where the body begins */
};

struct agent {
	struct post *posts;
	size_t next; /* post being sent or answered */
	int fd;
	size_t sent, got;
	char answer[1024];
	int64_t started_ns;
};

static struct {
	uint64_t port, agents, posts, series, samples, round;
	const char *copy_file;
} opt = {.agents = 64, .posts = 20, .series = 20, .samples = 60};

static uint64_t seed = 42;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static NORETURN void die(const char *what)
{
	perror(what);
	exit(1);
}

/* A quarter each: growing steadily, noisy of 8 digits, small, mostly nothing. */
static int64_t delta_of(uint64_t series)
{
	switch (series % 4) {
	case 0:
		return 1000000 + (int64_t)(rnd() % 64);
	case 1:
		return (int64_t)(10000000 + rnd() % 90000000);
	case 2:
		return (int64_t)(rnd() % 1000);
	default:
		return rnd() % 16 ? 0 : (int64_t)(rnd() % 100);
	}
}

static void put_json(struct record_writer *w, enum item_type type, const char *fmt, ...)
	PRINTF(3, 4);
static void put_json(struct record_writer *w, enum item_type type, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	record_item_json(w, type, text, strlen(text));
}

static void begin_run(struct record_writer *w, uint64_t i)
{
	char text[300];

	put_json(w, ITEM_RUN_START,
		 "{\"run_uid\":\"%016" PRIx64 "%016" PRIx64 "\",\"kind\":\"measured\",\"host\":"
		 "\"bench%" PRIu64 "\",\"started_ns\":1}",
		 opt.round, i, i);
	for (uint64_t s = 1; s <= opt.series; s++) {
		(void)snprintf(text, sizeof(text),
			       "{\"metric\":\"bench_%" PRIu64
			       "\",\"kind\":\"counter\",\"unit\":\"1\","
			       "\"labels\":{\"cpu\":\"%" PRIu64 "\"},\"method\":\"bench/1\"}",
			       s % 4, s / 4);
		record_item_series(w, s, text, strlen(text));
	}
	record_item_phase(w, 2, 1);
}

static void put_be(FILE *f, uint64_t v, size_t bytes)
{
	for (size_t i = bytes; i-- > 0;)
		fputc((int)(v >> (8 * i) & 0xff), f);
}

/* One series of one post as a row: host_id, run_id, series_no, t0_ns, dt_ns, phase, n, vmin, vmax,
 * vsum, v (delta and zigzag). */
static void put_row(FILE *f, const int64_t numbers[7], const struct counter_sample *v)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	double stats[3] = {(double)v[0].delta, (double)v[0].delta, 0};
	int64_t last = 0;

	strbuf_putc(&bytes, 7);
	for (uint64_t n = 0; n < opt.samples; n++) {
		double d = (double)v[n].delta;

		put_zigzag(&bytes, v[n].delta - last);
		last = v[n].delta;
		stats[0] = d < stats[0] ? d : stats[0];
		stats[1] = d > stats[1] ? d : stats[1];
		stats[2] += d;
	}
	put_be(f, 11, 2);
	for (size_t n = 0; n < 7; n++) {
		put_be(f, 8, 4);
		put_be(f, (uint64_t)numbers[n], 8);
	}
	for (size_t n = 0; n < 3; n++) {
		uint64_t bits;

		memcpy(&bits, &stats[n], sizeof(bits));
		put_be(f, 8, 4);
		put_be(f, bits, 8);
	}
	put_be(f, bytes.len, 4);
	(void)fwrite(bytes.data, 1, bytes.len, f);
}

static void make_record(struct record_writer *w, uint64_t i, uint64_t k, FILE *f)
{
	struct counter_sample *v = xcalloc(opt.samples, sizeof(*v));
	int64_t t0 = 1700000000000000000 + (int64_t)(k * opt.samples) * NS_PER_SEC;

	record_begin(w);
	if (k == 0)
		begin_run(w, i);
	for (uint64_t s = 1; s <= opt.series; s++) {
		for (uint64_t n = 0; n < opt.samples; n++)
			v[n] = (struct counter_sample){delta_of(s), NS_PER_SEC, NS_PER_SEC};
		record_item_counter(w, s, t0, NS_PER_SEC, v, opt.samples);
		if (f)
			put_row(f,
				(const int64_t[]){(int64_t)i, (int64_t)opt.round, (int64_t)s, t0,
						  NS_PER_SEC, 2, (int64_t)opt.samples},
				v);
	}
	if (k + 1 == opt.posts)
		put_json(w, ITEM_RUN_END,
			 "{\"run_uid\":\"%016" PRIx64 "%016" PRIx64 "\",\"state\":\"ok\"}",
			 opt.round, i);
	record_finish(w, k + 1, 1, 1, t0);
	free(v);
}

static void make_post(struct post *p, uint64_t i, uint64_t k, const struct strbuf *body)
{
	strbuf_printf(&p->request,
		      "POST /api/v1/ingest HTTP/1.1\r\nHost: bench\r\nContent-Type: "
		      "application/x-rigstat-records\r\nX-Rigstat-Stream: %016" PRIx64 "%016" PRIx64
		      "\r\nX-Rigstat-First: %" PRIu64 "\r\nX-Rigstat-Last: %" PRIu64
		      "\r\nX-Rigstat-CRC32C: %08x\r\nX-Rigstat-Host: bench%" PRIu64
		      "\r\nContent-Length: %zu\r\n\r\n",
		      opt.round, i, k + 1, k + 1, (unsigned int)crc32c(0, body->data, body->len), i,
		      body->len);
	p->body = p->request.len;
	strbuf_add(&p->request, body->data, body->len);
}

static void make_all(struct agent *agents)
{
	FILE *f = opt.copy_file ? fopen(opt.copy_file, "wbe") : NULL;
	struct record_writer w = {0};

	if (opt.copy_file && !f)
		die(opt.copy_file);
	if (f) {
		(void)fwrite("PGCOPY\n\377\r\n\0", 1, 11, f);
		put_be(f, 0, 8);
	}
	for (uint64_t i = 0; i < opt.agents; i++) {
		agents[i].posts = xcalloc(opt.posts, sizeof(struct post));
		for (uint64_t k = 0; k < opt.posts; k++) {
			make_record(&w, i, k, f);
			make_post(&agents[i].posts[k], i, k, &w.buf);
		}
	}
	if (f) {
		put_be(f, 0xffff, 2);
		if (fclose(f) != 0)
			die(opt.copy_file);
	}
	record_writer_done(&w);
}

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)opt.port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		die("connect");
	return fd;
}

/* The answer is complete: true when it was a 200. */
static bool answered(struct agent *a)
{
	const char *end, *length;

	a->answer[a->got] = '\0';
	end = strstr(a->answer, "\r\n\r\n");
	length = strstr(a->answer, "Content-Length: ");
	if (!end || !length ||
	    a->got < (size_t)(end + 4 - a->answer) + strtoul(length + 16, NULL, 10))
		return false;
	if (strncmp(a->answer, "HTTP/1.1 200", 12) != 0) {
		fprintf(stderr, "refused: %s\n", a->answer);
		exit(1);
	}
	return true;
}

/* Sends or receives what is possible; true when a post was answered. */
static bool step(struct agent *a, short events)
{
	const struct strbuf *r = &a->posts[a->next].request;
	ssize_t n;

	if (events & POLLOUT && a->sent < r->len) {
		n = send(a->fd, r->data + a->sent, r->len - a->sent, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			die("send");
		a->sent += n > 0 ? (size_t)n : 0;
	}
	if (!(events & (POLLIN | POLLHUP | POLLERR)))
		return false;
	n = recv(a->fd, a->answer + a->got, sizeof(a->answer) - 1 - a->got, 0);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		die("the server closed the connection");
	a->got += n > 0 ? (size_t)n : 0;
	return answered(a);
}

static int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void run(struct agent *agents, int64_t *latency_ns)
{
	struct pollfd *p = xcalloc(opt.agents, sizeof(*p));
	size_t left = opt.agents, done = 0;

	for (uint64_t i = 0; i < opt.agents; i++) {
		p[i].fd = agents[i].fd;
		agents[i].started_ns = clock_monotonic_ns();
	}
	while (left) {
		for (uint64_t i = 0; i < opt.agents; i++)
			p[i].events =
				agents[i].next < opt.posts &&
						agents[i].sent <
							agents[i].posts[agents[i].next].request.len
					? POLLIN | POLLOUT
					: POLLIN;
		if (poll(p, opt.agents, 30000) <= 0)
			die("poll");
		for (uint64_t i = 0; i < opt.agents; i++) {
			struct agent *a = &agents[i];

			if (!p[i].revents || a->next == opt.posts || !step(a, p[i].revents))
				continue;
			latency_ns[done++] = clock_monotonic_ns() - a->started_ns;
			a->sent = a->got = 0;
			a->started_ns = clock_monotonic_ns();
			left -= ++a->next == opt.posts;
		}
	}
	free(p);
}

static void parse(int argc, char **argv)
{
	static const struct option table[] = {
		{"port", 1, NULL, 'p'},	     {"agents", 1, NULL, 'a'},
		{"posts", 1, NULL, 'k'},     {"series", 1, NULL, 's'},
		{"samples", 1, NULL, 'n'},   {"round", 1, NULL, 'r'},
		{"copy-file", 1, NULL, 'c'}, {0},
	};
	uint64_t *numbers[128] = {['p'] = &opt.port,   ['a'] = &opt.agents,  ['k'] = &opt.posts,
				  ['s'] = &opt.series, ['n'] = &opt.samples, ['r'] = &opt.round};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		if (c == 'c')
			opt.copy_file = optarg;
		else if (c > 0 && c < 128 && numbers[c])
			*numbers[c] = strtoull(optarg, NULL, 10);
		else
			exit(3);
	}
}

int main(int argc, char **argv)
{
	struct agent *agents;
	int64_t *latency_ns, started;
	uint64_t bytes = 0, n;
	char line[10];

	parse(argc, argv);
	seed += opt.round;
	n = opt.agents * opt.posts;
	agents = xcalloc(opt.agents, sizeof(*agents));
	latency_ns = xcalloc(n, sizeof(*latency_ns));
	make_all(agents);
	for (uint64_t i = 0; i < opt.agents; i++)
		agents[i].fd = dial();
	puts("ready");
	(void)fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	started = clock_monotonic_ns();
	run(agents, latency_ns);
	started = clock_monotonic_ns() - started;
	qsort(latency_ns, n, sizeof(*latency_ns), cmp_i64);
	for (uint64_t i = 0; i < opt.agents; i++)
		for (uint64_t k = 0; k < opt.posts; k++)
			bytes += agents[i].posts[k].request.len - agents[i].posts[k].body;
	printf("%.6f %" PRIu64 " %" PRIu64 " %" PRIu64 " %.3f %.3f\n", (double)started / 1e9, n,
	       n * opt.series * opt.samples, bytes, (double)latency_ns[n / 2] / 1e6,
	       (double)latency_ns[n - 1 - n / 100] / 1e6);
	return 0;
}
