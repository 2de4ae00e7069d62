/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of perf stat into counters, and counters into series: see perf_stat.c for the rules. */
#include "common/import/perf_stat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define EXACT_PERCENT	  99.995 /* "100.00": perf cuts after two digits, -x and -j after none */
#define ESTIMATED_PERCENT 90
#define DOUBTFUL_PERCENT  25
#define BUSY_CYCLES	  1e6 /* a stalled-cycles event that is 0 beside this many is a stub */
#define COUNTERS_MAX	  8192
#define INSTANCES_MAX	  64 /* of one event in one interval */

/* ---- rows into counters ---- */

/* "cpu_core/cycles/u" -> "perf:cycles:u" with pmu=cpu_core; "cpu-clock [software]" loses its end.
 * An event with parameters keeps its PMU in the name: it means nothing without it. */
static char *metric_of_event(struct span event, struct labels *labels)
{
	const char *open = span_find(event, " ["), *first, *last;
	struct span pmu, name, mode;
	char *text;

	if (open)
		event.len = (size_t)(open - event.p);
	event = span_trim(event);
	first = memchr(event.p, '/', event.len);
	last = memrchr(event.p, '/', event.len);
	if (!first || first == event.p || first == last ||
	    memchr(first, '=', (size_t)(last - first)))
		return xasprintf("perf:%.*s", (int)event.len, event.p);
	pmu = (struct span){event.p, (size_t)(first - event.p)};
	name = (struct span){first + 1, (size_t)(last - first - 1)};
	mode = span_from(event, last + 1);
	text = span_dup(pmu);
	labels_set(labels, "pmu", text);
	free(text);
	return xasprintf("perf:%.*s%s%.*s", (int)name.len, name.p, mode.len ? ":" : "",
			 (int)mode.len, mode.p);
}

static void set_label(struct labels *l, const char *key, struct span value)
{
	char *text;

	if (!key || !value.len)
		return;
	if (!strcmp(key, "cpu"))
		(void)span_skip(&value, "CPU");
	text = span_dup(value);
	labels_set(l, key, text);
	free(text);
}

/* The counter of this row. The same event may be there several times in one interval (-e r08,r08):
 * each is an instance of its own. Rows come in the same order in each interval, so the counter
 * behind the last one is tried first. */
static struct perf_counter *counter_of(struct perf_run *p, const char *metric,
				       struct labels *labels)
{
	struct perf_counter *c;

	for (unsigned int instance = 1; instance <= INSTANCES_MAX; instance++) {
		char text[24];

		(void)snprintf(text, sizeof(text), "%u", instance);
		labels_set(labels, "instance", instance > 1 ? text : NULL);
		for (size_t k = 0; k < p->len; k++) {
			c = &p->c[(p->next + k) % p->len];
			if (strcmp(c->metric, metric) || !labels_equal(&c->labels, labels))
				continue;
			if (c->block == p->block)
				goto taken;
			p->next = (size_t)(c - p->c) + 1;
			return c;
		}
		goto fresh;
	taken:;
	}
	return NULL;
fresh:
	GROW(p->c, p->len, p->cap);
	c = &p->c[p->len++];
	memset(c, 0, sizeof(*c));
	c->metric = xstrdup(metric);
	labels_copy(&c->labels, labels);
	c->percent = 100;
	p->next = p->len;
	return c;
}

static void set_unit(struct perf_counter *c, struct span unit)
{
	double ns = unit_word_ns(unit);

	if (c->unit)
		return;
	c->scale = ns > 0 ? ns : 1;
	if (unit.len && !(ns > 0))
		c->unit = c->own_unit = span_dup(unit);
	else
		c->unit = ns > 0 ? "ns" : "1";
}

static void count_row(struct perf_counter *c, const struct perf_row *row)
{
	if (row->count == PERF_NOT_SUPPORTED) {
		c->not_supported++;
		return;
	}
	if (row->count == PERF_NOT_COUNTED) {
		c->not_counted++;
		return;
	}
	if (row->is_summary) {
		c->has_summary = true;
		c->summary_value = row->value * c->scale;
	} else {
		c->counted++;
		c->sum += row->value * c->scale;
	}
	if (row->has_run) {
		c->has_percent = true;
		c->run_ns += row->run_ns;
		if (row->percent < c->percent)
			c->percent = row->percent;
	}
	if (row->has_error) {
		c->has_error = true;
		c->error_percent = row->error_percent;
	}
}

/* Two commands' output after each other: intervals begin, end or start again. */
bool perf_run_is_next(const struct perf_run *p, const struct perf_row *row)
{
	if (!p->r || !p->len || row->is_summary)
		return false;
	return row->has_time != p->has_time || (row->has_time && row->time_s < p->last_time_s);
}

int perf_run_add(struct perf_run *p, const struct scan *scan, const struct perf_row *row,
		 struct err *reterr)
{
	struct labels labels = {0};
	struct perf_counter *c;
	char *metric;

	if (p->len >= COUNTERS_MAX)
		return scan_error(scan, NULL, reterr, "more than %d counters", COUNTERS_MAX);
	if (p->blocks == 0 || (row->has_time && row->time_s != p->time_s) || row->is_summary) {
		if (p->blocks == 0 || !row->is_summary || p->time_s >= 0)
			p->block = ++p->blocks;
		p->time_s = row->is_summary ? -1 : row->time_s;
	}
	if (row->has_time) {
		p->has_time = true;
		p->last_time_s = row->time_s;
	}
	metric = metric_of_event(row->event, &labels);
	set_label(&labels, row->key_label, row->key);
	set_label(&labels, "cgroup", row->cgroup);
	c = counter_of(p, metric, &labels);
	labels_done(&labels);
	free(metric);
	if (!c)
		return scan_error(scan, NULL, reterr, "the same event more than %d times",
				  INSTANCES_MAX);
	c->block = p->block;
	set_unit(c, row->unit);
	count_row(c, row);
	if (row->has_time) {
		if (!c->intervals)
			c->intervals = json_array();
		(void)json_array_append_new(c->intervals, row->count == PERF_COUNTED
								  ? json_real(row->value * c->scale)
								  : json_null());
	}
	return 0;
}

/* ---- counters into series ---- */

static double counter_value(const struct perf_counter *c)
{
	return c->has_summary ? c->summary_value : c->sum;
}

static bool is_exact(const struct perf_counter *c)
{
	return (c->counted || c->has_summary) && !c->not_counted && !c->not_supported &&
	       (!c->has_percent || c->percent >= EXACT_PERCENT);
}

/* The same event counted for another cgroup or thread of this run: so it works on this box. */
static bool works_elsewhere(const struct perf_run *p, const struct perf_counter *c,
			    const char *label)
{
	for (size_t i = 0; i < p->len; i++)
		if (&p->c[i] != c && !strcmp(p->c[i].metric, c->metric) && p->c[i].counted &&
		    labels_get(&p->c[i].labels, label))
			return true;
	return false;
}

static const struct perf_counter *same_key(const struct perf_run *p, const struct perf_counter *c,
					   const char *metric)
{
	for (size_t i = 0; i < p->len; i++)
		if (!strcmp(p->c[i].metric, metric) && labels_equal(&p->c[i].labels, &c->labels))
			return &p->c[i];
	return NULL;
}

/* Numbers that cannot be, whatever perf says about how long it counted; NULL = plausible. */
static const char *implausible(const struct perf_run *p, const struct perf_counter *c)
{
	static const struct {
		const char *zero, *beside, *why;
	} rules[] = {
		{"perf:stalled-cycles-frontend", "perf:cycles",
		 "counted 0 beside millions of cycles: a stub counter, not \"never stalled\""},
		{"perf:stalled-cycles-backend", "perf:cycles",
		 "counted 0 beside millions of cycles: a stub counter, not \"never stalled\""},
		{"perf:instructions", "perf:cycles", "counted 0 beside millions of cycles"},
		{"perf:cycles", "perf:instructions", "counted 0 beside instructions"},
		{"perf:cycles:u", "perf:instructions:u", "counted 0 beside instructions"},
		{"perf:instructions:u", "perf:cycles:u", "counted 0 beside millions of cycles"},
	};

	if (counter_value(c) > 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		const struct perf_counter *other;
		double least = strstr(rules[i].beside, "cycles") ? BUSY_CYCLES : 0;

		if (strcmp(c->metric, rules[i].zero))
			continue;
		other = same_key(p, c, rules[i].beside);
		if (other && counter_value(other) > least)
			return rules[i].why;
	}
	return NULL;
}

/* Why there is no number; NULL when there is one. */
static const char *absent_reason(const struct perf_run *p, const struct perf_counter *c, char *buf,
				 size_t cap)
{
	const char *why;

	if (!c->counted && !c->has_summary) {
		if (c->not_supported)
			return "not supported: this PMU (or virtual machine) has no such event, or "
			       "its "
			       "group was too big";
		return "not counted: it never ran, or never got a counter";
	}
	if (c->not_counted || c->not_supported) {
		(void)snprintf(
			buf, cap,
			"counted in %zu of %zu intervals: the CPU went offline or the counter was "
			"lost",
			c->counted, c->counted + c->not_counted + c->not_supported);
		return buf;
	}
	if (c->has_percent && c->percent < DOUBTFUL_PERCENT) {
		(void)snprintf(buf, cap, "counted only %.0f %% of the time: too little to scale",
			       c->percent);
		return buf;
	}
	why = implausible(p, c);
	return why;
}

static void set_state(const struct perf_counter *c, struct series *s)
{
	const char *event = c->metric + strlen("perf:");

	if (c->has_percent && c->percent < EXACT_PERCENT) {
		s->state = c->percent >= ESTIMATED_PERCENT ? VALUE_ESTIMATED : VALUE_DOUBTFUL;
		s->reason = xasprintf("multiplexed: counted %.0f %% of the time and scaled by perf",
				      c->percent);
	} else if (*event == 'r' && strspn(event + 1, "0123456789abcdef") == strlen(event + 1) &&
		   event[1] && counter_value(c) == 0) {
		s->state = VALUE_DOUBTFUL;
		s->reason = xstrdup("a raw event that counted 0: the PMU may not have it");
	}
}

static void set_repeats(const struct perf_run *p, const struct perf_counter *c, struct series *s)
{
	double mean = counter_value(c);

	if (!c->has_error)
		return;
	if (p->runs_n < 2) {
		run_note(p->r, "mean-of-repeats",
			 "%s is the mean of several runs (-r; how many is not said), with a "
			 "relative "
			 "standard error of %.2f %%",
			 c->metric, c->error_percent);
		return;
	}
	/* perf prints the relative standard error of the mean. */
	s->kind = SERIES_SUMMARY;
	s->summary.n = (uint64_t)p->runs_n;
	s->summary.avg = mean;
	s->summary.sdev = mean * c->error_percent / 100 * sqrt(p->runs_n);
	s->summary.has_avg = s->summary.has_sdev = true;
	s->value = 0;
}

static void add_counter(struct perf_run *p, const struct perf_counter *c)
{
	const char *scope = labels_get(&c->labels, "cgroup")   ? "cgroup"
			    : labels_get(&c->labels, "thread") ? "thread"
							       : NULL;
	const char *why;
	struct series *s;
	char buf[160];

	if (!c->counted && !c->has_summary && c->not_counted && !c->not_supported && scope &&
	    works_elsewhere(p, c, scope)) {
		s = import_value(p->r, c->metric, c->unit, 0);
		s->reason = xasprintf("the %s never ran: a true 0", scope);
		labels_copy(&s->labels, &c->labels);
		s->method = xstrdup("perf-stat");
		return;
	}
	why = absent_reason(p, c, buf, sizeof(buf));
	if (why) {
		s = import_absent(p->r, c->metric, c->unit, "%s", why);
	} else {
		s = import_value(p->r, c->metric, c->unit, counter_value(c));
		set_state(c, s);
		set_repeats(p, c, s);
	}
	labels_copy(&s->labels, &c->labels);
	s->method = xstrdup("perf-stat");
}

/* Instructions per cycle where both counted all the time. */
static void add_ipc(struct perf_run *p, const struct perf_counter *instructions)
{
	static const char prefix[] = "perf:instructions";
	const char *mode = instructions->metric + strlen(prefix);
	const struct perf_counter *cycles;
	char *metric;
	char buf[160];

	if (strncmp(instructions->metric, prefix, strlen(prefix)) || (*mode && *mode != ':'))
		return;
	metric = xasprintf("perf:cycles%s", mode);
	cycles = same_key(p, instructions, metric);
	free(metric);
	if (!cycles || !is_exact(cycles) || !is_exact(instructions) ||
	    absent_reason(p, cycles, buf, sizeof(buf)) ||
	    absent_reason(p, instructions, buf, sizeof(buf)) || counter_value(cycles) <= 0)
		return;
	{
		struct series *s = import_value(
			p->r, "ipc", "1", counter_value(instructions) / counter_value(cycles));

		labels_copy(&s->labels, &instructions->labels);
		if (*mode)
			labels_set(&s->labels, "mode", mode + 1);
		s->method = xstrdup("perf-stat");
	}
}

/* Elapsed seconds of each run of -r --table. */
static void add_table(struct perf_run *p)
{
	double sum = 0, squares = 0, min = INFINITY, max = 0;
	size_t n = p->table_len;
	struct series *s;

	for (size_t i = 0; i < n; i++) {
		sum += p->table[i];
		min = fmin(min, p->table[i]);
		max = fmax(max, p->table[i]);
	}
	for (size_t i = 0; i < n; i++)
		squares += pow(p->table[i] - sum / (double)n, 2);
	s = run_add_series(p->r, "elapsed", SERIES_SUMMARY, "ns");
	s->summary = (struct summary){.n = n,
				      .min = min * 1e9,
				      .avg = sum / (double)n * 1e9,
				      .max = max * 1e9,
				      .sdev = sqrt(squares / (double)(n - 1)) * 1e9,
				      .has_min = true,
				      .has_avg = true,
				      .has_max = true,
				      .has_sdev = true};
}

static void add_times(struct perf_run *p)
{
	if (p->table_len >= 2) {
		add_table(p);
	} else if (p->has_elapsed && p->runs_n >= 2) {
		struct series *s = run_add_series(p->r, "elapsed", SERIES_SUMMARY, "ns");

		s->summary.n = (uint64_t)p->runs_n;
		s->summary.avg = p->elapsed_s * 1e9;
		s->summary.sdev = p->elapsed_error * 1e9 * sqrt(p->runs_n);
		s->summary.has_avg = s->summary.has_sdev = true;
	} else if (p->has_elapsed) {
		import_value(p->r, "elapsed", "ns", p->elapsed_s * 1e9);
		p->r->measured_ns = duration_ns(p->elapsed_s);
	}
	if (p->has_user)
		import_value(p->r, "user_time", "ns", p->user_s * 1e9);
	if (p->has_sys)
		import_value(p->r, "sys_time", "ns", p->sys_s * 1e9);
	if (p->has_time && !p->has_elapsed)
		p->r->measured_ns = duration_ns(p->last_time_s);
}

static void keep_intervals(struct perf_run *p)
{
	json_t *all = json_object();

	for (size_t i = 0; i < p->len; i++) {
		struct strbuf name = {0};

		if (!p->c[i].intervals)
			continue;
		strbuf_puts(&name, p->c[i].metric);
		for (size_t k = 0; k < p->c[i].labels.len; k++)
			strbuf_printf(&name, ",%s=%s", p->c[i].labels.v[k].key,
				      p->c[i].labels.v[k].value);
		(void)json_object_set(all, name.data, p->c[i].intervals);
		strbuf_done(&name);
	}
	if (json_object_size(all))
		import_extra(p->r, "intervals", json_incref(all));
	json_decref(all);
}

void perf_run_done(struct perf_run *p)
{
	for (size_t i = 0; i < p->len; i++) {
		free(p->c[i].metric);
		free(p->c[i].own_unit);
		labels_done(&p->c[i].labels);
		json_decref(p->c[i].intervals);
	}
	free(p->c);
	memset(p, 0, sizeof(*p));
}

void perf_run_end(struct perf_run *p)
{
	if (!p->r)
		return;
	for (size_t i = 0; i < p->len; i++)
		add_counter(p, &p->c[i]);
	for (size_t i = 0; i < p->len; i++)
		add_ipc(p, &p->c[i]);
	add_times(p);
	keep_intervals(p);
	if (p->decimal_comma)
		run_note(p->r, "decimal-comma",
			 "written with decimal commas; LC_ALL=C perf stat avoids doubt");
	perf_run_done(p);
}
