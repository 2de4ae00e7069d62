/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent run: rights and parts of an experiment; experiment.c carries it out. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/boots.h"
#include "agent/command.h"
#include "agent/facts.h"
#include "agent/lock.h"
#include "agent/run_logs.h"
#include "agent/run_options.h"
#include "agent/serverlink.h"
#include "agent/tune/journal.h"
#include "common/ini.h"
#include "common/parse.h"

#define LOCK_WAIT_NS (30 * NS_PER_SEC)
#define LOGS_KEPT    500
#define ASK_NS	     (2 * NS_PER_SEC)

/* ---- settings ---- */

static bool sets_anything(const struct design *d)
{
	for (size_t i = 0; i < d->factors_len; i++)
		if (d->factors[i].tune)
			return true;
	return false;
}

/* Did an earlier experiment leave something to put back? */
static bool journal_left(const struct run_options *o)
{
	const char *path = o->x.tunable.journal ? o->x.tunable.journal : JOURNAL_PATH;
	struct stat st;

	return geteuid() == 0 && stat(path, &st) == 0 && st.st_size > 0;
}

static void put_setting(const struct run_options *o, const struct factor *f, char *target,
			char *now)
{
	struct strbuf *b = o->answer;

	if (!b) {
		printf("  %s is set in %s, now '%s'\n", f->name, target, now);
		return;
	}
	experiment_clean(target);
	experiment_clean(now);
	strbuf_printf(b, "%s{\"name\":", b->len ? "," : "");
	json_put_string(b, f->name);
	strbuf_puts(b, ",\"target\":");
	json_put_string(b, target);
	strbuf_puts(b, ",\"present\":");
	json_put_string(b, now);
	strbuf_putc(b, '}');
}

static int bind_factor(const struct run_options *o, struct tunable_client *c,
		       const struct factor *f, struct err *reterr)
{
	CLEANUP(freep) char *target = NULL, *now = NULL;
	int rc = tunable_bind(c, f->name, f->tune, &target, &now, reterr);

	for (size_t i = 0; !rc && !f->boot && i < f->levels_len; i++)
		rc = tunable_check(c, f->name, f->levels[i], reterr);
	if (rc)
		return err_prefix(reterr, "factor %s: ", f->name);
	if (o->dry_run)
		put_setting(o, f, target, now);
	return 0;
}

static int open_tunables(struct run_options *o, struct tunable_client **ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf report = {0};
	struct design *d = &o->x.design;
	int rc = 0;

	if (!sets_anything(d) && !journal_left(o))
		return 0;
	rc = tunable_open(&o->x.tunable, ret, &report, reterr);
	if (report.len && !o->resume)
		fprintf(stderr, "An earlier experiment was cut off. Settings:\n%s", report.data);
	for (size_t i = 0; !rc && i < d->factors_len; i++)
		if (d->factors[i].tune)
			rc = bind_factor(o, *ret, &d->factors[i], reterr);
	return rc;
}

/* ---- parts ---- */

static int open_spool(const struct run_options *o, struct spool **ret, struct err *reterr)
{
	const struct spool_conf sc = {.dir = o->agent.spool_dir,
				      .host = o->agent.host,
				      .sync = o->agent.sync,
				      .bytes_max = o->agent.spool_bytes_max,
				      .free_min = o->agent.spool_free_min};

	return spool_open(&sc, ret, reterr);
}

static void print_text(FILE *to, const struct strbuf *b)
{
	if (b->len)
		fwrite(b->data, 1, b->len, to);
	fflush(to);
}

static void show_marks(const struct session *s)
{
	const struct marks *m = session_marks(s);

	for (size_t i = 0; i < m->len; i++)
		fprintf(stderr, "note: %s\n", m->v[i].text);
}

static int exit_status(const struct experiment_result *r, int rc)
{
	if (r->interrupted)
		return 130;
	if (rc)
		return err_exit_status(rc);
	if (r->paused)
		return EXIT_LATER;
	return r->failed + r->earlier_failed || r->aborted ? 1 : 0;
}

/* Everything is open: carry it out and sum up. Takes ownership of `tunables`. */
static int carry_out(struct run_options *o, struct spool *spool, struct session *session,
		     struct tunable_client *tunables, struct planlog *planlog,
		     struct experiment_result *ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const struct design *d = &o->x.design;
	struct progress progress;
	const struct experiment_parts parts = {.agent = &o->agent,
					       .spool = spool,
					       .session = session,
					       .tunables = tunables,
					       .progress = &progress,
					       .planlog = planlog};
	int rc;

	progress_init(&progress, stdout, isatty(STDOUT_FILENO), (uint32_t)d->runs_len,
		      o->x.duration_ns ? o->x.warmup_ns + o->x.duration_ns : 0);
	if (!design_has_boots(d))
		experiment_put_plan(&o->x, false, &text);
	print_text(stdout, &text);
	rc = experiment_run(&o->x, &parts, ret, reterr);
	strbuf_clear(&text);
	experiment_put_summary(&o->x, ret, o->agent.server, o->agent.spool_dir, &text);
	print_text(stdout, &text);
	if (rc)
		fprintf(stderr, "rigstat-agent run: %s\n", reterr->text);
	if (planlog_problem(planlog))
		fprintf(stderr, "rigstat-agent run: plan file %s: %s\n", o->plan_file,
			planlog_problem(planlog));
	return exit_status(ret, rc);
}

static int open_planlog(const struct run_options *o, struct planlog **ret, struct err *reterr)
{
	struct planlog_plan plan = {.total = (uint32_t)o->x.design.runs_len,
				    .seed = o->x.design.seed};

	memcpy(plan.uid, o->x.uid, sizeof(plan.uid));
	return planlog_open(o->plan_file, &plan, ret, reterr);
}

/* The runs that o->x names; an exit status or ERR_*. */
static int run_parts(void *user, struct experiment_result *ret, struct err *reterr)
{
	struct run_options *o = user;
	CLEANUP(spool_closep) struct spool *spool = NULL;
	CLEANUP(session_closep) struct session *session = NULL;
	CLEANUP(planlog_closep) struct planlog *planlog = NULL;
	struct tunable_client *tunables = NULL;
	struct session_conf sc = {.conf = &o->agent, .workload = o->x.argv != NULL};
	int rc = open_tunables(o, &tunables, reterr);

	if (!rc)
		rc = open_spool(o, &spool, reterr);
	if (!rc && o->x.argv)
		rc = run_logs_prepare(o->log_dir, LOGS_KEPT, reterr);
	if (!rc && o->plan_file)
		rc = open_planlog(o, &planlog, reterr);
	sc.spool = spool;
	if (!rc)
		rc = session_open(&sc, &session, reterr);
	if (rc) {
		tunable_close(tunables);
		return rc;
	}
	show_marks(session);
	return carry_out(o, spool, session, tunables, planlog, ret, reterr);
}

/* Before the first boot: can the settings be made, and is there a spool? */
static int check_parts(void *user, struct err *reterr)
{
	CLEANUP(spool_closep) struct spool *spool = NULL;
	struct tunable_client *tunables = NULL;
	int rc = open_tunables(user, &tunables, reterr);

	tunable_close(tunables);
	return rc ? rc : open_spool(user, &spool, reterr);
}

/* What a process after the boot needs to go on. */
static int new_plan(const struct run_options *o, struct boot_plan *ret, struct err *reterr)
{
	size_t n = 0;

	while (o->args[n])
		n++;
	*ret = (struct boot_plan){.argv = xcalloc(n + 1, sizeof(*ret->argv)),
				  .directory = getcwd(NULL, 0),
				  .name = xstrdup(o->x.name),
				  .seed = o->x.design.seed};
	memcpy(ret->uid, o->x.uid, sizeof(ret->uid));
	for (size_t i = 0; i < n; i++)
		ret->argv[i] = xstrdup(o->args[i]);
	return ret->directory ? 0 : err_errno(reterr, errno, "the working directory");
}

static int run_boots(struct run_options *o, struct err *reterr)
{
	const struct boots b = {.x = &o->x,
				.state_dir = o->agent.spool_dir,
				.server = o->agent.server,
				.check = check_parts,
				.runs = run_parts,
				.user = o};
	CLEANUP(boot_plan_done) struct boot_plan plan = {0};
	CLEANUP(strbuf_done) struct strbuf text = {0};
	int rc = o->resume ? boot_plan_load(o->agent.spool_dir, &plan, reterr)
			   : new_plan(o, &plan, reterr);

	if (rc)
		return rc;
	if (!o->resume)
		experiment_put_plan(&o->x, false, &text);
	print_text(stdout, &text);
	return boots_carry_out(&b, &plan, reterr);
}

static int run_locked(struct run_options *o, struct err *reterr)
{
	CLEANUP(experiment_result_done) struct experiment_result result = {0};

	return design_has_boots(&o->x.design) ? run_boots(o, reterr)
					      : run_parts(o, &result, reterr);
}

/* A person at the box should know that somebody else counts on it. */
static void warn_if_reserved(const struct run_options *o)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	CLEANUP(freep) char *body = NULL;
	json_auto_t *doc = NULL;
	const char *by, *reason;
	struct err err;

	if (!o->agent.server || o->of_server)
		return;
	serverlink_put_agent_path(&o->agent, &path);
	if (serverlink_get(&o->agent, path.data, ASK_NS, &body, &err) != 200)
		return; /* delivery has its own words for that */
	doc = json_loads(body, 0, NULL);
	by = json_string_value(json_object_get(json_object_get(doc, "reserved"), "by"));
	reason = json_string_value(json_object_get(json_object_get(doc, "reserved"), "reason"));
	if (by && text_is_clean(by, strlen(by)))
		fprintf(stderr, "note: this box is reserved by %s%s%s\n", by, reason ? ": " : "",
			reason && text_is_clean(reason, strlen(reason)) ? reason : "");
}

static int run_experiment(struct run_options *o, struct err *reterr)
{
	CLEANUP(freep)
	char *what = xasprintf("experiment %s, process %d%s", o->x.name, getpid(),
			       o->agent.quiet ? ", quiet" : "");
	struct measure_lock lock;
	int rc = measure_lock_open(&lock, o->agent.lock_dir, reterr);

	if (rc)
		return rc;
	warn_if_reserved(o);
	if (sched_getaffinity(0, sizeof(o->x.cpus), &o->x.cpus) < 0)
		rc = err_errno(reterr, errno, "cannot read the CPUs that we may use");
	if (!rc)
		rc = measure_lock_experiment(&lock, what, LOCK_WAIT_NS, reterr);
	if (!rc)
		rc = run_locked(o, reterr);
	measure_lock_close(&lock);
	return rc;
}

/* For the daemon, which a server has asked: one line. */
static void print_answer(const struct run_options *o)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};

	strbuf_printf(&out,
		      "{\"factors\":[%s],\"workload\":", o->answer->len ? o->answer->data : "");
	if (o->x.workload_name) {
		strbuf_puts(&out, "{\"name\":");
		json_put_string(&out, o->x.workload_name);
		if (o->def.description) {
			experiment_clean(o->def.description);
			strbuf_puts(&out, ",\"description\":");
			json_put_string(&out, o->def.description);
		}
		strbuf_puts(&out, "}}\n");
	} else {
		strbuf_puts(&out, "null}\n");
	}
	print_text(stdout, &out);
}

static int dry_run(struct run_options *o, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0}, settings = {0};
	struct tunable_client *tunables = NULL;
	int rc;

	if (o->json) {
		o->answer = &settings;
		rc = sets_anything(&o->x.design) ? open_tunables(o, &tunables, reterr) : 0;
		tunable_close(tunables);
		if (!rc)
			print_answer(o);
		return rc;
	}

	experiment_put_plan(&o->x, true, &text);
	print_text(stdout, &text);
	rc = sets_anything(&o->x.design) ? open_tunables(o, &tunables, reterr) : 0;
	tunable_close(tunables);
	if (!rc)
		puts("Nothing was changed (--dry-run).");
	return rc;
}

/* The command of the plan in place of ours, with its experiment's identity and place. */
static int resume(struct run_options *o, struct boot_plan *plan, char ***ret_argv,
		  struct err *reterr)
{
	char *state_dir = xstrdup(o->agent.spool_dir);
	int argc = 1, rest, rc = boot_plan_load(state_dir, plan, reterr);
	char **argv;
	bool help;

	free(state_dir);
	if (rc == ERR_NOT_FOUND)
		return err_set(reterr, rc, "no experiment of this box waits for a boot");
	if (rc)
		return rc;
	if (chdir(plan->directory) < 0)
		return err_errno(reterr, errno, "%s", plan->directory);
	while (plan->argv[argc - 1])
		argc++;
	*ret_argv = argv = xcalloc((size_t)argc + 1, sizeof(*argv));
	argv[0] = xstrdup("run");
	for (int i = 1; i < argc; i++)
		argv[i] = xstrdup(plan->argv[i - 1]);
	run_options_done(o);
	*o = (struct run_options){0};
	rc = run_options_parse(o, argc, argv, &rest, &help, reterr);
	o->resume = o->seed_given = true;
	o->args = argv + 1;
	o->x.design.seed = plan->seed;
	memcpy(o->x.uid, plan->uid, sizeof(o->x.uid));
	return rc ? rc : run_options_check(o, argc - rest, argv + rest, reterr);
}

static int go_on(struct run_options *o, struct boot_plan *plan, char ***ret_argv,
		 struct err *reterr)
{
	int rc = resume(o, plan, ret_argv, reterr);

	return rc ? rc : run_experiment(o, reterr);
}

static int abandon(const struct run_options *o, struct err *reterr)
{
	int rc = boot_plan_remove(o->agent.spool_dir, reterr);

	if (rc == ERR_NOT_FOUND)
		return err_set(reterr, rc, "no experiment of this box waits for a boot");
	if (!rc)
		puts("The experiment is ended; the box stays as it has booted.");
	return rc;
}

/* One experiment at a time, and one that waits for a boot counts. */
static int check_no_plan(const struct run_options *o, struct err *reterr)
{
	CLEANUP(boot_plan_done) struct boot_plan plan = {0};
	int rc = boot_plan_load(o->agent.spool_dir, &plan, reterr);

	if (rc == ERR_NOT_FOUND)
		return 0;
	return rc ? rc
		  : err_set(reterr, ERR_BUSY,
			    "experiment %s is under way over boots (%u asked for): rigstat-agent "
			    "run --resume goes on, --abandon ends it",
			    plan.name, plan.boot);
}

static int carry_out_options(struct run_options *o, int argc, char **argv, struct err *reterr)
{
	int rc = run_options_check(o, argc, argv, reterr);

	if (!rc && o->dry_run)
		return dry_run(o, reterr);
	rc = rc ? rc : check_no_plan(o, reterr);
	return rc ? rc : run_experiment(o, reterr);
}

int cmd_run(int argc, char **argv)
{
	CLEANUP(run_options_done) struct run_options o = {.args = argv + 1};
	CLEANUP(boot_plan_done) struct boot_plan plan = {0};
	CLEANUP(words_freep) char **planned = NULL;
	struct err err = {0};
	bool help;
	int rest, rc = run_options_parse(&o, argc, argv, &rest, &help, &err);

	if (!rc && help) {
		printf("%s%s", run_usage, agent_conf_help);
		return 0;
	}
	if (!rc && o.abandon)
		rc = abandon(&o, &err);
	else if (!rc && o.resume)
		rc = go_on(&o, &plan, &planned, &err);
	else if (!rc)
		rc = carry_out_options(&o, argc - rest, argv + rest, &err);
	if (rc < 0) {
		fprintf(stderr, "rigstat-agent run: %s\n", err.text);
		return err_exit_status(rc);
	}
	return rc;
}
