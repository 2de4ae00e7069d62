/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables with a header and one run in each row: columns are the run's place (order, block, host,
 * ...), factors or metrics. Also plain columns of numbers, as ministat reads them: without a
 * header, one column, one run a line.
 *
 * What a column is: by its name; else text is a factor; "factor:NAME" is a factor; a number is a
 * metric, unless it is a balanced set of few whole levels (0 1 0 1), which is a factor, noted. */
#include "common/import/csv_table.h"
#include "common/import/formats.h"
#include "common/model/metric.h"
#include "common/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#define ROWS_MAX   20000
#define LEVELS_MAX 8

enum role {
	ROLE_METRIC,
	ROLE_FACTOR,
	ROLE_ORDER,
	ROLE_BLOCK,
	ROLE_HOST,
	ROLE_BOOT,
	ROLE_EXPERIMENT,
	ROLE_EXCLUDED
};

static const struct {
	const char *name;
	enum role role;
} known_columns[] = {
	{"order", ROLE_ORDER},	     {"index", ROLE_ORDER},
	{"run", ROLE_ORDER},	     {"iteration", ROLE_ORDER},
	{"block", ROLE_BLOCK},	     {"pair", ROLE_BLOCK},
	{"host", ROLE_HOST},	     {"boot", ROLE_BOOT},
	{"boot_id", ROLE_BOOT},	     {"experiment", ROLE_EXPERIMENT},
	{"excluded", ROLE_EXCLUDED},
};

struct column {
	enum role role;
	char *name, *unit; /* unit only for metrics */
	double unit_ns;	   /* of a metric that is a time, else 0 */
	bool sure;	   /* the role comes from the name */
	bool whole;	   /* every cell is a whole number */
	bool numeric;	   /* every cell is a number or empty */
	bool has_zero;
	int64_t levels[LEVELS_MAX];
	size_t level_rows[LEVELS_MAX], levels_len;
	bool many; /* more levels than LEVELS_MAX */
};

struct table {
	struct csv_table csv;
	struct column *columns;
	size_t len, rows;
};

static bool cell_is_empty(const char *text)
{
	return !*text || !strcmp(text, "-") || !strcasecmp(text, "na") ||
	       !strcasecmp(text, "nan") || !strcasecmp(text, "null");
}

/* "p99 [us]", "time (ms)", "p99_us": the unit leaves the name. */
static void unit_from_name(struct column *c)
{
	size_t len = strlen(c->name);
	char *open = strpbrk(c->name, "[(");
	struct span unit = {NULL, 0};

	if (open && open > c->name && len > 2 && strchr("])", c->name[len - 1]))
		unit = span_trim((struct span){open + 1, (size_t)(c->name + len - 2 - open)});
	else if ((open = strrchr(c->name, '_')) &&
		 (!strcmp(open, "_ns") || !strcmp(open, "_us") || !strcmp(open, "_ms")))
		unit = (struct span){open + 1, 2};
	if (!unit.len || open == c->name)
		return;
	c->unit_ns = unit_word_ns(unit);
	c->unit = c->unit_ns ? xstrdup("ns") : span_dup(unit);
	c->sure = true;
	while (open > c->name && open[-1] == ' ')
		open--;
	*open = '\0';
}

static void column_from_name(struct column *c, const char *name)
{
	c->numeric = c->whole = true;
	for (size_t i = 0; i < ARRAY_LEN(known_columns); i++) {
		if (strcasecmp(name, known_columns[i].name))
			continue;
		c->role = known_columns[i].role;
		c->sure = true;
	}
	if (!strncmp(name, "factor:", 7) && name[7]) {
		c->role = ROLE_FACTOR;
		c->sure = true;
		name += 7;
	}
	c->name = xstrdup(name);
	if (c->sure)
		return;
	c->sure = metric_find(name)->better != BETTER_NONE;
	unit_from_name(c);
}

static void note_level(struct column *c, int64_t v)
{
	for (size_t i = 0; i < c->levels_len; i++) {
		if (c->levels[i] != v)
			continue;
		c->level_rows[i]++;
		return;
	}
	if (c->levels_len == LEVELS_MAX) {
		c->many = true;
		return;
	}
	c->levels[c->levels_len] = v;
	c->level_rows[c->levels_len++] = 1;
}

static void look_at_cell(struct column *c, const char *text)
{
	struct err err;
	int64_t whole;
	double v;

	if (cell_is_empty(text)) {
		c->whole = false;
		return;
	}
	if (parse_double(text, &v, &err))
		c->numeric = c->whole = false;
	else if (!span_i64((struct span){text, strlen(text)}, &whole))
		c->whole = false;
	else
		note_level(c, whole);
	if (c->whole && whole == 0)
		c->has_zero = true;
}

/* Whole levels, each in as many rows as the others (one more or less), two rows at least. */
static bool is_balanced(const struct column *c, size_t rows)
{
	size_t least = rows, most = 0;

	if (!c->whole || c->many || c->levels_len < 2)
		return false;
	for (size_t i = 0; i < c->levels_len; i++) {
		least = c->level_rows[i] < least ? c->level_rows[i] : least;
		most = c->level_rows[i] > most ? c->level_rows[i] : most;
	}
	return least >= 2 && most - least <= 1;
}

static void decide_roles(struct table *t, const struct import_options *o)
{
	size_t metrics = 0;

	for (size_t i = 0; i < t->len; i++) {
		struct column *c = &t->columns[i];
		bool asked = o && o->metric && !strcasecmp(c->name, o->metric);

		if (asked)
			c->role = ROLE_METRIC;
		else if (!c->sure && (!c->numeric || is_balanced(c, t->rows)))
			c->role = ROLE_FACTOR;
		else if ((c->role == ROLE_ORDER || c->role == ROLE_BLOCK) && !c->whole)
			c->role = ROLE_FACTOR;
		metrics += c->role == ROLE_METRIC;
	}
	/* Whole levels in every column: the last column is what was measured. */
	if (!metrics && t->len && t->columns[t->len - 1].numeric && !t->columns[t->len - 1].sure)
		t->columns[t->len - 1].role = ROLE_METRIC;
}

static int first_pass(struct table *t, const char *data, size_t len, const struct import_options *o,
		      struct err *reterr)
{
	int rc = csv_open(&t->csv, data, len, o, reterr);

	if (rc)
		return rc;
	t->len = t->csv.columns;
	t->columns = xcalloc(t->len + 1, sizeof(*t->columns));
	for (size_t i = 0; i < t->len; i++)
		column_from_name(&t->columns[i], t->csv.names[i]);
	while ((rc = csv_row(&t->csv, reterr)) == 1) {
		if (++t->rows > ROWS_MAX)
			return scan_error(&t->csv.scan, NULL, reterr,
					  "more than %d rows: each row is read as one run; import "
					  "samples as a histogram",
					  ROWS_MAX);
		for (size_t i = 0; i < t->len; i++)
			look_at_cell(&t->columns[i], t->csv.cells[i]);
	}
	if (!rc && !t->rows)
		return scan_error(&t->csv.scan, NULL, reterr, "a header without rows");
	decide_roles(t, o);
	return rc;
}

static void set_text(char **to, const char *text)
{
	if (*to || cell_is_empty(text))
		return;
	*to = xstrdup(text);
}

static int add_metric(const struct table *t, const struct column *c, const char *text,
		      const struct import_options *o, struct run *r, struct err *reterr)
{
	double v, unit_ns = c->unit_ns;
	const char *unit = c->unit ? c->unit : "1";
	struct err err;

	if (o && o->unit_ns) {
		if (c->unit && c->unit_ns != (double)o->unit_ns)
			return scan_error(
				&t->csv.scan, NULL, reterr,
				"the header gives column %s its own unit; leave --unit out",
				c->name);
		unit_ns = (double)o->unit_ns;
		unit = "ns";
	}
	if (cell_is_empty(text)) {
		import_absent(r, c->name, unit, "the cell in line %zu is empty", t->csv.scan.no);
		return 0;
	}
	if (parse_double(text, &v, &err))
		return scan_error(&t->csv.scan, NULL, reterr, "column %s: %s", c->name, err.text);
	import_value(r, c->name, unit, unit_ns ? v * unit_ns : v);
	return 0;
}

static int add_cell(const struct table *t, size_t i, const struct import_options *o, struct run *r,
		    struct err *reterr)
{
	const struct column *c = &t->columns[i];
	const char *text = t->csv.cells[i];
	int64_t whole = 0;

	switch (c->role) {
	case ROLE_METRIC:
		return add_metric(t, c, text, o, r, reterr);
	case ROLE_FACTOR:
		labels_set(&r->factors, c->name, cell_is_empty(text) ? NULL : text);
		break;
	case ROLE_ORDER:
	case ROLE_BLOCK:
		if (!span_i64((struct span){text, strlen(text)}, &whole) || whole < 0 ||
		    whole >= UINT32_MAX)
			return scan_error(&t->csv.scan, NULL, reterr,
					  "column %s: '%s' is not a position", c->name, text);
		whole += c->has_zero;
		*(c->role == ROLE_ORDER ? &r->order : &r->block) = (uint32_t)whole;
		break;
	case ROLE_HOST:
		set_text(&r->host, text);
		break;
	case ROLE_BOOT:
		set_text(&r->boot_id, text);
		break;
	case ROLE_EXPERIMENT:
		set_text(&r->experiment, text);
		break;
	case ROLE_EXCLUDED:
		set_text(&r->excluded, text);
		break;
	}
	return 0;
}

static bool has_metric(const struct table *t)
{
	for (size_t i = 0; i < t->len; i++)
		if (t->columns[i].role == ROLE_METRIC)
			return true;
	return false;
}

static void note_inferred(const struct table *t, struct run *r)
{
	for (size_t i = 0; i < t->len; i++) {
		const struct column *c = &t->columns[i];

		if (c->role == ROLE_FACTOR && !c->sure && c->numeric)
			run_note(r, "inferred-factor",
				 "column %s has %zu whole values, each equally often; read as a "
				 "factor "
				 "(--metric %s reads it as what was measured)",
				 c->name, c->levels_len, c->name);
	}
}

static int second_pass(struct table *t, const char *data, size_t len,
		       const struct import_options *o, struct runs *ret, struct err *reterr)
{
	int rc;

	csv_done(&t->csv);
	rc = csv_open(&t->csv, data, len, o, reterr);
	while (!rc && (rc = csv_row(&t->csv, reterr)) == 1) {
		struct run *r = import_run(ret, o);

		rc = 0;
		r->order = (uint32_t)ret->len;
		for (size_t i = 0; !rc && i < t->len; i++)
			rc = add_cell(t, i, o, r, reterr);
		note_inferred(t, r);
	}
	return rc;
}

static int table_read(const char *data, size_t len, const struct import_options *o,
		      struct runs *ret, struct err *reterr)
{
	struct table t = {0};
	int rc = first_pass(&t, data, len, o, reterr);

	if (!rc && !has_metric(&t))
		rc = err_set(
			reterr, ERR_INVALID,
			"%s: no column holds numbers that were measured; name one with --metric",
			import_source(o));
	if (!rc)
		rc = second_pass(&t, data, len, o, ret, reterr);
	for (size_t i = 0; i < t.len; i++) {
		free(t.columns[i].name);
		free(t.columns[i].unit);
	}
	free(t.columns);
	csv_done(&t.csv);
	return rc;
}

static bool next_line(struct scan *s, struct span *ret)
{
	while (scan_line(s, ret)) {
		*ret = span_trim(*ret);
		if (ret->len && *ret->p != '#')
			return true;
	}
	return false;
}

/* What one line holds when it is split at `sep`. */
struct line_shape {
	size_t cells, numbers;
};

static struct line_shape shape_of(struct span line, char sep)
{
	struct line_shape shape = {0, 0};
	struct strbuf quoted = {0};
	struct span cell;
	double v;

	while (sep == ' ' || !sep ? span_word(&line, &cell)
				  : span_cell(&line, sep, &quoted, &cell)) {
		shape.cells++;
		shape.numbers += span_double(span_trim(cell), &v);
	}
	strbuf_done(&quoted);
	return shape;
}

static bool all_numbers(struct span line, char sep)
{
	struct line_shape shape = shape_of(line, sep);

	return shape.cells > 0 && shape.numbers == shape.cells;
}

static int numbers_read(struct scan *s, struct span line, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	do {
		struct run *r;
		double v;

		if (span_count_words(line) > 1)
			return scan_error(
				s, line.p, reterr,
				"several columns and no header: which one was measured? Put a "
				"line of names first");
		if (!span_double(line, &v))
			return scan_error(s, line.p, reterr, "'%.*s' is not a number",
					  SPAN_ARG(line));
		if (ret->len == ROWS_MAX)
			return scan_error(
				s, NULL, reterr,
				"more than %d lines: each line is read as one run; import "
				"samples as a histogram",
				ROWS_MAX);
		r = import_run(ret, o);
		r->order = (uint32_t)ret->len;
		if (o && o->unit_ns)
			import_value(r, "value", "ns", v * (double)o->unit_ns);
		else
			import_value(r, "value", "1", v);
	} while (next_line(s, &line));
	return 0;
}

static int columns_read(const char *data, size_t len, const struct import_options *o,
			struct runs *ret, struct err *reterr)
{
	struct span line;
	struct scan s;

	scan_init(&s, data, len, o);
	if (!next_line(&s, &line))
		return err_set(reterr, ERR_INVALID, "%s: the file is empty", s.source);
	return all_numbers(line, ' ') ? numbers_read(&s, line, o, ret, reterr)
				      : table_read(data, len, o, ret, reterr);
}

/* The first two lines of data. */
struct shape {
	char sep;
	struct line_shape first, second;
};

static bool look_at_shape(const char *data, size_t len, struct shape *ret)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	memset(ret, 0, sizeof(*ret));
	scan_init(&s, head.p, head.len, NULL);
	if (!next_line(&s, &line))
		return false;
	ret->sep = csv_separator(line);
	ret->first = shape_of(line, ret->sep);
	if (next_line(&s, &line))
		ret->second = shape_of(line, ret->sep);
	return true;
}

static bool is_table(const struct shape *s)
{
	return s->first.numbers < s->first.cells && s->first.cells == s->second.cells &&
	       s->second.numbers > 0;
}

static int csv_sniff(const char *data, size_t len)
{
	struct shape s;

	if (!look_at_shape(data, len, &s) || !s.sep || s.sep == ' ')
		return 0;
	if (is_table(&s))
		return 30;
	/* Ragged rows: read it for the sake of the message. */
	return !s.first.numbers && s.second.numbers > 0 ? 10 : 0;
}

static int columns_sniff(const char *data, size_t len)
{
	struct shape s;

	if (!look_at_shape(data, len, &s) || (s.sep && s.sep != ' '))
		return 0;
	if (s.first.numbers == s.first.cells)
		return 25;
	return is_table(&s) ? 20 : 0;
}

const struct import_format import_csv = {
	.name = "csv",
	.title = "CSV with a header, one run in each row",
	.sniff = csv_sniff,
	.read = table_read,
};

const struct import_format import_columns = {
	.name = "columns",
	.title = "plain columns of numbers, one run in each line",
	.sniff = columns_sniff,
	.read = columns_read,
};
