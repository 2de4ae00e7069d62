/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/blame_recorder.h"
#include "agent/bpfcost.h"
#include "agent/bpfload.h"
#include "common/check.h"

#include <unistd.h>

struct blame_recorder {
	struct bpfload *bpf;
	const struct blame_ring *rings;
	int cpus;
	bool has_steal;
	struct bpfcost cost;
};

static int start(struct blame_recorder *r, const bool *cpus, size_t cpus_len, struct err *reterr)
{
	struct blame_config config = {.tgid = getpid()};
	void *rings;
	int rc;

	for (size_t i = 0; i < cpus_len && i < BLAME_CPUS_MAX; i++)
		config.cpu_on[i] = cpus[i];
	rc = bpfload_set_const(r->bpf, ".rodata.config", &config, sizeof(config), reterr);
	rc = rc ? rc : bpfload_set_entries(r->bpf, "rings", (unsigned int)r->cpus, reterr);
	rc = rc ? rc : bpfload_start(r->bpf, reterr);
	rc = rc ? rc
		: bpfload_map(r->bpf, "rings", sizeof(struct blame_ring) * (size_t)r->cpus, false,
			      &rings, reterr);
	if (rc)
		return rc;
	r->rings = rings;
	r->has_steal = bpfload_kernel_has(r->bpf, "rq", "prev_steal_time_rq") &&
		       bpfload_kernel_has(r->bpf, "sched_entity", "cfs_rq");
	return 0;
}

int blame_recorder_open(const bool *cpus, size_t cpus_len, struct blame_recorder **ret,
			struct err *reterr)
{
	struct blame_recorder *r = xcalloc(1, sizeof(*r));
	int rc = bpfload_open(bpf_blame, bpf_blame_len, &r->bpf, reterr);

	if (!rc) {
		r->cpus = bpfload_possible_cpus();
		if (r->cpus < 1 || r->cpus > BLAME_CPUS_MAX)
			rc = err_set(reterr, ERR_UNSUPPORTED,
				     "the flight recorder knows at most %d CPUs", BLAME_CPUS_MAX);
		else
			rc = start(r, cpus, cpus_len, reterr);
	}
	if (rc)
		blame_recorder_close(r);
	else
		*ret = r;
	return rc;
}

void blame_recorder_close(struct blame_recorder *r)
{
	if (!r)
		return;
	bpfcost_done(&r->cost);
	bpfload_close(r->bpf);
	free(r);
}

static uint64_t events_so_far(const struct blame_recorder *r)
{
	uint64_t n = 0;

	for (int i = 0; i < r->cpus; i++)
		n += __atomic_load_n(&r->rings[i].head, __ATOMIC_RELAXED);
	return n;
}

void blame_recorder_begin(struct blame_recorder *r)
{
	bpfcost_begin(&r->cost, r->bpf, events_so_far(r));
}

void blame_recorder_tick(struct blame_recorder *r, bool last)
{
	bpfcost_tick(&r->cost, r->bpf, events_so_far(r), last);
}

int64_t blame_recorder_kernel_ns(const struct blame_recorder *r)
{
	return bpfcost_ns(&r->cost, events_so_far(r));
}

bool blame_recorder_has_steal(const struct blame_recorder *r)
{
	return r->has_steal;
}

const struct blame_ring *blame_recorder_ring(const struct blame_recorder *r, int cpu)
{
	CHECK(cpu >= 0 && cpu < r->cpus);
	return &r->rings[cpu];
}
