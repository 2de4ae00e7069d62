/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server may ask this box to carry out, turned into arguments of `rigstat-agent run`. Pure.
 *
 * The server chooses among the box's own tunables and workloads: whatever could be read as a path,
 * a sysctl name, a command or another option is refused here, before anything is started. */
#pragma once

#include "agent/planlog.h"

struct assignment {
	int64_t id;  /* 0: nothing to do */
	char **args; /* "--experiment=...", ended by NULL; words_free() */
	struct planlog_plan plan;
	char *known; /* runs that the server has: "1-7,9" */
	bool quiet;
	bool dry; /* only say what it would do; id is that of the question */
};

/* The answer of GET /api/v1/assignments/next. ret->id is set as soon as it is known, so that a
 * refusal can be reported. Free with assignment_done. */
int assignment_parse(const char *json, size_t len, struct assignment *ret,
		     struct err *reterr) MUSTCHECK;
void assignment_done(struct assignment *a);
