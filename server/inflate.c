/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/inflate.h"

#include <zlib.h>

#include "common/check.h"

#define PIECE	    (64 * 1024)
#define RATIO_MAX   200
#define RATIO_SLACK (64 * 1024) /* small bodies may have any ratio */
#define GZIP_WINDOW (15 + 16)	/* zlib: 16 asks for the gzip wrapper */

static int check_size(size_t out, size_t in, size_t max, struct err *reterr)
{
	if (out > max)
		return err_set(reterr, ERR_LIMIT, "the gzip body inflates to more than %zu bytes",
			       max);
	if (out > RATIO_SLACK && out / RATIO_MAX > in)
		return err_set(reterr, ERR_LIMIT, "the gzip body inflates more than %d fold",
			       RATIO_MAX);
	return 0;
}

int gzip_inflate(const void *data, size_t len, size_t max, struct strbuf *out, struct err *reterr)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};
	char piece[PIECE];
	int rc = Z_OK, code = 0;

	CHECK(inflateInit2(&z, GZIP_WINDOW) == Z_OK);
	while (rc == Z_OK && code == 0) {
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof(piece);
		rc = inflate(&z, Z_NO_FLUSH);
		code = check_size(out->len + sizeof(piece) - z.avail_out, len, max, reterr);
		if (code == 0)
			strbuf_add(out, piece, sizeof(piece) - z.avail_out);
		if (rc == Z_BUF_ERROR || (rc == Z_OK && z.avail_in == 0 && z.avail_out != 0))
			break;
	}
	if (code == 0 && (rc != Z_STREAM_END || z.avail_in != 0))
		code = err_set(reterr, ERR_INVALID, "the gzip body is %s",
			       rc == Z_STREAM_END ? "followed by other bytes"
			       : rc == Z_OK	  ? "cut off"
						  : "damaged");
	(void)inflateEnd(&z);
	return code;
}

void gzip_deflate(const void *data, size_t len, struct strbuf *out)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)len};
	size_t bound;

	CHECK(deflateInit2(&z, 1, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	bound = deflateBound(&z, len);
	strbuf_reserve(out, bound);
	z.next_out = (Bytef *)out->data + out->len;
	z.avail_out = (uInt)bound;
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	out->len += bound - z.avail_out;
	(void)deflateEnd(&z);
}
