/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/io_probe.h"
#include "agent/bpf/io.h"
#include "agent/bpfcost.h"
#include "agent/bpfhist.h"
#include "agent/bpfload.h"

#include <dirent.h>
#include <stdio.h>

_Static_assert(sizeof(struct io_hist) == sizeof(struct bpf_hist), "two names of one layout");

#define OPS 2

static const char *const op_names[OPS] = {"read", "write"}; /* REQ_OP_READ, REQ_OP_WRITE */
static const char *const metrics[IO_KINDS] = {"io_latency", "io_total_latency"};

struct device {
	char name[256];
	unsigned int major, minor;
	char why_not[200]; /* "": it is measured */
};

struct io {
	struct probe base;
	struct bpfload *bpf; /* NULL: see why_not */
	struct err why_not;
	struct bpf_hist *hists;
	uint64_t *control;
	struct device devices[IO_SLOTS / OPS];
	size_t n;
	size_t left_out; /* devices for which there was no slot */
	uint64_t series[IO_KINDS][IO_SLOTS];
	uint64_t lost_before;
	uint64_t late;	   /* counted in the kernel after the last look at the window */
	bool window_over;  /* and what is late can still be told from what came behind it */
	uint64_t requests; /* since the start */
	struct bpfcost cost;
	struct hist_rec scratch;
};

static bool read_line(const char *path, char *buf, size_t cap)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(buf, (int)cap, f);

	if (f)
		fclose(f);
	return ok;
}

/* A device that has a size and a number. */
static bool device_of(const char *name, struct device *d)
{
	char path[300], text[64];

	(void)snprintf(path, sizeof(path), "/sys/block/%s/size", name);
	if (!read_line(path, text, sizeof(text)) || !strtoull(text, NULL, 10))
		return false;
	(void)snprintf(path, sizeof(path), "/sys/block/%s/dev", name);
	(void)snprintf(d->name, sizeof(d->name), "%s", name);
	return read_line(path, text, sizeof(text)) &&
	       sscanf(text, "%u:%u", &d->major, &d->minor) == 2;
}

/* Tells the programs which slot a device's operations have. */
static void set_slots(struct io *io, size_t index)
{
	struct device *d = &io->devices[index];
	struct err err;

	for (uint32_t op = 0; op < OPS; op++) {
		uint64_t key = io_key(d->major, d->minor, op);
		uint32_t slot = (uint32_t)index * OPS + op;

		if (bpfload_put(io->bpf, "slots", &key, &slot, &err))
			(void)snprintf(d->why_not, sizeof(d->why_not), "%.190s", err.text);
	}
}

static void add_device(struct io *io, const struct device *d)
{
	for (size_t i = 0; i < io->n; i++)
		if (io->devices[i].major == d->major && io->devices[i].minor == d->minor)
			return;
	if (io->n == ARRAY_LEN(io->devices)) {
		io->left_out++;
		return;
	}
	io->devices[io->n++] = *d;
	set_slots(io, io->n - 1);
}

/* A device keeps its slot as long as the probe lives. */
static void find_devices(struct io *io)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *e;

	io->left_out = 0;
	while (dir && (e = readdir(dir))) {
		struct device d = {0};

		if (e->d_name[0] != '.' && device_of(e->d_name, &d))
			add_device(io, &d);
	}
	if (dir)
		closedir(dir);
}

static void declare_slot(struct io *io, size_t kind, size_t slot, struct series_list *l)
{
	const struct device *dev = &io->devices[slot / OPS];
	bool absent = dev->why_not[0];
	const struct series_decl d = {
		.metric = metrics[kind],
		.kind = absent ? "absent" : "hist",
		.unit = "ns",
		.label = {{"device", dev->name}, {"operation", op_names[slot % OPS]}},
		.method = absent ? NULL : "rigstat-io/2",
		.state = absent ? NULL : "exact",
		.reason = absent ? dev->why_not : NULL,
		.resolution_ns = absent ? 0 : 1};

	io->series[kind][slot] = series_declare(l, &d);
}

static void io_declare(struct probe *p, struct series_list *l)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	if (!io->bpf) {
		const struct series_decl d = {.metric = metrics[0],
					      .kind = "absent",
					      .unit = "ns",
					      .reason = io->why_not.text};

		(void)series_declare(l, &d);
		return;
	}
	find_devices(io);
	for (size_t kind = 0; kind < IO_KINDS; kind++)
		for (size_t slot = 0; slot < io->n * OPS; slot++)
			declare_slot(io, kind, slot, l);
}

static struct bpf_hist *hist_of(struct io *io, unsigned int set, size_t kind, size_t slot)
{
	return &io->hists[(set * IO_KINDS + kind) * IO_SLOTS + slot];
}

static bool any_open(struct io *io, unsigned int set)
{
	for (size_t kind = 0; kind < IO_KINDS; kind++)
		for (size_t slot = 0; slot < io->n * OPS; slot++)
			if (bpfhist_open(hist_of(io, set, kind, slot)))
				return true;
	return false;
}

/* Empties a set; w NULL: only forgets. Returns the requests in it. */
static uint64_t take_set(struct io *io, unsigned int set, const struct interval *in,
			 struct record_writer *w)
{
	uint64_t requests = 0;

	for (size_t kind = 0; kind < IO_KINDS; kind++) {
		for (size_t slot = 0; slot < io->n * OPS; slot++) {
			struct bpf_hist *from = hist_of(io, set, kind, slot);
			uint64_t n;

			if (!bpfhist_open(from))
				continue;
			hist_rec_reset(&io->scratch);
			n = bpfhist_take(from, &io->scratch);
			if (kind != IO_QUEUE)
				requests += n;
			if (w && n)
				record_item_hist(w, io->series[kind][slot], in->t0_ns, in->dt_ns,
						 &io->scratch);
		}
	}
	io->requests += requests;
	return requests;
}

/* A program whose CPU the host took away may add to a set long after the turn. Between intervals
 * that comes with the next turn; at the window's end it is waited for, and what comes later still
 * is found here and counted as lost. */
static void take_late(struct io *io)
{
	unsigned int idle = bpfhist_idle(io->control);

	if (io->window_over && any_open(io, idle))
		io->late += take_set(io, idle, NULL, NULL);
	io->window_over = false;
}

static void take(struct io *io, const struct interval *in, struct record_writer *w)
{
	unsigned int set;

	take_late(io);
	set = bpfhist_flip(io->control);
	(void)take_set(io, set, in, w);
	if (!in->edge)
		return;
	bpfhist_settle();
	if (any_open(io, set))
		(void)take_set(io, set, in, w);
	io->window_over = in->measured;
}

/* Requests that found the table busy or full, and events that met a program already running. */
static uint64_t lost_so_far(const struct io *io)
{
	return io->control[1] + bpfload_misses(io->bpf);
}

static void io_begin(struct probe *p)
{
	struct io *io = CONTAINER_OF(p, struct io, base);
	const struct interval all = {.edge = true};

	if (!io->bpf)
		return;
	take(io, &all, NULL);
	io->lost_before = lost_so_far(io);
	io->late = 0;
	bpfcost_begin(&io->cost, io->bpf, io->requests);
}

static void io_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	if (!io->bpf)
		return;
	take(io, in, w);
	bpfcost_tick(&io->cost, io->bpf, io->requests, in->edge);
}

static void io_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	(void)w;
	(void)last_series;
	if (io->bpf)
		take_late(io);
}

static void io_summary(struct probe *p, struct run_summary *s)
{
	struct io *io = CONTAINER_OF(p, struct io, base);
	uint64_t lost;

	if (!io->bpf) {
		marks_add(&s->marks, "no-io-latency", "I/O latency is not available: %s",
			  io->why_not.text);
		return;
	}
	if (io->left_out)
		marks_add(&s->marks, "io-devices-left-out",
			  "the latency of %zu block devices is not measured: there is room for %zu",
			  io->left_out, ARRAY_LEN(io->devices));
	lost = lost_so_far(io) - io->lost_before + io->late;
	if (!lost)
		return;
	s->lost += lost;
	marks_add(&s->marks, "io-requests-lost",
		  "requests that were not measured because the recorder was busy: about %llu",
		  (unsigned long long)lost);
}

static void io_cost(struct probe *p, struct probe_cost *ret)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	ret->kernel_ns = io->bpf ? bpfcost_ns(&io->cost, io->requests) : 0;
}

static void io_free(struct probe *p)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	bpfcost_done(&io->cost);
	bpfload_close(io->bpf);
	free(io);
}

static int io_start(struct io *io, struct err *reterr)
{
	void *hists, *control;
	int rc = bpfload_start(io->bpf, reterr);

	rc = rc ? rc
		: bpfload_map(io->bpf, "hists",
			      sizeof(struct io_hist) * IO_SETS * IO_KINDS * IO_SLOTS, true, &hists,
			      reterr);
	rc = rc ? rc
		: bpfload_map(io->bpf, "control", 2 * sizeof(uint64_t), true, &control, reterr);
	if (rc)
		return rc;
	io->hists = hists;
	io->control = control;
	return 0;
}

struct probe *io_probe(void)
{
	struct io *io = xcalloc(1, sizeof(*io));

	io->base = (struct probe){.name = "io",
				  .declare = io_declare,
				  .begin = io_begin,
				  .collect = io_collect,
				  .finish = io_finish,
				  .cost = io_cost,
				  .summary = io_summary,
				  .free = io_free};
	if (!bpfload_open(bpf_io, bpf_io_len, &io->bpf, &io->why_not) &&
	    io_start(io, &io->why_not)) {
		bpfload_close(io->bpf);
		io->bpf = NULL;
	}
	return &io->base;
}
