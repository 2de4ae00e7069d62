/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat check-report: any bytes are a report. */
#include "common/compare/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	json_t *doc;
	struct err err;

	if (report_check((const char *)data, size, &doc, &err) < 0)
		return 0;
	report_render_text(doc, "fuzz", &out);
	json_decref(doc);
	return 0;
}
