/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"

enum { RANGE_EXPERIMENT = 0, RANGE_WATCH = 1 };

const char *measure_lock_dir(void)
{
	const char *dir = getenv("RIGSTAT_LOCK_DIR");

	if (dir && *dir)
		return dir;
	if ((!mkdir("/run/rigstat", 0755) || errno == EEXIST) && !access("/run/rigstat", W_OK))
		return "/run/rigstat";
	dir = getenv("XDG_RUNTIME_DIR");
	return dir && *dir ? dir : "/tmp";
}

int measure_lock_open(struct measure_lock *l, const char *dir, struct err *reterr)
{
	char *path CLEANUP(freep) = xasprintf("%s/measure.lock", dir);

	l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (l->fd < 0)
		return err_errno(reterr, errno, "measure.lock: cannot open %s", path);
	return 0;
}

void measure_lock_close(struct measure_lock *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

static bool set_range(int fd, off_t at, short type)
{
	struct flock fl = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return !fcntl(fd, F_OFD_SETLK, &fl);
}

static void read_holder(int fd, char *buf, size_t cap)
{
	ssize_t n = pread(fd, buf, cap - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	if (!*buf)
		snprintf(buf, cap, "another process");
}

static void write_holder(int fd, const char *what)
{
	/* Only a hint for people: a failed write costs the name in a message. */
	if (ftruncate(fd, 0) || pwrite(fd, what, strlen(what), 0) < 0)
		return;
}

int measure_lock_experiment(struct measure_lock *l, const char *what, int64_t timeout_ns,
			    struct err *reterr)
{
	int64_t until = clock_boottime_ns() + timeout_ns;
	char holder[200];

	if (!set_range(l->fd, RANGE_EXPERIMENT, F_WRLCK)) {
		read_holder(l->fd, holder, sizeof(holder));
		return err_set(reterr, ERR_BUSY,
			       "this box is being measured by %s; wait for it or stop it", holder);
	}
	write_holder(l->fd, what);
	while (!set_range(l->fd, RANGE_WATCH, F_WRLCK)) {
		if (clock_boottime_ns() >= until) {
			set_range(l->fd, RANGE_EXPERIMENT, F_UNLCK);
			return err_set(reterr, ERR_TIMEOUT,
				       "the agent daemon did not pause its probes in %.1f s; is it "
				       "hung? (systemctl status rigstat-agent)",
				       (double)timeout_ns / NS_PER_SEC);
		}
		usleep(20000);
	}
	set_range(l->fd, RANGE_WATCH, F_UNLCK);
	return 0;
}

bool measure_lock_wanted(struct measure_lock *l)
{
	struct flock fl = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = RANGE_EXPERIMENT, .l_len = 1};

	return !fcntl(l->fd, F_OFD_GETLK, &fl) && fl.l_type != F_UNLCK;
}

void measure_lock_holder(struct measure_lock *l, char *buf, size_t cap)
{
	*buf = '\0';
	if (measure_lock_wanted(l))
		read_holder(l->fd, buf, cap);
}

bool measure_lock_watch(struct measure_lock *l)
{
	if (!set_range(l->fd, RANGE_WATCH, F_WRLCK))
		return false;
	if (!measure_lock_wanted(l))
		return true;
	set_range(l->fd, RANGE_WATCH, F_UNLCK);
	return false;
}

void measure_lock_unwatch(struct measure_lock *l)
{
	set_range(l->fd, RANGE_WATCH, F_UNLCK);
}
