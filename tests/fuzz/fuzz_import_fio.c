/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fio: arbitrary bytes. */
#include "tests/fuzz/fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const formats[] = {"fio-json", "fio-hist-log", NULL};

	return fuzz_family(formats, data, size);
}
