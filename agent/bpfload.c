/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/bpfload.h"
#include "common/check.h"

#ifndef RIGSTAT_BPF

const unsigned char bpf_blame[1], bpf_io[1], bpf_lock[1];
const unsigned long long bpf_blame_len, bpf_io_len, bpf_lock_len;

int bpfload_open(const void *object, unsigned long long len, struct bpfload **ret,
		 struct err *reterr)
{
	(void)object;
	(void)len;
	(void)ret;
	return err_set(reterr, ERR_UNSUPPORTED,
		       "this program was built without BPF (clang and libbpf-dev)");
}

void bpfload_close(struct bpfload *b)
{
	CHECK(!b);
}

/* Nothing can be open, so the rest cannot be reached. */
#define NEVER(type, name, ...)                                                                     \
	type name(__VA_ARGS__)                                                                     \
	{                                                                                          \
		check_failed(#name, __FILE__, __LINE__, __func__);                                 \
	}
#pragma GCC diagnostic ignored "-Wunused-parameter"
NEVER(int, bpfload_set_const, struct bpfload *b, const char *section, const void *data, size_t len,
      struct err *reterr)
NEVER(int, bpfload_set_entries, struct bpfload *b, const char *map, unsigned int n,
      struct err *reterr)
NEVER(int, bpfload_start, struct bpfload *b, struct err *reterr)
NEVER(int, bpfload_map, struct bpfload *b, const char *map, size_t bytes, bool writable, void **ret,
      struct err *reterr)
NEVER(int, bpfload_put, struct bpfload *b, const char *map, const void *key, const void *value,
      struct err *reterr)
NEVER(bool, bpfload_get, struct bpfload *b, const char *map, const void *key, void *ret_value)
NEVER(bool, bpfload_next, struct bpfload *b, const char *map, const void *key, void *ret_key)
NEVER(bool, bpfload_delete, struct bpfload *b, const char *map, const void *key)
NEVER(uint64_t, bpfload_misses, struct bpfload *b)
NEVER(uint64_t, bpfload_run_ns, struct bpfload *b)
NEVER(int, bpfload_account, void)
NEVER(int, bpfload_possible_cpus, void)
NEVER(bool, bpfload_kernel_has, struct bpfload *b, const char *type, const char *member)
NEVER(bool, bpfload_has_tracepoint, struct bpfload *b, const char *name)

void bpfload_forget_kernel(void)
{
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
#define MAPS_MAX  4

struct bpfload {
	struct bpf_object *object;
	struct bpf_link *links[LINKS_MAX];
	size_t n_links;
	struct {
		void *at;
		size_t bytes;
	} maps[MAPS_MAX];
	size_t n_maps;
};

/* libbpf's last complaint, for the reason that a person reads. */
static char last_warning[160];

static int on_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char text[sizeof(last_warning)];

	(void)vsnprintf(text, sizeof(text), fmt, ap);
	text[strcspn(text, "\n")] = '\0';
	if (level == LIBBPF_WARN && text[0])
		memcpy(last_warning, text, sizeof(text));
	return 0;
}

/* The kernel's types: 7 MB here, so one copy for all objects, and only while they are opened. */
static struct btf *kernel;

static struct btf *kernel_types(void)
{
	if (!kernel)
		kernel = btf__load_vmlinux_btf();
	return kernel;
}

void bpfload_forget_kernel(void)
{
	btf__free(kernel);
	kernel = NULL;
}

bool bpfload_has_tracepoint(struct bpfload *b UNUSED, const char *name)
{
	char type[64];

	if (!kernel_types())
		return false;
	(void)snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

bool bpfload_kernel_has(struct bpfload *b UNUSED, const char *type, const char *member)
{
	struct btf *k = kernel_types();
	int id = k ? btf__find_by_name_kind(k, type, BTF_KIND_STRUCT) : 0;
	const struct btf_type *t = id > 0 ? btf__type_by_id(k, (unsigned int)id) : NULL;

	for (unsigned int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(k, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

int bpfload_open(const void *object, unsigned long long len, struct bpfload **ret,
		 struct err *reterr)
{
	struct bpfload *b = xcalloc(1, sizeof(*b));
	struct bpf_program *p;
	int rc = 0;

	libbpf_set_print(on_print);
	last_warning[0] = '\0';
	b->object = bpf_object__open_mem(object, (size_t)len, NULL);
	if (!b->object)
		rc = err_set(reterr, ERR_UNSUPPORTED, "the BPF programs cannot be opened: %s",
			     last_warning);
	if (!rc && !kernel_types())
		rc = err_set(reterr, ERR_UNSUPPORTED,
			     "the kernel has no BTF (/sys/kernel/btf/vmlinux, "
			     "CONFIG_DEBUG_INFO_BTF)");
	if (rc) {
		bpfload_close(b);
		return rc;
	}
	bpf_object__for_each_program(p, b->object) bpf_program__set_autoload(
		p, bpfload_has_tracepoint(b, strchr(bpf_program__section_name(p), '/') + 1));
	*ret = b;
	return 0;
}

int bpfload_set_const(struct bpfload *b, const char *section, const void *data, size_t len,
		      struct err *reterr)
{
	struct bpf_map *map = bpf_object__find_map_by_name(b->object, section);

	if (!map || bpf_map__set_initial_value(map, data, len))
		return err_set(reterr, ERR_UNSUPPORTED, "the constants of %s cannot be set",
			       section);
	return 0;
}

int bpfload_set_entries(struct bpfload *b, const char *map, unsigned int n, struct err *reterr)
{
	struct bpf_map *m = bpf_object__find_map_by_name(b->object, map);

	if (!m || bpf_map__set_max_entries(m, n))
		return err_set(reterr, ERR_UNSUPPORTED, "the BPF map %s cannot be sized", map);
	return 0;
}

static int attach(struct bpfload *b, struct err *reterr)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, b->object)
	{
		struct bpf_link *link;

		if (!bpf_program__autoload(p))
			continue;
		CHECK(b->n_links < LINKS_MAX);
		link = bpf_program__attach(p);
		if (!link)
			return err_errno(reterr, errno, "cannot attach to %s",
					 bpf_program__section_name(p));
		b->links[b->n_links++] = link;
	}
	return 0;
}

int bpfload_start(struct bpfload *b, struct err *reterr)
{
	int rc = bpf_object__load(b->object);

	if (rc == -EPERM || rc == -EACCES)
		return err_set(reterr, ERR_PERM,
			       "the kernel refused BPF programs: CAP_BPF and CAP_PERFMON are "
			       "needed (AmbientCapabilities=CAP_BPF CAP_PERFMON in the unit)");
	if (rc)
		return err_set(reterr, ERR_UNSUPPORTED, "BPF programs do not load: %s (%s)",
			       strerror(-rc), last_warning);
	return attach(b, reterr);
}

static int fd_of(struct bpfload *b, const char *map)
{
	int fd = bpf_object__find_map_fd_by_name(b->object, map);

	CHECK(fd >= 0);
	return fd;
}

int bpfload_map(struct bpfload *b, const char *map, size_t bytes, bool writable, void **ret,
		struct err *reterr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	CHECK(b->n_maps < MAPS_MAX);
	bytes = (bytes + page - 1) & ~(page - 1);
	p = mmap(NULL, bytes, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd_of(b, map),
		 0);
	if (p == MAP_FAILED)
		return err_errno(reterr, errno, "cannot map the BPF map %s", map);
	b->maps[b->n_maps].at = p;
	b->maps[b->n_maps++].bytes = bytes;
	*ret = p;
	return 0;
}

int bpfload_put(struct bpfload *b, const char *map, const void *key, const void *value,
		struct err *reterr)
{
	if (bpf_map_update_elem(fd_of(b, map), key, value, BPF_ANY))
		return err_errno(reterr, errno, "cannot write to the BPF map %s", map);
	return 0;
}

bool bpfload_get(struct bpfload *b, const char *map, const void *key, void *ret_value)
{
	return bpf_map_lookup_elem(fd_of(b, map), key, ret_value) == 0;
}

bool bpfload_next(struct bpfload *b, const char *map, const void *key, void *ret_key)
{
	return bpf_map_get_next_key(fd_of(b, map), key, ret_key) == 0;
}

bool bpfload_delete(struct bpfload *b, const char *map, const void *key)
{
	return bpf_map_delete_elem(fd_of(b, map), key) == 0 || errno == ENOENT;
}

/* Calls fn with what the kernel knows of each program that is loaded. */
static uint64_t sum_info(struct bpfload *b, uint64_t (*fn)(const struct bpf_prog_info *))
{
	struct bpf_program *p;
	uint64_t n = 0;

	bpf_object__for_each_program(p, b->object)
	{
		struct bpf_prog_info info = {0};
		unsigned int len = sizeof(info);

		if (bpf_program__fd(p) >= 0 &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			n += fn(&info);
	}
	return n;
}

static uint64_t misses_of(const struct bpf_prog_info *i)
{
	return i->recursion_misses;
}

static uint64_t run_ns_of(const struct bpf_prog_info *i)
{
	return i->run_time_ns;
}

uint64_t bpfload_misses(struct bpfload *b)
{
	return sum_info(b, misses_of);
}

uint64_t bpfload_run_ns(struct bpfload *b)
{
	return sum_info(b, run_ns_of);
}

int bpfload_account(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	return fd < 0 ? -1 : fd;
}

int bpfload_possible_cpus(void)
{
	return libbpf_num_possible_cpus();
}

void bpfload_close(struct bpfload *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n_links; i++)
		bpf_link__destroy(b->links[i]);
	for (size_t i = 0; i < b->n_maps; i++)
		munmap(b->maps[i].at, b->maps[i].bytes);
	bpf_object__close(b->object);
	free(b);
}

#endif
