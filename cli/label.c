/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat tag | annotate | rename: what people call things and say about them. */
#include <jansson.h>
#include <stdio.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

#define THING_HELP                                                                                 \
	"WHAT is a run (r_17), an experiment (e_5 or experiment/NAME) or a host (host/NAME).\n"

const char verb_tag_help[] = "  rigstat tag r_17 suspect=yes\n"
			     "  rigstat tag host/box1 rack=7 old-\n"
			     "\n"
			     "usage: rigstat tag WHAT [NAME=VALUE | NAME-]... [--server URL]\n"
			     "\n" THING_HELP "NAME=VALUE sets a tag, NAME- takes it away; the "
			     "others stay. Without any, they are shown.\n"
			     "Tags choose in selectors: rigstat runs 'suspect=yes'.\n"
			     "\n"
			     "Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

const char verb_annotate_help[] =
	"  rigstat annotate r_17 'fan was loud'\n"
	"  rigstat annotate experiment/rq --append 'bios updated before run 12'\n"
	"\n"
	"usage: rigstat annotate WHAT TEXT [--append] [--server URL]\n"
	"\n" THING_HELP "The note replaces the one that is there, or is added as a line to it. An "
	"empty TEXT takes\n"
	"it away.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

const char verb_rename_help[] =
	"  rigstat rename e_5 rq-after-bios\n"
	"  rigstat rename host/box1 box-lab-1\n"
	"\n"
	"usage: rigstat rename WHAT NEW [--server URL]\n"
	"\n"
	"WHAT is an experiment (e_5 or experiment/NAME) or a host (host/NAME). Links and selectors "
	"by\n"
	"the old name end. A host whose agent is there keeps its name: stop the agent, rename, "
	"write\n"
	"host = NEW into its /etc/rigstat/agent.conf, start it.\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

#define OPERANDS_MAX 64

struct label {
	const char *server;
	const char *operands[OPERANDS_MAX];
	size_t n;
	bool append;
	struct strbuf path;
};

/* "host/box1" -> /api/v1/hosts/box1 */
static int put_path(const char *what, struct strbuf *path, struct err *reterr)
{
	static const struct {
		const char *prefix, *path;
	} kinds[] = {{"host/", "/api/v1/hosts/"}, {"experiment/", "/api/v1/experiments/"}};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (strncmp(what, kinds[i].prefix, len) != 0 || !what[len])
			continue;
		strbuf_puts(path, kinds[i].path);
		client_escape(what + len, path);
		return 0;
	}
	if (strncmp(what, "r_", 2) != 0 && strncmp(what, "e_", 2) != 0)
		return err_set(reterr, ERR_INVALID,
			       "'%.60s' is none of r_17, e_5, experiment/NAME and host/NAME", what);
	strbuf_puts(path, *what == 'r' ? "/api/v1/runs/" : "/api/v1/experiments/");
	client_escape(what, path);
	return 0;
}

static int parse(struct label *l, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {
		{"--server", 1, true}, {"--append", 2, false}, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == 1)
			l->server = value;
		l->append |= id == 2;
		if (id != ARG_OPERAND)
			continue;
		if (l->n == OPERANDS_MAX)
			return err_set(reterr, ERR_LIMIT, "more than %d words", OPERANDS_MAX);
		l->operands[l->n++] = value;
	}
	if (!l->n)
		return err_set(reterr, ERR_INVALID, "of what?");
	if (l->append && strcmp(argv[0], "annotate") != 0)
		return err_set(reterr, ERR_INVALID, "--append belongs to annotate");
	if (put_path(l->operands[0], &l->path, reterr))
		return reterr->code;
	return client_server(l->server, &l->server, reterr);
}

static int patch(const struct label *l, json_t *body, struct err *reterr)
{
	json_auto_t *answer = NULL;

	if (!body)
		return err_set(reterr, ERR_INVALID, "a word is not UTF-8");
	return client_json(l->server, "PATCH", l->path.data, body, &answer, reterr);
}

/* ---- tag ---- */

static int change_tags(const struct label *l, json_t *tags, struct err *reterr)
{
	for (size_t i = 1; i < l->n; i++) {
		const char *word = l->operands[i], *eq = strchr(word, '=');
		size_t len = strlen(word);
		CLEANUP(freep) char *name = xstrndup(word, eq ? (size_t)(eq - word) : len - 1);

		if (eq && eq != word) {
			if (json_object_set_new(tags, name, json_string(eq + 1)))
				return err_set(reterr, ERR_INVALID, "'%.60s' is not UTF-8", word);
		} else if (!eq && len > 1 && word[len - 1] == '-') {
			json_object_del(tags, name);
		} else {
			return err_set(reterr, ERR_INVALID,
				       "'%.60s' is neither NAME=VALUE nor NAME-", word);
		}
	}
	return 0;
}

static int print_tags(const json_t *tags)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)tags, key, v)
		strbuf_printf(&out, "%s=%s\n", key, json_string_value(v));
	cli_clean(&out);
	return out.len ? cli_print(&out) : EXIT_DONE;
}

static int tag(const struct label *l, struct err *reterr)
{
	json_auto_t *doc = NULL, *tags = NULL;
	int rc = client_json(l->server, "GET", l->path.data, NULL, &doc, reterr);

	if (rc)
		return rc;
	tags = json_deep_copy(json_object_get(doc, "tags"));
	if (!json_is_object(tags))
		return err_set(reterr, ERR_REMOTE, "the server does not say its tags");
	rc = change_tags(l, tags, reterr);
	if (!rc && l->n > 1) {
		json_auto_t *body = json_pack("{s:O}", "tags", tags);

		rc = patch(l, body, reterr);
	}
	return rc ? rc : print_tags(tags);
}

/* ---- annotate, rename ---- */

static int annotate(const struct label *l, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf note = {0};
	json_auto_t *doc = NULL, *body = NULL;
	const char *old;

	if (l->n != 2)
		return err_set(reterr, ERR_INVALID, "write WHAT and a TEXT in quotes");
	if (l->append) {
		int rc = client_json(l->server, "GET", l->path.data, NULL, &doc, reterr);

		if (rc)
			return rc;
		old = json_string_value(json_object_get(doc, "note"));
		if (old && *old)
			strbuf_printf(&note, "%s\n", old);
	}
	strbuf_puts(&note, l->operands[1]);
	body = json_pack("{s:s}", "note", note.data);
	return patch(l, body, reterr);
}

static int do_rename(const struct label *l, struct err *reterr)
{
	json_auto_t *body = NULL;

	if (l->n != 2)
		return err_set(reterr, ERR_INVALID, "write WHAT and its NEW name");
	if (!strncmp(l->operands[0], "r_", 2))
		return err_set(reterr, ERR_INVALID, "runs have no names; rigstat tag or annotate");
	body = json_pack("{s:s}", "name", l->operands[1]);
	return patch(l, body, reterr);
}

static int run(int argc, char **argv, int (*act)(const struct label *l, struct err *reterr))
{
	struct label l = {0};
	struct err err = {0};
	int status;

	if (parse(&l, argc, argv, &err)) {
		status = cli_usage(argv[0], &err);
	} else {
		status = act(&l, &err);
		if (status)
			status = cli_fail(&err);
	}
	strbuf_done(&l.path);
	return status;
}

int verb_tag(int argc, char **argv)
{
	return run(argc, argv, tag);
}

int verb_annotate(int argc, char **argv)
{
	return run(argc, argv, annotate);
}

int verb_rename(int argc, char **argv)
{
	return run(argc, argv, do_rename);
}
