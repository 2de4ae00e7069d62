/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command lines: long options "--name value" and "--name=value", short ones without bundling,
 * operands anywhere, "--" ends the options. An unknown option is refused with the nearest one. */
#pragma once

#include "common/err.h"

struct option_def {
	const char *name; /* "--json"; ended by NULL */
	int id;		  /* > 0 */
	bool has_value;
};

struct args {
	char **argv;
	int argc, at;
	bool only_operands;
};

#define ARG_OPERAND 0
#define ARG_END	    (-100)
/* The next option's id, ARG_OPERAND (value = the operand), ARG_END, or a negative ERR_*.
 * *ret_value is NULL for an option without value. */
int args_next(struct args *a, const struct option_def *defs, const char **ret_value,
	      struct err *reterr) MUSTCHECK;
