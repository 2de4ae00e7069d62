/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/design.h"

#include <ctype.h>

#include "common/ini.h"
#include "common/parse.h"

#define FACTORS_MAX 8
#define LEVELS_MAX  64
#define LEVEL_BYTES 200
#define CELLS_MAX   1000
#define RUNS_MAX    100000

static const char *const order_names[] = {[ORDER_ALTERNATE] = "alternate",
					  [ORDER_ABBA] = "abba",
					  [ORDER_RANDOM] = "random",
					  [ORDER_SEQUENTIAL] = "sequential"};

/* ---- factors ---- */

static bool name_is_good(const char *name)
{
	static const char more[] = "0123456789_-.";
	size_t n = strlen(name);

	for (const char *s = name; *s; s++)
		if (!isalpha((unsigned char)*s) && !strchr(more, *s))
			return false;
	return n && n <= 64 && isalpha((unsigned char)*name);
}

static struct factor *find(struct design *d, const char *name)
{
	for (size_t i = 0; i < d->factors_len; i++)
		if (!strcmp(d->factors[i].name, name))
			return &d->factors[i];
	return NULL;
}

char *design_env_name(const char *factor)
{
	char *name = xasprintf("RIGSTAT_FACTOR_%s", factor);

	for (char *s = name; *s; s++)
		*s = isalnum((unsigned char)*s) ? (char)toupper((unsigned char)*s) : '_';
	return name;
}

static void factor_done(struct factor *f)
{
	free(f->name);
	words_free(f->levels);
	free(f->tune);
}

/* Takes one level with its quoting removed; *ps is left at the comma or the end. */
static int take_level(const char **ps, struct strbuf *b, struct err *reterr)
{
	char quote = '\0';
	const char *s = *ps;

	for (; *s && (quote || *s != ','); s++) {
		if (quote ? *s == quote : *s == '\'' || *s == '"')
			quote = quote ? '\0' : *s;
		else
			strbuf_putc(b, *s);
	}
	*ps = s;
	if (quote)
		return err_set(reterr, ERR_INVALID, "a %c has no partner", quote);
	if (!b->len)
		return err_set(reterr, ERR_INVALID, "a level is empty");
	if (b->len > LEVEL_BYTES || !text_is_clean(b->data, b->len) || strchr(b->data, '\n'))
		return err_set(reterr, ERR_INVALID,
			       "a level is one line of text of at most %d bytes", LEVEL_BYTES);
	return 0;
}

static int add_level(struct factor *f, char *level, struct err *reterr)
{
	for (size_t i = 0; i < f->levels_len; i++)
		if (!strcmp(f->levels[i], level)) {
			err_set(reterr, ERR_INVALID, "level '%s' stands twice", level);
			free(level);
			return ERR_INVALID;
		}
	f->levels = xrealloc(f->levels, f->levels_len + 2, sizeof(*f->levels));
	f->levels[f->levels_len++] = level;
	f->levels[f->levels_len] = NULL;
	return 0;
}

static int parse_levels(struct factor *f, const char *s, struct err *reterr)
{
	for (;;) {
		CLEANUP(strbuf_done) struct strbuf b = {0};
		int rc = take_level(&s, &b, reterr);

		if (!rc)
			rc = add_level(f, strbuf_take(&b), reterr);
		if (rc)
			return rc;
		if (f->levels_len > LEVELS_MAX)
			return err_set(reterr, ERR_LIMIT, "more than %d levels", LEVELS_MAX);
		if (!*s)
			return 0;
		s++;
	}
}

/* Two names must not end in one variable of the workload's environment. */
static int check_name(struct design *d, const char *name, struct err *reterr)
{
	CLEANUP(freep) char *env = design_env_name(name);

	if (!name_is_good(name))
		return err_set(reterr, ERR_INVALID,
			       "a factor's name begins with a letter and holds letters, digits, _ "
			       "- and . only");
	if (d->factors_len == FACTORS_MAX)
		return err_set(reterr, ERR_LIMIT, "more than %d factors", FACTORS_MAX);
	for (size_t i = 0; i < d->factors_len; i++) {
		CLEANUP(freep) char *other = design_env_name(d->factors[i].name);

		if (!strcmp(env, other))
			return err_set(reterr, ERR_CONFLICT, "is the same as factor '%s'",
				       d->factors[i].name);
	}
	return 0;
}

int design_add_factor(struct design *d, const char *text, struct err *reterr)
{
	const char *eq = strchr(text, '=');
	struct factor f = {0};
	int rc;

	if (!eq)
		return err_set(reterr, ERR_INVALID,
			       "factor '%.60s': write NAME=LEVEL,LEVEL..., as rq_affinity=0,1",
			       text);
	f.name = xstrndup(text, (size_t)(eq - text));
	rc = check_name(d, f.name, reterr);
	if (!rc)
		rc = parse_levels(&f, eq + 1, reterr);
	if (rc) {
		factor_done(&f);
		return err_prefix(reterr, "factor '%.60s': ", text);
	}
	GROW(d->factors, d->factors_len, d->factors_cap);
	d->factors[d->factors_len++] = f;
	return 0;
}

int design_set_tune(struct design *d, const char *text, struct err *reterr)
{
	const char *eq = strchr(text, '=');
	CLEANUP(freep) char *name = xstrndup(text, eq ? (size_t)(eq - text) : 0);
	struct factor *f = find(d, name);

	if (!eq || !eq[1])
		return err_set(reterr, ERR_INVALID,
			       "tune '%.60s': write FACTOR=PATH, FACTOR=SYSCTL or FACTOR=TUNABLE",
			       text);
	if (!f)
		return err_set(reterr, ERR_NOT_FOUND,
			       "tune '%.60s': there is no factor '%.60s'; add --factor %.60s=...",
			       text, name, name);
	if (f->tune)
		return err_set(reterr, ERR_CONFLICT, "tune '%.60s': the factor has one already",
			       text);
	f->tune = xstrdup(eq + 1);
	return 0;
}

int design_set_boot(struct design *d, const char *text, struct err *reterr)
{
	struct factor *f, first;

	if (design_has_boots(d))
		return err_set(reterr, ERR_CONFLICT,
			       "boot '%.60s': one factor is fixed at boot already; let one tunable "
			       "name the combinations",
			       text);
	if (design_set_tune(d, text, reterr))
		return reterr->code;
	for (f = d->factors;
	     strncmp(f->name, text, strlen(f->name)) != 0 || text[strlen(f->name)] != '=';)
		f++;
	first = *f;
	first.boot = true;
	memmove(d->factors + 1, d->factors, (size_t)(f - d->factors) * sizeof(*f));
	d->factors[0] = first;
	return 0;
}

bool design_has_boots(const struct design *d)
{
	return d->factors_len && d->factors[0].boot;
}

/* ---- order ---- */

int design_parse_order(const char *name, enum design_order *ret, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(order_names); i++)
		if (!strcmp(order_names[i], name)) {
			*ret = (enum design_order)i;
			return 0;
		}
	return err_set(reterr, ERR_INVALID,
		       "'%.40s' is no order; there are abba, alternate, random and sequential",
		       name);
}

const char *design_order_name(enum design_order order)
{
	return order_names[order];
}

/* splitmix64 (Steele, Lea, Flood 2014): small, and the same on every machine for ever. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Uniform below n, without the bias of a plain remainder. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n, r;

	do
		r = next_random(state);
	while (r >= limit);
	return r % n;
}

static void shuffle(uint64_t *state, struct design_run *runs, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)random_below(state, i);
		uint32_t cell = runs[i - 1].cell;

		runs[i - 1].cell = runs[j].cell;
		runs[j].cell = cell;
	}
}

static void make_block(enum design_order order, uint32_t cells, uint32_t block,
		       struct design_run *runs, uint64_t *random)
{
	bool reverse = order == ORDER_ABBA && block % 2;

	for (uint32_t i = 0; i < cells; i++)
		runs[i].cell = reverse ? cells - 1 - i : i;
	if (order == ORDER_RANDOM)
		shuffle(random, runs, cells);
	for (uint32_t i = 0; i < cells; i++)
		runs[i].block = block + 1;
}

/* `cells` times `repeats` runs. */
static void make_sequence(enum design_order order, uint32_t cells, uint32_t repeats,
			  struct design_run *runs, uint64_t *random)
{
	for (uint32_t i = 0; i < repeats && order != ORDER_SEQUENTIAL; i++)
		make_block(order, cells, i, runs + (size_t)i * cells, random);
	for (uint32_t i = 0; i < cells * repeats && order == ORDER_SEQUENTIAL; i++)
		runs[i].cell = i / repeats;
}

/* Boots in the design's order, and in each of them the other factors' cells. The block is that of
 * the boots: a level is compared with its neighbour's boot. */
static void make_boots(struct design *d, uint64_t *random)
{
	uint32_t levels = (uint32_t)d->factors[0].levels_len, inner = d->cells / levels;
	CLEANUP(freep)
	struct design_run *boots = xcalloc((size_t)levels * d->boots, sizeof(*boots));

	make_sequence(d->order, levels, d->boots, boots, random);
	for (uint32_t b = 0; b < levels * d->boots; b++) {
		struct design_run *runs = d->runs + (size_t)b * inner * d->runs_per_boot;

		make_sequence(d->order, inner, d->runs_per_boot, runs, random);
		for (uint32_t i = 0; i < inner * d->runs_per_boot; i++) {
			runs[i].cell += boots[b].cell * inner;
			runs[i].block = boots[b].block;
			runs[i].boot = b + 1;
		}
	}
}

uint32_t design_boots(const struct design *d)
{
	return d->runs_len ? d->runs[d->runs_len - 1].boot : 0;
}

void design_runs_of_boot(const struct design *d, uint32_t boot, size_t *ret_first, size_t *ret_end)
{
	size_t each = d->runs_len / design_boots(d);

	*ret_first = (boot - 1) * each;
	*ret_end = boot * each;
}

static int count_cells(struct design *d, struct err *reterr)
{
	d->cells = 1;
	for (size_t i = 0; i < d->factors_len; i++) {
		d->cells *= (uint32_t)d->factors[i].levels_len;
		if (d->cells > CELLS_MAX)
			return err_set(reterr, ERR_LIMIT, "the factors make more than %d cells",
				       CELLS_MAX);
	}
	if (!d->runs_per_cell || d->runs_per_cell > RUNS_MAX / d->cells)
		return err_set(reterr, ERR_INVALID,
			       "runs: %u in each of %u cells; there may be 1 to %d in all",
			       d->runs_per_cell, d->cells, RUNS_MAX);
	return 0;
}

int design_make(struct design *d, struct err *reterr)
{
	uint64_t random = d->seed;
	int rc;

	if (design_has_boots(d) && d->boots <= RUNS_MAX && d->runs_per_boot <= RUNS_MAX / d->boots)
		d->runs_per_cell = d->boots * d->runs_per_boot;
	rc = count_cells(d, reterr);
	if (rc)
		return rc;
	free(d->runs);
	d->runs_len = (size_t)d->cells * d->runs_per_cell;
	d->runs = xcalloc(d->runs_len, sizeof(*d->runs));
	if (design_has_boots(d))
		make_boots(d, &random);
	else
		make_sequence(d->order, d->cells, d->runs_per_cell, d->runs, &random);
	for (size_t i = 0; i < d->runs_len; i++)
		d->runs[i].order = (uint32_t)i + 1;
	return 0;
}

/* ---- cells ---- */

const char *design_level(const struct design *d, uint32_t cell, size_t factor)
{
	for (size_t i = d->factors_len - 1; i > factor; i--)
		cell /= (uint32_t)d->factors[i].levels_len;
	return d->factors[factor].levels[cell % d->factors[factor].levels_len];
}

void design_put_cell(const struct design *d, uint32_t cell, struct strbuf *out)
{
	if (!d->factors_len)
		strbuf_puts(out, "(one cell)");
	for (size_t i = 0; i < d->factors_len; i++)
		strbuf_printf(out, "%s%s=%s", i ? ", " : "", d->factors[i].name,
			      design_level(d, cell, i));
}

void design_done(struct design *d)
{
	for (size_t i = 0; i < d->factors_len; i++)
		factor_done(&d->factors[i]);
	free(d->factors);
	free(d->runs);
	*d = (struct design){0};
}
