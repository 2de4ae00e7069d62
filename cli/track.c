/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat series | changes | change: regression tracking of a server. */
#include <jansson.h>
#include <stdio.h>

#include "cli/client.h"
#include "cli/list.h"
#include "cli/verbs.h"

/* --- series --- */

const char verb_series_help[] =
	"  rigstat series --host olab-12 --metric wakeup_latency\n"
	"  rigstat series --points s_12 > history.csv\n"
	"\n"
	"usage: rigstat series [OPTIONS]\n"
	"\n"
	"Statistics of one metric on one host over its runs, by time or version, and what the\n"
	"analysis of each says: none, steps, drift or history_too_short.\n"
	"\n"
	"  --host NAME           name or glob\n"
	"  --metric NAME --stat NAME --experiment NAME --branch NAME --reading WORD\n"
	"  --points SERIES       the points of one series as CSV\n" LIST_HELP;

static int print_points(const char *id, const char *server_option)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0};
	const char *server;
	struct err err;

	strbuf_puts(&path, "/api/v1/series/");
	client_escape(id, &path);
	strbuf_puts(&path, "/points?format=csv&limit=50000");
	if (client_server(server_option, &server, &err) < 0 ||
	    client_request(server, path.data, NULL, &answer, &err) < 0)
		return cli_fail(&err);
	return cli_print(&answer.body);
}

int verb_series(int argc, char **argv)
{
	static const struct list_column columns[] = {
		{"SERIES", "id", COLUMN_TEXT},
		{"HOST", "host", COLUMN_TEXT},
		{"METRIC", "metric", COLUMN_TEXT},
		{"STAT", "stat", COLUMN_TEXT},
		{"EXPERIMENT", "context.experiment", COLUMN_TEXT},
		{"BRANCH", "context.branch", COLUMN_TEXT},
		{"POINTS", "points", COLUMN_NUMBER},
		{"READING", "reading", COLUMN_TEXT},
		{"LEVEL", "level", COLUMN_NUMBER},
		{"UNIT", "unit", COLUMN_TEXT},
		{"OPEN", "open_changes", COLUMN_NUMBER},
		{"LAST", "last.version", COLUMN_TEXT}};
	static const struct option_def options[] = {LIST_OPTIONS,
						    {"--host", LIST_PARAMETER, true},
						    {"--metric", LIST_PARAMETER + 1, true},
						    {"--stat", LIST_PARAMETER + 2, true},
						    {"--experiment", LIST_PARAMETER + 3, true},
						    {"--branch", LIST_PARAMETER + 4, true},
						    {"--reading", LIST_PARAMETER + 5, true},
						    {"--limit", LIST_PARAMETER + 6, true},
						    {NULL, 0, false}};
	static const char *const parameters[] = {"host",   "metric",  "stat", "experiment",
						 "branch", "reading", "limit"};
	static const struct list_verb v = {"series", "/api/v1/series", columns, ARRAY_LEN(columns),
					   options,  parameters,       NULL};

	if (argc >= 3 && !strcmp(argv[1], "--points"))
		return print_points(argv[2],
				    argc >= 5 && !strcmp(argv[3], "--server") ? argv[4] : NULL);
	return list_run(&v, argc, argv);
}

/* --- changes --- */

const char verb_changes_help[] =
	"  rigstat changes --state new,reopened\n"
	"  rigstat changes --host olab-12 --direction worse --json\n"
	"\n"
	"usage: rigstat changes [OPTIONS]\n"
	"\n"
	"Level shifts that were found after runs, grouped by host, and what people decided.\n"
	"\n"
	"  --state LIST          of new, confirmed, accepted, ignored, fixed, reopened, withdrawn\n"
	"  --host NAME --metric NAME\n"
	"  --direction WORD      worse, better or none\n" LIST_HELP;

int verb_changes(int argc, char **argv)
{
	static const struct list_column columns[] = {{"CHANGE", "id", COLUMN_TEXT},
						     {"STATE", "state", COLUMN_TEXT},
						     {"AT", "at", COLUMN_TEXT},
						     {"OWNER", "owner", COLUMN_TEXT},
						     {"WHAT", "sentence", COLUMN_TEXT}};
	static const struct option_def options[] = {LIST_OPTIONS,
						    {"--state", LIST_PARAMETER, true},
						    {"--host", LIST_PARAMETER + 1, true},
						    {"--metric", LIST_PARAMETER + 2, true},
						    {"--direction", LIST_PARAMETER + 3, true},
						    {"--limit", LIST_PARAMETER + 4, true},
						    {NULL, 0, false}};
	static const char *const parameters[] = {"state", "host", "metric", "direction", "limit"};
	static const struct list_verb v = {
		"changes", "/api/v1/changes", columns, ARRAY_LEN(columns),
		options,   parameters,	      NULL};

	return list_run(&v, argc, argv);
}

/* --- change --- */

const char verb_change_help[] =
	"  rigstat change accept c_3 --note 'known, fix is queued' --by anna\n"
	"  rigstat change ignore c_4 --reason environment --by anna\n"
	"\n"
	"usage: rigstat change accept|confirm|fixed CHANGE [OPTIONS]\n"
	"       rigstat change ignore CHANGE --reason noise|environment|duplicate|unimportant\n"
	"       rigstat change note CHANGE [--note TEXT] [--owner NAME] [--issue LINK]\n"
	"       rigstat change mark SERIES RUN [--note TEXT]\n"
	"\n"
	"accept: real, and wanted or tolerated; its level is the baseline from now on. mark: a\n"
	"change by hand, at the first run of the new level.\n"
	"\n"
	"  --note TEXT --owner NAME --issue LINK\n"
	"  --by NAME             who says so\n"
	"  --server URL          else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

enum { OPT_SERVER = 1, OPT_TEXT };

static const char *const texts[] = {"reason", "note", "owner", "issue", "by"};

static int parse(int argc, char **argv, const char *operands[3], const char **server, json_t *body,
		 struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true},
						 {"--reason", OPT_TEXT, true},
						 {"--note", OPT_TEXT + 1, true},
						 {"--owner", OPT_TEXT + 2, true},
						 {"--issue", OPT_TEXT + 3, true},
						 {"--by", OPT_TEXT + 4, true},
						 {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	size_t n = 0;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == OPT_SERVER)
			*server = value;
		else if (id >= OPT_TEXT)
			json_object_set_new(body, texts[id - OPT_TEXT], json_string(value));
		else if (n == 3)
			return err_set(reterr, ERR_INVALID, "%.60s is too much", value);
		else
			operands[n++] = value;
	}
	if (n < 2)
		return err_set(reterr, ERR_INVALID,
			       "accept, confirm, ignore, fixed, note or mark?");
	return client_server(*server, server, reterr);
}

static int change(const char *const operands[3], const char *server, json_t *body,
		  struct err *reterr)
{
	static const struct {
		const char *verb, *state;
	} verbs_of[] = {{"accept", "accepted"},
			{"confirm", "confirmed"},
			{"ignore", "ignored"},
			{"fixed", "fixed"},
			{"note", NULL}};
	bool mark = !strcmp(operands[0], "mark");
	CLEANUP(strbuf_done) struct strbuf path = {0};
	const char *sentence;
	json_t *doc;
	size_t i = 0;
	int rc;

	strbuf_puts(&path, "/api/v1/changes");
	while (i < ARRAY_LEN(verbs_of) && strcmp(verbs_of[i].verb, operands[0]) != 0)
		i++;
	if (!mark && i == ARRAY_LEN(verbs_of))
		return err_set(reterr, ERR_INVALID,
			       "%.60s: one of accept, confirm, ignore, fixed, note, mark",
			       operands[0]);
	if (mark == !operands[2])
		return err_set(reterr, ERR_INVALID,
			       mark ? "mark SERIES RUN: the first run of the new level"
				    : "one change at a time");
	if (mark) {
		json_object_set_new(body, "series", json_string(operands[1]));
		json_object_set_new(body, "run", json_string(operands[2]));
	} else {
		strbuf_putc(&path, '/');
		client_escape(operands[1], &path);
		if (verbs_of[i].state)
			json_object_set_new(body, "state", json_string(verbs_of[i].state));
	}
	rc = client_json(server, mark ? "POST" : "PATCH", path.data, body, &doc, reterr);
	if (rc)
		return rc;
	sentence = json_string_value(json_object_get(doc, "sentence"));
	printf("%s %s: %s\n", json_string_value(json_object_get(doc, "id")),
	       json_string_value(json_object_get(doc, "state")), sentence ? sentence : "");
	json_decref(doc);
	return 0;
}

int verb_change(int argc, char **argv)
{
	const char *operands[3] = {NULL}, *server = NULL;
	json_t *body = json_object();
	int status = EXIT_DONE;
	struct err err;

	if (parse(argc, argv, operands, &server, body, &err) < 0)
		status = cli_usage("change", &err);
	else if (change(operands, server, body, &err) < 0)
		status = cli_fail(&err);
	json_decref(body);
	return status;
}
