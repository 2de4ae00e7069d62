/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The subcommands of rigstat-agent. argv[0] is the subcommand's name; the result is the exit
 * status: 0 done, 2 wrong usage, else err_exit_status(). Each prints its own errors. */
#pragma once

#include "common/base.h"

/* Exit status of run (EX_TEMPFAIL): nothing failed, and runs are left for a later process: it was
 * paused, or a boot comes first. */
#define EXIT_LATER 75

int cmd_daemon(int argc, char **argv);	    /* continuous watch runs, streamed to the server */
int cmd_run(int argc, char **argv);	    /* the runs of an experiment */
int cmd_tracepoints(int argc, char **argv); /* their numbers, for the service that is not root */
int cmd_enroll(int argc, char **argv);	    /* a code becomes this box's token */
int cmd_rotate(int argc, char **argv);	    /* the token gets a successor */
int cmd_check(int argc, char **argv);	    /* is this box fit to be measured? */
