/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the flight recorder's programs with libbpf. The only file that knows libbpf. */
#include "agent/blame_recorder.h"
#include "common/check.h"

#ifndef RIGSTAT_BPF

struct blame_recorder {
	int unused;
};

int blame_recorder_open(const bool *cpus, size_t cpus_len, struct blame_recorder **ret,
			struct err *reterr)
{
	(void)cpus;
	(void)cpus_len;
	(void)ret;
	return err_set(reterr, ERR_UNSUPPORTED,
		       "this program was built without the flight recorder (clang and libbpf-dev)");
}

void blame_recorder_close(struct blame_recorder *r)
{
	(void)r;
}

bool blame_recorder_has_steal(const struct blame_recorder *r)
{
	(void)r;
	return false;
}

const struct blame_ring *blame_recorder_ring(const struct blame_recorder *r, int cpu)
{
	(void)r;
	(void)cpu;
	return NULL;
}

#else

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#define LINKS_MAX 24

extern const unsigned char blame_bpf_object[];
extern const unsigned long long blame_bpf_object_len;

struct blame_recorder {
	struct bpf_object *object;
	struct bpf_link *links[LINKS_MAX];
	size_t n_links;
	const struct blame_ring *rings;
	size_t rings_bytes;
	int cpus;
	bool has_steal;
};

/* libbpf's last complaint, for the reason that a person reads. */
static char last_warning[160];

static int on_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[160];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	if (level == LIBBPF_WARN && text[0])
		memcpy(last_warning, text, sizeof(text));
	return 0;
}

static bool kernel_has_tracepoint(const struct btf *btf, const char *section)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "btf_trace_%s", strchr(section, '/') + 1);
	return btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0;
}

/* Member of a kernel struct, by BTF. */
static bool kernel_has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (unsigned int)id) : NULL;

	for (unsigned int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

static int select_programs(struct blame_recorder *r, struct err *reterr)
{
	struct btf *btf = btf__load_vmlinux_btf();
	struct bpf_program *p;

	if (!btf || libbpf_get_error(btf))
		return err_set(
			reterr, ERR_UNSUPPORTED,
			"the kernel has no BTF (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF)");
	bpf_object__for_each_program(p, r->object) bpf_program__set_autoload(
		p, kernel_has_tracepoint(btf, bpf_program__section_name(p)));
	r->has_steal = kernel_has_member(btf, "rq", "prev_steal_time_rq") &&
		       kernel_has_member(btf, "sched_entity", "cfs_rq");
	btf__free(btf);
	return 0;
}

static int set_config(struct blame_recorder *r, const bool *cpus, size_t len, struct err *reterr)
{
	struct bpf_map *map = bpf_object__find_map_by_name(r->object, ".rodata.config");
	struct blame_config config = {.tgid = getpid()};

	for (size_t i = 0; i < len && i < BLAME_CPUS_MAX; i++)
		config.cpu_on[i] = cpus[i];
	if (!map || bpf_map__set_initial_value(map, &config, sizeof(config)))
		return err_set(reterr, ERR_UNSUPPORTED, "the recorder's constants cannot be set");
	map = bpf_object__find_map_by_name(r->object, "rings");
	if (!map || bpf_map__set_max_entries(map, (unsigned int)r->cpus))
		return err_set(reterr, ERR_UNSUPPORTED, "the recorder's rings cannot be sized");
	return 0;
}

static int load(struct blame_recorder *r, struct err *reterr)
{
	int rc = bpf_object__load(r->object);

	if (!rc)
		return 0;
	if (rc == -EPERM || rc == -EACCES)
		return err_set(
			reterr, ERR_PERM,
			"the kernel refused the recorder's BPF programs: CAP_BPF and CAP_PERFMON "
			"are needed (AmbientCapabilities=CAP_BPF CAP_PERFMON in the unit)");
	return err_set(reterr, ERR_UNSUPPORTED, "BPF programs do not load: %s (%s)", strerror(-rc),
		       last_warning);
}

static int attach(struct blame_recorder *r, struct err *reterr)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, r->object)
	{
		struct bpf_link *link;

		if (!bpf_program__autoload(p))
			continue;
		CHECK(r->n_links < LINKS_MAX);
		link = bpf_program__attach(p);
		if (!link)
			return err_errno(reterr, errno, "cannot attach the recorder to %s",
					 bpf_program__section_name(p));
		r->links[r->n_links++] = link;
	}
	return 0;
}

static int map_rings(struct blame_recorder *r, struct err *reterr)
{
	int fd = bpf_object__find_map_fd_by_name(r->object, "rings");
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	r->rings_bytes = sizeof(struct blame_ring) * (size_t)r->cpus;
	r->rings_bytes = (r->rings_bytes + page - 1) & ~(page - 1);
	p = mmap(NULL, r->rings_bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_errno(reterr, errno, "cannot map the recorder's rings");
	r->rings = p;
	return 0;
}

int blame_recorder_open(const bool *cpus, size_t cpus_len, struct blame_recorder **ret,
			struct err *reterr)
{
	struct blame_recorder *r = xcalloc(1, sizeof(*r));
	int rc;

	libbpf_set_print(on_print);
	last_warning[0] = '\0';
	r->cpus = libbpf_num_possible_cpus();
	r->object = bpf_object__open_mem(blame_bpf_object, (size_t)blame_bpf_object_len, NULL);
	if (!r->object || r->cpus < 1 || r->cpus > BLAME_CPUS_MAX) {
		rc = err_set(reterr, ERR_UNSUPPORTED,
			     "the recorder's programs cannot be opened: %s", last_warning);
	} else {
		rc = select_programs(r, reterr);
		rc = rc ? rc : set_config(r, cpus, cpus_len, reterr);
		rc = rc ? rc : load(r, reterr);
		rc = rc ? rc : map_rings(r, reterr);
		rc = rc ? rc : attach(r, reterr);
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
	for (size_t i = 0; i < r->n_links; i++)
		bpf_link__destroy(r->links[i]);
	if (r->rings)
		munmap((void *)r->rings, r->rings_bytes);
	bpf_object__close(r->object);
	free(r);
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

#endif
