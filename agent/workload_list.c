/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The box's own workloads: what a server may ask for by name. */
#include "agent/workload.h"

#include "common/ini.h"

struct search {
	const char *name;
	struct workload_def *def;
	struct strbuf names;
	bool found;
};

static int set_pair(struct workload_def *d, const char *key, const char *value, struct err *reterr)
{
	size_t len;

	if (!strcmp(key, "command") && !d->argv) {
		int rc = words_split(value, &d->argv, &len, reterr);

		return rc || len ? rc : err_set(reterr, ERR_INVALID, "'command' names nothing");
	}
	if (!strcmp(key, "directory") && !d->directory) {
		d->directory = xstrdup(value);
		return 0;
	}
	if (!strcmp(key, "description") && !d->description) {
		d->description = xstrdup(value);
		return 0;
	}
	if (!strcmp(key, "parse") && !d->parse) {
		d->parse = xstrdup(value);
		return 0;
	}
	return err_set(reterr, ERR_INVALID,
		       "'%.40s' stands twice or is unknown; there are command, directory, parse "
		       "and description",
		       key);
}

static int on_line(void *user, unsigned int line UNUSED, const char *section, const char *key,
		   const char *value, struct err *reterr)
{
	struct search *s = user;
	bool ours = !strcmp(section, s->name);

	if (!key) {
		strbuf_printf(&s->names, "%s%s", s->names.len ? ", " : "", section);
		if (ours && s->found)
			return err_set(reterr, ERR_INVALID, "workload '%s' stands twice", section);
		s->found |= ours;
		return 0;
	}
	if (!*section)
		return err_set(reterr, ERR_INVALID, "'%.40s' stands before the first [workload]",
			       key);
	return ours ? set_pair(s->def, key, value, reterr) : 0;
}

int workload_find(const char *dir, const char *name, struct workload_def *ret, struct err *reterr)
{
	struct search s = {.name = name, .def = ret};
	int rc;

	*ret = (struct workload_def){.name = xstrdup(name)};
	rc = ini_parse_dir(dir, true, on_line, &s, reterr);
	if (!rc && !s.found)
		rc = err_set(reterr, ERR_NOT_FOUND, "%s has no workload '%.60s'; there are: %s",
			     dir, name, s.names.len ? s.names.data : "none");
	if (!rc && !ret->argv)
		rc = err_set(reterr, ERR_INVALID, "%s: workload '%s' has no command", dir, name);
	strbuf_done(&s.names);
	if (rc)
		workload_def_done(ret);
	return rc;
}

void workload_def_done(struct workload_def *d)
{
	free(d->name);
	free(d->directory);
	free(d->description);
	free(d->parse);
	words_free(d->argv);
	*d = (struct workload_def){0};
}
