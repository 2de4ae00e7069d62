/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes a CPU in a known way, for tests of what the agent says about it:
 *   hog fifo CPU BURST_US EVERY_US SECONDS    SCHED_FIFO 99 bursts
 *   hog spin CPU SECONDS                      an ordinary task that never sleeps
 *   hog udp CPU SOCKETS SECONDS               one datagram to many sockets: long NET_RX softirqs
 *   hog mmap CPU THREADS SECONDS              threads on all CPUs that map and unmap: mmap_lock
 * Prints one line "burst FROM_NS TO_NS" (CLOCK_MONOTONIC) for each burst of `fifo` and `udp`. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/tools/load.h"

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void burst(int64_t from)
{
	printf("burst %lld %lld\n", (long long)from, (long long)now_ns());
	fflush(stdout);
}

static void fifo(int64_t burst_ns, int64_t every_ns, int64_t end)
{
	struct sched_param p = {.sched_priority = 99};

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		die("sched_setscheduler");
	while (now_ns() < end) {
		int64_t from = now_ns();

		while (now_ns() - from < burst_ns)
			;
		burst(from);
		usleep((useconds_t)((every_ns - burst_ns) / 1000));
	}
}

/* A datagram to 127.255.255.255 is cloned for every socket on the port, in softirq context. */
static void udp(int sockets, int64_t end)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(39017)};
	struct rlimit files = {20000, 20000};
	int out = socket(AF_INET, SOCK_DGRAM, 0), yes = 1;

	(void)setrlimit(RLIMIT_NOFILE, &files);
	to.sin_addr.s_addr = htonl(0x7fffffff);
	for (int i = 0; i < sockets; i++) {
		struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(39017)};
		int in = socket(AF_INET, SOCK_DGRAM, 0), small = 4096;

		if (in < 0)
			die("socket");
		setsockopt(in, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
		setsockopt(in, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		if (bind(in, (struct sockaddr *)&any, sizeof(any)))
			die("bind");
	}
	setsockopt(out, SOL_SOCKET, SO_BROADCAST, &yes, sizeof(yes));
	while (now_ns() < end) {
		int64_t from = now_ns();

		if (sendto(out, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sendto");
		burst(from);
		usleep(5000);
	}
}

static int64_t mmap_end;

static void *mmap_thread(void *arg)
{
	(void)arg;
	while (now_ns() < mmap_end) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);

		if (p == MAP_FAILED)
			die("mmap");
		for (int i = 0; i < 1 << 20; i += 4096)
			p[i] = 1;
		munmap(p, 1 << 20);
	}
	return NULL;
}

/* Threads of one process share one mmap_lock. */
static void map_and_unmap(int threads, int64_t end)
{
	pthread_t t[64];
	cpu_set_t all;

	memset(&all, 255, sizeof(all));
	(void)sched_setaffinity(0, sizeof(all), &all);
	mmap_end = end;
	for (int i = 0; i < threads && i < 64; i++)
		if (pthread_create(&t[i], NULL, mmap_thread, NULL))
			die("pthread_create");
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	int64_t seconds;

	if (argc < 4) {
		fprintf(stderr, "usage: hog fifo|spin|udp CPU ... SECONDS\n");
		return 2;
	}
	pin(atoi(argv[2]));
	seconds = now_ns() + (int64_t)(atof(argv[argc - 1]) * 1e9);
	if (!strcmp(argv[1], "fifo") && argc == 6)
		fifo(atoll(argv[3]) * 1000, atoll(argv[4]) * 1000, seconds);
	else if (!strcmp(argv[1], "udp") && argc == 5)
		udp(atoi(argv[3]), seconds);
	else if (!strcmp(argv[1], "mmap") && argc == 5)
		map_and_unmap(atoi(argv[3]), seconds);
	else
		while (now_ns() < seconds)
			;
	return 0;
}
