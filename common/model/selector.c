/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parser and printer. The parser is a cursor over the text; columns count characters, so that a
 * caret under the text of a person stands right also behind UTF-8. */
#include "common/model/selector.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "common/parse.h"
#include "common/suggest.h"

static const char *const kinds[] = {"measured", "watch", "imported", NULL};
static const char *const states[] = {"running", "ok", "failed", "aborted", NULL};

static const struct selector_field fields[] = {
	{"run", SELECTOR_ID, NULL},
	{"uid", SELECTOR_TEXT, NULL},
	{"host", SELECTOR_TEXT, NULL},
	{"experiment", SELECTOR_ID, NULL},
	{"kind", SELECTOR_WORD, kinds},
	{"state", SELECTOR_WORD, states},
	{"started", SELECTOR_TIME, NULL},
	{"ended", SELECTOR_TIME, NULL},
	{"order", SELECTOR_NUMBER, NULL},
	{"block", SELECTOR_NUMBER, NULL},
	{"boot", SELECTOR_TEXT, NULL},
	{"source", SELECTOR_TEXT, NULL},
	{"metric", SELECTOR_TEXT, NULL},
	{"kernel", SELECTOR_VERSION, NULL},
	{"tag", SELECTOR_TEXT, NULL},
	{"excluded", SELECTOR_BOOL, NULL},
	{"demo", SELECTOR_BOOL, NULL},
	{"import", SELECTOR_ID, NULL},
	{"measured", SELECTOR_DURATION, NULL},
	{NULL, SELECTOR_TEXT, NULL},
};

const struct selector_field *selector_fields(void)
{
	return fields;
}

struct cursor {
	const char *text, *p;
	struct selector_fault *fault;
	struct err *err;
	size_t values; /* of the whole selector */
};

static size_t column_of(const struct cursor *c, const char *at)
{
	size_t column = 1;

	for (const char *p = c->text; p < at; p++)
		column += ((unsigned char)*p & 0xc0) != 0x80;
	return column;
}

/* Fails at a place. The suggestion may be NULL. */
static int PRINTF(4, 5)
	fail(struct cursor *c, const char *at, const char *suggestion, const char *fmt, ...)
{
	size_t column = column_of(c, at);
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (c->fault) {
		c->fault->column = column;
		(void)snprintf(c->fault->suggestion, sizeof(c->fault->suggestion), "%s",
			       suggestion ? suggestion : "");
	}
	if (suggestion)
		return err_set(c->err, ERR_INVALID, "%s at column %zu; did you mean %s ?", text,
			       column, suggestion);
	return err_set(c->err, ERR_INVALID, "%s at column %zu", text, column);
}

static void skip_space(struct cursor *c)
{
	while (*c->p == ' ' || *c->p == '\t' || *c->p == '\n')
		c->p++;
}

static bool is_key_char(char ch)
{
	return (unsigned char)ch >= 0x80 || (ch && strchr("_.-/:+%@#", ch)) ||
	       (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* Ends a bare value. */
static bool is_value_end(char ch)
{
	return !ch || strchr(",()\" \t\n", ch);
}

/* "..." with \" and \\; the cursor stands on the opening quote. */
static int parse_quoted(struct cursor *c, char **ret)
{
	const char *open = c->p++;
	struct strbuf b CLEANUP(strbuf_done) = {0};

	for (; *c->p != '"'; c->p++) {
		if (!*c->p)
			return fail(c, open, NULL, "this quote is never closed: the one");
		if (*c->p == '\\') {
			if (c->p[1] != '"' && c->p[1] != '\\')
				return fail(
					c, c->p, "\\\\",
					"a backslash inside quotes stands before \" or \\ only");
			c->p++;
		}
		strbuf_putc(&b, *c->p);
	}
	c->p++;
	*ret = strbuf_take(&b);
	return 0;
}

/* Starts of values that show a mistaken operator ("=>" read as "=" and ">..."). */
static bool starts_like_operator(const char *p)
{
	return *p && strchr("=<>~!", *p);
}

/* A bare or quoted value. A bare one ends before ".." when `range` is allowed. */
static int parse_value(struct cursor *c, bool range, char **ret)
{
	const char *start = c->p;

	if (++c->values > SELECTOR_VALUES_MAX)
		return fail(c, start, NULL, "more than %d values, the limit,", SELECTOR_VALUES_MAX);
	if (*c->p == '"')
		return parse_quoted(c, ret);
	while (!is_value_end(*c->p) && !(range && c->p[0] == '.' && c->p[1] == '.'))
		c->p++;
	if (*c->p == '"')
		return fail(c, c->p, NULL,
			    "a quote in the middle of a value: quote the whole value,");
	if (*c->p == '(')
		return fail(c, c->p, NULL, "a value with a parenthesis needs quotes,");
	if (c->p == start)
		return fail(c, start, NULL, "a value is missing");
	*ret = xstrndup(start, (size_t)(c->p - start));
	return 0;
}

static void add_value(struct selector_term *t, char *value)
{
	t->values = xrealloc(t->values, t->n + 1, sizeof(*t->values));
	t->values[t->n++] = value;
}

static int parse_key(struct cursor *c, struct selector_term *t)
{
	const char *start = c->p;

	t->column = column_of(c, start);
	if (*c->p == '"') {
		if (parse_quoted(c, &t->key))
			return ERR_INVALID;
	} else {
		while (is_key_char(*c->p))
			c->p++;
		t->key = xstrndup(start, (size_t)(c->p - start));
	}
	if (!*t->key)
		return fail(c, start, NULL,
			    *start == ',' || !*start ? "a term is missing" : "a key is missing");
	return 0;
}

/* Splits factor.x, tag.x and env.x off and finds the field of a plain key. */
static void resolve_key(struct selector_term *t)
{
	static const struct {
		const char *prefix;
		enum selector_scope scope;
	} scopes[] = {{"factor.", SELECTOR_FACTOR}, {"tag.", SELECTOR_TAG}, {"env.", SELECTOR_ENV}};

	for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
		size_t len = strlen(scopes[i].prefix);

		if (!strncmp(t->key, scopes[i].prefix, len) && t->key[len]) {
			memmove(t->key, t->key + len, strlen(t->key + len) + 1);
			t->scope = scopes[i].scope;
			return;
		}
	}
	t->scope = SELECTOR_ANY;
	for (const struct selector_field *f = fields; f->name; f++) {
		if (!strcmp(f->name, t->key)) {
			t->scope = SELECTOR_FIELD;
			t->field = f;
		}
	}
}

static const struct {
	const char *text;
	enum selector_op op;
} operators[] = {
	{"=", SELECTOR_EQ},    {"==", SELECTOR_EQ},	 {"!=", SELECTOR_NE},
	{"~", SELECTOR_MATCH}, {"!~", SELECTOR_NOMATCH}, {"<", SELECTOR_LT},
	{"<=", SELECTOR_LE},   {">", SELECTOR_GT},	 {">=", SELECTOR_GE},
};

static const char *op_meant(const char *wrong)
{
	static const char *const map[][2] = {
		{"=>", ">="},  {"=<", "<="}, {"<>", "!="},  {"=~", "~"},
		{"~=", "~"},   {"===", "="}, {"!", "!="},   {"=!", "!="},
		{"!==", "!="}, {"~!", "!~"}, {"!=~", "!~"},
	};

	for (size_t i = 0; i < ARRAY_LEN(map); i++)
		if (!strcmp(map[i][0], wrong))
			return map[i][1];
	return NULL;
}

/* Takes a word such as "in" when it stands here as a whole word. */
static bool take_word(struct cursor *c, const char *word)
{
	size_t len = strlen(word);

	if (strncasecmp(c->p, word, len) || is_key_char(c->p[len]))
		return false;
	c->p += len;
	return true;
}

static int parse_op(struct cursor *c, struct selector_term *t)
{
	const char *start = c->p;
	char op[8];
	size_t len = strspn(start, "=<>~!");

	if (!len) {
		if (take_word(c, "in")) {
			t->op = SELECTOR_IN;
			return 0;
		}
		if (take_word(c, "notin") ||
		    (take_word(c, "not") && (skip_space(c), take_word(c, "in")))) {
			t->op = SELECTOR_NOTIN;
			return 0;
		}
		return fail(c, start, NULL,
			    "an operator (= != ~ < <= > >= in notin) is missing after '%.60s'",
			    t->key);
	}
	(void)snprintf(op, sizeof(op), "%.*s", (int)(len < 7 ? len : 7), start);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		if (!strcmp(operators[i].text, op)) {
			t->op = operators[i].op;
			c->p += len;
			return 0;
		}
	}
	return fail(c, start, op_meant(op), "unknown operator \"%s\"", op);
}

static int parse_list(struct cursor *c, struct selector_term *t)
{
	skip_space(c);
	if (*c->p != '(')
		return fail(c, c->p, NULL, "'(' is missing after %s",
			    t->op == SELECTOR_IN ? "in" : "notin");
	do {
		char *v = NULL;

		c->p++;
		skip_space(c);
		if (parse_value(c, false, &v))
			return ERR_INVALID;
		add_value(t, v);
		skip_space(c);
	} while (*c->p == ',');
	if (*c->p != ')')
		return fail(c, c->p, NULL, "',' or ')' is missing");
	c->p++;
	return 0;
}

/* value, value..value, value.. or ..value */
static int parse_scalar(struct cursor *c, struct selector_term *t)
{
	const char *start = c->p;
	bool range = t->op == SELECTOR_EQ;
	char *v = NULL;

	if (starts_like_operator(c->p))
		return fail(c, c->p, NULL, "a value that begins with an operator needs quotes,");
	if (!(range && !strncmp(c->p, "..", 2)) && parse_value(c, range, &v))
		return ERR_INVALID;
	add_value(t, v);
	if (!range || strncmp(c->p, "..", 2))
		return 0;
	c->p += 2;
	t->op = SELECTOR_RANGE;
	v = NULL;
	if (!is_value_end(*c->p) || *c->p == '"') {
		if (parse_value(c, true, &v))
			return ERR_INVALID;
		if (!strncmp(c->p, "..", 2)) {
			free(v);
			return fail(c, c->p, NULL, "a range has two ends; a second '..' stands");
		}
	}
	add_value(t, v);
	if (!t->values[0] && !t->values[1])
		return fail(c, start, NULL, "a range needs at least one end,");
	return 0;
}

/* ---- types ---- */

static bool op_orders(enum selector_op op)
{
	return op >= SELECTOR_LT;
}

static bool op_matches(enum selector_op op)
{
	return op == SELECTOR_MATCH || op == SELECTOR_NOMATCH;
}

static int check_op(struct cursor *c, const struct selector_term *t, const char *at)
{
	enum selector_type type = t->field->type;
	bool words = type == SELECTOR_WORD || type == SELECTOR_BOOL;
	bool exact = type == SELECTOR_NUMBER || type == SELECTOR_DURATION || type == SELECTOR_TIME;

	if (op_orders(t->op) && (words || type == SELECTOR_ID || type == SELECTOR_TEXT))
		return fail(c, at, NULL, "'%s' has no order; use = or in, not the operator",
			    t->field->name);
	if (op_matches(t->op) && (words || exact))
		return fail(c, at, NULL, "'%s' is no text; use = or <, not the operator ~",
			    t->field->name);
	return 0;
}

static const char *nearest_word(const char *const *words, const char *v)
{
	size_t n = 0;

	while (words[n])
		n++;
	return suggest_nearest(v, words, n);
}

static bool is_word(const char *const *words, const char *v)
{
	for (; *words; words++)
		if (!strcmp(*words, v))
			return true;
	return false;
}

static int check_value(struct cursor *c, const struct selector_term *t, const char *v,
		       const char *at)
{
	static const char *const bools[] = {"true", "false", NULL};
	const char *const *words = t->field->type == SELECTOR_BOOL ? bools : t->field->words;
	int64_t a, b;

	switch (t->field->type) {
	case SELECTOR_WORD:
	case SELECTOR_BOOL:
		if (!is_word(words, v))
			return fail(c, at, nearest_word(words, v),
				    "'%.60s' is not a value of '%s' (%s, %s%s)", v, t->key,
				    words[0], words[1], words[2] ? " ..." : "");
		return 0;
	case SELECTOR_NUMBER:
		if (parse_i64(v, &a, NULL))
			return fail(c, at, NULL, "'%.60s' is not a whole number", v);
		return 0;
	case SELECTOR_DURATION:
		if (parse_duration(v, &a, NULL))
			return fail(c, at, "30s", "'%.60s' is not a duration", v);
		return 0;
	case SELECTOR_TIME:
		if (!selector_time(v, &a, &b))
			return fail(c, at, "2026-11-30", "'%.60s' is not a date or RFC 3339 time",
				    v);
		return 0;
	default:
		return 0;
	}
}

static int check_term(struct cursor *c, const struct selector_term *t, const char *op_at,
		      const char *value_at)
{
	if (t->scope != SELECTOR_FIELD)
		return 0;
	if (check_op(c, t, op_at))
		return ERR_INVALID;
	for (size_t i = 0; i < t->n; i++)
		if (t->values[i] && check_value(c, t, t->values[i], value_at))
			return ERR_INVALID;
	return 0;
}

static int parse_term(struct cursor *c, struct selector_term *t)
{
	const char *op_at, *value_at;
	int rc;

	if (parse_key(c, t))
		return ERR_INVALID;
	resolve_key(t);
	skip_space(c);
	op_at = c->p;
	if (parse_op(c, t))
		return ERR_INVALID;
	skip_space(c);
	value_at = c->p;
	rc = t->op == SELECTOR_IN || t->op == SELECTOR_NOTIN ? parse_list(c, t)
							     : parse_scalar(c, t);
	return rc ? rc : check_term(c, t, op_at, value_at);
}

static int parse_terms(struct cursor *c, struct selector *s)
{
	skip_space(c);
	if (!*c->p)
		return 0;
	for (;;) {
		if (s->n == SELECTOR_TERMS_MAX)
			return fail(c, c->p, NULL, "more than %d terms, the limit,",
				    SELECTOR_TERMS_MAX);
		GROW(s->terms, s->n, s->cap);
		memset(&s->terms[s->n], 0, sizeof(*s->terms));
		if (parse_term(c, &s->terms[s->n++]))
			return ERR_INVALID;
		skip_space(c);
		if (!*c->p)
			return 0;
		if (*c->p != ',')
			return fail(c, c->p, NULL,
				    "',' is missing, or the value before needs quotes,");
		c->p++;
		skip_space(c);
	}
}

int selector_parse(const char *text, struct selector **ret, struct selector_fault *ret_fault,
		   struct err *reterr)
{
	struct cursor c = {.text = text, .p = text, .fault = ret_fault, .err = reterr};
	struct selector *s CLEANUP(selector_freep) = xcalloc(1, sizeof(*s));
	size_t len = strlen(text);
	int rc;

	*ret = NULL;
	if (len > SELECTOR_LEN_MAX)
		return fail(&c, text, NULL, "the selector is longer than %d bytes",
			    SELECTOR_LEN_MAX);
	if (!text_is_clean(text, len))
		return fail(&c, text, NULL, "the selector is not clean UTF-8 text");
	rc = parse_terms(&c, s);
	if (rc)
		return rc;
	*ret = TAKE(s);
	return 0;
}

void selector_free(struct selector *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		struct selector_term *t = &s->terms[i];

		for (size_t j = 0; j < t->n; j++)
			free(t->values[j]);
		free(t->values);
		free(t->key);
	}
	free(s->terms);
	free(s);
}

void selector_freep(struct selector **s)
{
	selector_free(TAKE(*s));
}

/* ---- printing ---- */

static void print_quoted(const char *v, struct strbuf *out)
{
	strbuf_putc(out, '"');
	for (; *v; v++) {
		if (*v == '"' || *v == '\\')
			strbuf_putc(out, '\\');
		strbuf_putc(out, *v);
	}
	strbuf_putc(out, '"');
}

static void print_value(const char *v, struct strbuf *out)
{
	bool bare = *v && !starts_like_operator(v) && !strstr(v, "..") && v[strlen(v) - 1] != '.' &&
		    v[0] != '.';

	for (const char *p = v; *p; p++)
		bare = bare && !is_value_end(*p);
	if (bare)
		strbuf_puts(out, v);
	else
		print_quoted(v, out);
}

static void print_key(const char *prefix, const char *key, struct strbuf *out)
{
	bool bare = *key;

	for (const char *p = key; *p; p++)
		bare = bare && is_key_char(*p);
	if (bare) {
		strbuf_puts(out, prefix);
		strbuf_puts(out, key);
	} else {
		char *whole CLEANUP(freep) = xasprintf("%s%s", prefix, key);

		print_quoted(whole, out);
	}
}

static const char *scope_prefix(enum selector_scope scope)
{
	switch (scope) {
	case SELECTOR_FACTOR:
		return "factor.";
	case SELECTOR_TAG:
		return "tag.";
	case SELECTOR_ENV:
		return "env.";
	default:
		return "";
	}
}

static const char *op_text(enum selector_op op)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (operators[i].op == op)
			return operators[i].text;
	return "=";
}

static void print_term(const struct selector_term *t, struct strbuf *out)
{
	bool list = t->op == SELECTOR_IN || t->op == SELECTOR_NOTIN;

	print_key(scope_prefix(t->scope), t->key, out);
	if (list)
		strbuf_puts(out, t->op == SELECTOR_IN ? " in (" : " notin (");
	else
		strbuf_puts(out, op_text(t->op));
	for (size_t i = 0; i < t->n; i++) {
		if (i)
			strbuf_puts(out, list ? "," : "..");
		if (t->values[i])
			print_value(t->values[i], out);
	}
	if (list)
		strbuf_putc(out, ')');
}

void selector_print(const struct selector *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		if (i)
			strbuf_putc(out, ',');
		print_term(&s->terms[i], out);
	}
}

void selector_print_eq(const char *key, const char *value, struct strbuf *out)
{
	if (out->len)
		strbuf_putc(out, ',');
	print_key("", key, out);
	strbuf_putc(out, '=');
	print_value(value, out);
}

static bool same_value(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool term_equal(const struct selector_term *a, const struct selector_term *b)
{
	if (a->scope != b->scope || a->op != b->op || a->n != b->n || strcmp(a->key, b->key))
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!same_value(a->values[i], b->values[i]))
			return false;
	return true;
}

bool selector_equal(const struct selector *a, const struct selector *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (!term_equal(&a->terms[i], &b->terms[i]))
			return false;
	return true;
}

bool selector_mentions(const struct selector *s, const char *field)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->terms[i].scope == SELECTOR_FIELD && !strcmp(s->terms[i].key, field))
			return true;
	return false;
}
