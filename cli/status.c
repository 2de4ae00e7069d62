/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat status: is a server there, and what does it hold. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

const char verb_status_help[] =
	"  rigstat status --server http://lab:8420\n"
	"  rigstat status --json\n"
	"\n"
	"usage: rigstat status [--server URL] [--json]\n"
	"\n"
	"Version of server and database, and how many hosts, experiments and runs it holds.\n"
	"Exit status 4 when no server answers.\n";

static long long count(const json_t *counts, const char *key)
{
	return (long long)json_integer_value(json_object_get(counts, key));
}

static int show(const char *server, const struct client_answer *answer)
{
	json_t *doc = json_loadb(answer->body.data, answer->body.len, 0, NULL);
	const json_t *counts = json_object_get(doc, "counts");
	const json_t *db = json_object_get(doc, "database");
	struct err err;

	if (!json_is_object(counts)) {
		json_decref(doc);
		err_set(&err, ERR_REMOTE, "%s: the answer is not that of rigstat-server", server);
		return cli_fail(&err);
	}
	printf("rigstat-server %s at %s, PostgreSQL %s\n",
	       json_string_value(json_object_get(doc, "version")), server,
	       json_string_value(json_object_get(db, "version")));
	printf("%lld hosts, %lld experiments, %lld runs, %lld imports, %lld pins\n",
	       count(counts, "hosts"), count(counts, "experiments"), count(counts, "runs"),
	       count(counts, "imports"), count(counts, "pins"));
	json_decref(doc);
	return EXIT_DONE;
}

int verb_status(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", 1, true}, {"--json", 2, false}, {0}};
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value, *server = NULL;
	struct err err = {0};
	bool json = false;
	int id;

	while ((id = args_next(&a, defs, &value, &err)) != ARG_END) {
		if (id == ARG_OPERAND)
			id = err_set(&err, ERR_INVALID, "\"%.60s\" means nothing here", value);
		if (id < 0)
			return cli_usage("status", &err);
		if (id == 1)
			server = value;
		json |= id == 2;
	}
	if (client_server(server, &server, &err))
		return cli_usage("status", &err);
	if (client_request(server, "/api/v1/status", NULL, &answer, &err))
		return cli_fail(&err);
	if (!json)
		return show(server, &answer);
	strbuf_putc(&answer.body, '\n');
	return cli_print(&answer.body);
}
