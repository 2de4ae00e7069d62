/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/import_args.h"

#include "cli/client.h"
#include "common/check.h"
#include "common/parse.h"

void import_args_done(struct import_args *a)
{
	labels_done(&a->o.factors);
	labels_done(&a->o.tags);
}

static int take_pair(struct labels *to, const char *option, const char *value, struct err *reterr)
{
	const char *eq = strchr(value, '=');
	char *key;

	if (!eq || eq == value || !eq[1])
		return err_set(reterr, ERR_INVALID, "%s %.60s: write name=value", option, value);
	key = xstrndup(value, (size_t)(eq - value));
	labels_set(to, key, eq + 1);
	free(key);
	return 0;
}

static int take_unit(struct import_args *a, const char *value, struct err *reterr)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"ns", 1}, {"us", NS_PER_US}, {"ms", NS_PER_MS}, {"s", NS_PER_SEC}};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(value, units[i].name) != 0)
			continue;
		a->unit = value;
		a->o.unit_ns = units[i].ns;
		return 0;
	}
	return err_set(reterr, ERR_INVALID, "--unit %.30s: one of ns, us, ms, s", value);
}

int import_args_take(struct import_args *a, int id, const char *value, struct err *reterr)
{
	switch (id) {
	case IMPORT_ARG_FORMAT:
		a->o.format = value;
		return 0;
	case IMPORT_ARG_UNIT:
		return take_unit(a, value, reterr);
	case IMPORT_ARG_METRIC:
		a->o.metric = value;
		return 0;
	case IMPORT_ARG_INTERVAL:
		a->interval = value;
		return parse_duration(value, &a->o.interval_ns, reterr);
	case IMPORT_ARG_OVERFLOW:
		a->overflow = value;
		return parse_duration(value, &a->o.overflow_lo_ns, reterr);
	case IMPORT_ARG_SET:
		return take_pair(&a->o.factors, "--set", value, reterr);
	case IMPORT_ARG_TAG:
		return take_pair(&a->o.tags, "--tag", value, reterr);
	case IMPORT_ARG_HOST:
		a->o.host = value;
		return 0;
	case IMPORT_ARG_BOOT:
		a->o.boot = value;
		return 0;
	case IMPORT_ARG_EXPERIMENT:
		a->o.experiment = value;
		return 0;
	default:
		CHECK(!"an option of import_args");
	}
}

static void add_text(struct strbuf *out, const char *name, const char *value)
{
	if (!value)
		return;
	strbuf_printf(out, "&%s=", name);
	client_escape(value, out);
}

static void add_pairs(struct strbuf *out, const char *name, const struct labels *l)
{
	for (size_t i = 0; i < l->len; i++) {
		CLEANUP(freep) char *pair = xasprintf("%s=%s", l->v[i].key, l->v[i].value);

		add_text(out, name, pair);
	}
}

void import_args_query(const struct import_args *a, struct strbuf *out)
{
	add_text(out, "format", a->o.format);
	add_text(out, "unit", a->unit);
	add_text(out, "metric", a->o.metric);
	add_text(out, "interval", a->interval);
	add_text(out, "overflow", a->overflow);
	add_text(out, "host", a->o.host);
	add_text(out, "boot", a->o.boot);
	add_text(out, "experiment", a->o.experiment);
	add_pairs(out, "set", &a->o.factors);
	add_pairs(out, "tag", &a->o.tags);
}
