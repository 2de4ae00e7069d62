/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat check-report: do the printed figures of a mail or report agree with each other?
 *
 * Tables are found by a header with at least min, avg, max; rows are a label and as many numbers.
 * Claims are found in prose: "70.123 to 71.520 ... 1.99 %" within one paragraph. */
#include <ctype.h>
#include <math.h>
#include <strings.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "common/stats/published.h"

#define REPORT_BYTES_MAX ((size_t)8 << 20)
#define ROWS_MAX	 2000
#define COLUMNS_MAX	 24
#define FINDINGS_MAX	 16
#define CLAIM_SPAN	 160  /* characters between the numbers and their percent */
#define QUOTE_NEAR	 0.02 /* a prose value is about a row's average when that near */

const char verb_check_report_help[] =
	"  rigstat check-report mail.txt\n"
	"  git show HEAD:report.md | rigstat check-report -\n"
	"\n"
	"usage: rigstat check-report FILE   (\"-\" reads standard input)\n"
	"\n"
	"Recomputes the figures of a report from each other: min <= avg <= max, range = max - "
	"min,\n"
	"whether the sdev is possible, and whether a claim such as \"from 70.123 to 71.520 (1.99 "
	"%)\"\n"
	"follows from the averages in the tables, each figure being known to half a unit of its\n"
	"last digit.\n"
	"\n"
	"Exit status: 0 nothing found, 1 figures disagree, 3 usage or nothing to check, 4 disk.\n";

enum field { FIELD_MIN, FIELD_AVG, FIELD_MAX, FIELD_SDEV, FIELD_RANGE, FIELD_N, FIELD_OTHER };

struct report_row {
	char *label;
	size_t line;
	struct published_row row;
};

struct report {
	struct report_row *rows;
	size_t n, cap;
	size_t claims, findings;
};

/* --- tables --- */

static enum field field_named(const char *word, size_t len)
{
	static const struct {
		const char *name;
		enum field field;
	} names[] = {{"min", FIELD_MIN},     {"minimum", FIELD_MIN}, {"avg", FIELD_AVG},
		     {"average", FIELD_AVG}, {"mean", FIELD_AVG},    {"max", FIELD_MAX},
		     {"maximum", FIELD_MAX}, {"sdev", FIELD_SDEV},   {"stddev", FIELD_SDEV},
		     {"sd", FIELD_SDEV},     {"stdev", FIELD_SDEV},  {"range", FIELD_RANGE},
		     {"runs", FIELD_N},	     {"n", FIELD_N}};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i].name) == len && !strncasecmp(names[i].name, word, len))
			return names[i].field;
	return FIELD_OTHER;
}

static bool is_separator(char c)
{
	return c == ' ' || c == '\t' || c == ',' || c == '|' || c == ';';
}

/* Words of a line; empty CSV cells are not kept apart, numbers are what count. */
struct words {
	const char *at[64];
	size_t len[64], n;
};

static void split(const char *line, size_t len, struct words *w)
{
	w->n = 0;
	for (size_t i = 0; i < len && w->n < ARRAY_LEN(w->at);) {
		size_t from;

		while (i < len && is_separator(line[i]))
			i++;
		from = i;
		while (i < len && !is_separator(line[i]))
			i++;
		if (i > from) {
			w->at[w->n] = line + from;
			w->len[w->n++] = i - from;
		}
	}
}

/* The header's fields in order, 0 when the line is none. */
static size_t read_header(const char *line, size_t len, enum field *fields)
{
	struct words w;
	bool has[FIELD_OTHER + 1] = {false};
	size_t n = 0;

	split(line, len, &w);
	for (size_t i = 0; i < w.n && n < COLUMNS_MAX; i++) {
		enum field f = field_named(w.at[i], w.len[i]);

		if (f == FIELD_OTHER && !n)
			continue; /* label columns */
		has[f] = true;
		fields[n++] = f;
	}
	return has[FIELD_MIN] && has[FIELD_AVG] && has[FIELD_MAX] ? n : 0;
}

static bool number_word(const struct words *w, size_t i, struct published_number *ret)
{
	char text[32];
	struct err ignored;

	if (i >= w->n || w->len[i] >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)w->len[i], w->at[i]);
	return published_number(text, ret, &ignored) == 0;
}

static void set_field(struct published_row *r, enum field f, const struct published_number *v)
{
	switch (f) {
	case FIELD_MIN:
		r->min = *v;
		break;
	case FIELD_AVG:
		r->avg = *v;
		break;
	case FIELD_MAX:
		r->max = *v;
		break;
	case FIELD_SDEV:
		r->sdev = *v;
		break;
	case FIELD_RANGE:
		r->range = *v;
		break;
	case FIELD_N:
		r->n = v->value;
		break;
	case FIELD_OTHER:
		break;
	}
}

/* A row ends in as many numbers as the header has fields; what is before them is its label. */
static bool read_row(struct report *rp, const char *line, size_t len, size_t number,
		     const enum field *fields, size_t n_fields)
{
	struct published_number v[COLUMNS_MAX];
	struct report_row *r;
	struct words w;
	size_t first;

	split(line, len, &w);
	if (w.n < n_fields)
		return false;
	first = w.n - n_fields;
	for (size_t i = 0; i < n_fields; i++)
		if (!number_word(&w, first + i, &v[i]))
			return false;
	if (rp->n == ROWS_MAX)
		return false;
	GROW(rp->rows, rp->n, rp->cap);
	r = &rp->rows[rp->n++];
	memset(r, 0, sizeof(*r));
	r->line = number;
	r->label = first ? xasprintf("line %zu, %.*s", number,
				     (int)(w.at[first - 1] + w.len[first - 1] - w.at[0]), w.at[0])
			 : xasprintf("line %zu", number);
	r->row.label = r->label;
	for (size_t i = 0; i < n_fields; i++)
		set_field(&r->row, fields[i], &v[i]);
	return true;
}

static void read_tables(struct report *rp, const char *text)
{
	enum field fields[COLUMNS_MAX];
	size_t n = 0, number = 0;

	while (*text) {
		size_t len = strcspn(text, "\r\n"), header;

		number++;
		header = read_header(text, len, fields);
		if (header)
			n = header;
		else if (n && len && !read_row(rp, text, len, number, fields, n) &&
			 !strspn(text, "-=+| \t"))
			n = 0; /* prose ends a table */
		text += len;
		text += text[0] == '\r' && text[1] == '\n' ? 2 : *text != '\0';
	}
}

/* --- claims --- */

/* A number at `s`, not part of a word or a longer number; its length, 0 when there is none. */
static size_t number_at(const char *start, const char *s, struct published_number *ret)
{
	size_t len = 0;
	char text[32];
	struct err ignored;

	if (s > start && (isalnum((unsigned char)s[-1]) || s[-1] == '.' || s[-1] == '_'))
		return 0;
	if (s[len] == '+' || s[len] == '-')
		len++;
	while (isdigit((unsigned char)s[len]) ||
	       (s[len] == '.' && isdigit((unsigned char)s[len + 1])))
		len++;
	if (!len || !isdigit((unsigned char)s[len - 1]) || len >= sizeof(text) ||
	    isalpha((unsigned char)s[len]))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)len, s);
	return published_number(text, ret, &ignored) == 0 ? len : 0;
}

static size_t skip_blank(const char *s)
{
	return strspn(s, " \t\r\n%");
}

/* "to", "->", "=>" between two numbers. */
static size_t arrow_at(const char *s)
{
	static const char *const arrows[] = {"to ", "to\n", "->", "=>", "\xe2\x86\x92"};

	for (size_t i = 0; i < ARRAY_LEN(arrows); i++)
		if (!strncmp(s, arrows[i], strlen(arrows[i])))
			return strlen(arrows[i]);
	return 0;
}

/* The first percent of the same paragraph after `s`. */
static bool percent_after(const char *start, const char *s, struct published_number *ret)
{
	for (size_t i = 0; s[i] && i < CLAIM_SPAN; i++) {
		size_t len;

		if (s[i] == '\n' && s[i + 1] == '\n')
			return false;
		len = number_at(start, s + i, ret);
		if (!len)
			continue;
		if (s[i + len + strspn(s + i + len, " ")] == '%')
			return true;
		i += len - 1;
	}
	return false;
}

static const struct published_row *row_near(const struct report *rp,
					    const struct published_number *v)
{
	const struct published_row *best = NULL;

	for (size_t i = 0; i < rp->n; i++) {
		const struct published_row *r = &rp->rows[i].row;
		double off = fabs(r->avg.value - v->value);

		if (off <= QUOTE_NEAR * fabs(v->value) &&
		    (!best || off < fabs(best->avg.value - v->value)))
			best = r;
	}
	return best;
}

static void print_findings(struct report *rp, const struct published_finding *f, size_t n,
			   struct strbuf *out)
{
	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "%s [%s]\n", f[i].text, published_code_name(f[i].code));
	rp->findings += n;
}

static int check_claim(struct report *rp, size_t line, const struct published_number n[3],
		       struct strbuf *out, struct err *reterr)
{
	struct published_claim claim = {.from = n[0], .to = n[1], .pct = n[2]};
	struct published_finding f[FINDINGS_MAX];
	char label[40];
	size_t found;

	snprintf(label, sizeof(label), "line %zu", line);
	claim.label = label;
	claim.base = row_near(rp, &n[0]);
	claim.other = row_near(rp, &n[1]);
	if (claim.base == claim.other)
		claim.base = claim.other = NULL;
	if (published_check_claim(&claim, f, FINDINGS_MAX, &found, reterr) < 0)
		return reterr->code;
	print_findings(rp, f, found, out);
	rp->claims++;
	return 0;
}

static int read_claims(struct report *rp, const char *text, struct strbuf *out, struct err *reterr)
{
	size_t line = 1;

	for (const char *s = text; *s; s++) {
		struct published_number n[3];
		size_t len = number_at(text, s, &n[0]), gap, arrow, second;
		const char *next = s + len;

		line += *s == '\n';
		if (!len)
			continue;
		gap = skip_blank(next);
		arrow = arrow_at(next + gap);
		if (arrow) {
			next += gap + arrow;
			next += skip_blank(next);
			second = number_at(text, next, &n[1]);
			if (second && percent_after(text, next + second, &n[2]) &&
			    check_claim(rp, line, n, out, reterr) < 0)
				return reterr->code;
		}
		s += len - 1;
	}
	return 0;
}

/* --- */

static int check(const char *text, struct report *rp, struct strbuf *out, struct err *reterr)
{
	read_tables(rp, text);
	for (size_t i = 0; i < rp->n; i++) {
		struct published_finding f[FINDINGS_MAX];
		size_t found;

		if (published_check_row(&rp->rows[i].row, f, FINDINGS_MAX, &found, reterr) < 0)
			return err_prefix(reterr, "%s: ", rp->rows[i].label);
		print_findings(rp, f, found, out);
	}
	if (read_claims(rp, text, out, reterr) < 0)
		return reterr->code;
	if (!rp->n && !rp->claims)
		return err_set(reterr, ERR_INVALID,
			       "nothing to check: no table with min, avg and max, and no claim "
			       "such as \"70.1 to 71.5 (2.0 %%)\"");
	strbuf_printf(out, "%zu table rows and %zu claims checked: %s\n", rp->n, rp->claims,
		      rp->findings ? "figures disagree" : "nothing found");
	return 0;
}

static int check_file(const char *path)
{
	CLEANUP(strbuf_done) struct strbuf text = {0}, out = {0};
	struct report rp = {0};
	struct err e;
	int status;

	if (cli_read_file(path, REPORT_BYTES_MAX, &text, &e) < 0)
		return cli_fail(&e);
	status = check(text.data, &rp, &out, &e) < 0 ? cli_fail(&e) : cli_print(&out);
	if (status == EXIT_DONE && rp.findings)
		status = EXIT_GATE_FAIL;
	for (size_t i = 0; i < rp.n; i++)
		free(rp.rows[i].label);
	free(rp.rows);
	return status;
}

int verb_check_report(int argc, char **argv)
{
	static const struct option_def options[] = {{NULL, 0, false}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *file, *more;
	struct err e;
	int id = args_next(&a, options, &file, &e);

	if (id == ARG_OPERAND && args_next(&a, options, &more, &e) == ARG_END)
		return check_file(file);
	if (id >= ARG_OPERAND || id == ARG_END)
		err_set(&e, ERR_INVALID, "name one file, or - for standard input");
	return cli_usage("check-report", &e);
}
