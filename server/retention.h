/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long data are kept, in days; 0 = for ever. Runs that a pinned comparison names always stay.
 */
#pragma once

#include "common/base.h"

struct retention {
	int64_t samples_days; /* single intervals and counter samples */
	int64_t minutes_days; /* histograms by the minute */
	int64_t watch_days;   /* watch runs */
	int64_t runs_days;    /* measured and imported runs with their totals and values */
};
