/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ini.h"

#define OUTPUT_MAX 65536

static char *replace_all(const char *text, const char *what, const char *with)
{
	struct strbuf b = {0};
	const char *hit;

	while ((hit = strstr(text, what))) {
		strbuf_add(&b, text, (size_t)(hit - text));
		strbuf_puts(&b, with);
		text = hit + strlen(what);
	}
	strbuf_puts(&b, text);
	return strbuf_take(&b);
}

static char **fill_argv(char *const *argv, const char *what, const char *with)
{
	size_t n = 0;
	char **v;

	while (argv[n])
		n++;
	v = xcalloc(n + 1, sizeof(*v));
	for (size_t i = 0; i < n; i++)
		v[i] = replace_all(argv[i], what, with);
	return v;
}

NORETURN static void exec_step(char *const *argv, int out_fd, int err_fd)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", lang[] = "LC_ALL=C";
	char *const env[] = {path, lang, NULL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	if (dup2(open("/dev/null", O_RDONLY), 0) == 0 && dup2(out_fd, 1) == 1 &&
	    dup2(err_fd, 2) == 2)
		execve(argv[0], argv, env);
	dprintf(err_fd, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void read_back(int fd, struct strbuf *b)
{
	char chunk[4096];
	ssize_t n;

	while (b->len < OUTPUT_MAX && (n = pread(fd, chunk, sizeof(chunk), (off_t)b->len)) > 0)
		strbuf_add(b, chunk, (size_t)n);
}

/* The last line that is not empty, for an error text. */
static const char *last_line(struct strbuf *b)
{
	const char *s;

	while (b->len && strchr(" \t\r\n", b->data[b->len - 1]))
		b->data[--b->len] = '\0';
	if (!b->len)
		return "it wrote nothing to stderr";
	s = strrchr(b->data, '\n');
	return s ? s + 1 : b->data;
}

/* Waits for the child; false when the time is over. */
static bool wait_end(pid_t pid, int64_t timeout_ns)
{
	int64_t end = clock_monotonic_ns() + timeout_ns;
	struct pollfd p = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	bool ended = false;

	while (!ended) {
		int64_t left = end - clock_monotonic_ns();
		int n = left <= 0 ? 0 : poll(&p, 1, (int)(left / NS_PER_MS) + 1);

		if (n == 0)
			break;
		ended = n > 0;
	}
	close(p.fd);
	return ended;
}

static int judge(const char *program, int status, int err_fd, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	read_back(err_fd, &b);
	if (WIFSIGNALED(status))
		return err_set(reterr, ERR_IO, "%s was killed by signal %d: %.300s", program,
			       WTERMSIG(status), last_line(&b));
	return err_set(reterr, ERR_IO, "%s failed with exit status %d: %.300s", program,
		       WEXITSTATUS(status), last_line(&b));
}

static int run_child(char *const *argv, int64_t timeout_ns, int out_fd, int err_fd,
		     struct err *reterr)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return err_errno(reterr, errno, "%s: cannot fork", argv[0]);
	if (pid == 0)
		exec_step(argv, out_fd, err_fd);
	setpgid(pid, pid);
	if (!wait_end(pid, timeout_ns)) {
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		return err_set(reterr, ERR_TIMEOUT, "%s: took longer than %.1f s and was killed",
			       argv[0], (double)timeout_ns / 1e9);
	}
	if (waitpid(pid, &status, 0) < 0)
		return err_errno(reterr, errno, "%s: cannot wait", argv[0]);
	return judge(argv[0], status, err_fd, reterr);
}

int step_run(char *const *argv, const char *what, const char *with, int64_t timeout_ns,
	     struct strbuf *out, struct err *reterr)
{
	CLEANUP(words_freep) char **filled = fill_argv(argv, what, with);
	int out_fd = memfd_create("step-stdout", MFD_CLOEXEC);
	int err_fd = memfd_create("step-stderr", MFD_CLOEXEC);
	int rc;

	if (out_fd < 0 || err_fd < 0)
		rc = err_errno(reterr, errno, "%s: cannot keep its output", filled[0]);
	else
		rc = run_child(filled, timeout_ns, out_fd, err_fd, reterr);
	if (!rc && out)
		read_back(out_fd, out);
	if (out_fd >= 0)
		close(out_fd);
	if (err_fd >= 0)
		close(err_fd);
	return rc;
}
