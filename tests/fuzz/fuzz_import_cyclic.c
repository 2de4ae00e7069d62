/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of cyclictest, oslat, rtla, hwlatdetect, rteval and stress-ng: arbitrary bytes. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {
		"cyclictest",  "cyclictest-lines", "cyclictest-verbose", "oslat", "rtla",
		"hwlatdetect", "rteval",	   "stress-ng-cyclic",	 NULL};

	return fuzz_family(formats, data, size);
}
