/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heavy arithmetic off the loop: pure functions in libuv's thread pool. `run` touches nothing
 * but its own ctx; it does not log, allocate from shared state or call PostgreSQL. */
#pragma once

#include "common/err.h"
#include "server/pending.h"

struct work_pool;
struct uv_loop_s;

/* Calls run(ctx) in a thread, then done(ctx) on the loop unless the owner cancelled, and in any
 * case drop(ctx) (may be NULL) last. ERR_BUSY when too much is queued: nothing is called and the
 * caller still owns ctx. */
int work_submit(struct work_pool *pool, struct pending_list *owner, void (*run)(void *ctx),
		void (*done)(void *ctx), void (*drop)(void *ctx), void *ctx,
		struct err *reterr) MUSTCHECK;

struct work_pool *work_new(struct uv_loop_s *loop, size_t queue_max);
size_t work_in_flight(const struct work_pool *pool);
/* Nothing may be in flight. */
void work_free(struct work_pool *pool);
