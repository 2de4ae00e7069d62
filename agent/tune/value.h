/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a kernel file says and what was written to it, as one form: "[mq-deadline] none" is
 * "mq-deadline", "0000000f" is "f". Pure functions. */
#pragma once

#include "common/err.h"

#define TUNE_VALUE_MAX 1024

/* Writes the present choice of `raw` without blanks at its ends; of a selector the one in
 * brackets. `buf` holds TUNE_VALUE_MAX bytes. Returns buf. */
const char *value_normal(const char *raw, char *buf);
/* Same setting in two spellings: text, or numbers and masks with other leading zeros,
 * or Y/N beside 1/0. Both are in normal form. */
bool value_equal(const char *a, const char *b);
/* True when `raw` is a selector such as "[none] mq-deadline kyber". */
bool value_is_selector(const char *raw);
/* True when `value` is one of the words of the selector `raw`. */
bool value_in_selector(const char *raw, const char *value);
/* Something that may be written: not empty, at most TUNE_VALUE_MAX - 1 bytes, one line. */
int value_check(const char *value, struct err *reterr) MUSTCHECK;
