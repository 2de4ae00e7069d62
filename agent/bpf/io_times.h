/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times of one block request, keyed by its address, which the kernel uses again: included by
 * io.bpf.c and by its unit test, so only fixed-size types and no other header.
 *
 * An entry may outlive its request: a deletion can fail (the bucket's lock is taken), a completion
 * can be missed. So an entry says itself whether it is in use, and a second issue without a requeue
 * between is another request, not a very slow one. */
#ifndef RIGSTAT_IO_TIMES_H
#define RIGSTAT_IO_TIMES_H

struct io_times {
	unsigned long long insert_ns, issue_ns; /* 0: not yet; insert_ns 0: the entry is free */
};

static inline void io_times_insert(struct io_times *t, unsigned long long now_ns)
{
	t->insert_ns = now_ns;
	t->issue_ns = 0;
}

/* Without an insertion before: the request went to the driver directly. */
static inline void io_times_issue(struct io_times *t, unsigned long long now_ns)
{
	if (!t->insert_ns || t->issue_ns)
		t->insert_ns = now_ns;
	t->issue_ns = now_ns;
}

/* Back into the queue: the wait since its insertion goes on. */
static inline void io_times_requeue(struct io_times *t)
{
	t->issue_ns = 0;
}

static inline void io_times_free(struct io_times *t)
{
	t->insert_ns = t->issue_ns = 0;
}

/* Frees the entry. 0: it was not one that can be measured. */
static inline int io_times_complete(struct io_times *t, unsigned long long now_ns,
				    unsigned long long *ret_ns, unsigned long long *ret_total_ns)
{
	int measured = t->insert_ns && t->issue_ns;

	if (measured) {
		*ret_ns = now_ns - t->issue_ns;
		*ret_total_ns = now_ns - t->insert_ns;
	}
	io_times_free(t);
	return measured;
}

#endif
