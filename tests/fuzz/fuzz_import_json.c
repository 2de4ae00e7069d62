/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of rt-tests, jitterdebugger and hyperfine, and jitterdebugger's samples: arbitrary bytes. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"rt-tests-json",	    "jitterdebugger",
					      "jitterdebugger-raw", "jitterdebugger-csv",
					      "hyperfine",	    NULL};

	return fuzz_family(formats, data, size);
}
