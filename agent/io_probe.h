/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The io probe: latency of block requests, per device and operation, in ns.
 *   io_latency{device, operation}        from issue to completion
 *   io_total_latency{device, operation}  from insertion into the queue to completion
 * Devices are those with a size when the run begins, at most 16; operations read and write. */
#pragma once

#include "agent/probe.h"

/* Never fails: without rights or BTF both are absent series with the reason. */
struct probe *io_probe(void);
