/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "Did you mean": the nearest of some known words. */
#pragma once

#include "common/base.h"

/* The candidate with the smallest edit distance (a swap of neighbours counts 1), or NULL when
 * none is near: at most a third of the longer word may differ. Not allocated. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t n);
