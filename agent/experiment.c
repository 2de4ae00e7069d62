/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine that carries out a design. One loop, one thread; each state says what it waits for.
 * Settings are changed between runs only, by blocking calls: nothing is measured then. */
#include "agent/experiment.h"

#include <signal.h>
#include <unistd.h>

#include "agent/facts.h"
#include "agent/parse.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/model/run.h"
#include "common/parse.h"

#define LOG_BYTES_MAX	(1u << 20)
#define PARSE_BYTES_MAX (64u << 20)
#define SETTLE_NS	(2 * NS_PER_SEC)
#define TAIL_LINES	10
#define QUIET_MARGIN_NS (5 * NS_PER_SEC) /* for setting up and for the workload's end */

enum state {
	S_WARMUP,   /* the phase timer; or the workload, which ends too early then */
	S_MEASURED, /* the phase timer or the workload, whichever comes first */
	S_ENDING,   /* on_workload_end: the workload's process group is gone */
	S_SETTLING, /* quiet only: the server has what was held back, or the phase timer */
	S_DRAINING, /* at the end: the server has everything, or the phase timer */
	S_CLOSING,  /* the loop closes its handles */
};

struct experiment {
	const struct experiment_conf *conf;
	const struct experiment_parts *parts;
	struct experiment_result *result;
	uv_loop_t loop;
	uv_timer_t tick, phase;
	uv_signal_t sigint, sigterm, sighup, pause_on, pause_off;
	struct delivery *delivery;
	enum state state;
	struct tunable_client *tunables;
	size_t index;		 /* of the present or next run in the design */
	uint32_t attempt, tries; /* of the run, ever and in this process */
	bool stop;		 /* no further run */
	bool pause;		 /* end after the present run, to go on later */

	/* the present run */
	struct workload *workload; /* NULL: none, or it has ended */
	struct workload_result ended;
	bool has_ended, run_aborted;
	const char *window_end;
	char fault[500]; /* why the run failed; "" */
	int64_t run_began_ns, phase_began_ns;

	int rc; /* why the experiment cannot go on; 0 */
	struct err err;
};

static void next_run(struct experiment *x);
static void after_run(struct experiment *x);
static void on_phase(uv_timer_t *timer);

static const struct design_run *present(const struct experiment *x)
{
	return &x->conf->design.runs[x->index];
}

static void wait_phase(struct experiment *x, enum state state, int64_t ns)
{
	x->state = state;
	x->phase_began_ns = clock_monotonic_ns();
	uv_update_time(&x->loop);
	if (ns >= 0)
		uv_timer_start(&x->phase, on_phase, (uint64_t)((ns + NS_PER_MS - 1) / NS_PER_MS),
			       0);
	else
		uv_timer_stop(&x->phase);
}

/* The experiment cannot go on; the first reason counts. */
static void give_up(struct experiment *x, const struct err *err)
{
	x->stop = true;
	if (x->rc)
		return;
	x->rc = err->code;
	x->err = *err;
}

static void set_fault(struct experiment *x, const char *text)
{
	if (!*x->fault)
		(void)snprintf(x->fault, sizeof(x->fault), "%s", text);
	experiment_clean(x->fault);
}

/* ---- settings ---- */

static int apply_settings(struct experiment *x, struct err *reterr)
{
	const struct design *d = &x->conf->design;
	int rc = 0;

	if (x->conf->unfit)
		return err_set(reterr, ERR_CONFLICT, "%s", x->conf->unfit);
	for (size_t i = 0; !rc && i < d->factors_len; i++)
		if (d->factors[i].tune && !d->factors[i].boot)
			rc = tunable_set(x->tunables, d->factors[i].name,
					 design_level(d, present(x)->cell, i), reterr);
	return rc;
}

/* Did the settings hold until the end of the window? */
static void verify_settings(struct experiment *x)
{
	const struct design *d = &x->conf->design;
	struct err err;

	for (size_t i = 0; i < d->factors_len; i++) {
		if (!d->factors[i].tune || d->factors[i].boot || x->conf->unfit ||
		    !tunable_verify(x->tunables, d->factors[i].name, &err))
			continue;
		session_mark(x->parts->session, "tunable-changed", "%s", err.text);
		set_fault(x, err.text);
		give_up(x, &err);
	}
}

static void restore_settings(struct experiment *x)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct err err;
	int rc;

	if (!x->tunables)
		return;
	rc = tunable_restore(x->tunables, &report, &err);
	if (rc == ERR_REMOTE) {
		/* the helper was killed: a new one recovers from the journal */
		tunable_close(TAKE(x->tunables));
		rc = tunable_open(&x->conf->tunable, &x->tunables, &report, &err);
	}
	if (report.len)
		progress_note(x->parts->progress, "settings: %.*s", (int)report.len - 1,
			      report.data);
	if (rc)
		give_up(x, &err);
	tunable_close(TAKE(x->tunables));
}

static size_t runs_end(const struct experiment_conf *conf)
{
	return conf->end ? conf->end : conf->design.runs_len;
}

/* The next run that was not done by an earlier process. */
static void find_next(struct experiment *x)
{
	size_t end = runs_end(x->conf);

	while (x->index < end && planlog_is_done(x->parts->planlog, present(x)->order))
		x->index++;
	x->tries = 1;
	x->attempt = 1;
	if (x->index < end)
		x->attempt += planlog_attempts(x->parts->planlog, present(x)->order);
}

/* An earlier process met a failure at which the plan stops. */
static void take_history(struct experiment *x)
{
	planlog_count(x->parts->planlog, &x->result->earlier_ok, &x->result->earlier_failed);
	x->stop = x->result->earlier_failed && x->conf->stop_on_failure;
	find_next(x);
}

/* ---- the window of a run ---- */

static void put_environment(struct experiment *x, struct facts *f)
{
	const struct design *d = &x->conf->design;

	for (size_t i = 0; i < d->factors_len; i++)
		if (d->factors[i].tune)
			facts_set(f, d->factors[i].name, design_level(d, present(x)->cell, i));
}

static void set_quiet(struct experiment *x, bool quiet)
{
	if (!x->parts->agent->quiet)
		return;
	spool_set_quiet(x->parts->spool, quiet);
	delivery_hold(x->delivery, quiet);
	delivery_kick(x->delivery);
}

static void begin_session(struct experiment *x)
{
	CLEANUP(strbuf_done) struct strbuf extra = {0}, cell = {0};
	CLEANUP(facts_done) struct facts tunables = {0};
	char uid[33];
	struct run_start start = {.run_uid = uid, .kind = "measured", .tunables = &tunables};
	int64_t quiet_until = 0;

	if (x->parts->agent->quiet)
		quiet_until = clock_realtime_ns() + QUIET_MARGIN_NS + x->conf->warmup_ns +
			      (x->conf->duration_ns ? x->conf->duration_ns : 3600 * NS_PER_SEC);
	run_mint_uid(uid);
	experiment_put_start(x->conf, present(x), x->attempt, quiet_until, &extra);
	start.json_extra = extra.data;
	put_environment(x, &tunables);
	design_put_cell(&x->conf->design, present(x)->cell, &cell);
	planlog_begin(x->parts->planlog, present(x)->order, x->attempt, uid, cell.data);
	session_begin(x->parts->session, &start);
	delivery_kick(x->delivery); /* the start goes out before quiet begins */
	set_quiet(x, true);
}

static char *log_path(struct experiment *x)
{
	return xasprintf("%s/%s-%.8s-run%u-attempt%u.log", x->conf->log_dir, x->conf->name,
			 x->conf->uid, present(x)->order, x->attempt);
}

/* RIGSTAT_FACTOR_*, RIGSTAT_RUN, ... for the workload; ended by NULL. */
static char **make_env(struct experiment *x)
{
	const struct design *d = &x->conf->design;
	char **env = xcalloc(d->factors_len + 5, sizeof(*env));
	size_t n = 0;

	for (size_t i = 0; i < d->factors_len; i++) {
		CLEANUP(freep) char *name = design_env_name(d->factors[i].name);

		env[n++] = xasprintf("%s=%s", name, design_level(d, present(x)->cell, i));
	}
	env[n++] = xasprintf("RIGSTAT_RUN=%u", present(x)->order);
	env[n++] = xasprintf("RIGSTAT_BLOCK=%u", present(x)->block);
	env[n++] = xasprintf("RIGSTAT_UID=%s", x->conf->uid);
	env[n++] = xasprintf("RIGSTAT_EXPERIMENT=%s", x->conf->name);
	return env;
}

static void on_workload_exit(void *user, const struct workload_result *r);
static void on_workload_end(void *user);

static void on_workload_forked(void *user, int pid)
{
	struct experiment *x = user;

	session_workload(x->parts->session, pid);
}

static uint64_t log_bytes_max(const struct experiment_conf *conf)
{
	return conf->parse ? PARSE_BYTES_MAX : LOG_BYTES_MAX;
}

static int start_workload(struct experiment *x, struct err *reterr)
{
	CLEANUP(freep) char *path = log_path(x);
	struct workload_conf wc = {.argv = x->conf->argv,
				   .directory = x->conf->workload_dir,
				   .cpus = &x->conf->cpus,
				   .log_path = path,
				   .log_bytes_max = log_bytes_max(x->conf),
				   .grace_ns = x->conf->grace_ns,
				   .before_exec = on_workload_forked};
	char **env;
	int rc;

	if (!x->conf->argv)
		return 0;
	wc.env = env = make_env(x);
	rc = workload_start(&x->loop, &wc, on_workload_exit, on_workload_end, x, &x->workload,
			    reterr);
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
	return rc;
}

/* The window is over, or there was none: no more measuring, then wait for the workload. */
static void end_window(struct experiment *x, const char *window_end)
{
	if (x->state == S_MEASURED)
		session_measured(x->parts->session);
	x->window_end = window_end;
	wait_phase(x, S_ENDING, -1);
	if (x->workload && !x->has_ended)
		workload_stop(x->workload, false);
	if (!x->workload)
		after_run(x);
}

static void begin_measuring(struct experiment *x)
{
	session_measure(x->parts->session);
	wait_phase(x, S_MEASURED, x->conf->duration_ns ? x->conf->duration_ns : -1);
}

static void on_workload_exit(void *user, const struct workload_result *r)
{
	struct experiment *x = user;
	char buf[100];
	const char *fault = experiment_fault(r, buf);

	x->ended = *r;
	x->has_ended = true;
	if (fault)
		set_fault(x, fault);
	if (x->state == S_WARMUP)
		set_fault(x, "the workload ended in the warm-up: nothing was measured");
	if (x->state == S_WARMUP || x->state == S_MEASURED)
		end_window(x, "workload");
}

static void on_workload_end(void *user)
{
	after_run(user);
}

static void begin_run(struct experiment *x)
{
	CLEANUP(strbuf_done) struct strbuf cell = {0};
	struct err err;
	int rc;

	x->has_ended = x->run_aborted = false;
	x->window_end = "stopped";
	*x->fault = '\0';
	x->run_began_ns = clock_monotonic_ns();
	design_put_cell(&x->conf->design, present(x)->cell, &cell);
	progress_begin(x->parts->progress, present(x)->order, cell.data);
	progress_show(x->parts->progress, "setting up");
	rc = apply_settings(x, &err);
	begin_session(x);
	wait_phase(x, S_WARMUP, x->conf->warmup_ns);
	if (!rc && !x->conf->warmup_ns)
		begin_measuring(x);
	if (!rc)
		rc = start_workload(x, &err);
	if (!rc)
		return;
	set_fault(x, err.text);
	if (!x->conf->unfit)
		give_up(x, &err);
	end_window(x, "stopped");
}

/* ---- after a run ---- */

static int64_t middle(struct hist_quantile q)
{
	return q.hi == INT64_MAX ? q.lo : q.lo + (q.hi - q.lo) / 2;
}

static void read_latency(struct experiment *x, struct run_result *r)
{
	CLEANUP(hist_done) struct hist h = {0};

	session_histogram(x->parts->session, &h);
	r->has_latency = h.count > 0;
	if (!r->has_latency)
		return;
	r->p50_ns = middle(hist_quantile(&h, 0.5));
	r->p99_ns = middle(hist_quantile(&h, 0.99));
	r->max_ns = h.max;
}

static void tell_outcome(struct experiment *x, const struct run_result *r, const char *state)
{
	char p50[40], p99[40], max[40];
	CLEANUP(freep) char *text = NULL;

	if (*x->fault)
		text = xasprintf("%s: %s", state, x->fault);
	else if (r->has_latency)
		text = xasprintf("%s, wake-up p50 %s, p99 %s, max %s", state,
				 format_ns((double)r->p50_ns, p50, sizeof(p50)),
				 format_ns((double)r->p99_ns, p99, sizeof(p99)),
				 format_ns((double)r->max_ns, max, sizeof(max)));
	else
		text = xasprintf("%s, no wake-up was measured", state);
	progress_end(x->parts->progress, clock_monotonic_ns() - x->run_began_ns, text);
}

static void show_tail(struct experiment *x)
{
	CLEANUP(strbuf_done) struct strbuf tail = {0};
	CLEANUP(freep) char *path = log_path(x);

	if (!x->workload || !*x->fault)
		return;
	workload_tail(x->workload, TAIL_LINES, &tail);
	if (tail.len)
		progress_note(x->parts->progress, "    the workload's last lines (all: %s):\n%s",
			      path, tail.data);
}

/* Times of a workload that ran to its own end are results; cut off, they say nothing. */
static void put_values(struct experiment *x)
{
	static const char method[] = "wait4/1";
	const struct workload_result *r = &x->ended;
	const struct {
		const char *metric, *unit;
		int64_t value;
	} values[] = {{"elapsed", "ns", r->elapsed_ns},
		      {"user_time", "ns", r->user_ns},
		      {"sys_time", "ns", r->sys_ns},
		      {"max_rss", "bytes", r->max_rss_bytes}};

	if (!x->has_ended || r->stopped || *x->fault)
		return;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		const struct series_decl d = {.metric = values[i].metric,
					      .kind = "value",
					      .unit = values[i].unit,
					      .method = method,
					      .state = "exact"};

		session_value(x->parts->session, &d, (double)values[i].value);
	}
}

/* The workload as a measuring tool. What cannot be read is a failed run: without its figures the
 * run is not what was asked for. */
static void parse_workload(struct experiment *x)
{
	CLEANUP(freep) char *path = log_path(x);
	CLEANUP(freep) char *text = NULL;
	struct err err;

	if (!x->conf->parse || !x->has_ended || *x->fault || x->run_aborted)
		return;
	if (!parse_output(x->parts->session, path, log_bytes_max(x->conf), x->conf->parse, &err))
		return;
	text = xasprintf("--parse %s: %s", x->conf->parse, err.text);
	set_fault(x, text);
}

static void end_session(struct experiment *x, const char *state)
{
	CLEANUP(strbuf_done) struct strbuf workload = {0};
	struct run_end end = {
		.state = state, .reason = *x->fault ? x->fault : NULL, .window_end = x->window_end};

	if (x->has_ended) {
		experiment_put_workload(&x->ended, &workload);
		end.workload_json = workload.data;
	}
	session_end(x->parts->session, &end);
}

static void keep_result(struct experiment *x, bool ok)
{
	struct experiment_result *res = x->result;
	struct run_result *r;

	GROW(res->runs, res->len, res->cap);
	r = &res->runs[res->len++];
	*r = (struct run_result){.cell = present(x)->cell, .ok = ok};
	read_latency(x, r);
	res->failed += !ok && !x->run_aborted;
	res->aborted += x->run_aborted;
}

/* First the run's end is on the disk, then the note that it is done: killed in between, the run is
 * done once more rather than never. */
static void note_end(struct experiment *x, const char *state)
{
	const struct run_result *r = &x->result->runs[x->result->len - 1];
	bool again = !r->ok && !x->run_aborted && x->tries <= x->conf->retries && !x->stop;

	if (!x->parts->planlog)
		return;
	spool_sync_now(x->parts->spool);
	planlog_end(x->parts->planlog, present(x)->order, x->attempt,
		    &(struct planlog_outcome){
			    again ? "again" : state, r->has_latency ? r->p50_ns : -1,
			    r->has_latency ? r->p99_ns : -1, r->has_latency ? r->max_ns : -1});
}

/* Everything of the run is known; the workload's group is gone. */
static void after_run(struct experiment *x)
{
	const char *state;
	bool ok;

	verify_settings(x);
	parse_workload(x);
	ok = !*x->fault && !x->run_aborted;
	state = x->run_aborted ? "aborted" : ok ? "ok" : "failed";
	put_values(x);
	end_session(x, state);
	keep_result(x, ok);
	tell_outcome(x, &x->result->runs[x->result->len - 1], state);
	show_tail(x);
	note_end(x, state);
	if (x->workload)
		workload_close(TAKE(x->workload));
	set_quiet(x, false);
	if (!ok && x->tries <= x->conf->retries && !x->stop && !x->conf->unfit) {
		x->attempt++;
		x->tries++;
	} else {
		x->stop |= !ok && x->conf->stop_on_failure && !x->conf->unfit;
		if (x->conf->run_done && !x->run_aborted)
			x->stop |= !x->conf->run_done(x->conf->run_done_user, x->index, ok);
		x->index++;
		find_next(x);
	}
	delivery_kick(x->delivery);
	if (x->parts->agent->quiet && !delivery_done(x->delivery))
		wait_phase(x, S_SETTLING, SETTLE_NS);
	else
		next_run(x);
}

/* ---- the end ---- */

static void close_all(struct experiment *x)
{
	struct spool_stats spool;
	struct upload_stats upload;

	x->state = S_CLOSING;
	spool_stats(x->parts->spool, &spool);
	x->result->left = spool.pending_records;
	delivery_stats(x->delivery, &upload);
	x->result->delivered = delivery_done(x->delivery);
	snprintf(x->result->problem, sizeof(x->result->problem), "%s", upload.problem);
	delivery_close(TAKE(x->delivery));
	uv_close((uv_handle_t *)&x->tick, NULL);
	uv_close((uv_handle_t *)&x->phase, NULL);
	uv_close((uv_handle_t *)&x->sigint, NULL);
	uv_close((uv_handle_t *)&x->sigterm, NULL);
	uv_close((uv_handle_t *)&x->sighup, NULL);
	uv_close((uv_handle_t *)&x->pause_on, NULL);
	uv_close((uv_handle_t *)&x->pause_off, NULL);
}

static void finish(struct experiment *x)
{
	restore_settings(x);
	session_pause(x->parts->session); /* nothing is measured any more */
	wait_phase(x, S_DRAINING, x->conf->drain_ns);
	delivery_kick(x->delivery);
	if (delivery_done(x->delivery))
		close_all(x);
}

static void next_run(struct experiment *x)
{
	bool over = x->index == runs_end(x->conf);

	x->result->paused = x->pause && !over && !x->stop;
	if (x->stop || over || x->pause)
		finish(x);
	else
		begin_run(x);
}

/* ---- events ---- */

static void on_phase(uv_timer_t *timer)
{
	struct experiment *x = timer->data;

	switch (x->state) {
	case S_WARMUP:
		begin_measuring(x);
		break;
	case S_MEASURED:
		end_window(x, "duration");
		break;
	case S_SETTLING:
		next_run(x);
		break;
	case S_DRAINING:
		close_all(x);
		break;
	case S_ENDING:
	case S_CLOSING:
		break;
	}
}

static void show_phase(struct experiment *x)
{
	int64_t spent = (clock_monotonic_ns() - x->phase_began_ns) / NS_PER_SEC;
	char text[80];

	if (x->state == S_WARMUP)
		snprintf(text, sizeof(text), "warming up, %lld of %lld s", (long long)spent,
			 (long long)(x->conf->warmup_ns / NS_PER_SEC));
	else if (x->state == S_MEASURED && x->conf->duration_ns)
		snprintf(text, sizeof(text), "measuring, %lld of %lld s", (long long)spent,
			 (long long)(x->conf->duration_ns / NS_PER_SEC));
	else if (x->state == S_MEASURED)
		snprintf(text, sizeof(text), "measuring, %lld s", (long long)spent);
	else if (x->state == S_ENDING)
		snprintf(text, sizeof(text), "the workload ends");
	else
		snprintf(text, sizeof(text), "sending to the server");
	progress_show(x->parts->progress, text);
}

static void on_tick(uv_timer_t *timer)
{
	struct experiment *x = timer->data;

	session_tick(x->parts->session);
	spool_tick(x->parts->spool);
	delivery_kick(x->delivery);
	show_phase(x);
	if (x->state == S_SETTLING && delivery_done(x->delivery)) {
		uv_timer_stop(&x->phase);
		next_run(x);
	} else if (x->state == S_DRAINING && delivery_done(x->delivery)) {
		close_all(x);
	}
}

/* The first signal ends the present run and puts everything back, the second does not wait. */
static void on_signal(uv_signal_t *handle, int signum)
{
	struct experiment *x = handle->data;
	bool again = x->result->interrupted;

	if (x->state == S_CLOSING)
		return;
	x->stop = x->result->interrupted = true;
	x->result->signal = signum;
	progress_note(x->parts->progress, "%s: ending%s", strsignal(signum),
		      again ? " at once" : "; once more to end at once");
	if (x->state == S_WARMUP || x->state == S_MEASURED) {
		x->run_aborted = true;
		set_fault(x, "stopped by a signal");
		end_window(x, "stopped");
	} else if (x->state == S_SETTLING) {
		next_run(x);
	} else if (x->state == S_DRAINING && again) {
		close_all(x);
	}
	if (again && x->workload)
		workload_stop(x->workload, true);
}

/* SIGUSR1: pause after the present run; SIGUSR2: go on after all. */
static void on_pause(uv_signal_t *handle, int signum)
{
	struct experiment *x = handle->data;

	if (!x->parts->planlog) {
		progress_note(x->parts->progress,
			      "%s: only an experiment with --plan-file can pause",
			      strsignal(signum));
		return;
	}
	x->pause = signum == SIGUSR1;
	progress_note(x->parts->progress,
		      x->pause ? "told to pause: ends after this run" : "told to go on");
	if (x->pause && x->state == S_SETTLING)
		next_run(x);
}

static void watch_signal(struct experiment *x, uv_signal_t *handle, int signum, uv_signal_cb cb)
{
	CHECK(uv_signal_init(&x->loop, handle) == 0);
	handle->data = x;
	CHECK(uv_signal_start(handle, cb, signum) == 0);
}

static void open_loop(struct experiment *x)
{
	uint64_t ms = (uint64_t)(x->parts->agent->interval_ns / NS_PER_MS);

	CHECK(uv_timer_init(&x->loop, &x->tick) == 0);
	CHECK(uv_timer_init(&x->loop, &x->phase) == 0);
	x->tick.data = x->phase.data = x;
	CHECK(uv_timer_start(&x->tick, on_tick, ms, ms) == 0);
	watch_signal(x, &x->sigint, SIGINT, on_signal);
	watch_signal(x, &x->sigterm, SIGTERM, on_signal);
	watch_signal(x, &x->sighup, SIGHUP, on_signal);
	watch_signal(x, &x->pause_on, SIGUSR1, on_pause);
	watch_signal(x, &x->pause_off, SIGUSR2, on_pause);
}

int experiment_run(const struct experiment_conf *conf, const struct experiment_parts *parts,
		   struct experiment_result *ret, struct err *reterr)
{
	struct experiment x = {.conf = conf,
			       .parts = parts,
			       .result = ret,
			       .tunables = parts->tunables,
			       .index = conf->first};
	int64_t began_ns = clock_monotonic_ns();
	int rc;

	CHECK(uv_loop_init(&x.loop) == 0);
	rc = delivery_open(&x.loop, parts->agent, parts->spool, &x.delivery, reterr);
	if (rc) {
		tunable_close(x.tunables);
		CHECK(uv_loop_close(&x.loop) == 0);
		return rc;
	}
	open_loop(&x);
	take_history(&x);
	next_run(&x);
	uv_run(&x.loop, UV_RUN_DEFAULT);
	CHECK(uv_loop_close(&x.loop) == 0);
	ret->elapsed_ns = clock_monotonic_ns() - began_ns;
	if (x.rc)
		*reterr = x.err;
	return x.rc;
}

void experiment_result_done(struct experiment_result *r)
{
	free(r->runs);
	*r = (struct experiment_result){0};
}
