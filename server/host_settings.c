/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/host_settings.h"

#include "common/parse.h"
#include "common/suggest.h"

static int check_flag(const char *v, struct err *reterr)
{
	if (strcmp(v, "yes") != 0 && strcmp(v, "no") != 0)
		return err_set(reterr, ERR_INVALID, "'%.40s' is neither yes nor no", v);
	return 0;
}

static int check_interval(const char *v, struct err *reterr)
{
	int64_t ns;

	if (parse_duration(v, &ns, reterr))
		return reterr->code;
	if (ns < 100 * NS_PER_MS || ns > 60 * NS_PER_SEC)
		return err_set(reterr, ERR_INVALID, "'%.40s' is not between 100ms and 60s", v);
	return 0;
}

static int check_blame(const char *v, struct err *reterr)
{
	int64_t ns;

	if (strcmp(v, "auto") == 0 || strcmp(v, "off") == 0)
		return 0;
	if (parse_duration(v, &ns, NULL) || ns <= 0)
		return err_set(reterr, ERR_INVALID,
			       "'%.40s' is neither auto, off nor a time such as 50us", v);
	return 0;
}

static const struct {
	const char *name;
	int (*check)(const char *v, struct err *reterr);
} settings_known[] = {
	{"blame", check_blame}, {"interval", check_interval}, {"io", check_flag},
	{"locks", check_flag},	{"shares", check_flag},	      {"system", check_flag},
};

static int check_one(const char *key, const json_t *v, struct err *reterr)
{
	const char *names[ARRAY_LEN(settings_known)], *near;
	const char *text = json_string_value(v);

	for (size_t i = 0; i < ARRAY_LEN(settings_known); i++) {
		names[i] = settings_known[i].name;
		if (strcmp(key, names[i]) != 0)
			continue;
		if (!text || !*text || json_string_length(v) > 40)
			return err_set(reterr, ERR_INVALID, "%s: a short text", key);
		return settings_known[i].check(text, reterr) ? err_prefix(reterr, "%s: ", key) : 0;
	}
	near = suggest_nearest(key, names, ARRAY_LEN(names));
	return err_set(reterr, ERR_INVALID,
		       "'%.40s' cannot be set from here%s%s%s; blame, interval, io, locks, shares "
		       "and system can",
		       key, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

int host_settings_check(const json_t *settings, struct err *reterr)
{
	const char *key;
	json_t *v;

	if (!json_is_object(settings))
		return err_set(reterr, ERR_INVALID, "must be an object");
	json_object_foreach((json_t *)settings, key,
			    v) if (check_one(key, v, reterr)) return reterr->code;
	return 0;
}
