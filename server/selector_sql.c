/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/selector_sql.h"

#include "common/parse.h"

/* The environment's fact $%u of a run as text. */
#define FACT                                                                                       \
	"(select v.facts ->> $%u::text from rigstat.environment v where v.sha256 = "               \
	"r.environment_sha256)"

struct compiler {
	struct sql *q;
	struct strbuf *out;
	struct err *err;
};

static unsigned int text_param(struct compiler *c, const char *s)
{
	return sql_param(c->q, P_TEXT(s));
}

static bool negative(enum selector_op op)
{
	return op == SELECTOR_NE || op == SELECTOR_NOTIN || op == SELECTOR_NOMATCH;
}

/* A prefix or glob as a LIKE pattern. */
static unsigned int like_param(struct sql *q, const char *pattern, bool prefix)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};

	strbuf_puts(&b, "");
	for (const char *p = pattern; *p; p++) {
		if (*p == '*') {
			strbuf_putc(&b, '%');
			continue;
		}
		if (*p == '?') {
			strbuf_putc(&b, '_');
			continue;
		}
		if (*p == '\\' && p[1])
			p++;
		if (*p == '%' || *p == '_' || *p == '\\')
			strbuf_putc(&b, '\\');
		strbuf_putc(&b, *p);
	}
	if (prefix)
		strbuf_putc(&b, '%');
	return sql_param(q, P_TEXT(b.data ? b.data : ""));
}

/* `expr` op value, in version order, or as numbers when both are numbers. */
static void order_cond(struct compiler *c, enum selector_type type, const char *expr,
		       const char *op, const char *value)
{
	struct strbuf key CLEANUP(strbuf_done) = {0};
	unsigned int n;

	strbuf_puts(&key, "");
	selector_version_key(value, &key);
	if (type == SELECTOR_LABEL && selector_is_number(value)) {
		strbuf_printf(
			c->out,
			"case when %s ~ '^-?[0-9]{1,18}([.][0-9]{1,18})?$' then (%s)::numeric "
			"%s $%u::text::numeric else ",
			expr, expr, op, text_param(c, value));
	}
	n = text_param(c, key.data ? key.data : "");
	strbuf_printf(c->out, "rigstat.version_key(%s) collate \"C\" %s $%u::text", expr, op, n);
	if (type == SELECTOR_LABEL && selector_is_number(value))
		strbuf_puts(c->out, " end");
}

static void list_cond(struct compiler *c, const struct selector_term *t, const char *expr)
{
	unsigned int n = sql_param(c->q, P_TEXTS((const char *const *)t->values, t->n));

	strbuf_printf(c->out, "%s = any ($%u::text[])", expr, n);
}

/* The positive part of a term on a text expression. */
static void text_cond(struct compiler *c, const struct selector_term *t, enum selector_type type,
		      const char *expr)
{
	static const char *const ops[] = {[SELECTOR_LT] = "<",
					  [SELECTOR_LE] = "<=",
					  [SELECTOR_GT] = ">",
					  [SELECTOR_GE] = ">="};

	switch (t->op) {
	case SELECTOR_EQ:
	case SELECTOR_NE:
	case SELECTOR_IN:
	case SELECTOR_NOTIN:
		list_cond(c, t, expr);
		break;
	case SELECTOR_MATCH:
	case SELECTOR_NOMATCH:
		strbuf_printf(c->out, "%s like $%u::text", expr,
			      like_param(c->q, t->values[0], !selector_is_glob(t->values[0])));
		break;
	case SELECTOR_RANGE:
		strbuf_puts(c->out, "true");
		for (size_t i = 0; i < 2; i++) {
			if (!t->values[i])
				continue;
			strbuf_puts(c->out, " and ");
			order_cond(c, type, expr, i ? "<=" : ">=", t->values[i]);
		}
		break;
	default:
		order_cond(c, type, expr, ops[t->op], t->values[0]);
	}
}

/* ---- numbers and times: each value is a half-open interval ---- */

static void interval_of(const struct selector_term *t, const char *v, int64_t *lo, int64_t *hi)
{
	int64_t x = 0;

	if (t->field->type == SELECTOR_TIME) {
		if (!selector_time(v, lo, hi))
			*lo = *hi = 0; /* the parser refused such a value */
		return;
	}
	if (t->field->type == SELECTOR_DURATION ? parse_duration(v, &x, NULL)
						: parse_i64(v, &x, NULL))
		x = 0;
	*lo = x;
	*hi = x < INT64_MAX ? x + 1 : x;
}

static void number_bound(struct compiler *c, const char *expr, const char *op, int64_t x)
{
	strbuf_printf(c->out, "%s %s $%u::bigint", expr, op, sql_param(c->q, P_I64(x)));
}

/* lo <= expr < hi for one of the values. */
static void number_list(struct compiler *c, const struct selector_term *t, const char *expr)
{
	int64_t *lo CLEANUP(freep) = xcalloc(t->n, sizeof(*lo));
	int64_t *hi CLEANUP(freep) = xcalloc(t->n, sizeof(*hi));
	unsigned int a, b;

	for (size_t i = 0; i < t->n; i++)
		interval_of(t, t->values[i], &lo[i], &hi[i]);
	a = sql_param(c->q, P_I64S(lo, t->n));
	b = sql_param(c->q, P_I64S(hi, t->n));
	strbuf_printf(c->out,
		      "exists (select from unnest($%u::bigint[], $%u::bigint[]) i (lo, hi) "
		      "where %s >= i.lo and %s < i.hi)",
		      a, b, expr, expr);
}

static void number_range(struct compiler *c, const struct selector_term *t, const char *expr)
{
	int64_t lo, hi;

	strbuf_puts(c->out, "true");
	if (t->values[0]) {
		interval_of(t, t->values[0], &lo, &hi);
		strbuf_puts(c->out, " and ");
		number_bound(c, expr, ">=", lo);
	}
	if (t->values[1]) {
		interval_of(t, t->values[1], &lo, &hi);
		strbuf_puts(c->out, " and ");
		number_bound(c, expr, "<", hi);
	}
}

static void number_cond(struct compiler *c, const struct selector_term *t, const char *expr)
{
	int64_t lo, hi;

	if (t->op <= SELECTOR_NOTIN) {
		number_list(c, t, expr);
		return;
	}
	if (t->op == SELECTOR_RANGE) {
		number_range(c, t, expr);
		return;
	}
	interval_of(t, t->values[0], &lo, &hi);
	switch (t->op) {
	case SELECTOR_LT:
		number_bound(c, expr, "<", lo);
		break;
	case SELECTOR_LE:
		number_bound(c, expr, "<", hi);
		break;
	case SELECTOR_GT:
		number_bound(c, expr, ">=", hi);
		break;
	default:
		number_bound(c, expr, ">=", lo);
	}
}

/* ---- ids ---- */

static bool is_uid(const char *s)
{
	return strlen(s) == 32 && strspn(s, "0123456789abcdef") == 32;
}

/* "r_17" or "17" to 17. */
static bool read_id(const char *s, char prefix, int64_t *ret)
{
	if (s[0] == prefix && s[1] == '_')
		s += 2;
	return *s >= '0' && *s <= '9' && !parse_i64(s, ret, NULL);
}

static int run_cond(struct compiler *c, const struct selector_term *t)
{
	int64_t *ids CLEANUP(freep) = xcalloc(t->n, sizeof(*ids));
	const char **uids CLEANUP(freep) = xcalloc(t->n, sizeof(*uids));
	size_t n_ids = 0, n_uids = 0;
	unsigned int a;

	if (t->op == SELECTOR_MATCH || t->op == SELECTOR_NOMATCH) {
		text_cond(c, t, SELECTOR_TEXT, "replace(r.run_uid::text, '-', '')");
		return 0;
	}
	for (size_t i = 0; i < t->n; i++) {
		if (is_uid(t->values[i]))
			uids[n_uids++] = t->values[i];
		else if (read_id(t->values[i], 'r', &ids[n_ids]))
			n_ids++;
		else
			return err_set(
				c->err, ERR_INVALID,
				"'%.60s' is no run at column %zu; a run is r_17, 17 or its uid",
				t->values[i], t->column);
	}
	a = sql_param(c->q, P_I64S(ids, n_ids));
	strbuf_printf(c->out,
		      "r.run_id = any ($%u::bigint[]) or r.run_uid = any ($%u::text[]::uuid[])", a,
		      sql_param(c->q, P_TEXTS(uids, n_uids)));
	return 0;
}

/* Name, e_17 or 17. */
static int experiment_cond(struct compiler *c, const struct selector_term *t)
{
	int64_t *ids CLEANUP(freep) = xcalloc(t->n, sizeof(*ids));
	size_t n = 0;

	text_cond(c, t, SELECTOR_TEXT, "e.name");
	if (t->op == SELECTOR_MATCH || t->op == SELECTOR_NOMATCH)
		return 0;
	for (size_t i = 0; i < t->n; i++)
		if (read_id(t->values[i], 'e', &ids[n]))
			n++;
	if (n)
		strbuf_printf(c->out, " or r.experiment_id = any ($%u::bigint[])",
			      sql_param(c->q, P_I64S(ids, n)));
	return 0;
}

static int import_cond(struct compiler *c, const struct selector_term *t)
{
	int64_t *ids CLEANUP(freep) = xcalloc(t->n, sizeof(*ids));

	for (size_t i = 0; i < t->n; i++)
		if (t->op > SELECTOR_NOTIN || !read_id(t->values[i], 'i', &ids[i]))
			return err_set(c->err, ERR_INVALID,
				       "'%.60s' is no import at column %zu; an import is i_3 or 3",
				       t->values[i], t->column);
	strbuf_printf(c->out, "r.import_id = any ($%u::bigint[])",
		      sql_param(c->q, P_I64S(ids, t->n)));
	return 0;
}

/* ---- fields ---- */

/* Positive part on the rows of a set: some row satisfies it. */
static void any_cond(struct compiler *c, const struct selector_term *t, const char *from,
		     const char *expr)
{
	strbuf_printf(c->out, "exists (select from %s and ", from);
	text_cond(c, t, SELECTOR_TEXT, expr);
	strbuf_putc(c->out, ')');
}

static void kernel_cond(struct compiler *c, const struct selector_term *t)
{
	unsigned int n = text_param(c, "kernel.release");
	char *expr CLEANUP(freep) = xasprintf("coalesce(r.factors ->> 'kernel', " FACT ")", n);

	text_cond(c, t, SELECTOR_VERSION, expr);
}

static const struct {
	const char *key, *expr;
	bool number;
} columns[] = {
	{"uid", "replace(r.run_uid::text, '-', '')", false},
	{"host", "h.name", false},
	{"kind", "r.kind", false},
	{"state", "r.state", false},
	{"boot", "r.boot_id", false},
	{"source", "r.source", false},
	{"excluded", "(r.excluded is not null)::text", false},
	{"demo", "r.demo::text", false},
	{"started", "nullif(r.started_ns, 0)", true},
	{"ended", "nullif(r.ended_ns, 0)", true},
	{"measured", "nullif(r.measured_ns, 0)", true},
	{"order", "nullif(r.order_no, 0)", true},
	{"block", "nullif(r.block_no, 0)", true},
};

static int field_cond(struct compiler *c, const struct selector_term *t)
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (strcmp(columns[i].key, t->key))
			continue;
		if (columns[i].number)
			number_cond(c, t, columns[i].expr);
		else
			text_cond(c, t, SELECTOR_TEXT, columns[i].expr);
		return 0;
	}
	if (!strcmp(t->key, "run"))
		return run_cond(c, t);
	if (!strcmp(t->key, "experiment"))
		return experiment_cond(c, t);
	if (!strcmp(t->key, "import"))
		return import_cond(c, t);
	if (!strcmp(t->key, "kernel"))
		kernel_cond(c, t);
	else if (!strcmp(t->key, "metric"))
		any_cond(c, t,
			 "rigstat.series sm join rigstat.metric mm using (metric_id) where "
			 "sm.host_id = r.host_id and sm.run_id = r.run_id",
			 "mm.name");
	else
		any_cond(c, t, "jsonb_object_keys(r.tags) tk where true", "tk");
	return 0;
}

/* Factors and tags. Equality goes through @> so that the GIN indexes serve it. */
static void label_cond(struct compiler *c, const struct selector_term *t)
{
	unsigned int k = text_param(c, t->key);
	bool factor = t->scope != SELECTOR_TAG, tag = t->scope != SELECTOR_FACTOR;
	char *expr CLEANUP(freep) =
		factor && tag
			? xasprintf("coalesce(r.factors ->> $%u::text, r.tags ->> $%u::text)", k, k)
			: xasprintf("(r.%s ->> $%u::text)", factor ? "factors" : "tags", k);

	if (t->op == SELECTOR_EQ) {
		unsigned int v = text_param(c, t->values[0]);

		strbuf_puts(c->out, "(false");
		if (factor)
			strbuf_printf(c->out,
				      " or r.factors @> jsonb_build_object($%u::text, $%u::text)",
				      k, v);
		if (tag)
			strbuf_printf(c->out,
				      " or r.tags @> jsonb_build_object($%u::text, $%u::text)", k,
				      v);
		strbuf_puts(c->out, ") and ");
	}
	text_cond(c, t, SELECTOR_LABEL, expr);
}

static int term_cond(struct compiler *c, const struct selector_term *t)
{
	if (t->scope == SELECTOR_FIELD)
		return field_cond(c, t);
	if (t->scope == SELECTOR_ENV) {
		char *expr CLEANUP(freep) = xasprintf(FACT, text_param(c, t->key));

		text_cond(c, t, SELECTOR_LABEL, expr);
	} else {
		label_cond(c, t);
	}
	return 0;
}

int selector_sql(const struct selector *s, struct sql *q, struct strbuf *out,
		 struct selector_fault *ret_fault, struct err *reterr)
{
	struct compiler c = {.q = q, .out = out, .err = reterr};

	for (size_t i = 0; i < s->n; i++) {
		const struct selector_term *t = &s->terms[i];
		int rc;

		strbuf_puts(out, negative(t->op) ? " and not coalesce((" : " and ((");
		rc = term_cond(&c, t);
		if (rc) {
			if (ret_fault)
				*ret_fault = (struct selector_fault){.column = t->column};
			return rc;
		}
		strbuf_puts(out, negative(t->op) ? "), false)" : "))");
	}
	return 0;
}

void sql_glob(struct sql *q, const char *expr, const char *pattern, struct strbuf *out)
{
	strbuf_printf(out, " and %s like $%u::text", expr, like_param(q, pattern, false));
}
