/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
	int code, http, exit;
	const char *name;
} table[] = {
	{0, 200, 0, "ok"},
	{ERR_NOMEM, 503, 4, "out-of-memory"},
	{ERR_INVALID, 400, 3, "invalid"},
	{ERR_LIMIT, 413, 3, "limit"},
	{ERR_NOT_FOUND, 404, 3, "not-found"},
	{ERR_CONFLICT, 409, 3, "conflict"},
	{ERR_BUSY, 503, 4, "busy"},
	{ERR_TIMEOUT, 504, 4, "timeout"},
	{ERR_IO, 500, 4, "io"},
	{ERR_DB, 503, 4, "database"},
	{ERR_REMOTE, 502, 4, "remote"},
	{ERR_PERM, 403, 3, "permission"},
	{ERR_UNSUPPORTED, 501, 3, "unsupported"},
	{ERR_LOCKED, 503, 4, "locked"},
};

static size_t find(int code)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (table[i].code == code)
			return i;
	return 1;
}

const char *err_name(int code)
{
	return table[find(code)].name;
}

int err_http_status(int code)
{
	return table[find(code)].http;
}

int err_exit_status(int code)
{
	return table[find(code)].exit;
}

int err_set(struct err *reterr, int code, const char *fmt, ...)
{
	va_list ap;

	if (!reterr)
		return code;
	reterr->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	return code;
}

static int code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOMEM:
		return ERR_NOMEM;
	case ENOENT:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS:
		return ERR_PERM;
	case EBUSY:
	case EAGAIN:
		return ERR_BUSY;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case EINVAL:
		return ERR_INVALID;
	default:
		return ERR_IO;
	}
}

int err_errno(struct err *reterr, int errnum, const char *fmt, ...)
{
	int code = code_of_errno(errnum);
	va_list ap;
	size_t len;

	if (!reterr)
		return code;
	reterr->code = code;
	va_start(ap, fmt);
	(void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	len = strlen(reterr->text);
	(void)snprintf(reterr->text + len, sizeof(reterr->text) - len, ": %s", strerror(errnum));
	return code;
}

int err_prefix(struct err *reterr, const char *fmt, ...)
{
	char old[sizeof(reterr->text)];
	va_list ap;
	size_t len;

	if (!reterr)
		return ERR_INVALID;
	memcpy(old, reterr->text, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(reterr->text, sizeof(reterr->text), fmt, ap);
	va_end(ap);
	len = strlen(reterr->text);
	(void)snprintf(reterr->text + len, sizeof(reterr->text) - len, "%s", old);
	return reterr->code;
}
