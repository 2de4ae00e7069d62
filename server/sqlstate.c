/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/sqlstate.h"

#include "common/err.h"

/* First match wins; a shorter text is a class. */
static const struct {
	const char *prefix;
	enum sqlstate_act act;
} table[] = {
	{"40001", SQLSTATE_RETRY},     {"40P01", SQLSTATE_RETRY},
	{"57014", SQLSTATE_OVERLOAD},  {"57P", SQLSTATE_CONN_LOST},
	{"08", SQLSTATE_CONN_LOST},    {"25006", SQLSTATE_READ_ONLY},
	{"53", SQLSTATE_OVERLOAD},     {"55P03", SQLSTATE_OVERLOAD},
	{"22", SQLSTATE_DATA},	       {"23514", SQLSTATE_DATA},
	{"23", SQLSTATE_CONFLICT},     {"RS409", SQLSTATE_STALE_MARK},
	{"RS404", SQLSTATE_NO_STREAM}, {"RS403", SQLSTATE_FORBIDDEN},
};

enum sqlstate_act sqlstate_act(const char *state)
{
	if (!state)
		return SQLSTATE_CONN_LOST;
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (strncmp(state, table[i].prefix, strlen(table[i].prefix)) == 0)
			return table[i].act;
	return SQLSTATE_BUG;
}

int sqlstate_err_code(const char *state)
{
	switch (sqlstate_act(state)) {
	case SQLSTATE_RETRY:
	case SQLSTATE_CONN_LOST:
	case SQLSTATE_READ_ONLY:
		return ERR_BUSY;
	case SQLSTATE_OVERLOAD:
		return strncmp(state, "57014", 5) == 0	 ? ERR_TIMEOUT
		       : strncmp(state, "55P03", 5) == 0 ? ERR_LOCKED
							 : ERR_BUSY;
	case SQLSTATE_DATA:
		return ERR_INVALID;
	case SQLSTATE_CONFLICT:
	case SQLSTATE_STALE_MARK:
		return ERR_CONFLICT;
	case SQLSTATE_NO_STREAM:
		return ERR_NOT_FOUND;
	case SQLSTATE_FORBIDDEN:
		return ERR_PERM;
	case SQLSTATE_BUG:
		return ERR_DB;
	}
	return ERR_DB;
}
