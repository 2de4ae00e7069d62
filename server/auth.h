/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May this request do what its route does?
 *
 * Without any token in the database everybody may do everything: main.c lets such a server listen
 * on this machine only. With tokens, each route but those of SCOPE_NONE needs one, in
 * `Authorization: Bearer` or, for browsers, in the cookie that POST /api/v1/session sets; reading
 * can be opened to all (--anonymous read). A token is cached for at most 30 s, so a revoked one
 * ends everywhere within that time. */
#pragma once

#include "server/http.h"

struct auth;
struct db;

struct auth *auth_new(struct db *db, bool tokens_exist, bool anonymous_read);
void auth_free(struct auth *a);
/* About once a second. */
void auth_tick(struct auth *a);
/* Forgets cached tokens: one was made or revoked here. */
void auth_forget(struct auth *a);

/* May a reader come without a token? */
bool auth_is_open(const struct auth *a);

/* Calls go(req) when it may, now or later; else replies. */
void auth_check(struct request *req, void (*go)(struct request *req));
/* The same once more, for a request that has waited: its token may be over by now. */
void auth_again(struct request *req, void (*go)(struct request *req));

/* Secrets that came in a body count as tokens do: a wrong one is answered through this. */
bool auth_is_blocked(struct request *req); /* too many wrong ones came from its address */
bool auth_note_wrong(struct request *req); /* false: and this one is too many */
enum step auth_refuse_blocked(struct request *req);

/* Routes: a browser's session, tokens, enrolment. */
enum step api_session(struct request *req);
enum step api_session_end(struct request *req);
enum step api_tokens(struct request *req);
enum step api_token_add(struct request *req);
enum step api_token_revoke(struct request *req);
enum step api_token_self(struct request *req);
enum step api_token_rotate(struct request *req);
enum step api_codes(struct request *req);
enum step api_code_add(struct request *req);
enum step api_code_revoke(struct request *req);
enum step api_enroll(struct request *req);
