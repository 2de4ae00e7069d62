/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tunable.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/parse.h"

#define MESSAGE_MAX 16384
/* Above the longest time limit of a step, three of them in one request. */
#define ANSWER_TIMEOUT_NS (2000 * NS_PER_SEC)
#define SOCKET_DEFAULT	  "/run/rigstat/tune.sock"

struct tunable_client {
	int fd;
	pid_t pid; /* 0: not our child */
};

/* ---- starting ---- */

static char *try_beside(const char *dir, const char *more)
{
	char *path = xasprintf("%s/%s", dir, more);

	if (access(path, X_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* The build tree keeps both programs in one directory; installed, it is in libexec. */
static char *find_helper(const struct tunable_conf *conf, struct err *reterr)
{
	static const char *const places[] = {"rigstat-tune", "../libexec/rigstat/rigstat-tune"};
	const char *env = getenv("RIGSTAT_TUNE");
	char self[PATH_MAX], *path = NULL, *dir;
	ssize_t n;

	if (conf->helper || env)
		return xstrdup(conf->helper ? conf->helper : env);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	dir = dirname(self);
	for (size_t i = 0; !path && i < ARRAY_LEN(places); i++)
		path = try_beside(dir, places[i]);
	if (!path)
		err_set(reterr, ERR_NOT_FOUND,
			"rigstat-tune is neither beside rigstat-agent nor in ../libexec/rigstat; "
			"name it with $RIGSTAT_TUNE");
	return path;
}

NORETURN static void exec_helper(const char *path, const struct tunable_conf *conf, int fd)
{
	char *argv[6];
	size_t n = 0;
	sigset_t none;

	argv[n++] = xstrdup("rigstat-tune");
	if (conf->journal) {
		argv[n++] = xstrdup("--journal");
		argv[n++] = xstrdup(conf->journal);
	}
	if (conf->tunables) {
		argv[n++] = xstrdup("--tunables");
		argv[n++] = xstrdup(conf->tunables);
	}
	argv[n] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(fd, STDIN_FILENO) == STDIN_FILENO)
		execv(path, argv);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", path, strerror(errno));
	_exit(127);
}

static int start_child(struct tunable_client *c, const struct tunable_conf *conf,
		       struct err *reterr)
{
	CLEANUP(freep) char *path = find_helper(conf, reterr);
	int pair[2];

	if (!path)
		return ERR_NOT_FOUND;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(reterr, errno, "cannot make a socket for rigstat-tune");
	c->pid = fork();
	if (c->pid == 0)
		exec_helper(path, conf, pair[1]);
	close(pair[1]);
	c->fd = pair[0];
	return c->pid > 0 ? 0 : err_errno(reterr, errno, "%s: cannot start", path);
}

static int connect_service(struct tunable_client *c, const struct tunable_conf *conf,
			   struct err *reterr)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	const char *path = conf->socket ? conf->socket : SOCKET_DEFAULT;

	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		return err_errno(reterr, errno,
				 "%s: cannot reach rigstat-tune; run as root or start "
				 "rigstat-tune.socket",
				 path);
	return 0;
}

/* ---- talking ---- */

static int wait_readable(int fd, struct err *reterr)
{
	int64_t end = clock_monotonic_ns() + ANSWER_TIMEOUT_NS;
	struct pollfd p = {.fd = fd, .events = POLLIN};

	for (;;) {
		int64_t left = end - clock_monotonic_ns();
		int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / NS_PER_MS) + 1);

		if (n > 0)
			return 0;
		if (n == 0)
			return err_set(reterr, ERR_TIMEOUT, "rigstat-tune does not answer");
		if (errno != EINTR)
			return err_errno(reterr, errno, "cannot wait for rigstat-tune");
	}
}

/* "err\nCODE\nTEXT" to an error. */
static int read_error(const char *text, struct err *reterr)
{
	char *end;
	long code = strtol(text, &end, 10);

	if (end == text || *end != '\n' || code >= 0)
		return err_set(reterr, ERR_REMOTE, "rigstat-tune says: %.400s", text);
	return err_set(reterr, (int)code, "%s", end + 1);
}

static int helper_is_gone(struct err *reterr)
{
	return err_set(reterr, ERR_REMOTE,
		       "rigstat-tune has ended; `rigstat-tune --recover` puts back what it left");
}

/* Receives "HEAD\nREST"; `rest` gets the rest when HEAD is `want`. */
static int take_answer(struct tunable_client *c, const char *want, struct strbuf *rest,
		       struct err *reterr)
{
	CLEANUP(freep) char *text = xcalloc(1, MESSAGE_MAX + 1);
	int rc = wait_readable(c->fd, reterr);
	ssize_t n;
	char *nl;

	if (rc)
		return rc;
	n = recv(c->fd, text, MESSAGE_MAX, 0);
	if (n <= 0)
		return helper_is_gone(reterr);
	nl = strchr(text, '\n');
	if (nl)
		*nl++ = '\0';
	if (!strcmp(text, "err"))
		return read_error(nl ? nl : "", reterr);
	if (strcmp(text, want) != 0)
		return err_set(reterr, ERR_REMOTE, "rigstat-tune says '%.100s'", text);
	strbuf_puts(rest, nl ? nl : "");
	return 0;
}

static int ask(struct tunable_client *c, const char *verb, const char *a, const char *b,
	       struct strbuf *rest, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};

	strbuf_puts(&text, verb);
	if (a)
		strbuf_printf(&text, "\n%s", a);
	if (b)
		strbuf_printf(&text, "\n%s", b);
	if (send(c->fd, text.data, text.len, MSG_NOSIGNAL) != (ssize_t)text.len)
		return helper_is_gone(reterr);
	return take_answer(c, "ok", rest, reterr);
}

static int ask_nothing_back(struct tunable_client *c, const char *verb, const char *a,
			    const char *b, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf rest = {0};

	return ask(c, verb, a, b, &rest, reterr);
}

int tunable_open(const struct tunable_conf *conf, struct tunable_client **ret,
		 struct strbuf *report, struct err *reterr)
{
	struct tunable_client *c = xcalloc(1, sizeof(*c));
	int rc;

	c->fd = -1;
	if (geteuid() == 0)
		rc = start_child(c, conf, reterr);
	else
		rc = connect_service(c, conf, reterr);
	if (!rc)
		rc = take_answer(c, "ready", report, reterr);
	if (rc) {
		tunable_close(c);
		return rc;
	}
	*ret = c;
	return 0;
}

int tunable_bind(struct tunable_client *c, const char *factor, const char *spec, char **ret_target,
		 char **ret_present, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf rest = {0};
	int rc = ask(c, "bind", factor, spec, &rest, reterr);
	char *nl;

	if (rc)
		return rc;
	nl = strchr(rest.data, '\n');
	if (!nl)
		return err_set(reterr, ERR_REMOTE, "rigstat-tune bound '%s' to nothing", factor);
	*nl = '\0';
	*ret_target = xstrdup(rest.data);
	*ret_present = xstrdup(nl + 1);
	return 0;
}

int tunable_check(struct tunable_client *c, const char *factor, const char *value,
		  struct err *reterr)
{
	return ask_nothing_back(c, "check", factor, value, reterr);
}

int tunable_set(struct tunable_client *c, const char *factor, const char *value, struct err *reterr)
{
	return ask_nothing_back(c, "set", factor, value, reterr);
}

int tunable_verify(struct tunable_client *c, const char *factor, struct err *reterr)
{
	return ask_nothing_back(c, "verify", factor, NULL, reterr);
}

int tunable_boot_check(struct tunable_client *c, const char *factor, const char *value,
		       int64_t *ret_timeout_ns, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf rest = {0};
	int rc = ask(c, "boot-check", factor, value, &rest, reterr);

	return rc ? rc : parse_i64(rest.data, ret_timeout_ns, reterr);
}

int tunable_boot(struct tunable_client *c, const char *factor, const char *value,
		 struct err *reterr)
{
	return ask_nothing_back(c, "boot", factor, value, reterr);
}

int tunable_restore(struct tunable_client *c, struct strbuf *report, struct err *reterr)
{
	return ask(c, "restore", NULL, NULL, report, reterr);
}

void tunable_close(struct tunable_client *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	if (c->pid > 0)
		while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(c);
}
