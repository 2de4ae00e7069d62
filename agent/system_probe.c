/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/system_probe.h"

#include <errno.h>
#include <stdio.h>

#include "agent/system_source.h"

/* The kernel brings the totals of a pressure file up to date every two seconds when nobody waits
 * for a trigger (kernel/sched/psi.c, PSI_FREQ): a shorter window says nothing. */
#define PSI_WINDOW_MIN (8 * NS_PER_SEC)

static const struct pressure_file {
	const char *path, *some, *full; /* metrics; NULL: not defined for the whole system */
} pressure_files[] = {
	{"/proc/pressure/cpu", "psi_cpu_some", NULL},
	{"/proc/pressure/io", "psi_io_some", "psi_io_full"},
	{"/proc/pressure/memory", "psi_memory_some", "psi_memory_full"},
	{"/proc/pressure/irq", NULL, "psi_irq_full"},
};

struct pressure {
	char why_not[sizeof(((struct err *)0)->text)];
	struct psi last;
	bool known;
	uint64_t some, full; /* series; 0: not declared */
};

struct system {
	struct probe base;
	const char *root;
	struct pressure pressure[ARRAY_LEN(pressure_files)];
	struct system_source source[SYSTEM_FILES];
	struct strbuf text;
	struct pace pace;
	/* the run */
	int64_t measured_ns;
	bool over; /* the window has ended: nothing more is taken */
	uint64_t gaps;
};

/* ---- pressure ---- */

static int read_pressure(struct system *s, size_t i, struct psi *ret, struct err *reterr)
{
	int error = system_read_file(s->root, pressure_files[i].path, &s->text);

	if (error == ENOENT)
		return err_set(reterr, ERR_UNSUPPORTED, "this kernel has no %s (%s)",
			       pressure_files[i].path,
			       strstr(pressure_files[i].path, "irq")
				       ? "Linux 6.1, CONFIG_IRQ_TIME_ACCOUNTING"
				       : "CONFIG_PSI, boot with psi=1");
	if (error == EOPNOTSUPP)
		return err_set(reterr, ERR_UNSUPPORTED, "%s: not counted; boot with psi=1",
			       pressure_files[i].path);
	if (error)
		return err_errno(reterr, error, "%s", pressure_files[i].path);
	return proc_psi_parse(s->text.data ? s->text.data : "", ret, reterr);
}

static uint64_t declare_pressure(const char *metric, const char *why_not, struct series_list *l)
{
	const struct series_decl d = {.metric = metric,
				      .kind = *why_not ? "absent" : "counter",
				      .unit = *why_not ? "ns/s" : "ns",
				      .method = *why_not ? NULL : "psi/1",
				      .state = *why_not ? NULL : "exact",
				      .reason = *why_not ? why_not : NULL,
				      .resolution_ns = *why_not ? 0 : NS_PER_US};

	return metric ? series_declare(l, &d) : 0;
}

static void put_stall(uint64_t series, int64_t before_ns, int64_t now_ns, const struct interval *in,
		      struct record_writer *w, uint64_t *gaps)
{
	const struct counter_sample c = {now_ns - before_ns, (uint64_t)in->dt_ns,
					 (uint64_t)in->dt_ns};

	if (!series || !w || now_ns < 0)
		return;
	if (now_ns < before_ns)
		(*gaps)++; /* reset: there is no number for this interval */
	else
		record_item_counter(w, series, in->t0_ns, in->dt_ns, &c, 1);
}

static void collect_pressure(struct system *s, const struct interval *in, struct record_writer *w)
{
	for (size_t i = 0; i < ARRAY_LEN(pressure_files); i++) {
		struct pressure *p = &s->pressure[i];
		struct psi now;
		struct err err;

		if (p->why_not[0])
			continue;
		if (read_pressure(s, i, &now, &err)) {
			s->gaps += in->measured;
			p->known = false;
			continue;
		}
		if (p->known) {
			put_stall(p->some, p->last.some_ns, now.some_ns, in, w, &s->gaps);
			put_stall(p->full, p->last.full_ns, now.full_ns, in, w, &s->gaps);
		}
		p->last = now;
		p->known = true;
	}
}

/* ---- the probe ---- */

static void on_declare(struct probe *p, struct series_list *l)
{
	struct system *s = CONTAINER_OF(p, struct system, base);

	for (size_t i = 0; i < ARRAY_LEN(pressure_files); i++) {
		struct pressure *x = &s->pressure[i];

		x->some = declare_pressure(pressure_files[i].some, x->why_not, l);
		x->full = declare_pressure(pressure_files[i].full, x->why_not, l);
	}
	for (size_t i = 0; i < SYSTEM_FILES; i++)
		system_source_declare(&s->source[i], l);
}

static void read_sources(struct system *s, bool all)
{
	for (size_t i = 0; i < SYSTEM_FILES; i++)
		if (all || system_source_each_interval((enum system_file)i))
			system_source_read(&s->source[i], s->root, &s->text);
}

/* What was counted so far lies before the window. */
static void forget(struct system *s)
{
	for (size_t i = 0; i < SYSTEM_FILES; i++) {
		grid_restart(&s->source[i].grid);
		s->source[i].broken = false;
	}
}

static void on_begin(struct probe *p)
{
	struct system *s = CONTAINER_OF(p, struct system, base);
	const struct interval none = {0};

	collect_pressure(s, &none, NULL);
	read_sources(s, true);
	forget(s);
	pace_begin(&s->pace, s->pace.divisor);
	s->measured_ns = 0;
	s->over = false;
	s->gaps = 0;
}

static void on_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct system *s = CONTAINER_OF(p, struct system, base);
	struct interval all;

	if (!pace_due(&s->pace, in, &all))
		return;
	collect_pressure(s, &all, w);
	if (s->over)
		return;
	read_sources(s, in->edge);
	if (in->measured)
		s->measured_ns += all.dt_ns;
	else
		forget(s);
	s->over = in->measured && in->edge;
}

static void on_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct system *s = CONTAINER_OF(p, struct system, base);
	const struct system_out out = {w, last_series, (double)s->measured_ns / NS_PER_SEC,
				       s->root};

	if (!s->over || out.seconds <= 0)
		return;
	for (size_t i = 0; i < SYSTEM_FILES; i++)
		if (!s->source[i].why_not[0] && !s->source[i].broken)
			system_source_put(&s->source[i], &out);
}

static void on_summary(struct probe *p, struct run_summary *sum)
{
	struct system *s = CONTAINER_OF(p, struct system, base);

	if (s->gaps)
		marks_add(&sum->marks, "pressure-gap",
			  "the pressure of %llu intervals is left out: its counters went back or "
			  "could not be read",
			  (unsigned long long)s->gaps);
	if (s->measured_ns && s->measured_ns < PSI_WINDOW_MIN && !s->pressure[0].why_not[0])
		marks_add(&sum->marks, "pressure-coarse",
			  "the kernel brings pressure up to date every 2 s: in a window this "
			  "short it says little");
	for (size_t i = 0; i < SYSTEM_FILES; i++) {
		const struct system_source *x = &s->source[i];

		if (x->broken)
			marks_add(&sum->marks, "system-file-unreadable",
				  "%s could not be read in this run: its values are left out",
				  system_source_path(x->file));
		if (x->grid.left_out)
			marks_add(&sum->marks, "system-rows-left-out",
				  "%llu rows of %s are left out: there is room for %d",
				  (unsigned long long)x->grid.left_out, system_source_path(x->file),
				  GRID_ROWS_MAX);
	}
}

static void on_slow(struct probe *p, unsigned int divisor)
{
	CONTAINER_OF(p, struct system, base)->pace.divisor = divisor;
}

static void on_free(struct probe *p)
{
	struct system *s = CONTAINER_OF(p, struct system, base);

	for (size_t i = 0; i < SYSTEM_FILES; i++)
		system_source_done(&s->source[i]);
	strbuf_done(&s->text);
	free(s);
}

struct probe *system_probe(const char *root)
{
	struct system *s = xcalloc(1, sizeof(*s));
	struct psi psi;
	struct err err;

	s->root = root;
	s->base = (struct probe){.name = "system",
				 .budget = PROBE_COUNTING_BUDGET,
				 .expense = "reading the kernel's counters",
				 .declare = on_declare,
				 .begin = on_begin,
				 .collect = on_collect,
				 .finish = on_finish,
				 .summary = on_summary,
				 .slow = on_slow,
				 .free = on_free};
	for (size_t i = 0; i < ARRAY_LEN(pressure_files); i++)
		if (read_pressure(s, i, &psi, &err))
			(void)snprintf(s->pressure[i].why_not, sizeof(s->pressure[i].why_not), "%s",
				       err.text);
	for (size_t i = 0; i < SYSTEM_FILES; i++)
		system_source_open(&s->source[i], (enum system_file)i, root);
	return &s->base;
}
