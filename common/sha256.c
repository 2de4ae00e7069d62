/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SHA-256 after FIPS 180-4, section 6.2. */
#include "common/sha256.h"

static const uint32_t k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned int n)
{
	return x >> n | x << (32 - n);
}

static void expand(const unsigned char *p, uint32_t w[64])
{
	for (size_t i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	for (size_t i = 16; i < 64; i++) {
		uint32_t s0 = rotr(w[i - 15], 7) ^ rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotr(w[i - 2], 17) ^ rotr(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void compress(uint32_t state[8], const unsigned char *block)
{
	uint32_t w[64], v[8];

	expand(block, w);
	memcpy(v, state, sizeof(v));
	for (size_t i = 0; i < 64; i++) {
		uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
		uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + ch + k[i] + w[i];
		uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + s0 + maj;
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += v[i];
}

void sha256_init(struct sha256 *s)
{
	*s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				       0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t used = s->bytes % 64;

	s->bytes += len;
	while (len) {
		size_t n = 64 - used < len ? 64 - used : len;

		memcpy(s->block + used, p, n);
		p += n;
		len -= n;
		used += n;
		if (used == 64) {
			compress(s->state, s->block);
			used = 0;
		}
	}
}

void sha256_finish(struct sha256 *s, unsigned char ret[SHA256_LEN])
{
	uint64_t bits = s->bytes * 8;
	unsigned char tail[72] = {0x80};
	size_t used = s->bytes % 64;
	size_t pad = used < 56 ? 56 - used : 120 - used;

	for (size_t i = 0; i < 8; i++)
		tail[pad + i] = (unsigned char)(bits >> (56 - 8 * i));
	sha256_add(s, tail, pad + 8);
	for (size_t i = 0; i < SHA256_LEN; i++)
		ret[i] = (unsigned char)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

const char *sha256_hex(const void *data, size_t len, char hex[SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[SHA256_LEN];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, data, len);
	sha256_finish(&s, sum);
	for (size_t i = 0; i < SHA256_LEN; i++) {
		hex[2 * i] = digits[sum[i] >> 4];
		hex[2 * i + 1] = digits[sum[i] & 15];
	}
	hex[2 * SHA256_LEN] = '\0';
	return hex;
}
