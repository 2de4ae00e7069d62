/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF programs that are embedded in the agent: opened, sized, loaded, attached. Programs whose
 * tracepoint this kernel does not have are left out. The only module that knows libbpf; a build
 * without it answers ERR_UNSUPPORTED. Loop thread only. */
#pragma once

#include "common/err.h"

/* The objects, embedded at build. */
extern const unsigned char bpf_blame[], bpf_io[], bpf_lock[];
extern const unsigned long long bpf_blame_len, bpf_io_len, bpf_lock_len;

struct bpfload;
int bpfload_open(const void *object, unsigned long long len, struct bpfload **ret,
		 struct err *reterr) MUSTCHECK;
/* Detaches and unloads; NULL is fine. */
void bpfload_close(struct bpfload *b);

/* Before bpfload_start: contents of a read-only section (".rodata.config"), entries of a map. */
int bpfload_set_const(struct bpfload *b, const char *section, const void *data, size_t len,
		      struct err *reterr) MUSTCHECK;
int bpfload_set_entries(struct bpfload *b, const char *map, unsigned int n,
			struct err *reterr) MUSTCHECK;
/* Loads and attaches. ERR_PERM says which rights are missing. */
int bpfload_start(struct bpfload *b, struct err *reterr) MUSTCHECK;

/* After bpfload_start. Memory of an mmapable map, shared with the programs until close. */
int bpfload_map(struct bpfload *b, const char *map, size_t bytes, bool writable, void **ret,
		struct err *reterr) MUSTCHECK;
int bpfload_put(struct bpfload *b, const char *map, const void *key, const void *value,
		struct err *reterr) MUSTCHECK;
bool bpfload_get(struct bpfload *b, const char *map, const void *key, void *ret_value) MUSTCHECK;
/* Iterates a hash map: `key` NULL gives the first key. */
bool bpfload_next(struct bpfload *b, const char *map, const void *key, void *ret_key) MUSTCHECK;
/* False when the entry is still there: the kernel could not take the bucket's lock. */
bool bpfload_delete(struct bpfload *b, const char *map, const void *key);

/* Events that programs missed because they were already running on that CPU (an interrupt in the
 * middle of one), since they were loaded. */
uint64_t bpfload_misses(struct bpfload *b);
/* Time inside the programs since they were loaded, of the times in which the kernel accounts. */
uint64_t bpfload_run_ns(struct bpfload *b);
/* The kernel accounts as long as this descriptor is open; -1 without the right to (CAP_SYS_ADMIN)
 * or before Linux 5.8. */
int bpfload_account(void) MUSTCHECK;
int bpfload_possible_cpus(void);
/* Does the running kernel's struct have the member (by BTF)? */
bool bpfload_kernel_has(struct bpfload *b, const char *type, const char *member);
/* Frees the kernel's types, when all objects are open; they are loaded again on need. */
void bpfload_forget_kernel(void);
/* Is the tracepoint there? */
bool bpfload_has_tracepoint(struct bpfload *b, const char *name);
