/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 (FIPS 180-4), for content addresses. */
#pragma once

#include "common/base.h"

#define SHA256_LEN 32
#define SHA256_HEX 65 /* 64 digits and NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_finish(struct sha256 *s, unsigned char ret[SHA256_LEN]);

/* The whole of `data` as lower-case hex; returns hex. */
const char *sha256_hex(const void *data, size_t len, char hex[SHA256_HEX]);
