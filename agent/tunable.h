/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's end of rigstat-tune (agent/tune/serve.h has the conversation). Calls block until the
 * answer, at most as long as the tunables' own time limits: they are made between runs only.
 *
 * As root the helper is started as a child; otherwise the socket that systemd listens on is used
 * and only the box's named tunables can be set. When this process goes away, in whatever way, the
 * helper sees the socket close and puts everything back. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

struct tunable_conf {
	const char *helper;   /* program; NULL: $RIGSTAT_TUNE, beside us, or the installed one */
	const char *journal;  /* NULL: the helper's default */
	const char *tunables; /* directory; NULL: the helper's default */
	const char *socket;   /* for others than root; NULL: /run/rigstat/tune.sock */
};

struct tunable_client;
/* `report` gets what the helper put back from an earlier experiment, one line each. */
int tunable_open(const struct tunable_conf *conf, struct tunable_client **ret,
		 struct strbuf *report, struct err *reterr) MUSTCHECK;
/* The results are malloc'd: the file or tunable that is set, and its present value. */
int tunable_bind(struct tunable_client *c, const char *factor, const char *spec, char **ret_target,
		 char **ret_present, struct err *reterr) MUSTCHECK;
int tunable_check(struct tunable_client *c, const char *factor, const char *value,
		  struct err *reterr) MUSTCHECK;
int tunable_set(struct tunable_client *c, const char *factor, const char *value,
		struct err *reterr) MUSTCHECK;
/* ERR_CONFLICT: somebody else changed it since. */
int tunable_verify(struct tunable_client *c, const char *factor, struct err *reterr) MUSTCHECK;
/* ERR_INVALID: the factor's tunable is not set by a boot. */
int tunable_boot_check(struct tunable_client *c, const char *factor, const char *value,
		       int64_t *ret_timeout_ns, struct err *reterr) MUSTCHECK;
/* Chooses the next boot and asks for it. */
int tunable_boot(struct tunable_client *c, const char *factor, const char *value,
		 struct err *reterr) MUSTCHECK;
/* Puts everything back; `report` names what was left alone. */
int tunable_restore(struct tunable_client *c, struct strbuf *report, struct err *reterr) MUSTCHECK;
/* Closes the socket (which puts back what still has to be) and waits for a child. NULL is fine. */
void tunable_close(struct tunable_client *c);
