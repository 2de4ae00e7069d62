/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs in the formats of other tools. Pure. */
#pragma once

#include "common/model/run.h"

struct export_format {
	const char *name, *title;
	/* `metric` NULL = all, or the only one where only one fits */
	int (*write)(const struct runs *rs, const char *metric, struct strbuf *out,
		     struct err *reterr);
};
/* Ended by an entry whose name is NULL. */
extern const struct export_format export_formats[];

/* Run documents, one a line; `metric` is ignored. */
int export_ndjson(const struct runs *rs, const char *metric, struct strbuf *out,
		  struct err *reterr);
/* HdrHistogram log: a line each distribution (export_hdr.c). */
int export_hdr_log(const struct runs *rs, const char *metric, struct strbuf *out,
		   struct err *reterr);
