/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/boots.h"

#include <signal.h>
#include <stdio.h>

#include "agent/command.h"
#include "agent/sysinfo.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"

#define STOPPED 1000 /* by a signal that keeps the plan */

struct boots_state {
	const struct boots *b;
	struct boot_plan *plan;
};

static const struct factor *boot_factor(const struct boots *b)
{
	return &b->x->design.factors[0];
}

/* ---- the box ---- */

static int bind_boot(const struct boots *b, struct tunable_client **ret, char **ret_level,
		     struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	CLEANUP(freep) char *target = NULL;
	const struct factor *f = boot_factor(b);
	int rc = tunable_open(&b->x->tunable, ret, &report, reterr);

	if (report.len)
		fprintf(stderr, "Settings of an earlier experiment:\n%s", report.data);
	rc = rc ? rc : tunable_bind(*ret, f->name, f->tune, &target, ret_level, reterr);
	if (rc) {
		tunable_close(TAKE(*ret));
		return err_prefix(reterr, "factor %s: ", f->name);
	}
	return 0;
}

static int look(const struct boots *b, const struct boot_plan *p, struct boot_decision *ret,
		struct err *reterr)
{
	struct tunable_client *c = NULL;
	CLEANUP(freep) char *level = NULL;
	char boot_id[37];
	struct boot_now now = {.boot_id = boot_id, .realtime_ns = clock_realtime_ns()};
	int rc = bind_boot(b, &c, &level, reterr);

	tunable_close(c);
	if (rc)
		return rc;
	sysinfo_boot_id(boot_id);
	now.level = level;
	boot_plan_decide(p, &b->x->design, &now, ret);
	return 0;
}

/* ---- asking for a boot ---- */

static int check_levels(const struct boots *b, struct tunable_client *c, int64_t *ret_timeout_ns,
			struct err *reterr)
{
	const struct factor *f = boot_factor(b);
	int rc = 0;

	for (size_t i = 0; !rc && i < f->levels_len; i++)
		rc = tunable_boot_check(c, f->name, f->levels[i], ret_timeout_ns, reterr);
	return rc;
}

/* The plan is on disk before the box can go down. */
static int ask(const struct boots *b, struct boot_plan *p, uint32_t boot, struct err *reterr)
{
	const char *name = boot_factor(b)->name, *level = boot_plan_level(&b->x->design, boot);
	struct tunable_client *c = NULL;
	CLEANUP(freep) char *present = NULL;
	int rc = p->boot ? 0 : b->check(b->user, reterr);

	rc = rc ? rc : bind_boot(b, &c, &present, reterr);
	rc = rc ? rc : check_levels(b, c, &p->timeout_ns, reterr);
	if (!rc) {
		p->boot = boot;
		p->running = false;
		p->asked_ns = clock_realtime_ns();
		sysinfo_boot_id(p->boot_id);
		rc = boot_plan_save(b->state_dir, p, reterr);
	}
	if (!rc) {
		printf("boot %u of %u (%s=%s): the box goes down; the experiment goes on after "
		       "it\n",
		       boot, design_boots(&b->x->design), name, level);
		(void)fflush(stdout);
		rc = tunable_boot(c, name, level, reterr);
	}
	tunable_close(c);
	return rc;
}

/* ---- the runs of one boot ---- */

/* A plan that a person has removed (--abandon) is not written again. */
static bool on_run_done(void *user, size_t index, bool ok)
{
	const struct boots_state *s = user;
	struct err err;

	if (!boot_plan_exists(s->b->state_dir))
		return false;
	s->plan->next = index + 1;
	s->plan->ok += ok;
	s->plan->failed += !ok;
	if (boot_plan_save(s->b->state_dir, s->plan, &err)) {
		log_error("%s", err.text);
		return false;
	}
	return true;
}

/* EXIT_LATER: go on. Anything else ends this process. */
static int runs_of_boot(struct boots_state *s, const struct boot_decision *d, struct err *reterr)
{
	CLEANUP(experiment_result_done) struct experiment_result result = {0};
	const struct boots *b = s->b;
	struct experiment_conf *x = b->x;
	int rc;

	s->plan->running = true;
	s->plan->next = d->first;
	sysinfo_boot_id(s->plan->boot_id);
	rc = boot_plan_save(b->state_dir, s->plan, reterr);
	if (rc)
		return rc;
	if (d->step == BOOT_SKIP)
		printf("boot %u of %u: %s; its runs are filed as failed\n", d->boot,
		       design_boots(&x->design), d->why);
	x->first = d->first;
	x->end = d->end;
	x->unfit = d->step == BOOT_SKIP ? d->why : NULL;
	x->run_done = on_run_done;
	x->run_done_user = s;
	rc = b->runs(b->user, &result, reterr);
	if (rc == 0 || x->unfit || (rc == 1 && !x->stop_on_failure && !result.interrupted))
		return s->plan->next == d->end ? EXIT_LATER : 1;
	/* The service is stopped, maybe because the box goes down: that does not end the plan. */
	if (result.interrupted && result.signal == SIGTERM)
		return STOPPED;
	return rc;
}

static int sum_up(const struct boots *b, const struct boot_plan *p)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const struct design *d = &b->x->design;

	strbuf_printf(&text, "\nexperiment %s: %u of %zu runs in %u boots ended well", p->name,
		      p->ok, d->runs_len, design_boots(d));
	if (p->failed)
		strbuf_printf(&text, ", %u failed", p->failed);
	strbuf_puts(&text, "\n\n");
	if (b->server)
		experiment_put_comparison(b->x, b->server, &text);
	fwrite(text.data, 1, text.len, stdout);
	return p->failed ? 1 : 0;
}

/* Its own error does not hide the reason why the experiment ends. */
static int end_plan(const struct boots *b, int status)
{
	struct err err;
	int rc = boot_plan_remove(b->state_dir, &err);

	if (rc && rc != ERR_NOT_FOUND)
		log_error("%s", err.text);
	return status;
}

int boots_carry_out(const struct boots *b, struct boot_plan *plan, struct err *reterr)
{
	struct boots_state s = {b, plan};
	struct boot_decision d;
	int rc;

	do {
		rc = look(b, plan, &d, reterr);
		if (rc)
			return rc; /* the helper may come back: the plan stays */
		if (d.step == BOOT_WAIT) {
			printf("boot %u is asked for and has not come yet\n", d.boot);
			return EXIT_LATER;
		}
		if (d.step == BOOT_END)
			return end_plan(b, sum_up(b, plan));
		if (d.step == BOOT_ASK) {
			rc = ask(b, plan, d.boot, reterr);
			return rc ? end_plan(b, rc) : EXIT_LATER;
		}
		rc = runs_of_boot(&s, &d, reterr);
	} while (rc == EXIT_LATER);
	if (rc == STOPPED)
		return EXIT_LATER;
	printf("The experiment ends here; no further boot is asked for.\n");
	return end_plan(b, rc);
}
