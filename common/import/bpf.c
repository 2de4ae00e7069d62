/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of bcc tools (runqlat, biolatency ...) and of bpftrace, as text and as JSON.
 *
 * bcc:      "usecs : count distribution", rows "lo -> hi : count |**|", both edges inclusive;
 *           sections such as "disk = 'xvdb'" above a table become labels.
 * bpftrace: "@name[key]:", rows "[lo, hi) count |@@|" with K, M, G of 1024, "[n]" for one value,
 *           "(..., lo)" and "[hi, ...)" for what lies outside.
 *
 * One map or section is one series. A map that is printed again is taken as cumulative when no
 * bucket ever falls, else as intervals that are added up; either way a note says so. */
#include "common/import/formats.h"
#include "common/import/json.h"

#include <inttypes.h>
#include <stdio.h>

/* A print of one map. */
struct print {
	char *metric;
	struct labels labels;
	struct hist hist;
};

/* A print costs a search among those before it. */
#define PRINTS_MAX 5000

struct bpf {
	const struct import_options *o;
	struct run *r;
	struct print *prints;
	size_t len, cap;
	size_t scalars_left_out;
};

static struct print *new_print(struct bpf *b, const char *metric)
{
	struct print *p;

	GROW(b->prints, b->len, b->cap);
	p = &b->prints[b->len++];
	memset(p, 0, sizeof(*p));
	p->metric = xstrdup(metric);
	p->hist.scheme = HIST_EDGES;
	return p;
}

static void bpf_done(struct bpf *b)
{
	for (size_t i = 0; i < b->len; i++) {
		free(b->prints[i].metric);
		labels_done(&b->prints[i].labels);
		hist_done(&b->prints[i].hist);
	}
	free(b->prints);
}

/* No bucket of `before` is larger than the same one of `after`. */
static bool grows(const struct hist *before, const struct hist *after)
{
	size_t k = 0;

	if (before->overflow > after->overflow || before->negative > after->negative)
		return false;
	for (size_t i = 0; i < before->len; i++) {
		while (k < after->len && after->b[k].lo < before->b[i].lo)
			k++;
		if (k == after->len || after->b[k].lo != before->b[i].lo ||
		    after->b[k].n < before->b[i].n)
			return false;
	}
	return true;
}

static bool same_map(const struct print *a, const struct print *b)
{
	return !strcmp(a->metric, b->metric) && labels_equal(&a->labels, &b->labels);
}

static int check_prints(const struct bpf *b, struct err *reterr)
{
	if (b->scalars_left_out)
		return err_set(reterr, ERR_LIMIT, "%s: more than %d values of maps",
			       import_source(b->o), PRINTS_MAX);
	if (b->len <= PRINTS_MAX)
		return 0;
	return err_set(reterr, ERR_LIMIT, "%s: %zu histograms in one file; at most %d are read",
		       import_source(b->o), b->len, PRINTS_MAX);
}

/* The series of print `first` and all later ones of the same map, which are emptied. */
static int add_map(struct bpf *b, size_t first, const char *unit, int64_t resolution,
		   struct err *reterr)
{
	struct print *p = &b->prints[first];
	bool cumulative = true;
	size_t prints = 1, last = first;
	struct series *s;
	int rc = 0;

	for (size_t i = first + 1; i < b->len; i++) {
		if (!b->prints[i].metric || !same_map(p, &b->prints[i]))
			continue;
		cumulative = cumulative && grows(&b->prints[last].hist, &b->prints[i].hist);
		last = i;
		prints++;
	}
	s = run_add_series(b->r, p->metric, SERIES_HIST, unit);
	labels_copy(&s->labels, &p->labels);
	s->resolution_ns = resolution;
	s->hist.scheme = HIST_EDGES;
	if (prints > 1)
		run_note(b->r, cumulative ? "inferred-cumulative" : "inferred-intervals",
			 "%s was printed %zu times; %s", p->metric, prints,
			 cumulative
				 ? "no bucket ever falls, so the last print is taken as everything"
				 : "buckets fall, so the prints are taken as intervals and added "
				   "up");
	for (size_t i = first; !rc && i < b->len; i++) {
		struct print *other = &b->prints[i];

		if (!other->metric || !same_map(p, other))
			continue;
		if (!cumulative || i == last)
			rc = hist_merge(&s->hist, &other->hist, reterr);
		if (i == first)
			continue;
		free(other->metric);
		other->metric = NULL;
	}
	return rc;
}

static int add_maps(struct bpf *b, const char *unit, int64_t resolution, struct err *reterr)
{
	int rc = check_prints(b, reterr);

	for (size_t i = 0; !rc && i < b->len; i++)
		if (b->prints[i].metric && b->prints[i].hist.count)
			rc = add_map(b, i, unit, resolution, reterr);
	return rc;
}

/* [lo, hi) in the file's unit. */
static int add_bucket(struct hist *h, int64_t lo, int64_t hi, uint64_t n, int64_t unit,
		      struct err *reterr)
{
	if (__builtin_mul_overflow(lo, unit, &lo) || __builtin_mul_overflow(hi, unit, &hi))
		return err_set(reterr, ERR_LIMIT, "a bucket leaves the range of 292 years");
	return hist_append(h, lo, hi, n, reterr);
}

static int add_negative(struct hist *h, uint64_t n, struct err *reterr)
{
	h->negative += n;
	if (__builtin_add_overflow(h->count, n, &h->count))
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	return 0;
}

static int add_overflow(struct hist *h, int64_t lo, uint64_t n, int64_t unit, struct err *reterr)
{
	if (__builtin_mul_overflow(lo, unit, &h->overflow_lo) || h->overflow)
		return err_set(reterr, ERR_INVALID,
			       "a second open bucket, or one that is out of range");
	h->overflow = n;
	if (!n)
		h->overflow_lo = 0;
	if (__builtin_add_overflow(h->count, n, &h->count))
		return err_set(reterr, ERR_LIMIT, "the counts exceed 64 bits");
	return 0;
}

/* ---- bcc ---- */

struct bcc {
	struct bpf b;
	struct scan scan;
	struct labels section;
	const char *metric;
	struct print *table;
	int64_t unit;	    /* ns, or 1 when the values are no time */
	char unit_name[16]; /* "ns" or the tool's word */
	uint64_t backwards;
};

/* "     usecs               : count     distribution" */
static bool bcc_header(struct span line, struct span *ret_unit)
{
	struct span colon, count, distribution;

	return span_word(&line, ret_unit) && span_word(&line, &colon) && span_word(&line, &count) &&
	       span_word(&line, &distribution) && span_is(colon, ":") && span_is(count, "count") &&
	       span_is(distribution, "distribution");
}

static int bcc_start(struct bcc *t, struct span unit, struct err *reterr)
{
	double ns = unit_word_ns(unit);
	char name[sizeof(t->unit_name)];

	(void)snprintf(name, sizeof(name), "%.*s", (int)(unit.len < 15 ? unit.len : 15),
		       ns > 0 ? "ns" : unit.p);
	if (*t->unit_name && (strcmp(name, t->unit_name) || (ns > 0 && (int64_t)ns != t->unit)))
		return scan_error(&t->scan, unit.p, reterr,
				  "tables of unlike units in one file: import each alone");
	(void)strcpy(t->unit_name, name);
	t->unit = ns > 0 ? (int64_t)ns : 1;
	t->table = new_print(&t->b, t->metric);
	labels_copy(&t->table->labels, &t->section);
	labels_done(&t->section);
	return 0;
}

/* "lo -> hi : count |***|", or "value : count |***|"; 1 = this is no row. */
static int bcc_row(struct bcc *t, struct span line, struct err *reterr)
{
	struct span lo, word, hi, count;
	uint64_t first, last, n;
	int rc;

	if (!span_word(&line, &lo) || !span_word(&line, &word) || !span_u64(lo, &first))
		return 1;
	if (span_is(word, "->")) {
		if (!span_word(&line, &hi) || !span_word(&line, &word) || !span_u64(hi, &last))
			return 1;
	} else {
		last = first;
	}
	if (!span_is(word, ":") || !span_word(&line, &count) || !span_u64(count, &n))
		return 1;
	if (last < first || (last >= INT64_MAX && first < (uint64_t)(INT64_MAX / t->unit)))
		return scan_error(&t->scan, lo.p, reterr, "the bucket ends before it begins");
	/* completion before issue: the difference wrapped around 2^64 ns */
	if (first >= (uint64_t)(INT64_MAX / t->unit)) {
		t->backwards += n;
		rc = add_negative(&t->table->hist, n, reterr);
	} else {
		rc = add_bucket(&t->table->hist, (int64_t)first, (int64_t)last + 1, n, t->unit,
				reterr);
	}
	return rc ? scan_prefix(&t->scan, reterr) : 0;
}

/* "pid = 7", "Bucket disk = 'xvdb'", "flags = Read" */
static void bcc_section(struct bcc *t, struct span line)
{
	const char *eq = span_find(line, " = ");
	struct span key, value, word;
	char *k, *v;

	if (!eq)
		return;
	key = (struct span){line.p, (size_t)(eq - line.p)};
	(void)(span_skip(&key, "Bucket ") && span_word(&key, &word));
	value = span_trim(span_from(line, eq + 3));
	while (value.len && (*value.p == '\'' || *value.p == '"')) {
		value.p++;
		value.len--;
	}
	while (value.len && strchr("'\"", value.p[value.len - 1]))
		value.len--;
	k = span_dup((struct span){line.p, (size_t)(eq - line.p)});
	v = span_dup(value);
	labels_set(&t->section, strncmp(k, "Bucket ", 7) ? k : k + 7, v);
	free(k);
	free(v);
}

/* What the tool says it traces names the metric. */
static void bcc_hint(struct bcc *t, struct span line)
{
	static const struct {
		const char *text, *metric;
	} hints[] = {
		{"run queue latency", "runqueue_latency"},
		{"block device I/O", "io_latency"},
		{"block I/O", "io_latency"},
		{"hard irq", "irq_time"},
		{"soft irq", "softirq_time"},
	};

	for (size_t i = 0; i < ARRAY_LEN(hints); i++)
		if (span_find(line, hints[i].text))
			t->metric = hints[i].metric;
}

static int bcc_lines(struct bcc *t, struct err *reterr)
{
	struct span line, unit;
	int rc = 0;

	while (!rc && scan_line(&t->scan, &line)) {
		line = span_trim(line);
		if (bcc_header(line, &unit)) {
			rc = bcc_start(t, unit, reterr);
			continue;
		}
		if (t->table && line.len && span_is_elision(line))
			return scan_error(&t->scan, line.p, reterr,
					  "rows were left out here; import the whole table");
		if (t->table && line.len && *line.p >= '0' && *line.p <= '9') {
			rc = bcc_row(t, line, reterr);
			if (rc == 1) { /* a time such as 06:20:16 */
				t->table = NULL;
				rc = 0;
			}
			continue;
		}
		if (line.len)
			t->table = NULL;
		bcc_section(t, line);
		bcc_hint(t, line);
	}
	return rc;
}

static int bcc_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		    struct err *reterr)
{
	struct bcc t = {.b = {.o = o, .r = import_run(ret, o)}, .metric = "latency"};
	int rc;

	scan_init(&t.scan, data, len, o);
	rc = bcc_lines(&t, reterr);
	rc = rc ? rc : add_maps(&t.b, t.unit_name, t.unit, reterr);
	if (!rc && t.backwards)
		run_note(t.b.r, "clock-went-back",
			 "%" PRIu64
			 " samples in buckets of 2^63 ns and more: completions before their "
			 "issue, counted as negative",
			 t.backwards);
	labels_done(&t.section);
	bpf_done(&t.b);
	return rc;
}

static int bcc_sniff(const char *data, size_t len)
{
	struct span line, unit, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (bcc_header(span_trim(line), &unit))
			return 90;
	return 0;
}

/* ---- bpftrace ---- */

/* A unit that the map's name tells: @usecs, @latency_ns; 0 = none. */
static int64_t unit_of_name(const char *name)
{
	const char *last = strrchr(name, '_');
	struct span word = {last ? last + 1 : name, strlen(last ? last + 1 : name)};

	return (int64_t)unit_word_ns(word);
}

/* One map's unit: option, name, or none (then the values are plain numbers). */
static int64_t unit_of_map(const struct bpf *b, const char *name)
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
		return add_overflow(h, row->lo, row->n, unit, reterr);
	if ((row->below && row->hi <= 0) || row->hi <= 0)
		return add_negative(h, row->n, reterr);
	return add_bucket(h, row->below || row->lo < 0 ? 0 : row->lo, row->hi, row->n, unit,
			  reterr);
}

/* Each map has its own unit, so each becomes its series at once, in order of first print. */
static int bpftrace_finish(struct bpf *b, struct err *reterr)
{
	int rc = check_prints(b, reterr);

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
		rc = add_map(b, i, unit ? "ns" : "1", unit, reterr);
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

static void add_scalar(struct bpf *b, struct span name, struct span key, double value)
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
	if (!s && b->r->series_len < PRINTS_MAX) {
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

static struct print *start_map(struct bpf *b, struct span name, struct span key)
{
	char *metric = name_or_value(name), *label = key.len ? span_dup(key) : NULL;
	struct print *p = new_print(b, metric);

	labels_set(&p->labels, "key", label);
	free(metric);
	free(label);
	return p;
}

static int bpftrace_text_read(const char *data, size_t len, const struct import_options *o,
			      struct runs *ret, struct err *reterr)
{
	struct bpf b = {.o = o, .r = import_run(ret, o)};
	struct span line, name, key, value;
	struct print *map = NULL;
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
	bpf_done(&b);
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

static int json_map(struct bpf *b, const char *name, const char *key, const json_t *buckets,
		    struct err *reterr)
{
	struct span bare = {*name == '@' ? name + 1 : name, strlen(*name == '@' ? name + 1 : name)};
	struct print *p = start_map(b, bare, (struct span){key, key ? strlen(key) : 0});
	int64_t unit = unit_of_map(b, p->metric);
	int rc = 0;

	for (size_t i = 0; !rc && i < json_array_size(buckets); i++)
		rc = json_bucket(&p->hist, json_array_get(buckets, i), unit ? unit : 1, reterr);
	return rc ? err_prefix(reterr, "%.60s: ", name) : 0;
}

static int json_hist(struct bpf *b, const json_t *data, struct err *reterr)
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

static void json_scalars(struct bpf *b, const json_t *data)
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
	struct bpf b = {.o = o, .r = import_run(ret, o)};
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
	bpf_done(&b);
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

const struct import_format import_bcc = {
	.name = "bcc",
	.title = "histogram of a bcc tool (runqlat, biolatency ...)",
	.sniff = bcc_sniff,
	.read = bcc_read,
};

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
