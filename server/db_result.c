/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading results in binary form. The only file besides pqloop.c that sees libpq. */
#include <libpq-fe.h>
#include <math.h>

#include "common/check.h"
#include "common/parse.h"
#include "server/db.h"

enum {
	OID_BOOL = 16,
	OID_BYTEA = 17,
	OID_NAME = 19,
	OID_INT8 = 20,
	OID_INT2 = 21,
	OID_INT4 = 23,
	OID_TEXT = 25,
	OID_JSON = 114,
	OID_FLOAT4 = 700,
	OID_FLOAT8 = 701,
	OID_VARCHAR = 1043,
	OID_TIMESTAMPTZ = 1184,
	OID_UUID = 2950,
	OID_JSONB = 3802
};

/* PostgreSQL counts microseconds from 2000-01-01. */
#define EPOCH_2000_S 946684800LL

static const PGresult *pg(const struct db_result *r)
{
	return (const PGresult *)(const void *)r;
}

static const char *cell(const struct db_result *r, size_t row, unsigned int col, int *ret_len)
{
	CHECK(row < db_rows(r) && col < db_columns(r));
	if (PQgetisnull(pg(r), (int)row, (int)col))
		return NULL;
	*ret_len = PQgetlength(pg(r), (int)row, (int)col);
	return PQgetvalue(pg(r), (int)row, (int)col);
}

static uint64_t be(const char *p, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

size_t db_rows(const struct db_result *r)
{
	return (size_t)PQntuples(pg(r));
}

size_t db_columns(const struct db_result *r)
{
	return (size_t)PQnfields(pg(r));
}

int64_t db_affected(const struct db_result *r)
{
	const char *text = PQcmdTuples((PGresult *)(uintptr_t)pg(r)); /* it only reads */
	int64_t n = 0;

	if (*text)
		CHECK(parse_i64(text, &n, NULL) == 0);
	return n;
}

bool db_is_null(const struct db_result *r, size_t row, unsigned int col)
{
	int len;

	return !cell(r, row, col, &len);
}

int64_t db_i64(const struct db_result *r, size_t row, unsigned int col)
{
	unsigned int type = PQftype(pg(r), (int)col);
	int len;
	const char *p = cell(r, row, col, &len);

	CHECK(type == OID_INT8 || type == OID_INT4 || type == OID_INT2);
	if (!p)
		return 0;
	switch (len) {
	case 2:
		return (int16_t)be(p, 2);
	case 4:
		return (int32_t)be(p, 4);
	default:
		return (int64_t)be(p, 8);
	}
}

double db_f64(const struct db_result *r, size_t row, unsigned int col)
{
	unsigned int type = PQftype(pg(r), (int)col);
	int len;
	const char *p = cell(r, row, col, &len);
	uint64_t bits;
	uint32_t bits4;
	double v;
	float v4;

	CHECK(type == OID_FLOAT8 || type == OID_FLOAT4);
	if (!p)
		return 0;
	bits = be(p, len);
	if (len == 4) {
		bits4 = (uint32_t)bits;
		memcpy(&v4, &bits4, sizeof(v4));
		return (double)v4;
	}
	memcpy(&v, &bits, sizeof(v));
	return v;
}

bool db_bool(const struct db_result *r, size_t row, unsigned int col)
{
	int len;
	const char *p = cell(r, row, col, &len);

	CHECK(PQftype(pg(r), (int)col) == OID_BOOL);
	return p && *p;
}

const char *db_text_or_null(const struct db_result *r, size_t row, unsigned int col)
{
	unsigned int type = PQftype(pg(r), (int)col);
	int len;
	const char *p = cell(r, row, col, &len);

	CHECK(type == OID_TEXT || type == OID_VARCHAR || type == OID_NAME || type == OID_JSON ||
	      type == OID_JSONB);
	if (p && type == OID_JSONB) {
		CHECK(*p == 1); /* version byte of jsonb_send */
		p++;
	}
	return p;
}

const char *db_text(const struct db_result *r, size_t row, unsigned int col)
{
	const char *p = db_text_or_null(r, row, col);

	return p ? p : "";
}

const void *db_bytes(const struct db_result *r, size_t row, unsigned int col, size_t *ret_len)
{
	int len = 0;
	const char *p = cell(r, row, col, &len);

	CHECK(PQftype(pg(r), (int)col) == OID_BYTEA);
	*ret_len = p ? (size_t)len : 0;
	return p;
}

const char *db_uid(const struct db_result *r, size_t row, unsigned int col, char buf[33])
{
	static const char digits[] = "0123456789abcdef";
	int len = 0;
	const char *p = cell(r, row, col, &len);

	CHECK(PQftype(pg(r), (int)col) == OID_UUID);
	for (int i = 0; i < len && i < 16; i++) {
		buf[2 * i] = digits[(unsigned char)p[i] >> 4];
		buf[2 * i + 1] = digits[(unsigned char)p[i] & 15];
	}
	buf[p ? 32 : 0] = '\0';
	return buf;
}

void db_uuid(const struct db_result *r, size_t row, unsigned int col, unsigned char ret[16])
{
	int len = 0;
	const char *p = cell(r, row, col, &len);

	CHECK(PQftype(pg(r), (int)col) == OID_UUID);
	memset(ret, 0, 16);
	if (p)
		memcpy(ret, p, 16);
}

int64_t db_time_ns(const struct db_result *r, size_t row, unsigned int col)
{
	int len;
	const char *p = cell(r, row, col, &len);
	int64_t us, ns;

	CHECK(PQftype(pg(r), (int)col) == OID_TIMESTAMPTZ);
	if (!p)
		return 0;
	us = (int64_t)be(p, 8);
	if (__builtin_mul_overflow(us, NS_PER_US, &ns) ||
	    __builtin_add_overflow(ns, EPOCH_2000_S * NS_PER_SEC, &ns))
		return us < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

json_t *db_json(const struct db_result *r, size_t row, unsigned int col)
{
	const char *text = db_text_or_null(r, row, col);
	json_error_t why;
	json_t *j;

	if (!text)
		return json_null();
	j = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	CHECK(j); /* PostgreSQL has checked it; we wrote it */
	return j;
}
