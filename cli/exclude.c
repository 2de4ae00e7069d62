/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat exclude: leaves runs out of comparisons, with a reason. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

const char verb_exclude_help[] =
	"  rigstat exclude r_17 --reason 'fan failed'\n"
	"  rigstat exclude r_17 --undo\n"
	"\n"
	"usage: rigstat exclude RUN... --reason TEXT | --undo  [--server URL]\n"
	"\n"
	"Leaves runs out of comparisons. They stay visible everywhere, with the reason.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

struct exclude {
	const char *server, *reason;
	bool undo;
	char **operands; /* borrowed from argv */
	size_t n, cap;
};

enum { OPT_SERVER = 1, OPT_REASON, OPT_UNDO };

static int parse(struct exclude *e, const struct option_def *defs, int argc, char **argv,
		 struct err *reterr)
{
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == OPT_SERVER)
			e->server = value;
		else if (id == OPT_REASON)
			e->reason = value;
		else if (id == OPT_UNDO)
			e->undo = true;
		else {
			GROW(e->operands, e->n, e->cap);
			e->operands[e->n++] = (char *)(uintptr_t)value;
		}
	}
	return client_server(e->server, &e->server, reterr);
}

/* PATCH {"excluded": reason}; `body` is consumed. */
static int patch(const struct exclude *e, const char *run, json_t *body, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer done = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0};
	CLEANUP(freep) char *text = json_dumps(body, JSON_COMPACT);
	struct client_call c = {.server = e->server,
				.method = "PATCH",
				.content_type = "application/json",
				.body = text,
				.body_len = strlen(text)};

	json_decref(body);
	strbuf_puts(&path, "/api/v1/runs/");
	client_escape(run, &path);
	c.path = path.data;
	return client_call(&c, &done, reterr);
}

static int exclude_all(const struct exclude *e, struct err *reterr)
{
	for (size_t i = 0; i < e->n; i++) {
		json_t *reason = e->undo ? json_null() : json_string(e->reason);
		int rc;

		if (!reason)
			return err_set(reterr, ERR_INVALID, "the reason is not UTF-8");
		rc = patch(e, e->operands[i], json_pack("{s:o}", "excluded", reason), reterr);
		if (rc)
			return rc;
		printf("%s %s\n", e->operands[i], e->undo ? "counts again" : "excluded");
	}
	return 0;
}

int verb_exclude(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true},
						 {"--reason", OPT_REASON, true},
						 {"--undo", OPT_UNDO, false},
						 {0}};
	struct exclude e = {0};
	struct err err = {0};
	int rc = parse(&e, defs, argc, argv, &err);
	int status;

	if (!rc && (!e.n || !e.reason == !e.undo))
		rc = err_set(&err, ERR_INVALID, "name runs and either --reason TEXT or --undo");
	if (rc)
		status = cli_usage("exclude", &err);
	else
		status = exclude_all(&e, &err) ? cli_fail(&err) : EXIT_DONE;
	free(e.operands);
	return status;
}
