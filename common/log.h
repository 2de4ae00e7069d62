/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logging for programs (never for pure modules): one event a line on stderr.
 * With $JOURNAL_STREAM a <n> priority is put in front and the time left out. Control characters
 * in the text are escaped, so that nobody can forge a line. */
#pragma once

#include "common/base.h"

enum log_level { LOG_ERROR = 3, LOG_WARN = 4, LOG_INFO = 6, LOG_DEBUG = 7 };

void log_init(const char *program, enum log_level max);
bool log_enabled(enum log_level level);
void log_event(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

/* The last warning or error that was logged, for reports about this process; its realtime, or 0
 * when there was none. */
int64_t log_last_problem(char *buf, size_t cap);

#define log_error(...) log_event(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_event(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_event(LOG_INFO, __VA_ARGS__)
#define log_debug(...)                                                                             \
	do {                                                                                       \
		if (log_enabled(LOG_DEBUG))                                                        \
			log_event(LOG_DEBUG, __VA_ARGS__);                                         \
	} while (0)
