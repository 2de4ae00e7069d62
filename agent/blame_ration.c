/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/blame_ration.h"

static void refill(struct ration *r, int64_t now_ns)
{
	double rate = r->per_second > 0 ? r->per_second : RATION_PER_SECOND;

	if (!r->refilled_ns)
		r->tokens = RATION_BURST;
	else if (now_ns > r->refilled_ns)
		r->tokens += (double)(now_ns - r->refilled_ns) * rate / NS_PER_SEC;
	if (r->tokens > RATION_BURST)
		r->tokens = RATION_BURST;
	r->refilled_ns = now_ns;
}

bool ration_slot_over(struct ration *r, int64_t now_ns)
{
	if (!r->slot_end_ns || now_ns < r->slot_end_ns)
		return false;
	r->slot_end_ns = 0;
	r->worst_ns = 0;
	return true;
}

enum ration_word ration_ask(struct ration *r, int64_t due_ns, int64_t run_ns)
{
	int64_t late_ns = run_ns - due_ns;
	enum ration_word word = RATION_WORSE;

	if (due_ns < r->stall_until_ns)
		return RATION_SAME;
	(void)ration_slot_over(r, run_ns);
	if (r->slot_end_ns && late_ns <= r->worst_ns)
		return RATION_SKIP;
	if (!r->slot_end_ns) {
		refill(r, run_ns);
		if (r->tokens < 1)
			return RATION_SKIP;
		r->tokens -= 1;
		r->slot_end_ns = run_ns + RATION_SLOT_NS;
		word = RATION_READ;
	}
	r->worst_ns = late_ns;
	r->stall_until_ns = run_ns;
	return word;
}
