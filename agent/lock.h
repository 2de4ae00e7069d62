/* SPDX-License-Identifier: GPL-2.0-or-later */
/* measure.lock: one program measures a box at a time. Two byte ranges of one file, held as open
 * file description locks, so they go away with the process: "experiment" (rigstat-agent run) and
 * "watch" (the daemon's probes are running). An experiment takes the first, then waits until the
 * daemon has let go of the second. The file's text says who holds the experiment. */
#pragma once

#include "common/err.h"

struct measure_lock {
	int fd; /* -1: not open */
};

/* $RIGSTAT_LOCK_DIR, else /run/rigstat when it can be written, else $XDG_RUNTIME_DIR, else /tmp. */
const char *measure_lock_dir(void);
/* Opens (creates) <dir>/measure.lock. */
int measure_lock_open(struct measure_lock *l, const char *dir, struct err *reterr) MUSTCHECK;
void measure_lock_close(struct measure_lock *l); /* gives up what is held */

/* For an experiment. ERR_BUSY names the holder; ERR_TIMEOUT when the daemon did not pause. `what`
 * is one line for people ("run rq, pid 4711"). */
int measure_lock_experiment(struct measure_lock *l, const char *what, int64_t timeout_ns,
			    struct err *reterr) MUSTCHECK;
/* Who holds the experiment, in one line; "" when nobody does. */
void measure_lock_holder(struct measure_lock *l, char *buf, size_t cap);
/* For the daemon: does somebody hold the experiment? */
bool measure_lock_wanted(struct measure_lock *l);
/* False when an experiment has it. */
bool measure_lock_watch(struct measure_lock *l);
void measure_lock_unwatch(struct measure_lock *l);
