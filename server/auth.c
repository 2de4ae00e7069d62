/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/auth.h"

void auth_check(struct request *req, void (*go)(struct request *req))
{
	go(req);
}
