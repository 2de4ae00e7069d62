/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat experiment create | status | watch | pause | resume | cancel: what the daemons of test
 * boxes carry out. */
#include <jansson.h>
#include <unistd.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/experiment.h"
#include "cli/identity.h"
#include "cli/verbs.h"
#include "common/compare/render.h"
#include "common/check.h"
#include "common/parse.h"

const char verb_experiment_help[] =
	"  rigstat experiment create rq --host box1 --factor rq=0,1 --tune rq=rq_affinity \\\n"
	"      --workload fio-randread --runs 10 --watch\n"
	"  rigstat experiment pause rq\n"
	"\n"
	"usage: rigstat experiment create NAME --host HOST... [OPTIONS]\n"
	"       rigstat experiment status|watch|pause|resume|cancel ID [--server URL]\n"
	"\n"
	"Asks the agents of test boxes to carry out an experiment. Tunables and workloads are "
	"names\n"
	"from a box's own lists, /etc/rigstat/tunables.d and workloads.d there. One box carries "
	"out\n"
	"one experiment at a time, in the order in which they came; a box that somebody else has\n"
	"reserved is refused. ID is e_5, or the name for the newest of that name.\n"
	"  pause   after the present run; the settings are put back and the box is free meanwhile\n"
	"  resume  goes on with the runs that are left; so does an agent after a restart\n"
	"  watch   cell, run k of n, time left and interim numbers, until the end\n"
	"\n"
	"  --host HOST           a box; repeat for more\n"
	"  --factor NAME=L,L...  what is varied; several are crossed\n"
	"  --tune NAME=TUNABLE   how it is set; without it a factor is a label for the workload\n"
	"  --workload NAME       none: the idle box is measured\n"
	"  --runs N              of each combination (10)\n"
	"  --order ORDER         abba, alternate, random or sequential (abba)\n"
	"  --seed N --warmup TIME --duration TIME --retries N --on-failure stop|continue --quiet\n"
	"  --as WHO              who asks, in place of USER@HOST\n"
	"  --dry-run             ask the boxes what they would change, and what they refuse; "
	"change\n"
	"                        nothing\n"
	"  --wait                until every box is done\n"
	"  --watch               the same, and shows it\n"
	"  --json                the server's answer\n"
	"  --server URL          else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 1 a box failed, refused or was cancelled (--wait), 3 usage or bad "
	"input,\n"
	"4 server or network. --dry-run: 1 when a box refuses or did not answer. watch: 0 done, 1 "
	"failed, 2 cancelled, 5 refused.\n";

#define WAIT_SECONDS 2

enum {
	OPT_SERVER = 1,
	OPT_HOST,
	OPT_FACTOR,
	OPT_TUNE,
	OPT_WORKLOAD,
	OPT_RUNS,
	OPT_ORDER,
	OPT_SEED,
	OPT_WARMUP,
	OPT_DURATION,
	OPT_RETRIES,
	OPT_ON_FAILURE,
	OPT_QUIET,
	OPT_AS,
	OPT_WAIT,
	OPT_WATCH,
	OPT_DRY_RUN,
	OPT_JSON
};

struct experiment {
	const char *server, *action, *name; /* name, or the id of one that is there */
	const char *as;
	bool wait, watch, dry_run, json;
	json_t *body, *tunes;
};

/* ---- options ---- */

static json_t *text_of(const char *s)
{
	json_t *v = json_string(s);

	return v ? v : json_string("?"); /* not UTF-8: the server says what is wrong with it */
}

/* "rq=0,1" */
static int add_factor(struct experiment *x, const char *value, struct err *reterr)
{
	const char *eq = strchr(value, '=');
	CLEANUP(freep) char *name = NULL;
	json_t *levels;

	if (!eq || eq == value || !eq[1])
		return err_set(reterr, ERR_INVALID, "--factor %s: write NAME=LEVEL,LEVEL...",
			       value);
	name = xstrndup(value, (size_t)(eq - value));
	levels = json_array();
	for (const char *s = eq; s;) {
		size_t len = strcspn(++s, ",");
		CLEANUP(freep) char *level = xstrndup(s, len);

		json_array_append_new(levels, text_of(level));
		s = s[len] ? s + len : NULL;
	}
	json_array_append_new(json_object_get(x->body, "factors"),
			      json_pack("{s:o, s:o}", "name", text_of(name), "levels", levels));
	return 0;
}

static int add_tune(struct experiment *x, const char *value, struct err *reterr)
{
	const char *eq = strchr(value, '=');
	CLEANUP(freep) char *name = NULL;

	if (!eq || eq == value || !eq[1])
		return err_set(reterr, ERR_INVALID, "--tune %s: write FACTOR=TUNABLE", value);
	name = xstrndup(value, (size_t)(eq - value));
	json_object_set_new(x->tunes, name, text_of(eq + 1));
	return 0;
}

static int set_number(struct experiment *x, const char *member, const char *value,
		      struct err *reterr)
{
	int64_t n;

	if (parse_i64(value, &n, reterr))
		return reterr->code;
	json_object_set_new(x->body, member, json_integer(n));
	return 0;
}

static int set_time(struct experiment *x, const char *member, const char *value, struct err *reterr)
{
	int64_t ns;

	if (parse_duration(value, &ns, reterr))
		return reterr->code;
	json_object_set_new(x->body, member, json_integer(ns));
	return 0;
}

static int set_option(struct experiment *x, int id, const char *value, struct err *reterr)
{
	switch (id) {
	case OPT_SERVER:
		x->server = value;
		return 0;
	case OPT_HOST:
		json_array_append_new(json_object_get(x->body, "hosts"), text_of(value));
		return 0;
	case OPT_FACTOR:
		return add_factor(x, value, reterr);
	case OPT_TUNE:
		return add_tune(x, value, reterr);
	case OPT_WORKLOAD:
		return json_object_set_new(x->body, "workload", text_of(value));
	case OPT_ORDER:
		return json_object_set_new(x->body, "order", text_of(value));
	case OPT_ON_FAILURE:
		return json_object_set_new(x->body, "on_failure", text_of(value));
	case OPT_RUNS:
		return set_number(x, "runs_per_cell", value, reterr);
	case OPT_SEED:
		return set_number(x, "seed", value, reterr);
	case OPT_RETRIES:
		return set_number(x, "retries", value, reterr);
	case OPT_WARMUP:
		return set_time(x, "warmup_ns", value, reterr);
	case OPT_DURATION:
		return set_time(x, "duration_ns", value, reterr);
	case OPT_QUIET:
		return json_object_set_new(x->body, "quiet", json_true());
	case OPT_AS:
		x->as = value;
		return 0;
	case OPT_WAIT:
		x->wait = true;
		return 0;
	case OPT_DRY_RUN:
		x->dry_run = true;
		return 0;
	case OPT_WATCH:
		x->watch = true;
		return 0;
	default:
		x->json = true;
		return 0;
	}
}

/* Each tune belongs to a factor that is there. */
static int join_tunes(struct experiment *x, struct err *reterr)
{
	json_t *factors = json_object_get(x->body, "factors"), *f, *tune;
	const char *name;
	size_t i;

	json_object_foreach(x->tunes, name, tune)
	{
		bool found = false;

		json_array_foreach(factors, i, f)
		{
			if (strcmp(json_string_value(json_object_get(f, "name")), name) != 0)
				continue;
			json_object_set(f, "tune", tune);
			found = true;
		}
		if (!found)
			return err_set(reterr, ERR_INVALID,
				       "--tune %s: there is no --factor %s=...", name, name);
	}
	return 0;
}

static int parse(struct experiment *x, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true},
						 {"--host", OPT_HOST, true},
						 {"--factor", OPT_FACTOR, true},
						 {"--tune", OPT_TUNE, true},
						 {"--workload", OPT_WORKLOAD, true},
						 {"--runs", OPT_RUNS, true},
						 {"--order", OPT_ORDER, true},
						 {"--seed", OPT_SEED, true},
						 {"--warmup", OPT_WARMUP, true},
						 {"--duration", OPT_DURATION, true},
						 {"--retries", OPT_RETRIES, true},
						 {"--on-failure", OPT_ON_FAILURE, true},
						 {"--quiet", OPT_QUIET, false},
						 {"--wait", OPT_WAIT, false},
						 {"--as", OPT_AS, true},
						 {"--watch", OPT_WATCH, false},
						 {"--dry-run", OPT_DRY_RUN, false},
						 {"--json", OPT_JSON, false},
						 {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id, rc;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		rc = 0;
		if (id != ARG_OPERAND)
			rc = set_option(x, id, value, reterr);
		else if (!x->action)
			x->action = value;
		else if (!x->name)
			x->name = value;
		else
			rc = err_set(reterr, ERR_INVALID, "'%s' is too much", value);
		if (rc)
			return rc;
	}
	if (!x->action || !x->name)
		return err_set(reterr, ERR_INVALID,
			       "write create NAME, or status, watch, pause, resume or "
			       "cancel and an ID");
	rc = join_tunes(x, reterr);
	return rc ? rc : client_server(x->server, &x->server, reterr);
}

/* ---- calls ---- */

static int call_assignments(const struct experiment *x, const char *method, const char *id,
			    json_t **ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};

	strbuf_puts(&path, "/api/v1/experiments/");
	client_escape(id, &path);
	strbuf_puts(&path, "/assignments");
	return client_json(x->server, method, path.data, NULL, ret, reterr);
}

static int print_assignments(const json_t *answer)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	const json_t *v;
	size_t i;

	json_array_foreach(json_object_get(answer, "items"), i, v)
	{
		strbuf_printf(&out, "%s  %s", render_str(v, "host"), render_str(v, "state"));
		if (json_is_true(json_object_get(v, "pause")))
			strbuf_puts(&out, ", pauses after this run");
		experiment_put_progress(v, &out);
		if (*render_str(v, "waits_for"))
			strbuf_printf(&out, ": waits, because %s", render_str(v, "waits_for"));
		if (*render_str(v, "text"))
			strbuf_printf(&out, ": %s", render_str(v, "text"));
		strbuf_putc(&out, '\n');
	}
	cli_clean(&out);
	return cli_print(&out);
}

static bool all_ended(const json_t *answer, bool *ret_good)
{
	const json_t *v;
	bool ended = true;
	size_t i;

	*ret_good = true;
	json_array_foreach(json_object_get(answer, "items"), i, v)
	{
		ended &= json_is_string(json_object_get(v, "ended"));
		*ret_good &= !strcmp(render_str(v, "state"), "done");
	}
	return ended;
}

/* Prints how far the boxes are; with --wait once all have ended. */
static int show_status(const struct experiment *x, const char *id, struct err *reterr)
{
	for (;;) {
		json_auto_t *answer = NULL;
		bool good = true;
		int rc = call_assignments(x, "GET", id, &answer, reterr);

		if (rc)
			return rc;
		if (x->wait && !all_ended(answer, &good)) {
			sleep(WAIT_SECONDS);
			continue;
		}
		if (x->json) {
			json_dumpf(answer, stdout, JSON_INDENT(2));
			putchar('\n');
		} else {
			rc = print_assignments(answer);
		}
		if (rc)
			return rc;
		return x->wait && !good ? EXIT_GATE_FAIL : EXIT_DONE;
	}
}

static int start(const struct experiment *x, struct err *reterr)
{
	CLEANUP(freep) char *who = identity(x->as);
	json_auto_t *answer = NULL;
	int rc;

	json_object_set_new(x->body, "name", text_of(x->name));
	json_object_set_new(x->body, "by", text_of(who));
	if (x->dry_run)
		return experiment_dry_run(x->server, x->body, x->json, reterr);
	rc = client_json(x->server, "POST", "/api/v1/experiments", x->body, &answer, reterr);
	if (rc)
		return rc;
	if (x->json && !x->wait && !x->watch) {
		json_dumpf(answer, stdout, JSON_INDENT(2));
		putchar('\n');
		return EXIT_DONE;
	}
	printf("%s %s is queued for %zu boxes\n  %s/experiments/%s\n", render_str(answer, "id"),
	       x->name, json_array_size(json_object_get(answer, "assignments")), x->server,
	       render_str(answer, "id"));
	fflush(stdout);
	if (x->watch)
		return experiment_watch(x->server, render_str(answer, "id"), reterr);
	return x->wait ? show_status(x, render_str(answer, "id"), reterr) : EXIT_DONE;
}

static int cancel(const struct experiment *x, struct err *reterr)
{
	json_auto_t *answer = NULL;
	int rc = call_assignments(x, "DELETE", x->name, &answer, reterr);

	if (rc)
		return rc;
	printf("%lld boxes are told to stop\n",
	       (long long)json_integer_value(json_object_get(answer, "cancelled")));
	return EXIT_DONE;
}

/* Pauses it or lets it go on, and says what that means for each box. */
static int control(const struct experiment *x, const char *state, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_auto_t *body = json_pack("{s:s}", "state", state), *answer = NULL;
	int rc;

	strbuf_puts(&path, "/api/v1/experiments/");
	client_escape(x->name, &path);
	rc = client_json(x->server, "PATCH", path.data, body, &answer, reterr);
	if (rc)
		return rc;
	if (x->json) {
		json_dumpf(answer, stdout, JSON_INDENT(2));
		putchar('\n');
		return EXIT_DONE;
	}
	return show_status(x, render_str(answer, "id"), reterr);
}

static int act(const struct experiment *x, struct err *reterr)
{
	if (!strcmp(x->action, "create") || !strcmp(x->action, "start"))
		return start(x, reterr);
	if (!strcmp(x->action, "status"))
		return show_status(x, x->name, reterr);
	if (!strcmp(x->action, "watch"))
		return experiment_watch(x->server, x->name, reterr);
	if (!strcmp(x->action, "pause"))
		return control(x, "paused", reterr);
	if (!strcmp(x->action, "resume"))
		return control(x, "running", reterr);
	if (!strcmp(x->action, "cancel"))
		return cancel(x, reterr);
	return err_set(reterr, ERR_INVALID,
		       "'%s' is none of create, status, watch, pause, resume and cancel",
		       x->action);
}

int verb_experiment(int argc, char **argv)
{
	struct experiment x = {.body = json_pack("{s:[], s:[]}", "hosts", "factors"),
			       .tunes = json_object()};
	struct err err = {0};
	int status = parse(&x, argc, argv, &err);

	if (status)
		status = cli_usage("experiment", &err);
	else
		status = act(&x, &err);
	json_decref(x.body);
	json_decref(x.tunes);
	return status < 0 ? cli_fail(&err) : status;
}
