/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a comparison document back, for the renderings. */
#pragma once

#include <jansson.h>

#include "common/compare/format.h"
#include "common/strbuf.h"

/* The documents of `doc`: itself, or its items. Borrowed; NULL past the end. */
const json_t *render_item(const json_t *doc, size_t i);
double render_num(const json_t *object, const char *key);      /* NAN for null and absent */
const char *render_str(const json_t *object, const char *key); /* "" for null and absent */
/* "A", "B" or, in a list, "C" ... */
const char *render_letter(const json_t *item, const char *side);
/* The scale of a row, from its averages and unit. */
struct scale render_scale(const json_t *row, double *ret_typical);
/* "10 runs, 104,000 samples, 3 lost" */
void render_side_facts(const json_t *side, struct strbuf *out);
/* ">= 47 us: A 28 of 10,400 (0.269 %), B 77 of ..."; nothing when there is no tail. */
void render_tail(const json_t *item, struct strbuf *out);
/* "1 unexpected (cpu.microcode: x | y), 1 intended, 212 equal"; nothing when unknown. */
void render_environment(const json_t *item, struct strbuf *out);
/* "throttling by heat in 1 of 10 A and 3 of 10 B runs": what disturbed the runs or the measuring of
 * them; nothing when nothing did. */
void render_flags(const json_t *item, struct strbuf *out);
/* The reading of a row for people: "better", "WORSE", "unclear". */
const char *render_reading(const json_t *row);
/* What held the CPU in late wake-ups; nothing when no box recorded it. */
void render_blame_text(const json_t *item, struct strbuf *out);
void render_blame_markdown(const json_t *item, struct strbuf *out);

#define RENDER_COLUMNS 76
/* Words wrapped at RENDER_COLUMNS; the first line begins with `first`, later ones with `indent`
 * blanks. Bytes that are not ASCII become '?'; a word longer than a line is cut. */
void render_wrapped(struct strbuf *out, const char *first, size_t indent, const char *text);
/* One line of a table: ASCII, cut at RENDER_COLUMNS, no blanks at its end. Empties `line`. */
void render_line(struct strbuf *out, struct strbuf *line);
/* Text from people in Markdown: what Markdown or HTML would act on is escaped. */
void render_markdown_text(struct strbuf *out, const char *text);
