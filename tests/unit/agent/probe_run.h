/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of a probe on a made-up box: /proc and /sys below a private directory, the sampler that
 * drives it, and the items that it writes. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/facts.h"
#include "agent/sampler.h"
#include "tests/unit/agent/fake_root.h"

struct fixture {
	char root[64];
	struct sampler *sampler;
	uint64_t last;
	json_t *series; /* number -> declaration, with "value" or "total" once known */
	json_t *notes;	/* marks: code -> text */
};

static inline void put(struct fixture *f, const char *path, const char *text)
{
	fake_root_put(f->root, path, text);
}

static inline struct fixture *fixture_new(void)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/rigstat-probe-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	f->series = json_object();
	f->notes = json_object();
	f->sampler = sampler_new();
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	char command[128];

	sampler_free(f->sampler);
	json_decref(f->series);
	json_decref(f->notes);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->root);
	assert_int_equal(system(command), 0);
	free(f);
}

/* ---- what was written ---- */

static inline json_t *declared(struct fixture *f, uint64_t number)
{
	char key[32];

	snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
	return json_object_get(f->series, key);
}

static inline void read_item(struct fixture *f, const struct record_item *it)
{
	struct item_counter c;
	struct counter_sample sample;
	const char *text;
	uint64_t number;
	size_t len;
	double v;

	if (it->type == ITEM_SERIES) {
		char key[32];

		assert_int_equal(item_series_read(it, &number, &text, &len, NULL), 0);
		snprintf(key, sizeof(key), "%llu", (unsigned long long)number);
		json_object_set_new(f->series, key, json_loadb(text, len, 0, NULL));
	} else if (it->type == ITEM_VALUE) {
		assert_int_equal(item_value_read(it, &number, &v, NULL), 0);
		json_object_set_new(declared(f, number), "value", json_real(v));
	} else if (it->type == ITEM_COUNTER) {
		assert_int_equal(item_counter_read(it, &c, NULL), 0);
		assert_int_equal(item_counter_next(&c, &sample, NULL), 0);
		v = json_number_value(json_object_get(declared(f, c.series), "total"));
		json_object_set_new(declared(f, c.series), "total",
				    json_real(v + (double)sample.delta));
	}
}

static inline void read_items(struct fixture *f, struct record_writer *w)
{
	struct record_header h;
	struct record_item it;
	struct reader r;

	record_finish(w, 1, 1, 0, 0);
	assert_int_equal(record_check(w->buf.data, w->buf.len, &h, NULL), 0);
	r = record_payload(w->buf.data, &h);
	while (record_next_item(&r, &it, NULL) > 0)
		read_item(f, &it);
}

static inline const json_t *find(const struct fixture *f, const char *metric, const char *labels)
{
	json_t *s, *want = json_loads(labels, 0, NULL);
	const char *key;

	json_object_foreach(f->series, key, s)
	{
		if (strcmp(json_string_value(json_object_get(s, "metric")), metric) != 0 ||
		    !json_equal(json_object_get(s, "labels"), want))
			continue;
		json_decref(want);
		return s;
	}
	json_decref(want);
	return NULL;
}

static inline double value(const struct fixture *f, const char *metric, const char *labels)
{
	const json_t *s = find(f, metric, labels);

	if (!s || !json_object_get(s, "value"))
		fail_msg("%s %s has no value", metric, labels);
	return json_number_value(json_object_get(s, "value"));
}

static inline const char *reason(const struct fixture *f, const char *metric, const char *labels)
{
	const json_t *s = find(f, metric, labels);

	if (!s)
		fail_msg("there is no %s %s", metric, labels);
	assert_string_equal(json_string_value(json_object_get(s, "kind")), "absent");
	return json_string_value(json_object_get(s, "reason"));
}

/* ---- a run ---- */

static inline void collect(struct fixture *f, bool measured, bool edge)
{
	struct record_writer w = {0};

	record_begin(&w);
	sampler_collect(f->sampler, measured, edge, &w);
	read_items(f, &w);
	record_writer_done(&w);
}

static inline void begin(struct fixture *f)
{
	struct record_writer w = {0};

	record_begin(&w);
	f->last = sampler_begin(f->sampler, &w);
	read_items(f, &w);
	record_writer_done(&w);
}

static inline void finish(struct fixture *f)
{
	struct record_writer w = {0};
	struct run_summary s;

	record_begin(&w);
	sampler_finish(f->sampler, &w, &f->last);
	read_items(f, &w);
	record_writer_done(&w);
	sampler_summary(f->sampler, &s);
	for (size_t i = 0; i < s.marks.len; i++)
		json_object_set_new(f->notes, s.marks.v[i].code, json_string(s.marks.v[i].text));
	run_summary_done(&s);
}
