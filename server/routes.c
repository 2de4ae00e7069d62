/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/routes.h"
#include "server/api.h"

const struct route routes[] = {
	/* method, path, scope, body_max, deadline_ms, begin */
	{HTTP_GET, "/healthz", SCOPE_NONE, 0, 0, api_healthz},
	{HTTP_GET, "/readyz", SCOPE_NONE, 0, 0, api_readyz},
	{HTTP_GET, "/metrics", SCOPE_NONE, 0, 0, api_self_metrics},
	{0},
};
