/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Delay Count, summaries, CSV, columns, our own documents: arbitrary bytes. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"delay-count", "summary-csv",  "csv",
					      "columns",     "rigstat-json", NULL};

	return fuzz_family(formats, data, size);
}
