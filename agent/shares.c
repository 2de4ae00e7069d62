/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/shares.h"
#include "agent/symbols.h"
#include "agent/taskmap.h"
#include "common/model/profile.h"

#include <fnmatch.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define HZ_DEFAULT 199
#define TOP_MAX	   PROFILE_TOP
#define LOST_MAX   0.01 /* share of samples, or of time */
#define BUDGET	   0.01 /* of one CPU */
#define TALLY_MAX  4096 /* distinct names; the rest goes to one */

/* Weights by name. */
struct tally {
	struct {
		char *name;
		double weight;
	} * v;
	size_t len, cap;
};

struct shares {
	struct probe base;
	struct shares_conf conf;
	struct perf_sampler *sampler; /* NULL: see why_not */
	const struct kallsyms *kernel;
	struct taskmap *tasks;
	struct objmap *objects;
	struct err why_not;
	const char *word; /* "cycle" or "time" */
	bool counting;	  /* samples drained now lie in the measured window */
	double total, idle, unattributed, agent;
	double *app; /* weight of each application */
	struct tally commands, symbols, user;
	struct perf_sampler_counts counts; /* of the window */
	int64_t window_ns;		   /* its length */
};

/* ---- applications ---- */

int share_app_parse(const char *text, struct share_app *ret, struct err *reterr)
{
	static const char *const keys[] = {"comm", "leader", "exe", "cgroup"};
	const char *eq = strchr(text, '='), *colon = eq ? strchr(eq, ':') : NULL;

	for (size_t i = 0; colon && eq > text && colon[1] && i < ARRAY_LEN(keys); i++) {
		if (strlen(keys[i]) != (size_t)(colon - eq - 1) ||
		    strncmp(keys[i], eq + 1, strlen(keys[i])) != 0)
			continue;
		ret->name = xstrndup(text, (size_t)(eq - text));
		ret->key = (enum share_key)i;
		ret->pattern = xstrdup(colon + 1);
		return 0;
	}
	return err_set(
		reterr, ERR_INVALID,
		"'%.80s' does not name an application; write NAME=KEY:PATTERN with KEY comm, "
		"leader, exe or cgroup, as oracle=comm:oracle*",
		text);
}

void share_app_done(struct share_app *a)
{
	free(a->name);
	free(a->pattern);
	memset(a, 0, sizeof(*a));
}

static const char *key_of(struct shares *s, const struct task *t, enum share_key key)
{
	switch (key) {
	case SHARE_COMM:
		return t->comm;
	case SHARE_LEADER:
		return taskmap_get(s->tasks, t->pid, t->pid)->comm;
	case SHARE_EXE:
		return t->exe;
	case SHARE_CGROUP:
		return t->cgroup;
	}
	return NULL;
}

/* ---- counting ---- */

static void tally_add(struct tally *t, const char *name, double weight)
{
	size_t i = 0;

	while (i < t->len && strcmp(t->v[i].name, name) != 0)
		i++;
	if (i == t->len && t->len == TALLY_MAX) {
		name = "[other]";
		for (i = 0; i < t->len && strcmp(t->v[i].name, name) != 0;)
			i++;
		if (i == t->len)
			i = t->len - 1;
	}
	if (i == t->len) {
		GROW(t->v, t->len, t->cap);
		t->v[t->len].name = xstrdup(name);
		t->v[t->len++].weight = 0;
	}
	t->v[i].weight += weight;
	/* Frequent names move forward, so that the search stays short. */
	if (i > 0 && t->v[i].weight > t->v[i - 1].weight) {
		__typeof__(t->v[0]) x = t->v[i];

		t->v[i] = t->v[i - 1];
		t->v[i - 1] = x;
	}
}

static void tally_clear(struct tally *t)
{
	for (size_t i = 0; i < t->len; i++)
		free(t->v[i].name);
	t->len = 0;
}

static void tally_done(struct tally *t)
{
	tally_clear(t);
	free(t->v);
}

static void count_place(struct shares *s, const struct perf_sample *x, double w)
{
	if (!x->kernel) {
		tally_add(&s->user, objmap_find(s->objects, x->pid, x->ip), w);
	} else if (s->kernel) {
		const char *name = kallsyms_find(s->kernel, x->ip);

		tally_add(&s->symbols, name ? name : "[unknown]", w);
	}
}

static void on_sample(void *ctx, const struct perf_sample *x)
{
	struct shares *s = ctx;
	const struct task *t;
	double w = (double)x->period;

	if (!s->counting)
		return;
	s->total += w;
	if (x->pid == 0) {
		s->idle += w;
		return;
	}
	count_place(s, x, w);
	t = taskmap_get(s->tasks, x->pid, x->tid);
	if (t->comm[0] == ':')
		s->unattributed += w;
	if (x->pid == (uint32_t)getpid())
		s->agent += w;
	for (size_t i = 0; i < s->conf.apps_len; i++) {
		const char *key = key_of(s, t, s->conf.apps[i].key);

		if (key && !fnmatch(s->conf.apps[i].pattern, key, 0))
			s->app[i] += w;
	}
	tally_add(&s->commands, t->comm, w);
}

static void on_fork(void *ctx, uint32_t pid, uint32_t tid, uint32_t parent_pid)
{
	taskmap_fork(((struct shares *)ctx)->tasks, pid, tid, parent_pid);
}

static void on_comm(void *ctx, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	struct shares *s = ctx;

	taskmap_comm(s->tasks, pid, tid, comm, exec);
	if (exec)
		objmap_exec(s->objects, pid);
}

static void on_exit_task(void *ctx, uint32_t pid, uint32_t tid)
{
	(void)pid;
	taskmap_exit(((struct shares *)ctx)->tasks, tid);
}

static void on_map(void *ctx, const struct perf_mapping *m)
{
	objmap_add(((struct shares *)ctx)->objects, m->pid, m->start, m->length, m->file);
}

static const struct perf_sampler_ops ops = {on_sample, on_fork, on_comm, on_exit_task, on_map};

static void shares_slow(struct probe *p, unsigned int divisor)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);

	if (s->sampler)
		perf_sampler_slow(s->sampler, divisor);
}

static void shares_cost(struct probe *p, struct probe_cost *ret)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);

	ret->kernel_ns = s->sampler ? perf_sampler_kernel_ns(s->sampler) : 0;
}

/* ---- the probe ---- */

static void shares_begin(struct probe *p)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);

	if (!s->sampler)
		return;
	s->counting = false;
	perf_sampler_drain(s->sampler, &ops, s);
	(void)perf_sampler_take_counts(s->sampler);
	taskmap_sweep(s->tasks);
	s->total = s->idle = s->unattributed = s->agent = 0;
	memset(s->app, 0, s->conf.apps_len * sizeof(*s->app));
	memset(&s->counts, 0, sizeof(s->counts));
	s->window_ns = 0;
	tally_clear(&s->commands);
	tally_clear(&s->symbols);
	tally_clear(&s->user);
}

static void shares_collect(struct probe *p, const struct interval *i, struct record_writer *w)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);
	struct perf_sampler_counts c;

	(void)w;
	if (!s->sampler)
		return;
	s->counting = i->measured;
	perf_sampler_drain(s->sampler, &ops, s);
	c = perf_sampler_take_counts(s->sampler);
	if (i->measured) {
		s->counts.samples += c.samples;
		s->counts.lost += c.lost;
		s->counts.throttled += c.throttled;
		s->counts.throttled_ns += c.throttled_ns;
		s->window_ns += i->dt_ns;
	}
}

/* Without rights: one absent series for each application, or one that stands for all. */
static void shares_declare(struct probe *p, struct series_list *l)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);

	if (s->sampler)
		return; /* values are declared when they are known */
	for (size_t i = 0; i < s->conf.apps_len || i == 0; i++) {
		struct series_decl d = {.metric = "time_share",
					.kind = "absent",
					.unit = "%",
					.reason = s->why_not.text};

		if (s->conf.apps_len) {
			d.label[0][0] = "app";
			d.label[0][1] = s->conf.apps[i].name;
		}
		(void)series_declare(l, &d);
	}
}

struct writing {
	struct shares *s;
	struct record_writer *w;
	uint64_t *last;
};

static void put(const struct writing *x, const char *suffix, const char *key, const char *label,
		double weight, double base)
{
	char metric[64], method[32];
	struct series_decl d = {.metric = metric, .kind = "value", .unit = "%", .method = method};

	if (base <= 0)
		return;
	(void)snprintf(metric, sizeof(metric), "%s_%s", x->s->word, suffix);
	(void)snprintf(method, sizeof(method), "rigstat-shares-%s/1", x->s->word);
	if (key) {
		d.label[0][0] = key;
		d.label[0][1] = label;
	}
	record_item_value(x->w, series_declare_more(x->w, x->last, &d), 100 * weight / base);
}

static int by_weight(const void *a, const void *b)
{
	const struct tally *t = NULL;
	const __typeof__(t->v[0]) *x = a, *y = b;

	return (x->weight < y->weight) - (x->weight > y->weight);
}

static void put_top(const struct writing *x, const char *suffix, const char *key, struct tally *t,
		    double base)
{
	if (t->len)
		qsort(t->v, t->len, sizeof(t->v[0]), by_weight);
	for (size_t i = 0; i < t->len && i < TOP_MAX; i++)
		put(x, suffix, key, t->v[i].name, t->v[i].weight, base);
}

const char *shares_refusal(const struct perf_sampler_counts *c, double window_ns, char *buf,
			   size_t cap)
{
	double all = (double)(c->lost + c->samples);

	if ((double)c->lost > LOST_MAX * all)
		(void)snprintf(buf, cap, "%llu of %.0f samples were lost: no share is given",
			       (unsigned long long)c->lost, all);
	else if ((double)c->throttled_ns > LOST_MAX * window_ns)
		(void)snprintf(buf, cap,
			       "the kernel throttled sampling for %.1f %% of the time: no share is "
			       "given",
			       100 * (double)c->throttled_ns / window_ns);
	else
		return NULL;
	return buf;
}

static const char *refusal(const struct shares *s, char *buf, size_t cap)
{
	return shares_refusal(
		&s->counts, (double)s->window_ns * (double)perf_sampler_cpus(s->sampler), buf, cap);
}

static void shares_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);
	struct writing x = {s, w, last_series};
	double busy = s->total - s->idle;
	char why[120];

	if (!s->sampler || !s->counts.samples || refusal(s, why, sizeof(why)))
		return;
	for (size_t i = 0; i < s->conf.apps_len; i++) {
		put(&x, "share", "app", s->conf.apps[i].name, s->app[i], busy);
		put(&x, "share_of_all", "app", s->conf.apps[i].name, s->app[i], s->total);
	}
	put(&x, "idle", NULL, NULL, s->idle, s->total);
	put(&x, "unattributed", NULL, NULL, s->unattributed, busy);
	put(&x, "agent", NULL, NULL, s->agent, busy);
	put_top(&x, "command", "comm", &s->commands, busy);
	put_top(&x, "symbol", "symbol", &s->symbols, busy);
	put_top(&x, "object", "object", &s->user, busy);
}

static void shares_summary(struct probe *p, struct run_summary *sum)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);
	char why[120];

	if (!s->sampler) {
		marks_add(&sum->marks, "no-shares", "%s", s->why_not.text);
		return;
	}
	sum->lost += s->counts.lost;
	if (refusal(s, why, sizeof(why)))
		marks_add(&sum->marks, "shares-refused", "%s", why);
	if (s->counts.throttled)
		marks_add(&sum->marks, "shares-throttled",
			  "the kernel throttled sampling %llu times, for %.1f ms in all",
			  (unsigned long long)s->counts.throttled,
			  (double)s->counts.throttled_ns / 1e6);
}

static void shares_free(struct probe *p)
{
	struct shares *s = CONTAINER_OF(p, struct shares, base);

	perf_sampler_close(s->sampler);
	taskmap_free(s->tasks);
	objmap_free(s->objects);
	tally_done(&s->commands);
	tally_done(&s->symbols);
	tally_done(&s->user);
	free(s->app);
	free(s);
}

struct probe *shares_probe(const struct shares_conf *conf)
{
	struct shares *s = xcalloc(1, sizeof(*s));
	struct err err;

	s->base = (struct probe){.name = "shares",
				 .budget = BUDGET,
				 .expense = "sampling",
				 .slow = shares_slow,
				 .cost = shares_cost,
				 .declare = shares_declare,
				 .begin = shares_begin,
				 .collect = shares_collect,
				 .finish = shares_finish,
				 .summary = shares_summary,
				 .free = shares_free};
	s->conf = *conf;
	s->app = xcalloc(conf->apps_len, sizeof(*s->app));
	s->tasks = taskmap_new();
	s->objects = objmap_new();
	if (perf_sampler_open(conf->hz ? conf->hz : HZ_DEFAULT, &s->sampler, &s->why_not))
		return &s->base;
	s->word = perf_sampler_kind(s->sampler) == SAMPLER_CYCLES ? "cycle" : "time";
	s->kernel = kallsyms_get(&err); /* NULL: the profile has user objects only */
	if (perf_sampler_start(s->sampler, &s->why_not)) {
		perf_sampler_close(s->sampler);
		s->sampler = NULL;
	}
	return &s->base;
}
