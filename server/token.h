/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bearer tokens: rs_<id, 8 of a-z0-9>_<secret, 43 of base64url>. Pure but for getrandom(). */
#pragma once

#include "common/err.h"
#include "common/sha256.h"

#define TOKEN_ID_LEN	 8
#define TOKEN_SECRET_LEN 43
#define TOKEN_TEXT_LEN	 (3 + TOKEN_ID_LEN + 1 + TOKEN_SECRET_LEN)

/* What a token may do. Write includes read; admin includes all. */
enum { TOKEN_READ = 1, TOKEN_INGEST = 2, TOKEN_WRITE = 4, TOKEN_ADMIN = 8 };

struct token_text {
	char id[TOKEN_ID_LEN + 1];
	unsigned char digest[SHA256_LEN]; /* of the secret */
};

/* Reads a token, e.g. from a header; false when it is not one. */
bool token_parse(const char *text, struct token_text *ret);
/* A new one: `text` gets it with its NUL. */
void token_mint(char text[TOKEN_TEXT_LEN + 1], struct token_text *ret);
/* "read,ingest" to a set and back into an array of names. */
int token_scopes(const char *text, unsigned int *ret, struct err *reterr) MUSTCHECK;
size_t token_scope_names(unsigned int scopes, const char *ret[4]);
/* No early end: the time says nothing about where two digests differ. */
bool token_digest_equal(const unsigned char a[SHA256_LEN], const unsigned char b[SHA256_LEN]);
