/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by io.bpf.c and io_probe.c: histograms in the recorder's fixed layout, filled in the
 * kernel, two sets of them: the programs write to the active one, the agent empties the other. */
#ifndef RIGSTAT_IO_H
#define RIGSTAT_IO_H

#define IO_SLOTS    32	 /* device x operation */
#define IO_HIST_LEN 7296 /* HIST_SLOTS of common/hist.h */
#define IO_SETS	    2
#define IO_QUEUE    1 /* second half: from insertion; first half: from issue */
#define IO_KINDS    2

struct io_hist {
	unsigned long long n[IO_HIST_LEN];
	unsigned long long count;	  /* since the start: never emptied */
	unsigned long long sum, max, min; /* min is stored as ~min, so that 0 is none */
	unsigned long long taken;	  /* by the agent, of count */
};

/* (device number << 8) | operation, the key of the map from requests to slots. */
static inline unsigned long long io_key(unsigned int major, unsigned int minor, unsigned int op)
{
	return ((unsigned long long)(major << 20 | minor) << 8) | op;
}

#endif
