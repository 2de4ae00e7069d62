/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/boot_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "common/ini.h"
#include "common/parse.h"

#define FILE_NAME "boot.plan"

/* ---- the decision ---- */

const char *boot_plan_level(const struct design *d, uint32_t boot)
{
	size_t first, end;

	design_runs_of_boot(d, boot, &first, &end);
	return design_level(d, d->runs[first].cell, 0);
}

PRINTF(2, 3) static void skip(struct boot_decision *r, const char *fmt, ...)
{
	va_list ap;

	r->step = BOOT_SKIP;
	va_start(ap, fmt);
	(void)vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
}

static void decide_asked(const struct boot_plan *p, const char *want, const struct boot_now *now,
			 struct boot_decision *r)
{
	int64_t late_ns = now->realtime_ns - p->asked_ns - p->timeout_ns;
	char limit[40], late[40];

	(void)format_ns((double)p->timeout_ns, limit, sizeof(limit));
	(void)format_ns((double)late_ns, late, sizeof(late));
	if (!strcmp(p->boot_id, now->boot_id)) {
		if (late_ns <= 0)
			r->step = BOOT_WAIT;
		else
			skip(r, "the box did not go down within %s", limit);
	} else if (strcmp(want, now->level) != 0) {
		skip(r, "%.100s has booted in place of %.100s", now->level, want);
	} else if (late_ns > 0) {
		skip(r, "the box came back %s after the limit of %s", late, limit);
	} else {
		r->step = BOOT_RUN;
	}
}

void boot_plan_decide(const struct boot_plan *p, const struct design *d, const struct boot_now *now,
		      struct boot_decision *ret)
{
	*ret = (struct boot_decision){.step = BOOT_ASK, .boot = p->boot};
	if (p->boot) {
		design_runs_of_boot(d, p->boot, &ret->first, &ret->end);
		if (p->running)
			ret->first = p->next;
		if (!p->running)
			decide_asked(p, boot_plan_level(d, p->boot), now, ret);
		else if (ret->first == ret->end)
			ret->step = BOOT_ASK; /* all its runs are made */
		else if (!strcmp(p->boot_id, now->boot_id))
			ret->step = BOOT_RUN;
		else
			skip(ret, "the box went down in the middle of this boot's runs");
	}
	if (ret->step == BOOT_ASK && ++ret->boot > design_boots(d))
		ret->step = BOOT_END;
}

/* ---- the file ---- */

void boot_plan_done(struct boot_plan *p)
{
	words_free(p->argv);
	free(p->directory);
	free(p->name);
	*p = (struct boot_plan){0};
}

static char *path_of(const char *dir, const char *more)
{
	return xasprintf("%s/" FILE_NAME "%s", dir, more);
}

static int write_synced(const char *path, const char *text, size_t len, struct err *reterr)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), rc = 0;

	if (fd < 0 || write(fd, text, len) != (ssize_t)len || fsync(fd) < 0)
		rc = err_errno(reterr, errno, "%s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The directory's entry must be on disk, too. */
static int sync_directory(const char *dir, struct err *reterr)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;

	if (fd < 0 || fsync(fd) < 0)
		rc = err_errno(reterr, errno, "%s", dir);
	if (fd >= 0)
		close(fd);
	return rc;
}

int boot_plan_save(const char *dir, const struct boot_plan *p, struct err *reterr)
{
	CLEANUP(freep) char *path = path_of(dir, ""), *tmp = path_of(dir, ".new"), *text = NULL;
	json_t *argv = json_array(), *j;
	int rc;

	for (char **a = p->argv; *a; a++)
		(void)json_array_append_new(argv, json_string(*a));
	j = json_pack("{s:i, s:o, s:s, s:s, s:s, s:I, s:I, s:b, s:I, s:s, s:I, s:I, s:I, s:I}",
		      "version", 1, "argv", argv, "directory", p->directory, "name", p->name, "uid",
		      p->uid, "seed", (json_int_t)p->seed, "boot", (json_int_t)p->boot, "running",
		      p->running, "next", (json_int_t)p->next, "boot_id", p->boot_id, "asked_ns",
		      (json_int_t)p->asked_ns, "timeout_ns", (json_int_t)p->timeout_ns, "ok",
		      (json_int_t)p->ok, "failed", (json_int_t)p->failed);
	text = j ? json_dumps(j, JSON_INDENT(1)) : NULL;
	json_decref(j);
	if (!text)
		return err_set(reterr, ERR_INVALID,
			       "an experiment over boots takes arguments in UTF-8 only");
	rc = write_synced(tmp, text, strlen(text), reterr);
	if (!rc && rename(tmp, path) < 0)
		rc = err_errno(reterr, errno, "%s", path);
	return rc ? rc : sync_directory(dir, reterr);
}

static char **words_of(const json_t *list)
{
	char **words = xcalloc(json_array_size(list) + 1, sizeof(*words));
	const json_t *v;
	size_t i, n = 0;

	json_array_foreach(list, i, v) if (json_string_value(v)) words[n++] =
		xstrdup(json_string_value(v));
	return words;
}

static int64_t number_of(const json_t *j, const char *name)
{
	return json_integer_value(json_object_get(j, name));
}

static int take_plan(const json_t *j, struct boot_plan *ret)
{
	const char *uid = json_string_value(json_object_get(j, "uid"));
	const char *boot_id = json_string_value(json_object_get(j, "boot_id"));
	const char *directory = json_string_value(json_object_get(j, "directory"));
	const char *name = json_string_value(json_object_get(j, "name"));

	if (number_of(j, "version") != 1 || !uid || !boot_id || !directory || !name ||
	    !json_is_array(json_object_get(j, "argv")))
		return -1;
	*ret = (struct boot_plan){.argv = words_of(json_object_get(j, "argv")),
				  .directory = xstrdup(directory),
				  .name = xstrdup(name),
				  .seed = (uint64_t)number_of(j, "seed"),
				  .boot = (uint32_t)number_of(j, "boot"),
				  .running = json_is_true(json_object_get(j, "running")),
				  .next = (size_t)number_of(j, "next"),
				  .asked_ns = number_of(j, "asked_ns"),
				  .timeout_ns = number_of(j, "timeout_ns"),
				  .ok = (uint32_t)number_of(j, "ok"),
				  .failed = (uint32_t)number_of(j, "failed")};
	(void)snprintf(ret->uid, sizeof(ret->uid), "%s", uid);
	(void)snprintf(ret->boot_id, sizeof(ret->boot_id), "%s", boot_id);
	return 0;
}

int boot_plan_load(const char *dir, struct boot_plan *ret, struct err *reterr)
{
	CLEANUP(freep) char *path = path_of(dir, "");
	FILE *f = fopen(path, "re");
	json_error_t e;
	json_t *j;
	int rc = 0;

	if (!f)
		return err_errno(reterr, errno, "%s", path);
	j = json_loadf(f, JSON_REJECT_DUPLICATES, &e);
	(void)fclose(f);
	if (!j || take_plan(j, ret) < 0)
		rc = err_set(reterr, ERR_INVALID,
			     "%s cannot be read (%s); `rigstat-agent run --abandon` removes it",
			     path, j ? "members are missing" : e.text);
	json_decref(j);
	return rc;
}

bool boot_plan_exists(const char *dir)
{
	CLEANUP(freep) char *path = path_of(dir, "");

	return access(path, F_OK) == 0;
}

int boot_plan_remove(const char *dir, struct err *reterr)
{
	CLEANUP(freep) char *path = path_of(dir, "");

	if (unlink(path) < 0)
		return err_errno(reterr, errno, "%s", path);
	return sync_directory(dir, reterr);
}
