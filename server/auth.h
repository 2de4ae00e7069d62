/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May this request do what its route does? */
#pragma once

#include "server/http.h"

/* Calls go(req) when it may, now or later; else replies. */
void auth_check(struct request *req, void (*go)(struct request *req));
