/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/tune/tunables.h"

#include "agent/tune/value.h"
#include "common/ini.h"
#include "common/parse.h"

#define STEP_TIMEOUT_DEFAULT (10 * NS_PER_SEC)
#define STEP_TIMEOUT_MAX     (600 * NS_PER_SEC)
#define BOOT_TIMEOUT_DEFAULT (15 * 60 * NS_PER_SEC)
#define BOOT_TIMEOUT_MAX     (2 * 3600 * NS_PER_SEC)
#define TUNABLES_MAX	     1000

static bool name_is_good(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(name);

	return len && len <= 64 && strspn(name, good) == len;
}

/* "{old}" may stand in a restore step only; a step without its value would set nothing. */
static bool mentions(char *const *argv, const char *what)
{
	for (; *argv; argv++)
		if (strstr(*argv, what))
			return true;
	return false;
}

static int check_steps(const struct tunable *t, struct err *reterr)
{
	if (!t->apply || !t->verify)
		return err_set(reterr, ERR_INVALID, "needs either path, or apply and verify");
	if (!mentions(t->apply, "{value}"))
		return err_set(reterr, ERR_INVALID, "apply does not mention {value}");
	if (t->restore && !mentions(t->restore, "{old}"))
		return err_set(reterr, ERR_INVALID, "restore does not mention {old}");
	if (t->reboot && t->restore)
		return err_set(reterr, ERR_INVALID,
			       "has both reboot and restore: apply chooses one boot only, so there "
			       "is nothing to put back");
	if (t->reboot && !t->values)
		return err_set(reterr, ERR_INVALID, "has reboot but lists no values");
	return 0;
}

static int check_tunable(const struct tunable *t, struct err *reterr)
{
	int rc = 0;

	if (t->path && (t->apply || t->verify || t->restore || t->reboot))
		rc = err_set(reterr, ERR_INVALID, "has both path and steps: keep one");
	else if (!t->path)
		rc = check_steps(t, reterr);
	for (size_t i = 0; !rc && i < t->values_len; i++)
		rc = value_check(t->values[i], reterr);
	return rc ? err_prefix(reterr, "%s: tunable '%s' ", t->where, t->name) : 0;
}

static int start_section(struct tunables *t, unsigned int line, const char *section,
			 struct err *reterr)
{
	struct tunable *n;

	if (!name_is_good(section))
		return err_set(reterr, ERR_INVALID,
			       "'%.64s' is no name for a tunable: use letters, digits, _ and -",
			       section);
	if (tunables_find(t, section))
		return err_set(reterr, ERR_INVALID, "tunable '%s' stands twice", section);
	if (t->len == TUNABLES_MAX)
		return err_set(reterr, ERR_LIMIT, "more than %d tunables", TUNABLES_MAX);
	GROW(t->v, t->len, t->cap);
	n = &t->v[t->len++];
	*n = (struct tunable){.name = xstrdup(section),
			      .timeout_ns = STEP_TIMEOUT_DEFAULT,
			      .boot_timeout_ns = BOOT_TIMEOUT_DEFAULT,
			      .where = xasprintf("line %u", line)};
	return 0;
}

static int set_words(char ***to, const char *value, size_t *ret_len, struct err *reterr)
{
	if (*to)
		return err_set(reterr, ERR_INVALID, "stands twice");
	return words_split(value, to, ret_len, reterr);
}

static int set_step(char ***to, const char *value, struct err *reterr)
{
	size_t len;
	int rc = set_words(to, value, &len, reterr);

	if (!rc && (!len || (*to)[0][0] != '/'))
		rc = err_set(reterr, ERR_INVALID,
			     "a step is a program by its absolute path and its arguments");
	return rc;
}

static int set_text(char **to, const char *value, struct err *reterr)
{
	if (*to)
		return err_set(reterr, ERR_INVALID, "stands twice");
	*to = xstrdup(value);
	return 0;
}

static int set_path(struct tunable *t, const char *value, struct err *reterr)
{
	if (strncmp(value, "/sys/", 5) != 0 && strncmp(value, "/proc/sys/", 10) != 0)
		return err_set(reterr, ERR_INVALID, "begins with neither /sys/ nor /proc/sys/");
	return set_text(&t->path, value, reterr);
}

static int set_timeout(int64_t *to, const char *value, int64_t max_ns, struct err *reterr)
{
	int rc = parse_duration(value, to, reterr);

	if (!rc && (*to <= 0 || *to > max_ns))
		rc = err_set(reterr, ERR_INVALID, "is above 0 and at most %lld min",
			     (long long)(max_ns / (60 * NS_PER_SEC)));
	return rc;
}

static int set_pair(struct tunable *t, const char *key, const char *value, struct err *reterr)
{
	if (!strcmp(key, "description"))
		return set_text(&t->description, value, reterr);
	if (!strcmp(key, "values"))
		return set_words(&t->values, value, &t->values_len, reterr);
	if (!strcmp(key, "path"))
		return set_path(t, value, reterr);
	if (!strcmp(key, "apply"))
		return set_step(&t->apply, value, reterr);
	if (!strcmp(key, "verify"))
		return set_step(&t->verify, value, reterr);
	if (!strcmp(key, "restore"))
		return set_step(&t->restore, value, reterr);
	if (!strcmp(key, "reboot"))
		return set_step(&t->reboot, value, reterr);
	if (!strcmp(key, "timeout"))
		return set_timeout(&t->timeout_ns, value, STEP_TIMEOUT_MAX, reterr);
	if (!strcmp(key, "boot_timeout"))
		return set_timeout(&t->boot_timeout_ns, value, BOOT_TIMEOUT_MAX, reterr);
	return err_set(reterr, ERR_INVALID,
		       "is unknown; there are description, values, path, apply, verify, restore, "
		       "timeout, reboot and boot_timeout");
}

static int on_line(void *user, unsigned int line, const char *section, const char *key,
		   const char *value, struct err *reterr)
{
	struct tunables *t = user;
	int rc;

	if (!key)
		return start_section(t, line, section, reterr);
	if (!*section)
		return err_set(reterr, ERR_INVALID, "'%.40s' stands before the first [tunable]",
			       key);
	rc = set_pair(&t->v[t->len - 1], key, value, reterr);
	return rc ? err_prefix(reterr, "'%.40s' ", key) : 0;
}

static int check_all(const struct tunables *t, struct err *reterr)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < t->len; i++)
		rc = check_tunable(&t->v[i], reterr);
	return rc;
}

int tunables_load(struct tunables *t, const char *dir, struct err *reterr)
{
	int rc = ini_parse_dir(dir, true, on_line, t, reterr);

	if (rc)
		return rc;
	rc = check_all(t, reterr);
	return rc ? err_prefix(reterr, "%s: ", dir) : 0;
}

int tunables_parse(struct tunables *t, const char *name, const char *text, size_t len,
		   struct err *reterr)
{
	int rc = ini_parse(name, text, len, on_line, t, reterr);

	if (rc)
		return rc;
	rc = check_all(t, reterr);
	return rc ? err_prefix(reterr, "%s: ", name) : 0;
}

const struct tunable *tunables_find(const struct tunables *t, const char *name)
{
	for (size_t i = 0; i < t->len; i++)
		if (!strcmp(t->v[i].name, name))
			return &t->v[i];
	return NULL;
}

bool tunable_allows(const struct tunable *t, const char *value)
{
	for (size_t i = 0; i < t->values_len; i++)
		if (!strcmp(t->values[i], value))
			return true;
	return !t->values;
}

void tunables_done(struct tunables *t)
{
	for (size_t i = 0; i < t->len; i++) {
		free(t->v[i].name);
		free(t->v[i].description);
		free(t->v[i].path);
		free(t->v[i].where);
		words_free(t->v[i].values);
		words_free(t->v[i].apply);
		words_free(t->v[i].verify);
		words_free(t->v[i].restore);
		words_free(t->v[i].reboot);
	}
	free(t->v);
	*t = (struct tunables){0};
}
