/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent enroll: turns a code into this box's token and writes both files that the daemon
 * needs. The token is made here and kept on disk before the server hears of it (its digest), so
 * that a lost answer, a crash and a second attempt with the same code all end well. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/command.h"
#include "agent/conf.h"
#include "agent/confedit.h"
#include "agent/identity.h"
#include "agent/serverlink.h"
#include "agent/sysread.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/parse.h"
#include "common/token.h"

#define TIMEOUT_NS   (20 * NS_PER_SEC)
#define CLOCK_MAX_NS (60 * NS_PER_SEC)

static const char help[] =
	"usage: rigstat-agent enroll --server URL (--code CODE | --code-file FILE) [OPTIONS]\n\n"
	"Makes this box known to a server: the code, from `rigstat-server enroll-code`, becomes a\n"
	"token for the records of this box. The token is written beside the configuration file, "
	"in\n"
	"identity/token (mode 0600), and the file gets server, host, token-file and, when the "
	"code\n"
	"carries one, server-pin. After a lost answer the same command may be given again.\n\n"
	"  --server URL          the server (or $RIGSTAT_SERVER)\n"
	"  --code CODE           the code; --code-file keeps it out of the list of processes\n"
	"  --code-file FILE      a file with the code in its first line; - is standard input\n"
	"  --host NAME           name of this box (default: its host name); a code for one host, "
	"and\n"
	"                        a machine that is known by its DMI UUID, have their name already\n"
	"  --server-pin PIN      key that the server must have, when the code carries none\n"
	"  --ca-file FILE        certificates that the server's must come from\n"
	"  --config FILE         write this instead of /etc/rigstat/agent.conf\n";

struct enrolment {
	struct agent_conf conf;
	char code[CODE_TEXT_MAX + 2];
	struct code_text parsed;
	char *dir, *token_path;
	char machine[SYSREAD_MAX]; /* DMI UUID, "" unknown */
	char token[TOKEN_TEXT_LEN + 1];
	struct token_text token_text;
	char agent_id[40], expires[40];
	char pending[TOKEN_ID_LEN + 8]; /* name of the file of the token until it is taken */
};

/* ---- the code ---- */

static int take_code(struct enrolment *e, const char *text, struct err *reterr)
{
	size_t len = strcspn(text, " \t\r\n");

	if (len >= sizeof(e->code))
		return err_set(reterr, ERR_INVALID, "the code is too long");
	memcpy(e->code, text, len);
	e->code[len] = '\0';
	if (!code_parse(e->code, &e->parsed))
		return err_set(reterr, ERR_INVALID,
			       "this is no enrolment code: it begins with rsc_ and was made by "
			       "rigstat-server enroll-code");
	return 0;
}

static int read_code(struct enrolment *e, const char *path, struct err *reterr)
{
	bool is_stdin = strcmp(path, "-") == 0;
	char line[CODE_TEXT_MAX + 16] = "";
	FILE *f = is_stdin ? stdin : fopen(path, "re");
	int rc;

	if (!f)
		return err_errno(reterr, errno, "--code-file: %s", path);
	if (is_stdin && isatty(STDIN_FILENO))
		fputs("Code: ", stderr);
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (!is_stdin)
		(void)fclose(f);
	rc = take_code(e, line, reterr);
	explicit_bzero(line, sizeof(line));
	return rc ? err_prefix(reterr, "--code-file: ") : 0;
}

/* --code and --code-file. The code is taken out of the arguments that others can see. */
static int take_option(void *user, int argc, char **argv, struct err *reterr)
{
	struct enrolment *e = user;
	bool file = strncmp(argv[0], "--code-file", 11) == 0;
	size_t n = file ? 11 : 6;
	char *value;
	int rc;

	if (strncmp(argv[0], "--code", 6) != 0 || (argv[0][n] && argv[0][n] != '='))
		return 0;
	if (!argv[0][n] && argc < 2)
		return err_set(reterr, ERR_INVALID, "%s needs a value", argv[0]);
	value = argv[0][n] ? argv[0] + n + 1 : argv[1];
	rc = file ? read_code(e, value, reterr) : take_code(e, value, reterr);
	if (!file)
		memset(value, '*', strlen(value));
	if (rc)
		return rc;
	return argv[0][n] ? 1 : 2;
}

/* ---- this box ---- */

/* Firmware that was never given a UUID has one of these, on every box alike. */
static bool is_placeholder(const char *uuid)
{
	static const char *const known[] = {"03000200-0400-0500-0006-000700080009",
					    "00020003-0004-0005-0006-000700080009",
					    "12345678-1234-5678-90ab-cddeefaabbcc"};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcasecmp(uuid, known[i]) == 0)
			return true;
	return strspn(uuid, "0-") == 36 || strspn(uuid, "fF-") == 36;
}

static void read_machine(struct enrolment *e)
{
	if (!sysread_line(e->machine, sizeof(e->machine), "", "/sys/class/dmi/id/product_uuid") ||
	    strlen(e->machine) != 36 || is_placeholder(e->machine))
		e->machine[0] = '\0';
	for (char *s = e->machine; *s; s++)
		*s = (char)(*s >= 'A' && *s <= 'F' ? *s | 32 : *s);
}

static int check_pin(struct enrolment *e, struct err *reterr)
{
	char text[PIN_TEXT_LEN + 1];

	if (*e->parsed.pin) {
		pin_text(e->parsed.pin, text);
		free(e->conf.server_pin);
		e->conf.server_pin = xstrdup(text);
	}
	if (e->conf.server_pin && strncmp(e->conf.server, "https://", 8) != 0)
		return err_set(reterr, ERR_INVALID,
			       "the server has a pinned key, so its address begins with https://");
	if (!strncmp(e->conf.server, "http://", 7) && !strstr(e->conf.server, "//127.") &&
	    !strstr(e->conf.server, "//localhost") && !strstr(e->conf.server, "//[::1]"))
		log_warn("%s is not encrypted: code and token can be read on the way",
			 e->conf.server);
	return 0;
}

static int prepare(struct enrolment *e, struct err *reterr)
{
	char *dir CLEANUP(freep) = identity_dir_of(e->conf.file);

	if (!e->conf.server)
		return err_set(reterr, ERR_INVALID, "name the server: --server URL");
	if (!*e->code)
		return err_set(reterr, ERR_INVALID,
			       "give a code: --code-file FILE, or - for standard input");
	if (check_pin(e, reterr))
		return reterr->code;
	read_machine(e);
	e->dir = xasprintf("%s/identity", dir);
	e->token_path = xasprintf("%s/token", e->dir);
	snprintf(e->pending, sizeof(e->pending), "token.%s", e->parsed.id);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return err_errno(reterr, errno, "%s cannot be made", dir);
	if (identity_make_dir(e->dir, reterr) ||
	    identity_pending(e->dir, e->pending, e->token, &e->token_text, reterr))
		return reterr->code;
	free(TAKE(e->conf.token_file)); /* an old one is not shown to this server */
	return 0;
}

/* ---- the server's answer ---- */

static int take_problem(const struct enrolment *e, int status, const json_t *answer,
			struct err *reterr)
{
	const char *detail = json_string_value(json_object_get(answer, "detail"));
	const char *hint = json_string_value(json_object_get(answer, "hint"));
	int code = status == 429 || status >= 500 ? ERR_BUSY : ERR_PERM;

	/* The server has no use for this token: nothing of the attempt stays here. */
	if (detail && code == ERR_PERM)
		identity_drop(e->dir, e->pending);
	if (!detail || !text_is_clean(detail, strlen(detail)))
		return err_set(reterr, ERR_REMOTE,
			       "the server answers HTTP %d: is this the address of a "
			       "rigstat-server that knows enrolment?",
			       status);
	if (!hint || !text_is_clean(hint, strlen(hint)))
		hint = "";
	return err_set(reterr, code, "the server refuses: %.200s%s%.250s", detail, *hint ? " " : "",
		       hint);
}

static void check_clock(const json_t *answer)
{
	int64_t server_ns = json_integer_value(json_object_get(answer, "server_ns"));
	int64_t off = clock_realtime_ns() - server_ns;
	char text[40];

	if (server_ns <= 0 || (off < CLOCK_MAX_NS && off > -CLOCK_MAX_NS))
		return;
	format_ns(off > 0 ? (double)off : -(double)off, text, sizeof(text));
	log_warn("this box's clock is %s %s the server's: synchronise it (chrony or "
		 "systemd-timesyncd), or its runs carry wrong times",
		 text, off > 0 ? "ahead of" : "behind");
}

static int take_answer(struct enrolment *e, int status, const char *body, struct err *reterr)
{
	json_t *answer = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	const char *host = json_string_value(json_object_get(answer, "host"));
	const char *id = json_string_value(json_object_get(answer, "agent_id"));
	const char *expires = json_string_value(json_object_get(answer, "expires"));
	int64_t expires_ns;
	int rc;

	if (status != 201)
		rc = take_problem(e, status, answer, reterr);
	else if (!host || !id || strspn(id, "h_0123456789") != strlen(id) ||
		 (expires && !clock_parse_rfc3339(expires, &expires_ns)) ||
		 agent_conf_set(&e->conf, "host", host, reterr) < 0)
		rc = err_set(reterr, ERR_REMOTE,
			     "the answer does not name host and agent: is %s a rigstat-server?",
			     e->conf.server);
	else
		rc = 0;
	if (!rc) {
		snprintf(e->agent_id, sizeof(e->agent_id), "%s", id);
		snprintf(e->expires, sizeof(e->expires), "%s", expires ? expires : "");
		check_clock(answer);
	}
	json_decref(answer);
	return rc;
}

static int ask(struct enrolment *e, struct err *reterr)
{
	struct strbuf body CLEANUP(strbuf_done) = {0};
	char *answer CLEANUP(freep) = NULL;
	char digest[2 * SHA256_LEN + 1];
	json_t *o;
	int status;

	for (size_t i = 0; i < SHA256_LEN; i++)
		snprintf(digest + 2 * i, 3, "%02x", e->token_text.digest[i]);
	o = json_pack("{s:s, s:s, s:s?, s:s, s:s}", "code", e->code, "host", e->conf.host,
		      "machine", *e->machine ? e->machine : NULL, "token_id", e->token_text.id,
		      "token_sha256", digest);
	if (!o)
		return err_set(reterr, ERR_INVALID, "host: the name is not valid UTF-8");
	body.data = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	body.len = strlen(body.data);
	status = serverlink_post(&e->conf, "/api/v1/enroll", &body, TIMEOUT_NS, &answer, reterr);
	explicit_bzero(body.data, body.len);
	return status ? take_answer(e, status, answer, reterr) : reterr->code;
}

/* ---- the files ---- */

static int write_conf(const struct enrolment *e, struct err *reterr)
{
	const struct conf_pair pairs[] = {{"server", e->conf.server},
					  {"host", e->conf.host},
					  {"token-file", e->token_path},
					  {"server-pin", e->conf.server_pin},
					  {"ca-file", e->conf.ca_file}};
	struct strbuf out CLEANUP(strbuf_done) = {0};
	char *old CLEANUP(freep) = xcalloc(1, 1 << 20);

	(void)sysread_all(old, 1 << 20, "", "%s", e->conf.file);
	conf_edit(old, pairs, ARRAY_LEN(pairs), &out);
	return identity_write(e->conf.file, out.data, out.len, 0644, reterr);
}

/* The configuration first: when it ends in between, the same command goes on from there. */
static int write_files(const struct enrolment *e, struct err *reterr)
{
	if (write_conf(e, reterr))
		return reterr->code;
	return identity_promote(e->dir, e->pending, e->token_path, reterr);
}

static void say_done(const struct enrolment *e)
{
	printf("This box is host %s (%s) of %s. Its token is in %s", e->conf.host, e->agent_id,
	       e->conf.server, e->token_path);
	if (*e->expires)
		printf(", valid until %.19sZ; the daemon renews it", e->expires);
	printf(".\nNext: systemctl restart rigstat-agent, and rigstat-agent check.\n");
}

int cmd_enroll(int argc, char **argv)
{
	struct enrolment e = {0};
	bool wants_help;
	int rest, r;
	struct err err;

	agent_conf_init(&e.conf);
	e.conf.may_lack_file = true;
	r = agent_conf_args(&e.conf, argc, argv, take_option, &e, &rest, &wants_help, &err);
	if (!r && wants_help) {
		fputs(help, stdout);
	} else {
		if (!r && rest != argc)
			r = err_set(&err, ERR_INVALID, "enroll takes no argument \"%s\"",
				    argv[rest]);
		if (!r)
			r = prepare(&e, &err);
		if (!r)
			r = ask(&e, &err);
		if (!r)
			r = write_files(&e, &err);
		if (!r)
			say_done(&e);
	}
	if (r)
		log_error("%s", err.text);
	free(e.dir);
	free(e.token_path);
	agent_conf_done(&e.conf);
	explicit_bzero(e.token, sizeof(e.token));
	explicit_bzero(e.code, sizeof(e.code));
	return r ? err_exit_status(r) : 0;
}
