/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat host show | retire | unretire | reserve | release: one test box. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/identity.h"
#include "cli/verbs.h"
#include "common/parse.h"

const char verb_host_help[] =
	"  rigstat host show box1\n"
	"  rigstat host reserve box1 --for 2h --reason 'kernel bisect'\n"
	"\n"
	"usage: rigstat host show NAME [--json]\n"
	"       rigstat host reserve NAME [--for TIME] [--reason TEXT] [--as WHO]\n"
	"       rigstat host release NAME [--force] [--as WHO]\n"
	"       rigstat host retire NAME | rigstat host unretire NAME\n"
	"       rigstat host set NAME [SETTING=VALUE | SETTING-]...\n"
	"\n"
	"One test box: what its agent says, who holds it, and whether it is still in use.\n"
	"A reserved box gets experiments of its holder only; it is released by its holder, by\n"
	"--force, or when its time is over. Who that is, is what they say: WHO is USER@HOST of\n"
	"this machine unless --as names another. A retired box keeps its data, takes no more, and\n"
	"is left out of lists.\n"
	"\n"
	"set changes what the box's watch runs do, within seconds and without a restart: interval\n"
	"(100ms to 60s), blame (auto, off or a time), io, locks, shares, system (yes or no).\n"
	"SETTING- gives it back to the box's own file. Nothing else can be set from here, and\n"
	"experiments are not affected.\n"
	"\n"
	"  --for TIME            such as 2h or 3d; without it until it is released\n"
	"  --reason TEXT         shown to others\n"
	"  --force               also release what somebody else holds\n"
	"  --as WHO              in place of USER@HOST\n"
	"  --json                the server's answer\n"
	"  --server URL          else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage or refused (somebody else holds it), 4 server or network.\n";

#define SETTINGS_MAX 16

enum { OPT_SERVER = 1, OPT_FOR, OPT_REASON, OPT_FORCE, OPT_AS, OPT_JSON };

struct host {
	const char *server, *action, *name, *reason, *as;
	int64_t for_ns; /* 0: until released */
	const char *words[SETTINGS_MAX];
	size_t n_words;
	bool force, json;
};

static int parse(struct host *h, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", OPT_SERVER, true},
						 {"--for", OPT_FOR, true},
						 {"--reason", OPT_REASON, true},
						 {"--force", OPT_FORCE, false},
						 {"--as", OPT_AS, true},
						 {"--json", OPT_JSON, false},
						 {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == OPT_SERVER)
			h->server = value;
		else if (id == OPT_FOR && parse_duration(value, &h->for_ns, reterr))
			return err_prefix(reterr, "--for: ");
		else if (id == OPT_REASON)
			h->reason = value;
		else if (id == OPT_AS)
			h->as = value;
		h->force |= id == OPT_FORCE;
		h->json |= id == OPT_JSON;
		if (id != ARG_OPERAND)
			continue;
		if (h->name && (strcmp(h->action, "set") != 0 || h->n_words == SETTINGS_MAX))
			return err_set(reterr, ERR_INVALID, "'%s' is too much", value);
		if (h->name)
			h->words[h->n_words++] = value;
		else
			*(h->action ? &h->name : &h->action) = value;
	}
	if (!h->action || !h->name)
		return err_set(reterr, ERR_INVALID,
			       "write show, reserve, release, retire, unretire or set, and a NAME");
	return client_server(h->server, &h->server, reterr);
}

/* ---- calls ---- */

static char *host_path(const struct host *h, const char *rest)
{
	struct strbuf path = {0};

	strbuf_puts(&path, "/api/v1/hosts/");
	client_escape(h->name, &path);
	strbuf_puts(&path, rest);
	return strbuf_take(&path);
}

static int call(const struct host *h, const char *method, const char *rest, const json_t *body,
		json_t **ret, struct err *reterr)
{
	CLEANUP(freep) char *path = host_path(h, rest);

	return client_json(h->server, method, path, body, ret, reterr);
}

static int print_json(const json_t *doc)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	char *text = json_dumps(doc, JSON_INDENT(2));

	strbuf_printf(&out, "%s\n", text);
	free(text);
	return cli_print(&out);
}

/* ---- show ---- */

static const char *text_at(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static void put_ns(struct strbuf *out, const char *name, const json_t *v, const char *after)
{
	char buf[40];

	if (json_is_integer(v))
		strbuf_printf(out, "  %-14s%s%s\n", name,
			      format_ns((double)json_integer_value(v), buf, sizeof(buf)), after);
}

static void put_text(struct strbuf *out, const char *name, const char *text)
{
	if (*text)
		strbuf_printf(out, "  %-14s%s\n", name, text);
}

static void put_clock(struct strbuf *out, const json_t *agent)
{
	const json_t *offset = json_object_get(agent, "clock_offset_ns");
	double ns = (double)json_integer_value(offset);
	char a[40], b[40];

	if (!json_is_integer(offset)) {
		put_text(out, "clock", "not yet compared with the server's");
		return;
	}
	strbuf_printf(
		out, "  %-14s%s %s the server's (within %s)\n", "clock",
		format_ns(ns < 0 ? -ns : ns, a, sizeof(a)), ns < 0 ? "behind" : "ahead of",
		format_ns((double)json_integer_value(json_object_get(agent, "clock_error_ns")), b,
			  sizeof(b)));
}

static void put_agent(struct strbuf *out, const json_t *agent)
{
	const json_t *spool = json_object_get(agent, "spool");
	const json_t *dropped = json_object_get(agent, "dropped");
	const json_t *error = json_object_get(agent, "error");

	if (!json_is_object(agent)) {
		put_text(out, "agent", "has not reported (an old one, or none)");
		return;
	}
	put_ns(out, "agent up", json_object_get(agent, "uptime_ns"), "");
	put_ns(out, "box up", json_object_get(agent, "box_uptime_ns"), "");
	strbuf_printf(out, "  %-14s%lld bytes, %lld records wait\n", "spool",
		      (long long)json_integer_value(json_object_get(spool, "bytes")),
		      (long long)json_integer_value(json_object_get(spool, "records")));
	put_text(out, "", text_at(spool, "problem"));
	strbuf_printf(out, "  %-14s%lld samples in %lld records; %lld refused by the server\n",
		      "dropped", (long long)json_integer_value(json_object_get(dropped, "samples")),
		      (long long)json_integer_value(json_object_get(dropped, "records")),
		      (long long)json_integer_value(json_object_get(dropped, "refused")));
	put_clock(out, agent);
	if (*text_at(agent, "settings"))
		strbuf_printf(out, "  %-14s%s (set from the server)\n", "settings",
			      text_at(agent, "settings"));
	if (json_is_object(error))
		strbuf_printf(out, "  %-14s%s (%s)\n", "last error", text_at(error, "text"),
			      text_at(error, "time"));
}

static void put_reserved(struct strbuf *out, const json_t *r)
{
	if (!json_is_object(r))
		return;
	strbuf_printf(out, "  %-14sby %s", "reserved", text_at(r, "by"));
	if (*text_at(r, "until"))
		strbuf_printf(out, " until %s", text_at(r, "until"));
	if (*text_at(r, "reason"))
		strbuf_printf(out, ": %s", text_at(r, "reason"));
	strbuf_putc(out, '\n');
}

static int show(const struct host *h, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	json_auto_t *doc = NULL;
	int rc = call(h, "GET", "", NULL, &doc, reterr);

	if (rc)
		return rc;
	if (h->json)
		return print_json(doc);
	strbuf_printf(&out, "%s is %s", text_at(doc, "name"), text_at(doc, "state"));
	if (json_is_object(json_object_get(doc, "now")))
		strbuf_printf(&out, ": %s", text_at(json_object_get(doc, "now"), "text"));
	strbuf_puts(&out, "\n");
	put_text(&out, "retired", text_at(doc, "retired"));
	put_text(&out, "last seen", text_at(doc, "last_seen"));
	put_ns(&out, "lag", json_object_get(doc, "lag_ns"), "");
	put_text(&out, "kernel", text_at(doc, "kernel"));
	put_text(&out, "cpu", text_at(doc, "cpu"));
	put_text(&out, "agent", text_at(doc, "agent_version"));
	put_agent(&out, json_object_get(doc, "agent"));
	put_reserved(&out, json_object_get(doc, "reserved"));
	put_text(&out, "note", text_at(doc, "note"));
	cli_clean(&out);
	return cli_print(&out);
}

/* ---- the others ---- */

static int retire(const struct host *h, bool retired, struct err *reterr)
{
	json_auto_t *body = json_pack("{s:b}", "retired", retired), *answer = NULL;
	int rc = call(h, "PATCH", "", body, &answer, reterr);

	if (rc)
		return rc;
	if (h->json)
		return print_json(answer);
	printf(retired ? "%s is retired: its data is kept, it takes no more\n"
		       : "%s is in use again\n",
	       h->name);
	return EXIT_DONE;
}

static int reserve(const struct host *h, struct err *reterr)
{
	CLEANUP(freep) char *who = identity(h->as);
	json_auto_t *body = json_pack("{s:s*, s:s*, s:o}", "by", who, "reason", h->reason, "for_ns",
				      h->for_ns ? json_integer(h->for_ns) : json_null());
	json_auto_t *answer = NULL;
	int rc = body ? call(h, "PUT", "/reservation", body, &answer, reterr)
		      : err_set(reterr, ERR_INVALID, "a name or reason is not UTF-8");

	if (rc)
		return rc;
	if (h->json)
		return print_json(answer);
	printf("%s is reserved by %s%s%s\n", h->name, text_at(answer, "by"),
	       *text_at(answer, "until") ? " until " : ", until it is released",
	       text_at(answer, "until"));
	return EXIT_DONE;
}

static int release(const struct host *h, struct err *reterr)
{
	CLEANUP(freep) char *who = identity(h->as);
	CLEANUP(strbuf_done) struct strbuf rest = {0};
	json_auto_t *answer = NULL;
	int rc;

	strbuf_printf(&rest, "/reservation?%sby=", h->force ? "force=1&" : "");
	client_escape(who, &rest);
	rc = call(h, "DELETE", rest.data, NULL, &answer, reterr);
	if (rc)
		return rc;
	if (h->json)
		return print_json(answer);
	printf("%s is free; it was held by %s\n", h->name,
	       text_at(json_object_get(answer, "released"), "by"));
	return EXIT_DONE;
}

static int change_settings(const struct host *h, json_t *settings, struct err *reterr)
{
	for (size_t i = 0; i < h->n_words; i++) {
		const char *word = h->words[i], *eq = strchr(word, '=');
		size_t len = strlen(word);
		CLEANUP(freep)
		char *name = xstrndup(word, eq ? (size_t)(eq - word) : len ? len - 1 : 0);

		if (eq && eq != word && !json_object_set_new(settings, name, json_string(eq + 1)))
			continue;
		if (eq || len < 2 || word[len - 1] != '-')
			return err_set(reterr, ERR_INVALID,
				       "'%.60s' is neither SETTING=VALUE nor SETTING-", word);
		json_object_del(settings, name);
	}
	return 0;
}

static int set(const struct host *h, struct err *reterr)
{
	json_auto_t *doc = NULL, *settings = NULL, *body = NULL, *answer = NULL;
	CLEANUP(strbuf_done) struct strbuf out = {0};
	const char *key;
	json_t *v;
	int rc = call(h, "GET", "", NULL, &doc, reterr);

	if (rc)
		return rc;
	settings = json_deep_copy(json_object_get(doc, "settings"));
	if (!json_is_object(settings))
		return err_set(reterr, ERR_REMOTE, "the server is older and sets nothing");
	rc = change_settings(h, settings, reterr);
	body = json_pack("{s:O}", "settings", settings);
	if (!rc && h->n_words)
		rc = call(h, "PATCH", "", body, &answer, reterr);
	if (rc)
		return rc;
	json_object_foreach(settings, key, v)
		strbuf_printf(&out, "%s=%s\n", key, json_string_value(v));
	if (!out.len)
		strbuf_printf(&out, "%s does as its own file says\n", h->name);
	cli_clean(&out);
	return cli_print(&out);
}

int verb_host(int argc, char **argv)
{
	struct host h = {0};
	struct err err = {0};
	int status = parse(&h, argc, argv, &err);

	if (status)
		return cli_usage("host", &err);
	if (!strcmp(h.action, "show"))
		status = show(&h, &err);
	else if (!strcmp(h.action, "reserve"))
		status = reserve(&h, &err);
	else if (!strcmp(h.action, "release"))
		status = release(&h, &err);
	else if (!strcmp(h.action, "retire"))
		status = retire(&h, true, &err);
	else if (!strcmp(h.action, "unretire"))
		status = retire(&h, false, &err);
	else if (!strcmp(h.action, "set"))
		status = set(&h, &err);
	else
		status = err_set(&err, ERR_INVALID,
				 "'%s' is none of show, reserve, release, retire, unretire and set",
				 h.action);
	return status < 0 ? cli_fail(&err) : status;
}
