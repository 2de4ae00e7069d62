/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/grid.h"

#define COLUMNS_MAX 65536

void grid_done(struct grid *g)
{
	for (size_t i = 0; i < g->len; i++) {
		free(g->row[i].key);
		free(g->row[i].label);
		free(g->row[i].cell);
	}
	free(g->row);
	free(g->seen);
	free(g->header);
	*g = (struct grid){0};
}

void grid_begin(struct grid *g)
{
	g->reading++;
	g->cursor = 0;
	g->header_len = 0;
	g->header_seen = false;
	g->left_out = 0;
}

void grid_column(struct grid *g, uint32_t column)
{
	GROW(g->header, g->header_len, g->header_cap);
	g->header[g->header_len++] = column;
}

/* With the first row of a reading. */
static void see_columns(struct grid *g)
{
	g->header_seen = true;
	for (size_t i = 0; i < g->header_len; i++) {
		uint32_t c = g->header[i];

		if (c >= COLUMNS_MAX)
			continue;
		if (c >= g->columns) {
			g->seen = xrealloc(g->seen, c + 1, sizeof(*g->seen));
			memset(g->seen + g->columns, 0, (c + 1 - g->columns) * sizeof(*g->seen));
			g->columns = c + 1;
		}
		/* Twice in a row: was there in the last reading, too. */
		if (g->seen[c] >> 1 != g->reading)
			g->seen[c] = g->reading << 1 | (g->seen[c] >> 1 == g->reading - 1);
	}
}

static bool column_is_new(const struct grid *g, uint32_t c)
{
	return c < g->columns && g->seen[c] >> 1 == g->reading && !(g->seen[c] & 1);
}

static struct grid_row *new_row(struct grid *g, const char *key, size_t key_len)
{
	if (g->len == GRID_ROWS_MAX) {
		g->left_out++;
		return NULL;
	}
	GROW(g->row, g->len, g->cap);
	g->row[g->len] = (struct grid_row){.key = xstrndup(key, key_len), .first = g->reading};
	g->cursor = g->len + 1;
	return &g->row[g->len++];
}

/* Rows come in the same order as last time, mostly. */
struct grid_row *grid_row(struct grid *g, const char *key, size_t key_len, const char *label,
			  size_t label_len)
{
	struct grid_row *r = NULL;

	if (!g->header_seen)
		see_columns(g);
	for (size_t i = 0; i < g->len && !r; i++) {
		size_t at = (g->cursor + i) % g->len;

		if (strncmp(g->row[at].key, key, key_len) != 0 || g->row[at].key[key_len])
			continue;
		r = &g->row[at];
		g->cursor = at + 1;
	}
	if (!r)
		r = new_row(g, key, key_len);
	if (!r)
		return NULL;
	r->cursor = 0;
	if (!r->label || strncmp(r->label, label, label_len) != 0 || r->label[label_len]) {
		free(r->label);
		r->label = xstrndup(label, label_len);
	}
	return r;
}

static struct grid_cell *find_cell(struct grid_row *r, uint32_t column)
{
	for (size_t i = 0; i < r->len; i++) {
		size_t at = (r->cursor + i) % r->len;

		if (r->cell[at].column == column) {
			r->cursor = at + 1;
			return &r->cell[at];
		}
	}
	return NULL;
}

static void new_cell(struct grid *g, struct grid_row *r, uint32_t column, uint64_t value)
{
	bool row_is_new = r->first == g->reading;
	bool from_zero = g->reading > 1 && !column_is_new(g, column) &&
			 (row_is_new ? g->rows_from_zero : true);

	/* Most pairs of interrupt and CPU stay 0: they need no cell. */
	if (!value)
		return;
	GROW(r->cell, r->len, r->cap);
	r->cell[r->len] = (struct grid_cell){column, false, value, from_zero ? value : 0};
	r->cursor = ++r->len;
}

void grid_put(struct grid *g, struct grid_row *r, uint32_t column, uint64_t value)
{
	struct grid_cell *c = find_cell(r, column);

	if (!c) {
		new_cell(g, r, column, value);
		return;
	}
	if (value < c->last)
		c->gap = true;
	else
		c->sum += value - c->last;
	c->last = value;
}

void grid_restart(struct grid *g)
{
	for (size_t i = 0; i < g->len; i++)
		for (size_t k = 0; k < g->row[i].len; k++) {
			g->row[i].cell[k].sum = 0;
			g->row[i].cell[k].gap = false;
		}
}

void grid_sum_add(struct grid_sum *to, const struct grid_cell *c)
{
	to->sum += c->sum;
	to->gap |= c->gap;
	to->any = true;
}

struct grid_sum grid_row_sum(const struct grid_row *r)
{
	struct grid_sum s = {0};

	for (size_t i = 0; i < r->len; i++)
		grid_sum_add(&s, &r->cell[i]);
	return s;
}

struct grid_sum grid_cell_sum(const struct grid_row *r, uint32_t column)
{
	struct grid_sum s = {0};

	for (size_t i = 0; i < r->len; i++)
		if (r->cell[i].column == column)
			grid_sum_add(&s, &r->cell[i]);
	return s;
}
