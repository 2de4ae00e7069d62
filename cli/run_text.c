/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run_text.h"

#include <math.h>
#include <stdio.h>

#include "common/compare/render.h"
#include "common/parse.h"

#define LIST_SHOWN 8
#define NAME_WIDTH 40

static const json_t *labels_of(const json_t *s)
{
	return json_object_get(s, "labels");
}

static bool is_kind(const json_t *s, const char *kind)
{
	return !strcmp(render_str(s, "kind"), kind);
}

/* A counter's series is declared in what it counts; its value is a rate. */
static const char *value_text(const json_t *s, char *buf, size_t cap)
{
	const char *unit = render_str(s, "unit");
	char rate[40];

	if (is_kind(s, "counter")) {
		(void)snprintf(rate, sizeof(rate), "%.30s/s", unit);
		unit = rate;
	}
	return format_value(unit, render_num(s, "value"), buf, cap);
}

/* "cpu 0, irq vda"; a name says itself what it is. */
static void put_labels(const json_t *s, struct strbuf *out)
{
	const json_t *labels = labels_of(s);
	bool several = json_object_size(labels) > 1;
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)labels, key, v)
	{
		if (out->len)
			strbuf_puts(out, ", ");
		if (!strcmp(key, "cpu") ||
		    (several && strcmp(key, "operation") != 0 && strcmp(key, "device") != 0))
			strbuf_printf(out, "%s ", key);
		strbuf_puts(out, json_string_value(v));
	}
}

/* ---- head ---- */

static void put_head(const json_t *r, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	const char *key;
	json_t *v;
	char took[40];

	strbuf_printf(&line, "run %s", render_str(r, "id"));
	if (*render_str(r, "host"))
		strbuf_printf(&line, " on %s", render_str(r, "host"));
	if (*render_str(r, "experiment"))
		strbuf_printf(&line, ", experiment %s", render_str(r, "experiment"));
	json_object_foreach(json_object_get(r, "factors"), key, v)
		strbuf_printf(&line, ", %s=%s", key, json_string_value(v));
	render_wrapped(out, "", 2, line.data);
	strbuf_clear(&line);
	strbuf_printf(&line, "%s", render_str(r, "state"));
	if (*render_str(r, "reason"))
		strbuf_printf(&line, " (%s)", render_str(r, "reason"));
	if (!isnan(render_num(r, "measured_ns")))
		strbuf_printf(&line, ", measured for %s",
			      format_ns(render_num(r, "measured_ns"), took, sizeof(took)));
	strbuf_printf(&line, ", started %.19sZ", render_str(r, "started"));
	if (*render_str(r, "kernel"))
		strbuf_printf(&line, ", kernel %s", render_str(r, "kernel"));
	render_wrapped(out, "", 2, line.data);
	if (*render_str(r, "excluded"))
		render_wrapped(out, "excluded from comparisons: ", 2, render_str(r, "excluded"));
}

static void put_notes(const json_t *r, struct strbuf *out)
{
	json_t *n;
	size_t i;

	json_array_foreach(json_object_get(r, "note_list"), i, n)
	{
		CLEANUP(strbuf_done) struct strbuf text = {0};

		strbuf_printf(&text, "%s [%s]", render_str(n, "text"), render_str(n, "code"));
		render_wrapped(out, "note: ", 6, text.data);
	}
}

/* ---- cost ---- */

static const char *share_text(double ns, double elapsed_ns, char *buf, size_t cap)
{
	if (isnan(ns))
		(void)snprintf(buf, cap, "not known");
	else
		(void)snprintf(buf, cap, "%.3f %%", 100 * ns / elapsed_ns);
	return buf;
}

static void put_probe(const json_t *p, double elapsed_ns, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	double budget = render_num(p, "budget"), divisor = render_num(p, "divisor");
	char cpu[24], kernel[24], limit[24] = "-";

	if (!isnan(budget))
		(void)snprintf(limit, sizeof(limit), "%g %%", 100 * budget);
	strbuf_printf(&line, "  %-12.12s %12s %12s %10s", render_str(p, "probe"),
		      share_text(render_num(p, "cpu_ns"), elapsed_ns, cpu, sizeof(cpu)),
		      share_text(render_num(p, "kernel_ns"), elapsed_ns, kernel, sizeof(kernel)),
		      limit);
	if (divisor > 1)
		strbuf_printf(&line, "  at 1/%.0f of its rate", divisor);
	render_line(out, &line);
}

static void put_cost(const json_t *r, struct strbuf *out)
{
	const json_t *c = json_object_get(r, "cost"), *probes = json_object_get(c, "probes");
	double elapsed_ns = render_num(c, "elapsed_ns");
	char cpu[40], memory[40];
	json_t *p;
	size_t i;

	if (isnan(render_num(c, "cpu_ns")))
		return;
	strbuf_printf(
		out, "\ncost of measuring: %s of CPU, %s of memory\n",
		format_ns(render_num(c, "cpu_ns"), cpu, sizeof(cpu)),
		format_value("bytes", render_num(c, "rss_anon_bytes"), memory, sizeof(memory)));
	if (!json_array_size(probes) || isnan(elapsed_ns) || elapsed_ns <= 0)
		return;
	strbuf_puts(out, "  % of a CPU        agent    in kernel     budget\n");
	json_array_foreach(probes, i, p) put_probe(p, elapsed_ns, out);
}

/* ---- series ---- */

static void put_hist(const json_t *s, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf line = {0}, name = {0}, labels = {0};
	const char *unit = render_str(s, "unit");
	char min[40], mean[40], max[40];

	put_labels(s, &labels);
	strbuf_printf(&name, "%s%s%s", render_str(s, "metric"), labels.len ? " " : "",
		      labels.len ? labels.data : "");
	strbuf_printf(&line, "  %-31.31s %9.0f %9s %9s %9s", name.data, render_num(s, "count"),
		      format_value(unit, render_num(s, "min"), min, sizeof(min)),
		      format_value(unit, render_num(s, "mean"), mean, sizeof(mean)),
		      format_value(unit, render_num(s, "max"), max, sizeof(max)));
	render_line(out, &line);
}

static void put_hists(const json_t *series, struct strbuf *out)
{
	bool any = false;
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		if (!is_kind(s, "hist") || !(render_num(s, "count") > 0))
			continue;
		if (!any)
			strbuf_puts(out, "\ndistributions                      samples       min  "
					 "    mean       max\n");
		any = true;
		put_hist(s, out);
	}
}

static bool has_number(const json_t *s)
{
	return (is_kind(s, "value") || is_kind(s, "counter")) && !isnan(render_num(s, "value"));
}

static void put_values(const json_t *series, struct strbuf *out)
{
	bool any = false;
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		CLEANUP(strbuf_done) struct strbuf line = {0};
		char value[60];

		if (!has_number(s) || json_object_size(labels_of(s)))
			continue;
		if (!any)
			strbuf_puts(out, "\nvalues\n");
		any = true;
		strbuf_printf(&line, "  %-*s %18s%s%s", NAME_WIDTH, render_str(s, "metric"),
			      value_text(s, value, sizeof(value)),
			      strcmp(render_str(s, "state"), "exact") ? "  " : "",
			      strcmp(render_str(s, "state"), "exact") ? render_str(s, "state")
								      : "");
		render_line(out, &line);
	}
}

/* ---- lists ---- */

struct entries {
	const json_t **v;
	size_t len, cap;
};

static bool is_rest(const json_t *s)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)labels_of(s), key, v)
	{
		if (!strcmp(json_string_value(v), "[rest]"))
			return true;
	}
	return false;
}

static int by_value(const void *a, const void *b)
{
	const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
	double vx = render_num(x, "value"), vy = render_num(y, "value");

	if (is_rest(x) != is_rest(y))
		return is_rest(x) ? 1 : -1;
	return (vx < vy) - (vx > vy);
}

/* The named entries of a metric, the largest first, the rest last. */
static struct entries entries_of(const json_t *series, const char *metric)
{
	struct entries e = {0};
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		if (strcmp(render_str(s, "metric"), metric) != 0 || !has_number(s) ||
		    !json_object_size(labels_of(s)))
			continue;
		GROW(e.v, e.len, e.cap);
		e.v[e.len++] = s;
	}
	if (e.len)
		qsort((void *)e.v, e.len, sizeof(*e.v), by_value);
	return e;
}

static void put_list(const json_t *series, const char *metric, bool all, struct strbuf *out)
{
	struct entries e = entries_of(series, metric);
	size_t shown = all || e.len <= LIST_SHOWN + 1 ? e.len : LIST_SHOWN;

	strbuf_printf(out, "\n%s\n", metric);
	for (size_t i = 0; i < shown; i++) {
		CLEANUP(strbuf_done) struct strbuf line = {0}, labels = {0};
		char value[60];

		put_labels(e.v[i], &labels);
		strbuf_printf(&line, "  %-50.50s %18s", labels.data,
			      value_text(e.v[i], value, sizeof(value)));
		render_line(out, &line);
	}
	if (shown < e.len)
		strbuf_printf(out, "  and %zu more (--all)\n", e.len - shown);
	free((void *)e.v);
}

/* The value of another metric under the same labels. */
static const char *beside(const json_t *series, const char *metric, const json_t *labels, char *buf,
			  size_t cap)
{
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		if (!strcmp(render_str(s, "metric"), metric) && has_number(s) &&
		    json_equal((json_t *)(uintptr_t)labels_of(s), (json_t *)(uintptr_t)labels))
			return value_text(s, buf, cap);
	}
	return "-";
}

/* Metrics of the same things side by side. */
static const struct table {
	const char *title, *first, *second, *third; /* metrics */
	const char *head;
} tables[] = {
	{"lock waits by caller", "lock_wait_rate", "lock_contentions", "lock_wait_max",
	 "      waiting         waits    longest"},
	{"lock classes", "lockstat_wait", "lockstat_contentions", "lockstat_hold",
	 "      waiting   contentions       held"},
	{"disk throughput", "disk_read_bytes", "disk_written_bytes", "disk_busy",
	 "         read       written       busy"},
	{"disk requests", "disk_reads", "disk_writes", "disk_queue",
	 "        reads        writes   in queue"},
	{"late wake-ups by cause", "blame_share", "blame_breaches", "",
	 "        share       largest           "},
};

static void put_table(const json_t *series, const struct table *t, bool all, struct strbuf *out)
{
	struct entries e = entries_of(series, t->first);
	size_t shown = all || e.len <= LIST_SHOWN + 1 ? e.len : LIST_SHOWN;
	CLEANUP(strbuf_done) struct strbuf line = {0};

	if (e.len) {
		strbuf_printf(&line, "%-36s%s", t->title, t->head);
		strbuf_putc(out, '\n');
		render_line(out, &line);
	}
	for (size_t i = 0; i < shown; i++) {
		CLEANUP(strbuf_done) struct strbuf labels = {0};
		const json_t *l = labels_of(e.v[i]);
		char a[60], b[60], c[60];

		put_labels(e.v[i], &labels);
		strbuf_printf(&line, "  %-33.33s %12s %13s %10s", labels.data,
			      value_text(e.v[i], a, sizeof(a)),
			      beside(series, t->second, l, b, sizeof(b)),
			      *t->third ? beside(series, t->third, l, c, sizeof(c)) : "");
		render_line(out, &line);
	}
	if (shown < e.len)
		strbuf_printf(out, "  and %zu more (--all)\n", e.len - shown);
	free((void *)e.v);
}

/* What stands in a table; of disks and locks the table is enough. */
static bool in_table(const char *metric)
{
	static const char *const families[] = {"disk_", "lock_", "lockstat_", "blame_"};

	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		if (!strncmp(metric, families[i], strlen(families[i])))
			return true;
	return false;
}

static void put_lists(const json_t *series, bool all, struct strbuf *out)
{
	const char *last = "";
	json_t *s;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		const char *metric = render_str(s, "metric");
		bool first = true;
		json_t *before;
		size_t k;

		if (!has_number(s) || !json_object_size(labels_of(s)) || !strcmp(metric, last) ||
		    (in_table(metric) && !all))
			continue;
		json_array_foreach((json_t *)(uintptr_t)series, k, before)
		{
			if (k == i)
				break;
			first &= strcmp(render_str(before, "metric"), metric) != 0 ||
				 !has_number(before) || !json_object_size(labels_of(before));
		}
		if (first)
			put_list(series, metric, all, out);
		last = metric;
	}
}

/* Each reason once, with the metrics that lack for it. */
static void put_absent(const json_t *series, struct strbuf *out)
{
	json_t *by_reason = json_object(), *s, *names;
	const char *reason;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)series, i, s)
	{
		if (!is_kind(s, "absent"))
			continue;
		reason = *render_str(s, "reason") ? render_str(s, "reason") : "no reason was given";
		names = json_object_get(by_reason, reason);
		if (!names)
			json_object_set_new(by_reason, reason, names = json_object());
		json_object_set_new(names, render_str(s, "metric"), json_null());
	}
	if (json_object_size(by_reason))
		strbuf_puts(out, "\nnot measured\n");
	json_object_foreach(by_reason, reason, names)
	{
		CLEANUP(strbuf_done) struct strbuf text = {0};
		const char *name;
		json_t *v;

		json_object_foreach(names, name, v)
			strbuf_printf(&text, "%s%s", text.len ? ", " : "", name);
		strbuf_printf(&text, ": %s", reason);
		render_wrapped(out, "  ", 4, text.data);
	}
	json_decref(by_reason);
}

void run_text(const json_t *run, bool all, struct strbuf *out)
{
	const json_t *series = json_object_get(run, "series");

	put_head(run, out);
	put_notes(run, out);
	put_cost(run, out);
	put_hists(series, out);
	put_values(series, out);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		put_table(series, &tables[i], all, out);
	put_lists(series, all, out);
	put_absent(series, out);
}
