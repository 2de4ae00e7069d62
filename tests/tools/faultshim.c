/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LD_PRELOADed into an agent: shifts its clocks and fails its fsync, as the file named by
 * $FAULTSHIM says. The file is mapped, so that a test changes it while the agent runs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct faults {
	int64_t realtime_ns;  /* added to CLOCK_REALTIME */
	int64_t boottime_ns;  /* added to CLOCK_BOOTTIME: as after a suspend */
	int64_t fsync_errno;  /* 0: none */
	int64_t fsync_failed; /* how often it was injected */
};

static struct faults none, *faults = &none;

__attribute__((constructor)) static void map_faults(void)
{
	const char *path = getenv("FAULTSHIM");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *at;

	if (fd < 0)
		return;
	at = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		faults = at;
	close(fd);
}

static void shift(struct timespec *ts, int64_t by_ns)
{
	int64_t ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + by_ns;

	ts->tv_sec = ns / 1000000000;
	ts->tv_nsec = ns % 1000000000;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int r;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = real(id, ts);
	if (!r && id == CLOCK_REALTIME)
		shift(ts, faults->realtime_ns);
	if (!r && id == CLOCK_BOOTTIME)
		shift(ts, faults->boottime_ns);
	return r;
}

static int injected(void)
{
	if (!faults->fsync_errno)
		return 0;
	__atomic_add_fetch(&faults->fsync_failed, 1, __ATOMIC_RELAXED);
	errno = (int)faults->fsync_errno;
	return 1;
}

int fsync(int fd)
{
	static int (*real)(int);

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	return injected() ? -1 : real(fd);
}

int syncfs(int fd)
{
	static int (*real)(int);

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
	return injected() ? -1 : real(fd);
}
