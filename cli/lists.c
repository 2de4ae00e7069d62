/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat hosts | runs | experiments */
#include "cli/list.h"
#include "cli/verbs.h"

/* --- hosts --- */

const char verb_hosts_help[] =
	"  rigstat hosts --server http://lab:8420\n"
	"  rigstat hosts --state offline --json\n"
	"\n"
	"usage: rigstat hosts [OPTIONS]\n"
	"\n"
	"The boxes of a lab: online (seen in the last 30 s), stale (in the "
	"last 10 min),\n"
	"offline or imported (never had an agent). NOW is what the box does; "
	"LAG how far\n"
	"the newest record here is behind; LOST 1H samples lost in an hour; "
	"SPOOL what waits\n"
	"on the box; CLOCK the box's clock minus the server's; HELD BY who "
	"reserved it.\n"
	"rigstat host show NAME has the rest.\n"
	"\n"
	"  --state STATE         online, stale, offline, imported, retired; "
	"several by comma.\n"
	"                        Retired ones are left out otherwise\n"
	"  --tag NAME=VALUE      only hosts with this tag\n" LIST_HELP;

int verb_hosts(int argc, char **argv)
{
	static const struct list_column columns[] = {{"HOST", "name", COLUMN_TEXT},
						     {"STATE", "state", COLUMN_TEXT},
						     {"NOW", "now.text", COLUMN_TEXT},
						     {"LAST SEEN", "last_seen", COLUMN_TEXT},
						     {"LAG", "lag_ns", COLUMN_NS},
						     {"LOST 1H", "lost_1h", COLUMN_NUMBER},
						     {"SPOOL", "agent.spool.bytes", COLUMN_BYTES},
						     {"CLOCK", "agent.clock_offset_ns", COLUMN_NS},
						     {"KERNEL", "kernel", COLUMN_TEXT},
						     {"CPUS", "cpus", COLUMN_NUMBER},
						     {"RUNS", "runs", COLUMN_NUMBER},
						     {"AGENT", "agent_version", COLUMN_TEXT},
						     {"HELD BY", "reserved.by", COLUMN_TEXT},
						     {"TAGS", "tags", COLUMN_LABELS}};
	static const struct option_def options[] = {LIST_OPTIONS,
						    {"--state", LIST_PARAMETER, true},
						    {"--tag", LIST_PARAMETER + 1, true},
						    {"--limit", LIST_PARAMETER + 2, true},
						    {NULL, 0, false}};
	static const char *const parameters[] = {"state", "tag", "limit"};
	static const struct list_verb v = {"hosts", "/api/v1/hosts", columns, ARRAY_LEN(columns),
					   options, parameters,	     NULL};

	return list_run(&v, argc, argv);
}

/* --- runs --- */

const char verb_runs_help[] =
	"  rigstat runs experiment=rq,rq_affinity=0\n"
	"  rigstat runs 'host in (box1,box2),kernel~6.12' --since 2026-11-01 --csv\n"
	"\n"
	"usage: rigstat runs [SELECTOR] [OPTIONS]\n"
	"\n"
	"SELECTOR: terms joined by commas: key=value, !=, ~ (prefix or glob), in (a,b), notin "
	"(a,b),\n"
	"< <= > >=, a..b. Keys: host, experiment, state, kind, started, metric, kernel, tag, any\n"
	"factor or tag.\n"
	"\n"
	"  --host H --experiment E --metric M --since TIME --until TIME --sort "
	"-started\n" LIST_HELP;

int verb_runs(int argc, char **argv)
{
	static const struct list_column columns[] = {{"RUN", "id", COLUMN_TEXT},
						     {"HOST", "host", COLUMN_TEXT},
						     {"EXPERIMENT", "experiment", COLUMN_TEXT},
						     {"FACTORS", "factors", COLUMN_LABELS},
						     {"STATE", "state", COLUMN_TEXT},
						     {"STARTED", "started", COLUMN_TEXT},
						     {"METRIC", "summary.metric", COLUMN_TEXT},
						     {"P50", "summary.p50", COLUMN_NS},
						     {"P99", "summary.p99", COLUMN_NS},
						     {"MAX", "summary.max", COLUMN_NS},
						     {"LOST", "summary.lost", COLUMN_NUMBER},
						     {"EXCLUDED", "excluded", COLUMN_TEXT}};
	static const struct option_def options[] = {LIST_OPTIONS,
						    {"--host", LIST_PARAMETER, true},
						    {"--experiment", LIST_PARAMETER + 1, true},
						    {"--metric", LIST_PARAMETER + 2, true},
						    {"--since", LIST_PARAMETER + 3, true},
						    {"--until", LIST_PARAMETER + 4, true},
						    {"--sort", LIST_PARAMETER + 5, true},
						    {"--limit", LIST_PARAMETER + 6, true},
						    {NULL, 0, false}};
	static const char *const parameters[] = {"host",  "experiment", "metric", "since",
						 "until", "sort",	"limit"};
	static const struct list_verb v = {"runs",  "/api/v1/runs", columns, ARRAY_LEN(columns),
					   options, parameters,	    "q"};

	return list_run(&v, argc, argv);
}

/* --- experiments --- */

const char verb_experiments_help[] = "  rigstat experiments --host box1\n"
				     "  rigstat experiments --name rq --json\n"
				     "\n"
				     "usage: rigstat experiments [OPTIONS]\n"
				     "\n"
				     "  --host H --name NAME\n" LIST_HELP;

int verb_experiments(int argc, char **argv)
{
	static const struct list_column columns[] = {
		{"ID", "id", COLUMN_TEXT},	     {"NAME", "name", COLUMN_TEXT},
		{"HOSTS", "hosts", COLUMN_LIST},     {"FACTORS", "factors", COLUMN_LIST},
		{"ORDER", "order", COLUMN_TEXT},     {"OK", "runs.ok", COLUMN_NUMBER},
		{"OF", "total_runs", COLUMN_NUMBER}, {"EXCLUDED", "runs.excluded", COLUMN_NUMBER},
		{"STARTED", "started", COLUMN_TEXT}, {"METRICS", "metrics", COLUMN_LIST}};
	static const struct option_def options[] = {LIST_OPTIONS,
						    {"--host", LIST_PARAMETER, true},
						    {"--name", LIST_PARAMETER + 1, true},
						    {"--limit", LIST_PARAMETER + 2, true},
						    {NULL, 0, false}};
	static const char *const parameters[] = {"host", "name", "limit"};
	static const struct list_verb v = {"experiments", "/api/v1/experiments",
					   columns,	  ARRAY_LEN(columns),
					   options,	  parameters,
					   NULL};

	return list_run(&v, argc, argv);
}
