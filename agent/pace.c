/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which intervals a slowed probe takes: probe.h. A file of its own, so that the probes can be
 * linked without the sampler (tests/qemu). */
#include "agent/probe.h"

void pace_begin(struct pace *p, unsigned int divisor)
{
	*p = (struct pace){.divisor = divisor};
}

bool pace_due(struct pace *p, const struct interval *in, struct interval *ret)
{
	if (!p->skipped)
		p->t0_ns = in->t0_ns;
	p->dt_ns += in->dt_ns;
	if (++p->skipped < p->divisor && !in->edge)
		return false;
	*ret = *in;
	ret->t0_ns = p->t0_ns;
	ret->dt_ns = p->dt_ns;
	pace_begin(p, p->divisor);
	return true;
}
