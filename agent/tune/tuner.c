/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/tuner.h"

#include <stdio.h>

#include "agent/tune/step.h"
#include "agent/tune/sysfile.h"
#include "agent/tune/value.h"

#define FACTORS_MAX 32

/* ---- one target, whichever its kind ---- */

/* The first line of the verify step. */
static int read_step(const struct tunable *t, char *raw, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	int rc = step_run(t->verify, "{value}", "", t->timeout_ns, &out, reterr);

	if (rc)
		return err_prefix(reterr, "tunable '%s', verify: ", t->name);
	if (out.len)
		out.data[strcspn(out.data, "\n")] = '\0';
	snprintf(raw, TUNE_VALUE_MAX, "%s", out.len ? out.data : "");
	if (!*raw)
		return err_set(reterr, ERR_IO, "tunable '%s': its verify step printed nothing",
			       t->name);
	return 0;
}

static int target_read_raw(enum target_kind kind, const char *target, const struct tunable *t,
			   char *raw, struct err *reterr)
{
	return kind == TARGET_PATH ? sysfile_read(target, raw, reterr) : read_step(t, raw, reterr);
}

static int target_read(enum target_kind kind, const char *target, const struct tunable *t,
		       char *value, struct err *reterr)
{
	char raw[TUNE_VALUE_MAX];
	int rc = target_read_raw(kind, target, t, raw, reterr);

	if (!rc)
		value_normal(raw, value);
	return rc;
}

static int target_write(enum target_kind kind, const char *target, const struct tunable *t,
			const char *value, struct err *reterr)
{
	int rc;

	if (kind == TARGET_PATH)
		return sysfile_write(target, value, reterr);
	rc = step_run(t->apply, "{value}", value, t->timeout_ns, NULL, reterr);
	return rc ? err_prefix(reterr, "tunable '%s', apply: ", t->name) : 0;
}

static int target_put_back(enum target_kind kind, const char *target, const struct tunable *t,
			   const char *old, struct err *reterr)
{
	int rc;

	if (kind == TARGET_PATH || !t->restore)
		return target_write(kind, target, t, old, reterr);
	rc = step_run(t->restore, "{old}", old, t->timeout_ns, NULL, reterr);
	return rc ? err_prefix(reterr, "tunable '%s', restore: ", t->name) : 0;
}

/* ---- binding ---- */

static struct binding *find(const struct tuner *t, const char *factor)
{
	for (size_t i = 0; i < t->len; i++)
		if (!strcmp(t->v[i].factor, factor))
			return &t->v[i];
	return NULL;
}

static int need(const struct tuner *t, const char *factor, struct binding **ret, struct err *reterr)
{
	*ret = find(t, factor);
	if (!*ret)
		return err_set(reterr, ERR_NOT_FOUND, "factor '%s' has no tunable", factor);
	return 0;
}

const char *tuner_target(const struct tuner *t, const char *factor)
{
	const struct binding *b = find(t, factor);

	return b ? b->target : NULL;
}

static int resolve_named(struct tuner *t, const char *name, struct binding *b, struct err *reterr)
{
	b->t = tunables_find(&t->tunables, name);
	if (!b->t)
		return err_set(reterr, ERR_NOT_FOUND,
			       "this box has no tunable '%s'; it has %zu in its tunables directory",
			       name, t->tunables.len);
	if (!t->may_name_paths && !b->t->values)
		return err_set(reterr, ERR_PERM,
			       "tunable '%s' lists no values, so only root may choose one", name);
	if (b->t->path) {
		b->kind = TARGET_PATH;
		return sysfile_resolve(b->t->path, t->roots, &b->target, reterr);
	}
	b->kind = TARGET_NAMED;
	b->target = xstrdup(name);
	return 0;
}

static int resolve(struct tuner *t, const char *spec, struct binding *b, struct err *reterr)
{
	if (!strpbrk(spec, "/."))
		return resolve_named(t, spec, b, reterr);
	if (!t->may_name_paths)
		return err_set(reterr, ERR_PERM,
			       "only root may name a path; others choose a tunable of the box");
	b->kind = TARGET_PATH;
	return sysfile_resolve(spec, t->roots, &b->target, reterr);
}

static int check_binding(struct tuner *t, const struct binding *b, char *ret_present,
			 struct err *reterr)
{
	int rc;

	for (size_t i = 0; i < t->len; i++)
		if (t->v[i].kind == b->kind && !strcmp(t->v[i].target, b->target))
			return err_set(reterr, ERR_CONFLICT, "factors '%s' and '%s' both set %s",
				       t->v[i].factor, b->factor, b->target);
	rc = target_read(b->kind, b->target, b->t, ret_present, reterr);
	if (!rc && b->kind == TARGET_PATH)
		rc = sysfile_probe_write(b->target, reterr);
	return rc;
}

static void binding_done(struct binding *b)
{
	free(b->factor);
	free(b->target);
	free(b->last);
}

int tuner_bind(struct tuner *t, const char *factor, const char *spec, char *ret_present,
	       struct err *reterr)
{
	struct binding b = {0};
	int rc;

	if (find(t, factor))
		return err_set(reterr, ERR_CONFLICT, "factor '%s' is bound already", factor);
	if (t->len == FACTORS_MAX)
		return err_set(reterr, ERR_LIMIT, "more than %d factors", FACTORS_MAX);
	b.factor = xstrdup(factor);
	rc = resolve(t, spec, &b, reterr);
	if (!rc)
		rc = check_binding(t, &b, ret_present, reterr);
	if (rc) {
		binding_done(&b);
		return rc;
	}
	GROW(t->v, t->len, t->cap);
	t->v[t->len++] = b;
	return 0;
}

/* ---- setting ---- */

static int check_allowed(const struct binding *b, const char *value, struct err *reterr)
{
	int rc = value_check(value, reterr);

	if (!rc && b->t && !tunable_allows(b->t, value))
		rc = err_set(reterr, ERR_PERM, "tunable '%s' does not allow '%s' (%s)", b->t->name,
			     value, b->t->where);
	return rc;
}

int tuner_check(struct tuner *t, const char *factor, const char *value, struct err *reterr)
{
	char raw[TUNE_VALUE_MAX];
	struct binding *b;
	int rc = need(t, factor, &b, reterr);

	if (!rc && b->t && b->t->reboot)
		rc = err_set(reterr, ERR_INVALID,
			     "tunable '%s' is set by a boot: run with --boot %s=%s", b->t->name,
			     factor, b->t->name);
	rc = rc ? rc : check_allowed(b, value, reterr);
	if (rc)
		return rc;
	rc = target_read_raw(b->kind, b->target, b->t, raw, reterr);
	if (!rc && value_is_selector(raw) && !value_in_selector(raw, value))
		return err_set(reterr, ERR_INVALID, "%s offers no '%s', only: %.*s", b->target,
			       value, (int)strcspn(raw, "\n"), raw);
	return rc;
}

static int check_unchanged(const struct binding *b, const char *present, struct err *reterr)
{
	if (!b->last || value_equal(b->last, present))
		return 0;
	return err_set(reterr, ERR_CONFLICT,
		       "%s: another program changed it to '%s' while it was set to '%s'", b->target,
		       present, b->last);
}

/* Writes and reads back; what the kernel made of the value is journaled as ours too. */
static int write_verified(struct tuner *t, struct binding *b, const char *old, const char *value,
			  struct err *reterr)
{
	char seen[TUNE_VALUE_MAX], want[TUNE_VALUE_MAX];
	int rc = target_write(b->kind, b->target, b->t, value, reterr);

	if (!rc)
		rc = target_read(b->kind, b->target, b->t, seen, reterr);
	if (rc)
		return rc;
	freep(&b->last);
	b->last = xstrdup(seen);
	if (value_equal(seen, value_normal(value, want)))
		return 0;
	rc = journal_note(&t->journal, b->kind, b->target, old, seen, reterr);
	if (rc)
		return rc;
	return err_set(reterr, ERR_INVALID, "%s: was set to '%s' but reads '%s'", b->target, value,
		       seen);
}

int tuner_set(struct tuner *t, const char *factor, const char *value, struct err *reterr)
{
	char present[TUNE_VALUE_MAX], want[TUNE_VALUE_MAX];
	const struct journal_entry *e;
	CLEANUP(freep) char *old = NULL;
	struct binding *b;
	int rc = tuner_check(t, factor, value, reterr);

	if (!rc)
		rc = need(t, factor, &b, reterr);
	if (!rc)
		rc = target_read(b->kind, b->target, b->t, present, reterr);
	if (!rc)
		rc = check_unchanged(b, present, reterr);
	if (rc)
		return rc;
	e = journal_find(&t->journal, b->kind, b->target);
	old = xstrdup(e ? e->old : present);
	rc = journal_note(&t->journal, b->kind, b->target, old, value_normal(value, want), reterr);
	if (rc)
		return rc;
	return write_verified(t, b, old, value, reterr);
}

int tuner_verify(struct tuner *t, const char *factor, struct err *reterr)
{
	char present[TUNE_VALUE_MAX];
	struct binding *b;
	int rc = need(t, factor, &b, reterr);

	if (!rc)
		rc = target_read(b->kind, b->target, b->t, present, reterr);
	return rc ? rc : check_unchanged(b, present, reterr);
}

/* ---- boots ---- */

static int need_boot(const struct tuner *t, const char *factor, const char *value,
		     struct binding **ret, struct err *reterr)
{
	int rc = need(t, factor, ret, reterr);

	if (!rc && !((*ret)->t && (*ret)->t->reboot))
		rc = err_set(reterr, ERR_INVALID,
			     "%s is not set by a boot: its tunable needs a reboot step",
			     (*ret)->target);
	return rc ? rc : check_allowed(*ret, value, reterr);
}

int tuner_boot_check(struct tuner *t, const char *factor, const char *value,
		     int64_t *ret_timeout_ns, struct err *reterr)
{
	struct binding *b;
	int rc = need_boot(t, factor, value, &b, reterr);

	*ret_timeout_ns = rc ? 0 : b->t->boot_timeout_ns;
	return rc;
}

int tuner_boot(struct tuner *t, const char *factor, const char *value, struct err *reterr)
{
	struct binding *b;
	int rc = need_boot(t, factor, value, &b, reterr);

	rc = rc ? rc : target_write(b->kind, b->target, b->t, value, reterr);
	if (rc)
		return rc;
	rc = step_run(b->t->reboot, "{value}", value, b->t->timeout_ns, NULL, reterr);
	return rc ? err_prefix(reterr, "tunable '%s', reboot: ", b->t->name) : 0;
}

/* ---- putting back ---- */

/* The tunable of a journaled name; the box's file may be gone since. */
static int entry_tunable(const struct tuner *t, const struct journal_entry *e,
			 const struct tunable **ret, struct err *reterr)
{
	*ret = NULL;
	if (e->kind == TARGET_PATH)
		return 0;
	*ret = tunables_find(&t->tunables, e->target);
	if (*ret && (*ret)->verify)
		return 0;
	return err_set(reterr, ERR_IO,
		       "tunable '%s' is not described any more: put '%s' back by hand", e->target,
		       e->old);
}

static int write_old(const struct tunable *tu, const struct journal_entry *e, struct err *reterr)
{
	char seen[TUNE_VALUE_MAX];
	int rc = target_put_back(e->kind, e->target, tu, e->old, reterr);

	if (!rc)
		rc = target_read(e->kind, e->target, tu, seen, reterr);
	if (!rc && !value_equal(seen, e->old))
		rc = err_set(reterr, ERR_IO, "%s: was put back to '%s' but reads '%s'", e->target,
			     e->old, seen);
	return rc;
}

static int restore_entry(struct tuner *t, struct journal_entry *e, bool tell, struct strbuf *report,
			 struct err *reterr)
{
	char present[TUNE_VALUE_MAX];
	const struct tunable *tu;
	int rc = entry_tunable(t, e, &tu, reterr);

	if (!rc)
		rc = target_read(e->kind, e->target, tu, present, reterr);
	if (rc == ERR_NOT_FOUND) {
		strbuf_printf(report, "%s is gone: '%s' cannot be put back\n", e->target, e->old);
		return journal_mark_done(&t->journal, e, reterr);
	}
	if (rc)
		return rc;
	if (!value_equal(present, e->old) && !journal_is_ours(e, present)) {
		strbuf_printf(report,
			      "%s was changed by another program to '%s': left alone (before the "
			      "experiment it was '%s')\n",
			      e->target, present, e->old);
	} else if (!value_equal(present, e->old)) {
		rc = write_old(tu, e, reterr);
		if (!rc && tell)
			strbuf_printf(report, "%s was put back from '%s' to '%s'\n", e->target,
				      present, e->old);
	}
	return rc ? rc : journal_mark_done(&t->journal, e, reterr);
}

static int restore_all(struct tuner *t, bool tell, struct strbuf *report, struct err *reterr)
{
	int first = 0;

	for (size_t i = t->journal.book.len; i-- > 0;) {
		struct journal_entry *e = &t->journal.book.v[i];
		struct err err;

		if (e->done || !restore_entry(t, e, tell, report, &err))
			continue;
		strbuf_printf(report, "not put back: %s\n", err.text);
		if (!first)
			first = err_set(reterr, err.code, "not put back: %s", err.text);
	}
	return first ? first : journal_clear(&t->journal, false, reterr);
}

int tuner_restore(struct tuner *t, struct strbuf *report, struct err *reterr)
{
	for (size_t i = 0; i < t->len; i++)
		freep(&t->v[i].last);
	return restore_all(t, false, report, reterr);
}

static int report_earlier_boot(struct tuner *t, struct strbuf *report, struct err *reterr)
{
	for (size_t i = 0; i < t->journal.book.len; i++) {
		const struct journal_entry *e = &t->journal.book.v[i];

		if (!e->done)
			strbuf_printf(report,
				      "%s was set from '%s' to '%s' when the box went down: a "
				      "reboot resets it, so it is not touched\n",
				      e->target, e->old, e->ours[e->ours_len - 1]);
	}
	return journal_clear(&t->journal, true, reterr);
}

int tuner_recover(struct tuner *t, struct strbuf *report, struct err *reterr)
{
	const struct journal_book *b = &t->journal.book;

	if (b->damaged)
		strbuf_printf(report, "%s: %zu damaged lines were skipped\n", t->journal.path,
			      b->damaged);
	if (!b->len && !b->damaged)
		return 0;
	if (strcmp(b->boot_id, t->journal.boot_id) != 0)
		return report_earlier_boot(t, report, reterr);
	return restore_all(t, true, report, reterr);
}

void tuner_done(struct tuner *t)
{
	for (size_t i = 0; i < t->len; i++)
		binding_done(&t->v[i]);
	free(t->v);
	tunables_done(&t->tunables);
	journal_close(&t->journal);
}
