/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/db_admin.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <time.h>

#include "common/clock.h"
#include "common/token.h"

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

static int connect_to(const char *conninfo, PGconn **ret, struct err *reterr)
{
	*ret = PQconnectdb(conninfo);
	if (PQstatus(*ret) != CONNECTION_OK)
		return err_set(reterr, ERR_DB, "PostgreSQL cannot be reached: %s",
			       PQerrorMessage(*ret));
	return 0;
}

int db_admin_tokens_exist(const char *conninfo, bool *ret, struct err *reterr)
{
	PGconn *conn CLEANUP(finishp) = NULL;
	PGresult *res CLEANUP(clearp) = NULL;

	if (connect_to(conninfo, &conn, reterr) < 0)
		return reterr->code;
	res = PQexec(conn, "select exists (select from rigstat.token)");
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return err_set(reterr, ERR_DB, "tokens: %s", PQerrorMessage(conn));
	*ret = PQgetvalue(res, 0, 0)[0] == 't';
	return 0;
}

static void put_hex(const unsigned char digest[SHA256_LEN], char hex[2 * SHA256_LEN + 1])
{
	for (size_t i = 0; i < SHA256_LEN; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

int db_admin_put_token(const char *conninfo, const struct token_text *token, const char *name,
		       unsigned int scopes, const char *host, struct err *reterr)
{
	static const char sql[] =
		"with made as (insert into rigstat.token (token_id, digest, name, scopes, host_id)"
		" select $1, decode($2, 'hex'), $3, string_to_array($4, ','), h.host_id"
		" from (select 1) one left join rigstat.host h on h.name = $5"
		" where $5 is null or h.host_id is not null"
		" on conflict (token_id) do update set scopes = excluded.scopes"
		" where token.digest = excluded.digest returning xmax = 0 as fresh),"
		" noted as (insert into rigstat.audit (who, action, object, detail)"
		" select 'command line', 'token.make', 'token ' || $1, $3 || ': ' || $4"
		" || coalesce(', host ' || $5, '') from made where fresh)"
		" select 1 from made";
	PGconn *conn CLEANUP(finishp) = NULL;
	PGresult *res CLEANUP(clearp) = NULL;
	char hex[2 * SHA256_LEN + 1], list[60] = "";
	const char *names[TOKEN_SCOPES], *values[] = {token->id, hex, name, list, host};
	size_t n = token_scope_names(scopes, names);

	put_hex(token->digest, hex);
	for (size_t i = 0; i < n; i++)
		(void)snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
			       i ? "," : "", names[i]);
	if (connect_to(conninfo, &conn, reterr) < 0)
		return reterr->code;
	res = PQexecParams(conn, sql, 5, NULL, values, NULL, NULL, 0);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return err_set(reterr, ERR_DB, "token: %s", PQerrorMessage(conn));
	if (!PQntuples(res) && host)
		return err_set(reterr, ERR_CONFLICT,
			       "there is no host %s yet: a new box enrols with a code "
			       "(rigstat-server enroll-code --host %s)",
			       host, host);
	if (!PQntuples(res))
		return err_set(reterr, ERR_CONFLICT,
			       "a token with this id and another secret exists");
	return 0;
}

int db_admin_put_code(const char *conninfo, const struct code_text *code,
		      const struct db_admin_code *rules, struct err *reterr)
{
	static const char sql[] =
		"with made as (insert into rigstat.enroll_code (code_id, digest, name, host,"
		" uses_max, bind_machine, replace_machine, token_days, expires_at)"
		" select $1, decode($2, 'hex'), $3, $4, $5::int, $6::boolean, $7::boolean,"
		" nullif($8::int, 0), now() + make_interval(hours => $9::int)"
		" where exists (select from rigstat.token where 'admin' = any (scopes)"
		" and revoked_at is null and (expires_at is null or expires_at > now()))"
		" returning 1),"
		" noted as (insert into rigstat.audit (who, action, object, detail)"
		" select 'command line', 'code.make', 'code ' || $1, $3 || coalesce(' host ' || "
		"$4, '')"
		" from made)"
		" select 1 from made";
	PGconn *conn CLEANUP(finishp) = NULL;
	PGresult *res CLEANUP(clearp) = NULL;
	char hex[2 * SHA256_LEN + 1], uses[24], hours[24], days[24];
	const char *values[] = {code->id,
				hex,
				rules->name,
				rules->host,
				uses,
				rules->bind_machine ? "t" : "f",
				rules->replace_machine ? "t" : "f",
				days,
				hours};

	put_hex(code->digest, hex);
	(void)snprintf(uses, sizeof(uses), "%lld", (long long)rules->uses);
	(void)snprintf(hours, sizeof(hours), "%lld", (long long)rules->hours);
	(void)snprintf(days, sizeof(days), "%lld", (long long)rules->token_days);
	if (connect_to(conninfo, &conn, reterr) < 0)
		return reterr->code;
	res = PQexecParams(conn, sql, ARRAY_LEN(values), NULL, values, NULL, NULL, 0);
	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		return err_set(reterr, ERR_DB, "enrolment code: %s", PQerrorMessage(conn));
	if (!PQntuples(res))
		return err_set(reterr, ERR_CONFLICT,
			       "make an administrator's token first (rigstat-server token --name "
			       "admin --scopes admin): once a box has enrolled, the server asks "
			       "everybody for a token");
	return 0;
}
