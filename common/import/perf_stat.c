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

enum form { FORM_NONE, FORM_CSV, FORM_JSON, FORM_TEXT };

struct perf {
	struct scan scan;
	const struct import_options *o;
	struct runs *runs;
	struct perf_run run; /* of the command whose output is being read */
	enum form form;
	bool metric_only;
	size_t bad_json_line;
	struct span message; /* perf's own complaint */
	bool message_fatal;
	struct span started; /* date of "# started on" */
	char sep;
};

static void start_run(struct perf *p, enum form form)
{
	perf_run_end(&p->run);
	p->form = form;
	p->run.r = import_run(p->runs, p->o);
	if (p->started.len)
		(void)date_ctime(p->started, &p->run.r->started_ns);
}

static int add_row(struct perf *p, const struct perf_row *row, struct err *reterr)
{
	if (perf_run_is_next(&p->run, row))
		start_run(p, p->form);
	return perf_run_add(&p->run, &p->scan, row, reterr);
}

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
	if (p->form != FORM_JSON || !p->run.r)
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
		p->run.elapsed_s = v;
		p->run.elapsed_error = error;
		p->run.has_elapsed = true;
	} else if (span_starts(tail, "user")) {
		p->run.user_s = v;
		p->run.has_user = true;
	} else if (span_starts(tail, "sys")) {
		p->run.sys_s = v;
		p->run.has_sys = true;
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
	if (p->run.table_len < PERF_TABLE_MAX)
		p->run.table[p->run.table_len++] = v;
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
		p->run.runs_n = n;
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
	else if (!p->run.r || p->form != FORM_TEXT || !p->run.has_time)
		start_run(p, FORM_TEXT);
}

static int one_line(struct perf *p, struct span line, struct err *reterr)
{
	bool decimal_comma = false, fatal = false;
	struct perf_row row;
	struct span text = span_trim(line);
	int rc;

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
		if (p->form != FORM_CSV || !p->run.r)
			start_run(p, FORM_CSV);
		rc = add_row(p, &row, reterr);
		p->run.decimal_comma |= decimal_comma;
		return rc;
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
	perf_run_end(&p->run);
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
	perf_run_done(&p->run);
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
