/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heat map of 3,600 x 200 cells: binning and writing it against writing the same numbers from
 * memory, in alternation; its size with gzip; and decoding what is stored, per histogram. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/check.h"
#include "common/clock.h"
#include "server/heatmap.h"
#include "server/inflate.h"

#define ROUNDS	21
#define COLUMNS 3600
#define ROWS	200
#define SAMPLES 1000 /* a column: one CPU at 1 kHz */

static int64_t cpu_ns(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static int cmp(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int64_t median(int64_t v[ROUNDS])
{
	qsort(v, ROUNDS, sizeof(*v), cmp);
	return v[ROUNDS / 2];
}

/* One second of one CPU: log-normal, and one sample in a hundred from far above. */
static void make_second(struct strbuf *out)
{
	struct hist_rec *rec = xcalloc(1, sizeof(*rec));

	hist_rec_reset(rec);
	for (int i = 0; i < SAMPLES; i++) {
		double u = (rand() + 1.0) / (RAND_MAX + 2.0), v = (rand() + 1.0) / (RAND_MAX + 2.0);
		double normal = sqrt(-2 * log(u)) * cos(6.283185307 * v);

		hist_rec_add(rec,
			     (int64_t)((rand() % 100 ? 7000.0 : 90000.0) * exp(0.35 * normal)));
	}
	hist_rec_encode(rec, out);
	free(rec);
}

/* The least that any server must do: the numbers are there, only digits are written. */
static void write_from_memory(const uint32_t *cells, struct strbuf *out)
{
	for (size_t k = 0; k < COLUMNS; k++) {
		strbuf_add(out, "[", 1);
		for (size_t i = 0; i < ROWS; i++) {
			char digits[12];
			size_t n = sizeof(digits);
			uint32_t v = cells[k * ROWS + i];

			do
				digits[--n] = (char)('0' + v % 10);
			while ((v /= 10) != 0);
			if (i)
				strbuf_add(out, ",", 1);
			strbuf_add(out, digits + n, sizeof(digits) - n);
		}
		strbuf_add(out, "],", 2);
	}
}

/* The counts of the document itself, so that both write the same. */
static uint32_t *cells_of(const struct strbuf *doc)
{
	uint32_t *cells = xcalloc((size_t)COLUMNS * ROWS, sizeof(*cells));
	const char *p = strstr(doc->data, "\"counts\":[");
	size_t n = 0;

	CHECK(p);
	for (p += strlen("\"counts\":["); n < (size_t)COLUMNS * ROWS; n++) {
		char *end;

		p += strcspn(p, "0123456789");
		cells[n] = (uint32_t)strtoul(p, &end, 10);
		p = end;
	}
	return cells;
}

int main(void)
{
	int64_t put[ROUNDS], base[ROUNDS], at, decode;
	struct strbuf stored = {0}, doc = {0}, small = {0};
	size_t offsets[COLUMNS + 1];
	struct heatmap m;
	struct err err;
	uint32_t *cells;

	for (size_t k = 0; k < COLUMNS; k++) {
		offsets[k] = stored.len;
		make_second(&stored);
	}
	offsets[COLUMNS] = stored.len;
	heatmap_init(&m, 0, COLUMNS * NS_PER_SEC, NS_PER_SEC, COLUMNS, ROWS);
	at = cpu_ns();
	for (size_t k = 0; k < COLUMNS; k++)
		CHECK(heatmap_add(&m, (int64_t)k * NS_PER_SEC, stored.data + offsets[k],
				  offsets[k + 1] - offsets[k], &err) == 0);
	decode = cpu_ns() - at;
	heatmap_put(&m, &doc);
	cells = cells_of(&doc);
	for (int r = 0; r < ROUNDS; r++) {
		struct strbuf a = {0}, b = {0};

		at = cpu_ns();
		heatmap_put(&m, &a);
		put[r] = cpu_ns() - at;
		at = cpu_ns();
		write_from_memory(cells, &b);
		base[r] = cpu_ns() - at;
		CHECK(a.len > b.len);
		strbuf_done(&a);
		strbuf_done(&b);
	}
	gzip_deflate(doc.data, doc.len, &small);
	printf("3,600 x 200 cells, %d samples a column, %zu bytes of JSON\n", SAMPLES, doc.len);
	printf("bin and write %.1f ms CPU, write from memory %.1f ms: ratio %.2f (target <= 3)\n",
	       (double)median(put) / 1e6, (double)median(base) / 1e6,
	       (double)put[ROUNDS / 2] / (double)base[ROUNDS / 2]);
	printf("gzip %.2f MB (target <= 0.6)\n", (double)small.len / 1e6);
	printf("decode and merge %.1f us a histogram\n", (double)decode / COLUMNS / 1e3);
	free(cells);
	heatmap_done(&m);
	strbuf_done(&stored);
	strbuf_done(&doc);
	strbuf_done(&small);
	return 0;
}
