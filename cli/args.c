/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/args.h"

#include "common/suggest.h"

#define OPTIONS_MAX 64

static int unknown_option(const struct option_def *defs, const char *name, struct err *reterr)
{
	const char *names[OPTIONS_MAX];
	const char *near;
	size_t n = 0;

	for (; defs[n].name && n < OPTIONS_MAX; n++)
		names[n] = defs[n].name;
	near = suggest_nearest(name, names, n);
	return err_set(reterr, ERR_INVALID, "unknown option %.60s%s%s%s", name,
		       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static const struct option_def *find(const struct option_def *defs, const char *arg, size_t len)
{
	for (; defs->name; defs++)
		if (strlen(defs->name) == len && !strncmp(defs->name, arg, len))
			return defs;
	return NULL;
}

int args_next(struct args *a, const struct option_def *defs, const char **ret_value,
	      struct err *reterr)
{
	const struct option_def *def;
	const char *arg, *equals;

	*ret_value = NULL;
	if (a->at >= a->argc)
		return ARG_END;
	arg = a->argv[a->at++];
	if (!a->only_operands && !strcmp(arg, "--")) {
		a->only_operands = true;
		return args_next(a, defs, ret_value, reterr);
	}
	if (a->only_operands || arg[0] != '-' || !arg[1]) {
		*ret_value = arg;
		return ARG_OPERAND;
	}
	equals = arg[1] == '-' ? strchr(arg, '=') : NULL;
	def = find(defs, arg, equals ? (size_t)(equals - arg) : strlen(arg));
	if (!def)
		return unknown_option(defs, arg, reterr);
	if (!def->has_value && equals)
		return err_set(reterr, ERR_INVALID, "option %s takes no value", def->name);
	if (def->has_value && equals)
		*ret_value = equals + 1;
	else if (def->has_value && a->at >= a->argc)
		return err_set(reterr, ERR_INVALID, "option %s needs a value", def->name);
	else if (def->has_value)
		*ret_value = a->argv[a->at++];
	return def->id;
}
