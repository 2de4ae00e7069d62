/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/settings.h"

static const char *const allowed[] = {"blame", "interval", "io", "locks", "shares", "system"};

static void reset(struct agent_conf *c, const struct agent_conf *base)
{
	c->blame_ns = base->blame_ns;
	c->interval_ns = base->interval_ns;
	c->io = base->io;
	c->locks = base->locks;
	c->shares = base->shares;
	c->system = base->system;
}

static bool is_allowed(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
		if (!strcmp(allowed[i], key))
			return true;
	return false;
}

static int apply(struct agent_conf *c, const json_t *settings, struct err *reterr)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)settings, key, v)
	{
		if (!is_allowed(key))
			return err_set(reterr, ERR_PERM, "a server may not set '%.40s' of this box",
				       key);
		if (!json_is_string(v))
			return err_set(reterr, ERR_INVALID, "%s: is no text", key);
		if (agent_conf_set(c, key, json_string_value(v), reterr))
			return reterr->code;
	}
	return 0;
}

int settings_apply(struct agent_conf *c, const struct agent_conf *base, const json_t *settings,
		   struct err *reterr)
{
	reset(c, base);
	if (!apply(c, settings, reterr))
		return 0;
	reset(c, base);
	return reterr->code;
}

void settings_put_text(const json_t *settings, struct strbuf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
		const char *v = json_string_value(json_object_get(settings, allowed[i]));

		if (v)
			strbuf_printf(out, "%s%s=%.40s", out->len > before ? ", " : "", allowed[i],
				      v);
	}
}
