/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agents that wait for an experiment (api_assignments.c). Loop thread only. */
#pragma once

/* Something may have been queued, by this server or another: every waiting agent looks again. */
void assignments_wake(void);
/* Once a second: answers those whose time is over. */
void assignments_tick(void);
/* The server stops: every waiting agent is answered now, and none waits any more. */
void assignments_stop(void);
