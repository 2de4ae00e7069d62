/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event names of libpfm4: the vendors' own ("INST_RETIRED.ANY"), with its tables for this CPU. */
#include "agent/pmu_event.h"

#include <perfmon/pfmlib_perf_event.h>

int pmu_pfm_parse(const char *name, struct pmu_event *ret, struct err *reterr)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.size = sizeof(arg), .attr = &attr};
	int r = pfm_initialize();

	if (r == PFM_SUCCESS)
		r = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg);
	if (r != PFM_SUCCESS)
		return err_set(reterr, ERR_NOT_FOUND,
			       "the kernel has no event \"%.80s\" and libpfm4 says: %s", name,
			       pfm_strerror(r));
	ret->opening[0] = (struct pmu_opening){.pmu = "cpu",
					       .type = attr.type,
					       .config = attr.config,
					       .config1 = attr.config1,
					       .config2 = attr.config2};
	ret->openings = 1;
	ret->exclude_user = attr.exclude_user;
	ret->exclude_kernel = attr.exclude_kernel;
	ret->exclude_hv = attr.exclude_hv;
	ret->software = attr.type == PERF_TYPE_SOFTWARE || attr.type == PERF_TYPE_TRACEPOINT;
	return 0;
}
