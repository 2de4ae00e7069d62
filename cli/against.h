/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gate --against baseline:BRANCH: the runs of a branch since its last change, from the series of
 * regression tracking. */
#pragma once

#include "cli/request.h"

struct against {
	char *selector;	   /* of the baseline's runs; owned */
	bool exchangeable; /* its history shows no dependence on time */
	char *remark;	   /* what was chosen and why, for stderr; owned */
	bool too_short;	   /* there is no baseline to speak of */
};
void against_done(struct against *a);

/* rq->against says which branch, side B of rq which runs are new. */
int against_find(const struct request *rq, const char *server, struct against *ret,
		 struct err *reterr) MUSTCHECK;
