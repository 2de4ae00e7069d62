/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/import_large.h"

#include "cli/export_formats.h"
#include "common/sha256.h"

int import_large(const char *name, const char *data, size_t len, const struct import_args *a,
		 struct strbuf *ret, struct err *reterr)
{
	struct import_options o = a->o;
	struct import_result result = {0};
	char sha[SHA256_HEX];
	int rc;

	o.source = name;
	rc = import_bytes(data, len, &o, &result, reterr);
	if (rc)
		return rc;
	(void)sha256_hex(data, len, sha);
	for (size_t i = 0; i < result.runs.len; i++)
		run_note(result.runs.v[i], "original-not-kept",
			 "read on the sender's machine: the file of %zu MiB (SHA-256 %s) is larger "
			 "than the %zu MiB that the server keeps",
			 len >> 20, sha, IMPORT_BODY_MAX >> 20);
	rc = export_ndjson(&result.runs, NULL, ret, reterr);
	import_result_done(&result);
	if (!rc && ret->len > IMPORT_BODY_MAX)
		return err_set(reterr, ERR_LIMIT,
			       "its runs are %zu MiB of documents; at most %zu MiB are sent at "
			       "once: split the file",
			       ret->len >> 20, IMPORT_BODY_MAX >> 20);
	return rc;
}
