/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf stat: text, -x and -j, also several after each other in one file (each is a run then).
 *
 * A counter is published with what its numbers allow: exact when it counted all the time, estimated
 * or doubtful when it was multiplexed (perf has scaled it already), absent with the reason when it
 * was not. perf's own metric columns are wrong on short intervals and hybrid CPUs and are ignored;
 * instructions per cycle are computed from counters that both are exact. */
#include "common/import/perf_stat.h"
#include "common/import/date.h"
#include "common/import/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define EXACT_PERCENT	  99.995 /* "100.00": perf cuts after two digits, -x and -j after none */
#define ESTIMATED_PERCENT 90
#define DOUBTFUL_PERCENT  25
#define BUSY_CYCLES	  1e6 /* a stalled-cycles event that is 0 beside this many is a stub */
#define COUNTERS_MAX	  8192
#define INSTANCES_MAX	  64 /* of one event in one interval */

/* One event of one key, over all intervals. */
struct counter {
	char *metric; /* "perf:cycles" */
	struct labels labels;
	const char *unit;
	double scale; /* perf's unit to ours */
	char *own_unit;
	double sum, summary_value, percent, run_ns, error_percent;
	size_t counted, not_counted, not_supported;
	bool has_percent, has_summary, has_error;
	uint64_t block; /* the interval in which it was seen last */
	json_t *intervals;
};

enum form { FORM_NONE, FORM_CSV, FORM_JSON, FORM_TEXT };

struct perf {
	struct scan scan;
	const struct import_options *o;
	struct runs *runs;
	struct run *r;
	enum form form;
	struct counter *c;
	size_t len, cap, next;
	uint64_t block, blocks;
	double time_s, runs_n; /* -r N, from the text's header */
	struct {
		double v[1000];
		size_t len;
	} table; /* elapsed seconds of each run, --table */
	double elapsed_s, elapsed_error, user_s, sys_s, last_time_s;
	bool has_elapsed, has_user, has_sys, has_time, decimal_comma, metric_only;
	size_t bad_json_line;
	struct span message; /* perf's own complaint */
	bool message_fatal;
	struct span started; /* date of "# started on" */
	char sep;
};

static void start_run(struct perf *p, enum form form);

/* ---- rows into counters ---- */

/* "cpu_core/cycles/u" -> event "cycles:u", pmu "cpu_core"; "cpu-clock [software]" loses its end */
static char *metric_of_event(struct span event, struct labels *labels)
{
	const char *open = span_find(event, " ["), *slash;
	char *metric, *name;

	if (open)
		event.len = (size_t)(open - event.p);
	event = span_trim(event);
	slash = memchr(event.p, '/', event.len);
	if (slash && slash > event.p) {
		struct span inner = span_from(event, slash + 1);
		const char *end = inner.len ? memchr(inner.p, '/', inner.len) : NULL;
		/* An event with parameters keeps its PMU: it means nothing without it. */
		bool plain = end && !memchr(inner.p, '=', (size_t)(end - inner.p)) &&
			     end + 1 == inner.p + inner.len;

		if (plain) {
			char *pmu = span_dup((struct span){event.p, (size_t)(slash - event.p)});

			labels_set(labels, "pmu", pmu);
			free(pmu);
			event = (struct span){inner.p, (size_t)(end - inner.p)};
		}
	}
	name = span_dup(event);
	metric = xasprintf("perf:%s", name);
	free(name);
	return metric;
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
static struct counter *counter_of(struct perf *p, const char *metric, struct labels *labels)
{
	struct counter *c;

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

static void set_unit(struct counter *c, struct span unit)
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

static void count_row(struct counter *c, const struct perf_row *row)
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
static bool is_next_command(const struct perf *p, const struct perf_row *row)
{
	if (!p->r || !p->len || row->is_summary)
		return false;
	return row->has_time != p->has_time || (row->has_time && row->time_s < p->last_time_s);
}

static int add_row(struct perf *p, const struct perf_row *row, struct err *reterr)
{
	struct labels labels = {0};
	struct counter *c;
	char *metric;

	if (is_next_command(p, row))
		start_run(p, p->form);
	if (p->len >= COUNTERS_MAX)
		return scan_error(&p->scan, NULL, reterr, "more than %d counters", COUNTERS_MAX);
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
		return scan_error(&p->scan, NULL, reterr, "the same event more than %d times",
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

static double counter_value(const struct counter *c)
{
	return c->has_summary ? c->summary_value : c->sum;
}

static bool is_exact(const struct counter *c)
{
	return (c->counted || c->has_summary) && !c->not_counted && !c->not_supported &&
	       (!c->has_percent || c->percent >= EXACT_PERCENT);
}

/* The same event counted for another cgroup or thread of this run: so it works on this box. */
static bool works_elsewhere(const struct perf *p, const struct counter *c, const char *label)
{
	for (size_t i = 0; i < p->len; i++)
		if (&p->c[i] != c && !strcmp(p->c[i].metric, c->metric) && p->c[i].counted &&
		    labels_get(&p->c[i].labels, label))
			return true;
	return false;
}

static const struct counter *same_key(const struct perf *p, const struct counter *c,
				      const char *metric)
{
	for (size_t i = 0; i < p->len; i++)
		if (!strcmp(p->c[i].metric, metric) && labels_equal(&p->c[i].labels, &c->labels))
			return &p->c[i];
	return NULL;
}

/* Numbers that cannot be, whatever perf says about how long it counted; NULL = plausible. */
static const char *implausible(const struct perf *p, const struct counter *c)
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
		const struct counter *other;
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
static const char *absent_reason(const struct perf *p, const struct counter *c, char *buf,
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

static void set_state(const struct counter *c, struct series *s)
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

static void set_repeats(const struct perf *p, const struct counter *c, struct series *s)
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

static void add_counter(struct perf *p, const struct counter *c)
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
static void add_ipc(struct perf *p, const struct counter *instructions)
{
	static const char prefix[] = "perf:instructions";
	const char *mode = instructions->metric + strlen(prefix);
	const struct counter *cycles;
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
static void add_table(struct perf *p)
{
	double sum = 0, squares = 0, min = INFINITY, max = 0;
	size_t n = p->table.len;
	struct series *s;

	for (size_t i = 0; i < n; i++) {
		sum += p->table.v[i];
		min = fmin(min, p->table.v[i]);
		max = fmax(max, p->table.v[i]);
	}
	for (size_t i = 0; i < n; i++)
		squares += pow(p->table.v[i] - sum / (double)n, 2);
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

static void add_times(struct perf *p)
{
	if (p->table.len >= 2) {
		add_table(p);
	} else if (p->has_elapsed && p->runs_n >= 2) {
		struct series *s = run_add_series(p->r, "elapsed", SERIES_SUMMARY, "ns");

		s->summary.n = (uint64_t)p->runs_n;
		s->summary.avg = p->elapsed_s * 1e9;
		s->summary.sdev = p->elapsed_error * 1e9 * sqrt(p->runs_n);
		s->summary.has_avg = s->summary.has_sdev = true;
	} else if (p->has_elapsed) {
		import_value(p->r, "elapsed", "ns", p->elapsed_s * 1e9);
		p->r->measured_ns = llround(p->elapsed_s * 1e9);
	}
	if (p->has_user)
		import_value(p->r, "user_time", "ns", p->user_s * 1e9);
	if (p->has_sys)
		import_value(p->r, "sys_time", "ns", p->sys_s * 1e9);
	if (p->has_time && !p->has_elapsed && p->last_time_s < 1e9)
		p->r->measured_ns = llround(p->last_time_s * 1e9);
}

static void keep_intervals(struct perf *p)
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

static void free_counters(struct perf *p)
{
	for (size_t i = 0; i < p->len; i++) {
		free(p->c[i].metric);
		free(p->c[i].own_unit);
		labels_done(&p->c[i].labels);
		json_decref(p->c[i].intervals);
	}
	free(p->c);
	p->c = NULL;
	p->len = p->cap = p->next = 0;
}

static void end_run(struct perf *p)
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
	free_counters(p);
	p->r = NULL;
}

static void start_run(struct perf *p, enum form form)
{
	end_run(p);
	p->form = form;
	p->blocks = p->block = 0;
	p->time_s = p->runs_n = 0;
	p->table.len = 0;
	p->has_elapsed = p->has_user = p->has_sys = p->has_time = p->decimal_comma = false;
	p->r = import_run(p->runs, p->o);
	if (p->started.len)
		(void)date_ctime(p->started, &p->r->started_ns);
}

/* ---- lines ---- */

static const char *json_key(const json_t *row, const char **ret_label)
{
	static const char *const labels[] = {"cpu",  "core",	"die",	 "socket",
					     "node", "cluster", "cache", "thread"};

	for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
		const char *v = json_get_text(row, labels[i]);

		if (!v)
			continue;
		*ret_label = labels[i];
		return v;
	}
	return NULL;
}

static struct span text_span(const char *s)
{
	return (struct span){s ? s : "", s ? strlen(s) : 0};
}

static int add_json(struct perf *p, const json_t *j, struct err *reterr)
{
	const char *value = json_get_text(j, "counter-value"), *event = json_get_text(j, "event");
	struct perf_row row = {.count = PERF_COUNTED};
	const char *unit = json_get_text(j, "unit");

	if (!value || !event || !*event) {
		/* rows of --metric-only and of metric groups have no counter */
		p->metric_only |= !json_object_get(j, "metric-value");
		return 0;
	}
	if (!strcmp(value, "<not counted>"))
		row.count = PERF_NOT_COUNTED;
	else if (!strcmp(value, "<not supported>"))
		row.count = PERF_NOT_SUPPORTED;
	else if (!span_double(text_span(value), &row.value))
		return scan_error(&p->scan, NULL, reterr, "counter-value '%.40s' is not a number",
				  value);
	row.event = text_span(event);
	row.unit = text_span(unit && strcmp(unit, "(null)") ? unit : NULL);
	row.key = text_span(json_key(j, &row.key_label));
	row.cgroup = text_span(json_get_text(j, "cgroup"));
	row.has_time = json_get_number(json_object_get(j, "interval"), &row.time_s);
	row.has_error = json_get_number(json_object_get(j, "variance"), &row.error_percent);
	row.has_run = json_get_number(json_object_get(j, "event-runtime"), &row.run_ns) &&
		      json_get_number(json_object_get(j, "pcnt-running"), &row.percent);
	return add_row(p, &row, reterr);
}

/* A broken line is reported, not fatal: the others are whole. */
static int json_line(struct perf *p, struct span line, struct err *reterr)
{
	json_error_t err;
	json_t *j = json_loadb(line.p, line.len, 0, &err);
	int rc;

	if (!j) {
		if (!p->bad_json_line)
			p->bad_json_line = p->scan.no;
		return 0;
	}
	if (p->form != FORM_JSON || !p->r)
		start_run(p, FORM_JSON);
	rc = add_json(p, j, reterr);
	json_decref(j);
	return rc;
}

/* "0.0195895 +- 0.0000382 seconds time elapsed", "0.010068000 seconds sys" */
static bool time_line(struct perf *p, struct span line)
{
	struct span value, word, rest = line, tail;
	bool ambiguous = false;
	double v, error = 0;

	if (!span_word(&rest, &value) || !perf_text_number(value, false, &v, &ambiguous) ||
	    !span_word(&rest, &word))
		return false;
	if (span_is(word, "+-")) {
		if (!span_word(&rest, &word) ||
		    !perf_text_number(word, false, &error, &ambiguous) || !span_word(&rest, &word))
			return false;
	}
	tail = span_trim(rest);
	if (!span_is(word, "seconds"))
		return false;
	if (span_starts(tail, "time elapsed")) {
		p->elapsed_s = v;
		p->elapsed_error = error;
		p->has_elapsed = true;
	} else if (span_starts(tail, "user")) {
		p->user_s = v;
		p->has_user = true;
	} else if (span_starts(tail, "sys")) {
		p->sys_s = v;
		p->has_sys = true;
	}
	return true;
}

/* "0.0195742 (-0.0000153) #" of the table of individual measurements */
static bool table_line(struct perf *p, struct span line)
{
	struct span value, deviation;
	bool ambiguous = false;
	double v;

	if (!span_word(&line, &value) || !span_word(&line, &deviation) || *deviation.p != '(' ||
	    deviation.len < 3 || !strchr("+-", deviation.p[1]) ||
	    !perf_text_number(value, false, &v, &ambiguous))
		return false;
	if (p->table.len < ARRAY_LEN(p->table.v))
		p->table.v[p->table.len++] = v;
	return true;
}

/* " Performance counter stats for 'cmd' (4 runs):" */
static void header_line(struct perf *p, struct span line)
{
	const char *open = memrchr(line.p, '(', line.len);
	struct span rest, word;
	double n;

	start_run(p, FORM_TEXT);
	if (!open)
		return;
	rest = span_from(line, open + 1);
	if (span_word(&rest, &word) && span_double(word, &n) && n >= 1 && n < 1e9 &&
	    span_starts(span_trim(rest), "runs"))
		p->runs_n = n;
}

static int text_line(struct perf *p, struct span line, struct err *reterr)
{
	bool ambiguous = false;
	struct perf_row row;

	if (time_line(p, line) || table_line(p, line) || !perf_text_row(line, &row, &ambiguous))
		return 0;
	if (ambiguous)
		return scan_error(
			&p->scan, line.p, reterr,
			"a number with one separator and three digits behind it can be read in two "
			"ways; run perf with LC_ALL=C");
	return add_row(p, &row, reterr);
}

/* What perf says instead of counting. The first ones mean that what was asked for was not measured,
 * whatever perf counted instead; the others only matter when there is nothing else. */
static bool is_complaint(struct span line, bool *ret_fatal)
{
	static const struct {
		const char *text;
		bool fatal;
	} texts[] = {
		{"System does not support topdown", true},
		{"Cannot find metric or group", true},
		{"Topdown requested but", true},
		{"Problems finding threads", false},
		{"event syntax error", false},
		{"No permission to enable", false},
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!span_starts(line, texts[i].text))
			continue;
		*ret_fatal = texts[i].fatal;
		return true;
	}
	return false;
}

static void comment_line(struct perf *p, struct span line)
{
	struct span date = line;

	if (span_skip(&date, "# started on "))
		p->started = date;
	if (!span_starts(line, "#           time"))
		return;
	/* The head of -I: again every 25 lines. Without "counts" it is the one of --metric-only. */
	if (!span_find(line, "counts"))
		p->metric_only = true;
	else if (!p->r || p->form != FORM_TEXT || !p->has_time)
		start_run(p, FORM_TEXT);
}

static int one_line(struct perf *p, struct span line, struct err *reterr)
{
	bool decimal_comma = false, fatal = false;
	struct perf_row row;
	struct span text = span_trim(line);

	if (!text.len)
		return 0;
	if (*text.p == '#') {
		comment_line(p, line);
		return 0;
	}
	if (is_complaint(text, &fatal) && (!p->message.len || (fatal && !p->message_fatal))) {
		p->message = text;
		p->message_fatal = fatal;
	}
	if (*text.p == '{')
		return json_line(p, text, reterr);
	if (span_starts(text, "Performance counter stats for")) {
		header_line(p, text);
		return 0;
	}
	if (span_is(text, "time,") || span_starts(text, "time,"))
		p->metric_only = true;
	if (perf_csv_row(line, &p->sep, &row, &decimal_comma)) {
		if (p->form != FORM_CSV || !p->r)
			start_run(p, FORM_CSV);
		p->decimal_comma |= decimal_comma;
		return add_row(p, &row, reterr);
	}
	/* -I in text has no "Performance counter stats" line. */
	if (p->form != FORM_TEXT) {
		bool ambiguous = false;

		if (!perf_text_row(line, &row, &ambiguous) || !row.has_time)
			return 0;
		start_run(p, FORM_TEXT);
	}
	return text_line(p, line, reterr);
}

static size_t count_series(const struct runs *rs)
{
	size_t n = 0;

	for (size_t i = 0; i < rs->len; i++)
		n += rs->v[i]->series_len;
	return n;
}

static int finish(struct perf *p, struct err *reterr)
{
	end_run(p);
	if (p->message.len && (p->message_fatal || !count_series(p->runs)))
		return err_set(reterr, ERR_INVALID, "%s: perf did not count: it says \"%.*s\"",
			       p->scan.source, SPAN_ARG(p->message));
	if (!count_series(p->runs)) {
		if (p->bad_json_line)
			return err_set(reterr, ERR_INVALID,
				       "%s:%zu: not valid JSON; perf writes decimal commas in some "
				       "locales: "
				       "run it with LC_ALL=C",
				       p->scan.source, p->bad_json_line);
		if (p->metric_only)
			return err_set(reterr, ERR_INVALID,
				       "%s: only metrics and no counts (--metric-only): run perf "
				       "without it",
				       p->scan.source);
		return err_set(reterr, ERR_INVALID, "%s: no counters of perf stat in it",
			       p->scan.source);
	}
	if (p->bad_json_line)
		run_note(p->runs->v[p->runs->len - 1], "broken-lines",
			 "line %zu is not valid JSON and was left out", p->bad_json_line);
	return 0;
}

static int perf_stat_read(const char *data, size_t len, const struct import_options *o,
			  struct runs *ret, struct err *reterr)
{
	struct perf *p = xcalloc(1, sizeof(*p));
	struct span line;
	int rc = 0;

	p->o = o;
	p->runs = ret;
	scan_init(&p->scan, data, len, o);
	while (!rc && scan_line(&p->scan, &line))
		rc = one_line(p, line, reterr);
	rc = rc ? rc : finish(p, reterr);
	free_counters(p);
	free(p);
	return rc;
}

static int perf_stat_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	bool decimal_comma = false, fatal;
	struct perf_row row;
	struct scan s;
	char sep = 0;

	if (span_find(head, "Performance counter stats for") ||
	    span_find(head, "\"counter-value\"") || span_find(head, " seconds time elapsed"))
		return 90;
	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line)) {
		struct span text = span_trim(line);

		if (is_complaint(text, &fatal) || span_is(text, "time,"))
			return 70;
		if (span_starts(line, "#           time"))
			return 80;
		if (text.len && *text.p != '#' && perf_csv_row(line, &sep, &row, &decimal_comma) &&
		    (row.has_run || row.count != PERF_COUNTED))
			return 85;
	}
	return 0;
}

const struct import_format import_perf_stat = {
	.name = "perf-stat",
	.title = "perf stat (text, -x CSV, -j JSON)",
	.sniff = perf_stat_sniff,
	.read = perf_stat_read,
};
