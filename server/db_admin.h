/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocking helpers around a PostgreSQL server that is starting. */
#pragma once

#include "common/err.h"

/* Waits until it takes connections. `alive(ctx)` false ends the wait: it will never come. */
int db_admin_wait(const char *conninfo, unsigned int timeout_ms, bool (*alive)(void *ctx),
		  void *ctx, struct err *reterr) MUSTCHECK;
/* Creates the database unless it is there. `conninfo` names another one. The name is ours. */
int db_admin_create_database(const char *conninfo, const char *name, struct err *reterr) MUSTCHECK;

/* Was a token ever made? */
int db_admin_tokens_exist(const char *conninfo, bool *ret, struct err *reterr) MUSTCHECK;
struct token_text;
struct code_text;
/* Stores a token; one with this id is left alone. `host` may be NULL; it must exist. */
int db_admin_put_token(const char *conninfo, const struct token_text *token, const char *name,
		       unsigned int scopes, const char *host, struct err *reterr) MUSTCHECK;

/* What an enrolment code allows; rigstat.enroll_code. */
struct db_admin_code {
	const char *name;
	const char *host; /* NULL: the name that the box gives */
	int64_t uses, hours;
	int64_t token_days; /* 0: no end */
	bool bind_machine, replace_machine;
};
/* Stores a code. ERR_CONFLICT: there is no administrator's token. */
int db_admin_put_code(const char *conninfo, const struct code_text *code,
		      const struct db_admin_code *rules, struct err *reterr) MUSTCHECK;
