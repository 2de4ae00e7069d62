/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which test checks which case: a case of the file that is in no list fails both tests. */
#pragma once

#include "stat_cases.h"

struct known {
	const char *id;
	void (*fn)(struct checker *c);
};

/* First the ids of test_stat_cases.c, then those of test_stat_cases_more.c. */
static const char *const case_ids[2][40] = {{"summary-S1A",
					     "summary-S1B",
					     "summary-S2A",
					     "welch-S1",
					     "welch-S2",
					     "paired-S2",
					     "paired-S1",
					     "mw-exact-S2",
					     "mw-exact-S1",
					     "mw-ties-small",
					     "mw-ties-n10",
					     "mw-critical-values",
					     "hl-shift-S2",
					     "signedrank-D3",
					     "perm-mean-S2",
					     "signflip-S2",
					     "bh-1995",
					     "ratio-S1",
					     "tost-S2",
					     "quantile-order-ci",
					     "tail-exceedance-ci",
					     "poisson-rate-ratio",
					     "ttest-wrong-ddof",
					     "spread",
					     "yuen-outlier",
					     "power"},
					    {"hist-compare",
					     "ks-useless",
					     "nist-numacc",
					     "ancova-alternating",
					     "variance-components",
					     "ordered-settings",
					     "edivisive-two-changes",
					     "ls-segmentation-nile",
					     "boot-ratio-mean-S2",
					     "boot-ratio-median-S2",
					     "boot-paired-ratio-S2",
					     "run-bootstrap-p99",
					     "autocorrelation-ess",
					     "quantile-definitions",
					     "tail-plateaus",
					     "uniform-endpoint",
					     "max-grows",
					     "published-consistency",
					     "degenerate",
					     "delays-2004-tail"}};

/* Index of the list that has the case, -1 for none. */
static inline int list_of(const char *id)
{
	for (int l = 0; l < 2; l++)
		for (size_t i = 0; i < ARRAY_LEN(case_ids[l]) && case_ids[l][i]; i++)
			if (strcmp(case_ids[l][i], id) == 0)
				return l;
	return -1;
}

/* Runs the cases of one list; returns how many of them passed. */
static inline size_t run_cases(const struct known *known, size_t n, int list)
{
	json_error_t where;
	json_t *doc = json_load_file(TEST_DATA "/stat-cases.json", 0, &where);
	const json_t *cases = json_object_get(doc, "cases");
	size_t passed = 0, i;
	json_t *spec;

	assert_non_null(doc);
	assert_int_equal(json_array_size(cases),
			 json_integer_value(json_object_get(doc, "n_cases")));
	json_array_foreach(cases, i, spec)
	{
		const char *id = json_string_value(json_object_get(spec, "id"));
		size_t k = 0;

		if (list_of(id) < 0)
			fail_msg("case %s of stat-cases.json is checked by no test", id);
		if (list_of(id) != list)
			continue;
		while (k < n && strcmp(known[k].id, id) != 0)
			k++;
		if (k == n)
			fail_msg("case %s has no check", id);
		passed += check_case(spec, known[k].fn) == 0;
	}
	json_decref(doc);
	return passed;
}
