/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had the cycles: perf report --stdio (also -t SEP) and perf script.
 *
 * Shares are of all sampled cycles, idle included, weighted by period: counting samples instead
 * gives wrong shares when the period varies (-F). The name of the share says what was sampled:
 * cycle_share for cycles, time_share for a clock. perf diff has only percentage points of two
 * unlike totals and is refused. */
#include "common/import/formats.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#define APPS_MAX     20000
#define COLUMNS_MAX  16
#define SLOTS	     1024
#define TABLES_MAX   64
#define LOST_PERCENT 1 /* more than this and a share means nothing */

struct app {
	char *name;
	double weight, samples;
	size_t next; /* in its hash slot, index + 1; 0 = the last one */
};

/* One event's shares. */
struct shares {
	char *event;
	struct app *apps;
	size_t len, cap;
	size_t slots[SLOTS]; /* hash of the name -> index + 1 */
	double total, samples, lost;
	bool by_period, by_percent;
};

struct report {
	struct scan scan;
	const struct import_options *o;
	struct shares *s; /* finished or open tables */
	size_t len, cap;
};

static struct shares *new_shares(struct report *r, struct span event)
{
	struct shares *s;

	GROW(r->s, r->len, r->cap);
	s = &r->s[r->len++];
	memset(s, 0, sizeof(*s));
	s->event = span_dup(event);
	return s;
}

static void shares_done(struct report *r)
{
	for (size_t i = 0; i < r->len; i++) {
		for (size_t k = 0; k < r->s[i].len; k++)
			free(r->s[i].apps[k].name);
		free(r->s[i].apps);
		free(r->s[i].event);
	}
	free(r->s);
}

/* FNV-1a */
static size_t slot_of(struct span name)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (unsigned char)name.p[i]) * 16777619u;
	return h % SLOTS;
}

static struct app *find_app(struct shares *s, struct span name)
{
	for (size_t i = s->slots[slot_of(name)]; i; i = s->apps[i - 1].next)
		if (span_is(name, s->apps[i - 1].name))
			return &s->apps[i - 1];
	return NULL;
}

static struct app *new_app(struct shares *s, struct span name)
{
	size_t *slot = &s->slots[slot_of(name)];
	struct app *a;

	GROW(s->apps, s->len, s->cap);
	a = &s->apps[s->len++];
	*a = (struct app){.name = span_dup(name), .next = *slot};
	*slot = s->len;
	return a;
}

static int add_weight(struct report *r, struct shares *s, struct span name, double weight,
		      double samples, struct err *reterr)
{
	struct app *a = find_app(s, name);

	if (!a && s->len == APPS_MAX)
		return scan_error(&r->scan, NULL, reterr, "more than %d commands", APPS_MAX);
	if (!a)
		a = new_app(s, name);
	a->weight += weight;
	a->samples += samples;
	s->total += weight;
	s->samples += samples;
	return 0;
}

/* What a share of this event is called. */
static const char *share_metric(const char *event)
{
	if (!strncmp(event, "cycles", 6) || !strncmp(event, "cpu-cycles", 10) ||
	    strstr(event, "/cycles") || strstr(event, "/cpu-cycles"))
		return "cycle_share";
	if (!strncmp(event, "cpu-clock", 9) || !strncmp(event, "task-clock", 10))
		return "time_share";
	return "event_share";
}

static void shares_to_run(const struct shares *s, struct run *r)
{
	const char *metric = share_metric(s->event);
	double total = s->by_percent ? 100 : s->total;
	bool lossy = s->lost * 100 > LOST_PERCENT * (s->lost + s->samples);

	for (size_t i = 0; i < s->len; i++) {
		struct series *x =
			lossy ? import_absent(r, metric, "%",
					      "%.0f of %.0f samples were lost: no share is certain",
					      s->lost, s->lost + s->samples)
			      : import_value(r, metric, "%", s->apps[i].weight / total * 100);

		x->method = xstrdup("perf-record");
		labels_set(&x->labels, "app", s->apps[i].name);
		if (!strcmp(metric, "event_share"))
			labels_set(&x->labels, "event", s->event);
		if (!lossy && s->by_percent) {
			x->state = VALUE_ESTIMATED;
			x->reason = xstrdup("from printed percentages of two decimals");
		}
	}
	if (s->by_percent)
		run_note(r, "rounded-shares",
			 "%s: the report has no Period column, so shares are sums of rounded "
			 "percentages (perf report -F overhead,sample,period,comm)",
			 s->event);
	else if (!s->by_period)
		run_note(r, "unweighted-samples",
			 "%s: the samples have no period, so each one weighs the same", s->event);
	if (s->samples > 0)
		import_extra(r, s->event, json_pack("{s:f}", "samples", s->samples));
}

/* Tables of one event each; an event that comes again is the next run. */
static int finish(struct report *r, struct runs *ret, struct err *reterr)
{
	struct run *run = NULL;
	size_t first = 0;

	for (size_t i = 0; i < r->len; i++) {
		bool again = false;

		if (!r->s[i].len)
			continue;
		for (size_t k = first; k < i; k++)
			again |= r->s[k].len && !strcmp(r->s[k].event, r->s[i].event);
		if (!run || again) {
			run = import_run(ret, r->o);
			first = i;
			run_note(run, "share-of-all",
				 "shares are of everything that was sampled, the idle task "
				 "included");
		}
		shares_to_run(&r->s[i], run);
	}
	if (!run)
		return err_set(reterr, ERR_INVALID,
			       "%s: no samples in it (only comments, or task events)",
			       r->scan.source);
	return 0;
}

/* ---- perf report ---- */

enum cell { CELL_OTHER, CELL_OVERHEAD, CELL_SAMPLES, CELL_PERIOD, CELL_COMMAND };

struct layout {
	enum cell cells[COLUMNS_MAX];
	size_t ends[COLUMNS_MAX]; /* of the dotted line's columns */
	size_t len;
	char sep; /* 0: fixed columns */
	bool has_period;
};

/* Removes colour codes; the result is malloc'd. */
static char *without_colours(struct span line)
{
	char *text = xcalloc(line.len + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < line.len; i++) {
		if (line.p[i] == '\033' && i + 1 < line.len && line.p[i + 1] == '[') {
			while (i < line.len && line.p[i] != 'm')
				i++;
			continue;
		}
		text[n++] = line.p[i];
	}
	return text;
}

static enum cell cell_of(struct span name)
{
	if (span_is(name, "Overhead"))
		return CELL_OVERHEAD;
	if (span_is(name, "Samples"))
		return CELL_SAMPLES;
	if (span_is(name, "Period"))
		return CELL_PERIOD;
	if (span_is(name, "Command"))
		return CELL_COMMAND;
	return CELL_OTHER;
}

/* "# Overhead;     Samples;Command": with -t the names are between separators. */
static bool header_with_separator(struct span line, struct layout *l)
{
	struct span name;
	char sep = 0;

	if (!span_skip(&line, "# "))
		return false;
	for (size_t i = 0; i < line.len && !sep; i++)
		if (strchr(";,|:\t^", line.p[i]))
			sep = line.p[i];
	if (!sep || !span_find(line, "Command"))
		return false;
	memset(l, 0, sizeof(*l));
	l->sep = sep;
	while (l->len < COLUMNS_MAX && span_field(&line, sep, &name)) {
		l->cells[l->len] = cell_of(span_trim(name));
		l->has_period |= l->cells[l->len++] == CELL_PERIOD;
	}
	return true;
}

/* The names stand above the dots: "# ........  ............". */
static bool header_with_dots(struct span names, struct span dots, struct layout *l)
{
	size_t i = 0;

	if (!span_starts(dots, "# ..") || !span_find(names, "Overhead"))
		return false;
	memset(l, 0, sizeof(*l));
	for (i = 2; i < dots.len && l->len < COLUMNS_MAX;) {
		size_t start = i, end;
		struct span name;

		while (i < dots.len && dots.p[i] == '.')
			i++;
		end = i;
		while (i < dots.len && dots.p[i] == ' ')
			i++;
		if (end == start)
			return false;
		name = (struct span){names.p + (start < names.len ? start : names.len),
				     start < names.len ? (i < names.len ? i : names.len) - start
						       : 0};
		l->cells[l->len] = cell_of(span_trim(name));
		l->has_period |= l->cells[l->len] == CELL_PERIOD;
		l->ends[l->len++] = end;
	}
	return l->len > 0;
}

/* A row's cells: numbers and percentages are words, the last columns may hold blanks, so fixed
 * columns are cut where the dots end. */
static bool next_cell(const struct layout *l, struct span row, size_t i, size_t *at,
		      struct span *ret)
{
	size_t end;

	if (l->sep) {
		struct span rest = {row.p + *at, row.len - *at};

		if (*at > row.len || !span_field(&rest, l->sep, ret))
			return false;
		*at = rest.p ? (size_t)(rest.p - row.p) : row.len + 1;
		return true;
	}
	if (*at >= row.len)
		return false;
	end = i + 1 == l->len ? row.len : l->ends[i];
	if (end > row.len)
		end = row.len;
	if (end < *at)
		end = *at;
	/* A value wider than its dots runs on to the next blank. */
	while (l->cells[i] != CELL_COMMAND && end < row.len && row.p[end] != ' ')
		end++;
	*ret = (struct span){row.p + *at, end - *at};
	*at = end;
	return true;
}

static bool percent_of(struct span s, double *ret)
{
	s = span_trim(s);
	if (s.len < 2 || s.p[s.len - 1] != '%')
		return false;
	s.len--;
	return span_double(s, ret);
}

static int report_row(struct report *r, struct shares *s, const struct layout *l, struct span row,
		      struct err *reterr)
{
	double overhead = 0, period = 0, samples = 0;
	struct span cell, command = {NULL, 0};
	bool has_overhead = false;
	size_t at = 0;

	for (size_t i = 0; i < l->len && next_cell(l, row, i, &at, &cell); i++) {
		cell = span_trim(cell);
		if (l->cells[i] == CELL_OVERHEAD)
			has_overhead = percent_of(cell, &overhead);
		else if (l->cells[i] == CELL_PERIOD && !span_double(cell, &period))
			return scan_error(&r->scan, NULL, reterr, "period '%.*s' is not a number",
					  SPAN_ARG(cell));
		else if (l->cells[i] == CELL_SAMPLES)
			(void)span_double(cell, &samples);
		else if (l->cells[i] == CELL_COMMAND)
			command = cell;
	}
	if (!has_overhead || !command.len)
		return 0;
	s->by_period = l->has_period;
	s->by_percent = !l->has_period;
	return add_weight(r, s, command, l->has_period ? period : overhead, samples, reterr);
}

/* "# Samples: 652  of event 'cycles'" */
static bool samples_line(struct span line, struct span *ret_event)
{
	const char *at = span_find(line, "of event"), *quote;
	struct span rest;

	if (!span_starts(line, "# Samples:") || !at)
		return false;
	rest = span_from(line, at);
	quote = memchr(rest.p, '\'', rest.len);
	if (!quote)
		return false;
	rest = span_from(rest, quote + 1);
	quote = memrchr(rest.p, '\'', rest.len);
	if (!quote)
		return false;
	*ret_event = (struct span){rest.p, (size_t)(quote - rest.p)};
	return true;
}

static void lost_line(struct span line, double *lost)
{
	struct span word;

	if (span_skip(&line, "# Total Lost Samples:") && span_word(&line, &word))
		(void)span_double(word, lost);
}

struct report_state {
	struct shares *s;
	struct layout layout;
	char *names; /* the line above */
	bool has_layout;
	double lost;
};

static int report_line(struct report *r, struct report_state *t, struct span line,
		       struct err *reterr)
{
	struct span event;

	lost_line(line, &t->lost);
	if (samples_line(line, &event)) {
		if (r->len == TABLES_MAX)
			return scan_error(&r->scan, NULL, reterr, "more than %d tables",
					  TABLES_MAX);
		t->s = new_shares(r, event);
		t->s->lost = t->lost;
		t->has_layout = false;
	} else if (span_find(line, "Children") && span_starts(line, "#")) {
		return scan_error(
			&r->scan, NULL, reterr,
			"with call graphs a command counts several times: use perf report "
			"--no-children");
	} else if (t->s && header_with_separator(line, &t->layout)) {
		t->has_layout = true;
	} else if (t->s && t->names &&
		   header_with_dots((struct span){t->names, strlen(t->names)}, line, &t->layout)) {
		t->has_layout = true;
	} else if (t->s && t->has_layout && line.len && *line.p != '#') {
		return report_row(r, t->s, &t->layout, line, reterr);
	} else if (!span_trim(line).len && t->has_layout && t->s->len) {
		t->has_layout = false; /* the table ends */
	}
	return 0;
}

static int perf_report_read(const char *data, size_t len, const struct import_options *o,
			    struct runs *ret, struct err *reterr)
{
	struct report r = {.o = o};
	struct report_state t = {0};
	struct span line;
	int rc = 0;

	scan_init(&r.scan, data, len, o);
	while (!rc && scan_line(&r.scan, &line)) {
		char *plain = without_colours(line);

		if (!strncmp(plain, "# Baseline", 10))
			rc = scan_error(
				&r.scan, NULL, reterr,
				"perf diff gives percentage points of two unlike totals: import "
				"the perf report of each side instead");
		else
			rc = report_line(&r, &t, (struct span){plain, strlen(plain)}, reterr);
		free(t.names);
		t.names = plain;
	}
	free(t.names);
	rc = rc ? rc : finish(&r, ret, reterr);
	shares_done(&r);
	return rc;
}

static int perf_report_sniff(const char *data, size_t len)
{
	struct span line, event, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line)) {
		if (samples_line(line, &event))
			return 90;
		if (span_starts(line, "# Baseline") && span_find(line, "Delta"))
			return 90;
	}
	return 0;
}

/* ---- perf script ---- */

struct sample {
	struct span comm, event;
	double period;
	bool has_period, is_record; /* PERF_RECORD_...: no sample */
};

static bool is_pid(struct span s)
{
	struct span part;
	uint64_t v;

	if (!span_field(&s, '/', &part) || !span_u64(part, &v))
		return false;
	return !s.p || span_u64(s, &v);
}

/* "1945.221608:" */
static bool is_clock(struct span s)
{
	double v;

	if (s.len < 3 || s.p[s.len - 1] != ':')
		return false;
	s.len--;
	return memchr(s.p, '.', s.len) && span_double(s, &v);
}

/* What stands behind comm, pid, [cpu] and time: an optional period and the event. */
static bool sample_tail(struct span rest, struct sample *ret)
{
	struct span word;
	uint64_t period;

	if (!span_word(&rest, &word))
		return false;
	if (span_starts(word, "PERF_RECORD_")) {
		ret->is_record = true;
		return true;
	}
	if (span_u64(word, &period)) {
		ret->period = (double)period;
		ret->has_period = true;
		if (!span_word(&rest, &word))
			return false;
	}
	if (word.len < 2 || word.p[word.len - 1] != ':')
		return false;
	ret->event = (struct span){word.p, word.len - 1};
	return true;
}

/* COMM PID[/TID] [CPU] TIME: [PERIOD] EVENT: ... ; COMM may hold blanks, so it is what stands
 * before the words that come right before the time. */
static bool parse_sample(struct span line, struct sample *ret)
{
	struct span rest = line, word, pid = {NULL, 0};

	memset(ret, 0, sizeof(*ret));
	while (span_word(&rest, &word)) {
		if (is_clock(word) && pid.len) {
			ret->comm = span_trim((struct span){line.p, (size_t)(pid.p - line.p)});
			return ret->comm.len && sample_tail(rest, ret);
		}
		if (word.len > 2 && *word.p == '[' && word.p[word.len - 1] == ']')
			continue; /* the CPU */
		pid = is_pid(word) ? word : (struct span){NULL, 0};
	}
	return false;
}

/* The shares of this event, made when it is new. */
static struct shares *shares_of(struct report *r, struct span event)
{
	for (size_t i = 0; i < r->len; i++)
		if (span_is(event, r->s[i].event))
			return &r->s[i];
	return r->len < TABLES_MAX ? new_shares(r, event) : NULL;
}

static int script_line(struct report *r, struct span line, struct err *reterr)
{
	struct sample sample;
	struct shares *s;

	if (!line.len || *line.p == '#' || !parse_sample(line, &sample) || sample.is_record)
		return 0;
	s = shares_of(r, sample.event);
	if (!s)
		return scan_error(&r->scan, NULL, reterr, "more than %d events", TABLES_MAX);
	if (s->len && s->by_period != sample.has_period)
		return scan_error(&r->scan, sample.event.p, reterr,
				  "samples with and without a period in one file");
	s->by_period = sample.has_period;
	return add_weight(r, s, sample.comm, sample.has_period ? sample.period : 1, 1, reterr);
}

static int perf_script_read(const char *data, size_t len, const struct import_options *o,
			    struct runs *ret, struct err *reterr)
{
	struct report r = {.o = o};
	struct span line;
	int rc = 0;

	scan_init(&r.scan, data, len, o);
	while (!rc && scan_line(&r.scan, &line))
		rc = script_line(&r, line, reterr);
	rc = rc ? rc : finish(&r, ret, reterr);
	shares_done(&r);
	return rc;
}

static int perf_script_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct sample sample;
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (line.len && *line.p != '#' && parse_sample(line, &sample))
			return 75;
	return 0;
}

const struct import_format import_perf_report = {
	.name = "perf-report",
	.title = "perf report --stdio",
	.sniff = perf_report_sniff,
	.read = perf_report_read,
};

const struct import_format import_perf_script = {
	.name = "perf-script",
	.title = "perf script",
	.sniff = perf_script_sniff,
	.read = perf_script_read,
};
