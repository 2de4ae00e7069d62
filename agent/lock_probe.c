/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/lock_probe.h"
#include "agent/bpf/lock.h"
#include "agent/bpfhist.h"
#include "agent/bpfload.h"
#include "agent/symbols.h"

#include <stdio.h>

_Static_assert(sizeof(struct lock_hist) == sizeof(struct bpf_hist), "two names of one layout");

#define CALLERS_MAX 256 /* distinct functions of a run */
#define CALLERS_TOP 15

struct caller {
	char name[64];
	uint64_t count, sum_ns;
};

struct lock {
	struct probe base;
	struct bpfload *bpf; /* NULL: see why_not */
	struct err why_not;
	const struct kallsyms *symbols; /* NULL: callers are not named */
	struct bpf_hist *hists;
	uint64_t *control;
	uint64_t series, lost_before;
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
		}
		bpfload_delete(k->bpf, "callers", &key);
		bpfload_delete(k->bpf, "stacks", &key);
	}
}

static void take_hist(struct lock *k)
{
	unsigned int set = bpfhist_flip(k->control);

	hist_rec_reset(&k->scratch);
	bpfhist_take(&k->hists[set], &k->scratch);
}

static void lock_begin(struct probe *p)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	if (!k->bpf)
		return;
	take_hist(k);
	take_callers(k, false);
	k->n = 0;
	k->measured_ns = 0;
	k->lost_before = k->control[1];
}

static void lock_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	if (!k->bpf)
		return;
	take_hist(k);
	take_callers(k, in->measured);
	if (in->measured)
		k->measured_ns += in->dt_ns;
	record_item_hist(w, k->series, in->t0_ns, in->dt_ns, &k->scratch);
}

static void lock_declare(struct probe *p, struct series_list *l)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	const struct series_decl d = {.metric = "lock_wait",
				      .kind = k->bpf ? "hist" : "absent",
				      .unit = "ns",
				      .method = k->bpf ? "rigstat-lock/1" : NULL,
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

static void lock_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);
	double seconds = (double)k->measured_ns / NS_PER_SEC;

	if (!k->bpf || seconds <= 0)
		return;
	qsort(k->callers, k->n, sizeof(k->callers[0]), by_time);
	for (size_t i = 0; i < k->n && i < CALLERS_TOP; i++) {
		const struct caller *c = &k->callers[i];
		struct series_decl d = {.metric = "lock_wait_rate",
					.kind = "value",
					.unit = "ns/s",
					.label = {{"caller", c->name}},
					.method = "rigstat-lock/1"};

		record_item_value(w, series_declare_more(w, last_series, &d),
				  (double)c->sum_ns / seconds);
		d.metric = "lock_contentions";
		d.unit = "1/s";
		record_item_value(w, series_declare_more(w, last_series, &d),
				  (double)c->count / seconds);
	}
}

static void lock_summary(struct probe *p, struct run_summary *s)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

	if (!k->bpf)
		marks_add(&s->marks, "no-lock-wait", "lock contention is not available: %s",
			  k->why_not.text);
	else if (k->control[1] > k->lost_before)
		marks_add(&s->marks, "lock-waits-lost",
			  "%llu waits were not measured: too many waiters",
			  (unsigned long long)(k->control[1] - k->lost_before));
}

static void lock_free(struct probe *p)
{
	struct lock *k = CONTAINER_OF(p, struct lock, base);

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
