/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/live_note.h"

#include <jansson.h>

#include "common/check.h"

static const char *const kinds[NOTE_KINDS] = {
	[NOTE_RUN] = "run",   [NOTE_ASSIGNMENT] = "assignment", [NOTE_EXPERIMENT] = "experiment",
	[NOTE_HOST] = "host", [NOTE_TOKEN] = "token",		[NOTE_DATA] = "data",
};
static const char *const whats[NOTE_WHATS] = {
	[NOTE_NEW] = "new",
	[NOTE_PROGRESS] = "progress",
	[NOTE_END] = "end",
	[NOTE_CHANGED] = "changed",
};

const char *live_note_kind_name(enum live_note_kind kind)
{
	return kinds[kind];
}

/* The index of a member's text in `names`; -1: none of them. */
static int index_of(const json_t *o, const char *member, const char *const *names, size_t n)
{
	const char *text = json_string_value(json_object_get(o, member));

	for (size_t i = 0; text && i < n; i++)
		if (strcmp(text, names[i]) == 0)
			return (int)i;
	return -1;
}

static int64_t id_of(const json_t *o, const char *member)
{
	int64_t id = json_integer_value(json_object_get(o, member));

	return id > 0 ? id : 0;
}

static int read_hosts(const json_t *list, struct live_note *n, struct err *reterr)
{
	const json_t *v;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > NOTE_HOSTS_MAX)
		return err_set(reterr, ERR_INVALID, "note: hosts is not a list of at most %d ids",
			       NOTE_HOSTS_MAX);
	json_array_foreach(list, i, v) n->hosts[n->n_hosts++] = json_integer_value(v);
	return 0;
}

int live_note_read(const char *payload, struct live_note *ret, struct err *reterr)
{
	json_auto_t *o = json_loads(payload, 0, NULL);
	int kind = index_of(o, "kind", kinds, NOTE_KINDS);
	int what = index_of(o, "what", whats, NOTE_WHATS);

	if (kind < 0)
		return err_set(reterr, ERR_INVALID, "note: unknown kind");
	memset(ret, 0, sizeof(*ret));
	ret->kind = (enum live_note_kind)kind;
	if (ret->kind == NOTE_DATA)
		return read_hosts(json_object_get(o, "hosts"), ret, reterr);
	if (what < 0)
		return err_set(reterr, ERR_INVALID, "note: a %s did something unknown",
			       kinds[kind]);
	ret->what = (enum live_note_what)what;
	ret->host = id_of(o, "host");
	ret->experiment = id_of(o, "experiment");
	ret->run = id_of(o, "run");
	return 0;
}

void live_note_put_data(struct strbuf *out, const int64_t *hosts, size_t n)
{
	CHECK(n <= NOTE_HOSTS_MAX);
	strbuf_puts(out, "{\"kind\":\"data\",\"hosts\":[");
	for (size_t i = 0; i < n; i++)
		strbuf_printf(out, "%s%lld", i ? "," : "", (long long)hosts[i]);
	strbuf_puts(out, "]}");
}
