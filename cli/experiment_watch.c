/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat experiment watch: rewrites itself on a terminal, a line at each change elsewhere. */
#include "cli/experiment.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "common/compare/render.h"
#include "common/parse.h"

#define EVERY_S	  2
#define CELLS_MAX 40
#define TRIES_MAX 30

enum { EXIT_CANCELLED = 2, EXIT_REFUSED = 5 };

/* One cell's runs that have ended well so far. */
struct cell {
	char *name;
	double *p50, *p99, max;
	size_t n, cap;
};

struct watch {
	const char *server;
	const char *id, *name; /* e_5; borrowed from the server's answer */
	bool tty;
	size_t lines;	 /* on the terminal, to be written over */
	char *said;	 /* elsewhere: the text of last time */
	long long ended; /* runs when the interim numbers were read */
	struct strbuf interim;
};

static long long number(const json_t *o, const char *key)
{
	return (long long)json_integer_value(json_object_get(o, key));
}

void experiment_put_progress(const json_t *assignment, struct strbuf *out)
{
	const json_t *p = json_object_get(assignment, "progress");
	const json_t *left = json_object_get(p, "left_ns");
	bool goes_on = !json_is_string(json_object_get(assignment, "ended"));
	char buf[40];

	if (!json_is_object(p) || !goes_on)
		return;
	if (json_is_integer(json_object_get(p, "order")))
		strbuf_printf(out, ", run %lld of %lld (%s)", number(p, "order"),
			      number(p, "total"), render_str(p, "cell"));
	strbuf_printf(out, ", %lld of %lld ended well", number(p, "ok"), number(p, "total"));
	if (number(p, "failed"))
		strbuf_printf(out, ", %lld failed", number(p, "failed"));
	if (json_is_integer(left))
		strbuf_printf(out, ", about %s left",
			      format_ns((double)json_integer_value(left), buf, sizeof(buf)));
}

/* ---- interim numbers ---- */

static void put_cell_name(const json_t *run, struct strbuf *out)
{
	const char *key;
	json_t *v;

	json_object_foreach(json_object_get(run, "factors"), key, v)
		strbuf_printf(out, "%s%s=%s", out->len ? ", " : "", key, json_string_value(v));
	if (!out->len)
		strbuf_puts(out, "all");
}

static struct cell *cell_of(struct cell *cells, size_t *n, const char *name)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(cells[i].name, name))
			return &cells[i];
	if (*n == CELLS_MAX)
		return NULL;
	cells[*n].name = xstrdup(name);
	return &cells[(*n)++];
}

static void add_run(struct cell *c, const json_t *summary)
{
	const json_t *p50 = json_object_get(summary, "p50"), *p99 = json_object_get(summary, "p99"),
		     *max = json_object_get(summary, "max");

	if (!json_is_number(p50) || !json_is_number(p99))
		return;
	if (c->n == c->cap) {
		c->cap = c->cap ? 2 * c->cap : 16;
		c->p50 = xrealloc(c->p50, c->cap, sizeof(double));
		c->p99 = xrealloc(c->p99, c->cap, sizeof(double));
	}
	c->p50[c->n] = json_number_value(p50);
	c->p99[c->n++] = json_number_value(p99);
	if (json_number_value(max) > c->max)
		c->max = json_number_value(max);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static void put_cells(struct cell *cells, size_t n, const char *metric, struct strbuf *out)
{
	strbuf_printf(out,
		      "  Interim, of the runs that are stored so far; no verdict before the end.\n"
		      "  %-30s %4s  %9s  %9s  %9s\n",
		      metric, "runs", "p50", "p99", "max");
	for (size_t i = 0; i < n; i++) {
		char p50[40], p99[40], max[40];

		if (!cells[i].n)
			continue;
		strbuf_printf(out, "  %-30s %4zu  %9s  %9s  %9s\n", cells[i].name, cells[i].n,
			      format_ns(median(cells[i].p50, cells[i].n), p50, sizeof(p50)),
			      format_ns(median(cells[i].p99, cells[i].n), p99, sizeof(p99)),
			      format_ns(cells[i].max, max, sizeof(max)));
	}
}

/* Medians over runs of each cell; the comparison itself is made at the end. */
static void put_interim(const json_t *runs, struct strbuf *out)
{
	struct cell cells[CELLS_MAX] = {0};
	const char *metric = "";
	const json_t *run;
	size_t i, n = 0;

	json_array_foreach(json_object_get(runs, "items"), i, run)
	{
		CLEANUP(strbuf_done) struct strbuf name = {0};
		const json_t *summary = json_object_get(run, "summary");
		struct cell *c;

		if (strcmp(render_str(run, "state"), "ok") != 0 ||
		    json_is_string(json_object_get(run, "excluded")))
			continue;
		put_cell_name(run, &name);
		c = cell_of(cells, &n, name.data);
		if (c)
			add_run(c, summary);
		if (*render_str(summary, "metric"))
			metric = render_str(summary, "metric");
	}
	if (*metric)
		put_cells(cells, n, metric, out);
	for (i = 0; i < n; i++) {
		free(cells[i].name);
		free(cells[i].p50);
		free(cells[i].p99);
	}
}

/* ---- the screen ---- */

/* Control sequences: up so many lines, clear to the end of the screen. */
static void show(struct watch *w, const struct strbuf *out)
{
	if (!w->tty && w->said && !strcmp(w->said, out->data))
		return;
	if (w->tty && w->lines)
		printf("\033[%zuA\033[J", w->lines);
	fwrite(out->data, 1, out->len, stdout);
	fflush(stdout);
	w->lines = 0;
	for (size_t i = 0; i < out->len; i++)
		w->lines += out->data[i] == '\n';
	free(w->said);
	w->said = xstrdup(out->data);
}

static void put_box(const json_t *a, bool tty, struct strbuf *out)
{
	const json_t *p = json_object_get(a, "progress");

	strbuf_printf(out, "  %s is %s", render_str(a, "host"), render_str(a, "state"));
	if (json_is_true(json_object_get(a, "pause")))
		strbuf_puts(out, ", pauses after this run");
	if (tty)
		experiment_put_progress(a, out);
	else if (json_is_object(p)) /* the time left would be a new line each time */
		strbuf_printf(out, ", %lld of %lld runs ended well", number(p, "ok"),
			      number(p, "total"));
	if (*render_str(a, "waits_for"))
		strbuf_printf(out, ", because %s", render_str(a, "waits_for"));
	if (*render_str(a, "text"))
		strbuf_printf(out, ": %.300s", render_str(a, "text"));
	strbuf_putc(out, '\n');
}

static long long ended_runs(const json_t *assignments)
{
	const json_t *a;
	long long n = 0;
	size_t i;

	json_array_foreach(json_object_get(assignments, "items"), i, a)
	{
		const json_t *p = json_object_get(a, "progress");

		n += number(p, "ok") + number(p, "failed");
	}
	return n;
}

static int read_interim(struct watch *w, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};
	json_auto_t *runs = NULL;
	int rc;

	strbuf_puts(&path, "/api/v1/runs?limit=1000&q=experiment%3D");
	client_escape(w->id, &path);
	rc = client_json(w->server, "GET", path.data, NULL, &runs, reterr);
	strbuf_clear(&w->interim);
	if (!rc)
		put_interim(runs, &w->interim);
	return rc;
}

/* 0 while it goes on; else the exit status + 1. */
static int outcome(const json_t *assignments)
{
	static const char *const states[] = {"done", "cancelled", "failed", "refused"};
	static const int statuses[] = {EXIT_DONE, EXIT_CANCELLED, EXIT_GATE_FAIL, EXIT_REFUSED};
	size_t i, worst = 0;
	const json_t *a;

	json_array_foreach(json_object_get(assignments, "items"), i, a)
	{
		if (!json_is_string(json_object_get(a, "ended")))
			return 0;
		for (size_t k = 0; k < ARRAY_LEN(states); k++)
			if (!strcmp(render_str(a, "state"), states[k]) && k > worst)
				worst = k;
	}
	return statuses[worst] + 1;
}

static int look(struct watch *w, int *ret_outcome, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0}, out = {0};
	json_auto_t *assignments = NULL;
	const json_t *a;
	size_t i;
	int rc;

	strbuf_puts(&path, "/api/v1/experiments/");
	client_escape(w->id, &path);
	strbuf_puts(&path, "/assignments");
	rc = client_json(w->server, "GET", path.data, NULL, &assignments, reterr);
	if (rc)
		return rc;
	if (!json_array_size(json_object_get(assignments, "items")))
		return err_set(reterr, ERR_NOT_FOUND,
			       "no box was asked to carry out '%s' (rigstat experiments lists "
			       "them)",
			       w->id);
	*ret_outcome = outcome(assignments);
	if (ended_runs(assignments) != w->ended || *ret_outcome) {
		rc = read_interim(w, reterr);
		if (rc)
			return rc;
		w->ended = ended_runs(assignments);
	}
	strbuf_printf(&out, "experiment %s (%s)\n", w->name, w->id);
	json_array_foreach(json_object_get(assignments, "items"), i, a) put_box(a, w->tty, &out);
	if (w->interim.len)
		strbuf_add(&out, w->interim.data, w->interim.len);
	cli_clean(&out);
	show(w, &out);
	return 0;
}

static int find(const char *server, const char *id, json_t **ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0};

	strbuf_puts(&path, "/api/v1/experiments/");
	client_escape(id, &path);
	return client_json(server, "GET", path.data, NULL, ret, reterr);
}

int experiment_watch(const char *server, const char *id, struct err *reterr)
{
	struct watch w = {.server = server, .tty = isatty(STDOUT_FILENO), .ended = -1};
	json_auto_t *experiment = NULL;
	int status = 0, rc = find(server, id, &experiment, reterr);
	unsigned int failures = 0;

	w.id = render_str(experiment, "id");
	w.name = render_str(experiment, "name");
	/* a server that is being restarted is waited for */
	while (!rc || (failures && failures <= TRIES_MAX)) {
		rc = look(&w, &status, reterr);
		if (rc && rc != ERR_REMOTE && rc != ERR_TIMEOUT)
			break;
		failures += rc != 0;
		if (!rc)
			failures = 0;
		if (!rc && status)
			break;
		sleep(EVERY_S);
	}
	free(w.said);
	strbuf_done(&w.interim);
	return rc ? rc : status - 1;
}
