/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/bpfcost.h"
#include "common/clock.h"

#include <unistd.h>

#define EVENTS_MIN    50 /* fewer say too little */
#define EVENTS_ENOUGH 500
#define WARM_UP_MIN   (500 * NS_PER_MS)
#define LONGEST_NS    (5 * NS_PER_SEC)

void bpfcost_done(struct bpfcost *c)
{
	if (c->stats_fd > 0)
		close(c->stats_fd);
	c->stats_fd = 0;
}

void bpfcost_begin(struct bpfcost *c, struct bpfload *b, uint64_t events)
{
	if (c->refused)
		return;
	if (c->stats_fd <= 0)
		c->stats_fd = bpfload_account();
	c->refused = c->stats_fd < 0;
	c->since_ns = clock_monotonic_ns();
	c->run_ns = bpfload_run_ns(b);
	c->events = events;
}

void bpfcost_tick(struct bpfcost *c, struct bpfload *b, uint64_t events, bool last)
{
	int64_t passed = clock_monotonic_ns() - c->since_ns;
	uint64_t n = events - c->events;

	if (c->stats_fd <= 0)
		return;
	if (n < EVENTS_ENOUGH && passed < LONGEST_NS && !(last && passed >= WARM_UP_MIN))
		return;
	if (n >= EVENTS_MIN)
		c->ns_per_event = (double)(bpfload_run_ns(b) - c->run_ns) / (double)n;
	bpfcost_done(c);
}

int64_t bpfcost_ns(const struct bpfcost *c, uint64_t events)
{
	return c->ns_per_event > 0 ? (int64_t)(c->ns_per_event * (double)events) : -1;
}
