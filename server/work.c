/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/work.h"

#include <uv.h>

#include "common/check.h"

struct work_pool {
	uv_loop_t *loop;
	size_t in_flight, max;
};

struct job {
	struct pending pending;
	uv_work_t req;
	struct work_pool *pool;
	bool cancelled;
	void (*run)(void *ctx);
	void (*done)(void *ctx);
	void (*drop)(void *ctx);
	void *ctx;
};

static void on_cancel(struct pending *p)
{
	struct job *job = CONTAINER_OF(p, struct job, pending);

	job->cancelled = true; /* it may be running: on_finished drops the result */
}

static void on_thread(uv_work_t *req)
{
	struct job *job = CONTAINER_OF(req, struct job, req);

	job->run(job->ctx);
}

static void on_finished(uv_work_t *req, int status)
{
	struct job *job = CONTAINER_OF(req, struct job, req);

	CHECK(status == 0); /* we never uv_cancel */
	pending_remove(&job->pending);
	job->pool->in_flight--;
	if (!job->cancelled)
		job->done(job->ctx);
	if (job->drop)
		job->drop(job->ctx);
	free(job);
}

int work_submit(struct work_pool *pool, struct pending_list *owner, void (*run)(void *ctx),
		void (*done)(void *ctx), void (*drop)(void *ctx), void *ctx, struct err *reterr)
{
	struct job *job;

	if (pool->in_flight >= pool->max)
		return err_set(reterr, ERR_BUSY, "%zu computations are queued: try again later",
			       pool->in_flight);
	job = xcalloc(1, sizeof(*job));
	job->pool = pool;
	job->run = run;
	job->done = done;
	job->drop = drop;
	job->ctx = ctx;
	pending_add(owner, &job->pending, on_cancel);
	pool->in_flight++;
	CHECK(uv_queue_work(pool->loop, &job->req, on_thread, on_finished) == 0);
	return 0;
}

struct work_pool *work_new(uv_loop_t *loop, size_t queue_max)
{
	struct work_pool *pool = xcalloc(1, sizeof(*pool));

	pool->loop = loop;
	pool->max = queue_max;
	return pool;
}

size_t work_in_flight(const struct work_pool *pool)
{
	return pool->in_flight;
}

void work_free(struct work_pool *pool)
{
	CHECK(!pool || pool->in_flight == 0);
	free(pool);
}
