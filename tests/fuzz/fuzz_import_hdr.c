/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HdrHistogram: arbitrary bytes. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"hdr-log", "hgrm", NULL};

	return fuzz_family(formats, data, size);
}
