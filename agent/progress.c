/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/progress.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/parse.h"

void progress_init(struct progress *p, FILE *to, bool tty, uint32_t total, int64_t run_ns)
{
	*p = (struct progress){.to = to, .tty = tty, .total = total, .run_ns = run_ns};
}

int64_t progress_left_ns(const struct progress *p)
{
	int64_t one = p->done ? p->spent_ns / p->done : p->run_ns;

	return one ? one * (p->total - p->done) : -1;
}

static int width(const struct progress *p)
{
	struct winsize ws;

	if (ioctl(fileno(p->to), TIOCGWINSZ, &ws) < 0 || ws.ws_col < 20)
		return 80;
	return ws.ws_col;
}

static void clear_line(struct progress *p)
{
	if (p->line_open)
		fputs("\r\033[K", p->to);
	p->line_open = false;
}

void progress_begin(struct progress *p, uint32_t order, const char *cell)
{
	snprintf(p->head, sizeof(p->head), "run %u/%u  %s", order, p->total, cell);
}

void progress_show(struct progress *p, const char *phase)
{
	int64_t left = progress_left_ns(p);
	char line[512], buf[40];
	int n;

	if (!p->tty)
		return;
	n = snprintf(line, sizeof(line), "%s  %s", p->head, phase);
	if (left >= 0 && n > 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, "  (%s left)",
			 format_ns((double)left, buf, sizeof(buf)));
	fprintf(p->to, "\r\033[K%.*s", width(p) - 1, line);
	fflush(p->to);
	p->line_open = true;
}

void progress_end(struct progress *p, int64_t spent_ns, const char *outcome)
{
	clear_line(p);
	fprintf(p->to, "%s  %s\n", p->head, outcome);
	fflush(p->to);
	p->done++;
	p->spent_ns += spent_ns;
}

void progress_note(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	clear_line(p);
	va_start(ap, fmt);
	vfprintf(p->to, fmt, ap);
	va_end(ap);
	fputc('\n', p->to);
	fflush(p->to);
}
