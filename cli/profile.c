/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat profile: who used the CPUs in a run, and what moved between two sides. */
#include <unistd.h>

#include "cli/client.h"
#include "cli/fetch.h"
#include "cli/input.h"
#include "cli/request.h"
#include "cli/verbs.h"
#include "common/compare/profile.h"

const char verb_profile_help[] =
	"  rigstat profile diff experiment=rq,rq_affinity=0 experiment=rq,rq_affinity=1\n"
	"  rigstat profile show r_17\n"
	"\n"
	"usage: rigstat profile diff [--server URL] SELECTOR SELECTOR   (or --a, --b)\n"
	"       rigstat profile diff FILE FILE | --a FILE... --b FILE... | --by FACTOR FILE\n"
	"       rigstat profile show [--server URL] RUN | SELECTOR | FILE...\n"
	"\n"
	"What the CPUs did, by sampling (the shares probe of rigstat-agent): kernel symbols, user\n"
	"objects, programs and named applications, as shares of what was not idle. `diff` tells\n"
	"what moved between two sides, in points, with intervals over runs; a name that a run did\n"
	"not keep is shown as a bound, not as 0. Files: run documents of rigstat export.\n"
	"\n"
	"  --metric NAME         cycle_share or time_share; else cycles where both sides have "
	"them\n"
	"  --margin 1%           smallest change worth caring about, of all that was not idle: 1 % "
	"is\n"
	"                        one point; else none\n"
	"  --confidence 95%      of the intervals\n"
	"  --factor NAME         is under test\n"
	"  --anyway              compare in spite of blocking environment differences\n"
	"  --json --csv --markdown\n"
	"\n"
	"Exit status: 0 done, whatever moved; 3 usage or bad input; 4 server, network or disk.\n";

/* ---- output ---- */

static int print(enum output form, const json_t *doc)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	char *text;

	if (form == OUTPUT_CSV) {
		profile_render_csv(doc, &out);
	} else if (form == OUTPUT_MARKDOWN) {
		profile_render_markdown(doc, &out);
	} else if (form == OUTPUT_JSON) {
		text = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
		strbuf_printf(&out, "%s\n", text);
		free(text);
	} else {
		profile_render_text(doc, &out);
	}
	return cli_print(&out);
}

/* ---- diff ---- */

/* Options of compare that a profile has no use for are refused, not ignored. */
static int check_options(const struct request *rq, struct err *reterr)
{
	const char *no = rq->stats_len			? "--stat"
			 : rq->rules_len		? "--rule"
			 : rq->o.primary		? "--primary"
			 : rq->o.better			? "--better"
			 : rq->labels.len		? "--label"
			 : rq->o.corrected		? "--corrected"
			 : rq->o.tail_threshold		? "--threshold"
			 : rq->all_metrics		? "--metric all"
			 : rq->output > OUTPUT_MARKDOWN ? "--svg, --junit"
							: NULL;

	if (no)
		return err_set(reterr, ERR_INVALID, "%s: not an option of profile diff", no);
	if (rq->sides.n > 2)
		return err_set(reterr, ERR_INVALID, "two sides are compared, not %zu", rq->sides.n);
	return 0;
}

static int diff_offline(struct request *rq)
{
	const struct compare_side *side = rq->sides.side;
	json_t *doc = NULL;
	struct err e;
	int status;

	if (request_read(rq, &e) < 0)
		return cli_fail(&e);
	if (rq->sides.n != 2) {
		err_set(&e, ERR_INVALID, "two sides are compared, not %zu", rq->sides.n);
		return cli_usage("profile", &e);
	}
	if (profile_diff(&side[0], &side[1], &rq->o, &doc, &e) < 0)
		return cli_fail(&e);
	status = print(rq->output, doc);
	json_decref(doc);
	return status;
}

static int diff(int argc, char **argv)
{
	struct request rq;
	struct err e;
	int status;

	request_init(&rq);
	if (request_parse(&rq, argc, argv, &e) < 0 || check_options(&rq, &e) < 0)
		status = cli_usage("profile", &e);
	else
		status = request_is_remote(&rq)
				 ? request_remote(&rq, "profile", "/api/v1/profile/diff")
				 : diff_offline(&rq);
	request_done(&rq);
	return status;
}

/* ---- show ---- */

struct show {
	const char **words;
	size_t n, cap;
	const char *server;
	enum output form;
};

static int parse_show(struct show *s, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--server", 1, true},
						 {"--json", 2, false},
						 {"--csv", 3, false},
						 {"--markdown", 4, false},
						 {0}};
	static const enum output forms[] = {OUTPUT_JSON, OUTPUT_CSV, OUTPUT_MARKDOWN};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == ARG_OPERAND) {
			GROW(s->words, s->n, s->cap);
			s->words[s->n++] = value;
		} else if (id == 1) {
			s->server = value;
		} else {
			s->form = forms[id - 2];
		}
	}
	if (!s->n)
		return err_set(reterr, ERR_INVALID,
			       "which run? Its id (r_17), a selector or a file");
	return 0;
}

/* A file, a selector, or the id of a run. */
static int read_word(const struct show *s, const char *word, struct runs *ret, struct err *reterr)
{
	CLEANUP(input_close) struct input in = {0};
	CLEANUP(strbuf_done) struct strbuf selector = {0};
	struct import_options o = {.source = word};
	size_t before = ret->len;
	int rc;

	if (access(word, F_OK) == 0) {
		rc = input_open(word, &in, reterr);
		return rc ? rc : fetch_add(in.data, in.len, &o, ret, reterr);
	}
	strbuf_printf(&selector, "%s%s", strpbrk(word, "=~<> ") ? "" : "run=", word);
	rc = fetch_runs(s->server, selector.data, ret, reterr);
	if (!rc && ret->len == before)
		rc = err_set(reterr, ERR_NOT_FOUND, "no run matches \"%.100s\"", word);
	return rc;
}

static json_t *documents(const struct runs *runs)
{
	json_t *items;

	if (runs->len == 1)
		return profile_document(runs->v[0]);
	items = json_array();
	for (size_t i = 0; i < runs->len; i++)
		json_array_append_new(items, profile_document(runs->v[i]));
	return json_pack("{s:o}", "items", items);
}

static int show(int argc, char **argv)
{
	struct runs runs = {0};
	struct show s = {0};
	struct err e;
	json_t *doc;
	int status;

	if (parse_show(&s, argc, argv, &e)) {
		free(s.words);
		return cli_usage("profile", &e);
	}
	for (size_t i = 0; i < s.n; i++) {
		if (read_word(&s, s.words[i], &runs, &e)) {
			free(s.words);
			runs_done(&runs);
			return cli_fail(&e);
		}
	}
	doc = documents(&runs);
	status = print(s.form, doc);
	json_decref(doc);
	runs_done(&runs);
	free(s.words);
	return status;
}

int verb_profile(int argc, char **argv)
{
	struct err e;

	if (argc > 1 && !strcmp(argv[1], "diff"))
		return diff(argc - 1, argv + 1);
	if (argc > 1 && !strcmp(argv[1], "show"))
		return show(argc - 1, argv + 1);
	err_set(&e, ERR_INVALID, "say diff or show");
	return cli_usage("profile", &e);
}
