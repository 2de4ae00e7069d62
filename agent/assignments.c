/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/assignments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/random.h>

#include "agent/assignment.h"
#include "agent/boot_plan.h"
#include "agent/child.h"
#include "agent/command.h"
#include "agent/facts.h"
#include "agent/serverlink.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/ini.h"
#include "common/log.h"
#include "common/parse.h"

#define WAIT_S		  25
#define ASK_TIMEOUT_NS	  (40 * NS_PER_SEC)
#define REPORT_TIMEOUT_NS (10 * NS_PER_SEC)
#define REPORT_EVERY_MS	  5000
#define REST_MIN_MS	  1000
#define REST_MAX_MS	  60000
#define TEXT_MAX	  1500
#define TAIL_LINES	  25
#define PLANS_KEPT_S	  (30 * 86400) /* of experiments that were never finished */

enum state {
	A_RESTING,   /* the timer, then we ask */
	A_ASKING,    /* the server's answer, which may take WAIT_S */
	A_RUNNING,   /* the child's end; the timer, at which we report that it runs */
	A_REPORTING, /* the server's answer to the final report; or the timer, to try again */
	A_CLOSING,   /* the child's end and the closing of handles */
};

struct assignments {
	uv_loop_t *loop;
	const struct agent_conf *conf;
	char *const *options;
	struct serverlink *link;
	uv_timer_t timer;
	enum state state;
	uint64_t rest_ms;
	bool is_final;	/* the request in flight is the final report */
	bool hold;	/* quiet: do not ask */
	int64_t resume; /* what an earlier daemon of this box was at; 0 */

	/* what is being carried out */
	int64_t id;
	struct workload *child;
	struct workload_result ended;
	char *plan_path;
	char *answer; /* of a dry run, JSON */
	bool cancelled, quiet;
	bool dry;	     /* it is only a question what it would do */
	bool pause;	     /* the child was told to */
	const char *outcome; /* "done", "failed", "refused", "cancelled", "paused" */
	char text[TEXT_MAX];

	struct strbuf path, body;
};

static void ask(struct assignments *a);
static void report(struct assignments *a);
static void on_timer(uv_timer_t *timer);

static void rest(struct assignments *a, enum state state, uint64_t ms)
{
	a->state = state;
	uv_timer_start(&a->timer, on_timer, ms, 0);
}

/* Full jitter, so that a lab does not come back in step after an outage. */
static uint64_t next_rest(struct assignments *a)
{
	uint32_t random = 0;

	CHECK(getrandom(&random, sizeof(random), 0) == sizeof(random));
	a->rest_ms = a->rest_ms * 2 < REST_MAX_MS ? a->rest_ms * 2 : REST_MAX_MS;
	return REST_MIN_MS + random % a->rest_ms;
}

/* ---- requests ---- */

static void send_request(struct assignments *a, const char *method, int64_t timeout_ns,
			 void (*on_answer)(void *user, const struct http_answer *answer))
{
	serverlink_send(a->link, method, a->path.data, a->body.len ? &a->body : NULL, timeout_ns,
			on_answer, a);
}

/* ---- plan files ---- */

static char *plans_dir(const struct assignments *a)
{
	return xasprintf("%s/plans", a->conf->spool_dir);
}

/* The experiment that an earlier daemon was carrying out: its plan file is still there. Files of
 * plans that nobody finished go after a month. */
static void find_resume(struct assignments *a)
{
	CLEANUP(freep) char *dir = plans_dir(a);
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d))) {
		long long id;
		struct stat st;
		int at = 0;

		if (sscanf(e->d_name, "a_%lld.plan%n", &id, &at) != 1 || !at || e->d_name[at] ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (st.st_mtime < clock_realtime_ns() / NS_PER_SEC - PLANS_KEPT_S)
			(void)unlinkat(dirfd(d), e->d_name, 0);
		else if (!a->resume || id < a->resume)
			a->resume = id;
	}
	if (d)
		closedir(d);
}

static int prepare_plan(struct assignments *a, const struct assignment *as, struct err *reterr)
{
	CLEANUP(freep) char *dir = plans_dir(a);

	if (mkdir(dir, 0750) && errno != EEXIST)
		return err_errno(reterr, errno, "cannot make %s", dir);
	free(a->plan_path);
	a->plan_path = xasprintf("%s/a_%lld.plan", dir, (long long)as->id);
	return planlog_note_known(a->plan_path, &as->plan, as->known, reterr);
}

/* ---- the child ---- */

static void end_with(struct assignments *a, const char *outcome, const char *text)
{
	a->outcome = outcome;
	snprintf(a->text, sizeof(a->text), "%s", text);
	if (!text_is_clean(a->text, strlen(a->text)))
		for (unsigned char *s = (unsigned char *)a->text; *s; s++)
			if ((*s < 0x20 && *s != '\n' && *s != '\t') || *s >= 0x7f)
				*s = '?';
	report(a);
}

static void on_exit_of_child(void *user, const struct workload_result *r)
{
	struct assignments *a = user;

	a->ended = *r;
}

/* Exit statuses of `rigstat-agent run`: docs/EXPERIMENTS.md. */
static const char *outcome_of(const struct assignments *a)
{
	if (a->cancelled)
		return "cancelled";
	switch (a->ended.exit_status) {
	case 0:
		return "done";
	case EXIT_LATER:
		return "paused";
	case 3:
		return "refused";
	default:
		return "failed";
	}
}

/* What a person wants to read about it: the line of the summary when all is well, else the last
 * lines. */
static const char *essence(const struct assignments *a, struct strbuf *tail)
{
	char *end, *line;

	if (!tail->len)
		return "it wrote nothing";
	end = strstr(tail->data, " runs ended well");
	if (!end || a->ended.exit_status != 0)
		return tail->data;
	end[strcspn(end, "\n")] = '\0';
	line = strrchr(tail->data, '\n');
	return line ? line + 1 : tail->data;
}

/* The answer stands in a line of its own, below whatever else was said. */
static void end_dry_run(struct assignments *a, const struct strbuf *tail)
{
	static const char head[] = "{\"factors\":[";
	const char *last = tail->len ? strstr(tail->data, head) : NULL;

	while (last && last > tail->data && last[-1] != '\n')
		last = strstr(last + 1, head);
	freep(&a->answer);
	if (a->ended.exit_status == 0 && last)
		a->answer = xstrndup(last, strcspn(last, "\n"));
	end_with(a, a->answer ? "done" : "refused",
		 a->answer   ? ""
		 : tail->len ? tail->data
			     : "it wrote nothing");
}

static void finish_close(struct assignments *a);

static void on_end_of_child(void *user)
{
	CLEANUP(strbuf_done) struct strbuf tail = {0};
	struct assignments *a = user;

	workload_tail(a->child, TAIL_LINES, &tail);
	workload_close(TAKE(a->child));
	log_info("assignment %lld ended with exit status %d", (long long)a->id,
		 a->ended.exit_status);
	if (a->state == A_CLOSING) {
		finish_close(a);
		return;
	}
	a->state = A_REPORTING;
	if (a->dry)
		end_dry_run(a, &tail);
	else
		end_with(a, outcome_of(a), essence(a, &tail));
}

static int start_child(struct assignments *a, char *const *args, struct err *reterr)
{
	CLEANUP(freep)
	char *log = xasprintf("%s-%lld.log", a->dry ? "dry-run" : "assignment", (long long)a->id);
	CLEANUP(freep) char *plan = xasprintf("--plan-file=%s", a->plan_path);
	CLEANUP(freep) char **all = NULL;
	size_t n = 0;

	while (args[n])
		n++;
	all = xcalloc(n + 2, sizeof(*all));
	memcpy(all, args, n * sizeof(*all));
	all[n] = a->dry ? NULL : plan;
	return child_start(a->loop, a->conf, a->options, all, log, on_exit_of_child,
			   on_end_of_child, a, &a->child, reterr);
}

static void carry_out(struct assignments *a, const struct assignment *as)
{
	struct err err;

	a->cancelled = a->pause = false;
	a->quiet = as->quiet || a->conf->quiet;
	a->dry = as->dry;
	if ((!a->dry && prepare_plan(a, as, &err)) || start_child(a, as->args, &err)) {
		log_error("assignment %lld: %s", (long long)a->id, err.text);
		a->state = A_REPORTING;
		end_with(a, "failed", err.text);
		return;
	}
	a->state = A_RUNNING;
	if (a->dry)
		return;
	log_info("assignment %lld: an experiment of the server %s", (long long)a->id,
		 a->resume == as->id ? "goes on" : "begins");
	report(a);
}

/* ---- asking ---- */

static void on_assignment(void *user, const struct http_answer *answer)
{
	CLEANUP(assignment_done) struct assignment as = {0};
	struct assignments *a = user;
	struct err err;
	int rc;

	if (a->state != A_ASKING)
		return;
	if (answer->status != 200) {
		log_debug("assignments: %s", answer->error ? answer->error : "not answered");
		rest(a, A_RESTING, answer->status == 404 ? 10 * REST_MAX_MS : next_rest(a));
		return;
	}
	rc = assignment_parse(answer->body, answer->body_len, &as, &err);
	a->id = as.id;
	if (rc && !as.id) {
		log_warn("assignments: %s", err.text);
		rest(a, A_RESTING, next_rest(a));
		return;
	}
	a->rest_ms = REST_MIN_MS;
	a->dry = as.dry;
	if (as.id != a->resume && !as.dry)
		a->resume = 0; /* it is over, or waits its turn: its plan file stays for that */
	if (rc) {
		log_warn("assignment %lld is refused: %s", (long long)as.id, err.text);
		a->state = A_REPORTING;
		end_with(a, "refused", err.text);
	} else if (as.id) {
		carry_out(a, &as);
	} else {
		rest(a, A_RESTING, 100);
	}
}

static void ask(struct assignments *a)
{
	if (a->hold || boot_plan_exists(a->conf->spool_dir)) { /* one experiment at a time */
		rest(a, A_RESTING, REST_MIN_MS);
		return;
	}
	a->state = A_ASKING;
	strbuf_clear(&a->path);
	strbuf_clear(&a->body);
	strbuf_printf(&a->path, "/api/v1/assignments/next?wait=%d&host=", WAIT_S);
	serverlink_put_escaped(a->conf->host, &a->path);
	if (a->resume)
		strbuf_printf(&a->path, "&resume=a_%lld", (long long)a->resume);
	send_request(a, "GET", ASK_TIMEOUT_NS, on_assignment);
}

/* ---- reporting ---- */

static bool wants_cancel(const struct http_answer *answer)
{
	return answer->status == 200 && strstr(answer->body, "\"cancel\":true");
}

/* The server's wish to pause, and its taking that back, go to the child as signals. */
static void pass_pause(struct assignments *a, const struct http_answer *answer)
{
	bool on = answer->status == 200 && strstr(answer->body, "\"pause\":true");
	bool off = answer->status == 200 && strstr(answer->body, "\"pause\":false");

	if (a->cancelled || !(a->pause ? off : on))
		return;
	a->pause = on;
	log_info("assignment %lld is told to %s", (long long)a->id, on ? "pause" : "go on");
	workload_signal(a->child, on ? SIGUSR1 : SIGUSR2);
}

static void on_report(void *user, const struct http_answer *answer)
{
	struct assignments *a = user;
	bool known = answer->status >= 200 && answer->status < 500 && answer->status != 429;

	if (a->state == A_RUNNING) {
		uv_timer_start(&a->timer, on_timer, REPORT_EVERY_MS, 0);
		/* 409: the server has given this up; going on would measure for nobody */
		if ((wants_cancel(answer) || answer->status == 409) && !a->cancelled) {
			log_info("assignment %lld is taken back", (long long)a->id);
			a->cancelled = true;
			workload_stop(a->child, false);
		}
		pass_pause(a, answer);
	} else if (a->state == A_REPORTING && a->is_final && known) {
		if (!a->dry)
			a->resume = 0;
		if (a->plan_path && strcmp(a->outcome, "paused") != 0)
			(void)unlink(a->plan_path);
		freep(&a->plan_path);
		rest(a, A_RESTING, 100);
	} else if (a->state == A_REPORTING) {
		uv_timer_start(&a->timer, on_timer, a->is_final ? next_rest(a) : 1, 0);
	}
}

static void put_progress(struct assignments *a)
{
	CLEANUP(strbuf_done) struct strbuf p = {0};

	if (a->plan_path && planlog_put_progress(a->plan_path, clock_realtime_ns(), &p))
		strbuf_printf(&a->body, ",\"progress\":%s", p.data);
}

static void report_dry_run(struct assignments *a)
{
	strbuf_clear(&a->path);
	strbuf_clear(&a->body);
	strbuf_printf(&a->path, "/api/v1/dry-runs/d_%lld/answers", (long long)a->id);
	a->is_final = true;
	strbuf_puts(&a->body, "{\"host\":");
	json_put_string(&a->body, a->conf->host);
	strbuf_printf(&a->body, ",\"ok\":%s,\"text\":", a->answer ? "true" : "false");
	json_put_string(&a->body, a->text);
	if (a->answer)
		strbuf_printf(&a->body, ",\"answer\":%s", a->answer);
	strbuf_putc(&a->body, '}');
	send_request(a, "POST", REPORT_TIMEOUT_NS, on_report);
}

/* "running" while the child runs, then how it ended until the server has it. */
static void report(struct assignments *a)
{
	if (serverlink_busy(a->link)) { /* the answer's handler or the timer comes again */
		uv_timer_start(&a->timer, on_timer, 200, 0);
		return;
	}
	if (a->dry) {
		report_dry_run(a);
		return;
	}
	if (a->state == A_RUNNING && a->quiet && planlog_in_run(a->plan_path)) {
		uv_timer_start(&a->timer, on_timer, REPORT_EVERY_MS, 0); /* between runs */
		return;
	}
	strbuf_clear(&a->path);
	strbuf_clear(&a->body);
	strbuf_printf(&a->path, "/api/v1/assignments/a_%lld", (long long)a->id);
	a->is_final = a->state == A_REPORTING;
	strbuf_puts(&a->body, "{\"state\":");
	json_put_string(&a->body, a->state == A_RUNNING ? "running" : a->outcome);
	strbuf_puts(&a->body, ",\"text\":");
	json_put_string(&a->body, a->state == A_RUNNING ? "" : a->text);
	put_progress(a);
	strbuf_putc(&a->body, '}');
	send_request(a, "POST", REPORT_TIMEOUT_NS, on_report);
}

static void on_timer(uv_timer_t *timer)
{
	struct assignments *a = timer->data;

	switch (a->state) {
	case A_RESTING:
		ask(a);
		break;
	case A_RUNNING:
	case A_REPORTING:
		report(a);
		break;
	case A_ASKING:
	case A_CLOSING:
		break;
	}
}

/* ---- life ---- */

int assignments_open(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		     struct assignments **ret, struct err *reterr)
{
	CLEANUP(freep) struct assignments *a = NULL;
	int rc;

	*ret = NULL;
	if (!conf->server)
		return 0;
	a = xcalloc(1, sizeof(*a));
	a->loop = loop;
	a->conf = conf;
	a->options = options;
	a->rest_ms = REST_MIN_MS;
	rc = serverlink_open(loop, conf, &a->link, reterr);
	if (rc)
		return rc;
	CHECK(uv_timer_init(loop, &a->timer) == 0);
	a->timer.data = a;
	find_resume(a);
	rest(a, A_RESTING, REST_MIN_MS);
	*ret = TAKE(a);
	return 0;
}

void assignments_hold(struct assignments *a, bool hold)
{
	if (!a)
		return;
	a->hold = hold;
	if (!hold || a->state != A_ASKING || !serverlink_busy(a->link))
		return;
	serverlink_cancel(a->link);
	rest(a, A_RESTING, REST_MIN_MS);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct assignments *a = handle->data;

	free(a->plan_path);
	free(a->answer);
	strbuf_done(&a->path);
	strbuf_done(&a->body);
	free(a);
}

static void on_link_closed(void *user)
{
	struct assignments *a = user;

	uv_close((uv_handle_t *)&a->timer, on_timer_closed);
}

static void finish_close(struct assignments *a)
{
	serverlink_close(TAKE(a->link), on_link_closed, a);
}

void assignments_close(struct assignments *a)
{
	if (!a)
		return;
	a->state = A_CLOSING;
	uv_timer_stop(&a->timer);
	if (a->child)
		workload_stop(a->child, false);
	else
		finish_close(a);
}
