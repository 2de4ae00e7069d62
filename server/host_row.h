/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row of sql/queries/hosts_list.sql as JSON: what people and programs see of a host. */
#pragma once

#include "server/db.h"

enum host_column {
	H_ID,
	H_NAME,
	H_STATE,
	H_SEEN,
	H_AGE,
	H_VERSION,
	H_KERNEL,
	H_CPU,
	H_CPUS,
	H_ENV,
	H_LOST,
	H_RUNS,
	H_LAST_RUN,
	H_TAGS,
	H_NOTE,
	H_LOCATION,
	H_COUNTS,
	H_REPORT,
	H_REPORTED,
	H_REPORT_AGE,
	H_OFFSET,
	H_RESERVED_BY,
	H_RESERVED_REASON,
	H_RESERVED_AT,
	H_RESERVED_UNTIL,
	H_RETIRED,
	H_SETTINGS,
	H_ASSIGNED,
	H_OPEN_RUN,
	H_KEY,
};

/* New references. */
json_t *host_row_json(const struct db_result *r, size_t row);
/* {"by", "reason", "since", "until"} of four columns in that order from `first` on; null when
 * nobody holds the host. */
json_t *host_reservation_json(const struct db_result *r, size_t row, unsigned int first);
