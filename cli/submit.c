/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat submit: results of a CI job as runs, with the version that they belong to. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/import_args.h"
#include "cli/input.h"
#include "cli/verbs.h"
#include "common/clock.h"
#include "common/model/selector.h"
#include "common/parse.h"
#include "common/sha256.h"

const char verb_submit_help[] =
	"  rigstat submit --commit $SHA --branch main --experiment nightly result.json\n"
	"  rigstat submit --commit $SHA --branch main --experiment build --value size=4096bytes\n"
	"\n"
	"usage: rigstat submit --experiment NAME --commit ID [OPTIONS] FILE... | --value ...\n"
	"\n"
	"Reads results of any format that import knows (also run documents as JSON, and CSV) and\n"
	"stores them as runs of a version. The same files of the same commit and labels are the\n"
	"same runs, so a job may be repeated; - reads stdin.\n"
	"\n"
	"  --commit ID        the version; a tag of the runs (series are ordered by it)\n"
	"  --branch NAME      a tag; series of different branches are apart\n"
	"  --label NAME=VALUE any other tag, as job=1234\n"
	"  --value NAME=NUMBER[UNIT]   a single result; a time (ns, us, ms, s) becomes ns\n"
	"  --set NAME=LEVEL   a factor: series of different levels are apart\n"
	"  --host HOST        the box that measured; default: this machine's name\n"
	"  --started TIME     when, as 2026-11-30T17:00:00Z; default: as the file says, or "
	"now\n" IMPORT_ARG_HELP "  --json             the stored runs\n"
	"  --server URL       else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

struct submit {
	struct import_args args;
	const char *server, *started;
	bool json;
	int64_t started_ns;
	const char **files;
	size_t n, cap;
	const char **values;
	size_t n_values, cap_values;
	char host[128];
	struct runs runs;
};

enum { OPT_SERVER = 1, OPT_COMMIT, OPT_BRANCH, OPT_LABEL, OPT_VALUE, OPT_STARTED, OPT_JSON };

static int take(struct submit *s, int id, const char *value, struct err *reterr)
{
	switch (id) {
	case ARG_OPERAND:
		GROW(s->files, s->n, s->cap);
		s->files[s->n++] = value;
		return 0;
	case OPT_SERVER:
		s->server = value;
		return 0;
	case OPT_COMMIT:
	case OPT_BRANCH:
		labels_set(&s->args.o.tags, id == OPT_COMMIT ? "commit" : "branch", value);
		return *value ? 0
			      : err_set(reterr, ERR_INVALID, "--commit and --branch: not empty");
	case OPT_LABEL:
		return import_args_take(&s->args, IMPORT_ARG_TAG, value, reterr);
	case OPT_VALUE:
		GROW(s->values, s->n_values, s->cap_values);
		s->values[s->n_values++] = value;
		return 0;
	case OPT_STARTED:
		s->started = value;
		return 0;
	case OPT_JSON:
		s->json = true;
		return 0;
	default:
		return import_args_take(&s->args, id, value, reterr);
	}
}

static int check(struct submit *s, struct err *reterr)
{
	int64_t hi;

	if (!labels_get(&s->args.o.tags, "commit"))
		return err_set(reterr, ERR_INVALID, "--commit: which version is it?");
	if (!s->args.o.experiment)
		return err_set(reterr, ERR_INVALID,
			       "--experiment: a name that all runs of this kind share");
	if (!s->n && !s->n_values)
		return err_set(reterr, ERR_INVALID, "which files, or --value NAME=NUMBER?");
	s->started_ns = clock_realtime_ns();
	if (s->started && !selector_time(s->started, &s->started_ns, &hi))
		return err_set(reterr, ERR_INVALID, "--started %.40s: write 2026-11-30T17:00:00Z",
			       s->started);
	if (!s->args.o.host && gethostname(s->host, sizeof(s->host) - 1) < 0)
		return err_errno(reterr, errno, "the name of this machine");
	if (!s->args.o.host)
		s->args.o.host = s->host;
	return client_server(s->server, &s->server, reterr);
}

static int parse(struct submit *s, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true},
						 {"--commit", OPT_COMMIT, true},
						 {"--branch", OPT_BRANCH, true},
						 {"--label", OPT_LABEL, true},
						 {"--value", OPT_VALUE, true},
						 {"--started", OPT_STARTED, true},
						 {"--json", OPT_JSON, false},
						 IMPORT_ARG_DEFS,
						 {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id >= 0)
			id = take(s, id, value, reterr);
		if (id < 0)
			return id;
	}
	return check(s, reterr);
}

/* ---- runs ---- */

/* The uid follows from what was submitted, so that a repeated job makes no new runs. */
static void name_run(const struct submit *s, struct run *r, const char *name, const void *data,
		     size_t len, size_t index)
{
	const struct labels *all[] = {&r->tags, &r->factors};
	char hex[SHA256_HEX], number[32];
	unsigned char sha[SHA256_LEN];
	struct sha256 h;

	(void)snprintf(number, sizeof(number), "%zu", index);
	sha256_init(&h);
	sha256_add(&h, "rigstat submit", sizeof("rigstat submit"));
	sha256_add(&h, s->args.o.host, strlen(s->args.o.host) + 1);
	sha256_add(&h, s->args.o.experiment, strlen(s->args.o.experiment) + 1);
	for (size_t k = 0; k < ARRAY_LEN(all); k++)
		for (size_t i = 0; i < all[k]->len; i++) {
			sha256_add(&h, all[k]->v[i].key, strlen(all[k]->v[i].key) + 1);
			sha256_add(&h, all[k]->v[i].value, strlen(all[k]->v[i].value) + 1);
		}
	sha256_add(&h, name, strlen(name) + 1);
	sha256_add(&h, number, strlen(number) + 1);
	sha256_add(&h, data, len);
	sha256_finish(&h, sha);
	for (size_t i = 0; i < 16; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", sha[i]);
	memcpy(r->uid, hex, sizeof(r->uid));
}

static void put_labels(struct labels *to, const struct labels *from)
{
	for (size_t i = 0; i < from->len; i++)
		labels_set(to, from->v[i].key, from->v[i].value);
}

static void replace(char **text, const char *with)
{
	if (!with)
		return;
	free(*text);
	*text = xstrdup(with);
}

/* A run of a file becomes one of this commit. `index` is its place in the file. */
static void adopt(struct submit *s, struct run *r, const char *name, const void *data, size_t len,
		  size_t index)
{
	put_labels(&r->tags, &s->args.o.tags);
	put_labels(&r->factors, &s->args.o.factors);
	replace(&r->host, s->args.o.host);
	replace(&r->experiment, s->args.o.experiment);
	if (!r->source)
		replace(&r->source, name);
	if (!r->started_ns || s->started)
		r->started_ns = s->started_ns + (int64_t)index;
	if (r->state == RUN_RUNNING)
		r->state = RUN_OK;
	name_run(s, r, name, data, len, index);
	runs_add(&s->runs, r);
}

static int read_file(struct submit *s, const char *path, struct err *reterr)
{
	CLEANUP(input_close) struct input in = {0};
	CLEANUP(import_result_done) struct import_result got = {0};
	struct import_options o = s->args.o;
	int rc = input_open(path, &in, reterr);

	if (rc)
		return rc;
	o.source = input_name(path);
	rc = import_bytes(in.data, in.len, &o, &got, reterr);
	if (rc)
		return err_prefix(reterr, "%s: ", path);
	for (size_t i = 0; i < got.runs.len; i++)
		adopt(s, TAKE(got.runs.v[i]), o.source, in.data, in.len, i);
	got.runs.len = 0;
	return 0;
}

/* "NAME=NUMBER[UNIT]" */
static int add_value(struct run *r, const char *value, struct err *reterr)
{
	const char *eq = strchr(value, '='), *unit;
	char *name CLEANUP(freep) = NULL, *number CLEANUP(freep) = NULL;
	struct series *series;
	int64_t ns;
	double v;

	if (!eq || eq == value || !eq[1])
		return err_set(reterr, ERR_INVALID, "--value %.60s: write NAME=NUMBER[UNIT]",
			       value);
	name = xstrndup(value, (size_t)(eq - value));
	unit = eq + 1 + strspn(eq + 1, "0123456789.+-eE");
	/* an e that begins a unit is none of the number */
	number = xstrndup(eq + 1, (size_t)(unit - eq - 1));
	if (parse_double(number, &v, reterr) < 0)
		return err_prefix(reterr, "--value %.60s: ", value);
	if (!strcmp(unit, "ns") || !strcmp(unit, "us") || !strcmp(unit, "ms") ||
	    !strcmp(unit, "s")) {
		char one[8];

		(void)snprintf(one, sizeof(one), "1%s", unit);
		if (parse_duration(one, &ns, reterr) < 0)
			return reterr->code;
		v *= (double)ns;
		unit = "ns";
	}
	series = run_add_series(r, name, SERIES_VALUE, *unit ? unit : "1");
	series->value = v;
	return 0;
}

static int read_values(struct submit *s, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf all = {0};
	struct run *r = run_new(RUN_IMPORTED);

	r->state = RUN_OK;
	for (size_t i = 0; i < s->n_values; i++) {
		strbuf_printf(&all, "%s\n", s->values[i]);
		if (add_value(r, s->values[i], reterr) < 0) {
			run_free(r);
			return reterr->code;
		}
	}
	adopt(s, r, "--value", all.data, all.len, 0);
	return 0;
}

/* ---- to the server ---- */

static void print(const struct submit *s, const json_t *doc)
{
	json_t *run;
	size_t i;

	if (s->json) {
		(void)json_dumpf(doc, stdout, JSON_INDENT(1));
		(void)putchar('\n');
		return;
	}
	json_array_foreach(json_object_get(doc, "items"), i, run)(void)
		printf("%s %s %s\n", json_string_value(json_object_get(run, "id")),
		       s->args.o.experiment, s->args.o.host);
	if (json_is_true(json_object_get(doc, "already")))
		(void)fprintf(stderr, "rigstat: these runs were there already\n");
}

static int send_runs(struct submit *s, struct err *reterr)
{
	json_t *list = json_array(), *body, *answer;
	int rc;

	for (size_t i = 0; i < s->runs.len; i++)
		json_array_append_new(list, run_to_json(s->runs.v[i]));
	body = json_pack("{s:o}", "runs", list);
	rc = client_json(s->server, "POST", "/api/v1/runs", body, &answer, reterr);
	json_decref(body);
	if (rc)
		return rc;
	print(s, answer);
	json_decref(answer);
	return 0;
}

static int submit(struct submit *s, struct err *reterr)
{
	int rc = 0;

	for (size_t i = 0; i < s->n && !rc; i++)
		rc = read_file(s, s->files[i], reterr);
	if (!rc && s->n_values)
		rc = read_values(s, reterr);
	return rc ? rc : send_runs(s, reterr);
}

int verb_submit(int argc, char **argv)
{
	struct submit s = {0};
	struct err err;
	int status = EXIT_DONE;

	if (parse(&s, argc, argv, &err) < 0)
		status = cli_usage("submit", &err);
	else if (submit(&s, &err) < 0)
		status = cli_fail(&err);
	runs_done(&s.runs);
	import_args_done(&s.args);
	free(s.files);
	free(s.values);
	return status;
}
