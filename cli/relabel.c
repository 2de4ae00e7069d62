/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat relabel: other factor levels for an imported run. */
#include <jansson.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

const char verb_relabel_help[] =
	"  rigstat relabel r_17 max_sectors_kb=64\n"
	"  rigstat relabel r_17 load=iozone max_sectors_kb=32 --server http://lab:8420\n"
	"\n"
	"usage: rigstat relabel RUN FACTOR=LEVEL...\n"
	"\n"
	"Replaces the factors of an imported run. What an agent applied is a record and stays: "
	"such\n"
	"a run can only be excluded or tagged.\n"
	"\n"
	"  --server URL       or $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage or refused, 4 server or network.\n";

struct relabel {
	const char *run, *server;
	json_t *factors;
};

static int take_operand(struct relabel *x, const char *word, struct err *reterr)
{
	const char *eq = strchr(word, '=');
	CLEANUP(freep) char *key = NULL;

	if (!x->run) {
		x->run = word;
		return 0;
	}
	if (!eq || eq == word || !eq[1])
		return err_set(reterr, ERR_INVALID, "\"%.60s\": write factor=level", word);
	key = xstrndup(word, (size_t)(eq - word));
	if (json_object_set_new(x->factors, key, json_string(eq + 1)))
		return err_set(reterr, ERR_INVALID, "\"%.60s\" is not UTF-8", word);
	return 0;
}

static int parse(struct relabel *x, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", 1, true}, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id == ARG_OPERAND)
			id = take_operand(x, value, reterr);
		if (id < 0)
			return id;
		if (id == 1)
			x->server = value;
	}
	if (!x->run || !json_object_size(x->factors))
		return err_set(reterr, ERR_INVALID, "which run, and which factor=level?");
	return client_server(x->server, &x->server, reterr);
}

static int patch(const struct relabel *x, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_t *doc = json_pack("{s:O}", "factors", x->factors);
	CLEANUP(freep) char *body = json_dumps(doc, JSON_COMPACT);
	struct client_call call;

	json_decref(doc);
	strbuf_puts(&path, "/api/v1/runs/");
	client_escape(x->run, &path);
	call = (struct client_call){.server = x->server,
				    .path = path.data,
				    .method = "PATCH",
				    .content_type = "application/json",
				    .body = body,
				    .body_len = strlen(body)};
	return client_call(&call, &answer, reterr);
}

int verb_relabel(int argc, char **argv)
{
	struct relabel x = {.factors = json_object()};
	struct err err = {0};
	int status;

	if (parse(&x, argc, argv, &err))
		status = cli_usage("relabel", &err);
	else
		status = patch(&x, &err) ? cli_fail(&err) : EXIT_DONE;
	json_decref(x.factors);
	return status;
}
