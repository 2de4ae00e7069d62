/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against a real datagram socket, as systemd's is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base.h"
#include "common/notify.h"

static int listen_at(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(name);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0 && len < sizeof(at.sun_path));
	memcpy(at.sun_path, name, len);
	if (*name == '@')
		at.sun_path[0] = '\0';
	assert_int_equal(0, bind(fd, (struct sockaddr *)&at,
				 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)));
	return fd;
}

static void assert_got(int fd, const char *want)
{
	char got[200];
	ssize_t n = recv(fd, got, sizeof(got) - 1, 0);

	assert_true(n >= 0);
	got[n] = '\0';
	assert_string_equal(want, got);
}

static void assert_nothing(int fd)
{
	char got[200];

	assert_int_equal(-1, recv(fd, got, sizeof(got), 0));
}

static void init_with(const char *path, const char *usec, const char *pid)
{
	if (path)
		setenv("NOTIFY_SOCKET", path, 1);
	if (usec)
		setenv("WATCHDOG_USEC", usec, 1);
	if (pid)
		setenv("WATCHDOG_PID", pid, 1);
	notify_init();
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
}

static void test_path(void **state)
{
	char dir[] = "/tmp/rigstat-notify-XXXXXX", path[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/notify", dir);
	fd = listen_at(path);
	init_with(path, NULL, NULL);
	notify_service("READY=1\nSTATUS=listening");
	notify_service("WATCHDOG=1");
	assert_got(fd, "READY=1\nSTATUS=listening");
	assert_got(fd, "WATCHDOG=1");
	assert_nothing(fd);
	close(fd);
	notify_service("STOPPING=1"); /* nobody reads any more: no error, no signal */
	unlink(path);
	rmdir(dir);
}

static void test_abstract(void **state)
{
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "@rigstat-notify-%ld", (long)getpid());
	fd = listen_at(name);
	init_with(name, NULL, NULL);
	notify_service("READY=1");
	assert_got(fd, "READY=1");
	init_with(NULL, NULL, NULL); /* the socket is forgotten when nobody names one */
	notify_service("READY=1");
	assert_nothing(fd);
	close(fd);
}

static void test_full_socket_does_not_block(void **state)
{
	char name[64];
	int fd;

	(void)state;
	snprintf(name, sizeof(name), "@rigstat-full-%ld", (long)getpid());
	fd = listen_at(name);
	init_with(name, NULL, NULL);
	for (int i = 0; i < 5000; i++) /* more than net.unix.max_dgram_qlen of any box */
		notify_service("WATCHDOG=1");
	assert_got(fd, "WATCHDOG=1");
	close(fd);
}

static void test_watchdog(void **state)
{
	char me[24], other[24];

	(void)state;
	snprintf(me, sizeof(me), "%ld", (long)getpid());
	snprintf(other, sizeof(other), "%ld", (long)getppid());
	init_with("@x", "30000000", NULL);
	assert_int_equal(15 * NS_PER_SEC, notify_watchdog_ns());
	init_with("@x", "30000000", me);
	assert_int_equal(15 * NS_PER_SEC, notify_watchdog_ns());
	init_with("@x", "30000000", other);
	assert_int_equal(0, notify_watchdog_ns());
	init_with(NULL, "30000000", NULL); /* nobody to tell */
	assert_int_equal(0, notify_watchdog_ns());
	init_with("@x", "soon", NULL);
	assert_int_equal(0, notify_watchdog_ns());
	init_with("@x", "99999999999999999999", NULL);
	assert_int_equal(0, notify_watchdog_ns());
	init_with("@x", NULL, NULL);
	assert_int_equal(0, notify_watchdog_ns());
}

static void test_bad_address(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	init_with(name, "1000000", NULL);
	assert_int_equal(0, notify_watchdog_ns());
	init_with("relative", "1000000", NULL);
	assert_int_equal(0, notify_watchdog_ns());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_abstract),
		cmocka_unit_test(test_full_socket_does_not_block),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test(test_bad_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
