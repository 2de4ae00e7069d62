/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/crc32c.h"

/* The SSE4.2 instruction where the CPU has it, else eight tables ("slicing by 8"). */

static uint32_t tables[8][256];

__attribute__((constructor)) static void make_tables(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int k = 0; k < 8; k++)
			c = c & 1 ? (c >> 1) ^ 0x82f63b78u : c >> 1;
		tables[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
}

static uint32_t by_table(uint32_t crc, const unsigned char *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		uint32_t lo, hi;

		memcpy(&lo, p, 4);
		memcpy(&hi, p + 4, 4);
		lo ^= crc;
		crc = tables[7][lo & 0xff] ^ tables[6][(lo >> 8) & 0xff] ^
		      tables[5][(lo >> 16) & 0xff] ^ tables[4][lo >> 24] ^ tables[3][hi & 0xff] ^
		      tables[2][(hi >> 8) & 0xff] ^ tables[1][(hi >> 16) & 0xff] ^
		      tables[0][hi >> 24];
	}
	for (; len; p++, len--)
		crc = (crc >> 8) ^ tables[0][(crc ^ *p) & 0xff];
	return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc,
								 const unsigned char *p, size_t len)
{
	uint64_t c = crc;

	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		c = _mm_crc32_u64(c, v);
	}
	for (; len; p++, len--)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return (uint32_t)c;
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_instruction(~crc, data, len);
#endif
	return ~by_table(~crc, data, len);
}
