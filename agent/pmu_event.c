/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_event.h"

#include <ctype.h>
#include <stdio.h>

#include "agent/sysread.h"
#include "common/parse.h"

#define TERMS_MAX 400
/* Hybrid x86: the PMU's type above the generic event's number (Linux 5.13). */
#define HYBRID_SHIFT 32

static const struct generic {
	const char *name, *other; /* `other`: second spelling or NULL */
	uint32_t type;
	uint64_t config;
} generics[] = {
	{"cycles", "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	{"cache-references", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
	{"cache-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
	{"branches", "branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
	{"branch-misses", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
	{"bus-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES},
	{"stalled-cycles-frontend", "idle-cycles-frontend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
	{"stalled-cycles-backend", "idle-cycles-backend", PERF_TYPE_HARDWARE,
	 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
	{"ref-cycles", NULL, PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
	{"cpu-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
	{"task-clock", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
	{"page-faults", "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
	{"minor-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
	{"major-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
	{"context-switches", "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	{"cpu-migrations", "migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
	{"alignment-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS},
	{"emulation-faults", NULL, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS},
	{"cgroup-switches", NULL, PERF_TYPE_SOFTWARE, 11}, /* Linux 5.13; not in older headers */
};

/* ---- the CPUs' PMUs ---- */

static bool read_cpus(const char *root, const char *pmu, const char *file, bool *ret)
{
	char line[SYSREAD_MAX];

	return sysread_line(line, sizeof(line), root, PMU_DEVICES "/%s/%s", pmu, file) &&
	       !parse_cpu_list(line, ret, PMU_CPUS_MAX, NULL);
}

static bool read_type(const char *root, const char *pmu, uint32_t *ret)
{
	char line[SYSREAD_MAX];
	uint64_t type;

	if (!sysread_line(line, sizeof(line), root, PMU_DEVICES "/%s/type", pmu) ||
	    parse_u64(line, &type, NULL) || type > UINT32_MAX)
		return false;
	*ret = (uint32_t)type;
	return true;
}

struct core_walk {
	const char *root;
	struct pmu_core *v;
	size_t len;
};

/* "cpu", or a PMU with a file `cpus`: uncore PMUs have a `cpumask` instead. */
static void on_device(void *user, const char *name)
{
	struct core_walk *w = user;
	struct pmu_core c = {0};

	if (w->len == PMU_OPENINGS_MAX || strlen(name) >= sizeof(c.name))
		return;
	c.only_cpus = read_cpus(w->root, name, "cpus", c.cpus);
	if ((!c.only_cpus && strcmp(name, "cpu") != 0) || !read_type(w->root, name, &c.type))
		return;
	snprintf(c.name, sizeof(c.name), "%s", name);
	w->v[w->len++] = c;
}

size_t pmu_cores(const char *root, struct pmu_core ret[PMU_OPENINGS_MAX])
{
	struct core_walk w = {root, ret, 0};

	sysread_dir(root, PMU_DEVICES, on_device, &w);
	return w.len;
}

/* One opening for each core-type PMU. Without any the generic one is left: opening it tells. */
static void add_core_openings(const char *root, uint32_t type, uint64_t config,
			      struct pmu_event *ret)
{
	struct pmu_core cores[PMU_OPENINGS_MAX];
	size_t n = pmu_cores(root, cores);

	ret->openings = n ? n : 1;
	for (size_t i = 0; i < ret->openings; i++) {
		struct pmu_opening *o = &ret->opening[i];

		*o = (struct pmu_opening){.pmu = "cpu", .type = type, .config = config};
		if (!n)
			break;
		memcpy(o->pmu, cores[i].name, sizeof(o->pmu));
		o->only_cpus = cores[i].only_cpus;
		memcpy(o->cpus, cores[i].cpus, sizeof(o->cpus));
		if (type == PERF_TYPE_RAW)
			o->type = cores[i].type;
		else if (n > 1 && !strncmp(o->pmu, "cpu_", 4))
			o->config |= (uint64_t)cores[i].type << HYBRID_SHIFT;
	}
}

/* ---- terms of a PMU ---- */

static uint64_t *config_of(struct pmu_opening *o, const char *field, size_t len)
{
	static const char *const names[] = {"config", "config1", "config2"};
	uint64_t *const to[] = {&o->config, &o->config1, &o->config2};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && !strncmp(names[i], field, len))
			return to[i];
	return NULL;
}

/* "7" or "0-7" at *s; moves behind it and the comma. */
static bool take_range(const char **s, unsigned int *ret_lo, unsigned int *ret_hi)
{
	char *end;

	*ret_lo = *ret_hi = (unsigned int)strtoul(*s, &end, 10);
	if (end == *s)
		return false;
	if (*end == '-')
		*ret_hi = (unsigned int)strtoul(end + 1, &end, 10);
	*s = *end == ',' ? end + 1 : end;
	return *ret_lo <= *ret_hi && *ret_hi < 64 && (!**s || isdigit((unsigned char)**s));
}

int pmu_format_put(const char *format, uint64_t value, struct pmu_opening *to, struct err *reterr)
{
	const char *colon = strchr(format, ':'), *s = colon ? colon + 1 : format;
	uint64_t *field = colon ? config_of(to, format, (size_t)(colon - format)) : NULL;
	uint64_t left = value;

	if (!field || !*s)
		return err_set(reterr, ERR_UNSUPPORTED, "the format \"%.60s\" is not known",
			       format);
	while (*s) {
		unsigned int lo, hi;

		if (!take_range(&s, &lo, &hi))
			return err_set(reterr, ERR_UNSUPPORTED, "the format \"%.60s\" is not known",
				       format);
		for (unsigned int bit = lo; bit <= hi; bit++, left >>= 1) {
			*field &= ~(1ull << bit);
			*field |= (left & 1) << bit;
		}
	}
	if (left)
		return err_set(reterr, ERR_INVALID, "0x%llx does not fit into %.60s",
			       (unsigned long long)value, format);
	return 0;
}

static int parse_number(const char *s, uint64_t *ret)
{
	char *end;

	*ret = strtoull(s, &end, 0);
	return isdigit((unsigned char)*s) && !*end ? 0 : -1;
}

struct terms {
	const char *root, *pmu;
	struct pmu_event *event;
	struct pmu_opening *to;
	int depth; /* an event's own terms name no further event */
};

static int put_terms(const struct terms *t, const char *text, struct err *reterr);

/* events/NAME with its .scale and .unit beside it. */
static int put_alias(const struct terms *t, const char *name, bool *ret_found, struct err *reterr)
{
	struct terms inner = *t;
	char text[SYSREAD_MAX], line[SYSREAD_MAX];

	*ret_found = t->depth == 0 && sysread_line(text, sizeof(text), t->root,
						   PMU_DEVICES "/%s/events/%s", t->pmu, name);
	if (!*ret_found)
		return 0;
	if (sysread_line(line, sizeof(line), t->root, PMU_DEVICES "/%s/events/%s.scale", t->pmu,
			 name) &&
	    parse_double(line, &t->event->scale, reterr))
		return err_prefix(reterr, "%s/%s/: scale: ", t->pmu, name);
	if (sysread_line(line, sizeof(line), t->root, PMU_DEVICES "/%s/events/%s.unit", t->pmu,
			 name))
		snprintf(t->event->unit, sizeof(t->event->unit), "%.*s",
			 (int)sizeof(t->event->unit) - 1, line);
	inner.depth++;
	return put_terms(&inner, text, reterr);
}

static int put_term(const struct terms *t, char *term, struct err *reterr)
{
	char *value = strchr(term, '='), format[SYSREAD_MAX];
	uint64_t v = 1, *raw;
	bool found;

	if (!value) {
		int r = put_alias(t, term, &found, reterr);

		if (r || found)
			return r;
	} else {
		*value++ = '\0';
		if (parse_number(value, &v))
			return err_set(reterr, ERR_INVALID,
				       "%s/%s=%.40s/: a number is expected, as 0x3c", t->pmu, term,
				       value);
	}
	raw = config_of(t->to, term, strlen(term));
	if (raw && value) {
		*raw = v;
		return 0;
	}
	if (!sysread_line(format, sizeof(format), t->root, PMU_DEVICES "/%s/format/%s", t->pmu,
			  term))
		return err_set(reterr, ERR_NOT_FOUND,
			       "the PMU %s has no event or term \"%.60s\"; see " PMU_DEVICES "/%s/",
			       t->pmu, term, t->pmu);
	return pmu_format_put(format, v, t->to, reterr) ? err_prefix(reterr, "%s: ", term) : 0;
}

static int put_terms(const struct terms *t, const char *text, struct err *reterr)
{
	char copy[TERMS_MAX];

	if (strlen(text) >= sizeof(copy))
		return err_set(reterr, ERR_LIMIT, "%s: more than %d characters of terms", t->pmu,
			       TERMS_MAX - 1);
	memcpy(copy, text, strlen(text) + 1);
	for (char *s = copy, *next; s; s = next) {
		int r;

		next = strchr(s, ',');
		if (next)
			*next++ = '\0';
		if (strchr(s, '/') || !*s)
			return err_set(reterr, ERR_INVALID, "%s: there is an empty or bad term",
				       t->pmu);
		r = put_term(t, s, reterr);
		if (r)
			return r;
	}
	return 0;
}

/* "pmu/terms/" without its modifiers. */
static int parse_pmu(const char *text, const char *root, struct pmu_event *ret, struct err *reterr)
{
	const char *slash = strchr(text, '/'), *end = strrchr(text, '/');
	struct pmu_opening *o = &ret->opening[0];
	CLEANUP(freep) char *inside = NULL;
	struct terms t = {root, o->pmu, ret, o, 0};

	if (end == slash || slash == text || (size_t)(slash - text) >= sizeof(o->pmu) ||
	    memchr(text, '.', (size_t)(slash - text)))
		return err_set(reterr, ERR_INVALID,
			       "\"%.80s\" is no event of a PMU; write pmu/event/ or "
			       "pmu/event=0x3c,umask=0x1/",
			       text);
	snprintf(o->pmu, sizeof(o->pmu), "%.*s", (int)(slash - text), text);
	if (!read_type(root, o->pmu, &o->type))
		return err_set(reterr, ERR_NOT_FOUND, "there is no PMU \"%s\" in " PMU_DEVICES,
			       o->pmu);
	/* A package has one counter: cpumask names the CPU that reads it. */
	o->only_cpus = read_cpus(root, o->pmu, "cpus", o->cpus) ||
		       read_cpus(root, o->pmu, "cpumask", o->cpus);
	inside = xstrndup(slash + 1, (size_t)(end - slash - 1));
	ret->openings = 1;
	return put_terms(&t, inside, reterr);
}

/* ---- the other kinds ---- */

static bool parse_generic(const char *text, const char *root, struct pmu_event *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(generics); i++) {
		const struct generic *g = &generics[i];

		if (strcmp(text, g->name) != 0 && (!g->other || strcmp(text, g->other) != 0))
			continue;
		if (g->type == PERF_TYPE_HARDWARE) {
			add_core_openings(root, g->type, g->config, ret);
			return true;
		}
		ret->opening[0] = (struct pmu_opening){
			.pmu = "software", .type = g->type, .config = g->config};
		ret->openings = 1;
		ret->software = true;
		if (strstr(g->name, "clock"))
			snprintf(ret->unit, sizeof(ret->unit), "ns");
		return true;
	}
	return false;
}

/* "L1-dcache-load-misses": cache, operation, and "-misses" or nothing. */
static bool parse_cache(const char *text, const char *root, struct pmu_event *ret)
{
	static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB",
					     "iTLB",	  "branch",    "node"};
	static const struct {
		const char *text;
		uint64_t op, result;
	} ops[] = {
		{"-loads", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
		{"-load-misses", PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS},
		{"-stores", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
		{"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, PERF_COUNT_HW_CACHE_RESULT_MISS},
		{"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, PERF_COUNT_HW_CACHE_RESULT_ACCESS},
		{"-prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH,
		 PERF_COUNT_HW_CACHE_RESULT_MISS},
	};

	for (size_t c = 0; c < ARRAY_LEN(caches); c++) {
		size_t len = strlen(caches[c]);

		for (size_t i = 0; !strncmp(text, caches[c], len) && i < ARRAY_LEN(ops); i++)
			if (!strcmp(text + len, ops[i].text)) {
				add_core_openings(root, PERF_TYPE_HW_CACHE,
						  c | ops[i].op << 8 | ops[i].result << 16, ret);
				return true;
			}
	}
	return false;
}

static bool parse_raw(const char *text, const char *root, struct pmu_event *ret)
{
	char *end;
	uint64_t config;

	if (*text != 'r' || !isxdigit((unsigned char)text[1]))
		return false;
	config = strtoull(text + 1, &end, 16);
	if (*end)
		return false;
	add_core_openings(root, PERF_TYPE_RAW, config, ret);
	return true;
}

/* "sched:sched_switch"; false when tracefs shows no such event. */
static bool parse_tracepoint(const char *text, const char *root, struct pmu_event *ret)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	const char *colon = strchr(text, ':');
	char line[SYSREAD_MAX];
	uint64_t id;

	if (!colon || strchr(colon + 1, ':') || strchr(text, '/') || strstr(text, ".."))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (!sysread_line(line, sizeof(line), root, "%s/events/%.*s/%s/id", places[i],
				  (int)(colon - text), text, colon + 1) ||
		    parse_u64(line, &id, NULL))
			continue;
		ret->opening[0] = (struct pmu_opening){
			.pmu = "tracepoint", .type = PERF_TYPE_TRACEPOINT, .config = id};
		ret->openings = 1;
		ret->software = true;
		return true;
	}
	return false;
}

/* Cuts ":u", ":k" or what follows the last slash from `text` into flags. */
static int take_modifiers(char *text, struct pmu_event *ret, struct err *reterr)
{
	char *slash = strrchr(text, '/'), *colon = strrchr(text, ':'), *m;
	bool user = false, kernel = false;

	if (slash == strchr(text, '/'))
		slash = NULL; /* no second one: no PMU's terms */
	m = slash ? slash + 1 : colon ? colon + 1 : text + strlen(text);
	/* A colon may stand before a tracepoint's name: only these letters are modifiers. */
	if (!*m || (!slash && strspn(m, "uk") != strlen(m)))
		return 0;
	for (const char *s = m + (*m == ':'); *s; s++) {
		if (*s != 'u' && *s != 'k')
			return err_set(reterr, ERR_INVALID,
				       "\"%.80s\": the modifiers are u (user) and k (kernel)",
				       ret->name);
		user |= *s == 'u';
		kernel |= *s == 'k';
	}
	ret->exclude_user = !user;
	ret->exclude_kernel = !kernel;
	ret->exclude_hv = true;
	*m = '\0';
	if (!slash)
		m[-1] = '\0';
	return 0;
}

int pmu_event_parse(const char *name, const char *root, struct pmu_event *ret, struct err *reterr)
{
	struct pmu_event e = {.scale = 1, .unit = "1"};
	char text[sizeof(e.name)];
	int r;

	if (!*name || strlen(name) >= sizeof(e.name) || !text_is_clean(name, strlen(name)) ||
	    strpbrk(name, " \t\n"))
		return err_set(reterr, ERR_INVALID,
			       "an event name has 1 to %zu characters without blanks",
			       sizeof(e.name) - 1);
	snprintf(e.name, sizeof(e.name), "%s", name);
	memcpy(text, e.name, sizeof(text));
	r = take_modifiers(text, &e, reterr);
	if (r)
		return r;
	if (strchr(text, '/'))
		r = parse_pmu(text, root, &e, reterr);
	else if (!parse_generic(text, root, &e) && !parse_cache(text, root, &e) &&
		 !parse_raw(text, root, &e) && !parse_tracepoint(text, root, &e))
		r = pmu_pfm_parse(name, &e, reterr);
	if (!r)
		*ret = e;
	return r;
}

bool pmu_event_only(struct pmu_event *e, const char *pmu)
{
	for (size_t i = 0; i < e->openings; i++)
		if (!strcmp(e->opening[i].pmu, pmu)) {
			if (i)
				e->opening[0] = e->opening[i];
			e->openings = 1;
			return true;
		}
	return false;
}

const struct pmu_opening *pmu_event_on_cpu(const struct pmu_event *e, unsigned int cpu)
{
	for (size_t i = 0; i < e->openings; i++)
		if (!e->opening[i].only_cpus || (cpu < PMU_CPUS_MAX && e->opening[i].cpus[cpu]))
			return &e->opening[i];
	return NULL;
}

void pmu_event_attr(const struct pmu_event *e, const struct pmu_opening *o,
		    struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = o->type,
		.size = sizeof(*ret),
		.config = o->config,
		.config1 = o->config1,
		.config2 = o->config2,
		.exclude_user = e->exclude_user,
		.exclude_kernel = e->exclude_kernel,
		.exclude_hv = e->exclude_hv,
	};
}
