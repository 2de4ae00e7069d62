/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs.h"

const struct verb verbs[] = {
	{"compare", "two to six sides: files, or runs of a server", verb_compare_help,
	 verb_compare},
	{"gate", "pass, fail or inconclusive by rules, for CI", verb_gate_help, verb_gate},
	{0},
};
