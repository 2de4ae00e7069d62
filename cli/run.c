/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat run: one run of a server as text. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/run_text.h"
#include "cli/verbs.h"

const char verb_run_help[] =
	"  rigstat run r_17 --server http://lab:8420\n"
	"  rigstat run r_17 --json | jq .cost\n"
	"\n"
	"usage: rigstat run RUN [OPTIONS]\n"
	"\n"
	"Everything that one run measured: notes, what each probe cost, distributions, values,\n"
	"interrupts, disks, lock waits by caller, what held the CPU, who used it, and what could\n"
	"not be measured, with the reason.\n"
	"\n"
	"  --all                 every entry of a list, not the largest 8\n"
	"  --json                the answer of /api/v1/runs/RUN\n"
	"  --server URL          else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage, 4 server or network.\n";

struct run_args {
	const char *id, *server;
	bool all, json;
};

static int read_args(struct run_args *o, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {
		{"--server", 1, true}, {"--json", 2, false}, {"--all", 3, false}, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == ARG_OPERAND && o->id)
			return err_set(reterr, ERR_INVALID, "\"%.60s\": one run at a time", value);
		if (id == ARG_OPERAND)
			o->id = value;
		if (id == 1)
			o->server = value;
		o->json |= id == 2;
		o->all |= id == 3;
	}
	if (!o->id)
		return err_set(reterr, ERR_INVALID, "which run? r_17, as `rigstat runs` shows it");
	return client_server(o->server, &o->server, reterr);
}

int verb_run(int argc, char **argv)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0}, out = {0};
	struct run_args o = {0};
	struct err err = {0};
	json_t *doc;

	if (read_args(&o, argc, argv, &err))
		return cli_usage("run", &err);
	strbuf_puts(&path, "/api/v1/runs/");
	client_escape(o.id, &path);
	if (client_request(o.server, path.data, NULL, &answer, &err))
		return cli_fail(&err);
	if (o.json) {
		strbuf_putc(&answer.body, '\n');
		return cli_print(&answer.body);
	}
	doc = json_loadb(answer.body.data, answer.body.len, 0, NULL);
	if (!json_is_object(doc) || !json_is_array(json_object_get(doc, "series"))) {
		json_decref(doc);
		(void)err_set(&err, ERR_REMOTE, "%s: the answer is not that of rigstat-server",
			      o.server);
		return cli_fail(&err);
	}
	run_text(doc, o.all, &out);
	json_decref(doc);
	cli_clean(&out);
	return cli_print(&out);
}
