/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the probes say about a run: probe.h. A file of its own, so that the probes can be linked
 * without the sampler (tests/qemu). */
#include <stdarg.h>
#include <stdio.h>

#include "agent/probe.h"

void run_summary_missed(struct run_summary *s, uint64_t series, uint64_t missed)
{
	GROW(s->missed, s->missed_len, s->missed_cap);
	s->missed[s->missed_len].series = series;
	s->missed[s->missed_len++].missed = missed;
}

void run_summary_state(struct run_summary *s, uint64_t series, const char *state, const char *fmt,
		       ...)
{
	va_list ap;

	GROW(s->states, s->states_len, s->states_cap);
	s->states[s->states_len].series = series;
	s->states[s->states_len].state = state;
	va_start(ap, fmt);
	vsnprintf(s->states[s->states_len++].reason, sizeof(s->states[0].reason), fmt, ap);
	va_end(ap);
}

void run_summary_done(struct run_summary *s)
{
	marks_done(&s->marks);
	free(s->states);
	free(s->missed);
	*s = (struct run_summary){0};
}
