/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs, each in its own file; verbs.c has the table. */
#pragma once

#include "cli/cli.h"

int verb_compare(int argc, char **argv);
extern const char verb_compare_help[];
int verb_gate(int argc, char **argv);
extern const char verb_gate_help[];
int verb_demo(int argc, char **argv);
extern const char verb_demo_help[];
int verb_status(int argc, char **argv);
extern const char verb_status_help[];
int verb_check_report(int argc, char **argv);
extern const char verb_check_report_help[];
int verb_hosts(int argc, char **argv);
extern const char verb_hosts_help[];
int verb_doctor(int argc, char **argv);
extern const char verb_doctor_help[];
int verb_tag(int argc, char **argv);
extern const char verb_tag_help[];
int verb_annotate(int argc, char **argv);
extern const char verb_annotate_help[];
int verb_rename(int argc, char **argv);
extern const char verb_rename_help[];
int verb_host(int argc, char **argv);
extern const char verb_host_help[];
int verb_runs(int argc, char **argv);
extern const char verb_runs_help[];
int verb_run(int argc, char **argv);
extern const char verb_run_help[];
int verb_experiments(int argc, char **argv);
extern const char verb_experiments_help[];
int verb_experiment(int argc, char **argv);
extern const char verb_experiment_help[];
int verb_pin(int argc, char **argv);
extern const char verb_pin_help[];
int verb_show(int argc, char **argv);
extern const char verb_show_help[];
int verb_import(int argc, char **argv);
extern const char verb_import_help[];
int verb_export(int argc, char **argv);
extern const char verb_export_help[];
int verb_relabel(int argc, char **argv);
extern const char verb_relabel_help[];
int verb_exclude(int argc, char **argv);
extern const char verb_exclude_help[];
int verb_profile(int argc, char **argv);
extern const char verb_profile_help[];
int verb_submit(int argc, char **argv);
extern const char verb_submit_help[];
int verb_series(int argc, char **argv);
extern const char verb_series_help[];
int verb_changes(int argc, char **argv);
extern const char verb_changes_help[];
int verb_change(int argc, char **argv);
extern const char verb_change_help[];
