/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/session.h"

#include "agent/blame.h"
#include "agent/bpfload.h"
#include "agent/hardware_probe.h"
#include "agent/io_probe.h"
#include "agent/lock_probe.h"
#include "agent/pmu.h"
#include "agent/shares.h"
#include "agent/tracepoint.h"
#include "agent/system_probe.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>

#include "agent/counters.h"
#include "agent/sysinfo.h"
#include "common/check.h"
#include "common/clock.h"

#define DESCRIPTORS_MIN 256

enum phase { PHASE_NONE, PHASE_WARM_UP, PHASE_MEASURED, PHASE_AFTER };

struct session {
	struct session_conf conf;
	struct wakeup *wakeup;
	struct probe *wakeup_probe; /* owned by the sampler */
	struct sampler *sampler;
	struct marks marks;
	struct record_writer w;
	char boot_id[37];
	char *tracepoints; /* file of their numbers */

	/* the run */
	enum phase phase;
	char run_uid[33];
	uint32_t run; /* ordinal in the stream */
	uint64_t last_series;
	unsigned int generation;
	int64_t started_ns, measure_from_ns, measured_ns;
	struct cost cost_begin;
	struct marks run_marks;
};

static void collect_marks(struct session *s)
{
	const struct marks *m = wakeup_marks(s->wakeup);

	for (size_t i = 0; i < m->len; i++)
		marks_add(&s->marks, m->v[i].code, "%s", m->v[i].text);
}

/* Rings and counters take some 20 file descriptors a CPU; without them they are left out. */
static bool enough_descriptors(struct session *s)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur >= DESCRIPTORS_MIN)
		return true;
	marks_add(&s->marks, "few-descriptors",
		  "causes of late wake-ups and shares are not measured: the limit of %llu file "
		  "descriptors is too low. Grant LimitNOFILE=65536",
		  (unsigned long long)rl.rlim_cur);
	return false;
}

static struct pmu_scope_conf scope_of(const struct session *s)
{
	const struct agent_conf *c = s->conf.conf;

	return (struct pmu_scope_conf){c->counters, c->counters_cgroup, s->conf.workload};
}

static void add_cause_probes(struct session *s)
{
	const struct agent_conf *c = s->conf.conf;
	const struct blame_conf blame = {c->cpus, AGENT_CPUS_MAX, c->blame_ns};
	const struct shares_conf shares = {.apps = c->apps, .apps_len = c->apps_len};

	if (!enough_descriptors(s))
		return;
	const struct pmu_conf pmu = {.events = c->events,
				     .events_len = c->events_len,
				     .tracepoints = s->tracepoints,
				     .scope = scope_of(s)};

	sampler_add(s->sampler, pmu_probe(&pmu));
	if (c->blame_ns >= 0)
		sampler_add(s->sampler, blame_probe(&blame, s->wakeup, s->wakeup_probe));
	if (c->shares)
		sampler_add(s->sampler, shares_probe(&shares));
	if (c->io)
		sampler_add(s->sampler, io_probe());
	if (c->locks)
		sampler_add(s->sampler, lock_probe());
}

int session_open(const struct session_conf *conf, struct session **ret, struct err *reterr)
{
	struct session *s CLEANUP(session_closep) = xcalloc(1, sizeof(*s));
	const struct agent_conf *c = conf->conf;
	const struct wakeup_conf wc = {
		.cpus = c->cpus,
		.cpus_len = AGENT_CPUS_MAX,
		.period_ns = c->period_ns,
		.policy = c->policy,
		.priority = c->priority,
		.use_dma_latency = c->use_dma_latency,
	};
	struct pmu_scope_conf scope;
	int r;

	s->conf = *conf;
	scope = scope_of(s);
	s->tracepoints = xasprintf("%s/" TRACEPOINTS_FILE, c->lock_dir);
	sysinfo_boot_id(s->boot_id);
	rights_housekeeping(c->housekeeping, c->cpus, AGENT_CPUS_MAX, &s->marks);
	r = wakeup_start(&wc, &s->wakeup, reterr);
	if (r)
		return r;
	collect_marks(s);
	s->sampler = sampler_new();
	s->wakeup_probe = wakeup_probe(s->wakeup);
	sampler_add(s->sampler, s->wakeup_probe);
	sampler_add(s->sampler, counters_probe(&scope));
	sampler_add(s->sampler, hardware_probe(""));
	if (c->system)
		sampler_add(s->sampler, system_probe(""));
	add_cause_probes(s);
	for (size_t i = 0; i < c->budgets_len; i++)
		sampler_budget(s->sampler, c->budgets[i].probe, c->budgets[i].part);
	bpfload_forget_kernel();
	*ret = TAKE(s);
	return 0;
}

void session_close(struct session *s)
{
	static const struct run_end e = {"aborted", "the agent was stopped", "stopped", NULL};

	if (!s)
		return;
	if (session_running(s))
		session_end(s, &e);
	sampler_free(s->sampler);
	wakeup_stop(s->wakeup);
	marks_done(&s->marks);
	marks_done(&s->run_marks);
	record_writer_done(&s->w);
	free(s->tracepoints);
	free(s);
}

void session_closep(struct session **s)
{
	session_close(TAKE(*s));
}

void session_add_probe(struct session *s, struct probe *p)
{
	CHECK(!session_running(s));
	sampler_add(s->sampler, p);
}

struct wakeup *session_wakeup(struct session *s)
{
	return s->wakeup;
}

const struct marks *session_marks(const struct session *s)
{
	return &s->marks;
}

bool session_running(const struct session *s)
{
	return s->phase != PHASE_NONE && s->generation == spool_generation(s->conf.spool);
}

static void append(struct session *s)
{
	spool_append(s->conf.spool, &s->w, s->run);
}

/* ---- the environment ---- */

/* One value when all threads have it, else "fifo:80 other:0" by CPU. */
static void put_effective(struct session *s, struct facts *f)
{
	struct strbuf out CLEANUP(strbuf_done) = {0};
	bool pinned = true, same = true;
	const struct wakeup_thread_info *first = NULL;

	for (size_t i = 0; i < wakeup_threads(s->wakeup); i++) {
		const struct wakeup_thread_info *t = wakeup_info(s->wakeup, i);

		if (!t->running)
			continue;
		if (!first)
			first = t;
		pinned &= t->pinned;
		same &= t->policy == first->policy && t->priority == first->priority;
		strbuf_printf(&out, "%scpu%d=%s:%d", out.len ? " " : "", t->cpu,
			      policy_name(t->policy), t->priority);
	}
	if (!first)
		return;
	if (same)
		facts_printf(f, "measure.policy", "%s:%d", policy_name(first->policy),
			     first->priority);
	else
		facts_set(f, "measure.policy", out.data);
	facts_set(f, "measure.pinned", pinned ? "yes" : "no");
}

static bool has_mark(const struct marks *m, const char *code)
{
	for (size_t i = 0; i < m->len; i++)
		if (!strcmp(m->v[i].code, code))
			return true;
	return false;
}

static void put_cpu_list(struct facts *f, const char *key, const bool *cpus)
{
	struct strbuf out CLEANUP(strbuf_done) = {0};

	for (int i = 0; i < AGENT_CPUS_MAX; i++) {
		int end = i;

		if (!cpus[i])
			continue;
		while (end + 1 < AGENT_CPUS_MAX && cpus[end + 1])
			end++;
		strbuf_printf(&out, end > i ? "%s%d-%d" : "%s%d", out.len ? "," : "", i, end);
		i = end;
	}
	if (out.len)
		facts_set(f, key, out.data);
}

static void collect_environment(struct session *s, const struct run_start *r, struct facts *f)
{
	const struct agent_conf *c = s->conf.conf;

	sysinfo_collect(f, "");
	put_effective(s, f);
	facts_set(f, "measure.memlock", has_mark(&s->marks, "no-memlock") ? "no" : "yes");
	facts_set(f, "measure.dma_latency",
		  !c->use_dma_latency			  ? "default"
		  : has_mark(&s->marks, "no-dma-latency") ? "default"
							  : "0");
	facts_set_number(f, "measure.period_ns", c->period_ns);
	put_cpu_list(f, "measure.cpus", c->cpus);
	for (size_t i = 0; r->tunables && i < r->tunables->len; i++)
		sysinfo_tunable(f, r->tunables->v[i].key, r->tunables->v[i].value);
}

/* ---- edges of a run ---- */

static void put_run_start(struct session *s, const struct run_start *r, const char *sha)
{
	struct strbuf j CLEANUP(strbuf_done) = {0};

	strbuf_printf(&j, "{\"run_uid\":\"%s\",\"kind\":\"%s\",\"host\":", r->run_uid, r->kind);
	json_put_string(&j, s->conf.conf->host);
	strbuf_printf(&j,
		      ",\"agent_version\":\"%s\",\"boot_id\":\"%s\",\"started_ns\":%lld,"
		      "\"environment_sha256\":\"%s\"",
		      RIGSTAT_VERSION, s->boot_id, (long long)s->started_ns, sha);
	if (r->json_extra && *r->json_extra)
		strbuf_printf(&j, ",%s", r->json_extra);
	strbuf_putc(&j, '}');
	record_item_json(&s->w, ITEM_RUN_START, j.data, j.len);
}

void session_begin(struct session *s, const struct run_start *r)
{
	struct facts f CLEANUP(facts_done) = {0};
	struct strbuf env CLEANUP(strbuf_done) = {0};
	char sha[SHA256_HEX];

	CHECK(!session_running(s) && strlen(r->run_uid) == 32);
	marks_done(&s->run_marks);
	s->generation = spool_generation(s->conf.spool);
	s->run = spool_new_run(s->conf.spool);
	snprintf(s->run_uid, sizeof(s->run_uid), "%s", r->run_uid);
	collect_environment(s, r, &f);
	facts_json(&f, &env);
	s->started_ns = clock_realtime_ns();
	s->measure_from_ns = s->measured_ns = 0;
	spool_set_open_run(s->conf.spool, s->run_uid);
	record_begin(&s->w);
	record_item_json(&s->w, ITEM_ENVIRONMENT, env.data, env.len);
	put_run_start(s, r, sha256_hex(env.data, env.len, sha));
	s->last_series = sampler_begin(s->sampler, &s->w);
	cost_read(&s->cost_begin);
	record_item_phase(&s->w, PHASE_WARM_UP, clock_realtime_ns());
	append(s);
	s->phase = PHASE_WARM_UP;
}

void session_workload(struct session *s, int pid)
{
	if (session_running(s))
		sampler_workload(s->sampler, pid);
}

void session_tick(struct session *s)
{
	if (!session_running(s))
		return;
	record_begin(&s->w);
	sampler_collect(s->sampler, s->phase == PHASE_MEASURED, false, &s->w);
	append(s);
}

void session_measure(struct session *s)
{
	if (!session_running(s))
		return;
	CHECK(s->phase == PHASE_WARM_UP);
	record_begin(&s->w);
	sampler_collect(s->sampler, false, true, &s->w);
	record_item_phase(&s->w, PHASE_MEASURED, clock_realtime_ns());
	append(s);
	s->measure_from_ns = clock_boottime_ns();
	s->phase = PHASE_MEASURED;
}

void session_measured(struct session *s)
{
	if (!session_running(s) || s->phase != PHASE_MEASURED)
		return;
	record_begin(&s->w);
	sampler_collect(s->sampler, true, true, &s->w);
	record_item_phase(&s->w, PHASE_AFTER, clock_realtime_ns());
	append(s);
	s->measured_ns = clock_boottime_ns() - s->measure_from_ns;
	s->phase = PHASE_AFTER;
}

void session_item(struct session *s, enum item_type type, const char *json, size_t len)
{
	if (!session_running(s))
		return;
	record_begin(&s->w);
	record_item_json(&s->w, type, json, len);
	append(s);
}

void session_value(struct session *s, const struct series_decl *d, double value)
{
	uint64_t number;

	if (!session_running(s))
		return;
	record_begin(&s->w);
	number = series_declare_more(&s->w, &s->last_series, d);
	record_item_value(&s->w, number, value);
	append(s);
}

int session_hist(struct session *s, const struct series_decl *d, const struct hist *h,
		 struct err *reterr)
{
	struct strbuf bytes CLEANUP(strbuf_done) = {0};
	uint64_t number;

	if (!session_running(s))
		return 0;
	hist_encode(h, &bytes);
	if (bytes.len > RECORD_MAX_LEN / 2)
		return err_set(reterr, ERR_LIMIT, "the histogram %s has too many buckets (%zu)",
			       d->metric, h->len);
	record_begin(&s->w);
	number = series_declare_more(&s->w, &s->last_series, d);
	record_item_hist_whole(&s->w, number, clock_realtime_ns(), &bytes, h->count);
	append(s);
	return 0;
}

void session_mark(struct session *s, const char *code, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	marks_add(&s->run_marks, code, "%s", text);
}

/* ---- the end of a run ---- */

static void put_marks(struct strbuf *j, struct session *s, const struct run_summary *sum)
{
	struct marks all = {0};

	for (size_t i = 0; i < s->marks.len; i++)
		marks_add(&all, s->marks.v[i].code, "%s", s->marks.v[i].text);
	for (size_t i = 0; i < sum->marks.len; i++)
		marks_add(&all, sum->marks.v[i].code, "%s", sum->marks.v[i].text);
	for (size_t i = 0; i < s->run_marks.len; i++)
		marks_add(&all, s->run_marks.v[i].code, "%s", s->run_marks.v[i].text);
	strbuf_puts(j, ",\"marks\":[");
	for (size_t i = 0; i < all.len; i++) {
		strbuf_printf(j, "%s{\"code\":\"%s\",\"text\":", i ? "," : "", all.v[i].code);
		json_put_string(j, all.v[i].text);
		strbuf_putc(j, '}');
	}
	strbuf_putc(j, ']');
	marks_done(&all);
}

static void put_cost(struct strbuf *j, const struct session *s, const struct run_summary *sum)
{
	struct cost c;

	cost_read(&c);
	cost_since(&s->cost_begin, &c);
	strbuf_printf(
		j,
		",\"cost\":{\"cpu_ns\":%lld,\"measure_cpu_ns\":%lld,\"rss_bytes\":%lld,"
		"\"rss_anon_bytes\":%lld,\"ctx_switches\":%lld,\"elapsed_ns\":%lld,\"probes\":[",
		(long long)c.cpu_ns, (long long)sum->measure_cpu_ns, (long long)c.rss_bytes,
		(long long)c.rss_anon_bytes, (long long)c.ctx_switches, (long long)c.elapsed_ns);
	sampler_put_costs(s->sampler, j);
	strbuf_puts(j, "]}");
}

static void put_states(struct strbuf *j, const struct run_summary *sum)
{
	strbuf_puts(j, ",\"states\":{");
	for (size_t i = 0; i < sum->states_len; i++) {
		strbuf_printf(j, "%s\"%llu\":{", i ? "," : "",
			      (unsigned long long)sum->states[i].series);
		if (sum->states[i].state)
			strbuf_printf(j, "\"state\":\"%s\",", sum->states[i].state);
		strbuf_puts(j, "\"reason\":");
		json_put_string(j, sum->states[i].reason);
		strbuf_putc(j, '}');
	}
	strbuf_putc(j, '}');
}

static void put_run_end(struct session *s, const struct run_end *e, struct strbuf *j)
{
	struct run_summary sum CLEANUP(run_summary_done);

	sampler_summary(s->sampler, &sum);
	strbuf_printf(j, "{\"run_uid\":\"%s\",\"state\":\"%s\",\"reason\":", s->run_uid, e->state);
	if (e->reason)
		json_put_string(j, e->reason);
	else
		strbuf_puts(j, "null");
	strbuf_printf(j,
		      ",\"window_end\":\"%s\",\"started_ns\":%lld,\"ended_ns\":%lld,"
		      "\"measured_ns\":%lld,\"workload\":%s",
		      e->window_end, (long long)s->started_ns, (long long)clock_realtime_ns(),
		      (long long)s->measured_ns, e->workload_json ? e->workload_json : "null");
	put_cost(j, s, &sum);
	strbuf_puts(j, ",\"missed\":{");
	for (size_t i = 0; i < sum.missed_len; i++)
		strbuf_printf(j, "%s\"%llu\":%llu", i ? "," : "",
			      (unsigned long long)sum.missed[i].series,
			      (unsigned long long)sum.missed[i].missed);
	strbuf_printf(j, "},\"lost\":%llu", (unsigned long long)sum.lost);
	put_states(j, &sum);
	put_marks(j, s, &sum);
	strbuf_putc(j, '}');
}

void session_end(struct session *s, const struct run_end *e)
{
	struct strbuf j CLEANUP(strbuf_done) = {0};

	session_measured(s);
	if (session_running(s)) {
		record_begin(&s->w);
		sampler_finish(s->sampler, &s->w, &s->last_series);
		append(s);
		put_run_end(s, e, &j);
		record_begin(&s->w);
		record_item_json(&s->w, ITEM_RUN_END, j.data, j.len);
		append(s);
		spool_set_open_run(s->conf.spool, NULL);
	}
	s->phase = PHASE_NONE;
}

void session_pause(struct session *s)
{
	CHECK(!session_running(s));
	wakeup_pause(s->wakeup);
}

int session_resume(struct session *s, struct err *reterr)
{
	int r = wakeup_resume(s->wakeup, reterr);

	collect_marks(s);
	return r;
}

void session_histogram(const struct session *s, struct hist *ret)
{
	hist_from_rec(ret, wakeup_probe_total(s->wakeup_probe));
}
