/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/routes.h"
#include "server/api.h"
#include "server/assets.h"
#include "server/auth.h"
#include "server/ingest.h"
#include "server/ingest_check.h"

#define PATCH_MAX  (64 * 1024)
#define RUNS_MAX   (4 * 1024 * 1024)
#define IMPORT_MAX (32 * 1024 * 1024)

const struct route routes[] = {
	/* method, path, scope, body_max, deadline_ms, begin */
	{HTTP_GET, "/healthz", SCOPE_NONE, 0, 0, api_healthz},
	{HTTP_GET, "/readyz", SCOPE_NONE, 0, 0, api_readyz},
	{HTTP_GET, "/metrics", SCOPE_NONE, 0, 0, api_self_metrics},
	/* the REST API: docs/openapi.yaml */
	{HTTP_GET, "/api/v1", SCOPE_READ, 0, 0, api_index},
	{HTTP_GET, "/api/v1/openapi.json", SCOPE_NONE, 0, 0, api_openapi},
	{HTTP_GET, "/api/v1/status", SCOPE_READ, 0, 0, api_status},
	{HTTP_GET, "/api/v1/hosts", SCOPE_READ, 0, 0, api_hosts},
	{HTTP_GET, "/api/v1/hosts/{host}", SCOPE_READ, 0, 0, api_host},
	{HTTP_PATCH, "/api/v1/hosts/{host}", SCOPE_WRITE, PATCH_MAX, 0, api_host_edit},
	{HTTP_GET, "/api/v1/experiments", SCOPE_READ, 0, 0, api_experiments},
	{HTTP_GET, "/api/v1/experiments/{experiment}", SCOPE_READ, 0, 0, api_experiment},
	{HTTP_POST, "/api/v1/experiments", SCOPE_WRITE, PATCH_MAX, 0, api_experiment_make},
	{HTTP_GET, "/api/v1/experiments/{experiment}/assignments", SCOPE_READ, 0, 0,
	 api_assignments},
	{HTTP_DELETE, "/api/v1/experiments/{experiment}/assignments", SCOPE_WRITE, 0, 0,
	 api_assignments_cancel},
	{HTTP_GET, "/api/v1/assignments/next", SCOPE_INGEST, 0, 45000, api_assignment_next},
	{HTTP_POST, "/api/v1/assignments/{assignment}", SCOPE_INGEST, PATCH_MAX, 0,
	 api_assignment_report},
	{HTTP_GET, "/api/v1/runs", SCOPE_READ, 0, 0, api_runs},
	{HTTP_POST, "/api/v1/runs", SCOPE_WRITE, RUNS_MAX, 30000, api_runs_add},
	{HTTP_GET, "/api/v1/runs/facets", SCOPE_READ, 0, 0, api_runs_facets},
	{HTTP_GET, "/api/v1/runs/{run}", SCOPE_READ, 0, 0, api_run},
	{HTTP_PATCH, "/api/v1/runs/{run}", SCOPE_WRITE, PATCH_MAX, 0, api_run_edit},
	{HTTP_GET, "/api/v1/runs/{run}/histograms/{metric}", SCOPE_READ, 0, 0, api_run_histogram},
	{HTTP_GET, "/api/v1/runs/{run}/quantiles/{metric}", SCOPE_READ, 0, 0, api_run_quantiles},
	{HTTP_GET, "/api/v1/runs/{run}/minutes/{metric}", SCOPE_READ, 0, 0, api_run_minutes},
	{HTTP_GET, "/api/v1/runs/{run}/breaches", SCOPE_READ, 0, 0, api_run_breaches},
	{HTTP_GET, "/api/v1/compare", SCOPE_READ, 0, 0, api_compare},
	{HTTP_GET, "/api/v1/compare/gate.txt", SCOPE_READ, 0, 0, api_compare_gate},
	{HTTP_GET, "/api/v1/compare/suggest", SCOPE_READ, 0, 0, api_compare_suggest},
	{HTTP_GET, "/api/v1/comparisons", SCOPE_READ, 0, 0, api_pins},
	{HTTP_POST, "/api/v1/comparisons", SCOPE_WRITE, PATCH_MAX, 0, api_pin},
	{HTTP_GET, "/api/v1/comparisons/{pin}", SCOPE_READ, 0, 0, api_pin_show},
	{HTTP_DELETE, "/api/v1/comparisons/{pin}", SCOPE_WRITE, 0, 0, api_unpin},
	{HTTP_GET, "/api/v1/environments/diff", SCOPE_READ, 0, 0, api_environment_diff},
	{HTTP_GET, "/api/v1/environments/{sha256}", SCOPE_READ, 0, 0, api_environment},
	{HTTP_GET, "/api/v1/metrics-catalog", SCOPE_READ, 0, 0, api_metrics},
	{HTTP_GET, "/api/v1/metrics-catalog/{metric}", SCOPE_READ, 0, 0, api_metric},
	{HTTP_PATCH, "/api/v1/metrics-catalog/{metric}", SCOPE_WRITE, PATCH_MAX, 0,
	 api_metric_edit},
	{HTTP_GET, "/api/v1/export", SCOPE_READ, 0, 0, api_export},
	{HTTP_DELETE, "/api/v1/demo", SCOPE_WRITE, 0, 0, api_demo_remove},
	{HTTP_GET, "/api/v1/imports", SCOPE_READ, 0, 0, api_imports},
	{HTTP_POST, "/api/v1/imports", SCOPE_WRITE, IMPORT_MAX, 60000, api_import},
	{HTTP_GET, "/api/v1/imports/formats", SCOPE_READ, 0, 0, api_import_formats},
	{HTTP_GET, "/api/v1/imports/{import}", SCOPE_READ, 0, 0, api_import_show},
	{HTTP_DELETE, "/api/v1/imports/{import}", SCOPE_WRITE, 0, 0, api_import_undo},
	{HTTP_GET, "/api/v1/imports/{import}/bytes", SCOPE_READ, 0, 0, api_import_bytes},
	{HTTP_POST, "/api/v1/session", SCOPE_NONE, PATCH_MAX, 0, api_session},
	{HTTP_DELETE, "/api/v1/session", SCOPE_NONE, 0, 0, api_session_end},
	{HTTP_GET, "/api/v1/tokens", SCOPE_ADMIN, 0, 0, api_tokens},
	{HTTP_POST, "/api/v1/tokens", SCOPE_ADMIN, PATCH_MAX, 0, api_token_add},
	{HTTP_DELETE, "/api/v1/tokens/{token}", SCOPE_ADMIN, 0, 0, api_token_revoke},
	{HTTP_POST, "/api/v1/ingest", SCOPE_INGEST, INGEST_BODY_MAX, 20000, api_ingest},
	{HTTP_GET, "/api/v1/ingest/{stream}", SCOPE_INGEST, 0, 0, api_ingest_next},
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
