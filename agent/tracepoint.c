/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tracepoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/sysread.h"
#include "common/parse.h"

#define FILE_MAX (64 * 1024)

bool tracepoint_is_name(const char *name)
{
	const char *colon = strchr(name, ':');

	if (!colon || colon == name || !colon[1] || strchr(colon + 1, ':'))
		return false;
	for (const char *s = name; *s; s++)
		if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && *s != '_' &&
		    *s != '-' && s != colon)
			return false;
	return true;
}

bool tracepoints_readable(const char *root)
{
	static const char *const events[] = {"/sys/kernel/tracing/events",
					     "/sys/kernel/debug/tracing/events"};

	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		CLEANUP(freep) char *path = xasprintf("%s%s", root, events[i]);

		if (!access(path, R_OK | X_OK))
			return true;
	}
	return false;
}

/* Numbers are those of one boot. */
static bool is_of_this_boot(const char *root, const char *text)
{
	char boot[SYSREAD_MAX];

	return sysread_line(boot, sizeof(boot), root, "/proc/sys/kernel/random/boot_id") &&
	       !strncmp(text, "boot ", 5) && !strncmp(text + 5, boot, strlen(boot)) &&
	       text[5 + strlen(boot)] == '\n';
}

static bool find_line(const char *text, const char *name, uint64_t *ret_id)
{
	size_t len = strlen(name);

	for (const char *s = strchr(text, '\n'); s; s = strchr(s, '\n')) {
		char *end;

		s++;
		if (strncmp(s, name, len) != 0 || s[len] != ' ')
			continue;
		*ret_id = strtoull(s + len + 1, &end, 10);
		return *end == '\n' && end > s + len + 1;
	}
	return false;
}

int tracepoint_saved(const char *root, const char *file, const char *name, struct pmu_event *ret,
		     struct err *reterr)
{
	static char text[FILE_MAX]; /* loop thread only */
	uint64_t id;

	if (!sysread_all(text, sizeof(text), "", "%s", file))
		return err_set(
			reterr, ERR_PERM,
			"the number of the tracepoint %.80s is known to root only (tracefs), "
			"and %s, which the start of the service writes, is not there: name "
			"it by event = in agent.conf and restart rigstat-agent, or run as "
			"root",
			name, file);
	if (!is_of_this_boot(root, text))
		return err_set(reterr, ERR_PERM,
			       "%s is of another boot, so its tracepoints have other numbers now: "
			       "restart rigstat-agent",
			       file);
	if (!find_line(text, name, &id))
		return err_set(reterr, ERR_PERM,
			       "the tracepoint %.80s is not in %s: either this kernel has none of "
			       "that name, or agent.conf did not name it when the service started "
			       "(event = %.80s, then restart rigstat-agent)",
			       name, file, name);
	*ret = (struct pmu_event){.openings = 1, .software = true, .scale = 1, .unit = "1"};
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	ret->opening[0] = (struct pmu_opening){
		.pmu = "tracepoint", .type = PERF_TYPE_TRACEPOINT, .config = id};
	return 0;
}

/* ---- writing, as root ---- */

static void save_one(const char *root, const char *name, struct strbuf *out, struct strbuf *report)
{
	struct pmu_event e;
	struct err err;

	if (pmu_event_parse(name, root, &e, &err)) {
		strbuf_printf(report, "%s: not found: %s\n", name, err.text);
		return;
	}
	strbuf_printf(out, "%s %llu\n", name, (unsigned long long)e.opening[0].config);
	strbuf_printf(report, "%s: %llu\n", name, (unsigned long long)e.opening[0].config);
}

/* The directory is writable for the agent's group: a new file of a name that nobody knows before,
 * then put in place, never one that somebody has laid there. */
static int replace_file(const char *file, const struct strbuf *text, struct err *reterr)
{
	CLEANUP(freep) char *tmp = xasprintf("%s.XXXXXX", file);
	int fd = mkstemp(tmp), rc = 0;

	if (fd < 0)
		return err_errno(reterr, errno, "cannot write %s", file);
	if (write(fd, text->data, text->len) != (ssize_t)text->len || fchmod(fd, 0644) ||
	    rename(tmp, file)) {
		rc = err_errno(reterr, errno, "cannot write %s", file);
		unlink(tmp);
	}
	close(fd);
	return rc;
}

int tracepoints_save(const char *root, const char *file, char *const *names, size_t n,
		     struct strbuf *report, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	char boot[SYSREAD_MAX];

	if (!sysread_line(boot, sizeof(boot), root, "/proc/sys/kernel/random/boot_id"))
		return err_set(reterr, ERR_NOT_FOUND, "cannot read the boot id");
	strbuf_printf(&out, "boot %s\n", boot);
	for (size_t i = 0; i < n; i++)
		if (tracepoint_is_name(names[i]))
			save_one(root, names[i], &out, report);
	return replace_file(file, &out, reterr);
}
