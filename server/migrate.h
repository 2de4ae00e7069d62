/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Brings a database to the schema of this program. Blocking: used before the loop starts. */
#pragma once

#include "common/err.h"

struct migration {
	int version;
	const char *name, *sql;
};
/* In order, ended by version 0 (made from sql/migrations at build). */
extern const struct migration migrations[];

int migrate_latest_version(void);
/* Applies what is missing, each file in one transaction, under an advisory lock: any number of
 * servers may start at once. Refuses a database that is newer than the program. */
int migrate_apply(const char *conninfo, struct err *reterr) MUSTCHECK;
/* Only compares: ERR_CONFLICT with the command to run when the schema is older or newer. */
int migrate_check(const char *conninfo, struct err *reterr) MUSTCHECK;
