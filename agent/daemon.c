/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent daemon: watch runs without end, cut every hour, streamed as they grow. One loop
 * thread does everything but the measuring itself; fsync goes to libuv's pool. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <uv.h>

#include "agent/assignments.h"
#include "agent/resume.h"
#include "agent/command.h"
#include "agent/delivery.h"
#include "agent/heartbeat.h"
#include "agent/lock.h"
#include "agent/renewal.h"
#include "agent/session.h"
#include "agent/settings.h"
#include "agent/sysinfo.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/model/run.h"
#include "common/notify.h"

#define RESCAN_NS      (10 * NS_PER_SEC)
#define QUIET_DRAIN_NS (30 * NS_PER_SEC) /* between two quiet watch runs */

enum state {
	WATCHING, /* a run is open */
	PAUSED,	  /* an experiment holds measure.lock; asked again at each tick */
	DRAINING  /* quiet: delivering before the next run; ends when all is sent or in time */
};

struct daemon {
	uv_loop_t loop;
	uv_timer_t tick, watchdog;
	uv_signal_t signals[3];
	struct agent_conf conf;
	struct spool *spool;
	struct delivery *delivery;
	struct resume *resume;
	struct assignments *assignments; /* NULL: no server, or not wanted */
	struct heartbeat *heartbeat;	 /* NULL: no server */
	struct renewal *renewal;	 /* NULL: no server or no token */
	struct agent_conf base;	 /* as the box's own file says; only what a server may set */
	json_t *told, *settings; /* of the server: as last told, and as far as they can be used */
	char settings_text[400]; /* those in use */
	bool reopen;		 /* they are others than those of the session */
	char *const *options;
	struct session *session;
	struct measure_lock lock;
	enum state state;
	char boot_id[37];
	int64_t began_ns, run_began_ns, state_since_ns, rescan_ns;
	bool was_degraded, stopping;
};

static void set_quiet(struct daemon *d, bool quiet)
{
	spool_set_quiet(d->spool, quiet);
	delivery_hold(d->delivery, quiet);
	assignments_hold(d->assignments, quiet);
	heartbeat_hold(d->heartbeat, quiet);
	renewal_hold(d->renewal, quiet);
}

/* ---- the heartbeat ---- */

static const char *doing(const struct daemon *d)
{
	switch (d->state) {
	case WATCHING:
		return "watching";
	case PAUSED:
		return "experiment";
	case DRAINING:
		return "idle";
	}
	return "idle";
}

static void put_facts(void *user, struct heartbeat_facts *f)
{
	struct daemon *d = user;
	struct upload_stats upload;
	struct spool_stats spool;
	int64_t oldest = spool_oldest_ns(d->spool), now = clock_realtime_ns();

	spool_stats(d->spool, &spool);
	delivery_stats(d->delivery, &upload);
	f->doing = doing(d);
	if (d->state == PAUSED)
		measure_lock_holder(&d->lock, f->doing_text, sizeof(f->doing_text));
	memcpy(f->boot_id, d->boot_id, sizeof(f->boot_id));
	f->box_uptime_ns = clock_boottime_ns();
	f->uptime_ns = f->box_uptime_ns - d->began_ns;
	f->lag_ns = oldest && oldest < now ? now - oldest : 0;
	f->spool_bytes = spool.bytes + spool.ram_bytes;
	f->spool_records = spool.pending_records;
	if (spool.degraded)
		snprintf(f->spool_problem, sizeof(f->spool_problem), "%s", spool.reason);
	f->dropped_records = spool.dropped_records;
	f->dropped_samples = spool.dropped_samples;
	f->refused_records = upload.rejected_records;
	memcpy(f->settings, d->settings_text, sizeof(f->settings));
	f->error_ns = log_last_problem(f->error, sizeof(f->error));
}

static void begin_run(struct daemon *d)
{
	char uid[33], quiet[32] = "null", extra[300];
	const struct run_start r = {.run_uid = uid, .kind = "watch", .json_extra = extra};

	run_mint_uid(uid);
	if (d->conf.quiet)
		snprintf(quiet, sizeof(quiet), "%" PRId64, clock_realtime_ns() + d->conf.watch_ns);
	snprintf(extra, sizeof(extra),
		 "\"experiment\":null,\"factors\":{},\"order\":0,\"block\":0,\"attempt\":1,"
		 "\"warmup_ns\":0,\"duration_ns\":%" PRId64
		 ",\"workload\":null,\"tags\":{},\"quiet_until_ns\":%s",
		 d->conf.watch_ns, quiet);
	session_begin(d->session, &r);
	session_measure(d->session);
	d->run_began_ns = clock_boottime_ns();
	d->state = WATCHING;
	set_quiet(d, d->conf.quiet);
}

static void end_run(struct daemon *d, const char *reason, const char *window_end)
{
	const struct run_end e = {"ok", reason, window_end, NULL};

	session_end(d->session, &e);
	set_quiet(d, false);
}

static bool lock_is_quiet(struct daemon *d)
{
	char holder[200];

	measure_lock_holder(&d->lock, holder, sizeof(holder));
	return d->conf.quiet || strstr(holder, ", quiet");
}

static void pause_probes(struct daemon *d)
{
	log_info("an experiment measures this box: the daemon's probes pause");
	end_run(d, "an experiment took over the box", "stopped");
	session_pause(d->session);
	measure_lock_unwatch(&d->lock);
	/* The daemon's disk and network traffic would disturb the experiment, too. */
	set_quiet(d, true);
	d->state = PAUSED;
	/* The box is seen by the experiment's own records. A quiet one holds us back, too. */
	heartbeat_hold(d->heartbeat, lock_is_quiet(d));
	heartbeat_now(d->heartbeat);
}

/* ---- settings of the server ---- */

static void on_tick(uv_timer_t *t);

static int open_session(struct daemon *d, struct err *reterr)
{
	const struct session_conf conf = {.conf = &d->conf, .spool = d->spool};

	return session_open(&conf, &d->session, reterr);
}

/* A session with the settings as they are now. One that cannot be opened with them is opened
 * without, and the reason is told; then the next tick tries again. */
static int reopen(struct daemon *d, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	int r = settings_apply(&d->conf, &d->base, d->settings, reterr);
	uint64_t ms;

	session_close(TAKE(d->session));
	if (!r)
		r = open_session(d, reterr);
	if (r) {
		log_error("settings of the server: %s; the box's own stay in use", reterr->text);
		json_object_clear(d->settings);
		if (settings_apply(&d->conf, &d->base, d->settings, reterr) ||
		    open_session(d, reterr))
			return reterr->code;
	}
	settings_put_text(d->settings, &text);
	snprintf(d->settings_text, sizeof(d->settings_text), "%s", text.len ? text.data : "");
	log_info("settings of the server: %s", text.len ? d->settings_text : "none");
	ms = (uint64_t)(d->conf.interval_ns / NS_PER_MS);
	CHECK(!uv_timer_start(&d->tick, on_tick, ms, ms));
	d->reopen = false;
	return 0;
}

/* From the heartbeat: nothing to do while they are the same. */
static void on_greeting(void *user, const json_t *answer)
{
	const json_t *settings = json_object_get(answer, "settings");
	struct daemon *d = user;

	if (!json_is_object(settings) || json_equal(settings, d->told))
		return;
	json_decref(d->told);
	json_decref(d->settings);
	d->told = json_deep_copy(settings);
	d->settings = json_deep_copy(settings);
	d->reopen = true;
}

static void try_resume(struct daemon *d)
{
	struct err e;

	if (!measure_lock_watch(&d->lock))
		return;
	if (d->reopen || !d->session ? reopen(d, &e) : session_resume(d->session, &e)) {
		log_error("%s; trying again", e.text);
		measure_lock_unwatch(&d->lock);
		return;
	}
	log_info("the daemon's probes run again");
	begin_run(d);
	heartbeat_now(d->heartbeat);
}

/* The present watch run ends, the next one begins with the new settings. */
static void change_settings(struct daemon *d)
{
	struct err e;

	end_run(d, "settings of the server changed", "stopped");
	if (reopen(d, &e)) {
		log_error("%s; trying again", e.text);
		measure_lock_unwatch(&d->lock);
		d->state = PAUSED;
		return;
	}
	begin_run(d);
	heartbeat_now(d->heartbeat);
}

static void watch(struct daemon *d, int64_t now)
{
	if (measure_lock_wanted(&d->lock)) {
		pause_probes(d);
		return;
	}
	if (d->reopen) {
		change_settings(d);
		return;
	}
	if (!session_running(d->session)) { /* the stream was forked away under it */
		begin_run(d);
		return;
	}
	session_tick(d->session);
	if (now - d->run_began_ns + d->conf.interval_ns / 2 < d->conf.watch_ns)
		return; /* not at the tick that is nearest to the end */
	end_run(d, NULL, "duration");
	d->state_since_ns = now;
	d->state = DRAINING;
	if (!d->conf.quiet)
		begin_run(d);
}

static void report_spool(struct daemon *d)
{
	struct spool_stats st;

	spool_stats(d->spool, &st);
	if (st.degraded && !d->was_degraded)
		log_warn("spool: %s; records stay in memory until it works", st.reason);
	if (!st.degraded && d->was_degraded)
		log_info("spool: %s works again", d->conf.spool_dir);
	d->was_degraded = st.degraded;
}

static void on_tick(uv_timer_t *t)
{
	struct daemon *d = t->data;
	int64_t now = clock_boottime_ns();

	switch (d->state) {
	case WATCHING:
		watch(d, now);
		break;
	case PAUSED:
		try_resume(d);
		break;
	case DRAINING:
		if (delivery_done(d->delivery) || now - d->state_since_ns > QUIET_DRAIN_NS)
			begin_run(d);
		break;
	}
	if (now >= d->rescan_ns) {
		spool_rescan(d->spool);
		d->rescan_ns = now + RESCAN_NS;
	}
	report_spool(d);
	delivery_kick(d->delivery);
}

static void on_watchdog(uv_timer_t *t)
{
	(void)t;
	notify_service("WATCHDOG=1");
}

/* On the loop, and not with the ticks, which may be a minute apart. */
static void start_watchdog(struct daemon *d)
{
	uint64_t ms = (uint64_t)(notify_watchdog_ns() / NS_PER_MS);

	CHECK(!uv_timer_init(&d->loop, &d->watchdog));
	if (ms)
		CHECK(!uv_timer_start(&d->watchdog, on_watchdog, ms, ms));
}

static void stop_signals(struct daemon *d)
{
	for (size_t i = 0; i < ARRAY_LEN(d->signals); i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
	uv_close((uv_handle_t *)&d->watchdog, NULL);
}

static void stop(struct daemon *d)
{
	if (d->stopping)
		return;
	d->stopping = true;
	notify_service("STOPPING=1");
	if (d->state == WATCHING)
		end_run(d, "the agent was stopped", "stopped");
	set_quiet(d, false);
	uv_close((uv_handle_t *)&d->tick, NULL);
	stop_signals(d);
	assignments_close(TAKE(d->assignments));
	resume_close(TAKE(d->resume));
	heartbeat_close(TAKE(d->heartbeat));
	renewal_close(TAKE(d->renewal));
	delivery_close(TAKE(d->delivery));
}

static void on_signal(uv_signal_t *h, int number)
{
	struct daemon *d = h->data;

	if (number == SIGHUP) {
		notify_service("RELOADING=1");
		delivery_reload_token(d->delivery);
		notify_service("READY=1");
		return;
	}
	log_info("signal %d: flushing and ending", number);
	stop(d);
}

/* Before anything that takes time, so that a signal is never the default's sudden death. */
static void start_signals(struct daemon *d)
{
	static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		CHECK(!uv_signal_init(&d->loop, &d->signals[i]));
		d->signals[i].data = d;
		CHECK(!uv_signal_start(&d->signals[i], on_signal, numbers[i]));
	}
}

static void start_tick(struct daemon *d)
{
	uint64_t ms = (uint64_t)(d->conf.interval_ns / NS_PER_MS);

	CHECK(!uv_timer_init(&d->loop, &d->tick));
	d->tick.data = d;
	CHECK(!uv_timer_start(&d->tick, on_tick, ms, ms));
}

static int open_spool(struct daemon *d, struct err *reterr)
{
	const struct spool_conf sc = {
		.dir = d->conf.spool_dir,
		.host = d->conf.host,
		.sync = d->conf.sync,
		.bytes_max = d->conf.spool_bytes_max,
		.free_min = d->conf.spool_free_min,
		.exclusive = true,
	};

	return spool_open(&sc, &d->spool, reterr);
}

static int open_parts(struct daemon *d, struct err *reterr)
{
	const struct heartbeat_conf hc = {
		.agent = &d->conf, .facts = put_facts, .on_answer = on_greeting, .user = d};
	int r = measure_lock_open(&d->lock, d->conf.lock_dir, reterr);

	if (!r)
		r = open_spool(d, reterr);
	if (r)
		return r;
	d->base = d->conf; /* its pointers are never used */
	d->told = json_object();
	d->settings = json_object();
	r = open_session(d, reterr);
	if (!r)
		r = delivery_open(&d->loop, &d->conf, d->spool, &d->delivery, reterr);
	if (!r && d->conf.experiments)
		r = assignments_open(&d->loop, &d->conf, d->options, &d->assignments, reterr);
	if (!r)
		resume_open(&d->loop, &d->conf, d->options, &d->resume);
	if (!r)
		r = heartbeat_open(&d->loop, &hc, &d->heartbeat, reterr);
	if (!r)
		d->renewal = renewal_open(&d->loop, &d->conf);
	return r;
}

static void say_hello(const struct daemon *d)
{
	const struct marks *m = session_marks(d->session);

	for (size_t i = 0; i < m->len; i++)
		log_warn("%s: %s", m->v[i].code, m->v[i].text);
	if (d->conf.server)
		log_info("host %s, stream %s, delivering to %s", d->conf.host,
			 spool_stream(d->spool), d->conf.server);
	else
		log_warn("no server is given (--server URL, RIGSTAT_SERVER or `server =` in "
			 "/etc/rigstat/agent.conf): records are only written to %s",
			 d->conf.spool_dir);
}

static void first_run(struct daemon *d)
{
	if (measure_lock_watch(&d->lock)) {
		begin_run(d);
		return;
	}
	log_info("an experiment measures this box: the daemon waits");
	session_pause(d->session);
	d->state = PAUSED;
}

static int run_daemon(struct daemon *d, struct err *reterr)
{
	int r;

	notify_init();
	d->began_ns = clock_boottime_ns();
	sysinfo_boot_id(d->boot_id);
	CHECK(!uv_loop_init(&d->loop));
	start_signals(d);
	start_watchdog(d);
	r = open_parts(d, reterr);
	if (!r) {
		say_hello(d);
		first_run(d);
		start_tick(d);
		notify_service("READY=1");
	} else {
		stop_signals(d);
	}
	uv_run(&d->loop, UV_RUN_DEFAULT);
	session_close(d->session);
	json_decref(d->told);
	json_decref(d->settings);
	spool_close(d->spool);
	measure_lock_close(&d->lock);
	CHECK(!uv_loop_close(&d->loop));
	return r;
}

/* Options of `run` that the experiments of a server get, too. */
static int take_run_option(void *user, int argc, char **argv, struct err *reterr)
{
	static const char *const names[] = {"--journal", "--tunables-dir", "--workloads-dir",
					    "--tune-socket"};

	(void)user;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t len = strlen(names[i]);

		if (strncmp(argv[0], names[i], len) != 0)
			continue;
		if (argv[0][len] == '=')
			return 1;
		if (!argv[0][len])
			return argc > 1
				       ? 2
				       : err_set(reterr, ERR_INVALID, "%s needs a value", names[i]);
	}
	return 0;
}

int cmd_daemon(int argc, char **argv)
{
	struct daemon d = {.lock.fd = -1, .options = argv + 1};
	bool help;
	int rest, r;
	struct err e;

	agent_conf_init(&d.conf);
	r = agent_conf_args(&d.conf, argc, argv, take_run_option, NULL, &rest, &help, &e);
	if (!r && help) {
		printf("usage: rigstat-agent daemon [OPTIONS]\n\nMeasures all the time and streams "
		       "to the server.\n\n%s",
		       agent_conf_help);
	} else {
		if (!r && rest != argc)
			r = err_set(&e, ERR_INVALID, "daemon takes no argument \"%s\"", argv[rest]);
		if (!r)
			r = run_daemon(&d, &e);
	}
	if (r)
		log_error("%s", e.text);
	agent_conf_done(&d.conf);
	return r ? err_exit_status(r) : 0;
}
