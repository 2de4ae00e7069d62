/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statements of a pass and their parameters. */
#include "common/check.h"
#include "server/compact_internal.h"
#include "server/items.h"
#include "server/queries.h"

void write_done(struct write *w)
{
	free(w->texts[0]);
	free(w->texts[1]);
	free(w->list);
}

static struct db_param json_param(struct write *w, size_t i, const json_t *doc)
{
	if (!doc)
		return P_NULL(DB_JSON);
	w->texts[i] = json_dumps(doc, JSON_COMPACT);
	CHECK(w->texts[i]);
	return P_JSON(w->texts[i]);
}

static void add(struct write *w, struct db_param p)
{
	CHECK(w->n < ARRAY_LEN(w->params));
	w->params[w->n++] = p;
}

static void add_run(struct write *w, const struct job *j)
{
	add(w, P_I64(j->key.host_id));
	add(w, P_I64(j->run_id));
}

static void add_key(struct write *w, const struct job *j)
{
	add(w, P_I64(j->key.host_id));
	add(w, P_UUID(j->key.stream));
	add(w, P_I64(j->key.run_no));
}

static const struct query *put_rows(const struct job *j, struct write *w, const struct query *q,
				    const struct crows *r, size_t n_a, size_t n_f)
{
	if (!r->n || !j->exists)
		return NULL;
	add_run(w, j);
	for (size_t i = 0; i < n_a; i++)
		add(w, P_I64S(r->a[i], r->n));
	for (size_t i = 0; i < n_f; i++)
		add(w, P_F64S(r->f[i], r->n));
	add(w, P_BLOBS(r->blobs, r->n));
	return q;
}

static const struct query *put_list(const struct job *j, struct write *w, const struct query *q,
				    const json_t *list)
{
	if (!json_array_size(list) || !j->exists)
		return NULL;
	add_run(w, j);
	add(w, json_param(w, 0, list));
	return q;
}

static const struct query *put_run(const struct job *j, struct write *w)
{
	if (!j->m->start || (j->exists && !j->by_uid))
		return NULL;
	add_key(w, j);
	add(w, json_param(w, 0, j->m->start));
	return &Q_COMPACT_PUT_RUN;
}

static const struct query *put_environments(const struct job *j, struct write *w)
{
	if (!json_array_size(j->m->environments))
		return NULL;
	add(w, json_param(w, 0, j->m->environments));
	return &Q_COMPACT_PUT_ENVIRONMENTS;
}

static const struct query *update_run(const struct job *j, struct write *w)
{
	const struct cmodel *m = j->m;

	if (!j->exists)
		return NULL;
	add_run(w, j);
	add(w, P_I64(m->phase));
	add(w, P_I64(m->last_ns));
	/* Numbers of another stream say nothing about this one. */
	add(w, j->by_uid ? P_NULL(DB_I64) : P_I64((int64_t)m->first_seq));
	add(w, j->by_uid ? P_NULL(DB_I64) : P_I64((int64_t)m->last_seq));
	add(w, P_I64((int64_t)m->samples));
	add(w, P_I64((int64_t)m->n_breaches));
	add(w, json_param(w, 0, m->notes));
	add(w, json_param(w, 1, m->end));
	add(w, m->measured_from_ns ? P_I64(m->measured_from_ns) : P_NULL(DB_I64));
	add(w, m->measured_to_ns ? P_I64(m->measured_to_ns) : P_NULL(DB_I64));
	add(w, P_I64(m->last_ns));
	return &Q_COMPACT_UPDATE_RUN;
}

static const struct query *put_missed(const struct job *j, struct write *w)
{
	const json_t *missed = json_object_get(j->m->end, "missed");

	if (!j->exists || !json_object_size(missed))
		return NULL;
	add_run(w, j);
	add(w, json_param(w, 0, missed));
	return &Q_COMPACT_MISSED;
}

static const struct query *put_states(const struct job *j, struct write *w)
{
	const json_t *states = json_object_get(j->m->end, "states");

	if (!j->exists || !json_object_size(states))
		return NULL;
	add_run(w, j);
	add(w, json_param(w, 0, states));
	return &Q_COMPACT_STATES;
}

static const struct query *put_gaps(const struct job *j, struct write *w)
{
	if (!json_array_size(j->m->gaps))
		return NULL;
	add(w, P_I64(j->key.host_id));
	add(w, json_param(w, 0, j->m->gaps));
	return &Q_COMPACT_PUT_GAPS;
}

static const struct query *end_unclean(const struct job *j, struct write *w)
{
	size_t n = json_array_size(j->m->unclean);

	if (!n)
		return NULL;
	w->list = xcalloc(n, sizeof(*w->list));
	for (size_t i = 0; i < n; i++)
		w->list[i] = json_string_value(json_array_get(j->m->unclean, i));
	add(w, P_I64(j->key.host_id));
	add(w, P_TEXTS(w->list, n));
	return &Q_COMPACT_UNCLEAN;
}

static const struct query *delete_staged(const struct job *j, struct write *w)
{
	add_key(w, j);
	add(w, P_I64((int64_t)j->m->first_seq));
	add(w, P_I64((int64_t)j->m->last_seq));
	return &Q_COMPACT_DELETE;
}

const struct query *write_step(const struct job *j, enum write_step step, struct write *w)
{
	const struct cmodel *m = j->m;

	switch (step) {
	case WRITE_RUN:
		return put_run(j, w);
	case WRITE_ENVIRONMENTS:
		return put_environments(j, w);
	case WRITE_SERIES:
		return put_list(j, w, &Q_COMPACT_PUT_SERIES, m->new_series);
	case WRITE_HISTS:
		return put_rows(j, w, &Q_COMPACT_PUT_HISTS, &m->hists, 6, 0);
	case WRITE_CHUNKS:
		return put_rows(j, w, &Q_COMPACT_PUT_CHUNKS, &m->chunks, 5, 3);
	case WRITE_MINUTES:
		return put_rows(j, w, &Q_COMPACT_PUT_MINUTES, &m->minutes, 6, 0);
	case WRITE_TOTALS:
		return put_rows(j, w, &Q_COMPACT_PUT_TOTALS, &m->totals, 5, 0);
	case WRITE_RATES:
		return put_list(j, w, &Q_COMPACT_PUT_RATES, m->rates);
	case WRITE_VALUES:
		return put_list(j, w, &Q_COMPACT_PUT_VALUES, m->values);
	case WRITE_BREACHES:
		return put_list(j, w, &Q_COMPACT_PUT_BREACHES, m->breaches);
	case WRITE_UPDATE:
		return update_run(j, w);
	case WRITE_MISSED:
		return put_missed(j, w);
	case WRITE_STATES:
		return put_states(j, w);
	case WRITE_GAPS:
		return put_gaps(j, w);
	case WRITE_NOTE_GAPS:
		add(w, P_I64(j->key.host_id));
		add(w, P_UUID(j->key.stream));
		return &Q_COMPACT_NOTE_GAPS;
	case WRITE_UNCLEAN:
		return end_unclean(j, w);
	case WRITE_DELETE:
		return delete_staged(j, w);
	case WRITE_STEPS:
		break;
	}
	return NULL;
}
