/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/run_options.h"

#include <errno.h>
#include <sys/random.h>

#include "agent/parse.h"
#include "agent/planlog.h"
#include "agent/pmu_scope.h"
#include "agent/tune/journal.h"
#include "agent/tune/tunables.h"
#include "common/model/run.h"
#include "common/parse.h"

const char run_usage[] =
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

/* The experiment's uid and the seed of its order: as given, of the plan that goes on, or new. */
static int choose_identity(struct run_options *o, struct err *reterr)
{
	struct planlog_plan plan;
	uint32_t seed;

	if (o->plan_file && !*o->x.uid && planlog_peek(o->plan_file, &plan)) {
		memcpy(o->x.uid, plan.uid, sizeof(plan.uid)); /* it goes on */
		if (!o->seed_given)
			o->x.design.seed = plan.seed;
	} else if (!o->seed_given) {
		if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			return err_errno(reterr, errno, "cannot choose a seed");
		o->x.design.seed = seed;
	}
	if (!*o->x.uid)
		run_mint_uid(o->x.uid);
	return 0;
}

int run_options_check(struct run_options *o, int argc, char **argv, struct err *reterr)
{
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
	rc = choose_identity(o, reterr);
	if (rc)
		return rc;
	if (!o->log_dir)
		o->log_dir = xasprintf("%s/logs", o->agent.spool_dir);
	o->x.log_dir = o->log_dir;
	return design_make(&o->x.design, reterr);
}

/* ---- the whole ---- */

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

void run_options_done(struct run_options *o)
{
	agent_conf_done(&o->agent);
	design_done(&o->x.design);
	workload_def_done(&o->def);
	free(o->log_dir);
}

int run_options_parse(struct run_options *o, int argc, char **argv, int *ret_rest, bool *ret_help,
		      struct err *reterr)
{
	int rc;

	options_init(o);
	rc = agent_conf_args(&o->agent, argc, argv, take_option, o, ret_rest, ret_help, reterr);
	return rc || *ret_help ? rc : take_tunes(o, *ret_rest, argv, reterr);
}
