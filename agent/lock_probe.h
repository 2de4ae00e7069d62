/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lock probe: contended kernel locks (tracepoints lock:contention_begin/end, Linux 5.19).
 *   lock_wait                      how long waiters waited, a histogram in ns
 *   lock_wait_rate{caller}         time waited, ns a second, by the function that wanted the lock
 *   lock_contentions{caller}       waits a second
 * Only waiting is seen: a lock that nobody contends costs nothing and counts nothing. */
#pragma once

#include "agent/probe.h"

/* Never fails: without rights, BTF or the tracepoints the series are absent with the reason. */
struct probe *lock_probe(void);
