/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds rows and claims in text written for people. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>

#include "common/compare/report.h"
#include "common/parse.h"

/* A quoted value that far from an average may be a slip of the pen. */
#define NEARLY	  0.02
#define LABEL_MAX 60

enum column { COL_NONE, COL_N, COL_MIN, COL_AVG, COL_MAX, COL_SDEV, COL_RANGE };

static const struct {
	const char *word;
	enum column column;
} words[] = {
	{"n", COL_N},	      {"runs", COL_N},	    {"min", COL_MIN},	  {"minimum", COL_MIN},
	{"avg", COL_AVG},     {"mean", COL_AVG},    {"average", COL_AVG}, {"max", COL_MAX},
	{"maximum", COL_MAX}, {"sdev", COL_SDEV},   {"stddev", COL_SDEV}, {"stdev", COL_SDEV},
	{"sd", COL_SDEV},     {"range", COL_RANGE},
};

static enum column column_of(const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == len && strncasecmp(words[i].word, s, len) == 0)
			return words[i].column;
	return COL_NONE;
}

static void set_column(struct published_row *row, enum column c, const struct published_number *n)
{
	switch (c) {
	case COL_N:
		row->n = n->value >= 2 && n->value == floor(n->value) ? n->value : 0;
		break;
	case COL_MIN:
		row->min = *n;
		break;
	case COL_AVG:
		row->avg = *n;
		break;
	case COL_MAX:
		row->max = *n;
		break;
	case COL_SDEV:
		row->sdev = *n;
		break;
	case COL_RANGE:
		row->range = *n;
		break;
	case COL_NONE:
		break;
	}
}

/* A number at s, not inside a word such as p99.9 or 2.6.27. Returns its length, 0 for none. */
static size_t number_at(const char *start, const char *s, const char *end,
			struct published_number *ret)
{
	char text[32];
	size_t len = 0, digits = 0, points = 0;
	struct err ignored;

	if (s > start && (isalnum((unsigned char)s[-1]) || s[-1] == '.' || s[-1] == '_'))
		return 0;
	if (s < end && (*s == '+' || *s == '-'))
		len++;
	for (; s + len < end && (isdigit((unsigned char)s[len]) || s[len] == '.'); len++) {
		points += s[len] == '.';
		digits += s[len] != '.';
	}
	while (len && s[len - 1] == '.') { /* the end of a sentence */
		len--;
		points--;
	}
	if (!digits || points > 1 || len >= sizeof(text))
		return 0;
	if (s + len < end && (isalpha((unsigned char)s[len]) || s[len] == '_') &&
	    !(s[len] == 'u' || s[len] == 'm' || s[len] == 'n' || s[len] == 's'))
		return 0;
	memcpy(text, s, len);
	text[len] = '\0';
	return published_number(text, ret, &ignored) == 0 ? len : 0;
}

static int add_row(struct report *r, size_t line, const char *label, size_t len,
		   const struct published_row *row, struct err *reterr)
{
	struct report_row *to;

	if (r->n_rows == REPORT_ROWS_MAX)
		return err_set(reterr, ERR_LIMIT, "line %zu: more than %d rows of figures", line,
			       REPORT_ROWS_MAX);
	GROW(r->rows, r->n_rows, r->cap_rows);
	to = &r->rows[r->n_rows++];
	*to = (struct report_row){.line = line, .row = *row};
	while (len && strchr(" \t:,;|-[(>#*", *label)) {
		label++;
		len--;
	}
	while (len && strchr(" \t:,;|-[(=", label[len - 1]))
		len--;
	len = len < LABEL_MAX ? len : LABEL_MAX;
	if (!len) {
		snprintf(to->label, sizeof(to->label), "line %zu", line);
		return 0;
	}
	memcpy(to->label, label, len);
	/* Latin-1, or a letter that was cut: documents are UTF-8 */
	for (size_t i = 0; !text_is_clean(label, len) && i < len; i++)
		if ((unsigned char)label[i] < ' ' || (unsigned char)label[i] >= 0x7f)
			to->label[i] = '?';
	return 0;
}

/* --- "min=1.0 avg=2.0 ..." --- */

/* A known word at s followed by '=' or ':' and a number. Returns the length of all, 0 for none. */
static size_t pair_at(const char *start, const char *s, const char *end, enum column *ret_column,
		      struct published_number *ret)
{
	size_t len = 0, n;

	if (s > start && (isalnum((unsigned char)s[-1]) || s[-1] == '_'))
		return 0;
	while (s + len < end && isalpha((unsigned char)s[len]))
		len++;
	*ret_column = column_of(s, len);
	if (*ret_column == COL_NONE)
		return 0;
	while (s + len < end && s[len] == ' ')
		len++;
	if (s + len == end || (s[len] != '=' && s[len] != ':'))
		return 0;
	len++;
	while (s + len < end && s[len] == ' ')
		len++;
	n = number_at(s + len, s + len, end, ret);
	return n ? len + n : 0;
}

static int read_pairs(struct report *r, const char *s, const char *end, size_t line,
		      struct err *reterr)
{
	struct published_row row = {0};
	const char *first = NULL;
	size_t found = 0, len;

	for (const char *p = s; p < end; p += len ? len : 1) {
		struct published_number n;
		enum column c;

		len = pair_at(s, p, end, &c, &n);
		if (!len)
			continue;
		first = first ? first : p;
		set_column(&row, c, &n);
		found += c != COL_N;
	}
	if (found < 2)
		return 0;
	return add_row(r, line, s, (size_t)(first - s), &row, reterr);
}

/* --- tables --- */

#define FIELDS_MAX 40

struct table {
	enum column column[FIELDS_MAX]; /* from the first known one on */
	size_t n;
	char delimiter;		/* ' ', ',' or '|' */
	size_t skip;		/* delimited: fields before column[0] */
	size_t end[FIELDS_MAX]; /* where the words end in the line */
};

struct field {
	const char *s;
	size_t len;
};

static size_t split(const char *s, const char *end, char delimiter, struct field *f)
{
	size_t n = 0;

	while (s < end && n < FIELDS_MAX) {
		const char *stop = s;

		if (delimiter == ' ') {
			while (s < end && isspace((unsigned char)*s))
				s++;
			for (stop = s; stop < end && !isspace((unsigned char)*stop); stop++)
				;
			if (stop == s)
				break;
		} else {
			while (stop < end && *stop != delimiter)
				stop++;
		}
		f[n++] = (struct field){s, (size_t)(stop - s)};
		s = stop + (delimiter != ' ' && stop < end);
	}
	for (size_t i = 0; i < n; i++) {
		while (f[i].len && isspace((unsigned char)*f[i].s)) {
			f[i].s++;
			f[i].len--;
		}
		while (f[i].len && isspace((unsigned char)f[i].s[f[i].len - 1]))
			f[i].len--;
	}
	return n;
}

/* A line that names min, avg and max or other three of our columns begins a table. */
static bool read_header(const char *s, const char *end, struct table *t)
{
	static const char delimiters[] = {'|', ',', ' '};
	struct field f[FIELDS_MAX];

	for (size_t d = 0; d < sizeof(delimiters); d++) {
		size_t n = split(s, end, delimiters[d], f), known = 0;

		*t = (struct table){.delimiter = delimiters[d]};
		for (size_t i = 0; i < n; i++) {
			enum column c = column_of(f[i].s, f[i].len);

			known += c != COL_NONE;
			if (!t->n && c == COL_NONE) {
				t->skip++;
				continue;
			}
			t->end[t->n] = (size_t)(f[i].s + f[i].len - s);
			t->column[t->n++] = c;
		}
		if (known >= 3)
			return true;
	}
	return false;
}

static bool is_cell(const struct field *f, struct published_number *ret)
{
	*ret = (struct published_number){0};
	if (f->len == 1 && *f->s == '-')
		return true;
	return f->len && number_at(f->s, f->s, f->s + f->len, ret) >= f->len - 1;
}

/* The longest run of fields that are numbers or "-". */
static size_t longest_run(const struct field *f, size_t n, size_t *ret_from)
{
	size_t best = 0, at = 0;
	struct published_number ignored;

	for (size_t i = 0; i < n; i++) {
		at = is_cell(&f[i], &ignored) ? at + 1 : 0;
		if (at > best) {
			best = at;
			*ret_from = i + 1 - at;
		}
	}
	return best;
}

/* More numbers than columns: the label ends in one, or something stands behind the table. The cells
 * that stand nearest to the words above them are meant. */
static size_t best_shift(const struct table *t, const struct field *f, const char *s, size_t spare)
{
	size_t best = 0, least = SIZE_MAX;

	for (size_t shift = 0; shift <= spare; shift++) {
		size_t off = 0;

		for (size_t i = 0; i < t->n; i++) {
			size_t end = (size_t)(f[shift + i].s + f[shift + i].len - s);

			off += end > t->end[i] ? end - t->end[i] : t->end[i] - end;
		}
		if (off < least) {
			least = off;
			best = shift;
		}
	}
	return best;
}

/* One line of a table; false when it is none. */
static int read_line(struct report *r, const struct table *t, const char *s, const char *end,
		     size_t line, bool *ret_row, struct err *reterr)
{
	struct field f[FIELDS_MAX];
	struct published_row row = {0};
	size_t n = split(s, end, t->delimiter, f), from = t->skip, found = 0;

	*ret_row = false;
	if (t->delimiter == ' ') {
		size_t run = longest_run(f, n, &from);

		if (run < 2)
			return 0;
		if (run > t->n)
			from += best_shift(t, f + from, s, run - t->n);
	}
	for (size_t i = 0; i < t->n && from + i < n; i++) {
		struct published_number v;

		if (!is_cell(&f[from + i], &v)) {
			if (t->column[i] == COL_NONE)
				continue;
			break;
		}
		if (!v.text[0])
			continue;
		set_column(&row, t->column[i], &v);
		found += t->column[i] != COL_NONE && t->column[i] != COL_N;
	}
	if (!found)
		return 0;
	*ret_row = true;
	return add_row(r, line, s, from < n ? (size_t)(f[from].s - s) : 0, &row, reterr);
}

/* --- claims --- */

/* "to" as a word, or an arrow, and nothing between that begins another thought. */
static bool connects(const char *s, const char *end)
{
	static const char *const arrows[] = {"->", "=>", "\xe2\x86\x92"};
	size_t len = (size_t)(end - s);

	for (size_t i = 0; i < len; i++)
		if (isdigit((unsigned char)s[i]) || s[i] == ';' || s[i] == ':')
			return false;
	for (size_t i = 0; i < ARRAY_LEN(arrows); i++)
		if (memmem(s, len, arrows[i], strlen(arrows[i])))
			return true;
	for (size_t i = 0; i + 3 < len; i++)
		if (isspace((unsigned char)s[i]) && s[i + 1] == 't' && s[i + 2] == 'o' &&
		    isspace((unsigned char)s[i + 3]))
			return true;
	return false;
}

static bool is_percent(const char *after, const char *end)
{
	while (after < end && *after == ' ')
		after++;
	return after < end && *after == '%';
}

/* Is there a word of change in [s, end)? Percentages without one are shares, not changes. */
static bool says_change(const char *s, const char *end)
{
	static const char *const stems[] = {"increas", "decreas", "improv", "reduc",  "gain",
					    "faster",  "slower",  "higher", "lower",  "better",
					    "worse",   "chang",	  "drop",   "ris",    "rose",
					    "fell",    "more",	  "less",   "regress"};

	for (; s < end; s++)
		for (size_t i = 0; i < ARRAY_LEN(stems); i++)
			if ((size_t)(end - s) >= strlen(stems[i]) &&
			    strncasecmp(s, stems[i], strlen(stems[i])) == 0)
				return true;
	return false;
}

/* A percentage without a sign has that of its change ("a reduction by 5 %"). */
static void give_sign(struct published_number *pct, char sign, bool falls)
{
	if (falls && sign != '+' && pct->value > 0)
		pct->value = -pct->value;
}

/* The change in percent near a pair of values: behind it with a sign, in brackets or with a word of
 * change; or before it with such a word. */
static void find_percent(const char *start, const char *from, const char *after, const char *end,
			 bool falls, struct published_number *ret)
{
	const char *stop = end - after > 60 ? after + 60 : end;
	const char *begin = from - start > 60 ? from - 60 : start;
	struct published_number n;
	size_t len;

	*ret = (struct published_number){0};
	for (const char *p = after; p < stop; p += len ? len : 1) {
		const char *next;

		len = number_at(start, p, end, &n);
		next = p + len;
		if (!len || !is_percent(next, end))
			continue;
		if (*p == '+' || *p == '-' || (p > start && p[-1] == '(') ||
		    says_change(after, next + (end - next > 20 ? 20 : end - next))) {
			give_sign(&n, *p, falls);
			*ret = n;
			return;
		}
	}
	for (const char *p = begin; p < from; p += len ? len : 1) {
		len = number_at(start, p, end, &n);
		if (!len || !is_percent(p + len, end) || !says_change(p, from))
			continue;
		give_sign(&n, *p, falls);
		*ret = n;
	}
}

static int add_claim(struct report *r, size_t line, const struct published_claim *c,
		     struct err *reterr)
{
	if (r->n_claims == REPORT_CLAIMS_MAX)
		return err_set(reterr, ERR_LIMIT, "line %zu: more than %d claims", line,
			       REPORT_CLAIMS_MAX);
	GROW(r->claims, r->n_claims, r->cap_claims);
	r->claims[r->n_claims++] = (struct report_claim){.line = line, .claim = *c};
	return 0;
}

static size_t lines_between(const char *s, const char *end)
{
	size_t n = 0;

	for (; s < end; s++)
		n += *s == '\n';
	return n;
}

/* Pairs "A to B" of one paragraph. */
static int read_claims(struct report *r, const char *s, const char *end, size_t line,
		       struct err *reterr)
{
	struct published_number before = {0}, n;
	const char *before_at = NULL, *before_end = NULL;
	size_t len;

	for (const char *p = s; p < end; p += len ? len : 1) {
		struct published_claim c = {.label = ""};
		int e;

		len = number_at(s, p, end, &n);
		if (!len)
			continue;
		if (before_at && p - before_end <= 30 && connects(before_end, p)) {
			c.from = before;
			c.to = n;
			find_percent(s, before_at, p + len, end, n.value < before.value, &c.pct);
			e = add_claim(r, line + lines_between(s, before_at), &c, reterr);
			if (e < 0)
				return e;
		}
		before = n;
		before_at = p;
		before_end = p + len;
	}
	return 0;
}

/* --- which rows does a claim speak of? --- */

static bool same_value(const struct published_number *a, const struct published_number *b)
{
	return b->text[0] && fabs(a->value - b->value) <= (a->half + b->half) * (1 + 1e-6);
}

/* Might a person who wrote `quoted` have meant `avg`? */
static bool nearly(const struct published_number *quoted, const struct published_number *avg)
{
	return avg->text[0] && fabs(quoted->value - avg->value) <= NEARLY * fabs(avg->value);
}

/* The row whose average is `to`, and the one whose average is `from`, else the row above it when
 * its average is nearly that. */
static void attach_rows(const struct report *r, struct published_claim *c)
{
	size_t other = r->n_rows;

	for (size_t i = 0; i < r->n_rows; i++) {
		if (!c->base && same_value(&c->from, &r->rows[i].row.avg))
			c->base = &r->rows[i].row;
		if (other == r->n_rows && same_value(&c->to, &r->rows[i].row.avg))
			other = i;
	}
	if (other == r->n_rows) {
		c->base = NULL; /* one number alike is chance */
		return;
	}
	c->other = &r->rows[other].row;
	if (!c->base && other > 0 && nearly(&c->from, &r->rows[other - 1].row.avg))
		c->base = &r->rows[other - 1].row;
	if (!c->base)
		c->other = NULL;
}

static void finish(struct report *r)
{
	for (size_t i = 0; i < r->n_rows; i++)
		r->rows[i].row.label = r->rows[i].label;
	for (size_t i = 0; i < r->n_claims; i++)
		attach_rows(r, &r->claims[i].claim);
}

static int read_one(struct report *r, struct table *t, const char *s, const char *end, size_t line,
		    struct err *reterr)
{
	struct table header;
	bool row = false;
	int e = 0;

	if (read_header(s, end, &header)) {
		*t = header;
		return 0;
	}
	if (t->n)
		e = read_line(r, t, s, end, line, &row, reterr);
	return e < 0 || row ? e : read_pairs(r, s, end, line, reterr);
}

static bool is_blank(const char *s, const char *end)
{
	for (; s < end; s++)
		if (!isspace((unsigned char)*s) && *s != '>')
			return false;
	return true;
}

int report_read(const char *text, size_t len, struct report *ret, struct err *reterr)
{
	const char *end = text + len, *paragraph = text;
	struct table t = {0};
	size_t line = 1, paragraph_line = 1;
	int e = 0;

	*ret = (struct report){0};
	if (len > REPORT_BYTES_MAX)
		return err_set(reterr, ERR_LIMIT, "report of %zu bytes: at most %d", len,
			       REPORT_BYTES_MAX);
	for (const char *s = text; s < end && e == 0; line++) {
		const char *stop = memchr(s, '\n', (size_t)(end - s));

		stop = stop ? stop : end;
		e = read_one(ret, &t, s, stop, line, reterr);
		if (e == 0 && is_blank(s, stop)) {
			e = read_claims(ret, paragraph, stop, paragraph_line, reterr);
			paragraph = stop;
			paragraph_line = line;
			t.n = 0;
		}
		s = stop < end ? stop + 1 : end;
	}
	if (e == 0)
		e = read_claims(ret, paragraph, end, paragraph_line, reterr);
	if (e < 0)
		report_done(ret);
	else
		finish(ret);
	return e;
}

void report_done(struct report *r)
{
	free(r->rows);
	free(r->claims);
	*r = (struct report){0};
}
