/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Go's benchmarks, what benchstat reads.
 *
 *   BenchmarkEncode/size=1-8   1000   1234 ns/op   56 B/op   2 allocs/op
 *
 * -count N prints each benchmark N times: the k-th line of a name belongs to run k. */
#include "common/import/formats.h"

#include <ctype.h>

#define RUNS_MAX  20000
#define NAMES_MAX 2000

struct go {
	struct scan scan;
	const struct import_options *o;
	struct runs *runs;
	struct {
		char *name;
		size_t lines;
	} * names;
	size_t len, cap;
};

static bool is_benchmark(struct span line)
{
	return span_starts(line, "Benchmark") && line.len > 9 &&
	       !islower((unsigned char)line.p[9]) && span_count_words(line) >= 4;
}

static size_t line_of_name(struct go *g, struct span name)
{
	for (size_t i = 0; i < g->len; i++)
		if (span_is(name, g->names[i].name))
			return g->names[i].lines++;
	if (g->len == NAMES_MAX)
		return RUNS_MAX;
	GROW(g->names, g->len, g->cap);
	g->names[g->len].name = span_dup(name);
	g->names[g->len++].lines = 1;
	return 0;
}

/* "ns/op" is a time; others keep their unit. */
static void add_go_value(struct run *r, struct span name, struct span unit, double v)
{
	char *metric = xasprintf("go:%.*s:%.*s", (int)name.len, name.p, (int)unit.len, unit.p);
	char *text = span_dup(unit);
	bool is_time = span_is(unit, "ns/op");
	struct series *s = import_value(r, metric, is_time ? "ns" : text, v);

	s->method = xstrdup("go-bench");
	free(metric);
	free(text);
}

static int go_line(struct go *g, struct span line, struct err *reterr)
{
	struct span name, iterations, value, unit;
	size_t index;
	uint64_t n;
	double v;

	if (!span_word(&line, &name) || !span_word(&line, &iterations) || !span_u64(iterations, &n))
		return scan_error(&g->scan, iterations.p, reterr, "no number of iterations");
	name = span_from(name, name.p + 9);
	index = line_of_name(g, name);
	if (index >= RUNS_MAX)
		return scan_error(&g->scan, name.p, reterr,
				  "more than %d lines of one benchmark, or %d benchmarks", RUNS_MAX,
				  NAMES_MAX);
	while (g->runs->len <= index)
		import_run(g->runs, g->o)->order = (uint32_t)g->runs->len;
	while (span_word(&line, &value) && span_word(&line, &unit)) {
		if (!span_double(value, &v))
			return scan_error(&g->scan, value.p, reterr, "'%.*s' is not a number",
					  SPAN_ARG(value));
		add_go_value(g->runs->v[index], name, unit, v);
	}
	return 0;
}

static int go_read(const char *data, size_t len, const struct import_options *o, struct runs *ret,
		   struct err *reterr)
{
	struct go g = {.o = o, .runs = ret};
	struct span line;
	int rc = 0;

	scan_init(&g.scan, data, len, o);
	while (!rc && scan_line(&g.scan, &line))
		if (is_benchmark(line))
			rc = go_line(&g, line, reterr);
	for (size_t i = 0; i < g.len; i++)
		free(g.names[i].name);
	free(g.names);
	if (!rc && !ret->len)
		return err_set(reterr, ERR_INVALID, "%s: no benchmark line", g.scan.source);
	return rc;
}

static int go_sniff(const char *data, size_t len)
{
	struct span line, head = sniff_head(data, len);
	struct scan s;

	scan_init(&s, head.p, head.len, NULL);
	while (scan_line(&s, &line))
		if (is_benchmark(line) && (span_find(line, "/op") || span_find(line, "/s")))
			return 85;
	return 0;
}

const struct import_format import_go_bench = {
	.name = "go-bench",
	.title = "Go benchmarks (go test -bench, benchstat)",
	.sniff = go_sniff,
	.read = go_read,
};
