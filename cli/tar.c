/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tar.h"

#include <stdio.h>

#define BLOCK 512

static bool is_checksum_right(const unsigned char *h)
{
	unsigned long sum = 0, said = 0;

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : h[i];
	for (size_t i = 148; i < 156; i++)
		if (h[i] >= '0' && h[i] <= '7')
			said = said * 8 + (h[i] - '0');
	return sum == said;
}

bool tar_is(const char *data, size_t len)
{
	return len >= BLOCK && !memcmp(data + 257, "ustar", 5) &&
	       is_checksum_right((const unsigned char *)data);
}

/* Octal, or GNU's base 256. */
static bool number(const char *p, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	if ((unsigned char)p[0] == 0x80) {
		for (i = n - 8; i < n; i++)
			v = v << 8 | (unsigned char)p[i];
		*ret = v;
		return v < (uint64_t)1 << 62;
	}
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
		if (v >> 58)
			return false;
		v = v * 8 + (uint64_t)(p[i] - '0');
	}
	*ret = v;
	return true;
}

static size_t field_len(const char *p, size_t cap)
{
	return strnlen(p, cap);
}

static void header_name(struct tar *t, const char *h)
{
	size_t prefix = field_len(h + 345, 155);

	if (t->long_name[0])
		(void)snprintf(t->name, sizeof(t->name), "%s", t->long_name);
	else if (prefix && !memcmp(h + 257, "ustar\0", 6))
		(void)snprintf(t->name, sizeof(t->name), "%.*s/%.*s", (int)prefix, h + 345,
			       (int)field_len(h, 100), h);
	else
		(void)snprintf(t->name, sizeof(t->name), "%.*s", (int)field_len(h, 100), h);
	t->long_name[0] = '\0';
}

/* "27 path=some/long/name\n" records of a pax header */
static void pax_name(struct tar *t, const char *p, size_t len)
{
	while (len) {
		size_t record = 0, digits = 0;

		while (digits < len && digits < 8 && p[digits] >= '0' && p[digits] <= '9')
			record = record * 10 + (size_t)(p[digits++] - '0');
		if (!digits || record <= digits || record > len)
			return;
		if (record > digits + 6 && !memcmp(p + digits, " path=", 6))
			(void)snprintf(t->long_name, sizeof(t->long_name), "%.*s",
				       (int)(record - digits - 7), p + digits + 6);
		p += record;
		len -= record;
	}
}

int tar_next(struct tar *t, struct err *reterr)
{
	for (;;) {
		const char *h = t->data + t->at;
		uint64_t size;
		char type;

		if (t->at + BLOCK > t->len || !h[0])
			return 0;
		if (!tar_is(h, t->len - t->at) || !number(h + 124, 12, &size))
			return err_set(reterr, ERR_INVALID, "broken tar header at byte %zu", t->at);
		if (size > t->len - t->at - BLOCK)
			return err_set(reterr, ERR_INVALID,
				       "the tar archive is cut off at byte %zu", t->len);
		type = h[156];
		t->bytes = h + BLOCK;
		t->bytes_len = (size_t)size;
		t->at += BLOCK + ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
		if (type == 'L') {
			(void)snprintf(t->long_name, sizeof(t->long_name), "%.*s", (int)size,
				       t->bytes);
		} else if (type == 'x') {
			pax_name(t, t->bytes, t->bytes_len);
		} else if (type == '0' || type == '\0') {
			header_name(t, h);
			return 1;
		} else {
			t->long_name[0] = '\0';
		}
		if (t->at > t->len)
			t->at = t->len;
	}
}
