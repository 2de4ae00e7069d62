/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs.h"

const struct verb verbs[] = {
	{"compare", "two to six sides: files, or runs of a server", verb_compare_help,
	 verb_compare},
	{"gate", "pass, fail or inconclusive by rules, for CI", verb_gate_help, verb_gate},
	{"status", "is the server there, and what does it hold", verb_status_help, verb_status},
	{"demo", "load or remove the two founding data sets", verb_demo_help, verb_demo},
	{0},
};
