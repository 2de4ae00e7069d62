/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text parses or is refused with a column inside it; what parses prints to something that
 * parses to the same, and can be matched. */
#include "common/check.h"
#include "common/model/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text CLEANUP(freep) = xstrndup((const char *)data, size);
	struct selector *s CLEANUP(selector_freep) = NULL, *again CLEANUP(selector_freep) = NULL;
	struct strbuf printed CLEANUP(strbuf_done) = {0};
	struct selector_fault fault = {0};
	struct run *r CLEANUP(run_freep) = run_new(RUN_IMPORTED);
	struct err err;

	if (selector_parse(text, &s, &fault, &err)) {
		CHECK(fault.column >= 1 && fault.column <= strlen(text) + 1);
		return 0;
	}
	strbuf_puts(&printed, "");
	selector_print(s, &printed);
	if (printed.len <= SELECTOR_LEN_MAX) {
		CHECK(!selector_parse(printed.data ? printed.data : "", &again, NULL, &err));
		CHECK(selector_equal(s, again));
	}
	r->host = xstrdup("olab-12");
	labels_set(&r->factors, "a", "6.12.9");
	(void)selector_match(s, r);
	return 0;
}
