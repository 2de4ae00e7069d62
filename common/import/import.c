/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of formats, detection by shape, and what is done to every file's runs. */
#include "common/import/formats.h"
#include "common/import/gunzip.h"

#include <pthread.h>

#define CERTAIN 90 /* nothing else need be asked */

/* Asked in this order until one is certain: the cheap and unmistakable ones first, tables last. */
static const struct import_format *const table[] = {
	&import_rigstat_json,
	&import_rt_json,
	&import_fio_json,
	&import_jitterdebugger_json,
	&import_hyperfine,
	&import_bpftrace_json,
	&import_cyclictest,
	&import_delay_count,
	&import_oslat,
	&import_rtla,
	&import_rteval,
	&import_hwlat,
	&import_hdr_log,
	&import_hgrm,
	&import_stress_ng,
	&import_bcc,
	&import_bpftrace,
	&import_fio_log,
	&import_perf_report,
	&import_perf_stat,
	&import_perf_script,
	&import_jitterdebugger_raw,
	&import_jitterdebugger_csv,
	&import_go_bench,
	&import_sysbench,
	&import_cyclictest_live,
	&import_cyclictest_verbose,
	&import_summary_csv,
	&import_csv,
	&import_columns,
};

static struct import_format list[ARRAY_LEN(table) + 1];

static void fill_list(void)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		list[i] = *table[i];
}

const struct import_format *import_formats(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill_list);
	return list;
}

void import_result_done(struct import_result *r)
{
	runs_done(&r->runs);
	r->format = NULL;
}

static const struct import_format *format_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(table[i]->name, name))
			return table[i];
	return NULL;
}

static const struct import_format *format_detected(const char *data, size_t len, int *ret_sure)
{
	const struct import_format *best = NULL;
	int sure = 0;

	for (size_t i = 0; i < ARRAY_LEN(table) && sure < CERTAIN; i++) {
		int s = table[i]->sniff(data, len);

		if (s <= sure)
			continue;
		sure = s;
		best = table[i];
	}
	*ret_sure = sure;
	return best;
}

/* Files that are no results themselves, and what to do with them. */
static const char *known_stranger(const char *data, size_t len)
{
	static const struct {
		size_t at;
		const char *magic, *advice;
	} strangers[] = {
		{0, "PERFILE2",
		 "this is perf's binary recording; give the text of perf report or perf "
		 "script"},
		{0,
		 "\xfd"
		 "7zXZ",
		 "compressed with xz; unpack it first"},
		{0, "BZh", "compressed with bzip2; unpack it first"},
		{0, "\x28\xb5\x2f\xfd", "compressed with zstd; unpack it first"},
		{0, "PK\x03\x04", "a zip archive; unpack it first"},
		{0, "\x89HDF", "an HDF5 file; give samples.raw or the CSV of jittersamples"},
		{257, "ustar", "a tar archive; rigstat import reads the files in it"},
	};

	for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
		size_t n = strlen(strangers[i].magic);

		if (len >= strangers[i].at + n &&
		    !memcmp(data + strangers[i].at, strangers[i].magic, n))
			return strangers[i].advice;
	}
	return NULL;
}

static int choose(const char *data, size_t len, const struct import_options *o,
		  const struct import_format **ret, struct err *reterr)
{
	const char *advice = known_stranger(data, len);
	int sure;

	if (advice)
		return err_set(reterr, ERR_INVALID, "%s: %s", import_source(o), advice);
	*ret = o && o->format ? format_named(o->format) : format_detected(data, len, &sure);
	if (*ret)
		return 0;
	if (o && o->format)
		return err_set(reterr, ERR_INVALID, "%s: no format is named '%.60s'",
			       import_source(o), o->format);
	return err_set(
		reterr, ERR_INVALID,
		"%s: the shape of this file is not one that rigstat reads; name its format, or "
		"give one number a line, a CSV with a header, or a run document",
		import_source(o));
}

/* One name for the metric of a file that has only one. */
static int rename_metric(struct runs *rs, const struct import_options *o, struct err *reterr)
{
	const char *present = NULL;

	if (!o || !o->metric)
		return 0;
	for (size_t i = 0; i < rs->len; i++)
		for (size_t k = 0; k < rs->v[i]->series_len; k++) {
			const char *metric = rs->v[i]->series[k].metric;

			if (!strcmp(metric, o->metric))
				return 0; /* the file already has it */
			if (present && strcmp(present, metric))
				return err_set(reterr, ERR_INVALID,
					       "%s: has several metrics (%.60s, %.60s ...): "
					       "--metric names "
					       "one of a file that has only one",
					       import_source(o), present, metric);
			present = metric;
		}
	for (size_t i = 0; i < rs->len; i++)
		for (size_t k = 0; k < rs->v[i]->series_len; k++) {
			free(rs->v[i]->series[k].metric);
			rs->v[i]->series[k].metric = xstrdup(o->metric);
		}
	return 0;
}

static void apply_options(struct run *r, const struct import_options *o)
{
	for (size_t i = 0; i < o->factors.len; i++)
		labels_set(&r->factors, o->factors.v[i].key, o->factors.v[i].value);
	for (size_t i = 0; i < o->tags.len; i++)
		labels_set(&r->tags, o->tags.v[i].key, o->tags.v[i].value);
	for (size_t i = 0; o->interval_ns && i < r->series_len; i++)
		if (r->series[i].kind == SERIES_HIST && !r->series[i].interval_ns)
			r->series[i].interval_ns = o->interval_ns;
}

static int finish(struct runs *rs, const struct import_options *o, struct err *reterr)
{
	size_t series = 0;
	int rc = rename_metric(rs, o, reterr);

	for (size_t i = 0; !rc && i < rs->len; i++) {
		if (o)
			apply_options(rs->v[i], o);
		series += rs->v[i]->series_len;
		rc = import_settle(rs->v[i], o, reterr);
	}
	if (!rc && !series)
		return err_set(reterr, ERR_INVALID, "%s: no data in it", import_source(o));
	return rc;
}

static int import_plain(const char *data, size_t len, const struct import_options *o,
			struct import_result *ret, struct err *reterr)
{
	const struct import_format *format;
	int rc;

	if (!len)
		return err_set(reterr, ERR_INVALID, "%s: the file is empty", import_source(o));
	rc = choose(data, len, o, &format, reterr);
	if (rc)
		return rc;
	ret->format = format->name;
	rc = format->read(data, len, o, &ret->runs, reterr);
	return rc ? rc : finish(&ret->runs, o, reterr);
}

int import_bytes(const char *data, size_t len, const struct import_options *o,
		 struct import_result *ret, struct err *reterr)
{
	struct strbuf plain = {0};
	int rc = 0;

	memset(ret, 0, sizeof(*ret));
	if (gunzip_is(data, len)) {
		rc = gunzip_bytes(data, len, &plain, reterr);
		if (rc)
			(void)err_prefix(reterr, "%s: ", import_source(o));
		data = plain.data ? plain.data : "";
		len = plain.len;
	}
	rc = rc ? rc : import_plain(data, len, o, ret, reterr);
	strbuf_done(&plain);
	if (rc)
		import_result_done(ret);
	return rc;
}

int import_detect(const char *data, size_t len, const char **ret_format)
{
	const struct import_format *format;
	struct strbuf plain = {0};
	struct err err;
	int sure = 0;

	if (gunzip_is(data, len)) {
		if (gunzip_bytes(data, len, &plain, &err) == 0) {
			data = plain.data ? plain.data : "";
			len = plain.len;
		}
	}
	format = len ? format_detected(data, len, &sure) : NULL;
	strbuf_done(&plain);
	*ret_format = format ? format->name : NULL;
	return sure;
}
