/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of POST /api/v1/experiments, checked and turned into what is stored: a design, which
 * everybody may see, and a plan, which the agents carry out. A plan holds names of the box's own
 * tunables and workloads only; a path or a command is refused here, and again by the agent. */
#pragma once

#include <jansson.h>

#include "common/err.h"

#define ASSIGN_HOSTS_MAX 100

struct assign_plan {
	const char *name;		     /* borrowed from the body */
	const char *by;			     /* who asks, "" unsaid; borrowed */
	const char *hosts[ASSIGN_HOSTS_MAX]; /* borrowed */
	size_t n_hosts;
	char *design, *plan; /* JSON */
};

/* *ret_member names the member that is wrong. */
int assign_plan_read(const json_t *body, struct assign_plan *ret, const char **ret_member,
		     struct err *reterr) MUSTCHECK;
void assign_plan_done(struct assign_plan *p);
/* The members that a body may have, ended by NULL. */
extern const char *const assign_plan_members[];
