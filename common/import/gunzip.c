/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/gunzip.h"

#include <zlib.h>

#define CHUNK 65536

bool gunzip_is(const char *data, size_t len)
{
	return len >= 18 && !memcmp(data, "\x1f\x8b\x08", 3);
}

/* Inflates until the stream's end; *ret_left = bytes behind it. */
static int inflate_stream(z_stream *z, size_t max, struct strbuf *out, struct err *reterr)
{
	int rc;

	do {
		size_t room;

		if (out->len > max)
			return err_set(
				reterr, ERR_LIMIT,
				"inflates to more than %zu KiB; unpack it first if it is right",
				max >> 10);
		room = max - out->len < CHUNK ? max - out->len + 1 : CHUNK;
		strbuf_reserve(out, room);
		z->next_out = (unsigned char *)out->data + out->len;
		z->avail_out = (unsigned int)room;
		rc = inflate(z, Z_NO_FLUSH);
		out->len += room - z->avail_out;
		out->data[out->len] = '\0';
		if (rc != Z_OK && rc != Z_STREAM_END)
			return err_set(reterr, ERR_INVALID, "broken compressed data%s%s",
				       z->msg ? ": " : "", z->msg ? z->msg : "");
		if (rc == Z_OK && !z->avail_in && z->avail_out)
			return err_set(reterr, ERR_INVALID, "the compressed data is cut off");
	} while (rc != Z_STREAM_END);
	return 0;
}

static int inflate_all(const char *data, size_t len, int window_bits, size_t max,
		       struct strbuf *out, struct err *reterr)
{
	z_stream z = {0};
	int rc = 0;

	if (len > UINT32_MAX)
		return err_set(reterr, ERR_LIMIT, "more than 4 GiB of compressed data");
	if (inflateInit2(&z, window_bits) != Z_OK)
		return err_set(reterr, ERR_NOMEM, "zlib could not start");
	z.next_in = (unsigned char *)(uintptr_t)data;
	z.avail_in = (unsigned int)len;
	do {
		rc = inflate_stream(&z, max, out, reterr);
	} while (!rc && z.avail_in > 18 && !memcmp(z.next_in, "\x1f\x8b\x08", 3) &&
		 inflateReset(&z) == Z_OK);
	inflateEnd(&z);
	return rc;
}

int gunzip_bytes(const char *data, size_t len, struct strbuf *out, struct err *reterr)
{
	size_t max = len > GUNZIP_BYTES_MAX / GUNZIP_RATIO_MAX ? GUNZIP_BYTES_MAX
							       : len * GUNZIP_RATIO_MAX;

	return inflate_all(data, len, 15 + 16, max < GUNZIP_FREE ? GUNZIP_FREE : max, out, reterr);
}

int inflate_bytes(const char *data, size_t len, size_t max, struct strbuf *out, struct err *reterr)
{
	return inflate_all(data, len, 15, max, out, reterr);
}
