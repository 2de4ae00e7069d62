/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the whole box, cpu-wide on every online CPU, by perf_event_open; deltas with the
 * time enabled and running. What the kernel refuses is declared "absent" with the reason. Where
 * perf is refused altogether, /proc gives context switches and page faults under names of
 * their own ("proc_context_switches"). Names and states: docs/PROTOCOL.md. */
#pragma once

#include "agent/probe.h"

/* Never fails: a counter that cannot be opened is an absent series. Free with probe->free. */
struct probe *counters_probe(void);
