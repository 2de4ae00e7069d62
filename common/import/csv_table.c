/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/csv_table.h"

#include <strings.h>

static size_t count_char(struct span s, char c)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i++)
		n += s.p[i] == c;
	return n;
}

char csv_separator(struct span header)
{
	static const char seps[] = ";\t,";

	for (const char *c = seps; *c; c++)
		if (count_char(header, *c))
			return *c;
	return span_count_words(header) > 1 ? ' ' : 0;
}

/* Splits a line into malloc'd cells. */
static int split(struct csv_table *t, struct span line, char ***ret, size_t *ret_len,
		 struct err *reterr)
{
	size_t cap = *ret_len;
	struct span cell;

	*ret_len = 0;
	while (t->sep == ' ' ? span_word(&line, &cell)
			     : span_cell(&line, t->sep ? t->sep : ',', &t->quoted, &cell)) {
		if (*ret_len == CSV_COLUMNS_MAX)
			return scan_error(&t->scan, NULL, reterr, "more than %d columns",
					  CSV_COLUMNS_MAX);
		GROW(*ret, *ret_len, cap);
		(*ret)[(*ret_len)++] = span_dup(span_trim(cell));
	}
	return 0;
}

static void free_cells(char ***cells, size_t *len)
{
	for (size_t i = 0; i < *len; i++)
		free((*cells)[i]);
	free(*cells);
	*cells = NULL;
	*len = 0;
}

static bool next_data_line(struct csv_table *t, struct span *ret)
{
	while (scan_line(&t->scan, ret)) {
		struct span text = span_trim(*ret);

		if (text.len && *text.p != '#')
			return true;
	}
	return false;
}

int csv_open(struct csv_table *t, const char *data, size_t len, const struct import_options *o,
	     struct err *reterr)
{
	struct span line;
	int rc;

	memset(t, 0, sizeof(*t));
	scan_init(&t->scan, data, len, o);
	if (!next_data_line(t, &line))
		return err_set(reterr, ERR_INVALID, "%s: the file is empty", t->scan.source);
	t->sep = csv_separator(line);
	rc = split(t, line, &t->names, &t->columns, reterr);
	for (size_t i = 0; !rc && i < t->columns; i++) {
		if (!*t->names[i])
			return scan_error(&t->scan, NULL, reterr,
					  "column %zu has no name in the header", i + 1);
		if (csv_column(t, t->names[i]) != (int)i)
			return scan_error(&t->scan, NULL, reterr, "two columns are named '%s'",
					  t->names[i]);
	}
	return rc;
}

int csv_row(struct csv_table *t, struct err *reterr)
{
	struct span line;
	int rc;

	free_cells(&t->cells, &t->cells_len);
	if (!next_data_line(t, &line))
		return 0;
	if (span_is_elision(line))
		return scan_error(&t->scan, line.p, reterr,
				  "rows were left out here; import the whole table");
	rc = split(t, line, &t->cells, &t->cells_len, reterr);
	if (rc)
		return rc;
	if (t->cells_len != t->columns)
		return scan_error(&t->scan, NULL, reterr,
				  "%zu cells, but the header has %zu columns%s", t->cells_len,
				  t->columns,
				  t->sep == ',' && t->cells_len > t->columns
					  ? " (decimal commas? use points, or ; between cells)"
					  : "");
	return 1;
}

void csv_done(struct csv_table *t)
{
	free_cells(&t->names, &t->columns);
	free_cells(&t->cells, &t->cells_len);
	strbuf_done(&t->quoted);
}

int csv_column(const struct csv_table *t, const char *name)
{
	for (size_t i = 0; i < t->columns; i++)
		if (!strcasecmp(t->names[i], name))
			return (int)i;
	return -1;
}
