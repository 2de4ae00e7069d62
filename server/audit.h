/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who changed what: a row for each request that changed something, written when it has been
 * answered. What cannot be stored is logged instead, so that it is in one of the two places. */
#pragma once

#include "server/http.h"

/* For handlers, before the reply: what the change is about ("token abcdefgh"), where the path or
 * the Location header do not say; and who did it, where no token says so (NULL: "everybody"). */
void audit_note(struct request *req, const char *who, const char *fmt, ...) PRINTF(3, 4);
/* http.c: an answer was given; `location` may be NULL. */
void audit_replied(struct request *req, int status, const char *location);

enum step api_audit(struct request *req);
