/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat experiment create --dry-run: what the boxes would change, and what they refuse. */
#include "cli/experiment.h"

#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "common/compare/render.h"
#include "common/clock.h"
#include "common/parse.h"

#define PATIENCE_NS (20 * NS_PER_SEC)
#define PAUSE_MS    300

static bool all_answered(const json_t *doc)
{
	const json_t *h;
	size_t i;

	json_array_foreach(json_object_get(doc, "hosts"), i,
			   h) if (strcmp(render_str(h, "state"), "answered") != 0 &&
				  strcmp(render_str(h, "state"), "not_asked") != 0) return false;
	return true;
}

static int wait_answers(const char *server, json_t **doc, struct err *reterr)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * NS_PER_MS};
	int64_t until = clock_monotonic_ns() + PATIENCE_NS;
	char path[80];

	snprintf(path, sizeof(path), "/api/v1/dry-runs/%.20s", render_str(*doc, "id"));
	while (!all_answered(*doc) && clock_monotonic_ns() < until) {
		json_t *next = NULL;
		int rc;

		nanosleep(&pause, NULL);
		rc = client_json(server, "GET", path, NULL, &next, reterr);
		if (rc)
			return rc;
		json_decref(*doc);
		*doc = next;
	}
	return 0;
}

/* "0, 1" */
static void put_levels(const json_t *body, const char *factor, struct strbuf *out)
{
	const json_t *f, *v;
	size_t i, k;

	json_array_foreach(json_object_get(body, "factors"), i, f)
	{
		if (strcmp(render_str(f, "name"), factor) != 0)
			continue;
		json_array_foreach(json_object_get(f, "levels"), k, v)
			strbuf_printf(out, "%s%s", k ? ", " : "", json_string_value(v));
	}
}

static void put_answer(const json_t *body, const json_t *answer, struct strbuf *out)
{
	const json_t *workload = json_object_get(answer, "workload"), *f;
	size_t i;

	json_array_foreach(json_object_get(answer, "factors"), i, f)
	{
		strbuf_printf(out, "  %s is set in %s: now %s -> ", render_str(f, "name"),
			      render_str(f, "target"), render_str(f, "present"));
		put_levels(body, render_str(f, "name"), out);
		strbuf_printf(out, ", then %s again\n", render_str(f, "present"));
	}
	if (!json_is_object(workload))
		strbuf_puts(out, "  no workload: the idle box is measured\n");
	else
		strbuf_printf(out, "  workload %s%s%s\n", render_str(workload, "name"),
			      *render_str(workload, "description") ? ": " : "",
			      render_str(workload, "description"));
}

/* True when the box would do it. */
static bool put_host(const json_t *body, const json_t *h, struct strbuf *out)
{
	if (json_is_true(json_object_get(h, "ok"))) {
		strbuf_printf(out, "%s would do it:\n", render_str(h, "host"));
		put_answer(body, json_object_get(h, "answer"), out);
		return true;
	}
	if (!strcmp(render_str(h, "state"), "not_asked"))
		strbuf_printf(out, "%s: %s\n", render_str(h, "host"), render_str(h, "text"));
	else if (!strcmp(render_str(h, "state"), "answered"))
		strbuf_printf(out, "%s refuses it: %s\n", render_str(h, "host"),
			      render_str(h, "text"));
	else
		strbuf_printf(out,
			      "%s did not answer: its agent is held back while it measures, does "
			      "no experiments, or is too old\n",
			      render_str(h, "host"));
	return false;
}

int experiment_dry_run(const char *server, const json_t *body, bool json, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	json_t *doc = NULL;
	const json_t *h;
	char least[40];
	bool good = true;
	size_t i;
	int rc = client_json(server, "POST", "/api/v1/dry-runs", body, &doc, reterr);

	if (!rc)
		rc = wait_answers(server, &doc, reterr);
	if (rc) {
		json_decref(doc);
		return rc;
	}
	strbuf_printf(&out, "%s would make %lld runs on each box, in %s at least.\n",
		      render_str(doc, "name"),
		      (long long)json_integer_value(json_object_get(doc, "runs")),
		      format_ns((double)json_integer_value(json_object_get(doc, "least_ns")), least,
				sizeof(least)));
	json_array_foreach(json_object_get(doc, "hosts"), i, h) good &= put_host(body, h, &out);
	strbuf_puts(&out, "Nothing was changed (--dry-run).\n");
	if (json) {
		char *dumped = json_dumps(doc, JSON_INDENT(2));

		strbuf_clear(&out);
		strbuf_printf(&out, "%s\n", dumped);
		free(dumped);
	}
	json_decref(doc);
	cli_clean(&out);
	rc = cli_print(&out);
	return rc ? rc : good ? EXIT_DONE : EXIT_GATE_FAIL;
}
