/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bpftrace with hist() and lhist(), text and JSON: "@name[key]:", rows "[lo, hi) count |@@|" with
 * K, M, G of 1024, "[n]" for one value, "(..., lo)" and "[hi, ...)" for what lies outside. */
#include "common/import/bpf_maps.h"
#include "common/import/json.h"

/* A unit that the map's name tells: @usecs, @latency_ns; 0 = none. */
static int64_t unit_of_name(const char *name)
{
	const char *last = strrchr(name, '_');
	struct span word = {last ? last + 1 : name, strlen(last ? last + 1 : name)};

	return (int64_t)unit_word_ns(word);
}

/* One map's unit: option, name, or none (then the values are plain numbers). */
static int64_t unit_of_map(const struct bpf_maps *b, const char *name)
{
	if (b->o && b->o->unit_ns)
		return b->o->unit_ns;
	return unit_of_name(name);
}

/* "4", "512K", "1M" */
static bool bpftrace_edge(struct span s, int64_t *ret)
{
	static const char units[] = "KMGTPE";
	const char *at;
	int64_t v;

	if (!s.len)
		return false;
	at = strchr(units, s.p[s.len - 1]);
	if (at && *at)
		s.len--;
	if (!span_i64(s, &v))
		return false;
	return !__builtin_mul_overflow(v, at && *at ? (int64_t)1 << (10 * (at - units + 1)) : 1,
				       ret);
}

struct bpftrace_row {
	bool below, above; /* "(..., hi)" and "[lo, ...)" */
	int64_t lo, hi;
	uint64_t n;
};

static bool bpftrace_row(struct span line, struct bpftrace_row *ret)
{
	const char *comma, *close;
	struct span lo, hi, count, rest;

	memset(ret, 0, sizeof(*ret));
	if (!line.len || (*line.p != '[' && *line.p != '('))
		return false;
	close = memchr(line.p, ')', line.len);
	if (!close)
		close = memchr(line.p, ']', line.len);
	if (!close)
		return false;
	rest = span_from(line, close + 1);
	if (!span_word(&rest, &count) || !span_u64(count, &ret->n))
		return false;
	comma = memchr(line.p, ',', (size_t)(close - line.p));
	lo = (struct span){line.p + 1, (size_t)((comma ? comma : close) - line.p - 1)};
	if (!comma) {
		ret->hi = 1;
		return bpftrace_edge(lo, &ret->lo) &&
		       !__builtin_add_overflow(ret->lo, ret->hi, &ret->hi);
	}
	hi = span_trim((struct span){comma + 1, (size_t)(close - comma - 1)});
	ret->below = span_is(lo, "...");
	ret->above = span_is(hi, "...");
	return (ret->below || bpftrace_edge(lo, &ret->lo)) &&
	       (ret->above || bpftrace_edge(hi, &ret->hi));
}

/* Below the first bucket: negative when that begins at 0 or less, else [0, hi). */
static int bpftrace_add(struct hist *h, const struct bpftrace_row *row, int64_t unit,
			struct err *reterr)
{
	if (row->above)
		return bpf_overflow(h, row->lo, row->n, unit, reterr);
	if ((row->below && row->hi <= 0) || row->hi <= 0)
		return bpf_negative(h, row->n, reterr);
	return bpf_bucket(h, row->below || row->lo < 0 ? 0 : row->lo, row->hi, row->n, unit,
			  reterr);
}

/* Each map has its own unit, so each becomes its series at once, in order of first print. */
static int bpftrace_finish(struct bpf_maps *b, struct err *reterr)
{
	int rc = bpf_maps_check(b, reterr);

	for (size_t i = 0; !rc && i < b->len; i++) {
		const char *name = b->prints[i].metric;
		int64_t unit;

		if (!name || !b->prints[i].hist.count)
			continue;
		unit = unit_of_map(b, name);
		if (!unit)
			run_note(b->r, "unit-unknown",
				 "@%s: bpftrace does not print units; read as plain numbers "
				 "(--unit us "
				 "reads every map as microseconds)",
				 name);
		else if (!b->o || !b->o->unit_ns)
			run_note(b->r, "inferred-unit", "@%s: read as %s, as its name says", name,
				 unit_ns_name(unit));
		rc = bpf_maps_add(b, i, unit ? "ns" : "1", unit, reterr);
	}
	return rc;
}

/* "@usecs[ssh, 4]: 12" -> name and key; *ret_value is what follows the colon. */
static bool map_line(struct span line, struct span *ret_name, struct span *ret_key,
		     struct span *ret_value)
{
	const char *open, *colon;

	if (!span_skip(&line, "@"))
		return false;
	colon = memrchr(line.p, ':', line.len);
	if (!colon)
		return false;
	*ret_value = span_trim(span_from(line, colon + 1));
	line.len = (size_t)(colon - line.p);
	open = memchr(line.p, '[', line.len);
	*ret_name = (struct span){line.p, open ? (size_t)(open - line.p) : line.len};
	*ret_key = (struct span){NULL, 0};
	if (open && line.p[line.len - 1] == ']')
		*ret_key = (struct span){open + 1, (size_t)(line.p + line.len - 1 - open - 1)};
	return true;
}

static char *name_or_value(struct span name)
{
	return name.len ? span_dup(name) : xstrdup("value");
}

static void add_scalar(struct bpf_maps *b, struct span name, struct span key, double value)
{
	char *metric = name_or_value(name), *label = key.len ? span_dup(key) : NULL;
	struct labels labels = {0};
	struct series *s = NULL;

	/* A map that is printed again has its newest value. */
	labels_set(&labels, "key", label);
	for (size_t i = 0; !s && i < b->r->series_len; i++)
		if (!strcmp(b->r->series[i].metric, metric) &&
		    labels_equal(&b->r->series[i].labels, &labels))
			s = &b->r->series[i];
	if (!s && b->r->series_len < BPF_PRINTS_MAX) {
		s = import_value(b->r, metric, "1", value);
		labels_copy(&s->labels, &labels);
	}
	if (s)
		s->value = value;
	else
		b->scalars_left_out++;
	labels_done(&labels);
	free(metric);
	free(label);
}

static struct bpf_print *start_map(struct bpf_maps *b, struct span name, struct span key)
{
	char *metric = name_or_value(name), *label = key.len ? span_dup(key) : NULL;
	struct bpf_print *p = bpf_maps_print(b, metric);

	labels_set(&p->labels, "key", label);
	free(metric);
	free(label);
	return p;
}

static int bpftrace_text_read(const char *data, size_t len, const struct import_options *o,
			      struct runs *ret, struct err *reterr)
{
	struct bpf_maps b = {.o = o, .r = import_run(ret, o)};
	struct span line, name, key, value;
	struct bpf_print *map = NULL;
	struct bpftrace_row row;
	struct scan s;
	int64_t unit = 1;
	double v;
	int rc = 0;

	scan_init(&s, data, len, o);
	while (!rc && scan_line(&s, &line)) {
		line = span_trim(line);
		if (map_line(line, &name, &key, &value)) {
			map = NULL;
			if (span_double(value, &v)) {
				add_scalar(&b, name, key, v);
			} else if (!value.len) {
				map = start_map(&b, name, key);
				unit = unit_of_map(&b, map->metric);
			}
		} else if (map && line.len && span_is_elision(line)) {
			rc = scan_error(&s, line.p, reterr,
					"rows were left out here; import the whole histogram");
		} else if (map && bpftrace_row(line, &row)) {
			rc = bpftrace_add(&map->hist, &row, unit ? unit : 1, reterr);
			if (rc)
				(void)scan_prefix(&s, reterr);
		} else if (line.len) {
			map = NULL;
		}
	}
	rc = rc ? rc : bpftrace_finish(&b, reterr);
	bpf_maps_done(&b);
	return rc;
}

static int bpftrace_text_sniff(const char *data, size_t len)
{
	struct span line, name, key, value, head = sniff_head(data, len);
	struct bpftrace_row row;
	bool after_map = false;
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line)) {
		line = span_trim(line);
		if (after_map && bpftrace_row(line, &row))
			return 90;
		after_map = map_line(line, &name, &key, &value);
	}
	return 0;
}

/* ---- bpftrace -f json ---- */

static int json_bucket(struct hist *h, const json_t *bucket, int64_t unit, struct err *reterr)
{
	const json_t *min = json_object_get(bucket, "min"), *max = json_object_get(bucket, "max");
	struct bpftrace_row row = {.below = !min, .above = !max};

	if (!json_get_u64(json_object_get(bucket, "count"), &row.n) || (!min && !max) ||
	    (min && !json_is_integer(min)) || (max && !json_is_integer(max)))
		return err_set(reterr, ERR_INVALID, "a bucket without min, max or count");
	row.lo = min ? json_integer_value(min) : 0;
	if (max && __builtin_add_overflow(json_integer_value(max), 1, &row.hi))
		return err_set(reterr, ERR_INVALID, "a bucket is out of range");
	return bpftrace_add(h, &row, unit, reterr);
}

static int json_map(struct bpf_maps *b, const char *name, const char *key, const json_t *buckets,
		    struct err *reterr)
{
	struct span bare = {*name == '@' ? name + 1 : name, strlen(*name == '@' ? name + 1 : name)};
	struct bpf_print *p = start_map(b, bare, (struct span){key, key ? strlen(key) : 0});
	int64_t unit = unit_of_map(b, p->metric);
	int rc = 0;

	for (size_t i = 0; !rc && i < json_array_size(buckets); i++)
		rc = json_bucket(&p->hist, json_array_get(buckets, i), unit ? unit : 1, reterr);
	return rc ? err_prefix(reterr, "%.60s: ", name) : 0;
}

static int json_hist(struct bpf_maps *b, const json_t *data, struct err *reterr)
{
	const char *name, *key;
	json_t *map, *buckets;
	int rc = 0;

	json_object_foreach((json_t *)(uintptr_t)data, name, map)
	{
		if (json_is_array(map)) {
			rc = rc ? rc : json_map(b, name, NULL, map, reterr);
			continue;
		}
		json_object_foreach(map, key, buckets)
		{
			rc = rc ? rc : json_map(b, name, key, buckets, reterr);
		}
	}
	return rc;
}

static void json_scalars(struct bpf_maps *b, const json_t *data)
{
	const char *name, *key;
	json_t *map, *value;

	json_object_foreach((json_t *)(uintptr_t)data, name, map)
	{
		struct span bare = {*name == '@' ? name + 1 : name,
				    strlen(*name == '@' ? name + 1 : name)};

		if (json_is_number(map))
			add_scalar(b, bare, (struct span){NULL, 0}, json_number_value(map));
		json_object_foreach(map, key, value)
		{
			if (json_is_number(value))
				add_scalar(b, bare, (struct span){key, strlen(key)},
					   json_number_value(value));
		}
	}
}

static int bpftrace_json_read(const char *data, size_t len, const struct import_options *o,
			      struct runs *ret, struct err *reterr)
{
	struct bpf_maps b = {.o = o, .r = import_run(ret, o)};
	struct span s = json_begin(data, len);
	int rc = 0;

	while (!rc && s.p) {
		json_t *event;
		const char *type;

		rc = json_next(&s, o, data, &event, reterr);
		if (rc)
			break;
		type = json_get_text(event, "type");
		if (type && (!strcmp(type, "hist") || !strcmp(type, "lhist")))
			rc = json_hist(&b, json_object_get(event, "data"), reterr);
		else if (type && !strcmp(type, "map"))
			json_scalars(&b, json_object_get(event, "data"));
		else if (type && !strcmp(type, "lost_events"))
			run_note(b.r, "lost-events", "bpftrace lost events while it printed");
		json_decref(event);
		if (rc)
			rc = err_prefix(reterr, "%s: ", import_source(o));
		s = json_begin(s.p, s.len);
	}
	rc = rc ? rc : bpftrace_finish(&b, reterr);
	bpf_maps_done(&b);
	return rc;
}

static int bpftrace_json_sniff(const char *data, size_t len)
{
	struct span head = sniff_head(data, len);

	return json_sniff(data, len, "type") && json_sniff(data, len, "data") &&
			       (span_find(head, "\"hist\"") || span_find(head, "\"lhist\"") ||
				span_find(head, "\"attached_probes\""))
		       ? 90
		       : 0;
}

const struct import_format import_bpftrace = {
	.name = "bpftrace",
	.title = "bpftrace output with hist() or lhist()",
	.sniff = bpftrace_text_sniff,
	.read = bpftrace_text_read,
};

const struct import_format import_bpftrace_json = {
	.name = "bpftrace-json",
	.title = "bpftrace -f json",
	.sniff = bpftrace_json_sniff,
	.read = bpftrace_json_read,
};
