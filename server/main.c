/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-server: options and subcommands. */
#include <getopt.h>
#include <stdio.h>

#include "common/log.h"
#include "server/embedded.h"
#include "server/migrate.h"
#include "server/server.h"

static const char usage[] =
	"Usage: rigstat-server serve|migrate|check [OPTION]...\n"
	"Stores what rigstat agents send, compares runs, and serves pages and REST.\n"
	"\n"
	"  serve     run in the foreground until SIGTERM or SIGINT\n"
	"  migrate   bring the database to this program's schema, then exit\n"
	"  check     say whether database and schema fit, then exit\n"
	"\n"
	"One database is needed:\n"
	"  --database CONNINFO  PostgreSQL 15 or newer, e.g. 'host=db dbname=rigstat "
	"user=rigstat'\n"
	"                       (or the environment variable RIGSTAT_DATABASE)\n"
	"  --embedded DIR       a private PostgreSQL in DIR, made on first use, ended with the\n"
	"                       server; one server a directory\n"
	"Options of serve:\n"
	"  --listen ADDR:PORT   default 127.0.0.1:8420\n"
	"  --reuse-port         let several servers share the port (with --database)\n"
	"  --web-dir DIR        serve the pages from DIR instead of the built-in ones\n"
	"  --log-level LEVEL    error, warning, info (default), debug\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0 stopped in order, 3 wrong use, 4 the server or the database failed.\n";

enum { EXIT_USAGE = 3 };

struct command {
	const char *name;
	int (*run)(const struct server_options *o, struct err *reterr);
};

struct database {
	const char *conninfo;
	struct embedded *embedded;
};

static void database_close(struct database *d)
{
	embedded_stop(TAKE(d->embedded));
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

static int run_serve(const struct server_options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};

	if (database_open(o, &db, reterr) < 0)
		return reterr->code;
	/* A shared database is migrated by a person, at a time of their choosing. */
	if ((db.embedded ? migrate_apply(db.conninfo, reterr)
			 : migrate_check(db.conninfo, reterr)) < 0)
		return reterr->code;
	return server_run(o, db.conninfo, db.embedded ? on_second : NULL, db.embedded, reterr);
}

static int run_migrate(const struct server_options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};

	if (database_open(o, &db, reterr) < 0 || migrate_apply(db.conninfo, reterr) < 0)
		return reterr->code;
	printf("The database has schema %d.\n", migrate_latest_version());
	return 0;
}

static int run_check(const struct server_options *o, struct err *reterr)
{
	struct database db CLEANUP(database_close) = {0};

	if (database_open(o, &db, reterr) < 0 || migrate_check(db.conninfo, reterr) < 0)
		return reterr->code;
	printf("The database can be reached and has schema %d.\n", migrate_latest_version());
	return 0;
}

static const struct command commands[] = {
	{"serve", run_serve},
	{"migrate", run_migrate},
	{"check", run_check},
};

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

static void parse_options(int argc, char **argv, struct server_options *o)
{
	enum { LISTEN = 256, DATABASE, EMBEDDED, WEB_DIR, REUSE_PORT, LEVEL, HELP, VERSION };
	static const struct option table[] = {
		{"listen", required_argument, NULL, LISTEN},
		{"database", required_argument, NULL, DATABASE},
		{"embedded", required_argument, NULL, EMBEDDED},
		{"web-dir", required_argument, NULL, WEB_DIR},
		{"reuse-port", no_argument, NULL, REUSE_PORT},
		{"log-level", required_argument, NULL, LEVEL},
		{"help", no_argument, NULL, HELP},
		{"version", no_argument, NULL, VERSION},
		{0},
	};
	enum log_level level = LOG_INFO;
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (c) {
		case LISTEN:
			o->listen = optarg;
			break;
		case DATABASE:
			o->database = optarg;
			break;
		case EMBEDDED:
			o->embedded_dir = optarg;
			break;
		case WEB_DIR:
			o->web_dir = optarg;
			break;
		case REUSE_PORT:
			o->reuse_port = true;
			break;
		case LEVEL:
			if (parse_level(optarg, &level) < 0)
				wrong_use("--log-level is error, warning, info or debug");
			break;
		case HELP:
			fputs(usage, stdout);
			exit(0);
		case VERSION:
			puts("rigstat-server " RIGSTAT_VERSION);
			exit(0);
		default:
			wrong_use("the options are not understood");
		}
	}
	log_init("rigstat-server", level);
}

static void check_options(struct server_options *o)
{
	if (!o->database && !o->embedded_dir)
		o->database = getenv("RIGSTAT_DATABASE");
	if (!o->database && !o->embedded_dir)
		wrong_use("name a database: --database CONNINFO or --embedded DIR");
	if (o->database && o->embedded_dir)
		wrong_use("--database and --embedded exclude each other");
	if (o->embedded_dir && o->reuse_port)
		wrong_use("--reuse-port needs --database: only one server can use a private "
			  "PostgreSQL");
}

int main(int argc, char **argv)
{
	struct server_options o = {.listen = "127.0.0.1:8420"};
	const struct command *command = NULL;
	struct err err;

	log_init("rigstat-server", LOG_INFO);
	parse_options(argc, argv, &o);
	if (optind + 1 != argc)
		wrong_use("one command is needed: serve, migrate or check");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, argv[optind]) == 0)
			command = &commands[i];
	if (!command)
		wrong_use("this command is not known");
	check_options(&o);
	if (command->run(&o, &err) < 0) {
		log_error("%s", err.text);
		return err_exit_status(err.code);
	}
	return 0;
}
