/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordinated omission: a source that waits for its slow sample before it starts the next one
 * loses the periods in between, and with them most of the tail. */
#pragma once

#include "common/hist.h"

/* Adds the samples that a source with this period would have taken while it waited: for a value v
 * also v - period, v - 2 periods, ... down to one period (the rule of HdrHistogram's
 * copyCorrectedForCoordinatedOmission). Buckets count by their lower edge. `h` must be HIST_LOG128
 * or HIST_LINEAR; other grids cannot hold the new samples: ERR_UNSUPPORTED, unchanged. More than
 * 100 million added samples in 5 million places, or a grid of more than a million buckets:
 * ERR_LIMIT, unchanged. */
int omission_correct(struct hist *h, int64_t period_ns, struct err *reterr) MUSTCHECK;
