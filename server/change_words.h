/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A change in a sentence, from its document (schema Change). Pure. */
#pragma once

#include <jansson.h>

#include "common/strbuf.h"

/* "p99 of wake-up latency on rack-1 rose by 8.0 % (50.0 us to 54.0 us) between c22 and c23: worse;
 * 3 more series" */
void change_sentence(const json_t *change, struct strbuf *out);
