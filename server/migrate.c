/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/migrate.h"

#include <libpq-fe.h>
#include <stdio.h>

#include "common/log.h"

/* Any constant: all rigstat servers use the same. */
#define LOCK_SQL "select pg_advisory_lock(7309453, 0)"

int migrate_latest_version(void)
{
	int latest = 0;

	for (const struct migration *m = migrations; m->sql; m++)
		latest = m->version;
	return latest;
}

static void finishp(PGconn **conn)
{
	PQfinish(*conn);
}

static int run(PGconn *conn, const char *sql, const char *what, struct err *reterr)
{
	PGresult *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);
	int rc = 0;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		rc = err_set(reterr, ERR_DB, "%s: %s", what, PQerrorMessage(conn));
	PQclear(res);
	return rc;
}

static void on_notice(void *arg, const char *message)
{
	(void)arg;
	log_debug("postgres: %s", message);
}

static int open_conn(const char *conninfo, PGconn **ret, struct err *reterr)
{
	*ret = PQconnectdb(conninfo);
	if (PQstatus(*ret) != CONNECTION_OK)
		return err_set(reterr, ERR_DB, "PostgreSQL cannot be reached: %s",
			       PQerrorMessage(*ret));
	(void)PQsetNoticeProcessor(*ret, on_notice, NULL);
	if (PQserverVersion(*ret) < 150000)
		return err_set(reterr, ERR_UNSUPPORTED,
			       "PostgreSQL is version %d.%d: rigstat needs 15 or newer",
			       PQserverVersion(*ret) / 10000, PQserverVersion(*ret) % 10000);
	return 0;
}

/* 0 when there is no schema yet. */
static int current_version(PGconn *conn, int *ret, struct err *reterr)
{
	PGresult *res;
	int rc = 0;

	*ret = 0;
	res = PQexec(conn, "select case when to_regclass('rigstat.schema_version') is null then 0 "
			   "else 1 end");
	if (PQresultStatus(res) != PGRES_TUPLES_OK) {
		rc = err_set(reterr, ERR_DB, "schema version: %s", PQerrorMessage(conn));
	} else if (PQgetvalue(res, 0, 0)[0] == '1') {
		PQclear(res);
		res = PQexec(conn, "select coalesce(max(version), 0) from rigstat.schema_version");
		if (PQresultStatus(res) != PGRES_TUPLES_OK)
			rc = err_set(reterr, ERR_DB, "schema version: %s", PQerrorMessage(conn));
		else
			*ret = atoi(PQgetvalue(res, 0, 0));
	}
	PQclear(res);
	return rc;
}

static int refuse_newer(int version, struct err *reterr)
{
	if (version <= migrate_latest_version())
		return 0;
	return err_set(reterr, ERR_CONFLICT,
		       "the database has schema %d, and this program knows only %d: install the "
		       "newer rigstat-server",
		       version, migrate_latest_version());
}

static int apply_one(PGconn *conn, const struct migration *m, struct err *reterr)
{
	char record[256];

	(void)snprintf(record, sizeof(record),
		       "insert into rigstat.schema_version (version, name) values (%d, '%s')",
		       m->version, m->name);
	if (run(conn, "begin", m->name, reterr) < 0 || run(conn, m->sql, m->name, reterr) < 0 ||
	    run(conn, record, m->name, reterr) < 0 || run(conn, "commit", m->name, reterr) < 0)
		return reterr->code;
	log_info("migrate: applied %s", m->name);
	return 0;
}

int migrate_apply(const char *conninfo, struct err *reterr)
{
	PGconn *conn CLEANUP(finishp) = NULL;
	int version;

	if (open_conn(conninfo, &conn, reterr) < 0 || run(conn, LOCK_SQL, "lock", reterr) < 0 ||
	    current_version(conn, &version, reterr) < 0 || refuse_newer(version, reterr) < 0)
		return reterr->code;
	for (const struct migration *m = migrations; m->sql; m++)
		if (m->version > version && apply_one(conn, m, reterr) < 0)
			return reterr->code;
	/* The lock ends with the session. */
	return run(conn, "select rigstat.make_partitions(7)", "partitions", reterr);
}

int migrate_check(const char *conninfo, struct err *reterr)
{
	PGconn *conn CLEANUP(finishp) = NULL;
	int version;

	if (open_conn(conninfo, &conn, reterr) < 0 || current_version(conn, &version, reterr) < 0 ||
	    refuse_newer(version, reterr) < 0)
		return reterr->code;
	if (version < migrate_latest_version())
		return err_set(reterr, ERR_CONFLICT,
			       "the database has schema %d, and this program needs %d: run "
			       "rigstat-server migrate --database '%s'",
			       version, migrate_latest_version(), conninfo);
	return run(conn, "select rigstat.make_partitions(7)", "partitions", reterr);
}
