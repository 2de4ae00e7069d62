/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens, enrolment codes and pins as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/token.h"

#define SECRET "0123456789abcdefghijklmnopqrstuvwxyzABCDEF-"

static void test_tokens(void **state)
{
	static const char *const bad[] = {"",
					  "rs_",
					  "rs_abcdefgh_",
					  "rs_abcdefgh_" SECRET "x",
					  "rs_ABCDEFGH_" SECRET,
					  "rs_abcdefgh-" SECRET,
					  "rsc_abcdefgh_" SECRET,
					  "rs_abcdefgh_" SECRET "."};
	char text[TOKEN_TEXT_LEN + 1], other[TOKEN_TEXT_LEN + 1], hex[SHA256_HEX];
	unsigned char digest[SHA256_LEN];
	struct token_text made, read;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (token_parse(bad[i], &read))
			fail_msg("\"%s\" is taken for a token", bad[i]);
	assert_true(token_parse("rs_abcdefgh_" SECRET, &read));
	assert_string_equal(read.id, "abcdefgh");
	(void)sha256_hex(SECRET, TOKEN_SECRET_LEN, hex);
	for (size_t i = 0; i < SHA256_LEN; i++) {
		char pair[3];

		snprintf(pair, sizeof(pair), "%02x", read.digest[i]);
		assert_memory_equal(pair, hex + 2 * i, 2);
	}
	token_mint(text, &made);
	assert_int_equal(strlen(text), TOKEN_TEXT_LEN);
	assert_true(token_parse(text, &read));
	assert_true(token_digest_equal(made.digest, read.digest));
	token_mint(other, &read);
	assert_string_not_equal(text, other);
	for (size_t i = 0; i < SHA256_LEN; i++) {
		memcpy(digest, made.digest, sizeof(digest));
		digest[i] ^= 1;
		assert_false(token_digest_equal(digest, made.digest));
	}
}

/* A13: nanoseconds of a comparison with a digest that differs in byte `at`; the least of many. */
static double compare_ns(const unsigned char *digest, size_t at)
{
	enum { ROUNDS = 200, EACH = 1000 };
	unsigned char other[SHA256_LEN];
	double least = 1e18;
	unsigned int equal = 0;

	memcpy(other, digest, sizeof(other));
	other[at] ^= 0x55;
	for (int r = 0; r < ROUNDS; r++) {
		int64_t begun = clock_monotonic_ns();
		double took;

		for (int i = 0; i < EACH; i++)
			equal += token_digest_equal(digest, other);
		took = (double)(clock_monotonic_ns() - begun) / EACH;
		least = took < least ? took : least;
	}
	assert_int_equal(equal, 0);
	return least;
}

static void test_A13_comparison_takes_no_hints(void **state)
{
	char text[TOKEN_TEXT_LEN + 1];
	struct token_text token;
	double first, last;

	(void)state;
	token_mint(text, &token);
	first = compare_ns(token.digest, 0);
	last = compare_ns(token.digest, SHA256_LEN - 1);
	/* One that ends early would be many times faster. */
	if (first < 0.8 * last || last < 0.8 * first)
		fail_msg("first byte %.1f ns, last byte %.1f ns", first, last);
}

static void test_scopes(void **state)
{
	const char *names[TOKEN_SCOPES];
	unsigned int scopes;
	struct err err;

	(void)state;
	assert_int_equal(token_scopes("gate,read", &scopes, &err), 0);
	assert_int_equal(scopes, TOKEN_READ | TOKEN_GATE);
	assert_int_equal(token_scope_names(scopes, names), 2);
	assert_string_equal(names[1], "gate");
	assert_int_equal(token_scopes("read,gat", &scopes, &err), ERR_INVALID);
	assert_non_null(strstr(err.text, "gat"));
	assert_int_equal(token_scopes("", &scopes, &err), ERR_INVALID);
}

/* The digest of the empty text: e3b0c442 98fc1c14 ... b855, and its base64 from coreutils. */
static void test_pins(void **state)
{
	static const char *const bad[] = {"",
					  "sha256//",
					  "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU",
					  "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFUx",
					  "sha1//7/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
					  "sha256//47DEQpj8HBSa-_TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
					  "sha256//47DEQpj8HBSa;/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="};
	static const char good[] = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
	char pin[PIN_LEN + 1], again[PIN_LEN + 1], text[PIN_TEXT_LEN + 1];
	unsigned char digest[SHA256_LEN];
	struct sha256 sha;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (pin_parse(bad[i], pin))
			fail_msg("\"%s\" is taken for a pin", bad[i]);
	assert_true(pin_parse(good, pin));
	assert_string_equal(pin, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
	assert_string_equal(pin_text(pin, text), good);
	sha256_init(&sha);
	sha256_finish(&sha, digest);
	pin_of_digest(digest, again);
	assert_string_equal(again, pin);
}

static void test_codes(void **state)
{
	static const char pin[] = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
	static const char *const bad[] = {
		"rs_abcdefgh_0123456789abcdefghijkl",
		"rsc_abcdefgh_0123456789abcdefghijk",
		"rsc_abcdefgh_0123456789abcdefghijklm",
		"rsc_abcdefgh_0123456789abcdefghijkl.",
		"rsc_abcdefgh_0123456789abcdefghijkl.47DEQ",
		"rsc_abcdefgh_0123456789abcdefghijkl.47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"};
	char text[CODE_TEXT_MAX + 1];
	struct code_text made, read;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (code_parse(bad[i], &read))
			fail_msg("\"%s\" is taken for a code", bad[i]);
	assert_true(code_parse("rsc_abcdefgh_0123456789abcdefghijkl", &read));
	assert_string_equal(read.pin, "");
	code_mint(pin, text, &made);
	assert_int_equal(strlen(text), CODE_TEXT_MAX);
	assert_true(code_parse(text, &read));
	assert_string_equal(read.pin, pin);
	assert_true(token_digest_equal(read.digest, made.digest));
	/* What follows the secret is no part of it. */
	text[CODE_TEXT_MAX - PIN_LEN - 1] = '\0';
	assert_true(code_parse(text, &read));
	assert_true(token_digest_equal(read.digest, made.digest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens), cmocka_unit_test(test_A13_comparison_takes_no_hints),
		cmocka_unit_test(test_scopes), cmocka_unit_test(test_pins),
		cmocka_unit_test(test_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
