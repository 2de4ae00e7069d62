/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every handler of the table in routes.c: begin functions, see http.h. */
#pragma once

#include "server/http.h"

/* api_health.c */
enum step api_healthz(struct request *req);
enum step api_readyz(struct request *req);
enum step api_self_metrics(struct request *req);

/* api_runs.c, api_run.c, api_hist.c, api_minutes.c, api_runs_add.c, api_export.c */
enum step api_runs(struct request *req);
enum step api_runs_facets(struct request *req);
enum step api_run(struct request *req);
enum step api_run_edit(struct request *req);
enum step api_run_breaches(struct request *req);
enum step api_run_histogram(struct request *req);
enum step api_run_quantiles(struct request *req);
enum step api_run_minutes(struct request *req);
enum step api_runs_add(struct request *req);
enum step api_export(struct request *req);

/* api_compare.c, api_pins.c, api_suggest.c */
enum step api_compare(struct request *req);
enum step api_compare_gate(struct request *req);
enum step api_compare_suggest(struct request *req);
enum step api_profile_diff(struct request *req);
enum step api_pins(struct request *req);
enum step api_pin(struct request *req);
enum step api_pin_show(struct request *req);
enum step api_unpin(struct request *req);

/* api_imports.c, api_imports_list.c */
enum step api_import(struct request *req);
enum step api_imports(struct request *req);
enum step api_import_show(struct request *req);
enum step api_import_bytes(struct request *req);
enum step api_import_undo(struct request *req);
enum step api_import_formats(struct request *req);

/* api_hosts.c, api_experiments.c, api_environments.c, api_metrics.c */
enum step api_hosts(struct request *req);
enum step api_host(struct request *req);
enum step api_host_heatmap(struct request *req); /* api_heatmap.c */
enum step api_host_edit(struct request *req);
enum step api_experiments(struct request *req);
enum step api_experiment(struct request *req);
enum step api_experiment_edit(struct request *req);
/* api_fleet.c */
enum step api_agent(struct request *req);
enum step api_agent_report(struct request *req);
enum step api_host_reserve(struct request *req);
enum step api_host_release(struct request *req);
/* api_dry_runs.c */
enum step api_dry_run_ask(struct request *req);
enum step api_dry_run(struct request *req);
enum step api_dry_run_answer(struct request *req);
/* api_assignments.c */
enum step api_experiment_make(struct request *req);
enum step api_assignments(struct request *req);
enum step api_assignments_cancel(struct request *req);
enum step api_assignment_next(struct request *req);
enum step api_assignment_report(struct request *req);
enum step api_environment(struct request *req);
enum step api_environment_diff(struct request *req);
enum step api_metrics(struct request *req);
enum step api_metric(struct request *req);
enum step api_metric_edit(struct request *req);

/* api_series.c, api_changes.c, api_annotations.c */
enum step api_series(struct request *req);
enum step api_series_show(struct request *req);
enum step api_series_points(struct request *req);
enum step api_orders(struct request *req);
enum step api_order_set(struct request *req);
enum step api_changes(struct request *req);
enum step api_change(struct request *req);
enum step api_change_edit(struct request *req);
enum step api_change_mark(struct request *req);
enum step api_annotations(struct request *req);
enum step api_annotation_add(struct request *req);
enum step api_annotation_delete(struct request *req);

/* api_status.c */
enum step api_index(struct request *req);
enum step api_openapi(struct request *req);
enum step api_status(struct request *req);
enum step api_demo_remove(struct request *req);
