/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets as text. Pure but for getrandom().
 *
 *   token            rs_<id, 8 of a-z0-9>_<secret, 43 of base64url>
 *   enrolment code   rsc_<id>_<secret, 22>[.<pin, 43>]
 *   pin              SHA-256 of a server's public key (its SubjectPublicKeyInfo), in base64url;
 *                    for people as curl and openssl write it: sha256//<base64>
 *
 * Who keeps a secret for others (the server) keeps the SHA-256 of its letters. */
#pragma once

#include "common/err.h"
#include "common/sha256.h"

#define TOKEN_ID_LEN	 8
#define TOKEN_SECRET_LEN 43
#define TOKEN_TEXT_LEN	 (3 + TOKEN_ID_LEN + 1 + TOKEN_SECRET_LEN)
#define CODE_SECRET_LEN	 22
#define PIN_LEN		 43
#define PIN_TEXT_LEN	 (8 + PIN_LEN + 1)
#define CODE_TEXT_MAX	 (4 + TOKEN_ID_LEN + 1 + CODE_SECRET_LEN + 1 + PIN_LEN)

/* What a token may do. Gate includes read, write includes gate, admin includes all. */
enum { TOKEN_READ = 1, TOKEN_INGEST = 2, TOKEN_WRITE = 4, TOKEN_ADMIN = 8, TOKEN_GATE = 16 };
#define TOKEN_SCOPES 5

struct token_text {
	char id[TOKEN_ID_LEN + 1];
	unsigned char digest[SHA256_LEN]; /* of the secret */
};

/* Reads a token, e.g. from a header; false when it is not one. */
bool token_parse(const char *text, struct token_text *ret);
/* A new one: `text` gets it with its NUL. */
void token_mint(char text[TOKEN_TEXT_LEN + 1], struct token_text *ret);
/* Is this the id of a token or code? */
bool token_id_valid(const char *id);
/* "read,ingest" to a set and back into an array of names. */
int token_scopes(const char *text, unsigned int *ret, struct err *reterr) MUSTCHECK;
size_t token_scope_names(unsigned int scopes, const char *ret[TOKEN_SCOPES]);
/* No early end: the time says nothing about where two digests differ. */
bool token_digest_equal(const unsigned char a[SHA256_LEN], const unsigned char b[SHA256_LEN]);

struct code_text {
	char id[TOKEN_ID_LEN + 1];
	unsigned char digest[SHA256_LEN]; /* of the secret */
	char pin[PIN_LEN + 1];		  /* "": it carries none */
};

bool code_parse(const char *text, struct code_text *ret);
/* `pin` may be "". */
void code_mint(const char *pin, char text[CODE_TEXT_MAX + 1], struct code_text *ret);

/* "sha256//<43 of base64>=" to a pin; false when it is not that. */
bool pin_parse(const char *text, char ret[PIN_LEN + 1]);
/* A pin for people and for curl. Returns buf. */
const char *pin_text(const char *pin, char buf[PIN_TEXT_LEN + 1]);
void pin_of_digest(const unsigned char digest[SHA256_LEN], char ret[PIN_LEN + 1]);
