/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/token.h"

#include <stdio.h>
#include <sys/random.h>

#include "common/check.h"

#define PIN_HEAD "sha256//"

static const char id_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
/* base64url, in its order */
static const char secret_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char *const scope_names[TOKEN_SCOPES] = {"read", "ingest", "write", "admin", "gate"};

static void digest_of(const char *secret, size_t len, unsigned char ret[SHA256_LEN])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, secret, len);
	sha256_finish(&sha, ret);
}

bool token_id_valid(const char *id)
{
	return strlen(id) == TOKEN_ID_LEN && strspn(id, id_letters) == TOKEN_ID_LEN;
}

/* <prefix><id>_<secret><rest>: where the rest begins, or NULL. */
static const char *parse(const char *text, const char *prefix, size_t secret_len,
			 char id[TOKEN_ID_LEN + 1], unsigned char digest[SHA256_LEN])
{
	size_t head = strlen(prefix), len = head + TOKEN_ID_LEN + 1 + secret_len;
	const char *secret;

	if (strnlen(text, len) != len || strncmp(text, prefix, head) != 0)
		return NULL;
	secret = text + head + TOKEN_ID_LEN + 1;
	if (strspn(text + head, id_letters) != TOKEN_ID_LEN || secret[-1] != '_' ||
	    strspn(secret, secret_letters) < secret_len)
		return NULL;
	memcpy(id, text + head, TOKEN_ID_LEN);
	id[TOKEN_ID_LEN] = '\0';
	digest_of(secret, secret_len, digest);
	return secret + secret_len;
}

bool token_parse(const char *text, struct token_text *ret)
{
	const char *rest = parse(text, "rs_", TOKEN_SECRET_LEN, ret->id, ret->digest);

	return rest && !*rest;
}

bool code_parse(const char *text, struct code_text *ret)
{
	const char *rest = parse(text, "rsc_", CODE_SECRET_LEN, ret->id, ret->digest);

	*ret->pin = '\0';
	if (!rest || !*rest)
		return rest != NULL;
	if (*rest != '.' || strlen(rest + 1) != PIN_LEN ||
	    strspn(rest + 1, secret_letters) != PIN_LEN)
		return false;
	memcpy(ret->pin, rest + 1, PIN_LEN + 1);
	return true;
}

/* `n` letters out of a set of `of`, without bias. */
static void letters(char *out, size_t n, const char *set, size_t of)
{
	for (size_t i = 0; i < n;) {
		unsigned char byte;

		CHECK(getrandom(&byte, 1, 0) == 1);
		if (byte < 256 / of * of)
			out[i++] = set[byte % of];
	}
}

static char *mint(char *text, const char *prefix, size_t secret_len)
{
	char *at = text + strlen(prefix);

	memcpy(text, prefix, strlen(prefix));
	letters(at, TOKEN_ID_LEN, id_letters, sizeof(id_letters) - 1);
	at[TOKEN_ID_LEN] = '_';
	at += TOKEN_ID_LEN + 1;
	letters(at, secret_len, secret_letters, sizeof(secret_letters) - 1);
	at[secret_len] = '\0';
	return at + secret_len;
}

void token_mint(char text[TOKEN_TEXT_LEN + 1], struct token_text *ret)
{
	(void)mint(text, "rs_", TOKEN_SECRET_LEN);
	CHECK(token_parse(text, ret));
}

void code_mint(const char *pin, char text[CODE_TEXT_MAX + 1], struct code_text *ret)
{
	char *end = mint(text, "rsc_", CODE_SECRET_LEN);

	if (*pin)
		(void)snprintf(end, PIN_LEN + 2, ".%s", pin);
	CHECK(code_parse(text, ret));
}

int token_scopes(const char *text, unsigned int *ret, struct err *reterr)
{
	*ret = 0;
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ","), i = 0;

		while (i < ARRAY_LEN(scope_names) &&
		       (strlen(scope_names[i]) != n || memcmp(p, scope_names[i], n) != 0))
			i++;
		if (i == ARRAY_LEN(scope_names))
			return err_set(reterr, ERR_INVALID,
				       "'%.*s' is no scope: read, gate, ingest, write, admin",
				       (int)n, p);
		*ret |= 1u << i;
		p += n + (p[n] == ',');
	}
	return *ret ? 0 : err_set(reterr, ERR_INVALID, "a token needs a scope");
}

size_t token_scope_names(unsigned int scopes, const char *ret[TOKEN_SCOPES])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(scope_names); i++)
		if (scopes & 1u << i)
			ret[n++] = scope_names[i];
	return n;
}

bool token_digest_equal(const unsigned char a[SHA256_LEN], const unsigned char b[SHA256_LEN])
{
	volatile unsigned char differ = 0;

	for (size_t i = 0; i < SHA256_LEN; i++)
		differ = (unsigned char)(differ | (a[i] ^ b[i]));
	return differ == 0;
}

/* ---- pins ---- */

static char swap(char c, const char *from, const char *to)
{
	const char *at = strchr(from, c);

	return c && at ? to[at - from] : c;
}

bool pin_parse(const char *text, char ret[PIN_LEN + 1])
{
	if (strlen(text) != PIN_TEXT_LEN || strncmp(text, PIN_HEAD, 8) != 0 ||
	    text[PIN_TEXT_LEN - 1] != '=')
		return false;
	for (size_t i = 0; i < PIN_LEN; i++)
		ret[i] = swap(text[8 + i], "+/-_", "-_  "); /* a blank is no letter */
	ret[PIN_LEN] = '\0';
	return strspn(ret, secret_letters) == PIN_LEN;
}

const char *pin_text(const char *pin, char buf[PIN_TEXT_LEN + 1])
{
	memcpy(buf, PIN_HEAD, 8);
	for (size_t i = 0; i < PIN_LEN; i++)
		buf[8 + i] = swap(pin[i], "-_", "+/");
	buf[PIN_TEXT_LEN - 1] = '=';
	buf[PIN_TEXT_LEN] = '\0';
	return buf;
}

void pin_of_digest(const unsigned char digest[SHA256_LEN], char ret[PIN_LEN + 1])
{
	unsigned int bits = 0, have = 0;
	size_t n = 0;

	for (size_t i = 0; i < SHA256_LEN; i++) {
		bits = bits << 8 | digest[i];
		for (have += 8; have >= 6; have -= 6)
			ret[n++] = secret_letters[bits >> (have - 6) & 63];
	}
	ret[n++] = secret_letters[bits << (6 - have) & 63];
	CHECK(n == PIN_LEN);
	ret[n] = '\0';
}
