/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/gate_watch.h"

#include <time.h>

#include "cli/client.h"
#include "cli/cli.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/model/selector.h"

/* The server may be away for so long. */
#define OUTAGE_NS  (60 * NS_PER_SEC)
#define PACKING_NS (3 * NS_PER_SEC)

/* "experiment=NAME" of a selector; borrowed. */
static const char *experiment_of(const struct selector *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = &s->terms[i];

		if (t->scope == SELECTOR_FIELD && t->op == SELECTOR_EQ &&
		    !strcmp(t->field->name, "experiment"))
			return t->values[0];
	}
	return NULL;
}

int gate_watch_check(const struct request *rq, struct err *reterr)
{
	CLEANUP(selector_freep) struct selector *s = NULL;

	if (!request_is_remote(rq) || rq->sides.n != 1 || rq->sides.request[0].n != 1)
		return err_set(reterr, ERR_INVALID,
			       "--stop-on-breach watches one side on a server: --server URL "
			       "--a experiment=NAME");
	if (rq->mode && strcmp(rq->mode, "anytime") != 0)
		return err_set(reterr, ERR_INVALID, "--stop-on-breach has a mode of its own");
	if (rq->self)
		return err_set(reterr, ERR_INVALID, "--self and --stop-on-breach exclude another");
	for (size_t i = 0; i < rq->rules_len; i++) {
		struct gate_rule rule;

		if (gate_rule_parse(rq->rules[i], &rule, reterr) < 0)
			return reterr->code;
		if (!gate_rule_is_anytime(&rule))
			return err_set(reterr, ERR_INVALID,
				       "rule \"%s\" cannot be judged again and again: "
				       "--stop-on-breach takes over(100us)<=1/h, max<=200us and "
				       "min>=",
				       rq->rules[i]);
	}
	if (selector_parse(rq->sides.request[0].files[0], &s, NULL, reterr) < 0)
		return reterr->code;
	if (!experiment_of(s))
		return err_set(reterr, ERR_INVALID,
			       "--stop-on-breach stops an experiment: name it, as "
			       "--a experiment=soak");
	return 0;
}

struct watch {
	const struct request *rq;
	const char *server, *experiment;
	char id[32]; /* "e_5"; "" while there is no experiment of that name */
	struct strbuf *body;
	enum gate_result result;
	bool judged;
	bool until_end; /* a rule on an extreme: kept so far says nothing of what comes */
};

/* The newest experiment of the name. */
static int find_experiment(struct watch *w, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_auto_t *list = NULL;
	const char *id;

	strbuf_puts(&path, "/api/v1/experiments?limit=1&name=");
	client_escape(w->experiment, &path);
	if (client_json(w->server, "GET", path.data, NULL, &list, reterr))
		return reterr->code;
	id = json_string_value(
		json_object_get(json_array_get(json_object_get(list, "items"), 0), "id"));
	snprintf(w->id, sizeof(w->id), "%s", id ? id : "");
	return 0;
}

static void assignments_path(const struct watch *w, struct strbuf *out)
{
	strbuf_puts(out, "/api/v1/experiments/");
	client_escape(w->id, out);
	strbuf_puts(out, "/assignments");
}

/* Boxes that still have to work on it, or a run that was started on the box itself. */
static int is_going(struct watch *w, bool *ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_auto_t *boxes = NULL, *runs = NULL;
	CLEANUP(strbuf_done) struct strbuf q = {0};
	const json_t *v;
	size_t i;

	*ret = false;
	if (!*w->id && find_experiment(w, reterr))
		return reterr->code;
	if (!*w->id)
		return 0;
	assignments_path(w, &path);
	if (client_json(w->server, "GET", path.data, NULL, &boxes, reterr))
		return reterr->code;
	json_array_foreach(json_object_get(boxes, "items"), i, v) *ret |=
		!json_is_string(json_object_get(v, "ended"));
	if (*ret)
		return 0;
	strbuf_printf(&q, "%s,state=running", w->rq->sides.request[0].files[0]);
	strbuf_clear(&path);
	strbuf_puts(&path, "/api/v1/runs?limit=1&q=");
	client_escape(q.data, &path);
	if (client_json(w->server, "GET", path.data, NULL, &runs, reterr))
		return reterr->code;
	*ret = json_array_size(json_object_get(runs, "items")) > 0;
	return 0;
}

/* No run yet is not an error: the first may be in its warm-up. */
static int judge(struct watch *w, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf url = {0};
	int rc;

	if (request_url(w->rq, "/api/v1/compare", &url, reterr) < 0)
		return reterr->code;
	rc = client_request(w->server, url.data, NULL, &answer, reterr);
	if (rc == ERR_NOT_FOUND)
		return 0;
	if (rc)
		return rc;
	if (gate_result_parse(answer.gate, &w->result) < 0)
		return err_set(reterr, ERR_REMOTE,
			       "%s answered without a gate result: is it a rigstat-server?",
			       w->server);
	w->judged = true;
	strbuf_clear(w->body);
	strbuf_add(w->body, answer.body.data, answer.body.len);
	return 0;
}

static int stop(const struct watch *w, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_auto_t *answer = NULL;
	long long n;

	assignments_path(w, &path);
	if (client_json(w->server, "DELETE", path.data, NULL, &answer, reterr))
		return reterr->code;
	n = json_integer_value(json_object_get(answer, "cancelled"));
	if (n)
		fprintf(stderr, "rigstat: the limit is broken: %lld %s told to stop %s\n", n,
			n == 1 ? "box is" : "boxes are", w->experiment);
	else
		fprintf(stderr,
			"rigstat: the limit is broken; %s was not started by the server or is "
			"over, so nothing is stopped from here\n",
			w->experiment);
	return 0;
}

static void pause_ns(int64_t ns)
{
	const struct timespec t = {.tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC};

	nanosleep(&t, NULL);
}

/* A soak of hours outlives a restart of its server. */
static int look(struct watch *w, bool *ret_going, struct err *reterr)
{
	for (int64_t began_ns = clock_monotonic_ns();;) {
		/* In this order, so that the last judgement sees the last run. */
		int rc = is_going(w, ret_going, reterr);

		rc = rc ? rc : judge(w, reterr);
		if ((rc != ERR_REMOTE && rc != ERR_TIMEOUT) ||
		    clock_monotonic_ns() - began_ns > OUTAGE_NS)
			return rc;
		pause_ns(NS_PER_SEC);
	}
}

static bool has_extreme(const struct request *rq)
{
	struct gate_rule rule;
	struct err e;

	for (size_t i = 0; i < rq->rules_len; i++)
		if (!gate_rule_parse(rq->rules[i], &rule, &e) && rule.kind == GATE_ABSOLUTE)
			return true;
	return false;
}

static bool is_decided(const struct watch *w, bool going)
{
	return w->judged &&
	       (w->result == GATE_FAIL || (w->result == GATE_PASS && !(going && w->until_end)));
}

int gate_watch(const struct request *rq, const char *server, struct strbuf *ret_body,
	       enum gate_result *ret_result, struct err *reterr)
{
	CLEANUP(selector_freep) struct selector *s = NULL;
	struct watch w = {
		.rq = rq, .server = server, .body = ret_body, .until_end = has_extreme(rq)};
	bool going, was_going;

	if (selector_parse(rq->sides.request[0].files[0], &s, NULL, reterr) < 0)
		return reterr->code;
	w.experiment = experiment_of(s);
	if (!strncmp(w.experiment, "e_", 2))
		snprintf(w.id, sizeof(w.id), "%s", w.experiment);
	/* After the end once more: the last run may not be packed yet. */
	for (was_going = true;; was_going = going) {
		if (look(&w, &going, reterr))
			return reterr->code;
		if (is_decided(&w, going || was_going) || !(going || was_going))
			break;
		pause_ns(going ? rq->every_ns : PACKING_NS);
	}
	if (!w.judged)
		return err_set(reterr, ERR_NOT_FOUND,
			       "%s ended, or never began: no run of '%s' was measured",
			       w.experiment, rq->sides.request[0].files[0]);
	*ret_result = w.result;
	return w.result == GATE_FAIL ? stop(&w, reterr) : 0;
}
