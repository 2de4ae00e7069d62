/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/change_words.h"

#include <math.h>

#include "common/parse.h"

static const char *text(const json_t *o, const char *key, const char *otherwise)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : otherwise;
}

static void put_value(const json_t *v, const char *unit, struct strbuf *out)
{
	char buf[40];

	if (!strcmp(unit, "ns"))
		strbuf_puts(out, format_ns(json_number_value(v), buf, sizeof(buf)));
	else
		strbuf_printf(out, "%.4g%s%s", json_number_value(v), strcmp(unit, "1") ? " " : "",
			      strcmp(unit, "1") ? unit : "");
}

/* "p99 of wake-up latency", "build time", "samples over 50us of wake-up latency" */
static void put_what(const json_t *m, struct strbuf *out)
{
	const char *stat = text(m, "stat", ""), *over = "ppm_over_";

	if (!strncmp(stat, over, strlen(over)))
		strbuf_printf(out, "samples over %s of ", stat + strlen(over));
	else if (strcmp(stat, "value") && strcmp(stat, "rate"))
		strbuf_printf(out, "%s of ", stat);
	strbuf_puts(out, text(m, "title", "a metric"));
}

static void put_place(const json_t *m, struct strbuf *out)
{
	const char *from = text(m, "from_version", NULL), *to = text(m, "to_version", NULL);

	if (from && to && strcmp(from, to) != 0)
		strbuf_printf(out, " between %s and %s", from, to);
	else
		strbuf_printf(out, " at run %s", text(m, "first_after", "?"));
}

void change_sentence(const json_t *change, struct strbuf *out)
{
	const json_t *members = json_object_get(change, "members"), *m = json_array_get(members, 0);
	const json_t *before = json_object_get(m, "before"), *after = json_object_get(m, "after");
	const json_t *rel = json_object_get(m, "rel");
	const char *direction = text(change, "direction", "none"), *unit = text(m, "unit", "");
	size_t n = json_array_size(members);
	bool up = json_number_value(after) >= json_number_value(before);

	if (!m) {
		strbuf_printf(out, "a change on %s whose series are gone",
			      text(change, "host", "?"));
		return;
	}
	put_what(m, out);
	strbuf_printf(out, " on %s %s", text(change, "host", "?"), up ? "rose" : "fell");
	if (json_is_number(rel))
		strbuf_printf(out, " by %.1f %%", 100 * fabs(json_number_value(rel)));
	strbuf_puts(out, " (");
	put_value(before, unit, out);
	strbuf_puts(out, " to ");
	put_value(after, unit, out);
	strbuf_putc(out, ')');
	put_place(m, out);
	if (strcmp(direction, "none") != 0)
		strbuf_printf(out, ": %s", direction);
	if (n > 1)
		strbuf_printf(out, "; %zu more series", n - 1);
}
