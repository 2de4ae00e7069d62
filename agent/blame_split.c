/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/blame_split.h"

#include <ctype.h>
#include <stdio.h>

#define GAP_SUSPECT_NS (200 * NS_PER_US) /* without an event: may be steal */
#define CLOCK_SLACK_NS 1000 /* coarse difference between the two readers of the clock */
#define STACK_MAX      16

/* ---- names ---- */

const char *blame_holder_kind_name(enum blame_holder_kind k)
{
	static const char *const names[] = {"irq",  "softirq", "task",	"idle",
					    "self", "stopped", "steal", "unattributed"};

	return names[k];
}

static const char *softirq_name(uint32_t vec)
{
	static const char *const names[] = {"HI",	"TIMER",   "NET_TX", "NET_RX",	"BLOCK",
					    "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU"};

	return vec < ARRAY_LEN(names) ? names[vec] : "unknown";
}

static const char *vector_name(uint32_t id)
{
	static const char *const names[] = {"local_timer", "call_function", "call_function_single",
					    "reschedule"};

	return id < ARRAY_LEN(names) ? names[id] : "unknown";
}

static void clean(const char *from, size_t len, char *to, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < len && from[i] && n + 1 < cap; i++)
		to[n++] = isprint((unsigned char)from[i]) ? from[i] : '?';
	to[n] = '\0';
}

void blame_task_name(const char comm[BLAME_NAME_LEN], uint32_t pid, char *ret, size_t cap,
		     enum blame_holder_kind *ret_kind, const char **ret_reason)
{
	char name[BLAME_NAME_LEN + 1];
	size_t at;

	clean(comm, BLAME_NAME_LEN, name, sizeof(name));
	*ret_kind = HOLDER_TASK;
	if (!strncmp(name, "irq/", 4)) {
		at = 4 + strspn(name + 4, "0123456789");
		*ret_kind = HOLDER_IRQ;
		*ret_reason = "threaded handler";
		(void)snprintf(ret, cap, "irq %s", name[at] == '-' ? name + at + 1 : name + 4);
		return;
	}
	if (!name[0]) {
		(void)snprintf(ret, cap, "task pid %u", pid);
		return;
	}
	/* kworker/3:1H, ksoftirqd/0, migration/1: the number says where, not what. */
	at = strcspn(name, "/");
	if (name[at] == '/' && isdigit((unsigned char)name[at + 1]))
		name[at] = '\0';
	if (!strncmp(name, "kworker/u", 9))
		name[7] = '\0';
	(void)snprintf(ret, cap, "task %s", name);
}

/* ---- the state that events build ---- */

struct frame {
	enum blame_holder_kind kind;
	uint32_t id;
	char name[40];
};

struct cpu_state {
	struct frame stack[STACK_MAX]; /* interrupts and softirqs, outermost first */
	size_t depth;
	bool task_known;
	uint32_t pid;
	int prio;
	char comm[BLAME_NAME_LEN];
};

static void frame_set(struct frame *f, enum blame_holder_kind kind, const struct blame_event *e)
{
	f->kind = kind;
	f->id = e->id;
	if (kind == HOLDER_SOFTIRQ) {
		(void)snprintf(f->name, sizeof(f->name), "softirq %s", softirq_name(e->id));
	} else if (e->kind == BLAME_VECTOR_IN || e->kind == BLAME_VECTOR_OUT) {
		f->id = e->id | 1u << 31;
		(void)snprintf(f->name, sizeof(f->name), "irq %s", vector_name(e->id));
	} else {
		char name[BLAME_NAME_LEN + 1];

		clean(e->name, BLAME_NAME_LEN, name, sizeof(name));
		if (name[0])
			(void)snprintf(f->name, sizeof(f->name), "irq %s", name);
		else
			(void)snprintf(f->name, sizeof(f->name), "irq %u", e->id);
	}
}

static void push(struct cpu_state *s, enum blame_holder_kind kind, const struct blame_event *e)
{
	if (s->depth < STACK_MAX)
		frame_set(&s->stack[s->depth++], kind, e);
}

/* Takes the frame off with everything above it (whose exits were lost); an exit without entry
 * changes nothing. */
static void pop(struct cpu_state *s, enum blame_holder_kind kind, uint32_t id)
{
	for (size_t i = s->depth; i-- > 0;) {
		if (s->stack[i].kind != kind || s->stack[i].id != id)
			continue;
		s->depth = i;
		return;
	}
}

static void switch_to(struct cpu_state *s, const struct blame_event *e)
{
	s->depth = 0; /* nobody switches inside an interrupt: open frames lost their exit */
	s->task_known = true;
	s->pid = e->id2;
	s->prio = e->next_prio;
	memcpy(s->comm, e->name, BLAME_NAME_LEN);
}

static void apply(struct cpu_state *s, const struct blame_event *e)
{
	switch (e->kind) {
	case BLAME_SWITCH:
		switch_to(s, e);
		break;
	case BLAME_IRQ_IN:
	case BLAME_VECTOR_IN:
		push(s, HOLDER_IRQ, e);
		break;
	case BLAME_IRQ_OUT:
		pop(s, HOLDER_IRQ, e->id);
		break;
	case BLAME_VECTOR_OUT:
		pop(s, HOLDER_IRQ, e->id | 1u << 31);
		break;
	case BLAME_SOFTIRQ_IN:
		push(s, HOLDER_SOFTIRQ, e);
		break;
	case BLAME_SOFTIRQ_OUT:
		pop(s, HOLDER_SOFTIRQ, e->id);
		break;
	default:
		break;
	}
}

static bool is_in(uint8_t kind)
{
	return kind == BLAME_IRQ_IN || kind == BLAME_VECTOR_IN || kind == BLAME_SOFTIRQ_IN;
}

static bool is_out(uint8_t kind)
{
	return kind == BLAME_IRQ_OUT || kind == BLAME_VECTOR_OUT || kind == BLAME_SOFTIRQ_OUT;
}

/* ---- one analysis ---- */

struct stretch {
	int64_t ns;
	size_t holder; /* index into split.holders of the accumulation */
};

struct work {
	const struct blame_window *w;
	struct blame_event *e; /* sorted copy */
	size_t n;
	int64_t due, run;
	int64_t timer, waking, switched; /* INT64_MIN: not seen */
	int64_t stop_from, stop_to; /* the last time that we were stopped; from INT64_MAX: never */
	int own_prio;
	struct cpu_state state;
	struct blame_split *out;
	struct stretch *stretches;
	size_t n_stretches;
};

/* Stable: events of one time keep the order in which they were written. */
static void sort_events(struct blame_event *e, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct blame_event x = e[i];
		size_t k = i;

		for (; k > 0 && e[k - 1].t_ns > x.t_ns; k--)
			e[k] = e[k - 1];
		e[k] = x;
	}
}

/* The last switch to us that is not after run, the last of our wakings before it, and the
 * outermost interrupt that was open then: a foreign timer interrupt before ours must not count,
 * and a signal gives several wakings. */
static void find_points(struct work *k)
{
	struct cpu_state s = {0};
	int64_t outer = INT64_MIN;

	k->timer = k->waking = k->switched = INT64_MIN;
	k->stop_from = k->stop_to = INT64_MAX;
	k->own_prio = 1 << 30;
	for (size_t i = 0; i < k->n && k->e[i].t_ns <= k->run + CLOCK_SLACK_NS; i++) {
		const struct blame_event *e = &k->e[i];

		if (e->kind == BLAME_SWITCH && e->id2 == k->w->tid) {
			k->switched = e->t_ns;
			k->own_prio = e->next_prio;
			/* Its waking was on a CPU that is not recorded. */
			if (k->stop_to == INT64_MAX && k->stop_from != INT64_MAX)
				k->stop_to = e->t_ns;
		} else if (e->kind == BLAME_SWITCH && e->id == k->w->tid && e->t_ns < k->run) {
			if (e->prev_state & BLAME_STOPPED_BITS) {
				k->stop_from = e->t_ns;
				k->stop_to = INT64_MAX;
			}
			k->switched = INT64_MIN;
			if (e->prev_state) /* it sleeps; preempted, it stays woken */
				k->waking = INT64_MIN;
		}
		if (is_in(e->kind) && s.depth == 0)
			outer = e->t_ns;
		apply(&s, e);
		if (e->kind == BLAME_WAKING && e->id2 == k->w->tid && k->switched == INT64_MIN) {
			if (k->stop_to == INT64_MAX && k->stop_from != INT64_MAX)
				k->stop_to = e->t_ns;
			k->waking = e->t_ns;
			k->timer = s.depth ? outer : e->t_ns;
		}
	}
	if (k->switched > k->run)
		k->switched = k->run;
}

/* An exit whose entry was not seen was open at due, outside of what is already known to be. Its
 * name is that of any entry with the same number. */
static void open_at_due(struct work *k, const struct blame_event *out)
{
	enum blame_holder_kind kind = out->kind == BLAME_SOFTIRQ_OUT ? HOLDER_SOFTIRQ : HOLDER_IRQ;
	struct cpu_state *s = &k->state;
	struct blame_event e = *out;
	struct frame f;

	for (size_t i = 0; i < k->n; i++)
		if (out->kind == BLAME_IRQ_OUT && k->e[i].kind == BLAME_IRQ_IN &&
		    k->e[i].id == e.id)
			memcpy(e.name, k->e[i].name, BLAME_NAME_LEN);
	frame_set(&f, kind, &e);
	for (size_t i = 0; i < s->depth; i++)
		if (s->stack[i].kind == f.kind && s->stack[i].id == f.id)
			return;
	if (s->depth == STACK_MAX)
		return;
	memmove(&s->stack[1], &s->stack[0], s->depth * sizeof(s->stack[0]));
	s->stack[0] = f;
	s->depth++;
}

/* Replays up to due, then looks ahead to the first switch for what was already open or running. */
static size_t state_at_due(struct work *k)
{
	struct cpu_state later = {0};
	size_t i = 0;

	for (; i < k->n && k->e[i].t_ns <= k->due; i++)
		apply(&k->state, &k->e[i]);
	for (size_t j = i; j < k->n; j++) {
		const struct blame_event *e = &k->e[j];
		size_t depth = later.depth;

		if (e->kind == BLAME_SWITCH) {
			if (!k->state.task_known) {
				k->state.task_known = true;
				k->state.pid = e->id;
				k->state.prio = e->prev_prio;
				memcpy(k->state.comm, e->prev_name, BLAME_NAME_LEN);
			}
			break;
		}
		apply(&later, e);
		if (is_out(e->kind) && later.depth == depth)
			open_at_due(k, e);
	}
	return i;
}

static size_t holder_index(struct work *k, enum blame_holder_kind kind, const char *name,
			   const char *reason)
{
	struct blame_split *out = k->out;
	struct blame_holder *h;

	for (size_t i = 0; i < out->n; i++)
		if (out->holders[i].kind == kind && !strcmp(out->holders[i].name, name) &&
		    out->holders[i].reason == reason)
			return i;
	/* One place is kept for what does not fit and one for steal, so that the parts sum up. */
	if (out->n >= BLAME_HOLDERS_MAX - 2) {
		kind = HOLDER_UNATTRIBUTED;
		name = "unattributed";
		reason = "more holders than can be named";
		for (size_t i = 0; i < out->n; i++)
			if (out->holders[i].reason == reason)
				return i;
	}
	h = &out->holders[out->n++];
	h->kind = kind;
	h->reason = reason;
	h->ns = 0;
	(void)snprintf(h->name, sizeof(h->name), "%s", name);
	return out->n - 1;
}

static void add(struct work *k, int64_t ns, enum blame_holder_kind kind, const char *name,
		const char *reason)
{
	size_t i;

	if (ns <= 0)
		return;
	i = holder_index(k, kind, name, reason);
	k->out->holders[i].ns += ns;
	k->stretches[k->n_stretches++] = (struct stretch){ns, i};
}

static void unattributed(struct work *k, int64_t ns, const char *reason)
{
	add(k, ns, HOLDER_UNATTRIBUTED, "unattributed", reason);
}

/* An idle CPU, by where in the wake-up it was. */
static void add_idle(struct work *k, int64_t ns, bool before_timer)
{
	if (k->w->blind_idle)
		unattributed(k, ns, "the recorder is blind in the idle task of this CPU");
	else if (k->waking == INT64_MIN)
		unattributed(k, ns, "our waking was not seen");
	else if (before_timer && !k->w->has_steal && ns > GAP_SUSPECT_NS)
		unattributed(k, ns, "timer late in idle, or host steal");
	else
		add(k, ns, HOLDER_IDLE, "idle", before_timer ? "timer late in idle" : "idle exit");
}

static void add_task(struct work *k, int64_t at, int64_t ns)
{
	const struct cpu_state *s = &k->state;
	bool before_timer = k->timer != INT64_MIN && at < k->timer;
	bool woken = k->waking != INT64_MIN && at >= k->waking;
	enum blame_holder_kind kind;
	const char *reason;
	char name[40];

	if (!s->task_known) {
		unattributed(k, ns, "no switch was seen before it");
		return;
	}
	if (s->pid == 0) {
		add_idle(k, ns, before_timer);
		return;
	}
	if (before_timer)
		reason = k->w->has_steal ? "timer late: interrupts off"
					 : "timer late: interrupts off, or host steal";
	else if (woken)
		reason = s->prio <= k->own_prio ? "preempted us" : "not preemptible";
	else
		reason = "ran";
	blame_task_name(s->comm, s->pid, name, sizeof(name), &kind, &reason);
	add(k, ns, kind, name, reason);
}

/* Our own thread has the CPU: it runs, or returns from a fault. Never blamed on the agent when a
 * host may have stopped us unseen. */
static void add_self(struct work *k, int64_t ns)
{
	if (!k->w->has_steal && ns > GAP_SUSPECT_NS)
		unattributed(k, ns, "between switch-in and run, or host steal");
	else
		add(k, ns, HOLDER_SELF, "self", "from switch-in to run");
}

/* One stretch without an event inside. */
static void add_stretch(struct work *k, int64_t from, int64_t to)
{
	const struct cpu_state *s = &k->state;
	int64_t ns = to - from;

	if (from >= k->stop_from && from < k->stop_to) {
		add(k, ns, HOLDER_STOPPED, "stopped", "the measuring thread was stopped");
		return;
	}
	if (s->depth) {
		const struct frame *f = &s->stack[s->depth - 1];

		if (f->kind == HOLDER_IRQ && !k->w->has_steal && ns > GAP_SUSPECT_NS)
			unattributed(k, ns, "inside an interrupt without an event, or host steal");
		else
			add(k, ns, f->kind, f->name,
			    f->kind == HOLDER_IRQ ? "hard interrupt" : NULL);
		return;
	}
	if (s->task_known && s->pid == k->w->tid)
		add_self(k, ns);
	else
		add_task(k, from, ns);
}

/* ---- stolen time ---- */

/* What was stolen in the window by the counter, -1 unknown. The base must come from a switch that
 * is not after due; the counter moves at switches only, so the end may lie a little after run. */
static int64_t stolen_ns(const struct work *k)
{
	const struct blame_event *base = NULL, *end = NULL;

	for (size_t i = 0; i < k->n; i++) {
		const struct blame_event *e = &k->e[i];

		if (e->kind != BLAME_SWITCH)
			continue;
		if (e->t_ns <= k->due) {
			base = e;
			continue;
		}
		end = e;
		if (e->t_ns >= k->run)
			break;
	}
	if (!k->w->has_steal || !base || !end || end->steal_ns < base->steal_ns)
		return -1;
	return (int64_t)(end->steal_ns - base->steal_ns);
}

/* Steal cannot be placed exactly: it is taken from the largest stretches, for a stolen CPU writes
 * no events. */
static void take_steal(struct work *k)
{
	int64_t left = stolen_ns(k), taken = 0;

	if (left > k->run - k->due)
		left = k->run - k->due;
	while (left > 0) {
		struct stretch *largest = NULL;
		int64_t part;

		for (size_t i = 0; i < k->n_stretches; i++)
			if (!largest || k->stretches[i].ns > largest->ns)
				largest = &k->stretches[i];
		if (!largest || largest->ns <= 0)
			break;
		part = largest->ns < left ? largest->ns : left;
		largest->ns -= part;
		k->out->holders[largest->holder].ns -= part;
		left -= part;
		taken += part;
	}
	if (taken > 0)
		k->out->holders[k->out->n++] = (struct blame_holder){
			.kind = HOLDER_STEAL,
			.name = "steal",
			.reason = "taken by the host, placed in the longest stretch",
			.ns = taken,
		};
}

static void order_holders(struct blame_split *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++)
		if (out->holders[i].ns > 0)
			out->holders[n++] = out->holders[i];
	out->n = n;
	for (size_t i = 1; i < n; i++) {
		struct blame_holder x = out->holders[i];
		size_t j = i;

		for (; j > 0 && out->holders[j - 1].ns < x.ns; j--)
			out->holders[j] = out->holders[j - 1];
		out->holders[j] = x;
	}
}

static void walk(struct work *k)
{
	size_t i = state_at_due(k);
	int64_t at = k->due;

	/* The ring is shorter than the window: its beginning cannot be known. */
	if (i == 0 && k->w->truncated) {
		int64_t first = k->e[0].t_ns < k->run ? k->e[0].t_ns : k->run;

		unattributed(k, first - at, "the recorder began after the due time");
		at = first;
	}
	for (; i < k->n && k->e[i].t_ns < k->run; i++) {
		add_stretch(k, at, k->e[i].t_ns);
		at = k->e[i].t_ns;
		apply(&k->state, &k->e[i]);
	}
	add_stretch(k, at, k->run);
}

static void note_points(struct work *k)
{
	struct blame_split *out = k->out;

	out->timer_ns = k->timer == INT64_MIN ? 0 : k->timer;
	out->waking_ns = k->waking == INT64_MIN ? 0 : k->waking;
	out->switch_in_ns = k->switched == INT64_MIN ? 0 : k->switched;
}

void blame_split(const struct blame_window *w, struct blame_split *ret)
{
	struct blame_event *copy CLEANUP(freep) = xcalloc(w->n, sizeof(*copy));
	struct stretch *stretches CLEANUP(freep) = xcalloc(w->n + 2, sizeof(*stretches));
	struct work k = {.w = w,
			 .e = copy,
			 .n = w->n,
			 .due = w->due_ns,
			 .run = w->run_ns,
			 .out = ret,
			 .stretches = stretches};

	memset(ret, 0, sizeof(*ret));
	if (w->run_ns <= w->due_ns)
		return;
	if (w->n)
		memcpy(copy, w->events, w->n * sizeof(*copy));
	sort_events(copy, w->n);
	find_points(&k);
	note_points(&k);
	if (w->lost) {
		unattributed(&k, k.run - k.due, "events were lost while reading");
	} else if (!w->n) {
		unattributed(&k, k.run - k.due, "no event in the window");
	} else {
		walk(&k);
		take_steal(&k);
	}
	order_holders(ret);
}
