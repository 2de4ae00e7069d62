/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/model/run.h"
#include "common/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

/* ---- labels ---- */

/* Index of the first label whose key is >= key. */
static size_t label_at(const struct labels *l, const char *key)
{
	size_t i = 0;

	while (i < l->len && strcmp(l->v[i].key, key) < 0)
		i++;
	return i;
}

static void label_remove(struct labels *l, size_t i)
{
	free(l->v[i].key);
	free(l->v[i].value);
	memmove(&l->v[i], &l->v[i + 1], (l->len - i - 1) * sizeof(*l->v));
	l->len--;
}

void labels_set(struct labels *l, const char *key, const char *value)
{
	size_t i = label_at(l, key);
	bool have = i < l->len && !strcmp(l->v[i].key, key);

	if (!value) {
		if (have)
			label_remove(l, i);
		return;
	}
	if (have) {
		char *copy = xstrdup(value);

		free(l->v[i].value);
		l->v[i].value = copy;
		return;
	}
	GROW(l->v, l->len, l->cap);
	memmove(&l->v[i + 1], &l->v[i], (l->len - i) * sizeof(*l->v));
	l->v[i] = (struct label){xstrdup(key), xstrdup(value)};
	l->len++;
}

const char *labels_get(const struct labels *l, const char *key)
{
	size_t i = label_at(l, key);

	return i < l->len && !strcmp(l->v[i].key, key) ? l->v[i].value : NULL;
}

bool labels_equal(const struct labels *a, const struct labels *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (strcmp(a->v[i].key, b->v[i].key) || strcmp(a->v[i].value, b->v[i].value))
			return false;
	return true;
}

void labels_copy(struct labels *to, const struct labels *from)
{
	memset(to, 0, sizeof(*to));
	for (size_t i = 0; i < from->len; i++)
		labels_set(to, from->v[i].key, from->v[i].value);
}

void labels_done(struct labels *l)
{
	while (l->len)
		label_remove(l, l->len - 1);
	free(l->v);
	memset(l, 0, sizeof(*l));
}

/* ---- runs ---- */

struct run *run_new(enum run_kind kind)
{
	struct run *r = xcalloc(1, sizeof(*r));

	r->kind = kind;
	r->state = RUN_OK;
	return r;
}

static void series_done(struct series *s)
{
	free(s->metric);
	free(s->unit);
	free(s->method);
	free(s->reason);
	labels_done(&s->labels);
	hist_done(&s->hist);
}

void run_free(struct run *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->series_len; i++)
		series_done(&r->series[i]);
	for (size_t i = 0; i < r->notes_len; i++) {
		free(r->notes[i].code);
		free(r->notes[i].text);
	}
	free(r->series);
	free(r->notes);
	free(r->host);
	free(r->experiment);
	free(r->source);
	free(r->boot_id);
	free(r->excluded);
	labels_done(&r->factors);
	labels_done(&r->tags);
	json_decref(r->environment);
	json_decref(r->extra);
	free(r);
}

void run_freep(struct run **r)
{
	run_free(*r);
	*r = NULL;
}

struct series *run_add_series(struct run *r, const char *metric, enum series_kind kind,
			      const char *unit)
{
	struct series *s;

	GROW(r->series, r->series_len, r->series_cap);
	s = &r->series[r->series_len++];
	memset(s, 0, sizeof(*s));
	s->metric = xstrdup(metric);
	s->unit = xstrdup(unit);
	s->kind = kind;
	return s;
}

void run_note(struct run *r, const char *code, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	CHECK(len >= 0);
	GROW(r->notes, r->notes_len, r->notes_cap);
	r->notes[r->notes_len++] = (struct note){xstrdup(code), text};
}

void run_mint_uid(char uid[33])
{
	unsigned char id[16];

	CHECK(getrandom(id, sizeof(id), 0) == (ssize_t)sizeof(id));
	for (size_t i = 0; i < sizeof(id); i++)
		(void)snprintf(uid + 2 * i, 3, "%02x", id[i]);
}

void runs_add(struct runs *rs, struct run *r)
{
	GROW(rs->v, rs->len, rs->cap);
	rs->v[rs->len++] = r;
}

void runs_done(struct runs *rs)
{
	for (size_t i = 0; i < rs->len; i++)
		run_free(rs->v[i]);
	free(rs->v);
	memset(rs, 0, sizeof(*rs));
}

const char *run_kind_name(enum run_kind k)
{
	static const char *const names[] = {"measured", "watch", "imported"};

	return names[k];
}

const char *run_state_name(enum run_state s)
{
	static const char *const names[] = {"running", "ok", "failed", "aborted"};

	return names[s];
}

const char *series_kind_name(enum series_kind k)
{
	static const char *const names[] = {"hist", "value", "summary", "absent"};

	return names[k];
}

const char *omission_name(enum omission o)
{
	static const char *const names[] = {"unknown", "keeps_deadlines", "skips_missed",
					    "intended_time"};

	return names[o];
}
