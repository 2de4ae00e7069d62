/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dates that tools write, without the locale. */
#pragma once

#include "common/import/scan.h"

/* "Mon, 30 Nov 2026 17:42:50 +0000" (RFC 2822) to ns since the epoch; false when it is none. */
bool date_rfc2822(struct span s, int64_t *ret_ns);
/* "Mon Nov 30 17:42:50 2026", taken as UTC. */
bool date_ctime(struct span s, int64_t *ret_ns);
