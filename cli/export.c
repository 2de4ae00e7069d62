/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat export: runs of the server, or of files, in other tools' formats. */
#include <stdio.h>

#include "cli/fetch.h"
#include "cli/export_formats.h"
#include "cli/import_args.h"
#include "cli/input.h"
#include "cli/sides.h"
#include "cli/verbs.h"

const char verb_export_help[] =
	"  rigstat export experiment=rq > rq.ndjson\n"
	"  rigstat export --to hlog cyclictest.json > cyclictest.hlog\n"
	"\n"
	"usage: rigstat export [--to FORMAT] [OPTIONS] SELECTOR | FILE...\n"
	"\n"
	"Runs of a server that a selector chooses, or of files, to standard output. A word with "
	"'='\n"
	"or '~' that is no file is a selector.\n"
	"\n"
	"  --to FORMAT        ndjson (default): run documents, one a line; re-importable\n"
	"                     csv: a row each run; quantiles as from and to, since a bucket is "
	"wide\n"
	"                     hgrm, hlog: HdrHistogram percentiles (ms), log V2 (ns)\n"
	"                     openmetrics: a snapshot, times in seconds\n"
	"  --metric NAME      only this metric\n"
	"  --server URL       or $RIGSTAT_SERVER\n"
	"  --unit, --format, --interval, --overflow   about files, as in rigstat show\n"
	"\n"
	"Exit status: 0 done, 3 usage or nothing to export, 4 server or network.\n";

struct export
{
	struct import_args import;
	const char **words;
	size_t n, cap;
	const char *to, *server;
};

static int parse(struct export *x, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {
		{"--to", 1, true}, {"--server", 2, true}, IMPORT_ARG_DEFS, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id < 0)
			return id;
		if (id == ARG_OPERAND) {
			GROW(x->words, x->n, x->cap);
			x->words[x->n++] = value;
		} else if (id == 1) {
			x->to = value;
		} else if (id == 2) {
			x->server = value;
		} else if (id != IMPORT_ARG_METRIC) {
			id = import_args_take(&x->import, id, value, reterr);
			if (id)
				return id;
		} else {
			x->import.o.metric = value;
		}
	}
	if (!x->n)
		return err_set(reterr, ERR_INVALID, "what? A selector or files");
	return 0;
}

static int read_file(const struct export *x, const char *file, struct runs *ret, struct err *reterr)
{
	CLEANUP(input_close) struct input in = {0};
	struct import_options o = x->import.o;
	int rc = input_open(file, &in, reterr);

	o.source = input_name(file);
	o.metric = NULL; /* here it chooses, it does not rename */
	return rc ? rc : fetch_add(in.data, in.len, &o, ret, reterr);
}

static bool is_selector(const char *word)
{
	FILE *f = fopen(word, "rbe");

	if (!f)
		return strpbrk(word, "=~") != NULL;
	(void)fclose(f);
	return false;
}

static const struct export_format *find_format(const char *name, struct err *reterr)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	(void)err_set(reterr, ERR_INVALID,
		      "--to %.30s: one of ndjson, csv, hgrm, hlog, openmetrics", name);
	return NULL;
}

int verb_export(int argc, char **argv)
{
	const struct export_format *format = NULL;
	struct export x = {.to = "ndjson"};
	struct runs runs = {0};
	struct strbuf out = {0};
	struct err err = {0};
	int status, rc = parse(&x, argc, argv, &err);

	if (!rc)
		format = find_format(x.to, &err);
	if (!format) {
		status = cli_usage("export", &err);
	} else {
		for (size_t i = 0; !rc && i < x.n; i++)
			rc = is_selector(x.words[i]) ? fetch_runs(x.server, x.words[i], &runs, &err)
						     : read_file(&x, x.words[i], &runs, &err);
		rc = rc ? rc : format->write(&runs, x.import.o.metric, &out, &err);
		status = rc ? cli_fail(&err) : cli_print(&out);
	}
	strbuf_done(&out);
	runs_done(&runs);
	import_args_done(&x.import);
	free(x.words);
	return status;
}
