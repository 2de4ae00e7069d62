/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

static const char *log_program = "rigstat";
static enum log_level log_max = LOG_INFO;
static bool log_journal;
static char last_problem[400]; /* with last_problem_ns under stderr's lock */
static int64_t last_problem_ns;

void log_init(const char *program, enum log_level max)
{
	log_program = program;
	log_max = max;
	log_journal = getenv("JOURNAL_STREAM") != NULL;
}

bool log_enabled(enum log_level level)
{
	return level <= log_max;
}

static const char *level_word(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return "error: ";
	case LOG_WARN:
		return "warning: ";
	case LOG_INFO:
		return "";
	case LOG_DEBUG:
		return "debug: ";
	}
	return "";
}

static void put_escaped(const char *s, FILE *f)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c < 0x20 || c == 0x7f)
			fprintf(f, "\\x%02x", c);
		else
			fputc(c, f);
	}
}

void log_event(enum log_level level, const char *fmt, ...)
{
	char text[2048], stamp[32];
	struct timespec now;
	struct tm tm;
	va_list ap;

	if (!log_enabled(level))
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	flockfile(stderr);
	clock_gettime(CLOCK_REALTIME, &now);
	if (level <= LOG_WARN) {
		(void)snprintf(last_problem, sizeof(last_problem), "%.399s", text);
		last_problem_ns = now.tv_sec * NS_PER_SEC + now.tv_nsec;
	}
	if (log_journal) {
		fprintf(stderr, "<%d>", (int)level);
	} else {
		gmtime_r(&now.tv_sec, &tm);
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
		fprintf(stderr, "%s.%03lldZ %s: ", stamp, now.tv_nsec / NS_PER_MS, log_program);
	}
	fputs(level_word(level), stderr);
	put_escaped(text, stderr);
	fputc('\n', stderr);
	funlockfile(stderr);
}

int64_t log_last_problem(char *buf, size_t cap)
{
	int64_t ns;

	flockfile(stderr);
	(void)snprintf(buf, cap, "%s", last_problem);
	ns = last_problem_ns;
	funlockfile(stderr);
	return ns;
}
