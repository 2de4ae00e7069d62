/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat gate: rules on a comparison, for CI. */
#include "cli/against.h"
#include "cli/client.h"
#include "cli/fetch.h"
#include "cli/gate_watch.h"
#include "cli/request.h"
#include "cli/verbs.h"

const char verb_gate_help[] =
	"  rigstat gate --rule 'p99<=+5%' --rule 'max<=200us' before.txt after.txt\n"
	"  rigstat gate --server URL --a experiment=rq,rq_affinity=0 \\\n"
	"      --b experiment=rq,rq_affinity=1 --rule 'p99<=+5%'\n"
	"  rigstat gate --against baseline:main --b commit=$SHA --rule 'p99<=+5%'\n"
	"\n"
	"usage: rigstat gate --rule RULE... [compare's options] SIDES\n"
	"       rigstat gate --self --rule RULE... --a FILE...   would the rule fail by itself?\n"
	"       rigstat gate --rule 'over(100us)<=1/h' FILE      a soak: one side is enough\n"
	"\n"
	"Rules: STATISTIC<=LIMIT or >=. A limit in percent is of B against A: 'p99<=+5%',\n"
	"'mean>=-2%'. Others are of B alone: 'max<=200us', 'over(100us)<=1/h'.\n"
	"\n"
	"  --mode normal   fail when the interval lies wholly past the limit, pass when it\n"
	"                  lies wholly inside, else inconclusive\n"
	"  --mode strict   fail as soon as the estimate is past the limit\n"
	"  --mode prove    fail unless the interval lies wholly inside\n"
	"  --mode anytime  over(..)<=N/h by evidence that holds however often one looks\n"
	"  --inconclusive pass|fail   exit status instead of 2\n"
	"  --stop-on-breach\n"
	"                  watch a running experiment, --server URL --a experiment=NAME,\n"
	"                  with over(..)<=N/h, max<= or min>=; a failure cancels it on its\n"
	"                  boxes, a pass ends the watch (of max and min at the end only),\n"
	"                  an end without either is inconclusive\n"
	"  --every TIME    between two looks (10s)\n"
	"  --against baseline:BRANCH\n"
	"                  instead of --a: the up to 20 newest runs of the branch since its\n"
	"                  last change, of the same host, experiment and factors; --b names\n"
	"                  the new runs. When the branch's history drifts or is too short to\n"
	"                  be taken as noise, the answer is inconclusive\n"
	"  --self          A/A check on the runs of A (files or a selector): a rule below\n"
	"                  the noise is refused\n"
	"  --json --junit --markdown\n"
	"\n"
	"Exit status: 0 pass, 1 fail, 2 inconclusive (or refused by --self), 3 usage or bad\n"
	"input, 4 server, network or disk.\n";

static int exit_of(const struct request *rq, enum gate_result r)
{
	if (r == GATE_INCONCLUSIVE && rq->inconclusive)
		return !strcmp(rq->inconclusive, "pass") ? EXIT_DONE : EXIT_GATE_FAIL;
	return r == GATE_PASS ? EXIT_DONE : r == GATE_FAIL ? EXIT_GATE_FAIL : EXIT_GATE_UNSURE;
}

static int from_server(struct request *rq, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf url = {0};
	enum gate_result result;
	const char *server;
	int status;

	if (client_server(rq->server, &server, reterr) < 0 ||
	    request_url(rq, "/api/v1/compare", &url, reterr) < 0 ||
	    client_request(server, url.data, NULL, &answer, reterr) < 0)
		return reterr->code;
	if (gate_result_parse(answer.gate, &result) < 0)
		return err_set(reterr, ERR_REMOTE,
			       "%s answered without a gate result: is it a rigstat-server?",
			       server);
	status = cli_print(&answer.body);
	return status ? status : exit_of(rq, result);
}

static int against(struct request *rq, struct err *reterr)
{
	CLEANUP(against_done) struct against a = {0};
	struct side_request *side = &rq->sides.request[0];
	const char *server;
	int r = client_server(rq->server, &server, reterr);

	r = r < 0 ? r : against_find(rq, server, &a, reterr);
	if (r < 0)
		return r;
	fprintf(stderr, "rigstat: %s\n", a.remark);
	if (a.too_short) {
		printf("INCONCLUSIVE: the baseline has too few runs\n");
		return exit_of(rq, GATE_INCONCLUSIVE);
	}
	GROW(side->files, side->n, side->cap);
	side->files[side->n++] = a.selector;
	rq->history = a.exchangeable;
	return from_server(rq, reterr);
}

static int watch(struct request *rq, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf body = {0};
	enum gate_result result;
	const char *server;
	int status, r = client_server(rq->server, &server, reterr);

	rq->mode = gate_mode_name(GATE_ANYTIME);
	r = r < 0 ? r : gate_watch(rq, server, &body, &result, reterr);
	if (r < 0)
		return r;
	status = cli_print(&body);
	return status ? status : exit_of(rq, result);
}

static void print_self(const json_t *report, FILE *to)
{
	size_t i;
	json_t *rule;

	json_array_foreach(json_object_get(report, "rules"), i, rule)
		fprintf(to, "A/A check, %s: %s\n", json_string_value(json_object_get(rule, "rule")),
			json_string_value(json_object_get(rule, "why")));
}

/* The A/A check alone is a result; before a gate it is a remark, unless it refuses. */
static int check_self(struct request *rq, const struct compare_side *a, enum gate_mode mode,
		      bool alone, struct err *reterr)
{
	json_t *report;
	bool ok;
	int r = gate_self_check(a, &rq->o, (const char *const *)rq->rules, rq->rules_len, mode,
				&report, &ok, reterr);

	if (r < 0)
		return r;
	if (alone && rq->output == OUTPUT_JSON) {
		json_dumpf(report, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		print_self(report, alone ? stdout : stderr);
	}
	json_decref(report);
	return ok ? EXIT_DONE : EXIT_GATE_UNSURE;
}

/* The runs of A come here: the check splits them hundreds of times. */
static int check_self_remote(struct request *rq, enum gate_mode mode, struct err *reterr)
{
	CLEANUP(runs_done) struct runs runs = {0};
	const char *selector = rq->sides.request[0].files[0];
	struct compare_side a = {.name = "A", .selector = selector};
	int r;

	r = fetch_runs(rq->server, selector, &runs, reterr);
	if (r < 0)
		return r;
	a.runs = runs.v;
	a.n = runs.len;
	return check_self(rq, &a, mode, rq->sides.n == 1, reterr);
}

static int judge(struct request *rq, enum gate_mode mode, struct err *reterr)
{
	enum gate_result result;
	json_t *doc;
	int status, r = request_compare(rq, &doc, reterr);

	if (r < 0)
		return r;
	r = gate_apply(doc, (const char *const *)rq->rules, rq->rules_len, mode, &result, reterr);
	status = r < 0 ? r : request_print(rq, doc);
	json_decref(doc);
	return status ? status : exit_of(rq, result);
}

static int offline(struct request *rq, enum gate_mode mode, struct err *reterr)
{
	bool one_side;
	int r = request_read(rq, reterr);

	if (r < 0)
		return r;
	one_side = rq->sides.n == 1;
	if (rq->self) {
		r = check_self(rq, &rq->sides.side[0], mode, one_side, reterr);
		if (r != EXIT_DONE || one_side)
			return r;
	}
	return judge(rq, mode, reterr);
}

static int remote(struct request *rq, enum gate_mode mode, struct err *reterr)
{
	if (rq->self) {
		int r = check_self_remote(rq, mode, reterr);

		if (r != EXIT_DONE || rq->sides.n == 1)
			return r;
	}
	return from_server(rq, reterr);
}

static int check_request(const struct request *rq, enum gate_mode *ret_mode, struct err *reterr)
{
	if (!rq->rules_len)
		return err_set(reterr, ERR_INVALID, "no rule: --rule 'p99<=+5%%'");
	if (rq->inconclusive && strcmp(rq->inconclusive, "pass") != 0 &&
	    strcmp(rq->inconclusive, "fail") != 0)
		return err_set(reterr, ERR_INVALID, "--inconclusive is pass or fail");
	if (rq->mode && gate_mode_parse(rq->mode, ret_mode, reterr) < 0)
		return reterr->code;
	if (rq->stop_on_breach)
		return gate_watch_check(rq, reterr);
	for (size_t i = 0; i < rq->rules_len; i++) {
		struct gate_rule rule;

		if (gate_rule_parse(rq->rules[i], &rule, reterr) < 0)
			return reterr->code;
	}
	return 0;
}

int verb_gate(int argc, char **argv)
{
	enum gate_mode mode = GATE_NORMAL;
	struct request rq;
	struct err e;
	int status;

	request_init(&rq);
	rq.single = true;
	if (request_parse(&rq, argc, argv, &e) < 0 || check_request(&rq, &mode, &e) < 0) {
		status = cli_usage("gate", &e);
	} else {
		status = rq.stop_on_breach	  ? watch(&rq, &e)
			 : rq.against		  ? against(&rq, &e)
			 : request_is_remote(&rq) ? remote(&rq, mode, &e)
						  : offline(&rq, mode, &e);
		if (status < 0)
			status = cli_fail(&e);
	}
	request_done(&rq);
	return status;
}
