/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run of GET /api/v1/runs/{id} for people and mailing lists: ASCII, at most 76 columns. Pure. */
#pragma once

#include <jansson.h>

#include "common/strbuf.h"

/* `all`: every named entry of a list, not the largest only. */
void run_text(const json_t *run, bool all, struct strbuf *out);
