/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strict parsing of numbers, durations, sizes and CPU lists: the whole string or an error that
 * says what was expected. Locale-independent. */
#pragma once

#include "common/err.h"

int parse_i64(const char *s, int64_t *ret, struct err *reterr) MUSTCHECK;
int parse_u64(const char *s, uint64_t *ret, struct err *reterr) MUSTCHECK;
/* A finite decimal number; "nan", "inf" and hexadecimal are refused. */
int parse_double(const char *s, double *ret, struct err *reterr) MUSTCHECK;
/* "30s", "2m", "1h30m", "250ms", "10us", "5ns" to ns; a bare number is refused. */
int parse_duration(const char *s, int64_t *ret_ns, struct err *reterr) MUSTCHECK;
/* "64k", "8M", "1G" (powers of 1024) or a bare number to bytes. */
int parse_size(const char *s, uint64_t *ret_bytes, struct err *reterr) MUSTCHECK;

/* A kernel CPU list such as "0-3,8": sets bits in a bool array of `cap` entries. */
int parse_cpu_list(const char *s, bool *ret_cpus, size_t cap, struct err *reterr) MUSTCHECK;

/* Valid UTF-8 without control characters other than tab and newline. */
bool text_is_clean(const char *s, size_t len);
/* Writes a duration for people: "1.24 ms", "41 us", "2 h 10 min". Returns buf. */
const char *format_ns(double ns, char *buf, size_t cap);
