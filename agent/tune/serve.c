/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/tune/value.h"
#include "common/log.h"

#define ARGS_MAX 3

struct message {
	char *arg[ARGS_MAX];
	size_t len;
};

/* The agent may be gone already; then there is nobody to tell, and putting back goes on. */
static void reply(int fd, const char *head, const char *rest)
{
	CLEANUP(freep) char *text = xasprintf("%s\n%s", head, rest ? rest : "");
	size_t len = strlen(text);

	if (len > SERVE_MESSAGE_MAX)
		len = SERVE_MESSAGE_MAX;
	if (send(fd, text, len, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		log_warn("cannot answer the agent: %s", strerror(errno));
}

static void reply_err(int fd, const struct err *err)
{
	CLEANUP(freep) char *text = xasprintf("%d\n%s", err->code, err->text);

	reply(fd, "err", text);
}

static void split(char *text, struct message *m)
{
	m->len = 0;
	for (char *s = text; s && m->len < ARGS_MAX;) {
		m->arg[m->len++] = s;
		s = strchr(s, '\n');
		if (s)
			*s++ = '\0';
	}
}

static int do_bind(struct tuner *t, const struct message *m, struct strbuf *out, struct err *reterr)
{
	char present[TUNE_VALUE_MAX];
	int rc = tuner_bind(t, m->arg[1], m->arg[2], present, reterr);

	if (!rc)
		strbuf_printf(out, "%s\n%s", tuner_target(t, m->arg[1]), present);
	return rc;
}

static int do_check(struct tuner *t, const struct message *m, struct strbuf *out UNUSED,
		    struct err *reterr)
{
	return tuner_check(t, m->arg[1], m->arg[2], reterr);
}

static int do_set(struct tuner *t, const struct message *m, struct strbuf *out UNUSED,
		  struct err *reterr)
{
	return tuner_set(t, m->arg[1], m->arg[2], reterr);
}

static int do_boot_check(struct tuner *t, const struct message *m, struct strbuf *out,
			 struct err *reterr)
{
	int64_t ns;
	int rc = tuner_boot_check(t, m->arg[1], m->arg[2], &ns, reterr);

	if (!rc)
		strbuf_printf(out, "%lld", (long long)ns);
	return rc;
}

static int do_boot(struct tuner *t, const struct message *m, struct strbuf *out UNUSED,
		   struct err *reterr)
{
	return tuner_boot(t, m->arg[1], m->arg[2], reterr);
}

static int do_verify(struct tuner *t, const struct message *m, struct strbuf *out UNUSED,
		     struct err *reterr)
{
	return tuner_verify(t, m->arg[1], reterr);
}

static int do_restore(struct tuner *t, const struct message *m UNUSED, struct strbuf *out,
		      struct err *reterr)
{
	return tuner_restore(t, out, reterr);
}

static const struct {
	const char *name;
	size_t args; /* with the name */
	int (*run)(struct tuner *t, const struct message *m, struct strbuf *out,
		   struct err *reterr);
} verbs[] = {
	{"bind", 3, do_bind},
	{"check", 3, do_check},
	{"set", 3, do_set},
	{"verify", 2, do_verify},
	{"restore", 1, do_restore},
	{"boot", 3, do_boot},
	{"boot-check", 3, do_boot_check},
};

static void answer(struct tuner *t, int fd, char *text)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	struct message m;
	struct err err;
	int rc;

	split(text, &m);
	rc = err_set(&err, ERR_INVALID, "'%.40s' is no request", m.arg[0]);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (!strcmp(verbs[i].name, m.arg[0]) && verbs[i].args == m.len)
			rc = verbs[i].run(t, &m, &out, &err);
	if (rc)
		reply_err(fd, &err);
	else
		reply(fd, "ok", out.data);
}

/* One message: 1 = answered, 0 = the agent is gone. */
static int take_message(struct tuner *t, int fd, struct err *reterr)
{
	static char text[SERVE_MESSAGE_MAX + 1];
	ssize_t n;

	do
		n = recv(fd, text, SERVE_MESSAGE_MAX, 0);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return 0;
	if (n < 0)
		return err_errno(reterr, errno, "cannot read from the agent");
	text[n] = '\0';
	answer(t, fd, text);
	return 1;
}

/* SIGTERM becomes readable; the terminal's signals are the agent's business. */
static int open_signals(struct err *reterr)
{
	sigset_t term;
	int fd;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGTSTP, SIG_IGN);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	fd = signalfd(-1, &term, SFD_CLOEXEC);
	return fd >= 0 ? fd : err_errno(reterr, errno, "cannot wait for signals");
}

static int converse(struct tuner *t, int fd, int sigfd, struct err *reterr)
{
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = sigfd, .events = POLLIN}};
	int rc = 1;

	while (rc == 1) {
		if (poll(p, ARRAY_LEN(p), -1) < 0) {
			if (errno != EINTR)
				return err_errno(reterr, errno, "cannot wait for the agent");
			continue;
		}
		if (p[1].revents)
			return 0;
		if (p[0].revents)
			rc = take_message(t, fd, reterr);
	}
	return rc;
}

int serve(struct tuner *t, int fd, const struct strbuf *greeting, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct err put_back;
	int rc, sigfd = open_signals(reterr);

	if (sigfd < 0)
		return sigfd;
	reply(fd, "ready", greeting->data);
	rc = converse(t, fd, sigfd, reterr);
	close(sigfd);
	if (tuner_restore(t, &report, &put_back)) {
		log_error("%s", put_back.text);
		rc = rc ? rc : err_set(reterr, put_back.code, "%s", put_back.text);
	}
	return rc;
}
