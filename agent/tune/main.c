/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-tune: changes settings of the box for the agent and puts them back, whatever happens to
 * the agent. Privileged, so it is small, links libc only, and takes orders from standard input
 * alone: a SOCK_SEQPACKET socket that the agent made or that systemd accepted. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/tune/serve.h"
#include "agent/tune/sysfile.h"
#include "common/log.h"

#define LOCK_WAIT_NS (15 * NS_PER_SEC)

static const char usage[] =
	"Usage: rigstat-tune [--journal FILE] [--tunables DIR] [--recover]\n"
	"\n"
	"Applies, verifies and restores settings for rigstat-agent, which starts it.\n"
	"\n"
	"  --recover        put back what an earlier experiment of this boot left, and exit\n"
	"  --journal FILE   where old values are kept (" JOURNAL_PATH ")\n"
	"  --tunables DIR   the box's own settings (" TUNABLES_DIR ")\n"
	"  --version\n";

struct options {
	const char *journal, *tunables;
	bool recover;
};

/* 0 go on, 1 done, 2 wrong usage. */
static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {{"recover", no_argument, NULL, 'r'},
					      {"journal", required_argument, NULL, 'j'},
					      {"tunables", required_argument, NULL, 't'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (c == 'r') {
			o->recover = true;
		} else if (c == 'j') {
			o->journal = optarg;
		} else if (c == 't') {
			o->tunables = optarg;
		} else if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage : "rigstat-tune " RIGSTAT_VERSION "\n", stdout);
			return 1;
		} else {
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc)
		return 0;
	fprintf(stderr, "rigstat-tune: '%s' is too much\n%s", argv[optind], usage);
	return 2;
}

/* Only root may name a path: learn who is at the other end. */
static int ask_peer(struct tuner *t, int fd, struct err *reterr)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_errno(reterr, errno,
				 "standard input is not the agent's socket; rigstat-agent starts "
				 "this program");
	t->may_name_paths = peer.uid == 0;
	return 0;
}

static int open_journal(struct tuner *t, const struct options *o, struct err *reterr)
{
	char boot_id[64];
	int rc = journal_boot_id(boot_id, reterr);

	return rc ? rc : journal_open(&t->journal, o->journal, boot_id, LOCK_WAIT_NS, reterr);
}

/* A fault in the box's files must not keep old values from being put back: recover what can be
 * recovered, then fail with the fault. */
static int start(struct tuner *t, const struct options *o, struct strbuf *report,
		 struct err *reterr)
{
	int rc = open_journal(t, o, reterr), loaded;
	struct err err;

	if (rc)
		return rc;
	loaded = tunables_load(&t->tunables, o->tunables, reterr);
	rc = tuner_recover(t, report, &err);
	if (rc && o->recover && !loaded)
		return err_set(reterr, err.code, "%s", err.text);
	if (rc)
		log_error("%s", err.text);
	return loaded;
}

/* Tells a starting agent why there will be no greeting. */
static void tell_agent(const struct err *err)
{
	CLEANUP(freep) char *text = xasprintf("err\n%d\n%s", err->code, err->text);

	(void)send(STDIN_FILENO, text, strlen(text), MSG_NOSIGNAL);
}

int main(int argc, char **argv)
{
	struct options o = {.journal = JOURNAL_PATH, .tunables = TUNABLES_DIR};
	struct tuner t = {0};
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct err err = {0};
	int rc = parse_options(argc, argv, &o);

	if (rc)
		return rc == 2 ? 2 : 0;
	log_init("rigstat-tune", LOG_INFO);
	umask(022);
	(void)setsid(); /* away from the terminal's Ctrl-C; it fails when we lead a session already
			 */
	t.roots = sysfile_roots;
	t.journal.fd = -1;
	if (!o.recover)
		rc = ask_peer(&t, STDIN_FILENO, &err);
	if (!rc)
		rc = start(&t, &o, &report, &err);
	if (o.recover)
		fputs(report.len ? report.data : "", stdout);
	else if (rc)
		tell_agent(&err);
	else
		rc = serve(&t, STDIN_FILENO, &report, &err);
	if (rc)
		log_error("%s", err.text);
	tuner_done(&t);
	return err_exit_status(rc);
}
