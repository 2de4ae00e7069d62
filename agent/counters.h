/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Software counters by perf_event_open: of the whole box, cpu-wide on every online CPU, or of
 * another scope (pmu_scope.h); deltas with the time enabled and running. What the kernel refuses is
 * declared "absent" with the reason. Where perf is refused altogether, /proc gives context switches
 * and page faults under names of their own ("proc_context_switches"). Names and states:
 * docs/PROTOCOL.md. */
#pragma once

#include "agent/pmu_scope.h"

/* Never fails: a counter that cannot be opened is an absent series. Free with probe->free. */
struct probe *counters_probe(const struct pmu_scope_conf *scope);
