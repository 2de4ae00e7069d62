/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/token.h"

#include <sys/random.h>

#include "common/check.h"

static const char id_letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
static const char secret_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char *const scope_names[] = {"read", "ingest", "write", "admin"};

static void digest_of(const char *secret, unsigned char ret[SHA256_LEN])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, secret, TOKEN_SECRET_LEN);
	sha256_finish(&sha, ret);
}

bool token_parse(const char *text, struct token_text *ret)
{
	const char *secret = text + 3 + TOKEN_ID_LEN + 1;

	if (strlen(text) != TOKEN_TEXT_LEN || strncmp(text, "rs_", 3) != 0 ||
	    strspn(text + 3, id_letters) != TOKEN_ID_LEN || secret[-1] != '_' ||
	    strspn(secret, secret_letters) != TOKEN_SECRET_LEN)
		return false;
	memcpy(ret->id, text + 3, TOKEN_ID_LEN);
	ret->id[TOKEN_ID_LEN] = '\0';
	digest_of(secret, ret->digest);
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

void token_mint(char text[TOKEN_TEXT_LEN + 1], struct token_text *ret)
{
	memcpy(text, "rs_", 3);
	letters(text + 3, TOKEN_ID_LEN, id_letters, sizeof(id_letters) - 1);
	text[3 + TOKEN_ID_LEN] = '_';
	letters(text + 4 + TOKEN_ID_LEN, TOKEN_SECRET_LEN, secret_letters,
		sizeof(secret_letters) - 1);
	text[TOKEN_TEXT_LEN] = '\0';
	CHECK(token_parse(text, ret));
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
				       "'%.*s' is no scope: read, ingest, write, admin", (int)n, p);
		*ret |= 1u << i;
		p += n + (p[n] == ',');
	}
	return *ret ? 0 : err_set(reterr, ERR_INVALID, "a token needs a scope");
}

size_t token_scope_names(unsigned int scopes, const char *ret[4])
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
