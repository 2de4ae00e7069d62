/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the flight recorder costs: a ping-pong of two processes over pipes on one CPU, beside the
 * agent's own measuring thread there, with the recorder off, on, on, off. A quad of slices lies
 * within half a second, so what else the machine does in it touches both arms. A round trip's time
 * is the CPU time of the two processes, which has no part of what others run in between.
 *
 *   recorder_cost CPU QUADS SLICE_MS
 *
 * Prints a line a quad: "pingpong OFF_NS ON_NS OFF_P50 ON_P50 OFF_P99 ON_P99" (ns a round trip, ns
 * of wake-up latency), and the same as "quiet" with 0 0 for the CPU without the ping-pong. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/blame_recorder.h"
#include "agent/wakeup.h"
#include "common/clock.h"
#include "common/parse.h"
#include "tests/tools/load.h"

#define SETTLE_NS (10 * NS_PER_MS)

struct bench {
	int cpu;
	bool cpus[1024];
	int64_t slice_ns;
	int ping, pong;
	clockid_t echo_clock; /* CPU time of the other side */
	struct wakeup *wakeup;
};

struct arm {
	double ns, trips;
	struct hist latency;
};

/* The other side of the ping-pong, on the same CPU. */
static pid_t start_echo(struct bench *b)
{
	int there[2], back[2];
	pid_t pid;
	char c;

	if (pipe(there) || pipe(back))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(there[1]);
		pin(b->cpu);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	if (clock_getcpuclockid(pid, &b->echo_clock))
		die("clock_getcpuclockid");
	b->ping = there[1];
	b->pong = back[0];
	return pid;
}

static double cpu_ns(const struct bench *b)
{
	const clockid_t clocks[] = {CLOCK_THREAD_CPUTIME_ID, b->echo_clock};
	double sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(clocks); i++) {
		struct timespec ts;

		if (clock_gettime(clocks[i], &ts))
			die("clock_gettime");
		sum += (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
	}
	return sum;
}

/* Round trips, or sleep, until then; returns their number. */
static double work_until(struct bench *b, bool pingpong, int64_t end_ns)
{
	double trips = 0;
	char c = 0;

	while (clock_monotonic_ns() < end_ns) {
		if (!pingpong) {
			usleep(1000);
			continue;
		}
		if (write(b->ping, &c, 1) != 1 || read(b->pong, &c, 1) != 1)
			die("ping-pong");
		trips++;
	}
	return trips;
}

static void take_latency(struct bench *b, struct arm *to)
{
	struct hist h = {0};
	struct err err;
	uint64_t missed;

	hist_from_rec(&h, wakeup_take(b->wakeup, 0, &missed));
	if (to && hist_merge(&to->latency, &h, &err)) {
		fprintf(stderr, "recorder_cost: %s\n", err.text);
		exit(1);
	}
	hist_done(&h);
}

static void slice(struct bench *b, bool pingpong, struct arm *arm)
{
	double from, trips;

	(void)work_until(b, pingpong, clock_monotonic_ns() + SETTLE_NS);
	take_latency(b, NULL);
	from = cpu_ns(b);
	trips = work_until(b, pingpong, clock_monotonic_ns() + b->slice_ns);
	arm->ns += cpu_ns(b) - from;
	arm->trips += trips;
	take_latency(b, arm);
}

static double quantile(const struct arm *a, double q)
{
	struct hist_quantile r = hist_quantile(&a->latency, q);

	return r.hi == INT64_MAX ? (double)r.lo : ((double)r.lo + (double)r.hi) / 2;
}

static double per_trip(const struct arm *a)
{
	return a->trips > 0 ? a->ns / a->trips : 0;
}

static void quad(struct bench *b, bool pingpong)
{
	struct arm off = {0}, on = {0};
	struct blame_recorder *r;
	struct err err;

	slice(b, pingpong, &off);
	if (blame_recorder_open(b->cpus, ARRAY_LEN(b->cpus), &r, &err)) {
		fprintf(stderr, "recorder_cost: no flight recorder here: %s\n", err.text);
		exit(2);
	}
	slice(b, pingpong, &on);
	slice(b, pingpong, &on);
	blame_recorder_close(r);
	slice(b, pingpong, &off);
	printf("%s %.1f %.1f %.0f %.0f %.0f %.0f\n", pingpong ? "pingpong" : "quiet",
	       per_trip(&off), per_trip(&on), quantile(&off, 0.5), quantile(&on, 0.5),
	       quantile(&off, 0.99), quantile(&on, 0.99));
	fflush(stdout);
	hist_done(&off.latency);
	hist_done(&on.latency);
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	const struct wakeup_conf conf = {.cpus = b.cpus,
					 .cpus_len = ARRAY_LEN(b.cpus),
					 .period_ns = NS_PER_MS,
					 .policy = SCHED_FIFO,
					 .priority = 80,
					 .use_dma_latency = true};
	int64_t cpu, quads, ms;
	struct err err;
	pid_t echo;

	if (argc != 4 || parse_i64(argv[1], &cpu, &err) || parse_i64(argv[2], &quads, &err) ||
	    parse_i64(argv[3], &ms, &err) || cpu < 0 || cpu >= (int64_t)ARRAY_LEN(b.cpus)) {
		fprintf(stderr, "usage: recorder_cost CPU QUADS SLICE_MS\n");
		return 3;
	}
	b.cpu = (int)cpu;
	b.cpus[b.cpu] = true;
	b.slice_ns = ms * NS_PER_MS;
	echo = start_echo(&b);
	if (wakeup_start(&conf, &b.wakeup, &err)) {
		fprintf(stderr, "recorder_cost: %s\n", err.text);
		return 1;
	}
	pin(b.cpu);
	for (int64_t i = 0; i < quads; i++) {
		quad(&b, true);
		quad(&b, false);
	}
	wakeup_stop(b.wakeup);
	close(b.ping);
	(void)waitpid(echo, NULL, 0);
	return 0;
}
