/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/symbols.h"
#include "common/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the kernel ---- */

struct symbol {
	uint64_t address;
	size_t name; /* offset into `names` */
};

/* 60,000 names: one block instead of an allocation each. */
struct kallsyms {
	struct symbol *v;
	size_t len, cap;
	struct strbuf names;
};

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* One line: address, type, name, and for modules TAB [module]. Only code is kept. */
static void add_line(struct kallsyms *k, const char *line, size_t len)
{
	char name[128], module[64], type;
	uint64_t address;
	char copy[256];
	int n;

	if (len >= sizeof(copy))
		return;
	memcpy(copy, line, len);
	copy[len] = '\0';
	n = sscanf(copy, "%" SCNx64 " %c %127s [%63[^]]]", &address, &type, name, module);
	if (n < 3 || (type != 't' && type != 'T' && type != 'w' && type != 'W') || !address)
		return;
	GROW(k->v, k->len, k->cap);
	k->v[k->len++] = (struct symbol){address, k->names.len};
	if (n == 4)
		strbuf_printf(&k->names, "%s: ", module);
	strbuf_add(&k->names, name, strlen(name) + 1);
}

int kallsyms_parse(const char *text, struct kallsyms **ret, struct err *reterr)
{
	struct kallsyms *k = xcalloc(1, sizeof(*k));

	while (*text) {
		size_t len = strcspn(text, "\n");

		add_line(k, text, len);
		text += len + (text[len] == '\n');
	}
	if (!k->len) {
		kallsyms_free(k);
		return err_set(reterr, ERR_PERM,
			       "the kernel hides its symbols: CAP_SYSLOG is needed, or "
			       "kernel.kptr_restrict=0");
	}
	qsort(k->v, k->len, sizeof(*k->v), by_address);
	*ret = k;
	return 0;
}

static int read_all(const char *path, struct strbuf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buf[65536];
	ssize_t n;

	if (fd < 0)
		return err_errno(reterr, errno, "cannot open %s", path);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	close(fd);
	strbuf_puts(out, "");
	return 0;
}

int kallsyms_load(struct kallsyms **ret, struct err *reterr)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	int rc = read_all("/proc/kallsyms", &text, reterr);

	return rc ? rc : kallsyms_parse(text.data, ret, reterr);
}

const struct kallsyms *kallsyms_get(struct err *reterr)
{
	static struct kallsyms *shared;

	if (!shared && kallsyms_load(&shared, reterr))
		return NULL;
	return shared;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	strbuf_done(&k->names);
	free(k->v);
	free(k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t address)
{
	size_t lo = 0, hi = k->len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->v[mid].address <= address)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? k->names.data + k->v[lo - 1].name : NULL;
}

/* ---- processes ---- */

struct mapping {
	uint64_t start, end;
	char *name;
};

struct process {
	uint32_t pid;
	bool read; /* /proc/PID/maps was read */
	struct mapping *v;
	size_t len, cap;
};

struct objmap {
	struct process **slot; /* open addressing on pid */
	size_t cap, len;
};

struct objmap *objmap_new(void)
{
	struct objmap *m = xcalloc(1, sizeof(*m));

	m->cap = 256;
	m->slot = xcalloc(m->cap, sizeof(*m->slot));
	return m;
}

static void process_clear(struct process *p)
{
	for (size_t i = 0; i < p->len; i++)
		free(p->v[i].name);
	p->len = 0;
}

void objmap_free(struct objmap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->cap; i++) {
		if (!m->slot[i])
			continue;
		process_clear(m->slot[i]);
		free(m->slot[i]->v);
		free(m->slot[i]);
	}
	free(m->slot);
	free(m);
}

static struct process **process_at(struct objmap *m, uint32_t pid)
{
	size_t i = (pid * 2654435761u) & (m->cap - 1);

	while (m->slot[i] && m->slot[i]->pid != pid)
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

static void grow(struct objmap *m)
{
	struct objmap old = *m;

	m->cap *= 2;
	m->slot = xcalloc(m->cap, sizeof(*m->slot));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slot[i])
			*process_at(m, old.slot[i]->pid) = old.slot[i];
	free(old.slot);
}

static struct process *process_get(struct objmap *m, uint32_t pid)
{
	struct process **at;

	if (m->len * 2 >= m->cap)
		grow(m);
	at = process_at(m, pid);
	if (!*at) {
		*at = xcalloc(1, sizeof(**at));
		(*at)->pid = pid;
		m->len++;
	}
	return *at;
}

static void add_mapping(struct process *p, uint64_t start, uint64_t end, const char *file)
{
	const char *base = strrchr(file, '/');

	GROW(p->v, p->len, p->cap);
	p->v[p->len++] = (struct mapping){start, end, xstrdup(base && base[1] ? base + 1 : file)};
}

void objmap_add(struct objmap *m, uint32_t pid, uint64_t start, uint64_t length, const char *file)
{
	add_mapping(process_get(m, pid), start, start + length, file);
}

void objmap_exec(struct objmap *m, uint32_t pid)
{
	struct process *p = process_get(m, pid);

	process_clear(p);
	p->read = true; /* its mappings will come as records */
}

static void read_maps(struct process *p)
{
	struct strbuf text CLEANUP(strbuf_done) = {0};
	char path[64];

	p->read = true;
	(void)snprintf(path, sizeof(path), "/proc/%u/maps", p->pid);
	if (read_all(path, &text, NULL))
		return;
	for (const char *line = text.data; *line;) {
		size_t len = strcspn(line, "\n");
		char copy[512], perms[8];
		uint64_t start, end;
		int name = 0;

		(void)snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
		if (sscanf(copy, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n", &start, &end, perms,
			   &name) >= 3 &&
		    strchr(perms, 'x') && name)
			add_mapping(p, start, end, copy[name] ? copy + name : "[anon]");
		line += len + (line[len] == '\n');
	}
}

/* Later mappings hide earlier ones, so the search goes backwards. */
const char *objmap_find(struct objmap *m, uint32_t pid, uint64_t address)
{
	struct process *p = process_get(m, pid);

	for (int round = 0; round < 2; round++) {
		for (size_t i = p->len; i-- > 0;)
			if (p->v[i].start <= address && address < p->v[i].end)
				return p->v[i].name;
		if (p->read)
			break;
		read_maps(p);
	}
	return "[unknown]";
}
