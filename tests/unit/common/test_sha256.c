/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Vectors of FIPS 180-4 and NIST's example files; lengths around the block edge from sha256sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/sha256.h"

static void check_text(const char *text, const char *want)
{
	char hex[SHA256_HEX];

	assert_string_equal(sha256_hex(text, strlen(text), hex), want);
}

static void test_vectors(void **state)
{
	(void)state;
	check_text("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check_text("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check_text("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

/* One hash of the hashes of "a" * n for n = 0..199, against Python's hashlib. */
static void test_lengths(void **state)
{
	unsigned char all[200 * SHA256_LEN];
	char text[200], hex[SHA256_HEX];

	(void)state;
	memset(text, 'a', sizeof(text));
	for (size_t n = 0; n < 200; n++) {
		struct sha256 s;

		sha256_init(&s);
		for (size_t at = 0, step = 1; at < n; at += step, step = step % 7 + 1)
			sha256_add(&s, text + at, at + step > n ? n - at : step);
		sha256_finish(&s, all + n * SHA256_LEN);
	}
	assert_string_equal(sha256_hex(all, sizeof(all), hex),
			    "752c007f38611cfbf5fa42cb1cea3d8e086491c844d0cc4defd632cb81423506");
}

static void test_million(void **state)
{
	char *text = xcalloc(1000000, 1);
	char hex[SHA256_HEX];

	(void)state;
	memset(text, 'a', 1000000);
	sha256_hex(text, 1000000, hex);
	free(text);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_million),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
