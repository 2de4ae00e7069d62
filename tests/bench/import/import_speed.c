/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_speed FILE [ROUNDS]: import_bytes beside jansson's bare parse of the same bytes, in turns.
 * Prints medians in ms, and the median of the rounds' ratios: inside a round, what the machine does
 * in that round cancels. */
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "common/import/import.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[n / 2];
}

static char *read_file(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	char *data;

	if (!f || fstat(fileno(f), &st)) {
		perror(path);
		exit(1);
	}
	data = xcalloc(1, (size_t)st.st_size + 1);
	*ret_len = fread(data, 1, (size_t)st.st_size, f);
	(void)fclose(f);
	return data;
}

static double time_import(const char *path, const char *data, size_t len)
{
	struct import_options o = {.source = path};
	struct import_result result;
	double start = now_ms();
	struct err err;

	if (import_bytes(data, len, &o, &result, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	import_result_done(&result);
	return now_ms() - start;
}

/* < 0: no JSON */
static double time_parse(const char *data, size_t len)
{
	double start = now_ms();
	json_t *j = json_loadb(data, len, 0, NULL);

	if (!j)
		return -1;
	json_decref(j);
	return now_ms() - start;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? (size_t)atoi(argv[2]) : 15, len;
	double *import = xcalloc(rounds + 1, sizeof(double));
	double *parse = xcalloc(rounds + 1, sizeof(double));
	double *ratio = xcalloc(rounds + 1, sizeof(double));
	char *data;

	if (argc < 2 || !rounds)
		return 3;
	data = read_file(argv[1], &len);
	for (size_t i = 0; i < rounds; i++) {
		import[i] = time_import(argv[1], data, len);
		parse[i] = time_parse(data, len);
		if (parse[i] < 0) {
			fprintf(stderr, "%s is no JSON\n", argv[1]);
			exit(1);
		}
		ratio[i] = parse[i] / import[i];
	}
	printf("{\"import_ms\": %.3f, \"parse_ms\": %.3f, \"ratio\": %.3f}\n",
	       median(import, rounds), median(parse, rounds), median(ratio, rounds));
	free(ratio);
	free(import);
	free(parse);
	free(data);
	return 0;
}
