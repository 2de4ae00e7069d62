/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-server: options and subcommands. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "common/log.h"
#include "common/notify.h"
#include "common/parse.h"
#include "common/token.h"
#include "server/db_admin.h"
#include "server/embedded.h"
#include "server/migrate.h"
#include "server/server.h"
#include "server/tls_pin.h"

static const char usage[] =
	"Usage: rigstat-server serve|migrate|check|token|enroll-code|pin [OPTION]...\n"
	"Stores what rigstat agents send, compares runs, and serves pages and REST.\n"
	"\n"
	"  serve        run in the foreground until SIGTERM or SIGINT\n"
	"  migrate      bring the database to this program's schema, then exit\n"
	"  check        say whether database and schema fit, then exit\n"
	"  token        make a token and print it once; from then on requests need one\n"
	"  enroll-code  make a code with which a box gets its token (rigstat-agent enroll)\n"
	"  pin          print the pin of --tls-cert, to which boxes hold the server\n"
	"\n"
	"One database is needed:\n"
	"  --database CONNINFO  PostgreSQL 15 or newer, e.g. 'host=db dbname=rigstat "
	"user=rigstat'\n"
	"                       (or the environment variable RIGSTAT_DATABASE)\n"
	"  --embedded DIR       a private PostgreSQL in DIR, made on first use, ended with the\n"
	"                       server; one server a directory\n"
	"Options of serve:\n"
	"  --listen ADDR:PORT   default 127.0.0.1:8420; other addresses need a token in the "
	"database\n"
	"  --token-file FILE    a token that may do everything, made known to the database at "
	"start\n"
	"  --anonymous read     reading needs no token\n"
	"  --tls-cert FILE, --tls-key FILE   PEM; serve HTTPS\n"
	"  --keep-days N        drop single intervals and watch runs after N days\n"
	"  --keep-minutes N     drop the minutes of runs after N days\n"
	"  --keep-runs N        drop measured and imported runs after N days; their values\n"
	"                       stay in the trends (default of all three: keep everything;\n"
	"                       runs of a pinned comparison always stay)\n"
	"  --reuse-port         let several servers share the port (with --database)\n"
	"  --web-dir DIR        serve the pages from DIR instead of the built-in ones\n"
	"  --log-level LEVEL    error, warning, info (default), debug\n"
	"Options of token:\n"
	"  --name NAME          what it is for\n"
	"  --scopes LIST        of read, gate, ingest, write, admin; default read\n"
	"  --host HOST          only for records of this host; scope ingest needs it, or\n"
	"  --any-host           for records of every host\n"
	"Options of enroll-code:\n"
	"  --name NAME          what it is for\n"
	"  --host HOST          the box becomes this host, also when that has an agent already;\n"
	"                       default: the name that the box gives, when it is free\n"
	"  --uses N             so many boxes may use it; default 1\n"
	"  --expires HOURS      default 24\n"
	"  --token-days N       life of the tokens; agents renew theirs in time; default: no end\n"
	"  --bind-machine       the host is the machine (DMI UUID): when the box was installed\n"
	"                       anew it gets its host back, and no other machine can be it\n"
	"  --replace-machine    with --host: another machine may become the host\n"
	"  --tls-cert FILE      of the server: the code carries the pin of its key; or\n"
	"  --pin PIN            of a proxy in front, as rigstat-server pin prints it\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0 stopped in order, 3 wrong use, 4 the server or the database failed.\n";

enum { EXIT_USAGE = 3 };

struct options {
	struct server_options server;
	const char *token_file, *cert_file, *key_file;
	const char *name, *scopes, *host, *pin;
	bool any_host;
	struct db_admin_code code;
};

struct command {
	const char *name;
	int (*run)(struct options *o, struct err *reterr);
};

struct database {
	const char *conninfo;
	char *running; /* memory of conninfo */
	struct embedded *embedded;
};

static void database_close(struct database *d)
{
	embedded_stop(TAKE(d->embedded));
	free(TAKE(d->running));
}

/* The database that the options name, started when it is a private one. */
static int database_open(const struct server_options *o, struct database *ret, struct err *reterr)
{
	*ret = (struct database){.conninfo = o->database};
	if (o->embedded_dir) {
		if (embedded_start(o->embedded_dir, &ret->embedded, reterr) < 0)
			return reterr->code;
		ret->conninfo = embedded_conninfo(ret->embedded);
	}
	return 0;
}

static void on_second(void *ctx)
{
	embedded_tick(ctx);
}

/* ---- serve ---- */

static int read_file(const char *path, char **ret, struct err *reterr)
{
	FILE *f = fopen(path, "re");
	char *text = xcalloc(1, 65536);
	size_t n;

	if (!f) {
		free(text);
		return err_errno(reterr, errno, "%s", path);
	}
	n = fread(text, 1, 65535, f);
	text[n] = '\0';
	(void)fclose(f);
	*ret = text;
	return 0;
}

static int admit_token_file(const char *conninfo, const char *path, struct err *reterr)
{
	char *text CLEANUP(freep) = NULL;
	struct token_text token;

	if (read_file(path, &text, reterr) < 0)
		return reterr->code;
	text[strcspn(text, " \r\n")] = '\0';
	if (!token_parse(text, &token))
		return err_set(reterr, ERR_INVALID,
			       "%s does not begin with a token (rs_, 8 letters or digits, _, 43 "
			       "letters, digits, - or _): rigstat-server token makes one",
			       path);
	return db_admin_put_token(conninfo, &token, "token file", TOKEN_ADMIN, NULL, reterr);
}

static bool is_loopback(const char *listen)
{
	return strncmp(listen, "127.", 4) == 0 || strncmp(listen, "[::1]:", 6) == 0 ||
	       strncmp(listen, "localhost:", 10) == 0;
}

/* An open server is for this machine only. */
static int check_exposure(const struct options *o, const char *conninfo, bool *ret_tokens,
			  struct err *reterr)
{
	if (db_admin_tokens_exist(conninfo, ret_tokens, reterr) < 0)
		return reterr->code;
	if (is_loopback(o->server.listen))
		return 0;
	if (!*ret_tokens)
		return err_set(
			reterr, ERR_PERM,
			"--listen %s would let the network in without any token: make one "
			"first (rigstat-server token --name admin --scopes admin %s '%s'), or "
			"give --token-file",
			o->server.listen, o->server.embedded_dir ? "--embedded" : "--database",
			o->server.embedded_dir ? o->server.embedded_dir : o->server.database);
	if (!o->cert_file)
		log_warn("tokens travel in the clear: give --tls-cert and --tls-key, or put a "
			 "proxy with TLS in front");
	return 0;
}

static int read_tls(struct options *o, char **cert, char **key, char pin[PIN_LEN + 1],
		    struct err *reterr)
{
	if (!o->cert_file)
		return 0;
	if (read_file(o->cert_file, cert, reterr) < 0 || read_file(o->key_file, key, reterr) < 0)
		return reterr->code;
	o->server.tls_cert = *cert;
	o->server.tls_key = *key;
	o->server.pin = pin;
	return tls_pin(*cert, pin, reterr);
}

static int run_serve(struct options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};
	char *cert CLEANUP(freep) = NULL, *key CLEANUP(freep) = NULL;
	char pin[PIN_LEN + 1];
	bool tokens;

	notify_init();
	notify_service("STATUS=preparing the database");
	if (read_tls(o, &cert, &key, pin, reterr) < 0 || database_open(&o->server, &db, reterr) < 0)
		return reterr->code;
	/* A shared database is migrated by a person, at a time of their choosing. */
	if ((db.embedded ? migrate_apply(db.conninfo, reterr)
			 : migrate_check(db.conninfo, reterr)) < 0)
		return reterr->code;
	if (o->token_file && admit_token_file(db.conninfo, o->token_file, reterr) < 0)
		return reterr->code;
	if (check_exposure(o, db.conninfo, &tokens, reterr) < 0)
		return reterr->code;
	return server_run(&o->server, db.conninfo, tokens, db.embedded ? on_second : NULL,
			  db.embedded, reterr);
}

/* ---- the other commands ---- */

static int run_migrate(struct options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};

	if (database_open(&o->server, &db, reterr) < 0 || migrate_apply(db.conninfo, reterr) < 0)
		return reterr->code;
	printf("The database has schema %d.\n", migrate_latest_version());
	return 0;
}

static int run_check(struct options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};

	if (database_open(&o->server, &db, reterr) < 0 || migrate_check(db.conninfo, reterr) < 0)
		return reterr->code;
	printf("The database can be reached and has schema %d.\n", migrate_latest_version());
	return 0;
}

/* For what is done once, also while a server runs: its private PostgreSQL takes us as well. */
static int database_enter(struct options *o, struct database *ret, struct err *reterr)
{
	if (database_open(&o->server, ret, reterr) < 0) {
		ret->running = reterr->code == ERR_BUSY && o->server.embedded_dir
				       ? embedded_running(o->server.embedded_dir)
				       : NULL;
		ret->conninfo = ret->running;
		return ret->running ? 0 : reterr->code;
	}
	return ret->embedded ? migrate_apply(ret->conninfo, reterr)
			     : migrate_check(ret->conninfo, reterr);
}

static int run_token(struct options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};
	char text[TOKEN_TEXT_LEN + 1];
	struct token_text token;
	unsigned int scopes;

	if (token_scopes(o->scopes, &scopes, reterr) < 0)
		return reterr->code;
	if (scopes & TOKEN_INGEST && !o->host && !o->any_host)
		return err_set(
			reterr, ERR_INVALID,
			"a token with scope ingest is for one host: give --host, make a code "
			"for a new box (rigstat-server enroll-code), or give --any-host");
	if (database_enter(o, &db, reterr) < 0)
		return reterr->code;
	token_mint(text, &token);
	if (db_admin_put_token(db.conninfo, &token, o->name ? o->name : "token", scopes, o->host,
			       reterr) < 0)
		return reterr->code;
	puts(text);
	return 0;
}

/* The pin that was given, or that of the certificate; "" without both. */
static int find_pin(const struct options *o, char ret[PIN_LEN + 1], struct err *reterr)
{
	char *cert CLEANUP(freep) = NULL;

	*ret = '\0';
	if (o->pin && !pin_parse(o->pin, ret))
		return err_set(reterr, ERR_INVALID,
			       "--pin is sha256// and 44 characters of base64, as rigstat-server "
			       "pin --tls-cert FILE prints it");
	if (o->pin || !o->cert_file)
		return 0;
	return read_file(o->cert_file, &cert, reterr) < 0 ? reterr->code
							  : tls_pin(cert, ret, reterr);
}

static int run_enroll_code(struct options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};
	char text[CODE_TEXT_MAX + 1], pin[PIN_LEN + 1];
	struct code_text code;

	o->code.name = o->name ? o->name : "";
	o->code.host = o->host;
	if (o->code.replace_machine && !o->host)
		return err_set(reterr, ERR_INVALID, "--replace-machine needs --host");
	if (find_pin(o, pin, reterr) < 0 || database_enter(o, &db, reterr) < 0)
		return reterr->code;
	code_mint(pin, text, &code);
	if (db_admin_put_code(db.conninfo, &code, &o->code, reterr) < 0)
		return reterr->code;
	puts(text);
	fprintf(stderr,
		"On the box, within %lld h: rigstat-agent enroll --server URL --code-file - (and "
		"type the code)\n",
		(long long)o->code.hours);
	if (!*pin)
		fprintf(stderr, "It carries no pin: the box must trust the server's certificate by "
				"itself, or give --pin.\n");
	return 0;
}

static int run_pin(struct options *o, struct err *reterr)
{
	char pin[PIN_LEN + 1], text[PIN_TEXT_LEN + 1];

	if (!o->cert_file)
		return err_set(reterr, ERR_INVALID, "name the certificate: --tls-cert FILE");
	if (find_pin(o, pin, reterr) < 0)
		return reterr->code;
	puts(pin_text(pin, text));
	return 0;
}

static const struct command commands[] = {
	{"serve", run_serve}, {"migrate", run_migrate},		{"check", run_check},
	{"token", run_token}, {"enroll-code", run_enroll_code}, {"pin", run_pin},
};

/* ---- options ---- */

static int parse_level(const char *text, enum log_level *ret)
{
	static const struct {
		const char *name;
		enum log_level level;
	} table[] = {{"error", LOG_ERROR},
		     {"warning", LOG_WARN},
		     {"info", LOG_INFO},
		     {"debug", LOG_DEBUG}};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strcmp(table[i].name, text) == 0) {
			*ret = table[i].level;
			return 0;
		}
	return -1;
}

static NORETURN void wrong_use(const char *text)
{
	fprintf(stderr, "rigstat-server: %s\nTry 'rigstat-server --help'.\n", text);
	exit(EXIT_USAGE);
}

enum {
	LISTEN = 256,
	DATABASE,
	EMBEDDED,
	WEB_DIR,
	REUSE_PORT,
	LEVEL,
	TOKEN_FILE,
	ANONYMOUS,
	TLS_CERT,
	TLS_KEY,
	KEEP_DAYS,
	KEEP_MINUTES,
	KEEP_RUNS,
	NAME,
	SCOPES,
	HOST,
	PIN,
	ANY_HOST,
	USES,
	EXPIRES,
	TOKEN_DAYS,
	BIND_MACHINE,
	REPLACE_MACHINE,
	HELP,
	VERSION
};

static const struct option option_table[] = {
	{"listen", required_argument, NULL, LISTEN},
	{"database", required_argument, NULL, DATABASE},
	{"embedded", required_argument, NULL, EMBEDDED},
	{"web-dir", required_argument, NULL, WEB_DIR},
	{"reuse-port", no_argument, NULL, REUSE_PORT},
	{"log-level", required_argument, NULL, LEVEL},
	{"token-file", required_argument, NULL, TOKEN_FILE},
	{"anonymous", required_argument, NULL, ANONYMOUS},
	{"tls-cert", required_argument, NULL, TLS_CERT},
	{"tls-key", required_argument, NULL, TLS_KEY},
	{"keep-days", required_argument, NULL, KEEP_DAYS},
	{"keep-minutes", required_argument, NULL, KEEP_MINUTES},
	{"keep-runs", required_argument, NULL, KEEP_RUNS},
	{"name", required_argument, NULL, NAME},
	{"scopes", required_argument, NULL, SCOPES},
	{"host", required_argument, NULL, HOST},
	{"pin", required_argument, NULL, PIN},
	{"any-host", no_argument, NULL, ANY_HOST},
	{"uses", required_argument, NULL, USES},
	{"expires", required_argument, NULL, EXPIRES},
	{"token-days", required_argument, NULL, TOKEN_DAYS},
	{"bind-machine", no_argument, NULL, BIND_MACHINE},
	{"replace-machine", no_argument, NULL, REPLACE_MACHINE},
	{"help", no_argument, NULL, HELP},
	{"version", no_argument, NULL, VERSION},
	{0},
};

static int64_t days(const char *text)
{
	int64_t n;

	if (parse_i64(text, &n, NULL) < 0 || n < 1 || n > 36500)
		wrong_use("--keep-days, --keep-minutes and --keep-runs are numbers of days from 1 "
			  "to 36500");
	return n;
}

static int64_t count(const char *option, const char *text, int64_t max)
{
	char say[120];
	int64_t n;

	if (parse_i64(text, &n, NULL) == 0 && n >= 1 && n <= max)
		return n;
	(void)snprintf(say, sizeof(say), "%s is a number from 1 to %lld", option, (long long)max);
	wrong_use(say);
}

/* Of enroll-code; false when it is none of these. */
static bool parse_code_option(int c, struct db_admin_code *code)
{
	switch (c) {
	case USES:
		code->uses = count("--uses", optarg, 100000);
		return true;
	case EXPIRES:
		code->hours = count("--expires", optarg, 366 * 24);
		return true;
	case TOKEN_DAYS:
		code->token_days = count("--token-days", optarg, 36500);
		return true;
	case BIND_MACHINE:
		code->bind_machine = true;
		return true;
	case REPLACE_MACHINE:
		code->replace_machine = true;
		return true;
	default:
		return false;
	}
}

static void parse_option(int c, struct options *o, enum log_level *level)
{
	const char **texts[] = {[LISTEN - LISTEN] = &o->server.listen,
				[DATABASE - LISTEN] = &o->server.database,
				[EMBEDDED - LISTEN] = &o->server.embedded_dir,
				[WEB_DIR - LISTEN] = &o->server.web_dir,
				[TOKEN_FILE - LISTEN] = &o->token_file,
				[TLS_CERT - LISTEN] = &o->cert_file,
				[TLS_KEY - LISTEN] = &o->key_file,
				[NAME - LISTEN] = &o->name,
				[SCOPES - LISTEN] = &o->scopes,
				[HOST - LISTEN] = &o->host,
				[PIN - LISTEN] = &o->pin};

	if (parse_code_option(c, &o->code))
		return;

	switch (c) {
	case REUSE_PORT:
		o->server.reuse_port = true;
		break;
	case LEVEL:
		if (parse_level(optarg, level) < 0)
			wrong_use("--log-level is error, warning, info or debug");
		break;
	case KEEP_DAYS:
		o->server.keep.samples_days = o->server.keep.watch_days = days(optarg);
		break;
	case KEEP_MINUTES:
		o->server.keep.minutes_days = days(optarg);
		break;
	case KEEP_RUNS:
		o->server.keep.runs_days = days(optarg);
		break;
	case ANY_HOST:
		o->any_host = true;
		break;
	case ANONYMOUS:
		if (strcmp(optarg, "read") != 0)
			wrong_use("--anonymous can only be read");
		o->server.anonymous_read = true;
		break;
	case HELP:
		fputs(usage, stdout);
		exit(0);
	case VERSION:
		puts("rigstat-server " RIGSTAT_VERSION);
		exit(0);
	default:
		if (c < LISTEN || !texts[c - LISTEN])
			wrong_use("the options are not understood");
		*texts[c - LISTEN] = optarg;
	}
}

/* `pin` needs no database. */
static void check_options(struct options *o, const struct command *command)
{
	struct server_options *s = &o->server;

	if (!s->database && !s->embedded_dir)
		s->database = getenv("RIGSTAT_DATABASE");
	if (!s->database && !s->embedded_dir && command->run != run_pin)
		wrong_use("name a database: --database CONNINFO or --embedded DIR");
	if (s->database && s->embedded_dir)
		wrong_use("--database and --embedded exclude each other");
	if (s->embedded_dir && s->reuse_port)
		wrong_use("--reuse-port needs --database: only one server can use a private "
			  "PostgreSQL");
	if (!o->cert_file != !o->key_file && command->run == run_serve)
		wrong_use("--tls-cert and --tls-key belong together");
}

int main(int argc, char **argv)
{
	struct options o = {.server.listen = "127.0.0.1:8420",
			    .scopes = "read",
			    .code = {.uses = 1, .hours = 24}};
	const struct command *command = NULL;
	enum log_level level = LOG_INFO;
	struct err err;
	int c;

	log_init("rigstat-server", LOG_INFO);
	while ((c = getopt_long(argc, argv, "", option_table, NULL)) != -1)
		parse_option(c, &o, &level);
	log_init("rigstat-server", level);
	if (optind + 1 != argc)
		wrong_use(
			"one command is needed: serve, migrate, check, token, enroll-code or pin");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, argv[optind]) == 0)
			command = &commands[i];
	if (!command)
		wrong_use("this command is not known");
	check_options(&o, command);
	if (command->run(&o, &err) < 0) {
		log_error("%s", err.text);
		return err_exit_status(err.code);
	}
	return 0;
}
