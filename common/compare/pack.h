/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Building JSON where failure can only be our own mistake (a wrong format, bytes that are not
 * UTF-8 in what should be a constant). */
#pragma once

#include <jansson.h>

#include "common/check.h"

static inline json_t *json_checked(json_t *j)
{
	CHECK(j);
	return j;
}
#define PACK(...) json_checked(json_pack(__VA_ARGS__))

/* Text from outside: null for NULL; bytes that are not UTF-8 become '?'. */
json_t *json_text(const char *s);
