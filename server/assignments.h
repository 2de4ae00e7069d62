/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Agents that wait for an experiment (api_assignments.c). Loop thread only. */
#pragma once

/* Something may have been queued, by this server or another: every waiting agent looks again. */
void assignments_wake(void);
/* Once a second: answers those whose time is over. */
void assignments_tick(void);
