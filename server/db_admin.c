/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/db_admin.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <time.h>

#include "common/clock.h"

int db_admin_wait(const char *conninfo, unsigned int timeout_ms, bool (*alive)(void *ctx),
		  void *ctx, struct err *reterr)
{
	const struct timespec pause = {.tv_nsec = 30 * NS_PER_MS};
	int64_t until = clock_monotonic_ns() + timeout_ms * NS_PER_MS;

	while (PQping(conninfo) != PQPING_OK) {
		if (!alive(ctx))
			return err_set(reterr, ERR_DB, "PostgreSQL ended while it was starting");
		if (clock_monotonic_ns() > until)
			return err_set(reterr, ERR_TIMEOUT,
				       "PostgreSQL did not take connections within %u s",
				       timeout_ms / 1000);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static void finishp(PGconn **conn)
{
	PQfinish(*conn);
}

static void clearp(PGresult **res)
{
	PQclear(*res);
}

int db_admin_create_database(const char *conninfo, const char *name, struct err *reterr)
{
	PGconn *conn CLEANUP(finishp) = PQconnectdb(conninfo);
	const char *const values[] = {name};
	PGresult *found CLEANUP(clearp) = NULL;
	PGresult *made CLEANUP(clearp) = NULL;
	char sql[120];

	if (PQstatus(conn) != CONNECTION_OK)
		return err_set(reterr, ERR_DB, "PostgreSQL cannot be reached: %s",
			       PQerrorMessage(conn));
	found = PQexecParams(conn, "select 1 from pg_database where datname = $1", 1, NULL, values,
			     NULL, NULL, 0);
	if (PQresultStatus(found) != PGRES_TUPLES_OK)
		return err_set(reterr, ERR_DB, "databases: %s", PQerrorMessage(conn));
	if (PQntuples(found))
		return 0;
	(void)snprintf(sql, sizeof(sql), "create database \"%s\" template template0", name);
	made = PQexec(conn, sql);
	if (PQresultStatus(made) != PGRES_COMMAND_OK)
		return err_set(reterr, ERR_DB, "create database: %s", PQerrorMessage(conn));
	return 0;
}
