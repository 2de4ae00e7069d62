/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `rigstat-agent check`: is this box fit to be measured? Each finding has a level, a sentence and,
 * unless it is OK, what to do about it.
 *
 * FAIL: runs would be worthless or get lost. WARN: it may show in the results; a person may want
 * it so (the box under test is what it is), so nothing is changed here. */
#pragma once

#include "agent/conf.h"
#include "common/findings.h"

struct checks {
	const struct agent_conf *conf;
	const char *root; /* prefix of /proc and /sys for tests, "" in real life */
	struct findings found;
};

/* Adds a finding; `fix` may be NULL. */
void check_add(struct checks *c, enum check_level level, const char *name, const char *fix,
	       const char *fmt, ...) PRINTF(5, 6);
size_t check_count(const struct checks *c, enum check_level level);
void checks_done(struct checks *c);
/* The report for people, or as JSON: {"host","ok","warn","fail","checks":[{...}]}. */
void check_put_text(const struct checks *c, struct strbuf *out);
void check_put_json(const struct checks *c, struct strbuf *out);

/* ---- the groups, each adds its findings ---- */
void check_kernel(struct checks *c);  /* check_kernel.c: what the kernel is set to */
void check_cpu(struct checks *c);     /* check_cpu.c: frequency, idle, SMT, interrupts, steal */
void check_rights(struct checks *c);  /* check_rights.c: what this process may do */
void check_storage(struct checks *c); /* check_storage.c: the spool and its disk */
void check_server(struct checks *c);  /* check_server.c: the way to the server, and rights there */
