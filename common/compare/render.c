/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/compare/render.h"

#include <math.h>
#include <stdio.h>

const json_t *render_item(const json_t *doc, size_t i)
{
	const json_t *items = json_object_get(doc, "items");

	if (!items)
		return i ? NULL : doc;
	return json_array_get(items, i);
}

double render_num(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

const char *render_str(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

const char *render_letter(const json_t *item, const char *side)
{
	const char *s = json_string_value(json_object_get(json_object_get(item, side), "letter"));

	return s ? s : *side == 'a' ? "A" : "B";
}

struct scale render_scale(const json_t *row, double *ret_typical)
{
	double a = fabs(render_num(json_object_get(row, "a"), "avg"));
	double b = fabs(render_num(json_object_get(row, "b"), "avg"));
	double typical = fmax(isnan(a) ? 0 : a, isnan(b) ? 0 : b);

	*ret_typical = typical;
	return scale_for(render_str(row, "unit"), typical);
}

static void put_number(struct strbuf *out, const json_t *side, const char *key, const char *word)
{
	char n[32];
	double v = render_num(side, key);

	if (v > 0)
		strbuf_printf(out, ", %s %s", format_count((uint64_t)v, n, sizeof(n)), word);
}

void render_side_facts(const json_t *side, struct strbuf *out)
{
	double n = render_num(side, "n"), runs = render_num(side, "runs_counted");
	const char *what = render_str(side, "replicate");
	size_t i, excluded = 0;
	json_t *run;

	strbuf_printf(out, "%.0f %s%s", n, what, n == 1 ? "" : "s");
	if (strcmp(what, "run") != 0)
		strbuf_printf(out, " (%.0f runs)", runs);
	put_number(out, side, "samples", "samples");
	put_number(out, side, "lost", "lost");
	put_number(out, side, "missed", "missed");
	put_number(out, side, "overflow", "beyond the range");
	json_array_foreach(json_object_get(side, "runs"), i, run) excluded +=
		!json_is_null(json_object_get(run, "excluded"));
	if (excluded)
		strbuf_printf(out, ", %zu left out", excluded);
	if (!strcmp(render_str(side, "data"), "summary_only"))
		strbuf_puts(out, ", summary only");
}

static void put_tail_side(const json_t *item, const char *key, struct strbuf *out)
{
	const json_t *side = json_object_get(json_object_get(item, "tail"), key);
	double above = render_num(side, "above"), most = render_num(side, "above_at_most");
	double rate = render_num(side, "rate_per_h");
	char n[32], all[32], share[40];

	strbuf_printf(out, "%s %s", render_letter(item, key),
		      format_count((uint64_t)above, n, sizeof(n)));
	if (most > above)
		strbuf_printf(out, " to %s", format_count((uint64_t)most, n, sizeof(n)));
	strbuf_printf(out, " of %s (%s",
		      format_count((uint64_t)render_num(side, "samples"), all, sizeof(all)),
		      format_value("share", render_num(side, "exceedance"), share, sizeof(share)));
	if (!isnan(rate))
		strbuf_printf(out, rate >= 100 ? ", %.0f an hour" : ", %.3g an hour", rate);
	strbuf_putc(out, ')');
}

static void put_return_level(const json_t *item, const json_t *tail, struct strbuf *out)
{
	const json_t *level = json_object_get(tail, "return_level");
	const char *unit = render_str(json_object_get(item, "metric"), "unit");
	double a = render_num(json_object_get(level, "a"), "lo");
	double b = render_num(json_object_get(level, "b"), "lo");
	char ta[40], tb[40];

	if (isnan(a) || isnan(b))
		return;
	strbuf_printf(out, " Exceeded about once a%s %s: %s %s, %s %s.",
		      !strcmp(render_str(level, "per"), "hour") ? "n" : "",
		      render_str(level, "per"), render_letter(item, "a"),
		      format_value(unit, a, ta, sizeof(ta)), render_letter(item, "b"),
		      format_value(unit, b, tb, sizeof(tb)));
}

/* Single runs: the interval that counting alone allows, called what it is. */
static void put_naive_ratio(const json_t *tail, struct strbuf *out)
{
	const json_t *naive = json_object_get(tail, "naive_ratio");
	const json_t *ci = json_object_get(naive, "ci");

	if (!json_is_number(json_array_get(ci, 0)) || !json_is_number(json_array_get(ci, 1)))
		return;
	strbuf_printf(out,
		      " By counting alone %.3g times as many (%.3g to %.3g); how runs differ "
		      "is not in that.",
		      render_num(naive, "ratio"), json_number_value(json_array_get(ci, 0)),
		      json_number_value(json_array_get(ci, 1)));
}

void render_tail(const json_t *item, struct strbuf *out)
{
	const json_t *tail = json_object_get(item, "tail");
	char at[40];

	if (!json_is_object(tail))
		return;
	format_value(render_str(json_object_get(item, "metric"), "unit"),
		     render_num(tail, "threshold_ns"), at, sizeof(at));
	strbuf_printf(out, "Samples >= %s: ", at);
	put_tail_side(item, "a", out);
	strbuf_puts(out, "; ");
	put_tail_side(item, "b", out);
	strbuf_puts(out, ".");
	put_naive_ratio(tail, out);
	put_return_level(item, tail, out);
	if (strcmp(render_str(tail, "basis"), "given") != 0)
		strbuf_printf(out, " Threshold: %s.", render_str(tail, "basis"));
}

void render_environment(const json_t *item, struct strbuf *out)
{
	static const char *const lists[] = {"blocking", "unexpected", "intended"};
	const json_t *env = json_object_get(item, "environment");

	if (!json_is_true(json_object_get(env, "known")))
		return;
	for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
		const json_t *list = json_object_get(env, lists[l]);
		size_t i;
		json_t *f;

		if (!json_array_size(list))
			continue;
		strbuf_printf(out, "%zu %s (", json_array_size(list), lists[l]);
		json_array_foreach(list, i, f) if (i < 3)
			strbuf_printf(out, "%s%s: %.40s / %.40s", i ? "; " : "",
				      render_str(f, "key"), render_str(f, "a"), render_str(f, "b"));
		strbuf_printf(out, "%s), ", i > 3 ? "; ..." : "");
	}
	strbuf_printf(out, "%.0f equal", render_num(env, "equal"));
}

const char *render_reading(const json_t *row)
{
	const char *r = render_str(json_object_get(row, "delta"), "reading");

	if (!strcmp(r, "worse"))
		return "WORSE";
	if (!strcmp(r, "below_margin"))
		return "below margin";
	if (!strcmp(r, "not_enough_runs"))
		return "too few runs";
	if (!strcmp(r, "not_resolvable"))
		return "not judged";
	return r;
}

void render_wrapped(struct strbuf *out, const char *first, size_t indent, const char *text)
{
	size_t column = strlen(first), len;
	bool at_start = true;

	strbuf_puts(out, first);
	for (; *text; text += len) {
		while (*text == ' ' || *text == '\n')
			text++;
		len = strcspn(text, " \n");
		if (!len)
			break;
		if (!at_start && column + 1 + len > RENDER_COLUMNS) {
			strbuf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
			at_start = true;
		}
		if (!at_start) {
			strbuf_putc(out, ' ');
			column++;
		}
		for (size_t i = 0; i < len && column < RENDER_COLUMNS; i++, column++)
			strbuf_putc(out, text[i] >= ' ' && text[i] < 127 ? text[i] : '?');
		at_start = false;
	}
	strbuf_putc(out, '\n');
}

void render_line(struct strbuf *out, struct strbuf *line)
{
	size_t len = line->len < RENDER_COLUMNS ? line->len : RENDER_COLUMNS;

	while (len && line->data[len - 1] == ' ')
		len--;
	for (size_t i = 0; i < len; i++)
		strbuf_putc(out, line->data[i] >= ' ' && line->data[i] < 127 ? line->data[i] : '?');
	strbuf_putc(out, '\n');
	strbuf_clear(line);
}

void render_markdown_text(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\`*_[]|<>#~", *text))
			strbuf_putc(out, '\\');
		strbuf_putc(out, *text == '\n' || *text == '\r' ? ' ' : *text);
	}
}

/* What disturbed runs or the measuring of them: notes with these codes. */
static const struct {
	const char *code, *text;
} flags[] = {
	{"steal", "CPU time stolen by the hypervisor"},
	{"smi", "system management interrupts"},
	{"throttled", "throttling by heat"},
	{"blame-rate-halved", "causes read at a lower rate"},
	{"shares-rate-halved", "samples taken at a lower rate"},
	{"counters-rate-halved", "counters read at a lower rate"},
	{"pmu-rate-halved", "hardware counters read at a lower rate"},
	{"system-rate-halved", "kernel counters read at a lower rate"},
};

static size_t runs_with_note(const json_t *side, const char *code)
{
	json_t *run, *note;
	size_t i, k, n = 0;

	json_array_foreach(json_object_get(side, "runs"), i, run)
	{
		bool has = false;

		json_array_foreach(json_object_get(run, "notes"), k, note) has |=
			!strcmp(render_str(note, "code"), code);
		n += has;
	}
	return n;
}

void render_flags(const json_t *item, struct strbuf *out)
{
	static const char *const keys[] = {"a", "b"};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		size_t n[2], all[2];

		for (size_t s = 0; s < ARRAY_LEN(keys); s++) {
			const json_t *side = json_object_get(item, keys[s]);

			n[s] = runs_with_note(side, flags[i].code);
			all[s] = json_array_size(json_object_get(side, "runs"));
		}
		if (n[0] + n[1])
			strbuf_printf(out, "%s%s in %zu of %zu %s and %zu of %zu %s runs",
				      out->len ? "; " : "", flags[i].text, n[0], all[0],
				      render_letter(item, "a"), n[1], all[1],
				      render_letter(item, "b"));
	}
}
