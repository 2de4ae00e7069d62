/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/model/profile.h"

#include <math.h>
#include <stdio.h>

/* Suffix of the metric's name and the label that holds the name. */
static const struct {
	const char *name, *suffix, *label;
} kinds[PROFILE_KINDS] = {
	{"idle", "idle", NULL},		{"unattributed", "unattributed", NULL},
	{"agent", "agent", NULL},	{"app", "share", "app"},
	{"symbol", "symbol", "symbol"}, {"object", "object", "object"},
	{"command", "command", "comm"},
};

const char *profile_basis_name(enum profile_basis b)
{
	return b == PROFILE_CYCLE ? "cycle" : "time";
}

const char *profile_kind_name(enum profile_kind k)
{
	return kinds[k].name;
}

bool profile_is_top(enum profile_kind k)
{
	return k == PROFILE_SYMBOL || k == PROFILE_OBJECT || k == PROFILE_COMMAND;
}

const char *profile_metric(enum profile_basis b, enum profile_kind k, char *buf, size_t cap)
{
	(void)snprintf(buf, cap, "%s_%s", profile_basis_name(b), kinds[k].suffix);
	return buf;
}

/* "time_symbol" -> "symbol" for the basis time; NULL for other metrics. */
static const char *suffix_of(const char *metric, enum profile_basis b)
{
	const char *word = profile_basis_name(b);
	size_t len = strlen(word);

	return !strncmp(metric, word, len) && metric[len] == '_' ? metric + len + 1 : NULL;
}

static bool kind_of(const struct series *s, const char *suffix, enum profile_kind *ret_kind,
		    const char **ret_name)
{
	for (int k = 0; k < PROFILE_KINDS; k++) {
		if (strcmp(suffix, kinds[k].suffix) != 0)
			continue;
		*ret_kind = (enum profile_kind)k;
		*ret_name = kinds[k].label  ? labels_get(&s->labels, kinds[k].label)
			    : s->labels.len ? NULL
					    : "";
		return *ret_name != NULL;
	}
	return false;
}

bool profile_series(const struct series *s, enum profile_basis *ret_basis,
		    enum profile_kind *ret_kind, const char **ret_name)
{
	/* A hair above 100 is rounding. */
	if (s->kind != SERIES_VALUE || !(s->value >= 0 && s->value <= 100.01))
		return false;
	for (int b = 0; b < PROFILE_BASES; b++) {
		const char *suffix = suffix_of(s->metric, (enum profile_basis)b);

		*ret_basis = (enum profile_basis)b;
		if (suffix)
			return kind_of(s, suffix, ret_kind, ret_name);
	}
	return false;
}

static const struct series *find(const struct run *r, enum profile_basis b, enum profile_kind k,
				 const char *name)
{
	for (size_t i = 0; i < r->series_len; i++) {
		enum profile_basis basis;
		enum profile_kind kind;
		const char *have;

		if (profile_series(&r->series[i], &basis, &kind, &have) && basis == b &&
		    kind == k && !strcmp(have, name))
			return &r->series[i];
	}
	return NULL;
}

/* The idle share comes with every profile. */
bool profile_has(const struct run *r, enum profile_basis b)
{
	return find(r, b, PROFILE_IDLE, "") != NULL;
}

void profile_read(const struct run *r, enum profile_basis b, struct profile_run *ret)
{
	*ret = (struct profile_run){.run = r, .basis = b};
	for (int k = 0; k < PROFILE_KINDS; k++)
		ret->least[k] = NAN;
	for (size_t i = 0; i < r->series_len; i++) {
		const struct series *s = &r->series[i];
		enum profile_basis basis;
		enum profile_kind kind;
		const char *name;

		if (!profile_series(s, &basis, &kind, &name) || basis != b)
			continue;
		ret->n[kind]++;
		ret->total[kind] += s->value;
		if (!(ret->least[kind] <= s->value))
			ret->least[kind] = s->value;
	}
}

struct profile_share profile_share_of(const struct profile_run *p, enum profile_kind k,
				      const char *name)
{
	const struct series *s = find(p->run, p->basis, k, name);

	if (s)
		return (struct profile_share){s->value, s->value};
	/* A run without any kernel symbol did not see them: there is always some. */
	if (!profile_is_top(k) || (k == PROFILE_SYMBOL && !p->n[k]))
		return (struct profile_share){NAN, NAN};
	/* A list with room left holds all names that were sampled. */
	return (struct profile_share){0, p->n[k] >= PROFILE_TOP ? p->least[k] : 0};
}
