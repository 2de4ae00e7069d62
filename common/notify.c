/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/notify.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/parse.h"

static struct sockaddr_un manager;
static socklen_t manager_len; /* 0: nobody listens */
static int64_t watchdog_ns;

static void read_address(const char *path)
{
	size_t len = path ? strlen(path) : 0;

	manager_len = 0;
	if (!len || len >= sizeof(manager.sun_path) || (*path != '/' && *path != '@'))
		return;
	manager.sun_family = AF_UNIX;
	memcpy(manager.sun_path, path, len);
	if (*path == '@')
		manager.sun_path[0] = '\0'; /* an abstract name */
	manager_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
}

static void read_watchdog(const char *usec, const char *pid)
{
	int64_t us, whose;
	struct err e;

	watchdog_ns = 0;
	if (!usec || parse_i64(usec, &us, &e) || us <= 0 || us > INT64_MAX / NS_PER_US)
		return;
	if (pid && (parse_i64(pid, &whose, &e) || whose != getpid()))
		return; /* meant for the process that started us */
	watchdog_ns = us * NS_PER_US / 2;
}

void notify_init(void)
{
	read_address(getenv("NOTIFY_SOCKET"));
	read_watchdog(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
}

void notify_service(const char *state)
{
	int fd;

	if (!manager_len)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
		      (struct sockaddr *)&manager, manager_len);
	close(fd);
}

int64_t notify_watchdog_ns(void)
{
	return manager_len ? watchdog_ns : 0;
}
