/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat relabel, exclude, undo: what a person corrects about stored runs. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

const char verb_relabel_help[] =
	"  rigstat relabel r_3 max_sectors_kb=32\n"
	"  rigstat relabel r_3 load=iozone wrong_factor=\n"
	"\n"
	"usage: rigstat relabel RUN FACTOR=LEVEL... [--server URL]\n"
	"\n"
	"Sets factors of an imported run; other factors stay, FACTOR= removes one. The factors of "
	"a\n"
	"run that an agent made say what was applied and cannot be changed.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

const char verb_exclude_help[] =
	"  rigstat exclude r_17 --reason 'fan failed'\n"
	"  rigstat exclude r_17 --undo\n"
	"\n"
	"usage: rigstat exclude RUN... --reason TEXT | --undo  [--server URL]\n"
	"\n"
	"Leaves runs out of comparisons. They stay visible everywhere, with the reason.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

const char verb_undo_help[] =
	"  rigstat undo i_3\n"
	"  rigstat undo i_3 i_4 --server http://lab:8420\n"
	"\n"
	"usage: rigstat undo IMPORT... [--server URL]\n"
	"\n"
	"Removes imports with their runs, and hosts and experiments that only they had.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

struct edit {
	const char *server, *reason;
	bool undo;
	char **operands; /* borrowed from argv */
	size_t n, cap;
};

enum { OPT_SERVER = 1, OPT_REASON, OPT_UNDO };

static int parse(struct edit *e, const struct option_def *defs, int argc, char **argv,
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

/* One call on /api/v1/<list>/<id>. `body` is consumed, NULL: none. */
static int call(const struct edit *e, const char *method, const char *list, const char *id,
		json_t *body, struct client_answer *ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	CLEANUP(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	struct client_call c = {.server = e->server,
				.method = method,
				.body = text,
				.body_len = text ? strlen(text) : 0};

	json_decref(body);
	strbuf_printf(&path, "/api/v1/%s/", list);
	client_escape(id, &path);
	c.path = path.data;
	c.content_type = text ? "application/json" : NULL;
	return client_call(&c, ret, reterr);
}

static int finish(const char *verb, struct edit *e, int rc, bool usage, const struct err *err)
{
	free(e->operands);
	if (!rc)
		return EXIT_DONE;
	return usage ? cli_usage(verb, err) : cli_fail(err);
}

/* ---- relabel ---- */

static int set_factor(json_t *factors, const char *text, struct err *reterr)
{
	const char *eq = strchr(text, '=');
	CLEANUP(freep) char *name = NULL;
	json_t *level;

	if (!eq || eq == text)
		return err_set(reterr, ERR_INVALID, "\"%.60s\": write FACTOR=LEVEL", text);
	name = xstrndup(text, (size_t)(eq - text));
	if (!eq[1]) {
		(void)json_object_del(factors, name);
		return 0;
	}
	level = json_string(eq + 1);
	if (!level || json_object_set_new(factors, name, level))
		return err_set(reterr, ERR_INVALID, "\"%.60s\" is not UTF-8", text);
	return 0;
}

static int relabel(const struct edit *e, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer run = {0}, done = {0};
	json_t *doc, *factors;
	int rc = call(e, "GET", "runs", e->operands[0], NULL, &run, reterr);

	if (rc)
		return rc;
	doc = json_loadb(run.body.data, run.body.len, 0, NULL);
	factors = json_incref(json_object_get(doc, "factors"));
	json_decref(doc);
	if (!json_is_object(factors)) {
		json_decref(factors);
		return err_set(reterr, ERR_REMOTE, "%s: the answer is not that of rigstat-server",
			       e->server);
	}
	for (size_t i = 1; i < e->n && !rc; i++)
		rc = set_factor(factors, e->operands[i], reterr);
	if (rc) {
		json_decref(factors);
		return rc;
	}
	rc = call(e, "PATCH", "runs", e->operands[0], json_pack("{s:o}", "factors", factors), &done,
		  reterr);
	if (!rc)
		printf("%s relabelled\n", e->operands[0]);
	return rc;
}

int verb_relabel(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true}, {0}};
	struct edit e = {0};
	struct err err = {0};
	int rc = parse(&e, defs, argc, argv, &err);
	bool usage = rc != 0;

	if (!rc && e.n < 2) {
		rc = err_set(&err, ERR_INVALID, "name a run and at least one FACTOR=LEVEL");
		usage = true;
	}
	return finish("relabel", &e, rc ? rc : relabel(&e, &err), usage, &err);
}

/* ---- exclude ---- */

static int exclude(const struct edit *e, struct err *reterr)
{
	for (size_t i = 0; i < e->n; i++) {
		CLEANUP(client_answer_done) struct client_answer done = {0};
		json_t *reason = e->undo ? json_null() : json_string(e->reason);
		int rc;

		if (!reason)
			return err_set(reterr, ERR_INVALID, "the reason is not UTF-8");
		rc = call(e, "PATCH", "runs", e->operands[i],
			  json_pack("{s:o}", "excluded", reason), &done, reterr);
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
	struct edit e = {0};
	struct err err = {0};
	int rc = parse(&e, defs, argc, argv, &err);
	bool usage = rc != 0;

	if (!rc && (!e.n || !e.reason == !e.undo)) {
		rc = err_set(&err, ERR_INVALID, "name runs and either --reason TEXT or --undo");
		usage = true;
	}
	return finish("exclude", &e, rc ? rc : exclude(&e, &err), usage, &err);
}

/* ---- undo ---- */

static int undo(const struct edit *e, struct err *reterr)
{
	for (size_t i = 0; i < e->n; i++) {
		CLEANUP(client_answer_done) struct client_answer done = {0};
		int rc = call(e, "DELETE", "imports", e->operands[i], NULL, &done, reterr);

		if (rc)
			return rc;
		printf("%s undone\n", e->operands[i]);
	}
	return 0;
}

int verb_undo(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true}, {0}};
	struct edit e = {0};
	struct err err = {0};
	int rc = parse(&e, defs, argc, argv, &err);
	bool usage = rc != 0;

	if (!rc && !e.n) {
		rc = err_set(&err, ERR_INVALID, "name an import, as i_3");
		usage = true;
	}
	return finish("undo", &e, rc ? rc : undo(&e, &err), usage, &err);
}
