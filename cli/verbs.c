/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs.h"

const struct verb verbs[] = {
	{"compare", "two to six sides: files, or runs of a server", verb_compare_help,
	 verb_compare},
	{"gate", "pass, fail or inconclusive by rules, for CI", verb_gate_help, verb_gate},
	{"check-report", "do the figures of a report agree with each other?",
	 verb_check_report_help, verb_check_report},
	{"profile", "what the CPUs did in a run, and what moved between two sides",
	 verb_profile_help, verb_profile},
	{"hosts", "test boxes of a server", verb_hosts_help, verb_hosts},
	{"host", "one test box: show, reserve, release, retire", verb_host_help, verb_host},
	{"runs", "runs of a server, by selector", verb_runs_help, verb_runs},
	{"run", "one run of a server: all that it measured, and its cost", verb_run_help, verb_run},
	{"experiments", "experiments of a server", verb_experiments_help, verb_experiments},
	{"experiment", "asks test boxes to carry one out", verb_experiment_help, verb_experiment},
	{"pin", "keeps a comparison of a server as it is now", verb_pin_help, verb_pin},
	{"show", "what a file says and what was inferred from it", verb_show_help, verb_show},
	{"import", "files, folders and archives to the server", verb_import_help, verb_import},
	{"relabel", "other factor levels for an imported run", verb_relabel_help, verb_relabel},
	{"export", "runs as JSON, CSV, HdrHistogram or OpenMetrics", verb_export_help, verb_export},
	{"exclude", "leaves runs out of comparisons, with a reason", verb_exclude_help,
	 verb_exclude},
	{"status", "is the server there, and what does it hold", verb_status_help, verb_status},
	{"demo", "load or remove the two founding data sets", verb_demo_help, verb_demo},
	{0},
};
