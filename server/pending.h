/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work that somebody waits for and may stop waiting for: a database query, a job in the thread
 * pool. The one who waits owns a list; cancelling drops the result in one place, so a callback
 * never sees a waiter that is gone. Loop thread only. */
#pragma once

#include "common/base.h"

struct pending {
	struct pending *next, **link; /* link: what points at us; NULL when in no list */
	void (*on_cancel)(struct pending *p);
};

struct pending_list {
	struct pending *head;
};

void pending_add(struct pending_list *list, struct pending *p,
		 void (*on_cancel)(struct pending *p));
void pending_remove(struct pending *p); /* no-op when it is in no list */
/* Removes each and calls its on_cancel; the callbacks of the waiters are not called. */
void pending_cancel_all(struct pending_list *list);
