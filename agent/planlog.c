/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/planlog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/facts.h"
#include "common/clock.h"
#include "common/parse.h"

#define FILE_BYTES_MAX (64u << 20)
#define TOTAL_MAX      100000u

enum { RUN_NEW, RUN_OPEN, RUN_OK, RUN_FAILED, RUN_ABORTED };

struct run {
	uint8_t state; /* after its last attempt */
	uint32_t attempts;
};

/* All of a file, in memory. */
struct history {
	struct planlog_plan plan;
	struct run *runs; /* plan.total + 1, by order */
	/* the present or last run */
	uint32_t order;
	int64_t began_ns;
	char cell[256];
	/* the last one that ended */
	uint32_t ended_order;
	char ended_cell[256], ended_state[16];
	int64_t p50_ns, p99_ns, max_ns;
	int64_t spent_ns; /* by all runs that ended */
	uint32_t ended;
};

struct planlog {
	struct history h;
	int fd;
	char *problem;
};

/* ---- reading ---- */

static void read_begin(struct history *h, const char *line)
{
	unsigned int order, attempt;
	int64_t ns;
	int at = 0;

	if (sscanf(line, "begin %u %u %" SCNd64 " %*32s %n", &order, &attempt, &ns, &at) < 3 ||
	    !at || order < 1 || order > h->plan.total)
		return;
	h->runs[order].state = RUN_OPEN;
	if (attempt > h->runs[order].attempts)
		h->runs[order].attempts = attempt;
	h->order = order;
	h->began_ns = ns;
	snprintf(h->cell, sizeof(h->cell), "%s", line + at);
}

static void read_end(struct history *h, const char *line)
{
	int64_t ns, p50, p99, max;
	unsigned int order, attempt;
	char state[16];

	if (sscanf(line, "end %u %u %" SCNd64 " %15s %" SCNd64 " %" SCNd64 " %" SCNd64, &order,
		   &attempt, &ns, state, &p50, &p99, &max) != 7 ||
	    order < 1 || order > h->plan.total)
		return;
	h->runs[order].state = !strcmp(state, "ok")	  ? RUN_OK
			       : !strcmp(state, "failed") ? RUN_FAILED
							  : RUN_ABORTED;
	if (order == h->order && ns > h->began_ns) {
		h->spent_ns += ns - h->began_ns;
		h->ended++;
	}
	h->ended_order = order;
	memcpy(h->ended_state, state, sizeof(state));
	memcpy(h->ended_cell, h->cell, sizeof(h->cell));
	h->p50_ns = p50;
	h->p99_ns = p99;
	h->max_ns = max;
	h->order = 0;
}

static void read_known(struct history *h, const char *ranges)
{
	bool *known = xcalloc(h->plan.total + 1, sizeof(*known));

	if (!parse_cpu_list(ranges, known, h->plan.total + 1, NULL))
		for (uint32_t i = 1; i <= h->plan.total; i++)
			if (known[i])
				h->runs[i].state = RUN_OK;
	free(known);
}

static int read_line(struct history *h, const char *line, struct err *reterr)
{
	struct planlog_plan plan;

	if (sscanf(line, "plan %32s %" SCNu32 " %" SCNu64, plan.uid, &plan.total, &plan.seed) ==
	    3) {
		if (h->runs || plan.total < 1 || plan.total > TOTAL_MAX)
			return err_set(reterr, ERR_INVALID, "it is damaged");
		h->plan = plan;
		h->runs = xcalloc(plan.total + 1, sizeof(*h->runs));
	} else if (!h->runs) {
		return err_set(reterr, ERR_INVALID, "it is no plan file");
	} else if (!strncmp(line, "begin ", 6)) {
		read_begin(h, line);
	} else if (!strncmp(line, "end ", 4)) {
		read_end(h, line);
	} else if (!strncmp(line, "known ", 6)) {
		read_known(h, line + 6);
	}
	return 0;
}

static int read_text(int fd, struct strbuf *out, struct err *reterr)
{
	char buf[16384];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (out->len + (size_t)n > FILE_BYTES_MAX)
			return err_set(reterr, ERR_LIMIT, "it is too large");
		strbuf_add(out, buf, (size_t)n);
	}
	return n < 0 ? err_errno(reterr, errno, "it cannot be read") : 0;
}

static int history_read(struct history *h, int fd, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	int rc = read_text(fd, &text, reterr);
	char *line = text.data, *end;

	while (!rc && line && (end = strchr(line, '\n'))) {
		*end = '\0';
		rc = read_line(h, line, reterr);
		line = end + 1;
	}
	return rc;
}

static void history_done(struct history *h)
{
	free(h->runs);
	h->runs = NULL;
}

/* ---- writing ---- */

static int put_line(int fd, const struct strbuf *line, struct err *reterr)
{
	ssize_t n = write(fd, line->data, line->len);

	if (n < 0)
		return err_errno(reterr, errno, "it cannot be written");
	return (size_t)n == line->len ? 0 : err_set(reterr, ERR_IO, "it cannot be written whole");
}

static void keep_line(struct planlog *p, const struct strbuf *line)
{
	struct err err;

	if (!put_line(p->fd, line, &err) || p->problem)
		return;
	p->problem = xstrdup(err.text);
}

/* A torn last line is ended, so that the next one stands alone. */
static void end_torn_line(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char last;

	if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n' &&
	    write(fd, "\n", 1) != 1)
		return; /* the next write tells */
}

static int open_file(const char *path, const struct planlog_plan *plan, struct planlog *p,
		     struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	int rc;

	p->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (p->fd < 0)
		return err_errno(reterr, errno, "it cannot be opened");
	rc = history_read(&p->h, p->fd, reterr);
	if (rc)
		return rc;
	end_torn_line(p->fd);
	if (p->h.runs && (strcmp(p->h.plan.uid, plan->uid) != 0 || p->h.plan.total != plan->total ||
			  p->h.plan.seed != plan->seed))
		return err_set(reterr, ERR_CONFLICT,
			       "it belongs to another plan (%s of %u runs, not %s of %u, or "
			       "another seed)",
			       p->h.plan.uid, p->h.plan.total, plan->uid, plan->total);
	if (p->h.runs)
		return 0;
	strbuf_printf(&line, "plan %s %u %" PRIu64 "\n", plan->uid, plan->total, plan->seed);
	rc = put_line(p->fd, &line, reterr);
	line.data[line.len - 1] = '\0';
	return rc ? rc : read_line(&p->h, line.data, reterr);
}

int planlog_open(const char *path, const struct planlog_plan *plan, struct planlog **ret,
		 struct err *reterr)
{
	struct planlog *p = xcalloc(1, sizeof(*p));

	if (open_file(path, plan, p, reterr)) {
		planlog_close(p);
		return err_prefix(reterr, "plan file %s: ", path);
	}
	*ret = p;
	return 0;
}

void planlog_close(struct planlog *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	history_done(&p->h);
	free(p->problem);
	free(p);
}

void planlog_closep(struct planlog **p)
{
	planlog_close(TAKE(*p));
}

bool planlog_is_done(const struct planlog *p, uint32_t order)
{
	return p && order <= p->h.plan.total &&
	       (p->h.runs[order].state == RUN_OK || p->h.runs[order].state == RUN_FAILED);
}

uint32_t planlog_attempts(const struct planlog *p, uint32_t order)
{
	return p && order <= p->h.plan.total ? p->h.runs[order].attempts : 0;
}

void planlog_count(const struct planlog *p, uint32_t *ret_ok, uint32_t *ret_failed)
{
	*ret_ok = *ret_failed = 0;
	for (uint32_t i = 1; p && i <= p->h.plan.total; i++) {
		*ret_ok += p->h.runs[i].state == RUN_OK;
		*ret_failed += p->h.runs[i].state == RUN_FAILED;
	}
}

void planlog_begin(struct planlog *p, uint32_t order, uint32_t attempt, const char *run_uid,
		   const char *cell)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};

	if (!p)
		return;
	strbuf_printf(&line, "begin %u %u %" PRId64 " %s %.250s", order, attempt,
		      clock_realtime_ns(), run_uid, cell);
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.data[i] < ' ')
			line.data[i] = '?';
	strbuf_putc(&line, '\n');
	keep_line(p, &line);
}

void planlog_end(struct planlog *p, uint32_t order, uint32_t attempt,
		 const struct planlog_outcome *o)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};

	if (!p)
		return;
	strbuf_printf(&line, "end %u %u %" PRId64 " %s %" PRId64 " %" PRId64 " %" PRId64 "\n",
		      order, attempt, clock_realtime_ns(), o->state, o->p50_ns, o->p99_ns,
		      o->max_ns);
	keep_line(p, &line);
	if (fdatasync(p->fd) < 0 && !p->problem)
		p->problem = xasprintf("it cannot be synced: %s", strerror(errno));
}

const char *planlog_problem(const struct planlog *p)
{
	return p ? p->problem : NULL;
}

/* ---- the daemon's side ---- */

int planlog_note_known(const char *path, const struct planlog_plan *plan, const char *ranges,
		       struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf line = {0};
	struct planlog *p = NULL;
	int rc;

	for (const char *s = ranges; *s; s++)
		if (!strchr("0123456789,-", *s))
			return err_set(reterr, ERR_REMOTE, "the server's list of runs is no list");
	rc = planlog_open(path, plan, &p, reterr);
	if (rc)
		return rc;
	strbuf_printf(&line, "known %s\n", ranges);
	if (*ranges && put_line(p->fd, &line, reterr))
		rc = err_prefix(reterr, "plan file %s: ", path);
	planlog_close(p);
	return rc;
}

static bool history_open(struct history *h, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct err err;
	bool good;

	if (fd < 0)
		return false;
	good = !history_read(h, fd, &err) && h->runs;
	close(fd);
	if (!good)
		history_done(h);
	return good;
}

bool planlog_peek(const char *path, struct planlog_plan *ret)
{
	struct history h = {0};

	if (!history_open(&h, path))
		return false;
	*ret = h.plan;
	history_done(&h);
	return true;
}

/* What the rest will take if it goes on like this; -1 unknown. */
static int64_t left_ns(const struct history *h, uint32_t done, int64_t now_ns)
{
	int64_t each = h->ended ? h->spent_ns / h->ended : -1, left;

	if (each < 0)
		return -1;
	left = each * (int64_t)(h->plan.total - done);
	if (h->order && now_ns > h->began_ns)
		left -= now_ns - h->began_ns < each ? now_ns - h->began_ns : each;
	return left;
}

static void put_cell(const char *name, const char *cell, struct strbuf *out)
{
	strbuf_printf(out, ",\"%s\":", name);
	json_put_string(out, text_is_clean(cell, strlen(cell)) ? cell : "?");
}

static void put_last(const struct history *h, struct strbuf *out)
{
	if (!h->ended_order)
		return;
	strbuf_printf(out, ",\"last_order\":%u,\"last_state\":\"%s\"", h->ended_order,
		      h->ended_state);
	put_cell("last_cell", h->ended_cell, out);
	if (h->p50_ns >= 0)
		strbuf_printf(out,
			      ",\"last_p50_ns\":%" PRId64 ",\"last_p99_ns\":%" PRId64
			      ",\"last_max_ns\":%" PRId64,
			      h->p50_ns, h->p99_ns, h->max_ns);
}

bool planlog_put_progress(const char *path, int64_t now_ns, struct strbuf *out)
{
	struct history h = {0};
	uint32_t counts[RUN_ABORTED + 1] = {0}, done;
	int64_t left;

	if (!history_open(&h, path))
		return false;
	for (uint32_t i = 1; i <= h.plan.total; i++)
		counts[h.runs[i].state]++;
	done = counts[RUN_OK] + counts[RUN_FAILED];
	left = left_ns(&h, done, now_ns);
	strbuf_printf(out, "{\"total\":%u,\"ok\":%u,\"failed\":%u", h.plan.total, counts[RUN_OK],
		      counts[RUN_FAILED]);
	if (h.order) {
		strbuf_printf(out, ",\"order\":%u,\"began_ns\":%" PRId64, h.order, h.began_ns);
		put_cell("cell", h.cell, out);
	}
	if (left >= 0)
		strbuf_printf(out, ",\"left_ns\":%" PRId64, left);
	put_last(&h, out);
	strbuf_putc(out, '}');
	history_done(&h);
	return true;
}

bool planlog_in_run(const char *path)
{
	struct history h = {0};
	bool in_run;

	if (!history_open(&h, path))
		return false;
	in_run = h.order != 0;
	history_done(&h);
	return in_run;
}
