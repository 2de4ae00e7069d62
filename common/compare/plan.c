/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be concluded at all: what a replicate is, in which order the sides were measured, and
 * which neighbours form a block. docs/STATISTICS.md, "Design". */
#include "common/check.h"
#include "common/compare/internal.h"

/* Blocks that a paired analysis needs, and the runs a side from which two changes of side in time
 * are too few to tell a difference from a drift. */
#define PAIRS_AT_LEAST	   3
#define RUNS_OF_FEW_BLOCKS 4

const char *run_order_name(enum run_order o)
{
	static const char *const names[] = {"unknown", "sequential", "alternating", "abba",
					    "random"};

	return names[o];
}

const char *replicate_name(enum replicate r)
{
	static const char *const names[] = {"run", "boot", "host"};

	return names[r];
}

static const char *host_of(const struct run *r)
{
	return r->host ? r->host : "";
}

/* A run and where it stands: the order of the experiment, else its start. */
struct slot {
	const struct run *run;
	int side;
	size_t obs; /* SIZE_MAX: left out, keeps its place in the order */
	size_t unit;
	uint32_t rank;
};

static int by_order(const void *a, const void *b)
{
	const struct run *x = ((const struct slot *)a)->run, *y = ((const struct slot *)b)->run;

	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_start(const void *a, const void *b)
{
	const struct run *x = ((const struct slot *)a)->run, *y = ((const struct slot *)b)->run;

	return x->started_ns < y->started_ns ? -1 : x->started_ns > y->started_ns;
}

/* All runs of both sides on this host (NULL: on any), those that count first. */
static struct slot *slots_of(const struct cmp *c, const char *host, size_t *ret_n,
			     size_t *ret_counted)
{
	struct slot *v = xcalloc(c->side[0].in->n + c->side[1].in->n + 1, sizeof(*v));
	size_t n = 0;

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n; i++)
			if (!host || !strcmp(host_of(c->side[s].obs[i].run), host))
				v[n++] = (struct slot){c->side[s].obs[i].run, s, i, SIZE_MAX, 0};
	*ret_counted = n;
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < c->side[s].n_out; i++)
			if (!host || !strcmp(host_of(c->side[s].out[i].run), host))
				v[n++] = (struct slot){c->side[s].out[i].run, s, SIZE_MAX, SIZE_MAX,
						       0};
	*ret_n = n;
	return v;
}

static bool same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool one_experiment(const struct slot *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (!same_text(v[0].run->experiment, v[i].run->experiment))
			return false;
	return true;
}

/* Ranks by the experiment's order, or by start time. Runs that do not count keep their place (an
 * excluded run must not shift the blocks after it) unless an attempt repeated them. Two counted
 * runs at one place mean that the order says nothing. */
static bool rank_by(struct slot *v, size_t n, bool use_order)
{
	uint32_t rank = 0;
	int64_t last = 0;
	bool counted = false;

	qsort(v, n, sizeof(*v), use_order ? by_order : by_start);
	for (size_t i = 0; i < n; i++) {
		int64_t at = use_order ? v[i].run->order : v[i].run->started_ns;

		if (!at && v[i].obs == SIZE_MAX)
			continue;
		if (!at)
			return false;
		if (!rank || at != last) {
			rank++;
			counted = false;
		}
		last = at;
		v[i].rank = rank;
		if (v[i].obs != SIZE_MAX && counted)
			return false;
		counted |= v[i].obs != SIZE_MAX;
	}
	return true;
}

static bool rank_slots(struct slot *v, size_t n)
{
	if (one_experiment(v, n) && rank_by(v, n, true))
		return true;
	for (size_t i = 0; i < n; i++)
		v[i].rank = 0;
	if (rank_by(v, n, false))
		return true;
	for (size_t i = 0; i < n; i++)
		v[i].rank = 0;
	return false;
}

static bool same_unit(enum replicate r, const struct run *x, const struct run *y)
{
	if (!same_text(x->host, y->host))
		return false;
	if (r == REPLICATE_HOST)
		return true;
	/* Runs whose boot is not known are taken as one boot: two are not proved. */
	return r == REPLICATE_BOOT && same_text(x->boot_id, y->boot_id);
}

static size_t unit_for(struct plan *p, const struct slot *v, size_t i)
{
	const struct slot *s = &v[i];
	struct unit *u;

	for (size_t k = 0; p->replicate != REPLICATE_RUN && k < i; k++)
		if (v[k].side == s->side && v[k].unit != SIZE_MAX &&
		    same_unit(p->replicate, v[k].run, s->run))
			return v[k].unit;
	p->units[s->side] =
		xrealloc(p->units[s->side], p->n[s->side] + 1, sizeof(*p->units[s->side]));
	u = &p->units[s->side][p->n[s->side]];
	*u = (struct unit){.host = host_of(s->run), .rank = s->rank};
	return p->n[s->side]++;
}

static void make_units(struct plan *p, struct slot *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].obs == SIZE_MAX)
			continue;
		v[i].unit = unit_for(p, v, i);
		p->unit_of[v[i].side][v[i].obs] = v[i].unit;
		p->units[v[i].side][v[i].unit].runs++;
	}
}

/* Block of a unit: that of its runs when they agree. */
static uint32_t block_of(const struct slot *v, size_t n, int side, size_t unit)
{
	uint32_t block = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].side != side || v[i].unit != unit)
			continue;
		if (!v[i].run->block || (block && v[i].run->block != block))
			return 0;
		block = v[i].run->block;
	}
	return block;
}

/* Counts complete blocks; units in incomplete ones are not paired. Returns how many blocks have
 * both sides. */
static size_t count_pairs(struct plan *p)
{
	size_t complete = 0;

	p->unpaired = 0;
	for (size_t i = 0; i < p->n[0]; i++) {
		bool first = true, both = false;

		for (size_t k = 0; k < i; k++)
			first &= p->units[0][k].pair != p->units[0][i].pair;
		for (size_t k = 0; k < p->n[1]; k++)
			both |= p->units[1][k].pair == p->units[0][i].pair;
		complete += p->units[0][i].pair && first && both;
		p->unpaired += !(p->units[0][i].pair && both);
	}
	for (size_t k = 0; k < p->n[1]; k++) {
		bool both = false;

		for (size_t i = 0; i < p->n[0]; i++)
			both |= p->units[0][i].pair == p->units[1][k].pair;
		p->unpaired += !(p->units[1][k].pair && both);
	}
	return complete;
}

static bool pair_by_block(struct plan *p, const struct slot *v, size_t n)
{
	for (int s = 0; s < 2; s++) {
		for (size_t u = 0; u < p->n[s]; u++) {
			p->units[s][u].pair = block_of(v, n, s, u);
			if (!p->units[s][u].pair)
				return false;
		}
	}
	p->pairs = count_pairs(p);
	return p->pairs >= PAIRS_AT_LEAST && p->unpaired <= p->pairs;
}

/* Neighbours in time: places 1+2, 3+4, ... Refused when a pair holds one side twice, because then
 * the sides do not alternate. */
static bool pair_neighbours(struct plan *p)
{
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < p->n[s]; i++) {
			p->units[s][i].pair = (p->units[s][i].rank + 1) / 2;
			for (size_t k = 0; k < i; k++)
				if (p->units[s][k].pair == p->units[s][i].pair)
					return false;
		}
	}
	p->pairs = count_pairs(p);
	return p->pairs >= PAIRS_AT_LEAST && p->unpaired <= p->pairs;
}

struct place {
	uint32_t rank;
	int side;
};

static int by_rank(const void *a, const void *b)
{
	uint32_t x = ((const struct place *)a)->rank, y = ((const struct place *)b)->rank;

	return x < y ? -1 : x > y;
}

static void read_order(struct plan *p)
{
	size_t n = p->n[0] + p->n[1], changes = 0, repeats = 0, k = 0;
	size_t few = p->n[0] < p->n[1] ? p->n[0] : p->n[1];
	struct place *v = xcalloc(n + 1, sizeof(*v));

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p->n[s]; i++)
			v[k++] = (struct place){p->units[s][i].rank, s};
	qsort(v, n, sizeof(*v), by_rank);
	for (size_t i = 1; i < n; i++) {
		bool change = v[i].side != v[i - 1].side;

		changes += change;
		/* Where an excluded run left a hole, the same side twice is no repeat. */
		repeats += !change && v[i].rank == v[i - 1].rank + 1;
	}
	free(v);
	if (changes <= 1 || (changes == 2 && few >= RUNS_OF_FEW_BLOCKS)) {
		p->order = ORDER_SEQUENTIAL;
		p->confounded = few > 1;
	} else if (!repeats) {
		p->order = ORDER_ALTERNATING;
	} else {
		p->order = pair_neighbours(p) ? ORDER_ABBA : ORDER_RANDOM;
	}
}

/* Boots and hosts take the place of their first run, counted anew. */
static void rank_units(struct plan *p)
{
	size_t n = p->n[0] + p->n[1], k = 0;
	struct place *v = xcalloc(n + 1, sizeof(*v));

	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p->n[s]; i++)
			v[k++] = (struct place){p->units[s][i].rank, s};
	qsort(v, n, sizeof(*v), by_rank);
	for (int s = 0; s < 2; s++)
		for (size_t i = 0; i < p->n[s]; i++)
			for (k = 0; k < n; k++)
				if (v[k].rank == p->units[s][i].rank && v[k].side == s)
					p->units[s][i].pair = (uint32_t)k + 1;
	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < p->n[s]; i++) {
			p->units[s][i].rank = p->units[s][i].pair;
			p->units[s][i].pair = 0;
		}
	}
	free(v);
}

/* Numbers the complete blocks, so that rows are folded in one pass. */
static void number_blocks(struct plan *p)
{
	size_t n = 0;

	if (!p->paired)
		return;
	for (int s = 0; s < 2; s++) {
		p->block_of[s] = xcalloc(p->n[s] + 1, sizeof(*p->block_of[s]));
		for (size_t u = 0; u < p->n[s]; u++)
			p->block_of[s][u] = SIZE_MAX;
	}
	for (size_t u = 0; u < p->n[0]; u++) {
		uint32_t pair = p->units[0][u].pair;
		bool both = false;

		if (!pair || p->block_of[0][u] != SIZE_MAX)
			continue;
		for (size_t k = 0; k < p->n[1]; k++) {
			if (p->units[1][k].pair != pair)
				continue;
			p->block_of[1][k] = n;
			both = true;
		}
		for (size_t k = u; k < p->n[0] && both; k++)
			if (p->units[0][k].pair == pair)
				p->block_of[0][k] = n;
		n += both;
	}
	p->pairs = n;
}

static void plan_init(struct cmp *c, struct plan *p, enum replicate r)
{
	*p = (struct plan){.replicate = r};
	calc_drift(NULL, NULL, NULL, 0, c->conf, &p->drift);
	for (int s = 0; s < 2; s++) {
		p->unit_of[s] = xcalloc(c->side[s].n + 1, sizeof(*p->unit_of[s]));
		for (size_t i = 0; i < c->side[s].n; i++)
			p->unit_of[s][i] = SIZE_MAX;
	}
}

/* One host, or hosts that nobody named. */
static void make_single(struct cmp *c, const char *host, struct plan *p)
{
	size_t n, counted;
	struct slot *v = slots_of(c, host, &n, &counted);
	bool ranked = counted && rank_slots(v, n);

	plan_init(c, p, c->boot_fixed ? REPLICATE_BOOT : REPLICATE_RUN);
	make_units(p, v, n);
	if (ranked) {
		if (p->replicate != REPLICATE_RUN)
			rank_units(p);
		read_order(p);
		p->confounded &= !c->o->history;
	}
	if (!p->confounded && one_experiment(v, n) && pair_by_block(p, v, n))
		p->paired = true;
	else if (ranked && !p->confounded)
		p->paired = pair_neighbours(p);
	if (!p->paired)
		p->pairs = p->unpaired = 0;
	number_blocks(p);
	free(v);
}

void plan_of_host(struct cmp *c, const char *host, struct plan *ret)
{
	make_single(c, host, ret);
}

/* The host is the replicate; each is its own block. */
static void make_pooled(struct cmp *c, struct plan *p)
{
	size_t n, counted;
	struct slot *v = slots_of(c, NULL, &n, &counted);

	plan_init(c, p, REPLICATE_HOST);
	make_units(p, v, n);
	for (int s = 0; s < 2; s++)
		for (size_t u = 0; u < p->n[s]; u++)
			for (size_t h = 0; h < c->n_hosts; h++)
				if (!strcmp(c->hosts[h], p->units[s][u].host))
					p->units[s][u].pair = (uint32_t)h + 1;
	p->pairs = count_pairs(p);
	p->paired = p->pairs >= PAIRS_AT_LEAST;
	number_blocks(p);
	free(v);
	for (size_t h = 0; h < c->n_hosts; h++) {
		struct plan one;

		make_single(c, c->hosts[h], &one);
		p->confounded |= one.confounded;
		if (!h)
			p->order = one.order;
		else if (one.order != p->order)
			p->order = one.order == ORDER_SEQUENTIAL || p->order == ORDER_SEQUENTIAL
					   ? ORDER_SEQUENTIAL
					   : ORDER_RANDOM;
		plan_done(&one);
	}
}

static const char *boot_factor(const char *name)
{
	static const char *const fixed[] = {"kernel",	"cmdline",  "boot",    "microcode",
					    "bios",	"firmware", "preempt", "mitigations",
					    "isolcpus", "nohz_full"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		size_t len = strlen(fixed[i]);

		if (!strncmp(name, fixed[i], len) && (!name[len] || strchr("._-", name[len])))
			return name;
	}
	return NULL;
}

/* Facts that only a boot changes; other kernel.* ones are settings of the running kernel. */
static bool boot_fact(const char *key)
{
	static const char *const fixed[] = {"kernel.release",  "kernel.version", "kernel.build_id",
					    "kernel.config",   "kernel.cmdline", "kernel.hz",
					    "kernel.realtime", "kernel.preempt", "cmdline"};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		if (!strcmp(key, fixed[i]))
			return true;
	return !strncmp(key, "kernel.config.", 14);
}

/* What is fixed at boot: a factor of such a name, or a kernel or command line that differs. */
static void find_boot_fixed(struct cmp *c)
{
	static const char *const lists[] = {"intended", "unexpected", "blocking"};

	if (c->factor && boot_factor(c->factor))
		c->boot_why = c->factor;
	for (size_t i = 0; i < c->n_factors && !c->boot_why; i++)
		c->boot_why = boot_factor(c->factors[i].key);
	for (size_t l = 0; l < ARRAY_LEN(lists) && !c->boot_why; l++) {
		size_t i;
		json_t *item;

		json_array_foreach(json_object_get(c->environment, lists[l]), i, item)
		{
			const char *key = json_string_value(json_object_get(item, "key"));

			if (boot_fact(key))
				c->boot_why = key;
		}
	}
	c->boot_fixed = c->boot_why != NULL;
}

void plan_make(struct cmp *c)
{
	find_boot_fixed(c);
	if (c->n_hosts > 1)
		make_pooled(c, &c->plan);
	else
		make_single(c, NULL, &c->plan);
}

void plan_done(struct plan *p)
{
	for (int s = 0; s < 2; s++) {
		free(p->units[s]);
		free(p->unit_of[s]);
		free(p->block_of[s]);
	}
}

static const char *order_words(const struct plan *p)
{
	switch (p->order) {
	case ORDER_UNKNOWN:
		return "in unknown order";
	case ORDER_SEQUENTIAL:
		return "one side after the other";
	case ORDER_ALTERNATING:
		return "alternating";
	case ORDER_ABBA:
		return "alternating (ABBA)";
	case ORDER_RANDOM:
		return "in mixed order";
	}
	return "";
}

void plan_describe(const struct cmp *c, const struct plan *p, struct strbuf *out)
{
	const char *what = replicate_name(p->replicate);

	if (c->data == DATA_SUMMARY) {
		strbuf_printf(out, "%llu + %llu runs, only their summary is known",
			      (unsigned long long)c->side[0].summary.n,
			      (unsigned long long)c->side[1].summary.n);
		return;
	}
	if (p->replicate == REPLICATE_HOST) {
		strbuf_printf(out, "%zu + %zu runs on %zu hosts, each host compared with itself",
			      c->side[0].n, c->side[1].n, c->n_hosts);
		return;
	}
	strbuf_printf(out, "%zu + %zu %s%s, %s", p->n[0], p->n[1], what,
		      p->n[0] == 1 && p->n[1] == 1 ? "" : "s", order_words(p));
	if (p->replicate == REPLICATE_BOOT)
		strbuf_printf(out, ", %zu + %zu runs in them", c->side[0].n, c->side[1].n);
	if (p->paired)
		strbuf_printf(out, ", analysed in %zu blocks", p->pairs);
	if (p->paired && p->unpaired)
		strbuf_printf(out, " (%zu %s without a partner left out)", p->unpaired, what);
}
