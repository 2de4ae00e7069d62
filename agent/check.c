/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/check.h"

#include <stdio.h>

#include "agent/command.h"
#include "agent/facts.h"

static const char usage[] = "usage: rigstat-agent check [--json] [OPTIONS]\n"
			    "\n"
			    "Says whether this box is fit to be measured, and what to do where it "
			    "is not.\n"
			    "Exit status 0: no FAIL, 1: at least one.\n"
			    "\n"
			    "  --json                 for programs\n"
			    "\n";

static const char *const json_words[] = {
	[CHECK_OK] = "ok", [CHECK_WARN] = "warn", [CHECK_FAIL] = "fail"};

void check_add(struct checks *c, enum check_level level, const char *name, const char *fix,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	findings_addv(&c->found, level, name, fix, fmt, ap);
	va_end(ap);
}

size_t check_count(const struct checks *c, enum check_level level)
{
	return findings_count(&c->found, level);
}

void checks_done(struct checks *c)
{
	findings_done(&c->found);
}

void check_put_text(const struct checks *c, struct strbuf *out)
{
	size_t fail = check_count(c, CHECK_FAIL), warn = check_count(c, CHECK_WARN);

	strbuf_printf(out, "%s ", c->conf->host);
	if (fail)
		strbuf_printf(out, "is not fit to be measured: %zu of %zu checks failed", fail,
			      c->found.len);
	else
		strbuf_printf(out, "can be measured: none of %zu checks failed", c->found.len);
	if (warn)
		strbuf_printf(out, ", %zu may show in the results", warn);
	strbuf_puts(out, ".\n\n");
	findings_put_text(&c->found, out);
}

void check_put_json(const struct checks *c, struct strbuf *out)
{
	strbuf_puts(out, "{\"host\":");
	json_put_string(out, c->conf->host);
	strbuf_printf(out, ",\"ok\":%zu,\"warn\":%zu,\"fail\":%zu,\"checks\":[",
		      check_count(c, CHECK_OK), check_count(c, CHECK_WARN),
		      check_count(c, CHECK_FAIL));
	for (size_t i = 0; i < c->found.len; i++) {
		const struct finding *f = &c->found.v[i];

		strbuf_printf(out, "%s{\"name\":\"%s\",\"level\":\"%s\",\"text\":", i ? "," : "",
			      f->name, json_words[f->level]);
		json_put_string(out, f->text);
		strbuf_puts(out, ",\"fix\":");
		if (f->fix)
			json_put_string(out, f->fix);
		else
			strbuf_puts(out, "null");
		strbuf_putc(out, '}');
	}
	strbuf_puts(out, "]}\n");
}

static int take_option(void *user, int argc UNUSED, char **argv, struct err *reterr UNUSED)
{
	bool *json = user;

	if (strcmp(argv[0], "--json") != 0)
		return 0;
	*json = true;
	return 1;
}

static int run_checks(const struct agent_conf *conf, bool json)
{
	CLEANUP(checks_done) struct checks c = {.conf = conf, .root = ""};
	CLEANUP(strbuf_done) struct strbuf out = {0};

	check_rights(&c);
	check_kernel(&c);
	check_cpu(&c);
	check_storage(&c);
	check_server(&c);
	if (json)
		check_put_json(&c, &out);
	else
		check_put_text(&c, &out);
	fwrite(out.data, 1, out.len, stdout);
	return check_count(&c, CHECK_FAIL) ? 1 : 0;
}

int cmd_check(int argc, char **argv)
{
	CLEANUP(agent_conf_done) struct agent_conf conf;
	bool json = false, help;
	struct err err = {0};
	int rest, rc;

	agent_conf_init(&conf);
	rc = agent_conf_args(&conf, argc, argv, take_option, &json, &rest, &help, &err);
	if (!rc && rest < argc && !help)
		rc = err_set(&err, ERR_INVALID, "'%s' is too much; see --help", argv[rest]);
	if (rc) {
		fprintf(stderr, "rigstat-agent check: %s\n", err.text);
		return err_exit_status(rc);
	}
	if (help) {
		printf("%s%s", usage, agent_conf_help);
		return 0;
	}
	return run_checks(&conf, json);
}
