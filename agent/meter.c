/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/meter.h"

#define JUDGE_AFTER_NS (2 * NS_PER_SEC)

void meter_begin(struct meter *m, int64_t now_ns)
{
	*m = (struct meter){.budget = m->budget, .divisor = 1, .since_ns = now_ns};
}

bool meter_spend(struct meter *m, int64_t cpu_ns, int64_t now_ns)
{
	int64_t passed = now_ns - m->since_ns;

	m->spent_ns += cpu_ns;
	if (m->budget <= 0 || passed < JUDGE_AFTER_NS || m->divisor >= METER_DIVISOR_MAX ||
	    (double)m->spent_ns <= m->budget * (double)passed)
		return false;
	m->divisor *= 2;
	m->since_ns = now_ns;
	m->spent_ns = 0;
	return true;
}

void meter_put_json(const struct meter *m, const char *probe, int64_t kernel_ns, struct strbuf *out)
{
	strbuf_printf(out, "{\"probe\":\"%s\",\"cpu_ns\":%lld,\"kernel_ns\":", probe,
		      (long long)m->cpu_ns);
	if (kernel_ns < 0)
		strbuf_puts(out, "null");
	else
		strbuf_printf(out, "%lld", (long long)kernel_ns);
	if (m->budget > 0)
		strbuf_printf(out, ",\"budget\":%g", m->budget);
	else
		strbuf_puts(out, ",\"budget\":null");
	strbuf_printf(out, ",\"divisor\":%u}", m->divisor);
}
