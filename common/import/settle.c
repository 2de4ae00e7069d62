/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is done to every imported run, so that it is a valid run document whatever the file held:
 * text is cleaned, bounds are kept, series that would be the same get a label, histograms are
 * checked. */
#include "common/import/formats.h"
#include "common/parse.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define NAME_MAX_BYTES 128
#define TEXT_MAX_BYTES 4096
#define LABELS_MAX     64
#define SERIES_MAX     100000

/* Bytes that are not UTF-8 and control characters become '?'. */
static void clean(char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (!text || text_is_clean(text, len))
		return;
	for (size_t i = 0; i < len;) {
		size_t n = 1;

		while (n <= 4 && i + n <= len && !text_is_clean(text + i, n))
			n++;
		if (n > 4 || i + n > len) {
			text[i] = '?';
			n = 1;
		}
		i += n;
	}
}

static int clean_labels(struct labels *l, const struct import_options *o, struct err *reterr)
{
	struct labels cleaned = {0};
	bool dirty = false;

	if (l->len > LABELS_MAX)
		return err_set(reterr, ERR_LIMIT, "%s: more than %d factors, tags or labels",
			       import_source(o), LABELS_MAX);
	for (size_t i = 0; i < l->len; i++) {
		if (!*l->v[i].key || strlen(l->v[i].key) > NAME_MAX_BYTES ||
		    strlen(l->v[i].value) > TEXT_MAX_BYTES)
			return err_set(reterr, ERR_LIMIT,
				       "%s: the name or value of '%.40s' is too long",
				       import_source(o), l->v[i].key);
		dirty = dirty || !text_is_clean(l->v[i].key, strlen(l->v[i].key)) ||
			!text_is_clean(l->v[i].value, strlen(l->v[i].value));
	}
	if (!dirty)
		return 0;
	/* Cleaning may change the order of the keys. */
	for (size_t i = 0; i < l->len; i++) {
		clean(l->v[i].key);
		clean(l->v[i].value);
		labels_set(&cleaned, l->v[i].key, l->v[i].value);
	}
	labels_done(l);
	*l = cleaned;
	return 0;
}

static int settle_series(struct series *s, const struct import_options *o, struct err *reterr)
{
	int rc = clean_labels(&s->labels, o, reterr);

	clean(s->metric);
	clean(s->unit);
	clean(s->method);
	clean(s->reason);
	if (rc)
		return rc;
	if (!*s->metric || strlen(s->metric) > NAME_MAX_BYTES)
		return err_set(reterr, ERR_LIMIT,
			       "%s: the metric's name '%.40s' is empty or too long",
			       import_source(o), s->metric);
	if (s->kind == SERIES_VALUE && !isfinite(s->value))
		return err_set(reterr, ERR_INVALID, "%s: the value of %.60s is out of range",
			       import_source(o), s->metric);
	if (s->kind == SERIES_SUMMARY && (!isfinite(s->summary.avg) || !isfinite(s->summary.sdev)))
		return err_set(reterr, ERR_INVALID, "%s: the summary of %.60s is out of range",
			       import_source(o), s->metric);
	if (s->kind != SERIES_HIST)
		return 0;
	if (s->hist.count > INT64_MAX)
		return err_set(reterr, ERR_LIMIT, "%s: %.60s has more than 2^63 samples",
			       import_source(o), s->metric);
	if (hist_check(&s->hist, reterr))
		return err_prefix(reterr, "%s: %.60s: ", import_source(o), s->metric);
	return 0;
}

static int by_identity(const void *a, const void *b)
{
	const struct series *x = *(struct series *const *)a, *y = *(struct series *const *)b;
	int c = strcmp(x->metric, y->metric);

	for (size_t i = 0; !c && i < x->labels.len && i < y->labels.len; i++) {
		c = strcmp(x->labels.v[i].key, y->labels.v[i].key);
		if (!c)
			c = strcmp(x->labels.v[i].value, y->labels.v[i].value);
	}
	if (!c)
		c = (x->labels.len > y->labels.len) - (x->labels.len < y->labels.len);
	/* Equal ones keep the file's order. */
	return c ? c : (x > y) - (x < y);
}

static bool same_identity(const struct series *a, const struct series *b)
{
	return !strcmp(a->metric, b->metric) && labels_equal(&a->labels, &b->labels);
}

/* fio's numjobs gives several jobs one name, for one. */
static void tell_apart(struct run *r)
{
	struct series **order = xcalloc(r->series_len + 1, sizeof(*order));
	size_t first = 0, len = r->series_len;

	for (size_t i = 0; i < len; i++)
		order[i] = &r->series[i];
	qsort(order, len, sizeof(*order), by_identity);
	/* From the end: a label that is set does not disturb the comparison with the first one. */
	for (size_t end = len; end > 0; end = first) {
		first = end - 1;
		while (first > 0 && same_identity(order[first - 1], order[end - 1]))
			first--;
		for (size_t k = first + 1; k < end; k++) {
			char text[24];

			(void)snprintf(text, sizeof(text), "%zu", k - first + 1);
			labels_set(&order[k]->labels, "instance", text);
		}
	}
	free(order);
}

int import_settle(struct run *r, const struct import_options *o, struct err *reterr)
{
	int rc = 0;

	if (r->series_len > SERIES_MAX)
		return err_set(reterr, ERR_LIMIT, "%s: more than %d series in one run",
			       import_source(o), SERIES_MAX);
	clean(r->host);
	clean(r->experiment);
	clean(r->source);
	clean(r->boot_id);
	clean(r->excluded);
	rc = clean_labels(&r->factors, o, reterr);
	rc = rc ? rc : clean_labels(&r->tags, o, reterr);
	for (size_t i = 0; i < r->notes_len; i++)
		clean(r->notes[i].text);
	for (size_t i = 0; !rc && i < r->series_len; i++)
		rc = settle_series(&r->series[i], o, reterr);
	if (!rc)
		tell_apart(r);
	return rc;
}
