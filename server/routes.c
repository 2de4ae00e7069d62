/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/routes.h"
#include "server/api.h"
#include "server/assets.h"

const struct route routes[] = {
	/* method, path, scope, body_max, deadline_ms, begin */
	{HTTP_GET, "/healthz", SCOPE_NONE, 0, 0, api_healthz},
	{HTTP_GET, "/readyz", SCOPE_NONE, 0, 0, api_readyz},
	{HTTP_GET, "/metrics", SCOPE_NONE, 0, 0, api_self_metrics},
	/* pages: web/src/pages/index.tsx has the same list */
	{HTTP_GET, "/", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/hosts/{host}", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/experiments", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/experiments/{experiment}", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/compare", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/c/{pin}", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/runs", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/runs/{run}", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/import", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/docs/api", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/problems/{slug}", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/about", SCOPE_NONE, 0, 0, assets_page},
	{HTTP_GET, "/assets/{file}", SCOPE_NONE, 0, 0, assets_file},
	{0},
};
