/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/request.h"

#include <unistd.h>

#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "common/compare/gate.h"
#include "common/model/selector.h"
#include "common/parse.h"

enum {
	OPT_SIDE = 1, /* OPT_SIDE + 0 = --a, + 1 = --b, ... */
	OPT_SET = OPT_SIDE + SIDES_MAX,
	OPT_METRIC = OPT_SET + SIDES_MAX,
	OPT_STAT,
	OPT_PRIMARY,
	OPT_MARGIN,
	OPT_CONFIDENCE,
	OPT_FACTOR,
	OPT_LABEL,
	OPT_BETTER,
	OPT_ANYWAY,
	OPT_CORRECTED,
	OPT_THRESHOLD,
	OPT_BY,
	OPT_UNIT,
	OPT_FORMAT,
	OPT_SERVER,
	OPT_JSON,
	OPT_CSV,
	OPT_MARKDOWN,
	OPT_SVG,
	OPT_JUNIT,
	OPT_DARK,
	OPT_RULE,
	OPT_MODE,
	OPT_INCONCLUSIVE,
	OPT_SELF,
	OPT_AGAINST,
	OPT_TITLE,
	OPT_STOP_ON_BREACH,
	OPT_EVERY,
};

static const struct option_def options[] = {
	{"--a", OPT_SIDE, true},
	{"--b", OPT_SIDE + 1, true},
	{"--c", OPT_SIDE + 2, true},
	{"--d", OPT_SIDE + 3, true},
	{"--e", OPT_SIDE + 4, true},
	{"--f", OPT_SIDE + 5, true},
	{"--set-a", OPT_SET, true},
	{"--set-b", OPT_SET + 1, true},
	{"--set-c", OPT_SET + 2, true},
	{"--set-d", OPT_SET + 3, true},
	{"--set-e", OPT_SET + 4, true},
	{"--set-f", OPT_SET + 5, true},
	{"--metric", OPT_METRIC, true},
	{"--stat", OPT_STAT, true},
	{"--primary", OPT_PRIMARY, true},
	{"--margin", OPT_MARGIN, true},
	{"--confidence", OPT_CONFIDENCE, true},
	{"--factor", OPT_FACTOR, true},
	{"--label", OPT_LABEL, true},
	{"--better", OPT_BETTER, true},
	{"--anyway", OPT_ANYWAY, false},
	{"--corrected", OPT_CORRECTED, false},
	{"--threshold", OPT_THRESHOLD, true},
	{"--by", OPT_BY, true},
	{"--unit", OPT_UNIT, true},
	{"--format", OPT_FORMAT, true},
	{"--server", OPT_SERVER, true},
	{"--json", OPT_JSON, false},
	{"--csv", OPT_CSV, false},
	{"--markdown", OPT_MARKDOWN, false},
	{"--svg", OPT_SVG, true},
	{"--junit", OPT_JUNIT, false},
	{"--dark", OPT_DARK, false},
	{"--rule", OPT_RULE, true},
	{"--mode", OPT_MODE, true},
	{"--inconclusive", OPT_INCONCLUSIVE, true},
	{"--self", OPT_SELF, false},
	{"--against", OPT_AGAINST, true},
	{"--title", OPT_TITLE, true},
	{"--stop-on-breach", OPT_STOP_ON_BREACH, false},
	{"--every", OPT_EVERY, true},
	{NULL, 0, false},
};

void request_init(struct request *rq)
{
	memset(rq, 0, sizeof(*rq));
	rq->o.margin_rel = -1;
	rq->every_ns = 10 * NS_PER_SEC;
}

void request_done(struct request *rq)
{
	sides_done(&rq->sides);
	labels_done(&rq->labels);
	for (size_t i = 0; i < rq->stats_len; i++)
		free(rq->stats[i]);
	for (size_t i = 0; i < rq->rules_len; i++) {
		free(rq->rules[i]);
		free(rq->rule_stats[i]);
	}
}

/* "5%", "5 %" or "0.05" */
static int parse_share(const char *text, const char *what, double *ret, struct err *reterr)
{
	CLEANUP(freep) char *copy = xstrdup(text);
	size_t len = strlen(copy);
	bool percent = len && copy[len - 1] == '%';

	if (percent)
		copy[--len] = '\0';
	while (len && copy[len - 1] == ' ')
		copy[--len] = '\0';
	if (parse_double(copy, ret, reterr) < 0)
		return err_prefix(reterr, "%s: ", what);
	if (percent)
		*ret /= 100;
	if (*ret < 0)
		return err_set(reterr, ERR_INVALID, "%s %s: must not be negative", what, text);
	return 0;
}

static int parse_pair(const char *text, const char *what, struct labels *to, struct err *reterr)
{
	const char *equals = strchr(text, '=');
	CLEANUP(freep) char *key = NULL;

	if (!equals || equals == text || !equals[1])
		return err_set(reterr, ERR_INVALID, "%s %.80s: write NAME=VALUE", what, text);
	key = xstrndup(text, (size_t)(equals - text));
	labels_set(to, key, equals + 1);
	return 0;
}

/* Comma-separated words are added to a list. */
static int add_words(char **list, size_t *len, size_t max, const char *what, const char *text,
		     struct err *reterr)
{
	while (*text) {
		size_t n = strcspn(text, ",");

		if (*len == max)
			return err_set(reterr, ERR_LIMIT, "more than %zu %ss", max, what);
		if (n)
			list[(*len)++] = xstrndup(text, n);
		text += n + (text[n] == ',');
	}
	return 0;
}

static int add_file(struct request *rq, size_t side, const char *file, struct err *reterr)
{
	struct side_request *s;

	if (side >= SIDES_MAX)
		return err_set(reterr, ERR_INVALID,
			       "at most %d sides; several files of one side: --a F1 F2 --b F3 F4",
			       SIDES_MAX);
	s = &rq->sides.request[side];
	GROW(s->files, s->n, s->cap);
	s->files[s->n++] = file;
	if (side >= rq->sides.n)
		rq->sides.n = side + 1;
	return 0;
}

static int set_unit(struct request *rq, const char *value, struct err *reterr)
{
	char text[40];

	snprintf(text, sizeof(text), "1%s", value);
	if (parse_duration(text, &rq->import.unit_ns, reterr) < 0)
		return err_set(reterr, ERR_INVALID, "--unit %.30s: one of ns, us, ms, s", value);
	return 0;
}

static int set_number_option(struct request *rq, int id, const char *value, struct err *reterr)
{
	if (id == OPT_MARGIN) {
		rq->margin = value;
		return parse_share(value, "--margin", &rq->o.margin_rel, reterr);
	}
	if (id == OPT_CONFIDENCE) {
		rq->confidence = value;
		return parse_share(value, "--confidence", &rq->o.confidence, reterr);
	}
	if (id == OPT_THRESHOLD)
		rq->threshold = value;
	if (id == OPT_THRESHOLD)
		return parse_duration(value, &rq->o.tail_threshold, reterr);
	return set_unit(rq, value, reterr);
}

static void set_output(struct request *rq, int id, const char *value)
{
	static const enum output of[] = {OUTPUT_JSON, OUTPUT_CSV, OUTPUT_MARKDOWN, OUTPUT_SVG,
					 OUTPUT_JUNIT};

	rq->output = of[id - OPT_JSON];
	rq->chart = value;
}

static int parse_every(struct request *rq, const char *value, struct err *reterr)
{
	if (parse_duration(value, &rq->every_ns, reterr) < 0)
		return err_prefix(reterr, "--every: ");
	if (rq->every_ns < NS_PER_SEC / 10 || rq->every_ns > 3600 * NS_PER_SEC)
		return err_set(reterr, ERR_INVALID, "--every %s: from 100ms to 1h", value);
	return 0;
}

static int set_option(struct request *rq, int id, const char *value, struct err *reterr)
{
	if (id >= OPT_SIDE && id < OPT_SET)
		return add_file(rq, (size_t)(id - OPT_SIDE), value, reterr);
	if (id >= OPT_SET && id < OPT_METRIC)
		return parse_pair(value, "--set", &rq->sides.request[id - OPT_SET].factors, reterr);
	switch (id) {
	case OPT_METRIC:
		rq->all_metrics = !strcmp(value, "all");
		rq->o.metric = rq->all_metrics ? NULL : value;
		return 0;
	case OPT_STAT:
		return add_words(rq->stats, &rq->stats_len, STATS_MAX, "statistic", value, reterr);
	case OPT_RULE:
		return add_words(rq->rules, &rq->rules_len, RULES_MAX, "rule", value, reterr);
	case OPT_PRIMARY:
		rq->o.primary = value;
		return 0;
	case OPT_FACTOR:
		rq->o.factor = value;
		return 0;
	case OPT_LABEL:
		return parse_pair(value, "--label", &rq->labels, reterr);
	case OPT_BETTER:
		rq->o.better = value;
		return 0;
	case OPT_ANYWAY:
		rq->o.anyway = true;
		return 0;
	case OPT_CORRECTED:
		rq->o.corrected = true;
		return 0;
	case OPT_BY:
		rq->by = value;
		return 0;
	case OPT_FORMAT:
		rq->import.format = value;
		return 0;
	case OPT_SERVER:
		rq->server = value;
		return 0;
	case OPT_DARK:
		rq->dark = true;
		return 0;
	case OPT_MODE:
		rq->mode = value;
		return 0;
	case OPT_INCONCLUSIVE:
		rq->inconclusive = value;
		return 0;
	case OPT_SELF:
		rq->self = true;
		return 0;
	case OPT_STOP_ON_BREACH:
		rq->stop_on_breach = true;
		return 0;
	case OPT_EVERY:
		return parse_every(rq, value, reterr);
	case OPT_AGAINST:
		rq->against = value;
		return 0;
	case OPT_TITLE:
		rq->title = value;
		return 0;
	case OPT_JSON:
	case OPT_CSV:
	case OPT_MARKDOWN:
	case OPT_SVG:
	case OPT_JUNIT:
		set_output(rq, id, value);
		return 0;
	default:
		return set_number_option(rq, id, value, reterr);
	}
}

/* Operands after --a belong to side A, and so on; without such an option each operand is a side
 * of its own. */
/* With $RIGSTAT_SERVER set, a side that is written as a selector and is no file is one: then
 * `--a experiment=rq,rq_affinity=0` needs no --server. */
static void choose_server(struct request *rq)
{
	const char *first =
		rq->sides.n && rq->sides.request[0].n ? rq->sides.request[0].files[0] : NULL;

	if (!rq->server && first && strpbrk(first, "=~<>") && access(first, F_OK) != 0)
		rq->server = getenv("RIGSTAT_SERVER");
}

int request_parse(struct request *rq, int argc, char **argv, struct err *reterr)
{
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	int current = -1;

	for (;;) {
		const char *value;
		int id = args_next(&a, options, &value, reterr), r;

		if (id == ARG_END)
			break;
		if (id < 0)
			return id;
		if (id == ARG_OPERAND) {
			r = add_file(rq, current < 0 ? rq->sides.n : (size_t)current, value,
				     reterr);
		} else {
			r = set_option(rq, id, value, reterr);
			if (id >= OPT_SIDE && id < OPT_SET)
				current = id - OPT_SIDE;
		}
		if (r < 0)
			return r;
	}
	rq->o.stats = rq->stats_len ? (const char *const *)rq->stats : NULL;
	rq->o.labels = rq->labels.len ? &rq->labels : NULL;
	choose_server(rq);
	return 0;
}

int request_read(struct request *rq, struct err *reterr)
{
	if (!rq->sides.n)
		return err_set(reterr, ERR_INVALID, "no files to compare");
	if (rq->rules_len && !rq->rule_stats[0])
		gate_stats((const char *const *)rq->rules, rq->rules_len, rq->rule_stats);
	rq->o.also = rq->rules_len ? (const char *const *)rq->rule_stats : NULL;
	return sides_read(&rq->sides, &rq->import, rq->by, rq->single, reterr);
}

static bool is_selector(const char *text)
{
	return (strpbrk(text, "=~<>") || strstr(text, " in (")) && access(text, F_OK) != 0;
}

bool request_is_remote(const struct request *rq)
{
	for (size_t i = 0; i < rq->sides.n && !rq->server; i++)
		if (rq->sides.request[i].n != 1 || !is_selector(rq->sides.request[i].files[0]))
			return false;
	return rq->server || rq->sides.n > 0;
}

static int compare_one(struct request *rq, json_t **ret, struct err *reterr)
{
	const struct compare_side *side = rq->sides.side;

	if (rq->sides.n == 1)
		return compare_single(&side[0], &rq->o, ret, reterr);
	if (rq->sides.n == 2)
		return compare_document(&side[0], &side[1], &rq->o, ret, reterr);
	return compare_many(side, rq->sides.n, &rq->o, ret, reterr);
}

/* One document a metric, of two sides: {"items": [...]}. */
static int compare_all(struct request *rq, json_t **ret, struct err *reterr)
{
	json_t *doc, *others, *name, *items;
	size_t i;
	int r;

	if (rq->sides.n != 2)
		return err_set(reterr, ERR_INVALID, "--metric all compares two sides, not %zu",
			       rq->sides.n);
	r = compare_one(rq, &doc, reterr);
	if (r < 0)
		return r;
	items = json_array();
	others = json_incref(json_object_get(json_object_get(doc, "metric"), "others"));
	json_array_append_new(items, doc);
	json_array_foreach(others, i, name)
	{
		rq->o.metric = json_string_value(name);
		r = compare_one(rq, &doc, reterr);
		if (r < 0) {
			/* Such as a distribution in one run and a number in another. */
			fprintf(stderr, "rigstat: %s: %s\n", rq->o.metric, reterr->text);
			continue;
		}
		json_array_append_new(items, doc);
	}
	rq->o.metric = NULL;
	json_decref(others);
	*ret = json_pack("{s:o}", "items", items);
	return 0;
}

int request_compare(struct request *rq, json_t **ret, struct err *reterr)
{
	int r = rq->sides.side[0].runs ? 0 : request_read(rq, reterr);

	if (r < 0)
		return r;
	return rq->all_metrics ? compare_all(rq, ret, reterr) : compare_one(rq, ret, reterr);
}

static void add_parameter(struct strbuf *url, const char *key, const char *value)
{
	if (!value)
		return;
	strbuf_printf(url, "%c%s=", strchr(url->data, '?') ? '&' : '?', key);
	client_escape(value, url);
}

static const char *output_format(enum output o)
{
	static const char *const names[] = {"text", "json", "csv", "markdown", "svg", "junit"};

	return names[o];
}

static void add_list(struct strbuf *url, const char *key, char *const *list, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf joined = {0};

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&joined, "%s%s", i ? "," : "", list[i]);
	if (n)
		add_parameter(url, key, joined.data);
}

int request_url(const struct request *rq, const char *path, struct strbuf *url, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf labels = {0};

	if (rq->o.better)
		return err_set(
			reterr, ERR_INVALID,
			"--better is for files: a server keeps each metric's direction in its "
			"catalogue");
	strbuf_puts(url, path);
	for (size_t i = 0; i < rq->sides.n; i++) {
		if (rq->sides.request[i].n != 1)
			return err_set(
				reterr, ERR_INVALID,
				"against a server each side is one selector: --a "
				"experiment=rq,rq_affinity=0 --b experiment=rq,rq_affinity=1");
		add_parameter(url, i ? "b" : "a", rq->sides.request[i].files[0]);
	}
	add_parameter(url, "metric", rq->o.metric);
	add_list(url, "stat", rq->stats, rq->stats_len);
	add_parameter(url, "ci", rq->confidence);
	add_parameter(url, "margin", rq->margin);
	add_parameter(url, "primary", rq->o.primary);
	add_parameter(url, "factor", rq->o.factor);
	for (size_t i = 0; i < rq->labels.len; i++)
		selector_print_eq(rq->labels.v[i].key, rq->labels.v[i].value, &labels);
	add_parameter(url, "labels", labels.data);
	add_parameter(url, "tail", rq->threshold);
	add_parameter(url, "anyway", rq->o.anyway ? "1" : NULL);
	add_parameter(url, "history", rq->history ? "1" : NULL);
	add_parameter(url, "corrected", rq->o.corrected ? "1" : NULL);
	add_list(url, "gate", rq->rules, rq->rules_len);
	add_parameter(url, "gate_mode", rq->mode);
	add_parameter(url, "format", output_format(rq->output));
	if (rq->output == OUTPUT_SVG) {
		add_parameter(url, "chart", rq->chart);
		add_parameter(url, "theme", rq->dark ? "dark" : "light");
	}
	return 0;
}

int request_print(const struct request *rq, const json_t *doc)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	char *text;
	struct err e;

	switch (rq->output) {
	case OUTPUT_TEXT:
		compare_render_text(doc, &out);
		break;
	case OUTPUT_JSON:
		text = json_dumps(doc, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
		strbuf_puts(&out, text);
		strbuf_putc(&out, '\n');
		free(text);
		break;
	case OUTPUT_CSV:
		compare_render_csv(doc, &out);
		break;
	case OUTPUT_MARKDOWN:
		compare_render_markdown(doc, &out);
		break;
	case OUTPUT_SVG:
		if (compare_render_svg(doc, rq->chart, rq->dark, &out, &e) < 0)
			return cli_fail(&e);
		break;
	case OUTPUT_JUNIT:
		gate_render_junit(doc, &out);
		break;
	}
	return cli_print(&out);
}

int request_remote(const struct request *rq, const char *verb, const char *path)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf url = {0};
	const char *server;
	struct err e;

	if (rq->sides.n < 2) {
		err_set(&e, ERR_INVALID, "name two sides: --a SELECTOR --b SELECTOR");
		return cli_usage(verb, &e);
	}
	if (client_server(rq->server, &server, &e) < 0 || request_url(rq, path, &url, &e) < 0 ||
	    client_request(server, url.data, NULL, &answer, &e) < 0)
		return cli_fail(&e);
	return cli_print(&answer.body);
}
