/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interrupts are named by their action, not by number: numbers change from boot to boot. */
#include "agent/sysinfo_devices.h"

#include <ctype.h>
#include <stdio.h>

#include "agent/rights.h"
#include "agent/sysread.h"

struct walk {
	struct facts *f;
	const char *root;
	const char *parent;
	struct strbuf names;
};

static void on_action(void *user, const char *name)
{
	struct walk *w = user;
	char probe[8];

	/* Actions are the directories below /proc/irq/N, the attributes are files. */
	if (sysread_all(probe, sizeof(probe), w->root, "/proc/irq/%s/%s", w->parent, name))
		return;
	if (!strncmp(name, "smp_affinity", 12) || !strncmp(name, "effective_affinity", 18) ||
	    !strcmp(name, "affinity_hint") || !strcmp(name, "node") || !strcmp(name, "spurious"))
		return;
	strbuf_printf(&w->names, "%s%s", w->names.len ? "," : "", name);
}

static void on_irq(void *user, const char *name)
{
	struct walk *w = user;
	char dir[64], list[256], key[256];

	if (!isdigit((unsigned char)*name))
		return;
	snprintf(dir, sizeof(dir), "/proc/irq/%s", name);
	strbuf_clear(&w->names);
	w->parent = name;
	sysread_dir(w->root, dir, on_action, w);
	if (!w->names.len ||
	    !sysread_line(list, sizeof(list), w->root, "%s/smp_affinity_list", dir))
		return;
	snprintf(key, sizeof(key), "irq.%s.affinity", w->names.data);
	if (facts_get(w->f, key)) /* several interrupts of one name: keep all lists */
		facts_printf(w->f, key, "%s %s", facts_get(w->f, key), list);
	else
		facts_set(w->f, key, list);
}

/* Is it a kernel thread that runs interrupts, softirqs or RCU callbacks? */
static bool interesting(const char *comm)
{
	static const char *const prefixes[] = {"irq/",	"ksoftirqd/",  "ktimers/", "rcuc/",
					       "rcub/", "rcu_preempt", "rcu_sched"};

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (!strncmp(comm, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Fields 40 (rt_priority) and 41 (policy) of /proc/PID/stat, counted behind the comm. */
static void on_process(void *user, const char *name)
{
	struct walk *w = user;
	char stat[1024], comm[64], key[128], *open, *close, *at;
	long priority = 0, policy = 0;

	if (!isdigit((unsigned char)*name) ||
	    !sysread_line(stat, sizeof(stat), w->root, "/proc/%s/stat", name))
		return;
	open = strchr(stat, '(');
	close = strrchr(stat, ')');
	if (!open || !close || close < open)
		return;
	snprintf(comm, sizeof(comm), "%.*s", (int)(close - open - 1), open + 1);
	if (!interesting(comm))
		return;
	at = close + 1;
	for (int field = 3; field <= 41 && *at; field++) {
		at += strspn(at, " ");
		if (field == 40)
			priority = strtol(at, NULL, 10);
		if (field == 41)
			policy = strtol(at, NULL, 10);
		at += strcspn(at, " ");
	}
	snprintf(key, sizeof(key), "thread.%s", comm);
	facts_printf(w->f, key, priority ? "%s:%ld" : "%s", policy_name((int)policy), priority);
}

/* "[mq-deadline] none" -> "mq-deadline" */
static void chosen(char *value)
{
	char *open = strchr(value, '['), *close = strchr(value, ']');

	if (!open || !close || close < open)
		return;
	*close = '\0';
	memmove(value, open + 1, strlen(open + 1) + 1);
}

static void on_disk(void *user, const char *name)
{
	static const char *const files[] = {"scheduler",      "rq_affinity", "nr_requests",
					    "max_sectors_kb", "rotational",  "nomerges",
					    "wbt_lat_usec",   "write_cache", "read_ahead_kb"};
	struct walk *w = user;
	char key[128], value[256];

	if (!strncmp(name, "ram", 3) ||
	    !sysread_line(value, sizeof(value), w->root, "/sys/block/%s/size", name) ||
	    !strcmp(value, "0"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (!sysread_line(value, sizeof(value), w->root, "/sys/block/%s/queue/%s", name,
				  files[i]))
			continue;
		if (!i)
			chosen(value);
		snprintf(key, sizeof(key), "block.%s.%s", name, files[i]);
		facts_set(w->f, key, value);
	}
	if (sysread_line(value, sizeof(value), w->root, "/sys/block/%s/device/model", name)) {
		snprintf(key, sizeof(key), "block.%s.model", name);
		facts_set(w->f, key, value);
	}
}

void sysinfo_devices(struct facts *f, const char *root)
{
	struct walk w = {.f = f, .root = root};

	sysread_dir(root, "/proc/irq", on_irq, &w);
	sysread_dir(root, "/proc", on_process, &w);
	sysread_dir(root, "/sys/block", on_disk, &w);
	strbuf_done(&w.names);
}
