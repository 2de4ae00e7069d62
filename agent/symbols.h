/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for sampled addresses: kernel symbols from /proc/kallsyms, user objects from mappings. */
#pragma once

#include "common/err.h"

struct kallsyms;
/* ERR_PERM when the kernel hides its addresses (kptr_restrict, CAP_SYSLOG). */
int kallsyms_load(struct kallsyms **ret, struct err *reterr) MUSTCHECK;
void kallsyms_free(struct kallsyms *k); /* NULL is fine */
/* The kernel's symbols, loaded at the first call and kept for the life of the process: several
 * probes share them. NULL with the reason when they are hidden. Loop thread only. */
const struct kallsyms *kallsyms_get(struct err *reterr);
/* Parses text of /proc/kallsyms; for kallsyms_load and tests. */
int kallsyms_parse(const char *text, struct kallsyms **ret, struct err *reterr) MUSTCHECK;
/* "do_idle" or "nf_tables: nft_do_chain"; NULL: below the first symbol. Lives as long as `k`. */
const char *kallsyms_find(const struct kallsyms *k, uint64_t address);

/* Executable mappings of processes. */
struct objmap;
struct objmap *objmap_new(void) MUSTCHECK;
void objmap_free(struct objmap *m);
void objmap_add(struct objmap *m, uint32_t pid, uint64_t start, uint64_t length, const char *file);
void objmap_exec(struct objmap *m, uint32_t pid); /* forget: a new program */
/* Base name of the object that holds the address; reads /proc/PID/maps at first sight of a
 * process. "[unknown]" when nothing does. Valid until the next call that changes the map. */
const char *objmap_find(struct objmap *m, uint32_t pid, uint64_t address);
