/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The box's own settings: /etc/rigstat/tunables.d/NAME.conf
 *
 *   [rq_affinity]
 *   description = CPU that completes a request
 *   values = 0 1 2                   # words that may be set; quote those with blanks
 *   path = /sys/block/vda/queue/rq_affinity
 *
 *   [rx_usecs]
 *   values = 0 20 100
 *   apply = /usr/sbin/ethtool -C eth0 rx-usecs {value}
 *   verify = /usr/local/sbin/show-rx-usecs eth0     # its first line is the present value
 *   restore = /usr/sbin/ethtool -C eth0 rx-usecs {old}    # apply with {old} when left out
 *   timeout = 10s
 *
 *   [kernel]                         # what only a boot changes
 *   values = 6.12.9 6.13.1
 *   apply = /usr/local/sbin/boot-once {value}       # chooses the next boot, and only that
 *   verify = /bin/uname -r                          # which of the values has booted
 *   reboot = /bin/systemctl reboot
 *   boot_timeout = 15min                            # from reboot until the agent is back
 *
 * Either `path` or `apply` with `verify`. Steps are programs by absolute path, never a shell line.
 * `values` is needed when the asker is not root: a server chooses among them, no more. */
#pragma once

#include "common/err.h"

#define TUNABLES_DIR "/etc/rigstat/tunables.d"

struct tunable {
	char *name, *description;
	char **values; /* NULL: any value */
	size_t values_len;
	char *path;			   /* short form; NULL when there are steps */
	char **apply, **verify, **restore; /* argv with {value} or {old}; restore may be NULL */
	char **reboot;			   /* NULL: set while the box runs */
	int64_t timeout_ns, boot_timeout_ns;
	char *where; /* "file:line" of the section's head */
};

struct tunables {
	struct tunable *v;
	size_t len, cap;
};

/* Reads a directory of files that only root may write; every tunable is checked. */
int tunables_load(struct tunables *t, const char *dir, struct err *reterr) MUSTCHECK;
/* The same from one text, for tests. */
int tunables_parse(struct tunables *t, const char *name, const char *text, size_t len,
		   struct err *reterr) MUSTCHECK;
/* NULL when there is none of that name; valid until tunables_done. */
const struct tunable *tunables_find(const struct tunables *t, const char *name);
bool tunable_allows(const struct tunable *t, const char *value);
void tunables_done(struct tunables *t);
