/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat compare: two to six sides, from files or from a server. */
#include "cli/client.h"
#include "cli/request.h"
#include "cli/verbs.h"

const char verb_compare_help[] =
	"  rigstat compare before.txt after.txt\n"
	"  rigstat compare --a old-*.txt --b new-*.txt --stat p50,p99,max,'over(47us)'\n"
	"\n"
	"usage: rigstat compare [OPTIONS] FILE FILE [FILE...]     each file is one side\n"
	"       rigstat compare [OPTIONS] --a FILE... --b FILE... several files a side\n"
	"       rigstat compare [OPTIONS] --by FACTOR FILE        one file, split by a factor\n"
	"       rigstat compare [--server URL] --a SELECTOR --b SELECTOR\n"
	"\n"
	"Files: cyclictest, fio, perf stat and other tools' output, \"Delay Count\" tables,\n"
	"CSV with a header (order, block, host, factors, metrics), plain columns of numbers\n"
	"(one run a line). The first side is the reference; up to six sides.\n"
	"\n"
	"  --metric NAME|all     what to compare; else the best known one that both have\n"
	"  --stat LIST           rows: mean,min,max,sdev,p50,p99.9,over(47us)\n"
	"  --primary STAT        the statistic that sets the verdict\n"
	"  --margin 1%           smallest change worth caring about\n"
	"  --confidence 95%      of the intervals\n"
	"  --better lower|higher for a metric that rigstat does not know\n"
	"  --set-a NAME=LEVEL    factor of side A (--set-b ...); --factor NAME is under test\n"
	"  --label NAME=VALUE    only series with this label, e.g. cpu=0\n"
	"  --threshold 50us      where the tail begins\n"
	"  --unit us, --format F what the files hold, when they do not say\n"
	"  --anyway              compare in spite of blocking environment differences\n"
	"  --json --csv --markdown --svg CHART [--dark]\n"
	"                        CHART: histogram, percentiles, shift, ccdf, runs\n"
	"\n"
	"Exit status: 0 compared, whatever the verdict; 3 usage or bad input; 4 server, network\n"
	"or disk. For a status that depends on the result see rigstat gate -h.\n";

/* What else could have been compared, said where it does not disturb the result. */
static void mention_others(const json_t *doc)
{
	const json_t *items = json_object_get(doc, "items");
	const json_t *first = items ? json_array_get(items, 0) : doc, *name;
	const json_t *others = json_object_get(json_object_get(first, "metric"), "others");
	size_t i;

	if (!json_array_size(others))
		return;
	fputs("rigstat: both sides also have ", stderr);
	json_array_foreach(others, i, name)
		fprintf(stderr, "%s%s", i ? ", " : "", json_string_value(name));
	fputs(" (--metric NAME, or --metric all)\n", stderr);
}

static int offline(struct request *rq)
{
	json_t *doc;
	struct err e;
	int status;

	if (!rq->sides.n) {
		err_set(&e, ERR_INVALID, "name the files to compare");
		return cli_usage("compare", &e);
	}
	if (request_compare(rq, &doc, &e) < 0)
		return cli_fail(&e);
	status = request_print(rq, doc);
	if (!rq->o.metric && !rq->all_metrics)
		mention_others(doc);
	json_decref(doc);
	return status;
}

int verb_compare(int argc, char **argv)
{
	struct request rq;
	struct err e;
	int status;

	request_init(&rq);
	if (request_parse(&rq, argc, argv, &e) < 0)
		status = cli_usage("compare", &e);
	else
		status = request_is_remote(&rq) ? request_remote(&rq, "compare", "/api/v1/compare")
						: offline(&rq);
	request_done(&rq);
	return status;
}
