/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/resume.h"

#include "agent/boot_plan.h"
#include "agent/child.h"
#include "agent/command.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/log.h"

#define FIRST_MS   1000
#define AGAIN_MS   60000
#define TAIL_LINES 5

struct resume {
	uv_loop_t *loop;
	const struct agent_conf *conf;
	char *const *options;
	uv_timer_t timer;
	struct workload *child;
	struct workload_result ended;
	bool closing;
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_exit_of_child(void *user, const struct workload_result *result)
{
	struct resume *r = user;

	r->ended = *result;
}

static void on_end_of_child(void *user)
{
	CLEANUP(strbuf_done) struct strbuf tail = {0};
	struct resume *r = user;

	workload_tail(r->child, TAIL_LINES, &tail);
	workload_close(TAKE(r->child));
	if (r->ended.exit_status == EXIT_LATER)
		log_info("the experiment over boots goes on later: %s", tail.len ? tail.data : "");
	else
		log_info("the experiment over boots ended with exit status %d: %s",
			 r->ended.exit_status, tail.len ? tail.data : "");
	if (r->closing)
		uv_close((uv_handle_t *)&r->timer, on_closed);
}

/* Also after a start that failed, and while a boot is awaited: the plan says what is to be done. */
static void on_timer(uv_timer_t *timer)
{
	static char arg[] = "--resume";
	static char *const args[] = {arg, NULL};
	struct resume *r = timer->data;
	CLEANUP(freep)
	char *log = xasprintf("boots-%lld.log", (long long)(clock_realtime_ns() / NS_PER_SEC));
	struct err err;

	if (r->child || !boot_plan_exists(r->conf->spool_dir))
		return;
	log_info("an experiment over boots goes on");
	if (child_start(r->loop, r->conf, r->options, args, log, on_exit_of_child, on_end_of_child,
			r, &r->child, &err))
		log_error("the experiment over boots cannot go on: %s", err.text);
}

void resume_open(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		 struct resume **ret)
{
	struct resume *r = xcalloc(1, sizeof(*r));

	r->loop = loop;
	r->conf = conf;
	r->options = options;
	CHECK(uv_timer_init(loop, &r->timer) == 0);
	r->timer.data = r;
	CHECK(uv_timer_start(&r->timer, on_timer, FIRST_MS, AGAIN_MS) == 0);
	*ret = r;
}

void resume_close(struct resume *r)
{
	if (!r)
		return;
	r->closing = true;
	uv_timer_stop(&r->timer);
	if (r->child)
		workload_stop(r->child, false);
	else
		uv_close((uv_handle_t *)&r->timer, on_closed);
}
