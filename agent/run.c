/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent run: options, rights and parts of an experiment; experiment.c carries it out. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/boots.h"
#include "agent/command.h"
#include "agent/experiment.h"
#include "agent/facts.h"
#include "agent/lock.h"
#include "agent/parse.h"
#include "agent/pmu_scope.h"
#include "agent/run_logs.h"
#include "agent/serverlink.h"
#include "agent/tune/journal.h"
#include "agent/tune/tunables.h"
#include "common/ini.h"
#include "common/log.h"
#include "common/model/run.h"
#include "common/parse.h"

#define LOCK_WAIT_NS (30 * NS_PER_SEC)
#define LOGS_KEPT    500
#define ASK_NS	     (2 * NS_PER_SEC)
#define EXIT_PAUSED  75 /* EX_TEMPFAIL: runs are left */

static const char usage[] =
	"usage: rigstat-agent run --experiment NAME [--factor NAME=LEVEL,LEVEL...]...\n"
	"                         [--tune NAME=SETTING]... [OPTIONS] [-- WORKLOAD [ARG]...]\n"
	"\n"
	"Runs a workload again and again, each time under one combination of the factors' levels,\n"
	"measures the box meanwhile, and sends the runs to the server for comparison.\n"
	"\n"
	"  --experiment NAME      what the runs are filed under\n"
	"  --factor NAME=L,L...   what is varied; several factors are crossed; quote 'a,b'\n"
	"  --tune NAME=SETTING    how the factor is set: a file below /sys or /proc/sys, a sysctl\n"
	"                         name, or a tunable of this box (" TUNABLES_DIR ").\n"
	"                         Put back at the end, whatever happens. Without it a factor is a\n"
	"                         label, which the workload sees as $RIGSTAT_FACTOR_NAME\n"
	"  --runs N               runs of each combination (10)\n"
	"  --boot NAME=TUNABLE    the factor is fixed at boot (a kernel, its command line): the\n"
	"                         tunable chooses what boots next and has a reboot step. The "
	"daemon\n"
	"                         of this box goes on with the experiment after each boot\n"
	"  --boots N              boots into each of its levels, in the order asked for (5)\n"
	"  --runs-per-boot N      runs of each combination of the other factors in a boot (2)\n"
	"  --resume               go on with the experiment that waits for a boot\n"
	"  --abandon              end it; the box stays as it has booted\n"
	"  --order ORDER          abba, alternate, random or sequential (abba)\n"
	"  --seed N               of the random order; stored with the runs\n"
	"  --warmup TIME          before measuring begins, with the workload running (2s)\n"
	"  --duration TIME        measured window; ends earlier with the workload (30s; with a\n"
	"                         workload also 0s: until it ends)\n"
	"  --on-failure WHAT      stop or continue when a run fails (stop)\n"
	"  --retries N            further attempts of a failed run (0)\n"
	"  --workload NAME        one of the box's own list (" WORKLOADS_DIR ")\n"
	"  --parse FORMAT         the workload is itself a measuring tool: its output is read as\n"
	"                         by rigstat import (cyclictest, fio, ..., or auto), and a run\n"
	"                         whose output cannot be read has failed. What the agent itself\n"
	"                         measures under the same name is kept apart: tool_NAME\n"
	"  --metric NAME          what the comparison at the end is about (wakeup_latency);\n"
	"                         everything that the agent can measure is measured\n"
	"  --grace TIME           from TERM to KILL when the workload is ended (5s)\n"
	"  --drain TIME           wait for the server at the end (30s)\n"
	"  --log-dir DIR          the workload's output, a file a run (SPOOL/logs)\n"
	"  --journal FILE         where old settings are kept (" JOURNAL_PATH ")\n"
	"  --tunables-dir DIR     in place of " TUNABLES_DIR "\n"
	"  --workloads-dir DIR    in place of " WORKLOADS_DIR "\n"
	"  --tune-socket PATH     of rigstat-tune, when this is not root\n"
	"                         (/run/rigstat/tune.sock)\n"
	"  --plan-file FILE       what is done is noted here, and an experiment that was cut off\n"
	"                         or paused (SIGUSR1; SIGUSR2 takes it back) goes on after it\n"
	"                         when it is started again with the same options\n"
	"  --dry-run              show the order and check the settings; change nothing\n"
	"  --json                 with --dry-run: the settings and their present values as JSON\n"
	"\n";

struct run_options {
	struct agent_conf agent;
	struct experiment_conf x;
	struct workload_def def; /* --workload */
	const char *workloads_dir;
	char *log_dir;
	const char *plan_file;
	bool dry_run, json, seed_given, resume, abandon;
	struct strbuf *answer; /* of --dry-run --json: the settings; NULL: to people */
	bool of_server;	       /* a server made the experiment */
	char *const *args;     /* of this command, to be repeated after a boot */
};

/* ---- options ---- */

static const char metric_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

static int set_count(uint32_t *to, const char *value, uint32_t max, struct err *reterr)
{
	uint64_t n;
	int rc = parse_u64(value, &n, reterr);

	if (!rc && (n < 1 || n > max))
		rc = err_set(reterr, ERR_INVALID, "'%s' is not 1 to %u", value, max);
	*to = rc ? 0 : (uint32_t)n;
	return rc;
}

static int set_runs(struct run_options *o, const char *value, struct err *reterr)
{
	return set_count(&o->x.design.runs_per_cell, value, 100000, reterr);
}

static int set_boots(struct run_options *o, const char *value, struct err *reterr)
{
	return set_count(&o->x.design.boots, value, 1000, reterr);
}

static int set_runs_per_boot(struct run_options *o, const char *value, struct err *reterr)
{
	return set_count(&o->x.design.runs_per_boot, value, 1000, reterr);
}

static int set_retries(struct run_options *o, const char *value, struct err *reterr)
{
	uint64_t n;
	int rc = parse_u64(value, &n, reterr);

	if (!rc && n > 100)
		rc = err_set(reterr, ERR_INVALID, "'%s' is more than 100", value);
	o->x.retries = rc ? 0 : (uint32_t)n;
	return rc;
}

static int set_seed(struct run_options *o, const char *value, struct err *reterr)
{
	o->seed_given = true;
	return parse_u64(value, &o->x.design.seed, reterr);
}

static int set_on_failure(struct run_options *o, const char *value, struct err *reterr)
{
	o->x.stop_on_failure = !strcmp(value, "stop");
	if (!o->x.stop_on_failure && strcmp(value, "continue") != 0)
		return err_set(reterr, ERR_INVALID, "'%s' is neither stop nor continue", value);
	return 0;
}

static int set_parse(struct run_options *o, const char *value, struct err *reterr)
{
	o->x.parse = value;
	return parse_check_format(value, reterr);
}

static int set_metric(struct run_options *o, const char *value, struct err *reterr)
{
	size_t len = strlen(value);

	if (!len || len > 100 || strspn(value, metric_letters) != len)
		return err_set(reterr, ERR_INVALID, "'%.40s' is no metric's name", value);
	o->x.metric = value;
	return 0;
}

static int set_name(struct run_options *o, const char *value, struct err *reterr)
{
	size_t len = strlen(value);

	if (!len || len > 100 || !text_is_clean(value, len) || strpbrk(value, "/\n\t"))
		return err_set(reterr, ERR_INVALID,
			       "a name has 1 to 100 bytes, without a slash or control character");
	o->x.name = value;
	return 0;
}

/* Given when a server made the experiment; else a new one is minted. */
static int set_uid(struct run_options *o, const char *value, struct err *reterr)
{
	if (strlen(value) != 32 || strspn(value, "0123456789abcdef") != 32)
		return err_set(reterr, ERR_INVALID, "'%.40s' is not 32 hexadecimal digits", value);
	memcpy(o->x.uid, value, sizeof(o->x.uid));
	o->of_server = true;
	return 0;
}

static int set_factor(struct run_options *o, const char *value, struct err *reterr)
{
	return design_add_factor(&o->x.design, value, reterr);
}

static int set_order(struct run_options *o, const char *value, struct err *reterr)
{
	return design_parse_order(value, &o->x.design.order, reterr);
}

static int set_warmup(struct run_options *o, const char *value, struct err *reterr)
{
	return parse_duration(value, &o->x.warmup_ns, reterr);
}

static int set_duration(struct run_options *o, const char *value, struct err *reterr)
{
	return parse_duration(value, &o->x.duration_ns, reterr);
}

static int set_grace(struct run_options *o, const char *value, struct err *reterr)
{
	return parse_duration(value, &o->x.grace_ns, reterr);
}

static int set_drain(struct run_options *o, const char *value, struct err *reterr)
{
	return parse_duration(value, &o->x.drain_ns, reterr);
}

static int set_workload(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->x.workload_name = value;
	return 0;
}

static int set_workloads_dir(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->workloads_dir = value;
	return 0;
}

static int set_log_dir(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	free(o->log_dir);
	o->log_dir = xstrdup(value);
	return 0;
}

static int set_plan_file(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->plan_file = value;
	return 0;
}

static int set_journal(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->x.tunable.journal = value;
	return 0;
}

static int set_tunables_dir(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->x.tunable.tunables = value;
	return 0;
}

static int set_tune_socket(struct run_options *o, const char *value, struct err *reterr UNUSED)
{
	o->x.tunable.socket = value;
	return 0;
}

/* --tune may stand before its --factor: taken in a second pass. */
static int check_tune(struct run_options *o UNUSED, const char *value, struct err *reterr)
{
	return strchr(value, '=')
		       ? 0
		       : err_set(reterr, ERR_INVALID, "'%s': write FACTOR=SETTING", value);
}

static const struct {
	const char *name;
	int (*set)(struct run_options *o, const char *value, struct err *reterr);
} options[] = {
	{"experiment", set_name},
	{"experiment-uid", set_uid},
	{"factor", set_factor},
	{"tune", check_tune},
	{"boot", check_tune},
	{"boots", set_boots},
	{"runs-per-boot", set_runs_per_boot},
	{"runs", set_runs},
	{"order", set_order},
	{"seed", set_seed},
	{"warmup", set_warmup},
	{"duration", set_duration},
	{"on-failure", set_on_failure},
	{"retries", set_retries},
	{"workload", set_workload},
	{"parse", set_parse},
	{"metric", set_metric},
	{"grace", set_grace},
	{"drain", set_drain},
	{"log-dir", set_log_dir},
	{"plan-file", set_plan_file},
	{"journal", set_journal},
	{"tunables-dir", set_tunables_dir},
	{"tune-socket", set_tune_socket},
	{"workloads-dir", set_workloads_dir},
};

/* The value of option `name` at argv[0]; NULL when it is another. *ret_used says how many. */
static const char *option_value(const char *name, int argc, char **argv, int *ret_used)
{
	size_t len = strlen(name);

	if (strncmp(argv[0], "--", 2) != 0 || strncmp(argv[0] + 2, name, len) != 0)
		return NULL;
	*ret_used = argv[0][2 + len] == '=' ? 1 : 2;
	if (*ret_used == 1)
		return argv[0] + 3 + len;
	if (argv[0][2 + len])
		return NULL;
	return argc > 1 ? argv[1] : "";
}

static int take_option(void *user, int argc, char **argv, struct err *reterr)
{
	struct run_options *o = user;
	int used;

	const struct {
		const char *name;
		bool *flag;
	} flags[] = {{"--dry-run", &o->dry_run},
		     {"--json", &o->json},
		     {"--resume", &o->resume},
		     {"--abandon", &o->abandon}};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (strcmp(argv[0], flags[i].name) != 0)
			continue;
		*flags[i].flag = true;
		return 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const char *value = option_value(options[i].name, argc, argv, &used);
		int rc;

		if (!value)
			continue;
		if (used == 2 && argc < 2)
			return err_set(reterr, ERR_INVALID, "--%s needs a value", options[i].name);
		rc = options[i].set(o, value, reterr);
		return rc ? err_prefix(reterr, "--%s: ", options[i].name) : used;
	}
	return 0;
}

static int take_tunes(struct run_options *o, int argc, char **argv, struct err *reterr)
{
	const struct {
		const char *name;
		int (*set)(struct design *d, const char *text, struct err *reterr);
	} kinds[] = {{"tune", design_set_tune}, {"boot", design_set_boot}};
	int rc = 0, used;

	for (int i = 1; !rc && i < argc; i++) {
		for (size_t k = 0; !rc && k < ARRAY_LEN(kinds); k++) {
			const char *value = option_value(kinds[k].name, argc - i, argv + i, &used);

			if (!value)
				continue;
			rc = kinds[k].set(&o->x.design, value, reterr);
			i += used - 1;
			break;
		}
	}
	return rc;
}

/* ---- checks and defaults ---- */

static int check_workload(struct run_options *o, int argc, char **argv, struct err *reterr)
{
	if (o->x.workload_name && argc)
		return err_set(reterr, ERR_INVALID,
			       "give either --workload or a command behind --, not both");
	if (argc)
		o->x.argv = argv;
	if (!o->x.workload_name)
		return 0;
	if (workload_find(o->workloads_dir, o->x.workload_name, &o->def, reterr))
		return reterr->code;
	o->x.argv = o->def.argv;
	o->x.workload_dir = o->def.directory;
	if (o->x.parse || !o->def.parse)
		return 0;
	o->x.parse = o->def.parse;
	return parse_check_format(o->def.parse, reterr);
}

static int check_options(struct run_options *o, int argc, char **argv, struct err *reterr)
{
	struct planlog_plan plan;
	int rc;

	if (!o->x.name)
		return err_set(reterr, ERR_INVALID, "--experiment NAME is missing; see --help");
	rc = check_workload(o, argc, argv, reterr);
	if (rc)
		return rc;
	rc = pmu_scope_check(&(struct pmu_scope_conf){o->agent.counters, o->agent.counters_cgroup,
						      o->x.argv != NULL},
			     reterr);
	if (rc)
		return rc;
	if (design_has_boots(&o->x.design) && o->plan_file)
		return err_set(reterr, ERR_INVALID,
			       "--boot keeps a plan of its own: leave --plan-file out");
	if (o->x.parse && !o->x.argv)
		return err_set(reterr, ERR_INVALID, "--parse reads a workload's output: give one");
	if (!o->x.duration_ns && !o->x.argv)
		return err_set(reterr, ERR_INVALID,
			       "without a workload the runs would never end: give --duration");
	if (o->plan_file && !*o->x.uid && planlog_peek(o->plan_file, &plan)) {
		memcpy(o->x.uid, plan.uid, sizeof(plan.uid)); /* it goes on */
		if (!o->seed_given)
			o->x.design.seed = plan.seed;
	} else if (!o->seed_given) {
		uint32_t seed;

		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			return err_errno(reterr, errno, "cannot choose a seed");
		o->x.design.seed = seed;
	}
	if (!o->log_dir)
		o->log_dir = xasprintf("%s/logs", o->agent.spool_dir);
	o->x.log_dir = o->log_dir;
	if (!*o->x.uid)
		run_mint_uid(o->x.uid);
	return design_make(&o->x.design, reterr);
}

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
		return EXIT_PAUSED;
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

static void options_init(struct run_options *o)
{
	agent_conf_init(&o->agent);
	o->x.design.runs_per_cell = 10;
	o->x.design.boots = 5;
	o->x.design.runs_per_boot = 2;
	o->x.design.order = ORDER_ABBA;
	o->x.warmup_ns = 2 * NS_PER_SEC;
	o->x.duration_ns = 30 * NS_PER_SEC;
	o->x.grace_ns = 5 * NS_PER_SEC;
	o->x.drain_ns = 30 * NS_PER_SEC;
	o->x.stop_on_failure = true;
	o->workloads_dir = WORKLOADS_DIR;
}

static void options_done(struct run_options *o)
{
	agent_conf_done(&o->agent);
	design_done(&o->x.design);
	workload_def_done(&o->def);
	free(o->log_dir);
}

static int parse_options(struct run_options *o, int argc, char **argv, int *ret_rest,
			 bool *ret_help, struct err *reterr)
{
	int rc;

	options_init(o);
	rc = agent_conf_args(&o->agent, argc, argv, take_option, o, ret_rest, ret_help, reterr);
	return rc || *ret_help ? rc : take_tunes(o, *ret_rest, argv, reterr);
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
	options_done(o);
	*o = (struct run_options){0};
	rc = parse_options(o, argc, argv, &rest, &help, reterr);
	o->resume = o->seed_given = true;
	o->args = argv + 1;
	o->x.design.seed = plan->seed;
	memcpy(o->x.uid, plan->uid, sizeof(o->x.uid));
	return rc ? rc : check_options(o, argc - rest, argv + rest, reterr);
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
	int rc = check_options(o, argc, argv, reterr);

	if (!rc && o->dry_run)
		return dry_run(o, reterr);
	rc = rc ? rc : check_no_plan(o, reterr);
	return rc ? rc : run_experiment(o, reterr);
}

int cmd_run(int argc, char **argv)
{
	CLEANUP(options_done) struct run_options o = {.args = argv + 1};
	CLEANUP(boot_plan_done) struct boot_plan plan = {0};
	CLEANUP(words_freep) char **planned = NULL;
	struct err err = {0};
	bool help;
	int rest, rc = parse_options(&o, argc, argv, &rest, &help, &err);

	if (!rc && help) {
		printf("%s%s", usage, agent_conf_help);
		return 0;
	}
	if (!rc && o.abandon)
		rc = abandon(&o, &err);
	else if (!rc && o.resume)
		rc = (rc = resume(&o, &plan, &planned, &err)) ? rc : run_experiment(&o, &err);
	else if (!rc)
		rc = carry_out_options(&o, argc - rest, argv + rest, &err);
	if (rc < 0) {
		fprintf(stderr, "rigstat-agent run: %s\n", err.text);
		return err_exit_status(rc);
	}
	return rc;
}
