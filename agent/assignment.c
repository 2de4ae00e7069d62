/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/assignment.h"

#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/ini.h"
#include "common/parse.h"
#include "common/strbuf.h"

#define ARGS_MAX 64

struct args {
	char **v;
	size_t len;
};

PRINTF(2, 3) static int add(struct args *a, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (a->len == ARGS_MAX)
		return -1;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	a->v[a->len++] = text;
	return 0;
}

static bool is_name(const char *s, const char *more)
{
	size_t n = 0;

	for (; s && s[n]; n++)
		if (!isalnum((unsigned char)s[n]) && !strchr(more, s[n]))
			return false;
	return n && n <= 128;
}

static bool is_line(const char *s, size_t max)
{
	return s && *s && strlen(s) <= max && text_is_clean(s, strlen(s)) && !strpbrk(s, "\n\t");
}

/* "--factor=name='a','b'"; a level with a quote is refused rather than escaped. */
static int add_factor(struct args *a, const json_t *f, const json_t *tunes, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};
	const char *name = json_string_value(json_object_get(f, "name")), *tune;
	const json_t *levels = json_object_get(f, "levels"), *v;
	size_t i;

	if (!is_name(name, "_-."))
		return err_set(reterr, ERR_INVALID, "a factor's name is not one");
	json_array_foreach(levels, i, v)
	{
		const char *s = json_string_value(v);

		if (!is_line(s, 200) || strpbrk(s, "'\""))
			return err_set(reterr, ERR_INVALID, "factor %s: a level is not one", name);
		strbuf_printf(&b, "%s'%s'", i ? "," : "", s);
	}
	if (!b.len || add(a, "--factor=%s=%s", name, b.data))
		return err_set(reterr, ERR_INVALID, "factor %s: no levels, or too many", name);
	v = json_object_get(tunes, name);
	if (!v || json_is_null(v))
		return 0;
	tune = json_string_value(v);
	if (!is_name(tune, "_-"))
		return err_set(reterr, ERR_PERM,
			       "factor %s: a server may name a tunable of this box, nothing else",
			       name);
	return add(a, "--tune=%s=%s", name, tune) ? err_set(reterr, ERR_LIMIT, "too many arguments")
						  : 0;
}

static int add_number(struct args *a, const char *option, const json_t *from, const char *key,
		      const char *unit, struct err *reterr)
{
	const json_t *v = json_object_get(from, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return err_set(reterr, ERR_INVALID, "%s is no whole number of 0 or more", key);
	return add(a, "--%s=%lld%s", option, (long long)json_integer_value(v), unit)
		       ? err_set(reterr, ERR_LIMIT, "too many arguments")
		       : 0;
}

static int add_word(struct args *a, const char *option, const json_t *v, struct err *reterr)
{
	const char *s = json_string_value(v);

	if (!is_name(s, "_-."))
		return err_set(reterr, ERR_PERM,
			       "%s: a server may name one of this box, nothing else", option);
	return add(a, "--%s=%s", option, s) ? err_set(reterr, ERR_LIMIT, "too many arguments") : 0;
}

static int add_design(struct args *a, const json_t *design, const json_t *plan, struct err *reterr)
{
	const json_t *tunes = json_object_get(plan, "tune"), *f;
	size_t i;
	int rc;

	json_array_foreach(json_object_get(design, "factors"), i, f)
	{
		rc = add_factor(a, f, tunes, reterr);
		if (rc)
			return rc;
	}
	rc = add_word(a, "order", json_object_get(design, "order"), reterr);
	if (!rc)
		rc = add_number(a, "runs", design, "runs_per_cell", "", reterr);
	if (!rc)
		rc = add_number(a, "seed", design, "seed", "", reterr);
	return rc;
}

static int add_plan(struct args *a, const json_t *plan, struct err *reterr)
{
	const json_t *workload = json_object_get(plan, "workload");
	int rc = add_number(a, "warmup", plan, "warmup_ns", "ns", reterr);

	if (!rc)
		rc = add_number(a, "duration", plan, "duration_ns", "ns", reterr);
	if (!rc)
		rc = add_number(a, "retries", plan, "retries", "", reterr);
	if (!rc)
		rc = add_word(a, "on-failure", json_object_get(plan, "on_failure"), reterr);
	if (!rc && workload && !json_is_null(workload))
		rc = add_word(a, "workload", workload, reterr);
	if (!rc && json_is_true(json_object_get(plan, "quiet")) && add(a, "--quiet"))
		rc = err_set(reterr, ERR_LIMIT, "too many arguments");
	return rc;
}

static int add_head(struct args *a, const json_t *j, bool dry, struct err *reterr)
{
	const char *name = json_string_value(json_object_get(j, "experiment"));
	const char *uid = json_string_value(json_object_get(j, "uid"));

	if (!is_line(name, 100) || strchr(name, '/'))
		return err_set(reterr, ERR_INVALID, "the experiment's name is not one");
	if (dry)
		return add(a, "--experiment=%s", name)
			       ? err_set(reterr, ERR_LIMIT, "too many arguments")
			       : 0;
	if (!uid || strlen(uid) != 32 || strspn(uid, "0123456789abcdef") != 32)
		return err_set(reterr, ERR_INVALID, "the experiment's uid is not one");
	if (add(a, "--experiment=%s", name) || add(a, "--experiment-uid=%s", uid))
		return err_set(reterr, ERR_LIMIT, "too many arguments");
	return 0;
}

/* What identifies the plan on this box, and what is done of it. */
static int read_plan(struct assignment *ret, const json_t *j, struct err *reterr)
{
	const json_t *design = json_object_get(j, "design");
	json_int_t total = json_integer_value(json_object_get(design, "total_runs"));
	const char *known = json_string_value(json_object_get(j, "known"));

	if (total < 1 || total > 100000)
		return err_set(reterr, ERR_INVALID, "total_runs is not 1 to 100000");
	snprintf(ret->plan.uid, sizeof(ret->plan.uid), "%s",
		 json_string_value(json_object_get(j, "uid")));
	ret->plan.total = (uint32_t)total;
	ret->plan.seed = (uint64_t)json_integer_value(json_object_get(design, "seed"));
	ret->known = xstrdup(known ? known : "");
	ret->quiet = json_is_true(json_object_get(json_object_get(j, "plan"), "quiet"));
	return 0;
}

static int parse_id(const json_t *j, const char *prefix, int64_t *ret, struct err *reterr)
{
	const char *id = json_string_value(json_object_get(j, "id"));

	if (!id || strncmp(id, prefix, 2) != 0 || parse_i64(id + 2, ret, NULL) || *ret <= 0) {
		*ret = 0;
		return err_set(reterr, ERR_REMOTE, "an assignment without an id");
	}
	return 0;
}

int assignment_parse(const char *json, size_t len, struct assignment *ret, struct err *reterr)
{
	json_t *doc = json_loadb(json, len, JSON_REJECT_DUPLICATES, NULL), *j;
	struct args a = {.v = xcalloc(ARGS_MAX + 1, sizeof(char *))};
	int rc = 0;

	*ret = (struct assignment){.args = a.v};
	j = json_object_get(doc, "assignment");
	if (!j)
		rc = err_set(reterr, ERR_REMOTE, "the answer is no assignment");
	else if (!json_is_null(j))
		rc = parse_id(j, "a_", &ret->id, reterr);
	else if (json_is_object(json_object_get(doc, "dry_run"))) {
		j = json_object_get(doc, "dry_run");
		ret->dry = true;
		rc = parse_id(j, "d_", &ret->id, reterr);
	}
	if (!rc && ret->id)
		rc = add_head(&a, j, ret->dry, reterr);
	if (!rc && ret->id)
		rc = add_design(&a, json_object_get(j, "design"), json_object_get(j, "plan"),
				reterr);
	if (!rc && ret->id)
		rc = add_plan(&a, json_object_get(j, "plan"), reterr);
	if (!rc && ret->id && !ret->dry)
		rc = read_plan(ret, j, reterr);
	if (!rc && ret->dry && (add(&a, "--dry-run") || add(&a, "--json")))
		rc = err_set(reterr, ERR_LIMIT, "too many arguments");
	json_decref(doc);
	return rc;
}

void assignment_done(struct assignment *a)
{
	words_free(a->args);
	free(a->known);
	*a = (struct assignment){0};
}
