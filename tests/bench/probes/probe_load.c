/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work whose speed shows what a probe costs, for tests/bench/probes:
 *   probe_load switch CPU MS       two threads hand a byte to and fro: context switches
 *   probe_load io FILE MS          4 KiB direct writes of one block of a file
 *   probe_load lock CPU MS         two threads map and unmap: one contended lock
 * Prints "P5 P50": nanoseconds an operation in slices of about 1 ms, the quick ones and the
 * middle. On a shared machine the quick slices are those that nobody else disturbed. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/tools/load.h"

#define SLICE_NS   1000000
#define SLICES_MAX 20000

static double slice[SLICES_MAX]; /* ns an operation */
static size_t slices;

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Repeats `once` until the time is over. */
static void measure(void (*once)(void *), void *arg, int64_t ms)
{
	int64_t end = now_ns() + ms * 1000000, from = now_ns(), now;
	unsigned int n = 0;

	do {
		once(arg);
		n++;
		now = now_ns();
		if (now - from < SLICE_NS)
			continue;
		if (slices < SLICES_MAX)
			slice[slices++] = (double)(now - from) / n;
		from = now;
		n = 0;
	} while (now < end);
}

static int pipes[2][2];

static void *echo(void *arg)
{
	char c;

	pin(*(int *)arg);
	while (read(pipes[0][0], &c, 1) == 1)
		if (write(pipes[1][1], &c, 1) != 1)
			break;
	return NULL;
}

static void round_trip(void *arg)
{
	char c = 0;

	(void)arg;
	if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &c, 1) != 1)
		die("pipe");
}

static void switches(int cpu, int64_t ms)
{
	pthread_t t;

	if (pipe(pipes[0]) || pipe(pipes[1]) || pthread_create(&t, NULL, echo, &cpu))
		die("pipe");
	pin(cpu);
	measure(round_trip, NULL, ms);
	close(pipes[0][1]);
	pthread_join(t, NULL);
}

struct file {
	int fd;
	void *block;
};

static void write_block(void *arg)
{
	struct file *f = arg;

	if (pwrite(f->fd, f->block, 4096, 0) != 4096)
		die("pwrite");
}

static void io(const char *path, int64_t ms)
{
	struct file f = {.fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600)};

	if (f.fd < 0 || posix_memalign(&f.block, 4096, 4096))
		die(path);
	memset(f.block, 'x', 4096);
	measure(write_block, &f, ms);
	close(f.fd);
	free(f.block);
}

static bool stop;

static void map_unmap(void *arg)
{
	char *p = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	if (p == MAP_FAILED)
		die("mmap");
	p[0] = 1;
	munmap(p, 1 << 16);
}

static void *mapper(void *arg)
{
	pin(*(int *)arg);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		map_unmap(NULL);
	return NULL;
}

static void lock(int cpu, int64_t ms)
{
	int other = cpu ? 0 : 1;
	pthread_t t;

	if (pthread_create(&t, NULL, mapper, &other))
		die("pthread_create");
	pin(cpu);
	measure(map_unmap, NULL, ms);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	int64_t ms = argc == 4 ? strtoll(argv[3], NULL, 10) : 0;

	if (ms <= 0) {
		fprintf(stderr, "usage: probe_load switch CPU MS | io FILE MS | lock CPU MS\n");
		return 3;
	}
	if (!strcmp(argv[1], "switch"))
		switches(atoi(argv[2]), ms);
	else if (!strcmp(argv[1], "io"))
		io(argv[2], ms);
	else
		lock(atoi(argv[2]), ms);
	if (!slices)
		return 1;
	qsort(slice, slices, sizeof(*slice), by_value);
	printf("%.1f %.1f\n", slice[slices / 20], slice[slices / 2]);
	return 0;
}
