/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/lock_probe.h"
#include "agent/bpf/lock.h"
#include "agent/bpfcost.h"
#include "agent/bpfhist.h"
#include "agent/bpfload.h"
#include "agent/symbols.h"

#include <stdio.h>

_Static_assert(sizeof(struct lock_hist) == sizeof(struct bpf_hist), "two names of one layout");

#define CALLERS_MAX 256 /* distinct functions of a run */
#define CALLERS_TOP 15

struct caller {
	char name[64];
	uint64_t count, sum_ns, max_ns;
};

struct lock {
	struct probe base;
	struct bpfload *bpf; /* NULL: see why_not */
	struct err why_not;
	const struct kallsyms *symbols; /* NULL: callers are not named */
	struct bpf_hist *hists;
	uint64_t *control;
	uint64_t series, lost_before;
	uint64_t waits; /* since the start */
	uint64_t late;
	bool window_over;
	struct bpfcost cost;
	int64_t measured_ns;
	struct caller callers[CALLERS_MAX];
	size_t n;
	struct hist_rec scratch;
};

/* The machinery of locking and tracing itself, which every stack begins with. */
static bool is_locking(const char *name)
{
	static const char *const prefixes[] = {
		"bpf: ",   "bpf_",   "__bpf_",	"trace_",    "__traceiter_", "mutex_",	"__mutex_",
		"rwsem_",  "down_",  "__down_", "up_",	     "_raw_",	     "queued_", "native_",
		"pv_",	   "__pv_",  "percpu_", "__percpu_", "rt_",	     "__rt_",	"ww_mutex",
		"do_raw_", "__raw_", "osq_",	"rtlock_"};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static const char *caller_of(struct lock *k, uint32_t stack)
{
	uint64_t ip[LOCK_STACK] = {0};
	const char *last = "[unknown]";

	if (!k->symbols || !bpfload_get(k->bpf, "stacks", &stack, ip))
		return last;
	for (size_t i = 0; i < LOCK_STACK && ip[i]; i++) {
		const char *name = kallsyms_find(k->symbols, ip[i]);

		if (name && !is_locking(name))
			return name;
		last = name ? name : last;
	}
	return last;
}

static struct caller *find_caller(struct lock *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (!strncmp(k->callers[i].name, name, sizeof(k->callers[i].name) - 1))
			return &k->callers[i];
	if (k->n == CALLERS_MAX - 1)
		name = "[other]";
	if (k->n == CALLERS_MAX)
		return &k->callers[CALLERS_MAX - 1];
	k->callers[k->n] = (struct caller){0};
	(void)snprintf(k->callers[k->n].name, sizeof(k->callers[0].name), "%s", name);
	return &k->callers[k->n++];
}

/* Empties the programs' table; with `count` into ours. */
static void take_callers(struct lock *k, bool count)
{
	static const struct lock_caller none;
	struct err err;
	uint32_t key, next;
	bool more = bpfload_next(k->bpf, "callers", NULL, &next);

	while (more) {
		struct lock_caller c;

		key = next;
		more = bpfload_next(k->bpf, "callers", &key, &next);
		if (bpfload_get(k->bpf, "callers", &key, &c) && count) {
			struct caller *mine = find_caller(k, caller_of(k, key));

			mine->count += c.count;
			mine->sum_ns += c.sum_ns;
			if (c.max_ns > mine->max_ns)
				mine->max_ns = c.max_ns;
		}
		/* What cannot be deleted would be counted again: it is emptied at least. */
		if (!bpfload_delete(k->bpf, "callers", &key))
			(void)!bpfload_put(k->bpf, "callers", &key, &none, &err);
		(void)bpfload_delete(k->bpf, "stacks", &key);
	}
}

/* Late ones as in io_probe.c: waited for at the window's end, then counted as lost. */
static void take_late(struct lock *k)
{
	struct bpf_hist *idle = &k->hists[bpfhist_idle(k->control)];

	hist_rec_reset(&k->scratch);
	if (k->window_over)
		k->late += bpfhist_take(idle, &k->scratch);
	k->window_over = false;
}

static void take_hist(struct lock *k, const struct interval *in)
{
	struct bpf_hist *h;

	take_late(k);
	h = &k->hists[bpfhist_flip(k->control)];
	hist_rec_reset(&k->scratch);
	k->waits += bpfhist_take(h, &k->scratch);
	if (!in->edge)
		return;
	bpfhist_settle();
	k->waits += bpfhist_take(h, &k->scratch);
	k->window_over = in->measured;
}

/* Waits that found the table full, and events that met a program already running. */
static uint64_t lost_so_far(const struct lock *k)
{
	return k->control[1] + bpfload_misses(k->bpf);
}

static void lock_begin(struct probe *p)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	const struct interval all = {.edge = true};

	if (!k->bpf)
		return;
	take_hist(k, &all);
	take_callers(k, false);
	k->n = 0;
	k->measured_ns = 0;
	k->lost_before = lost_so_far(k);
	k->late = 0;
	bpfcost_begin(&k->cost, k->bpf, k->waits);
}

static void lock_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	if (!k->bpf)
		return;
	take_hist(k, in);
	take_callers(k, in->measured);
	if (in->measured)
		k->measured_ns += in->dt_ns;
	record_item_hist(w, k->series, in->t0_ns, in->dt_ns, &k->scratch);
	bpfcost_tick(&k->cost, k->bpf, k->waits, in->edge);
}

static void lock_cost(struct probe *p, struct probe_cost *ret)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	ret->kernel_ns = k->bpf ? bpfcost_ns(&k->cost, k->waits) : 0;
}

static void lock_declare(struct probe *p, struct series_list *l)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	const struct series_decl d = {.metric = "lock_wait",
				      .kind = k->bpf ? "hist" : "absent",
				      .unit = "ns",
				      .method = k->bpf ? "rigstat-lock/2" : NULL,
				      .state = k->bpf ? "exact" : NULL,
				      .reason = k->bpf ? NULL : k->why_not.text,
				      .resolution_ns = k->bpf ? 1 : 0};

	k->series = series_declare(l, &d);
}

static int by_time(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	return (x->sum_ns < y->sum_ns) - (x->sum_ns > y->sum_ns);
}

struct writing {
	struct record_writer *w;
	uint64_t *last;
	double seconds; /* measured */
};

static void put_value(const struct writing *x, const char *metric, const char *unit,
		      const char *caller, double value)
{
	struct series_decl d = {.metric = metric,
				.kind = "value",
				.unit = unit,
				.label = {{caller ? "caller" : NULL, caller}},
				.method = "rigstat-lock/2"};

	record_item_value(x->w, series_declare_more(x->w, x->last, &d), value);
}

/* Without a caller: of all. */
static void put_caller(const struct writing *x, const char *name, const struct caller *c)
{
	put_value(x, "lock_wait_rate", "ns/s", name, (double)c->sum_ns / x->seconds);
	put_value(x, "lock_contentions", "1/s", name, (double)c->count / x->seconds);
	put_value(x, "lock_wait_max", "ns", name, (double)c->max_ns);
}

static void add_caller(struct caller *to, const struct caller *from)
{
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
}

static void lock_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	struct writing x = {w, last_series, (double)k->measured_ns / NS_PER_SEC};
	struct caller all = {0}, rest = {0};

	if (!k->bpf || x.seconds <= 0)
		return;
	take_late(k);
	qsort(k->callers, k->n, sizeof(k->callers[0]), by_time);
	for (size_t i = 0; i < k->n; i++) {
		add_caller(&all, &k->callers[i]);
		if (i < CALLERS_TOP)
			put_caller(&x, k->callers[i].name, &k->callers[i]);
		else
			add_caller(&rest, &k->callers[i]);
	}
	if (rest.count)
		put_caller(&x, "[rest]", &rest);
	put_caller(&x, NULL, &all);
}

static void lock_summary(struct probe *p, struct run_summary *s)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	uint64_t lost;

	if (!k->bpf) {
		marks_add(&s->marks, "no-lock-wait", "lock contention is not available: %s",
			  k->why_not.text);
		return;
	}
	lost = lost_so_far(k) - k->lost_before + k->late;
	if (lost)
		marks_add(&s->marks, "lock-waits-lost",
			  "waits that were not measured because the recorder was busy: about %llu",
			  (unsigned long long)lost);
}

static void lock_free(struct probe *p)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	bpfcost_done(&k->cost);
	bpfload_close(k->bpf);
	free(k);
}

static int lock_start(struct lock *k, struct err *reterr)
{
	void *hists, *control;
	int rc;

	if (!bpfload_has_tracepoint(k->bpf, "contention_begin"))
		return err_set(reterr, ERR_UNSUPPORTED,
			       "this kernel has no tracepoint lock:contention_begin (Linux 5.19)");
	rc = bpfload_start(k->bpf, reterr);
	rc = rc ? rc
		: bpfload_map(k->bpf, "hists", 2 * sizeof(struct lock_hist), true, &hists, reterr);
	rc = rc ? rc : bpfload_map(k->bpf, "control", 2 * sizeof(uint64_t), true, &control, reterr);
	if (rc)
		return rc;
	k->hists = hists;
	k->control = control;
	return 0;
}

struct probe *lock_probe(void)
{
	struct lock *k = xcalloc(1, sizeof(*k));
	struct err err;

	k->base = (struct probe){.name = "lock",
				 .declare = lock_declare,
				 .begin = lock_begin,
				 .collect = lock_collect,
				 .finish = lock_finish,
				 .cost = lock_cost,
				 .summary = lock_summary,
				 .free = lock_free};
	if (!bpfload_open(bpf_lock, bpf_lock_len, &k->bpf, &k->why_not) &&
	    lock_start(k, &k->why_not)) {
		bpfload_close(k->bpf);
		k->bpf = NULL;
	}
	if (k->bpf)
		k->symbols = kallsyms_get(&err);
	return &k->base;
}
