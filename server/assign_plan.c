/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/assign_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <sys/random.h>

#include "common/check.h"
#include "common/parse.h"

#define FACTORS_MAX 8
#define LEVELS_MAX  64
#define CELLS_MAX   1000
#define RUNS_MAX    100000
#define WINDOW_MAX  (24 * 3600 * NS_PER_SEC)

const char *const assign_plan_members[] = {
	"name",	       "hosts",	   "factors",	 "order",   "runs_per_cell", "seed", "warmup_ns",
	"duration_ns", "workload", "on_failure", "retries", "quiet",	     "by",   NULL};

static bool is_name(const char *s, const char *more, size_t max)
{
	size_t n = 0;

	for (; s && s[n]; n++)
		if (!isalnum((unsigned char)s[n]) && !strchr(more, s[n]))
			return false;
	return n && n <= max;
}

/* A whole number of the body, or `def` when it is absent. */
static int read_number(const json_t *body, const char *name, int64_t def, int64_t min, int64_t max,
		       int64_t *ret, struct err *reterr)
{
	const json_t *v = json_object_get(body, name);

	*ret = def;
	if (!v || json_is_null(v))
		return 0;
	*ret = json_integer_value(v);
	if (!json_is_integer(v) || *ret < min || *ret > max)
		return err_set(reterr, ERR_INVALID, "a whole number from %lld to %lld",
			       (long long)min, (long long)max);
	return 0;
}

static int read_word(const json_t *body, const char *name, const char *const *words,
		     const char **ret, struct err *reterr)
{
	const json_t *v = json_object_get(body, name);
	const char *s = json_string_value(v);

	*ret = words[0];
	if (!v || json_is_null(v))
		return 0;
	for (; s && *words; words++)
		if (!strcmp(s, *words)) {
			*ret = s;
			return 0;
		}
	return err_set(reterr, ERR_INVALID, "is none of the words that it may be");
}

static int read_hosts(const json_t *body, struct assign_plan *p, struct err *reterr)
{
	const json_t *list = json_object_get(body, "hosts"), *v;
	size_t i;

	if (!json_is_array(list) || !json_array_size(list) ||
	    json_array_size(list) > ASSIGN_HOSTS_MAX)
		return err_set(reterr, ERR_INVALID, "a list of 1 to %d names of boxes",
			       ASSIGN_HOSTS_MAX);
	json_array_foreach(list, i, v)
	{
		const char *s = json_string_value(v);

		if (!s || !*s || strlen(s) > 128)
			return err_set(reterr, ERR_INVALID, "holds something that is no name");
		for (size_t k = 0; k < p->n_hosts; k++)
			if (!strcmp(p->hosts[k], s))
				return err_set(reterr, ERR_INVALID, "names '%s' twice", s);
		p->hosts[p->n_hosts++] = s;
	}
	return 0;
}

static int check_levels(const json_t *levels, struct err *reterr)
{
	const json_t *v, *w;
	size_t i;

	if (!json_is_array(levels) || !json_array_size(levels) ||
	    json_array_size(levels) > LEVELS_MAX)
		return err_set(reterr, ERR_INVALID, "levels: a list of 1 to %d texts", LEVELS_MAX);
	json_array_foreach(levels, i, v)
	{
		const char *s = json_string_value(v);

		if (!s || !*s || strlen(s) > 200 || !text_is_clean(s, strlen(s)) ||
		    strpbrk(s, "\n\"'"))
			return err_set(
				reterr, ERR_INVALID,
				"levels: one line of text of at most 200 bytes, without quotes");
		for (size_t k = 0; k < i; k++) {
			w = json_array_get(levels, k);
			if (json_equal(v, w))
				return err_set(reterr, ERR_INVALID, "levels: '%s' stands twice", s);
		}
	}
	return 0;
}

static int read_factor(const json_t *f, json_t *design, json_t *plan, struct err *reterr)
{
	const char *name = json_string_value(json_object_get(f, "name"));
	json_t *levels = json_object_get(f, "levels"), *tune = json_object_get(f, "tune");
	int rc;

	if (!json_is_object(f) || !is_name(name, "_-.", 64) || !isalpha((unsigned char)*name))
		return err_set(reterr, ERR_INVALID,
			       "a factor has a name of letters, digits, _ - and .");
	if (json_object_get(plan, name))
		return err_set(reterr, ERR_INVALID, "'%s' stands twice", name);
	rc = check_levels(levels, reterr);
	if (rc)
		return err_prefix(reterr, "'%s': ", name);
	if (tune && !json_is_null(tune) && !is_name(json_string_value(tune), "_-", 64))
		return err_set(reterr, ERR_INVALID,
			       "'%s': tune is the name of a tunable of the box, not a path", name);
	json_array_append_new(design, json_pack("{s:s, s:O}", "name", name, "levels", levels));
	json_object_set_new(plan, name, tune ? json_incref(tune) : json_null());
	return 0;
}

static int read_factors(const json_t *body, json_t *design, json_t *plan, int64_t *ret_cells,
			struct err *reterr)
{
	const json_t *list = json_object_get(body, "factors"), *v;
	size_t i;

	*ret_cells = 1;
	if (!list)
		return 0;
	if (!json_is_array(list) || json_array_size(list) > FACTORS_MAX)
		return err_set(reterr, ERR_INVALID, "a list of at most %d factors", FACTORS_MAX);
	json_array_foreach(list, i, v)
	{
		int rc = read_factor(v, design, plan, reterr);

		if (rc)
			return rc;
		*ret_cells *= (int64_t)json_array_size(json_object_get(v, "levels"));
		if (*ret_cells > CELLS_MAX)
			return err_set(reterr, ERR_LIMIT, "more than %d cells", CELLS_MAX);
	}
	return 0;
}

/* Everything but name, hosts and factors. */
static int read_rest(const json_t *body, int64_t cells, json_t *design, json_t *plan,
		     const char **ret_member, struct err *reterr)
{
	static const char *const orders[] = {"abba", "alternate", "random", "sequential", NULL};
	static const char *const on_failures[] = {"stop", "continue", NULL};
	uint32_t random = 0;
	const char *word;
	int64_t n;

	CHECK(getrandom(&random, sizeof(random), 0) == sizeof(random));
	if (read_word(body, *ret_member = "order", orders, &word, reterr))
		return reterr->code;
	json_object_set_new(design, "order", json_string(word));
	if (read_number(body, *ret_member = "runs_per_cell", 10, 1, RUNS_MAX / cells, &n, reterr))
		return reterr->code;
	json_object_set_new(design, "runs_per_cell", json_integer(n));
	json_object_set_new(design, "total_runs", json_integer(n * cells));
	if (read_number(body, *ret_member = "seed", random, 0, INT64_MAX, &n, reterr))
		return reterr->code;
	json_object_set_new(design, "seed", json_integer(n));
	if (read_number(body, *ret_member = "warmup_ns", 2 * NS_PER_SEC, 0, WINDOW_MAX, &n, reterr))
		return reterr->code;
	json_object_set_new(plan, "warmup_ns", json_integer(n));
	if (read_number(body, *ret_member = "duration_ns", 30 * NS_PER_SEC, 100 * NS_PER_MS,
			WINDOW_MAX, &n, reterr))
		return reterr->code;
	json_object_set_new(plan, "duration_ns", json_integer(n));
	if (read_number(body, *ret_member = "retries", 0, 0, 100, &n, reterr))
		return reterr->code;
	json_object_set_new(plan, "retries", json_integer(n));
	if (read_word(body, *ret_member = "on_failure", on_failures, &word, reterr))
		return reterr->code;
	json_object_set_new(plan, "on_failure", json_string(word));
	return 0;
}

static int read_workload(const json_t *body, json_t *plan, struct err *reterr)
{
	json_t *v = json_object_get(body, "workload");

	if (v && !json_is_null(v) && !is_name(json_string_value(v), "_-.", 128))
		return err_set(
			reterr, ERR_INVALID,
			"the name of a workload of the box, not a command; null measures the "
			"idle box");
	json_object_set_new(plan, "workload", v ? json_incref(v) : json_null());
	json_object_set_new(plan, "quiet",
			    json_boolean(json_is_true(json_object_get(body, "quiet"))));
	return 0;
}

static int read_name(const json_t *body, struct assign_plan *p, struct err *reterr)
{
	p->name = json_string_value(json_object_get(body, "name"));
	if (!p->name || !*p->name || strlen(p->name) > 100 ||
	    !text_is_clean(p->name, strlen(p->name)) || strpbrk(p->name, "/\n\t"))
		return err_set(reterr, ERR_INVALID,
			       "1 to 100 bytes of text without a slash or control character");
	return 0;
}

static int read_by(const json_t *body, struct assign_plan *p, struct err *reterr)
{
	const json_t *v = json_object_get(body, "by");

	p->by = "";
	if (!v || json_is_null(v))
		return 0;
	p->by = json_string_value(v);
	if (!p->by || strlen(p->by) > 128 || !text_is_clean(p->by, strlen(p->by)))
		return err_set(reterr, ERR_INVALID, "clean text of at most 128 bytes");
	return 0;
}

int assign_plan_read(const json_t *body, struct assign_plan *ret, const char **ret_member,
		     struct err *reterr)
{
	json_t *design = json_object(), *plan = json_object(), *factors = json_array(),
	       *tunes = json_object();
	int64_t cells;
	int rc;

	*ret = (struct assign_plan){0};
	*ret_member = "name";
	rc = read_name(body, ret, reterr);
	if (!rc)
		rc = read_by((*ret_member = "by", body), ret, reterr);
	if (!rc)
		rc = read_hosts((*ret_member = "hosts", body), ret, reterr);
	if (!rc)
		rc = read_factors((*ret_member = "factors", body), factors, tunes, &cells, reterr);
	if (!rc)
		rc = read_workload((*ret_member = "workload", body), plan, reterr);
	json_object_set_new(design, "factors", factors);
	json_object_set_new(plan, "tune", tunes);
	if (!rc)
		rc = read_rest(body, cells, design, plan, ret_member, reterr);
	if (!rc) {
		ret->design = json_dumps(design, JSON_COMPACT);
		ret->plan = json_dumps(plan, JSON_COMPACT);
	}
	json_decref(design);
	json_decref(plan);
	return rc;
}

void assign_plan_done(struct assign_plan *p)
{
	free(p->design);
	free(p->plan);
	*p = (struct assign_plan){0};
}
