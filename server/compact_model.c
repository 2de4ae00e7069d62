/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/compact_model.h"

#include "common/check.h"

struct cmodel *cmodel_new(void)
{
	struct cmodel *m = xcalloc(1, sizeof(*m));

	m->environments = json_array();
	m->notes = json_array();
	m->breaches = json_array();
	m->gaps = json_array();
	m->unclean = json_array();
	m->new_series = json_array();
	m->rates = json_array();
	m->values = json_array();
	return m;
}

static void rows_done(struct crows *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->a); i++)
		free(r->a[i]);
	for (size_t i = 0; i < ARRAY_LEN(r->f); i++)
		free(r->f[i]);
	for (size_t i = 0; i < r->n; i++)
		strbuf_done(&r->blobs[i]);
	free(r->blobs);
}

static void series_free(struct cseries *s)
{
	if (!s)
		return;
	hist_done(&s->merged);
	json_decref(s->decl);
	free(s->metric);
	free(s->intervals);
	free(s->samples);
	free(s->minutes);
	free(s);
}

void cmodel_free(struct cmodel *m)
{
	json_t *const docs[] = {m->start, m->end,     m->environments, m->notes, m->breaches,
				m->gaps,  m->unclean, m->new_series,   m->rates, m->values};

	for (size_t i = 0; i < ARRAY_LEN(docs); i++)
		json_decref(docs[i]);
	for (size_t i = 0; i < m->cap_series; i++)
		series_free(m->series[i]);
	for (size_t i = 0; i < m->n_keep; i++)
		strbuf_done(&m->keep[i]);
	rows_done(&m->chunks);
	rows_done(&m->hists);
	rows_done(&m->minutes);
	rows_done(&m->totals);
	free(m->keep);
	free(m->series);
	free(m->records);
	free(m);
}

const unsigned char *cmodel_keep(struct cmodel *m, const void *data, size_t len)
{
	struct strbuf b = {0};

	strbuf_add(&b, data, len);
	GROW(m->keep, m->n_keep, m->cap_keep);
	m->keep[m->n_keep++] = b;
	return (const unsigned char *)b.data;
}

struct cseries *cmodel_series(struct cmodel *m, uint64_t no)
{
	return no < m->cap_series ? m->series[no] : NULL;
}

struct cseries *cmodel_add_series(struct cmodel *m, uint64_t no, const char *metric,
				  enum ckind kind)
{
	struct cseries *s = xcalloc(1, sizeof(*s));
	size_t cap = m->cap_series ? m->cap_series : 64;

	while (cap <= no)
		cap *= 2;
	if (cap > m->cap_series) {
		m->series = xrealloc(m->series, cap, sizeof(struct cseries *));
		memset(m->series + m->cap_series, 0,
		       (cap - m->cap_series) * sizeof(struct cseries *));
		m->cap_series = cap;
	}
	CHECK(!m->series[no]);
	s->no = no;
	s->metric = xstrdup(metric);
	s->kind = kind;
	m->series[no] = s;
	return s;
}

bool ckind_of(const char *name, enum ckind *ret)
{
	static const char *const names[] = {"hist", "value", "counter", "absent"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret = (enum ckind)i;
			return true;
		}
	return false;
}
