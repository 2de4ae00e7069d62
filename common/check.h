/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks for programmer errors. They stay in release builds; expected failures use err.h. */
#pragma once

#include "common/base.h"

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (__builtin_expect(!(cond), 0))                                                  \
			check_failed(#cond, __FILE__, __LINE__, __func__);                         \
	} while (0)

NORETURN void check_failed(const char *cond, const char *file, int line, const char *func);

/* Objects that travel as void * through foreign callbacks begin with `uint32_t magic`. */
#define OBJ_CAST(ptr, type, magic_value)                                                           \
	((type *)obj_check((ptr), (magic_value), #type, __FILE__, __LINE__))
void *obj_check(void *ptr, uint32_t magic, const char *type, const char *file, int line);
