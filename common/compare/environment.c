/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What else differed? Facts of the runs' environments, each with a class: a blocking difference
 * forbids the comparison, a warning is listed, a tolerated one counts only beyond its bound, the
 * rest is only counted. What the factor implies is intended. */
#include <ctype.h>
#include <stdio.h>

#include "common/compare/internal.h"
#include "common/parse.h"
#include "common/compare/pack.h"

enum fact_class { FACT_BLOCKING, FACT_WARN, FACT_TOLERANCE, FACT_INFO };

/* First match wins; a trailing '*' matches any rest, everything else is a warning. */
static const struct {
	const char *pattern;
	enum fact_class class;
	double tolerance_rel, tolerance_abs;
} classes[] = {
	{"cpu.model", FACT_BLOCKING, 0, 0},
	{"cpu.count", FACT_BLOCKING, 0, 0},
	{"cpu.online", FACT_BLOCKING, 0, 0},
	{"kernel.preempt", FACT_BLOCKING, 0, 0},
	{"kernel.realtime", FACT_BLOCKING, 0, 0},
	{"clock.source", FACT_BLOCKING, 0, 0},
	{"measure.period_ns", FACT_BLOCKING, 0, 0},
	{"measurement.*", FACT_BLOCKING, 0, 0},
	{"cpu.mhz*", FACT_TOLERANCE, 0.01, 0},
	{"cpu.measured_mhz*", FACT_TOLERANCE, 0.01, 0},
	{"temperature*", FACT_TOLERANCE, 0, 10},
	{"thermal.*", FACT_TOLERANCE, 0, 10},
	{"memory.free*", FACT_TOLERANCE, 0.2, 0},
	{"memory.available*", FACT_TOLERANCE, 0.2, 0},
	{"memory.total*", FACT_TOLERANCE, 0.01, 0},
	{"load*", FACT_INFO, 0, 0},
	{"uptime*", FACT_INFO, 0, 0},
	{"boot.*", FACT_INFO, 0, 0},
	{"boot_id", FACT_INFO, 0, 0},
	{"host.*", FACT_INFO, 0, 0},
	{"hostname", FACT_INFO, 0, 0},
	{"machine_id", FACT_INFO, 0, 0},
	{"net.address*", FACT_INFO, 0, 0},
	{"agent.*", FACT_INFO, 0, 0},
	{"time.*", FACT_INFO, 0, 0},
};

static bool matches(const char *pattern, const char *key)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return !strncmp(pattern, key, len - 1);
	return !strcmp(pattern, key);
}

static size_t class_of(const char *key)
{
	size_t i = 0;

	while (i < ARRAY_LEN(classes) && !matches(classes[i].pattern, key))
		i++;
	return i;
}

static const char *class_name(enum fact_class c)
{
	static const char *const names[] = {"blocking", "warn", "tolerance", "info"};

	return names[c];
}

const char *compare_fact_class(const char *key)
{
	size_t at = class_of(key);

	return class_name(at < ARRAY_LEN(classes) ? classes[at].class : FACT_WARN);
}

/* The distinct values of one fact in one side, as text. */
struct values {
	const char *v[8];
	size_t n;
	size_t unset; /* runs without it */
	bool more;    /* there are others */
};

static void values_add(struct values *vs, const char *v)
{
	if (!v) {
		vs->unset++;
		return;
	}
	for (size_t i = 0; i < vs->n; i++)
		if (!strcmp(vs->v[i], v))
			return;
	if (vs->n == ARRAY_LEN(vs->v))
		vs->more = true;
	else
		vs->v[vs->n++] = v;
}

static bool values_equal(const struct values *a, const struct values *b)
{
	if (a->n != b->n || a->more != b->more || !a->unset != !b->unset)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		size_t k = 0;

		while (k < b->n && strcmp(a->v[i], b->v[k]) != 0)
			k++;
		if (k == b->n)
			return false;
	}
	return true;
}

/* "6.1.0-18", "6.1.0-18 | 6.1.0-20", "not set" */
static json_t *values_text(const struct values *vs)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};

	for (size_t i = 0; i < vs->n; i++)
		strbuf_printf(&b, "%s%s", i ? " | " : "", vs->v[i]);
	if (vs->more)
		strbuf_puts(&b, " | ...");
	if (!vs->n)
		strbuf_puts(&b, "not set");
	else if (vs->unset)
		strbuf_puts(&b, " | not set");
	return json_text(b.data);
}

/* Texts of all facts of all runs: fact -> {run index -> text}. Numbers are printed once. */
static json_t *facts_of(const struct run *r)
{
	json_t *all = json_object(), *v;
	const char *key;

	if (!json_is_object(r->environment))
		return all;
	json_object_foreach(r->environment, key, v)
	{
		char text[64];

		if (json_is_string(v))
			json_object_set(all, key, v);
		else if (json_is_integer(v))
			snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
		else if (json_is_real(v))
			snprintf(text, sizeof(text), "%.10g", json_real_value(v));
		else
			snprintf(text, sizeof(text), "%s", json_is_true(v) ? "true" : "false");
		if (!json_is_string(v))
			json_object_set_new(all, key, json_string(text));
	}
	return all;
}

/* How the series was measured counts as part of the environment. */
static void add_measurement(json_t *facts, const struct side *side)
{
	if (side->method)
		json_object_set_new(facts, "measurement.method", json_text(side->method));
	if (side->interval_ns)
		json_object_set_new(facts, "measurement.interval_ns",
				    json_sprintf("%lld", (long long)side->interval_ns));
	if (side->omission != OMISSION_UNKNOWN)
		json_object_set_new(facts, "measurement.omission",
				    json_string(omission_name(side->omission)));
}

/* Array of facts objects, one a run that counts. */
static json_t *side_facts(const struct side *side, bool *ret_known)
{
	json_t *all = json_array();

	for (size_t i = 0; i < side->n; i++) {
		json_t *f = facts_of(side->obs[i].run);

		*ret_known |= json_object_size(f) > 0;
		add_measurement(f, side);
		json_array_append_new(all, f);
	}
	if (side->summary_run) {
		json_t *f = facts_of(side->summary_run);

		*ret_known |= json_object_size(f) > 0;
		json_array_append_new(all, f);
	}
	return all;
}

static void values_of(const json_t *runs, const char *key, struct values *ret)
{
	size_t i;
	json_t *f;

	*ret = (struct values){.n = 0};
	json_array_foreach(runs, i, f) values_add(ret, json_string_value(json_object_get(f, key)));
}

static bool within_tolerance(const struct values *a, const struct values *b, size_t class)
{
	double lo = INFINITY, hi = -INFINITY;
	struct err ignored;

	for (int side = 0; side < 2; side++) {
		const struct values *vs = side ? b : a;

		if (vs->more || !vs->n)
			return false;
		for (size_t i = 0; i < vs->n; i++) {
			double v;

			if (parse_double(vs->v[i], &v, &ignored) < 0)
				return false;
			lo = fmin(lo, v);
			hi = fmax(hi, v);
		}
	}
	return hi - lo <= fmax(classes[class].tolerance_abs,
			       classes[class].tolerance_rel * fmax(fabs(lo), fabs(hi)));
}

/* Does the fact's name end with the factor's name, as block.vda.queue.rq_affinity does? */
static bool name_ends_with(const char *key, const char *factor)
{
	size_t k = strlen(key), f = strlen(factor);

	if (k < f || strcmp(key + k - f, factor) != 0)
		return false;
	return k == f || !isalnum((unsigned char)key[k - f - 1]);
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* A kernel A/B may differ in kernel, a declared tunable in that tunable's fact, and whatever has
 * exactly the level's values on both sides. */
static bool is_intended(const struct cmp *c, const char *key, const struct values *a,
			const struct values *b)
{
	for (size_t i = 0; i < c->n_factors; i++) {
		const char *f = c->factors[i].key;
		const char *la = labels_get(&c->side[0].in->runs[0]->factors, f);
		const char *lb = labels_get(&c->side[1].in->runs[0]->factors, f);

		if (name_ends_with(key, f) || name_ends_with(f, key))
			return true;
		if ((starts(f, "kernel") || !strcmp(f, "boot")) &&
		    (starts(key, "kernel.") || !strcmp(key, "cmdline")))
			return true;
		if (starts(f, "cmdline") && (!strcmp(key, "cmdline") || starts(key, "kernel.cmd")))
			return true;
		/* What a command line or kernel usually sets. */
		if ((starts(f, "cmdline") || starts(f, "kernel") || !strcmp(f, "boot")) &&
		    (starts(key, "mitigation.") || !strcmp(key, "cpu.isolated") ||
		     !strcmp(key, "cpu.nohz_full")))
			return true;
		if (la && lb && a->n == 1 && b->n == 1 && !strcmp(a->v[0], la) &&
		    !strcmp(b->v[0], lb))
			return true;
	}
	return false;
}

static void list(struct cmp *c, const char *where, const char *key, enum fact_class class,
		 const struct values *a, const struct values *b)
{
	json_t *item = PACK("{s:s,s:o,s:o,s:s}", "key", key, "a", values_text(a), "b",
			    values_text(b), "class", class_name(class));

	json_array_append_new(json_object_get(c->environment, where), item);
}

static void list_within(struct cmp *c, const char *key, const struct values *vs, const char *tag)
{
	json_t *values = json_array();

	for (size_t i = 0; i < vs->n; i++)
		json_array_append_new(values, json_string(vs->v[i]));
	if (vs->unset)
		json_array_append_new(values, json_string("not set"));
	json_array_append_new(json_object_get(c->environment, "within"),
			      PACK("{s:s,s:s,s:o}", "side", tag, "key", key, "values", values));
}

static bool differs_within(const struct values *vs)
{
	return vs->n + (vs->unset && vs->n) > 1;
}

static void judge_fact(struct cmp *c, const char *key, json_t *const facts[2], size_t counts[2])
{
	size_t at = class_of(key);
	enum fact_class class = at < ARRAY_LEN(classes) ? classes[at].class : FACT_WARN;
	struct values v[2];

	values_of(facts[0], key, &v[0]);
	values_of(facts[1], key, &v[1]);
	for (int s = 0; s < 2; s++) {
		bool calm = class == FACT_TOLERANCE && within_tolerance(&v[s], &v[s], at);

		if (differs_within(&v[s]) && class != FACT_INFO && !calm)
			list_within(c, key, &v[s], c->side[s].tag);
	}
	if (values_equal(&v[0], &v[1]) ||
	    (class == FACT_TOLERANCE && within_tolerance(&v[0], &v[1], at)))
		counts[0]++;
	else if (class == FACT_INFO)
		counts[1]++;
	else if (is_intended(c, key, &v[0], &v[1]) && !starts(key, "measurement."))
		list(c, "intended", key, class, &v[0], &v[1]);
	else if (class == FACT_BLOCKING && v[0].n && v[1].n)
		list(c, "blocking", key, class, &v[0], &v[1]);
	else
		list(c, "unexpected", key, class, &v[0], &v[1]);
}

static json_t *union_of_keys(json_t *const facts[2])
{
	json_t *keys = json_object();

	for (int s = 0; s < 2; s++) {
		size_t i;
		json_t *f;

		json_array_foreach(facts[s], i, f) json_object_update_missing(keys, f);
	}
	return keys;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void environment_compare(struct cmp *c)
{
	bool known[2] = {false, false};
	json_t *facts[2] = {side_facts(&c->side[0], &known[0]), side_facts(&c->side[1], &known[1])};
	size_t counts[2] = {0, 0}, n = 0;
	json_t *keys = union_of_keys(facts), *v;
	const char **names = xcalloc(json_object_size(keys) + 1, sizeof(*names));
	const char *key;

	c->environment =
		PACK("{s:[],s:[],s:[],s:[]}", "blocking", "intended", "unexpected", "within");
	json_object_foreach(keys, key, v) names[n++] = key;
	qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++)
		/* With one side unknown nothing can be said about the machine's facts. */
		if ((known[0] && known[1]) || starts(names[i], "measurement."))
			judge_fact(c, names[i], facts, counts);
	json_object_set_new(c->environment, "equal", json_integer((json_int_t)counts[0]));
	json_object_set_new(c->environment, "info", json_integer((json_int_t)counts[1]));
	json_object_set_new(c->environment, "known", json_boolean(known[0] && known[1]));
	free(names);
	json_decref(keys);
	json_decref(facts[0]);
	json_decref(facts[1]);
}
