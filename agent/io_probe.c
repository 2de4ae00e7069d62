/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/io_probe.h"
#include "agent/bpf/io.h"
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
};

struct io {
	struct probe base;
	struct bpfload *bpf; /* NULL: see why_not */
	struct err why_not;
	struct bpf_hist *hists;
	uint64_t *control;
	struct device devices[IO_SLOTS / OPS];
	size_t n;
	uint64_t series[IO_KINDS][IO_SLOTS];
	uint64_t lost_before;
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

/* Tells the programs which devices count; a device keeps its slot as long as the probe lives. */
static void find_devices(struct io *io)
{
	DIR *dir = opendir("/sys/block");
	struct dirent *e;

	while (dir && (e = readdir(dir)) && io->n < ARRAY_LEN(io->devices)) {
		struct device d;
		bool known = false;

		if (e->d_name[0] == '.' || !device_of(e->d_name, &d))
			continue;
		for (size_t i = 0; i < io->n; i++)
			known |= io->devices[i].major == d.major && io->devices[i].minor == d.minor;
		if (known)
			continue;
		for (uint32_t op = 0; op < OPS; op++) {
			uint64_t key = io_key(d.major, d.minor, op);
			uint32_t slot = (uint32_t)io->n * OPS + op;
			struct err err;

			(void)!bpfload_put(io->bpf, "slots", &key, &slot, &err);
		}
		io->devices[io->n++] = d;
	}
	if (dir)
		closedir(dir);
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
	for (size_t kind = 0; kind < IO_KINDS; kind++) {
		for (size_t slot = 0; slot < io->n * OPS; slot++) {
			const struct series_decl d = {
				.metric = metrics[kind],
				.kind = "hist",
				.unit = "ns",
				.label = {{"device", io->devices[slot / OPS].name},
					  {"operation", op_names[slot % OPS]}},
				.method = "rigstat-io/1",
				.state = "exact",
				.resolution_ns = 1};

			io->series[kind][slot] = series_declare(l, &d);
		}
	}
}

/* w NULL: only forgets. */
static void take(struct io *io, const struct interval *in, struct record_writer *w)
{
	unsigned int set = bpfhist_flip(io->control);

	for (size_t kind = 0; kind < IO_KINDS; kind++) {
		for (size_t slot = 0; slot < io->n * OPS; slot++) {
			struct bpf_hist *h = &io->hists[(set * IO_KINDS + kind) * IO_SLOTS + slot];

			if (!h->count)
				continue;
			hist_rec_reset(&io->scratch);
			bpfhist_take(h, &io->scratch);
			if (w)
				record_item_hist(w, io->series[kind][slot], in->t0_ns, in->dt_ns,
						 &io->scratch);
		}
	}
}

/* Requests that found the table busy or full, and events that met a program already running. */
static uint64_t lost_so_far(const struct io *io)
{
	return io->control[1] + bpfload_misses(io->bpf);
}

static void io_begin(struct probe *p)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	if (!io->bpf)
		return;
	take(io, NULL, NULL);
	io->lost_before = lost_so_far(io);
}

static void io_collect(struct probe *p, const struct interval *in, struct record_writer *w)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

	if (io->bpf)
		take(io, in, w);
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
	lost = lost_so_far(io) - io->lost_before;
	if (!lost)
		return;
	s->lost += lost;
	marks_add(&s->marks, "io-requests-lost",
		  "about %llu requests were not measured: the recorder was busy",
		  (unsigned long long)lost);
}

static void io_free(struct probe *p)
{
	struct io *io = CONTAINER_OF(p, struct io, base);

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
				  .summary = io_summary,
				  .free = io_free};
	if (!bpfload_open(bpf_io, bpf_io_len, &io->bpf, &io->why_not) &&
	    io_start(io, &io->why_not)) {
		bpfload_close(io->bpf);
		io->bpf = NULL;
	}
	return &io->base;
}
