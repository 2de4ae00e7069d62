/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the recorder's ring while it is being written. */
#include "agent/blame_recorder.h"

#define SLOT_MASK (BLAME_RING_SLOTS - 1)

static void event_of(const struct blame_slot *s, struct blame_event *e)
{
	e->t_ns = (int64_t)s->t_ns;
	e->steal_ns = s->kind == BLAME_SWITCH ? s->steal_ns : 0;
	e->id = s->id;
	e->id2 = s->id2;
	e->prev_prio = s->prev_prio;
	e->next_prio = s->next_prio;
	e->kind = s->kind;
	e->prev_state = s->prev_state;
	memcpy(e->name, s->name, BLAME_NAME_LEN);
	memcpy(e->prev_name, s->prev_name, BLAME_NAME_LEN);
	/* Only these kinds write their name; others leave an old one in the slot. */
	if (s->kind != BLAME_SWITCH && s->kind != BLAME_IRQ_IN)
		memset(e->name, 0, BLAME_NAME_LEN);
}

/* False: the slot does not hold position `at` (not yet, no longer, or half). */
static bool slot_copy(const struct blame_ring *ring, uint64_t at, struct blame_event *e)
{
	const struct blame_slot *s = &ring->slot[at & SLOT_MASK];
	struct blame_slot copy;

	if (__atomic_load_n(&s->seq, __ATOMIC_ACQUIRE) != at + 1)
		return false;
	memcpy(&copy, s, sizeof(copy));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&s->seq, __ATOMIC_RELAXED) != at + 1)
		return false;
	event_of(&copy, e);
	return true;
}

static void reverse(struct blame_event *e, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct blame_event x = e[i];

		e[i] = e[n - 1 - i];
		e[n - 1 - i] = x;
	}
}

struct blame_read blame_ring_read(const struct blame_ring *ring, int64_t from_ns, int64_t to_ns,
				  struct blame_event *out, size_t cap)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint64_t oldest = head > BLAME_RING_SLOTS ? head - BLAME_RING_SLOTS : 0;
	struct blame_read r = {.truncated = true};

	for (uint64_t at = head; at > oldest; at--) {
		struct blame_event *e = &out[r.n];

		if (r.n == cap)
			break;
		if (!slot_copy(ring, at - 1, e)) {
			uint64_t now = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

			if (now > at - 1 + BLAME_RING_SLOTS)
				break; /* the writer has lapped us: what is older is gone */
			r.lost = true; /* a writer was interrupted inside this slot */
			continue;
		}
		/* Newer than asked for: only the first switch behind the range is kept, for the
		 * steal counter that it carries. */
		if (e->t_ns > to_ns) {
			r.lost = false; /* what could not be read was newer still */
			if (e->kind != BLAME_SWITCH)
				continue;
			out[0] = *e;
			r.n = 1;
			continue;
		}
		r.n++;
		if (e->kind == BLAME_SWITCH && e->t_ns <= from_ns) {
			r.truncated = false;
			break;
		}
	}
	reverse(out, r.n);
	return r;
}

bool blame_ring_stop(const struct blame_ring *ring, int64_t at_ns, uint32_t tid,
		     struct blame_event *ret)
{
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
	uint64_t oldest = head > BLAME_RING_SLOTS ? head - BLAME_RING_SLOTS : 0;

	for (uint64_t at = head; at > oldest; at--) {
		if (!slot_copy(ring, at - 1, ret)) {
			if (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) >
			    at - 1 + BLAME_RING_SLOTS)
				return false;
			continue;
		}
		if (ret->t_ns > at_ns || ret->kind != BLAME_SWITCH ||
		    (ret->id != tid && ret->id2 != tid))
			continue;
		return ret->id == tid && (ret->prev_state & BLAME_STOPPED_BITS);
	}
	return false;
}
