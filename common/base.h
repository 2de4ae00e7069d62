/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes and small macros that every file may use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MUSTCHECK	 __attribute__((warn_unused_result))
#define PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define UNUSED		 __attribute__((unused))
#define NORETURN	 __attribute__((noreturn))

/* Runs fn(&variable) when the variable goes out of scope. */
#define CLEANUP(fn)			__attribute__((cleanup(fn)))
#define ARRAY_LEN(a)			(sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define NS_PER_SEC 1000000000LL
#define NS_PER_MS  1000000LL
#define NS_PER_US  1000LL

/* Moves ownership out of a local that has a CLEANUP: returns the pointer, leaves NULL. */
static inline void *take_ptr(void *pp)
{
	void *p;

	memcpy(&p, pp, sizeof(p));
	memset(pp, 0, sizeof(p));
	return p;
}
#define TAKE(p) ((__typeof__(p))take_ptr(&(p)))

static inline void freep(void *pp)
{
	free(take_ptr(pp));
}

/* Small allocations abort with a message when memory is out. Anything whose size comes from
 * network or disk is bounded first. The result is never NULL and is freed with free(). */
void *xcalloc(size_t n, size_t size) MUSTCHECK;
void *xrealloc(void *p, size_t n, size_t size) MUSTCHECK;
char *xstrdup(const char *s) MUSTCHECK;
char *xstrndup(const char *s, size_t n) MUSTCHECK;
char *xasprintf(const char *fmt, ...) PRINTF(1, 2) MUSTCHECK;

/* Makes room for one more element of an array that grows by doubling. */
#define GROW(array, len, cap)                                                                      \
	do {                                                                                       \
		if ((len) == (cap)) {                                                              \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(array) = xrealloc((array), (cap), sizeof(*(array)));                      \
		}                                                                                  \
	} while (0)
