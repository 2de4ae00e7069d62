/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/parse.h"

#include <errno.h>
#include <stdio.h>

#include "common/import/import.h"

static bool is_auto(const char *format)
{
	return !strcmp(format, "auto");
}

int parse_check_format(const char *format, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf names = {0};

	if (is_auto(format))
		return 0;
	for (const struct import_format *f = import_formats(); f->name; f++) {
		if (!strcmp(f->name, format))
			return 0;
		strbuf_printf(&names, ", %s", f->name);
	}
	return err_set(reterr, ERR_INVALID, "'%.40s' is no format; there are: auto%s", format,
		       names.data);
}

/* ---- one series ---- */

static char *metric_name(const char *metric)
{
	static const char *const ours[] = {"wakeup_latency",   "io_latency", "io_total_latency",
					   "lock_wait",	       "elapsed",    "user_time",
					   "sys_time",	       "max_rss",    "task_clock",
					   "context_switches", "migrations", "page_faults",
					   "instructions",     "cycles",     "ipc",
					   "cpu_ghz"};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!strcmp(metric, ours[i]))
			return xasprintf("tool_%s", metric);
	return xstrdup(metric);
}

/* Whole-run histograms travel in a layout of their own: ours is for intervals. */
static int add_hist(struct session *s, const struct series_decl *d, const struct series *from,
		    struct err *reterr)
{
	CLEANUP(hist_done) struct hist h = {0};

	hist_copy(&h, &from->hist);
	if (h.scheme == HIST_LOG128)
		h.scheme = HIST_EDGES;
	return session_hist(s, d, &h, reterr);
}

static int add_series(struct session *s, const struct series *from, const char *format,
		      struct err *reterr)
{
	static const char *const states[] = {"exact", "estimated", "doubtful"};
	CLEANUP(freep) char *metric = metric_name(from->metric);
	struct series_decl d = {
		.metric = metric,
		.kind = from->kind == SERIES_HIST ? "hist" : "value",
		.unit = from->unit,
		.method = from->method ? from->method : format,
		.omission = omission_name(from->omission),
		.state = states[from->state],
		.interval_ns = from->interval_ns,
		.resolution_ns = from->resolution_ns,
	};

	if (from->labels.len > ARRAY_LEN(d.label))
		return err_set(reterr, ERR_LIMIT, "a series %s with %zu labels", from->metric,
			       from->labels.len);
	for (size_t i = 0; i < from->labels.len; i++) {
		d.label[i][0] = from->labels.v[i].key;
		d.label[i][1] = from->labels.v[i].value;
	}
	if (from->kind == SERIES_HIST)
		return add_hist(s, &d, from, reterr);
	session_value(s, &d, from->value);
	return 0;
}

static int add_run(struct session *s, const struct run *r, const char *format, struct err *reterr)
{
	size_t added = 0;

	for (size_t i = 0; i < r->series_len; i++) {
		if (r->series[i].kind != SERIES_HIST && r->series[i].kind != SERIES_VALUE)
			continue;
		if (add_series(s, &r->series[i], format, reterr) < 0)
			return reterr->code;
		added++;
	}
	for (size_t i = 0; i < r->notes_len; i++)
		session_mark(s, r->notes[i].code, "%s", r->notes[i].text);
	return added ? 0
		     : err_set(reterr, ERR_NOT_FOUND,
			       "the output has no distribution and no number");
}

/* ---- the output ---- */

/* A log that has reached its bound lacks what came behind. */
static int read_log(const char *path, uint64_t bytes_max, struct strbuf *ret, struct err *reterr)
{
	FILE *f = fopen(path, "re");
	char chunk[16384];
	size_t n;
	bool bad;

	if (!f)
		return err_errno(reterr, errno, "cannot read %s", path);
	while (ret->len < bytes_max && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		strbuf_add(ret, chunk, n);
	bad = ferror(f);
	(void)fclose(f);
	if (bad)
		return err_set(reterr, ERR_IO, "cannot read %s", path);
	if (ret->len >= bytes_max)
		return err_set(reterr, ERR_LIMIT, "the output is longer than %llu MiB",
			       (unsigned long long)(bytes_max >> 20));
	return 0;
}

int parse_output(struct session *s, const char *log_path, uint64_t bytes_max, const char *format,
		 struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	CLEANUP(import_result_done) struct import_result result = {0};
	struct import_options o = {.source = "the output"};
	int rc = read_log(log_path, bytes_max, &text, reterr);

	if (rc)
		return rc;
	if (!is_auto(format))
		o.format = format;
	rc = import_bytes(text.data ? text.data : "", text.len, &o, &result, reterr);
	if (rc)
		return rc;
	if (result.runs.len != 1)
		return err_set(reterr, ERR_INVALID,
			       "the output holds %zu runs, and a run of the workload is one",
			       result.runs.len);
	return add_run(s, result.runs.v[0], result.format, reterr);
}
