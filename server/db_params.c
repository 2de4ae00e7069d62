/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/db_params.h"

#include "common/check.h"

/* pg_type.dat: these numbers are part of the wire protocol and do not change. */
enum {
	OID_BOOL = 16,
	OID_BYTEA = 17,
	OID_INT8 = 20,
	OID_TEXT = 25,
	OID_FLOAT8 = 701,
	OID_BYTEA_ARRAY = 1001,
	OID_TEXT_ARRAY = 1009,
	OID_INT8_ARRAY = 1016,
	OID_FLOAT8_ARRAY = 1022,
	OID_UUID_ARRAY = 2951,
	OID_UUID = 2950,
	OID_JSONB = 3802
};

static const struct {
	unsigned int oid, element; /* element: of arrays */
} types[] = {
	[DB_I64] = {OID_INT8, 0},
	[DB_F64] = {OID_FLOAT8, 0},
	[DB_BOOL] = {OID_BOOL, 0},
	[DB_TEXT] = {OID_TEXT, 0},
	[DB_BYTES] = {OID_BYTEA, 0},
	[DB_JSON] = {OID_JSONB, 0},
	[DB_UUID] = {OID_UUID, 0},
	[DB_TEXTS] = {OID_TEXT_ARRAY, OID_TEXT},
	[DB_I64S] = {OID_INT8_ARRAY, OID_INT8},
	[DB_F64S] = {OID_FLOAT8_ARRAY, OID_FLOAT8},
	[DB_UUIDS] = {OID_UUID_ARRAY, OID_UUID},
	[DB_BLOBS] = {OID_BYTEA_ARRAY, OID_BYTEA},
};

void db_put_be(struct strbuf *b, uint64_t v, size_t bytes)
{
	char out[8];

	CHECK(bytes <= sizeof(out));
	for (size_t i = 0; i < bytes; i++)
		out[i] = (char)(v >> (8 * (bytes - 1 - i)));
	strbuf_add(b, out, bytes);
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static void put_element(struct strbuf *b, const struct db_param *p, size_t i)
{
	const char *s;

	switch (p->type) {
	case DB_TEXTS:
		s = ((const char *const *)p->data)[i];
		db_put_be(b, strlen(s), 4);
		strbuf_puts(b, s);
		break;
	case DB_BLOBS:
		db_put_be(b, ((const struct strbuf *)p->data)[i].len, 4);
		strbuf_add(b, ((const struct strbuf *)p->data)[i].data,
			   ((const struct strbuf *)p->data)[i].len);
		break;
	case DB_UUIDS:
		db_put_be(b, 16, 4);
		strbuf_add(b, (const char *)p->data + 16 * i, 16);
		break;
	case DB_F64S:
		db_put_be(b, 8, 4);
		db_put_be(b, bits_of(((const double *)p->data)[i]), 8);
		break;
	default:
		db_put_be(b, 8, 4);
		db_put_be(b, (uint64_t)((const int64_t *)p->data)[i], 8);
	}
}

/* array_recv: dimensions, has-null flag, element type, then length and lower bound of each
 * dimension, then the elements with their lengths. */
static void put_array(struct strbuf *b, const struct db_param *p)
{
	db_put_be(b, p->len ? 1 : 0, 4);
	db_put_be(b, 0, 4);
	db_put_be(b, types[p->type].element, 4);
	if (!p->len)
		return;
	db_put_be(b, p->len, 4);
	db_put_be(b, 1, 4);
	for (size_t i = 0; i < p->len; i++)
		put_element(b, p, i);
}

static void put_value(struct strbuf *b, const struct db_param *p)
{
	switch (p->type) {
	case DB_I64:
		db_put_be(b, (uint64_t)p->i64, 8);
		break;
	case DB_F64:
		db_put_be(b, bits_of(p->f64), 8);
		break;
	case DB_BOOL:
		strbuf_putc(b, p->i64 ? 1 : 0);
		break;
	case DB_TEXT:
	case DB_JSON:
	case DB_BYTES:
	case DB_UUID:
		strbuf_add(b, p->data, p->len);
		break;
	case DB_TEXTS:
	case DB_I64S:
	case DB_F64S:
	case DB_UUIDS:
	case DB_BLOBS:
		put_array(b, p);
		break;
	}
}

void db_encode(struct db_encoded *ret, const struct db_param *params, size_t n)
{
	size_t offsets[DB_PARAMS_MAX];

	CHECK(n <= DB_PARAMS_MAX);
	memset(ret, 0, sizeof(*ret));
	if (!n)
		return;
	ret->n = (int)n;
	ret->types = xcalloc(n, sizeof(*ret->types));
	ret->values = xcalloc(n, sizeof(*ret->values));
	ret->lengths = xcalloc(n, sizeof(*ret->lengths));
	ret->formats = xcalloc(n, sizeof(*ret->formats));
	for (size_t i = 0; i < n; i++) {
		const struct db_param *p = &params[i];

		ret->types[i] = types[p->type].oid;
		ret->formats[i] = p->type == DB_JSON ? 0 : 1;
		offsets[i] = ret->buf.len;
		if (p->null)
			continue;
		put_value(&ret->buf, p);
		ret->lengths[i] = (int)(ret->buf.len - offsets[i]);
		strbuf_putc(&ret->buf, '\0'); /* text format ends with a zero byte */
	}
	for (size_t i = 0; i < n; i++)
		ret->values[i] = params[i].null ? NULL : ret->buf.data + offsets[i];
}

void db_encoded_done(struct db_encoded *e)
{
	strbuf_done(&e->buf);
	free(TAKE(e->types));
	free(TAKE(e->values));
	free(TAKE(e->lengths));
	free(TAKE(e->formats));
}
