/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run's profile as a document. */
#include "common/compare/document.h"
#include "common/compare/profile.h"
#include "common/model/profile.h"

struct entry {
	enum profile_kind kind;
	const char *name;
	double share;
};

static int by_share(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The names of the kinds from..to, largest first. */
static json_t *entries_json(const struct run *r, enum profile_basis b, enum profile_kind from,
			    enum profile_kind to)
{
	struct entry *v CLEANUP(freep) = xcalloc(r->series_len + 1, sizeof(*v));
	json_t *list = json_array();
	size_t n = 0;

	for (size_t i = 0; i < r->series_len; i++) {
		struct entry e = {.share = r->series[i].value};
		enum profile_basis basis;

		if (profile_series(&r->series[i], &basis, &e.kind, &e.name) && basis == b &&
		    e.kind >= from && e.kind <= to)
			v[n++] = e;
	}
	qsort(v, n, sizeof(*v), by_share);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, PACK("{s:s,s:o,s:s,s:o}", "kind",
						 profile_kind_name(v[i].kind), "name",
						 json_text(v[i].name), "of",
						 v[i].kind == PROFILE_IDLE ? "all" : "non-idle",
						 "share", json_num(v[i].share)));
	return list;
}

/* What a name that is not in a full list has at most. */
static json_t *bound_json(const struct profile_run *p, enum profile_kind k)
{
	if (k == PROFILE_SYMBOL && !p->n[k])
		return json_null();
	return json_num(profile_share_of(p, k, "").hi);
}

static json_t *profile_json(const struct run *r, enum profile_basis b)
{
	struct profile_run p;

	profile_read(r, b, &p);
	return PACK("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "basis", profile_basis_name(b), "unit",
		    "%", "code", entries_json(r, b, PROFILE_SYMBOL, PROFILE_OBJECT), "programs",
		    entries_json(r, b, PROFILE_COMMAND, PROFILE_COMMAND), "applications",
		    entries_json(r, b, PROFILE_APP, PROFILE_APP), "whole",
		    entries_json(r, b, PROFILE_IDLE, PROFILE_AGENT), "other_symbol_at_most",
		    bound_json(&p, PROFILE_SYMBOL), "other_object_at_most",
		    bound_json(&p, PROFILE_OBJECT), "other_command_at_most",
		    bound_json(&p, PROFILE_COMMAND));
}

/* Why a run has no profile, as it says itself. */
static json_t *why_not(const struct run *r)
{
	for (size_t i = 0; i < r->notes_len; i++)
		if (!strcmp(r->notes[i].code, "no-shares") ||
		    !strcmp(r->notes[i].code, "shares-refused"))
			return json_text(r->notes[i].text);
	return json_string("the run was not sampled (the shares probe of rigstat-agent)");
}

json_t *profile_document(const struct run *r)
{
	json_t *list = json_array(), *factors = json_object();

	for (int b = 0; b < PROFILE_BASES; b++)
		if (profile_has(r, (enum profile_basis)b))
			json_array_append_new(list, profile_json(r, (enum profile_basis)b));
	for (size_t i = 0; i < r->factors.len; i++)
		json_object_set_new(factors, r->factors.v[i].key, json_text(r->factors.v[i].value));
	return PACK("{s:{s:o,s:s,s:o,s:o,s:o,s:o},s:o,s:o}", "run", "id", json_run_id(r), "uid",
		    r->uid, "host", json_text(r->host), "experiment", json_text(r->experiment),
		    "factors", factors, "started", json_time(r->started_ns), "reason",
		    json_array_size(list) ? json_null() : why_not(r), "profiles", list);
}
