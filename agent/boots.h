/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An experiment with a factor that only a boot sets: what `rigstat-agent run` does in one boot,
 * until it has asked for the next one. The daemon (resume.h) goes on after it. */
#pragma once

#include "agent/boot_plan.h"
#include "agent/experiment.h"

/* What run.c lends. The functions return 0 or ERR_*; `runs` an exit status. */
struct boots {
	struct experiment_conf *x; /* first, end, unfit and run_done are set here */
	const char *state_dir;
	const char *server; /* NULL: none */
	/* Can the experiment be carried out here? */
	int (*check)(void *user, struct err *reterr);
	/* Carries out the runs that x names. ret->interrupted tells a signal from a failure. */
	int (*runs)(void *user, struct experiment_result *ret, struct err *reterr);
	void *user;
};

/* From where the plan stands. Returns an exit status (EXIT_LATER among them) or ERR_*. The
 * plan's file is gone unless the experiment goes on. */
int boots_carry_out(const struct boots *b, struct boot_plan *plan, struct err *reterr) MUSTCHECK;
