/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/system_source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/model/metric.h"
#include "common/parse.h"

#define FILE_BYTES_MAX (64u << 20)
#define READ_STEP      65536
#define TRIES	       3 /* of a file that changed while it was read */

#define TOP_NAMES 16
#define TOP_PAIRS 24
#define TOP_DISKS 8
#define TOP_CPUS  16
#define TOP_LOCKS 12

static const struct {
	const char *path;
	int (*parse)(const char *text, struct grid *g, struct err *reterr);
	bool rows_from_zero, each_interval;
	const char *option;	/* of the kernel's configuration */
	const char *metrics[7]; /* that are absent without it */
} files[SYSTEM_FILES] = {
	[SYSTEM_INTERRUPTS] = {"/proc/interrupts",
			       proc_interrupts_parse,
			       true,
			       true,
			       "CONFIG_PROC_FS",
			       {"interrupts", "interrupts_by_cpu"}},
	[SYSTEM_SOFTIRQS] = {"/proc/softirqs",
			     proc_softirqs_parse,
			     true,
			     true,
			     "CONFIG_PROC_FS",
			     {"softirqs", "softirqs_by_cpu"}},
	[SYSTEM_DISKS] = {"/proc/diskstats",
			  proc_diskstats_parse,
			  true,
			  true,
			  "CONFIG_BLOCK",
			  {"disk_reads", "disk_writes", "disk_busy", "disk_queue"}},
	[SYSTEM_SCHED] = {"/proc/schedstat",
			  proc_schedstat_parse,
			  false,
			  true,
			  "CONFIG_SCHEDSTATS",
			  {"sched_run_delay", "sched_timeslices"}},
	[SYSTEM_LOCKS] = {"/proc/lock_stat",
			  proc_lockstat_parse,
			  true,
			  false,
			  "CONFIG_LOCK_STAT",
			  {"lockstat_wait", "lockstat_hold", "lockstat_contentions",
			   "lockstat_acquisitions", "lockstat_contention_bounces",
			   "lockstat_acquisition_bounces"}},
};

const char *system_source_path(enum system_file f)
{
	return files[f].path;
}

bool system_source_each_interval(enum system_file f)
{
	return files[f].each_interval;
}

/* ---- reading ---- */

int system_read_file(const char *root, const char *path, struct strbuf *ret)
{
	char full[PATH_MAX];
	char step[READ_STEP];
	ssize_t n;
	int fd, error = 0;

	strbuf_clear(ret);
	(void)snprintf(full, sizeof(full), "%s%s", root, path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	while ((n = read(fd, step, sizeof(step))) > 0 && ret->len < FILE_BYTES_MAX)
		strbuf_add(ret, step, (size_t)n);
	if (n < 0)
		error = errno;
	else if (n > 0)
		error = EFBIG;
	close(fd);
	return error;
}

static int why_unreadable(enum system_file f, int error, struct err *reterr)
{
	if (error == ENOENT)
		return err_set(reterr, ERR_IO, "this kernel has no %s (%s)", files[f].path,
			       files[f].option);
	return err_set(reterr, ERR_IO, "%s: %s", files[f].path, strerror(error));
}

static int try_reading(struct system_source *s, const char *root, struct strbuf *text,
		       struct err *reterr)
{
	int error = system_read_file(root, files[s->file].path, text);

	if (error)
		return why_unreadable(s->file, error, reterr);
	grid_begin(&s->grid);
	return files[s->file].parse(text->data ? text->data : "", &s->grid, reterr);
}

static int take_reading(struct system_source *s, const char *root, struct strbuf *text,
			struct err *reterr)
{
	int rc = ERR_BUSY;

	for (int i = 0; rc == ERR_BUSY && i < TRIES; i++)
		rc = try_reading(s, root, text, reterr);
	return rc;
}

void system_source_read(struct system_source *s, const char *root, struct strbuf *text)
{
	struct err err;

	if (!s->why_not[0] && take_reading(s, root, text, &err))
		s->broken = true;
}

/* The kernel may have lock_stat and not count. */
static bool locks_are_counted(const char *root)
{
	char line[SYSREAD_MAX];

	return !sysread_line(line, sizeof(line), root, "/proc/sys/kernel/lock_stat") ||
	       strcmp(line, "0") != 0;
}

void system_source_open(struct system_source *s, enum system_file f, const char *root)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	struct err err;

	*s = (struct system_source){.file = f, .grid.rows_from_zero = files[f].rows_from_zero};
	if (take_reading(s, root, &text, &err))
		(void)snprintf(s->why_not, sizeof(s->why_not), "%s%s%s",
			       err.code == ERR_IO ? "" : files[f].path,
			       err.code == ERR_IO ? "" : ": ", err.text);
	else if (f == SYSTEM_LOCKS && !locks_are_counted(root))
		(void)snprintf(s->why_not, sizeof(s->why_not),
			       "the kernel does not count locks: sysctl kernel.lock_stat=1 (it "
			       "slows every lock)");
}

void system_source_done(struct system_source *s)
{
	grid_done(&s->grid);
}

void system_source_declare(const struct system_source *s, struct series_list *l)
{
	if (!s->why_not[0])
		return; /* values are declared when they are known */
	for (size_t i = 0; i < ARRAY_LEN(files[0].metrics) && files[s->file].metrics[i]; i++) {
		const struct series_decl d = {.metric = files[s->file].metrics[i],
					      .kind = "absent",
					      .unit = metric_find(files[s->file].metrics[i])->unit,
					      .reason = s->why_not};

		(void)series_declare(l, &d);
	}
}

/* ---- values ---- */

struct quantity {
	const char *metric, *unit;
	double scale; /* from what was counted in a second */
	uint32_t column;
};

static void put_value(const struct system_out *out, const struct quantity *q,
		      const struct series_decl *labels, const struct grid_sum *sum)
{
	struct series_decl d = *labels;
	uint64_t number;

	d.metric = q->metric;
	d.unit = q->unit;
	d.kind = sum->gap ? "absent" : "value";
	d.method = sum->gap ? NULL : "proc/1";
	d.state = sum->gap ? NULL : "exact";
	d.reason = sum->gap ? "a counter went back: it wrapped or was reset" : NULL;
	number = series_declare_more(out->w, out->last_series, &d);
	if (!sum->gap)
		record_item_value(out->w, number, (double)sum->sum * q->scale / out->seconds);
}

/* Values by one or two labels, of which the largest are named. */
struct entry {
	const char *label;
	uint32_t cpu; /* GRID_NO_COLUMN: not by CPU */
	struct grid_sum sum;
};

struct entries {
	struct entry *v;
	size_t len, cap;
};

static void entries_done(struct entries *e)
{
	free(e->v);
}

static void add_entry(struct entries *e, const char *label, uint32_t cpu,
		      const struct grid_sum *sum)
{
	GROW(e->v, e->len, e->cap);
	e->v[e->len++] = (struct entry){label, cpu, *sum};
}

/* Gaps first: they are of counters that are large. */
static int by_size(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->sum.gap != y->sum.gap)
		return x->sum.gap ? -1 : 1;
	return (x->sum.sum < y->sum.sum) - (x->sum.sum > y->sum.sum);
}

static int by_label(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int d = strcmp(x->label, y->label);

	return d ? d : (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

static void sum_up(struct grid_sum *to, const struct grid_sum *from)
{
	to->sum += from->sum;
	to->gap |= from->gap;
	to->any |= from->any;
}

/* Rows of one name (a device's interrupts of two numbers) are one entry. */
static void join_names(struct entries *e)
{
	size_t to = 0;

	if (!e->len)
		return;
	qsort(e->v, e->len, sizeof(*e->v), by_label);
	for (size_t i = 1; i < e->len; i++) {
		if (!by_label(&e->v[to], &e->v[i]))
			sum_up(&e->v[to].sum, &e->v[i].sum);
		else
			e->v[++to] = e->v[i];
	}
	e->len = to + 1;
}

/* A label for people and JSON: no control characters, no broken UTF-8. */
static const char *clean(const char *label, char buf[100])
{
	(void)snprintf(buf, 100, "%.96s", label);
	if (!text_is_clean(buf, strlen(buf)) || !*buf)
		for (char *p = buf; *p; p++)
			*p = *p < ' ' || *p > '~' ? '?' : *p;
	return *buf ? buf : "?";
}

static void put_entry(const struct system_out *out, const struct quantity *q, const char *key,
		      const char *label, const char *cpu, const struct grid_sum *sum)
{
	char name[100];
	struct series_decl d = {0};
	size_t n = 0;

	if (key) {
		d.label[n][0] = key;
		d.label[n++][1] = clean(label, name);
	}
	if (cpu) {
		d.label[n][0] = "cpu";
		d.label[n][1] = cpu;
	}
	put_value(out, q, &d, sum);
}

/* The `top` largest that are not 0, the rest, and all without a label. */
static void put_top(const struct system_out *out, const struct quantity *q, const char *key,
		    struct entries *e, size_t top)
{
	struct grid_sum all = {0}, rest = {0};
	bool pairs = e->len && e->v[0].cpu != GRID_NO_COLUMN;

	join_names(e);
	if (e->len)
		qsort(e->v, e->len, sizeof(*e->v), by_size);
	for (size_t i = 0; i < e->len; i++) {
		const struct entry *x = &e->v[i];
		char cpu[16];

		sum_up(&all, &x->sum);
		(void)snprintf(cpu, sizeof(cpu), "%u", x->cpu);
		if (i >= top)
			sum_up(&rest, &x->sum);
		else if (x->sum.sum || x->sum.gap)
			put_entry(out, q, key, x->label, pairs ? cpu : NULL, &x->sum);
	}
	if (rest.sum || rest.gap)
		put_entry(out, q, key, "[rest]", pairs ? "[rest]" : NULL, &rest);
	put_value(out, q, &(struct series_decl){0}, &all);
}

/* ---- files ---- */

/* By name over all CPUs, and by name and CPU. */
static void put_interrupts(const struct system_source *s, const struct system_out *out,
			   const char *name, const char *by_cpu, const char *key)
{
	const struct quantity q = {.metric = name, .unit = "1/s", .scale = 1};
	const struct quantity q_cpu = {.metric = by_cpu, .unit = "1/s", .scale = 1};
	struct entries names CLEANUP(entries_done) = {0}, pairs CLEANUP(entries_done) = {0};

	for (size_t i = 0; i < s->grid.len; i++) {
		const struct grid_row *r = &s->grid.row[i];
		struct grid_sum sum = grid_row_sum(r);

		add_entry(&names, r->label, GRID_NO_COLUMN, &sum);
		for (size_t k = 0; k < r->len; k++) {
			struct grid_sum cell = {0};

			grid_sum_add(&cell, &r->cell[k]);
			if (r->cell[k].column != GRID_NO_COLUMN)
				add_entry(&pairs, r->label, r->cell[k].column, &cell);
		}
	}
	put_top(out, &q, key, &names, TOP_NAMES);
	put_top(out, &q_cpu, key, &pairs, TOP_PAIRS);
}

/* Partitions and what holds no data are no disks. */
static bool is_disk(const char *root, const char *name)
{
	char path[PATH_MAX], sysfs[128];

	(void)snprintf(sysfs, sizeof(sysfs), "%.120s", name);
	for (char *p = sysfs; *p; p++)
		*p = *p == '/' ? '!' : *p;
	(void)snprintf(path, sizeof(path), "%s/sys/block/%s", root, sysfs);
	return access(path, F_OK) == 0;
}

static const struct quantity disk_quantities[] = {
	{"disk_reads", "1/s", 1, DISK_READS},
	{"disk_writes", "1/s", 1, DISK_WRITES},
	{"disk_read_bytes", "bytes/s", 512, DISK_READ_SECTORS},
	{"disk_written_bytes", "bytes/s", 512, DISK_WRITTEN_SECTORS},
	{"disk_read_time", "ns/s", 1e6, DISK_READ_MS},
	{"disk_write_time", "ns/s", 1e6, DISK_WRITE_MS},
	{"disk_busy", "%", 0.1, DISK_BUSY_MS},
	{"disk_queue", "1", 1e-3, DISK_QUEUE_MS},
	{"disk_discards", "1/s", 1, DISK_DISCARDS},
	{"disk_flushes", "1/s", 1, DISK_FLUSHES},
};

static void put_disks(const struct system_source *s, const struct system_out *out)
{
	struct entries disks CLEANUP(entries_done) = {0};

	for (size_t i = 0; i < s->grid.len; i++) {
		const struct grid_row *r = &s->grid.row[i];
		struct grid_sum io = grid_cell_sum(r, DISK_READS);
		struct grid_sum writes = grid_cell_sum(r, DISK_WRITES);

		sum_up(&io, &writes);
		if ((io.sum || io.gap) && is_disk(out->root, r->key))
			add_entry(&disks, r->label, (uint32_t)i, &io);
	}
	if (disks.len)
		qsort(disks.v, disks.len, sizeof(*disks.v), by_size);
	for (size_t i = 0; i < disks.len && i < TOP_DISKS; i++)
		for (size_t k = 0; k < ARRAY_LEN(disk_quantities); k++) {
			const struct quantity *q = &disk_quantities[k];
			struct grid_sum sum =
				grid_cell_sum(&s->grid.row[disks.v[i].cpu], q->column);

			if (sum.any)
				put_entry(out, q, "device", disks.v[i].label, NULL, &sum);
		}
}

static void put_rows(const struct system_source *s, const struct system_out *out,
		     const struct quantity *q, const char *key, size_t top)
{
	struct entries e CLEANUP(entries_done) = {0};

	for (size_t i = 0; i < s->grid.len; i++) {
		const struct grid_row *r = &s->grid.row[i];
		struct grid_sum sum = grid_cell_sum(r, q->column);

		if (sum.any)
			add_entry(&e, r->label, GRID_NO_COLUMN, &sum);
	}
	if (e.len)
		put_top(out, q, key, &e, top);
}

static const struct quantity sched_quantities[] = {
	{"sched_run_delay", "ns/s", 1, SCHED_DELAY_NS},
	{"sched_timeslices", "1/s", 1, SCHED_TIMESLICES},
};

static const struct quantity lock_quantities[] = {
	{"lockstat_wait", "ns/s", 1, LOCKSTAT_WAIT_NS},
	{"lockstat_hold", "ns/s", 1, LOCKSTAT_HOLD_NS},
	{"lockstat_contentions", "1/s", 1, LOCKSTAT_CONTENTIONS},
	{"lockstat_acquisitions", "1/s", 1, LOCKSTAT_ACQUISITIONS},
	{"lockstat_contention_bounces", "1/s", 1, LOCKSTAT_CON_BOUNCES},
	{"lockstat_acquisition_bounces", "1/s", 1, LOCKSTAT_ACQ_BOUNCES},
};

void system_source_put(const struct system_source *s, const struct system_out *out)
{
	switch (s->file) {
	case SYSTEM_INTERRUPTS:
		put_interrupts(s, out, "interrupts", "interrupts_by_cpu", "irq");
		break;
	case SYSTEM_SOFTIRQS:
		put_interrupts(s, out, "softirqs", "softirqs_by_cpu", "softirq");
		break;
	case SYSTEM_DISKS:
		put_disks(s, out);
		break;
	case SYSTEM_SCHED:
		for (size_t i = 0; i < ARRAY_LEN(sched_quantities); i++)
			put_rows(s, out, &sched_quantities[i], "cpu", TOP_CPUS);
		break;
	case SYSTEM_LOCKS:
		for (size_t i = 0; i < ARRAY_LEN(lock_quantities); i++)
			put_rows(s, out, &lock_quantities[i], "lock", TOP_LOCKS);
		break;
	case SYSTEM_FILES:
		break;
	}
}
