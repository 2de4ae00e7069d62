/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small pieces of the JSON document that several files write. */
#pragma once

#include "common/compare/internal.h"
#include "common/compare/pack.h"

/* `extra.id` of the run when the caller gave one ("r_17"), else its uid, else null. */
json_t *json_run_id(const struct run *r);
json_t *json_time(int64_t realtime_ns); /* RFC 3339, null for 0 */
json_t *json_side(const struct cmp *c, int side);
json_t *json_interval(double lo, double hi); /* null when an end is not known */
