/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work of rigstat-tune without its pipe: factors are bound to a target (a kernel file or a
 * named tunable of the box), set, verified, and put back.
 *
 * Putting back touches a target only while its present value is one that we wrote; a value that
 * somebody else set since is left alone and reported. */
#pragma once

#include "agent/tune/journal.h"
#include "agent/tune/tunables.h"
#include "common/strbuf.h"

struct binding {
	char *factor;
	enum target_kind kind;
	char *target;		 /* resolved path, or the tunable's name */
	const struct tunable *t; /* NULL: a path named directly */
	char *last;		 /* normal form of what we set last; NULL: nothing yet */
};

struct tuner {
	struct tunables tunables;
	struct journal journal;
	const char *const *roots; /* sysfile_roots, except in tests */
	bool may_name_paths;	  /* the asker is root */
	struct binding *v;
	size_t len, cap;
};

/* The journal must be open and t->tunables loaded. Puts back what an earlier process left, in the
 * same boot; reports (one line each) and forgets what an earlier boot left. `report` stays empty
 * when there was nothing. Fails when something could not be put back; the rest is still done. */
int tuner_recover(struct tuner *t, struct strbuf *report, struct err *reterr) MUSTCHECK;

/* `spec` is a path, a sysctl name (it has a dot) or the name of a tunable. ret_present gets the
 * present value in normal form (TUNE_VALUE_MAX bytes). */
int tuner_bind(struct tuner *t, const char *factor, const char *spec, char *ret_present,
	       struct err *reterr) MUSTCHECK;
/* Could this be set? Nothing is changed. */
int tuner_check(struct tuner *t, const char *factor, const char *value,
		struct err *reterr) MUSTCHECK;
/* Journals, writes, reads back; ERR_CONFLICT when somebody else changed it in between. */
int tuner_set(struct tuner *t, const char *factor, const char *value, struct err *reterr) MUSTCHECK;
/* Could this be booted? Also how long it may take, from the reboot until the agent is back.
 * ERR_INVALID when the factor is not one that a boot sets. */
int tuner_boot_check(struct tuner *t, const char *factor, const char *value,
		     int64_t *ret_timeout_ns, struct err *reterr) MUSTCHECK;
/* Chooses the next boot and asks for it. The box goes down soon after; what runs ends in order. */
int tuner_boot(struct tuner *t, const char *factor, const char *value,
	       struct err *reterr) MUSTCHECK;
/* Does the target still hold what was set last? ERR_CONFLICT when not. */
int tuner_verify(struct tuner *t, const char *factor, struct err *reterr) MUSTCHECK;
/* Puts everything back, in the reverse order of first setting. `report` gets a line for each
 * target that was left alone or failed. */
int tuner_restore(struct tuner *t, struct strbuf *report, struct err *reterr) MUSTCHECK;
/* The resolved target of a factor; NULL when it is not bound. */
const char *tuner_target(const struct tuner *t, const char *factor);
/* Does not restore. */
void tuner_done(struct tuner *t);
