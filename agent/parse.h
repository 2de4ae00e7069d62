/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `run --parse FORMAT`: what the workload itself measured, read from its output by the importers
 * and filed under the run. Loop thread only, between runs. */
#pragma once

#include "agent/session.h"

/* "auto" or the name of an importer. */
int parse_check_format(const char *format, struct err *reterr) MUSTCHECK;
/* Reads the output (the log of the run) and adds its series and notes to the open run. What our
 * own probes measure under the same name is filed as tool_NAME: two instruments are never mixed.
 * An error says what is wrong with the output, and the run has failed: series before the one that
 * could not be added stay with it. */
int parse_output(struct session *s, const char *log_path, uint64_t bytes_max, const char *format,
		 struct err *reterr) MUSTCHECK;
