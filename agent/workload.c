/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/joblog.h"
#include "common/check.h"
#include "common/clock.h"

#define GROUP_POLL_MS 20

struct workload {
	pid_t pid;
	int pidfd;
	uv_poll_t exit_poll;
	uv_pipe_t output;
	uv_timer_t timer; /* KILL after the grace; or watching the rest of the group */
	size_t open_handles;
	struct joblog log;
	char chunk[16384];
	int64_t started_ns, grace_ns, kill_at_ns;
	struct workload_result result;
	void (*on_exit)(void *user, const struct workload_result *r);
	void (*on_end)(void *user);
	void *user;
};

/* ---- starting ---- */

/* What the child needs, ready before fork(). */
struct child {
	const struct workload_conf *conf;
	int out_fd, error_fd;
	int go[2]; /* closes when the parent is ready */
	pid_t parent;
};

static void wait_for_go(const struct child *c)
{
	char byte;

	close(c->go[1]);
	while (read(c->go[0], &byte, 1) < 0 && errno == EINTR)
		;
	close(c->go[0]);
}

NORETURN static void run_child(const struct child *c)
{
	const struct sched_param normal = {0};
	sigset_t none;
	int error;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	/* an agent that is killed takes its workload along */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != c->parent)
		_exit(126);
	(void)sched_setscheduler(0, SCHED_OTHER, &normal);
	if (c->conf->cpus)
		(void)sched_setaffinity(0, sizeof(*c->conf->cpus), c->conf->cpus);
	for (char *const *e = c->conf->env; e && *e; e++)
		putenv(*e);
	wait_for_go(c);
	if ((!c->conf->directory || chdir(c->conf->directory) == 0) &&
	    dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 0) == 0 && dup2(c->out_fd, 1) == 1 &&
	    dup2(c->out_fd, 2) == 2)
		execvp(c->conf->argv[0], c->conf->argv);
	error = errno;
	if (write(c->error_fd, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* The error pipe closes at exec; what comes out of it is the errno of a failure. */
static int wait_for_exec(struct workload *w, int fd, const char *program, struct err *reterr)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return 0;
	waitpid(w->pid, NULL, 0);
	return err_errno(reterr, n < 0 ? errno : error, "cannot run the workload %s", program);
}

static int fork_child(struct workload *w, const struct workload_conf *conf, int out_fd,
		      struct err *reterr)
{
	struct child c = {.conf = conf, .out_fd = out_fd, .parent = getpid()};
	int error[2], rc;

	if (pipe2(error, O_CLOEXEC) < 0)
		return err_errno(reterr, errno, "cannot start the workload");
	if (pipe2(c.go, O_CLOEXEC) < 0) {
		rc = err_errno(reterr, errno, "cannot start the workload");
		close(error[0]);
		close(error[1]);
		return rc;
	}
	c.error_fd = error[1];
	w->started_ns = clock_monotonic_ns();
	w->pid = fork();
	if (w->pid == 0)
		run_child(&c);
	close(error[1]);
	close(c.go[0]);
	if (w->pid < 0) {
		rc = err_errno(reterr, errno, "cannot start the workload");
		close(c.go[1]);
	} else {
		setpgid(w->pid, w->pid);
		if (conf->before_exec)
			conf->before_exec(w->user, w->pid);
		close(c.go[1]);
		rc = wait_for_exec(w, error[0], conf->argv[0], reterr);
	}
	close(error[0]);
	return rc;
}

/* ---- ending ---- */

static void signal_group(const struct workload *w, int sig)
{
	(void)kill(-w->pid, sig); /* ESRCH: it is gone, which is what we want */
}

/* What the pipe still holds; the loop may not have come to it yet. */
static void drain_output(struct workload *w)
{
	uv_os_fd_t fd;
	ssize_t n;

	uv_read_stop((uv_stream_t *)&w->output);
	if (uv_fileno((uv_handle_t *)&w->output, &fd) < 0)
		return;
	for (size_t max = 0; max < 64 && (n = read(fd, w->chunk, sizeof(w->chunk))) > 0; max++)
		joblog_add(&w->log, w->chunk, (size_t)n);
}

static void on_group_timer(uv_timer_t *timer)
{
	struct workload *w = timer->data;

	if (kill(-w->pid, 0) < 0) {
		uv_timer_stop(timer);
		drain_output(w);
		w->on_end(w->user);
		return;
	}
	if (clock_monotonic_ns() >= w->kill_at_ns)
		signal_group(w, SIGKILL);
}

static void on_kill_timer(uv_timer_t *timer)
{
	signal_group(timer->data, SIGKILL);
}

static int64_t ns_of(struct timeval tv)
{
	return tv.tv_sec * NS_PER_SEC + tv.tv_usec * NS_PER_US;
}

static void fill_result(struct workload *w, int status, const struct rusage *ru)
{
	struct workload_result *r = &w->result;

	r->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->user_ns = ns_of(ru->ru_utime);
	r->sys_ns = ns_of(ru->ru_stime);
	r->max_rss_bytes = ru->ru_maxrss * 1024;
}

/* The program has ended. TERM goes to the rest of the group before the reaping frees its id. */
static void on_pidfd(uv_poll_t *poll, int status UNUSED, int events UNUSED)
{
	struct workload *w = poll->data;
	struct rusage ru;
	int wstatus;

	w->result.elapsed_ns = clock_monotonic_ns() - w->started_ns;
	uv_poll_stop(poll);
	uv_timer_stop(&w->timer);
	signal_group(w, SIGTERM);
	CHECK(wait4(w->pid, &wstatus, 0, &ru) == w->pid);
	fill_result(w, wstatus, &ru);
	w->kill_at_ns = clock_monotonic_ns() + w->grace_ns;
	uv_timer_start(&w->timer, on_group_timer, 0, GROUP_POLL_MS);
	w->on_exit(w->user, &w->result);
}

void workload_stop(struct workload *w, bool now)
{
	w->result.stopped = true;
	if (now)
		w->kill_at_ns = 0;
	signal_group(w, now ? SIGKILL : SIGTERM);
	if (!now && uv_is_active((uv_handle_t *)&w->exit_poll))
		uv_timer_start(&w->timer, on_kill_timer, (uint64_t)(w->grace_ns / NS_PER_MS), 100);
}

void workload_signal(const struct workload *w, int sig)
{
	if (uv_is_active((const uv_handle_t *)&w->exit_poll)) /* else the id may be another's */
		(void)kill(w->pid, sig);
}

/* ---- output ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested UNUSED, uv_buf_t *buf)
{
	struct workload *w = handle->data;

	*buf = uv_buf_init(w->chunk, sizeof(w->chunk));
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct workload *w = stream->data;

	if (n > 0)
		joblog_add(&w->log, buf->base, (size_t)n);
	else if (n < 0)
		uv_read_stop(stream);
}

void workload_tail(const struct workload *w, size_t lines, struct strbuf *out)
{
	joblog_tail(&w->log, lines, out);
}

/* ---- life ---- */

static void watch(struct workload *w, uv_loop_t *loop, int out_fd)
{
	w->pidfd = pidfd_open(w->pid, 0);
	CHECK(w->pidfd >= 0);
	CHECK(uv_poll_init(loop, &w->exit_poll, w->pidfd) == 0);
	CHECK(uv_pipe_init(loop, &w->output, 0) == 0);
	CHECK(uv_timer_init(loop, &w->timer) == 0);
	w->exit_poll.data = w->output.data = w->timer.data = w;
	w->open_handles = 3;
	CHECK(uv_poll_start(&w->exit_poll, UV_READABLE, on_pidfd) == 0);
	CHECK(uv_pipe_open(&w->output, out_fd) == 0);
	CHECK(uv_read_start((uv_stream_t *)&w->output, on_alloc, on_output) == 0);
}

int workload_start(uv_loop_t *loop, const struct workload_conf *conf,
		   void (*on_exit)(void *user, const struct workload_result *r),
		   void (*on_end)(void *user), void *user, struct workload **ret,
		   struct err *reterr)
{
	CLEANUP(freep) struct workload *w = xcalloc(1, sizeof(*w));
	int out[2], rc;

	w->on_exit = on_exit;
	w->on_end = on_end;
	w->user = user;
	w->grace_ns = conf->grace_ns;
	rc = joblog_open(&w->log, conf->log_path, conf->log_bytes_max, reterr);
	if (rc)
		return rc;
	if (pipe2(out, O_CLOEXEC) < 0) {
		joblog_close(&w->log);
		return err_errno(reterr, errno, "cannot start the workload");
	}
	rc = fork_child(w, conf, out[1], reterr);
	close(out[1]);
	if (rc) {
		close(out[0]);
		joblog_close(&w->log);
		return rc;
	}
	watch(w, loop, out[0]);
	*ret = TAKE(w);
	return 0;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct workload *w = handle->data;

	if (--w->open_handles)
		return;
	close(w->pidfd);
	joblog_close(&w->log);
	free(w);
}

void workload_close(struct workload *w)
{
	uv_close((uv_handle_t *)&w->exit_poll, on_handle_closed);
	uv_close((uv_handle_t *)&w->output, on_handle_closed);
	uv_close((uv_handle_t *)&w->timer, on_handle_closed);
}
