/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/taskmap.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Open addressing on the thread id; grows at half load. */
struct taskmap {
	struct task **slot;
	size_t cap, len;
};

struct taskmap *taskmap_new(void)
{
	struct taskmap *m = xcalloc(1, sizeof(*m));

	m->cap = 1024;
	m->slot = xcalloc(m->cap, sizeof(*m->slot));
	return m;
}

static void task_free(struct task *t)
{
	if (!t)
		return;
	free(t->exe);
	free(t->cgroup);
	free(t);
}

void taskmap_free(struct taskmap *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->cap; i++)
		task_free(m->slot[i]);
	free(m->slot);
	free(m);
}

static struct task **find(struct taskmap *m, uint32_t tid)
{
	size_t i = (tid * 2654435761u) & (m->cap - 1);

	while (m->slot[i] && m->slot[i]->tid != tid)
		i = (i + 1) & (m->cap - 1);
	return &m->slot[i];
}

static void rebuild(struct taskmap *m, size_t cap, bool drop_exited)
{
	struct taskmap old = *m;

	m->cap = cap;
	m->len = 0;
	m->slot = xcalloc(cap, sizeof(*m->slot));
	for (size_t i = 0; i < old.cap; i++) {
		struct task *t = old.slot[i];

		if (!t)
			continue;
		if (drop_exited && t->exited) {
			task_free(t);
			continue;
		}
		*find(m, t->tid) = t;
		m->len++;
	}
	free(old.slot);
}

static struct task *insert(struct taskmap *m, uint32_t pid, uint32_t tid)
{
	struct task **at, *t;

	if (m->len * 2 >= m->cap)
		rebuild(m, m->cap * 2, false);
	at = find(m, tid);
	if (*at) {
		task_free(*at);
		m->len--;
	}
	t = xcalloc(1, sizeof(*t));
	t->tid = tid;
	t->pid = pid;
	*at = t;
	m->len++;
	return t;
}

/* Reads a small /proc file without its newline; false when it is not there. */
static bool read_proc(uint32_t pid, uint32_t tid, const char *name, char *buf, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, buf, cap - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* The unified hierarchy's path ("0::/path"); with cgroup v1 that of the cpu controller. */
static char *cgroup_of(const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n')) {
		const char *controllers, *path;

		line += *line == '\n';
		controllers = strchr(line, ':');
		path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			break;
		if (!strncmp(line, "0::", 3) || !strncmp(controllers, ":cpu,", 5) ||
		    !strncmp(controllers, ":cpu:", 5)) {
			size_t len = strcspn(path + 1, "\n");

			if (len > 1 || !strncmp(line, "0::", 3))
				return xstrndup(path + 1, len);
		}
	}
	return NULL;
}

static void read_exe(struct task *t)
{
	char path[64], target[512];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", t->pid);
	n = readlink(path, target, sizeof(target) - 1);
	t->kernel = n < 0 && access("/proc/self/exe", F_OK) == 0 && t->comm[0] != ':';
	if (n < 0)
		return;
	t->kernel = false;
	free(t->exe);
	t->exe = xstrndup(target, (size_t)n);
}

/* A task that is gone keeps what is known, from its parent. */
static void read_cgroup(struct task *t)
{
	char buf[4096], *path;

	if (!read_proc(t->pid, t->tid, "cgroup", buf, sizeof(buf)))
		return;
	path = cgroup_of(buf);
	if (!path)
		return;
	free(t->cgroup);
	t->cgroup = path;
}

static void read_task(struct task *t)
{
	char buf[64];

	if (!read_proc(t->pid, t->tid, "comm", buf, sizeof(buf))) {
		(void)snprintf(t->comm, sizeof(t->comm), ":%u", t->tid);
		return;
	}
	buf[strcspn(buf, "\n")] = '\0';
	(void)snprintf(t->comm, sizeof(t->comm), "%.15s", buf);
	read_exe(t);
	read_cgroup(t);
}

const struct task *taskmap_get(struct taskmap *m, uint32_t pid, uint32_t tid)
{
	struct task **at = find(m, tid), *t;

	if (*at && (*at)->pid == pid)
		return *at;
	t = insert(m, pid, tid);
	if (tid == 0)
		(void)snprintf(t->comm, sizeof(t->comm), "swapper");
	else
		read_task(t);
	return t;
}

void taskmap_fork(struct taskmap *m, uint32_t pid, uint32_t tid, uint32_t parent_pid)
{
	struct task *parent = *find(m, parent_pid), *t;
	char comm[16] = "";
	char *exe = NULL, *cgroup = NULL;
	bool kernel = false;

	if (!parent)
		return; /* seen first by its own sample or comm record */
	memcpy(comm, parent->comm, sizeof(comm));
	exe = parent->exe ? xstrdup(parent->exe) : NULL;
	cgroup = parent->cgroup ? xstrdup(parent->cgroup) : NULL;
	kernel = parent->kernel;
	t = insert(m, pid, tid);
	memcpy(t->comm, comm, sizeof(comm));
	t->exe = exe;
	t->cgroup = cgroup;
	t->kernel = kernel;
}

void taskmap_comm(struct taskmap *m, uint32_t pid, uint32_t tid, const char *comm, bool exec)
{
	struct task **at = find(m, tid), *t = *at;

	if (!t || t->pid != pid)
		t = insert(m, pid, tid);
	(void)snprintf(t->comm, sizeof(t->comm), "%.15s", comm);
	if (!exec)
		return;
	free(t->exe);
	t->exe = NULL;
	read_exe(t);
	read_cgroup(t);
}

void taskmap_exit(struct taskmap *m, uint32_t tid)
{
	struct task *t = *find(m, tid);

	if (t)
		t->exited = true;
}

void taskmap_sweep(struct taskmap *m)
{
	rebuild(m, m->cap, true);
}
