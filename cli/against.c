/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/against.h"

#include <math.h>

#include "cli/client.h"
#include "common/compare/render.h"

#define PREFIX	      "baseline:"
#define RUNS_MAX      20 /* of the baseline, the newest */
#define RUNS_AT_LEAST 5
#define LAG1_MAX      0.3 /* more, and neighbours are too alike to be replicates */

void against_done(struct against *a)
{
	free(a->selector);
	free(a->remark);
}

static void parameter(struct strbuf *url, const char *key, const char *value)
{
	strbuf_printf(url, "%c%s=", strchr(url->data, '?') ? '&' : '?', key);
	client_escape(value, url);
}

static int get(const char *server, const char *path, json_t **ret, struct err *reterr)
{
	return client_json(server, "GET", path, NULL, ret, reterr);
}

/* The new runs: of one host and one experiment. A new reference to their list. */
static int new_runs(const char *server, const char *selector, json_t **ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf url = {0};
	json_t *doc, *items, *run;
	size_t i;
	int r;

	strbuf_puts(&url, "/api/v1/runs?limit=1000");
	parameter(&url, "q", selector);
	r = get(server, url.data, &doc, reterr);
	if (r < 0)
		return r;
	items = json_incref(json_object_get(doc, "items"));
	json_decref(doc);
	if (!json_array_size(items))
		r = err_set(reterr, ERR_INVALID, "no run matches --b %.200s", selector);
	json_array_foreach(items, i, run)
	{
		const json_t *first = json_array_get(items, 0);

		if (strcmp(render_str(run, "host"), render_str(first, "host")) ||
		    strcmp(render_str(run, "experiment"), render_str(first, "experiment")))
			r = err_set(reterr, ERR_INVALID,
				    "--b %.200s has runs of several hosts or experiments: add "
				    "host=.. or experiment=..",
				    selector);
	}
	if (r < 0)
		json_decref(items);
	else
		*ret = items;
	return r;
}

/* The run's factors without the one that names its version. */
static bool same_factors(const json_t *run, const json_t *series)
{
	json_t *have = json_deep_copy(json_object_get(run, "factors"));
	const json_t *held = json_object_get(json_object_get(series, "context"), "factors");
	bool same;

	json_object_del(have, render_str(series, "order_by"));
	same = held ? json_equal(have, (json_t *)held) : json_object_size(have) == 0;
	json_decref(have);
	return same;
}

static int rank_of(const struct request *rq, const char *stat)
{
	static const char *const known[] = {"p99", "value", "rate"};

	if (rq->o.primary)
		return strcmp(rq->o.primary, stat) ? -1 : 0;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i], stat))
			return (int)i;
	return -1;
}

/* The series of the baseline; borrowed from *ret_doc, NULL: there is none. */
static int find_series(const struct request *rq, const char *server, const json_t *run,
		       const char *branch, json_t **ret_doc, const json_t **ret, struct err *reterr)
{
	const char *metric = rq->o.metric;
	CLEANUP(strbuf_done) struct strbuf url = {0};
	json_t *item;
	int best = -1, r;
	size_t i;

	if (!metric)
		metric = render_str(json_object_get(run, "summary"), "metric");
	strbuf_puts(&url, "/api/v1/series?limit=1000");
	parameter(&url, "host", render_str(run, "host"));
	parameter(&url, "experiment", render_str(run, "experiment"));
	parameter(&url, "branch", branch);
	parameter(&url, "metric", metric);
	r = get(server, url.data, ret_doc, reterr);
	*ret = NULL;
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(*ret_doc, "items"), i, item)
	{
		int rank = rank_of(rq, render_str(item, "stat"));

		if (rank < 0 || !same_factors(run, item) || (*ret && rank >= best))
			continue;
		best = rank;
		*ret = item;
	}
	return 0;
}

static bool is_new(const json_t *runs, const char *id)
{
	json_t *run;
	size_t i;

	json_array_foreach((json_t *)runs, i,
			   run) if (!strcmp(render_str(run, "id"), id)) return true;
	return false;
}

/* "run in (r_3,r_4)" of the newest points since the level began; how many. */
static size_t select_runs(const json_t *doc, const json_t *new_ones, struct strbuf *out)
{
	const json_t *points = json_object_get(doc, "points");
	const char *from = render_str(json_object_get(doc, "series"), "level_from");
	size_t n = 0;

	strbuf_puts(out, "run in (");
	for (size_t i = json_array_size(points); i-- > 0 && n < RUNS_MAX;) {
		const json_t *p = json_array_get(points, i);
		bool usable = json_is_number(json_object_get(p, "value")) &&
			      json_is_true(json_object_get(p, "placed")) &&
			      json_is_true(json_object_get(p, "run_kept")) &&
			      !json_is_true(json_object_get(p, "outlier"));

		if (usable && !is_new(new_ones, render_str(p, "run")))
			strbuf_printf(out, "%s%s", n++ ? "," : "", render_str(p, "run"));
		if (!strcmp(render_str(p, "run"), from))
			break; /* before it another level held */
	}
	strbuf_putc(out, ')');
	return n;
}

static void judge(const json_t *series, size_t n, const char *branch, struct against *a)
{
	const char *reading = render_str(series, "reading");
	double lag1 = json_number_value(json_object_get(series, "lag1"));
	const char *why;

	a->too_short = n < RUNS_AT_LEAST;
	a->exchangeable = !a->too_short && fabs(lag1) <= LAG1_MAX &&
			  (!strcmp(reading, "none") || !strcmp(reading, "steps"));
	why = a->exchangeable ? "its history shows no dependence on time"
	      : !strcmp(reading, "drift")
		      ? "it drifts, so that a difference may be the time"
		      : "its history is too short or too dependent to be taken as noise";
	a->remark = xasprintf("baseline %s: %zu runs of %s since its last change (%s); %s", branch,
			      n, render_str(series, "id"), render_str(series, "stat"), why);
}

static int find_points(const char *server, const json_t *series, const json_t *new_ones,
		       const char *branch, struct against *ret, struct err *reterr)
{
	CLEANUP(freep)
	char *path = xasprintf("/api/v1/series/%s/points?limit=1000", render_str(series, "id"));
	CLEANUP(strbuf_done) struct strbuf selector = {0};
	json_t *doc;
	size_t n;
	int r = get(server, path, &doc, reterr);

	if (r < 0)
		return r;
	n = select_runs(doc, new_ones, &selector);
	judge(json_object_get(doc, "series"), n, branch, ret);
	ret->selector = strbuf_take(&selector);
	json_decref(doc);
	return 0;
}

int against_find(const struct request *rq, const char *server, struct against *ret,
		 struct err *reterr)
{
	const char *branch = rq->against + strlen(PREFIX);
	json_t *runs, *list = NULL;
	const json_t *series;
	int r;

	*ret = (struct against){0};
	if (strncmp(rq->against, PREFIX, strlen(PREFIX)) != 0 || !*branch)
		return err_set(reterr, ERR_INVALID, "--against %.60s: write baseline:main",
			       rq->against);
	if (rq->sides.n != 2 || rq->sides.request[0].n || rq->sides.request[1].n != 1)
		return err_set(reterr, ERR_INVALID,
			       "--against takes the place of --a; give the new runs as one "
			       "selector: --b commit=..");
	r = new_runs(server, rq->sides.request[1].files[0], &runs, reterr);
	if (r < 0)
		return r;
	r = find_series(rq, server, json_array_get(runs, 0), branch, &list, &series, reterr);
	if (r == 0 && series)
		r = find_points(server, series, runs, branch, ret, reterr);
	else if (r == 0) {
		ret->too_short = true;
		ret->remark = xasprintf("baseline %s: no series like these runs yet", branch);
	}
	json_decref(list);
	json_decref(runs);
	return r;
}
