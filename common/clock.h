/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in ns. Tests may set the clocks. */
#pragma once

#include "common/base.h"

int64_t clock_monotonic_ns(void);
int64_t clock_boottime_ns(void);
int64_t clock_realtime_ns(void);
/* Offsets added to the three clocks, for tests of stepped clocks. */
void clock_test_shift(int64_t monotonic_ns, int64_t realtime_ns);

/* "2026-11-30T19:45:07.123456789Z"; buf needs 40 bytes. Returns buf. */
const char *clock_rfc3339(int64_t realtime_ns, char *buf, size_t cap);
/* Reads RFC 3339 with Z or an offset; a bare date is midnight UTC. Returns false when it is not, or
 * when its year is not in 1678..2261 (int64 ns). */
bool clock_parse_rfc3339(const char *s, int64_t *ret_realtime_ns) MUSTCHECK;
