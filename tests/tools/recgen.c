/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a valid stream of records, as an agent would, to a file: for tests and benchmarks of
 * ingest. Deterministic for a seed. Each second of a run is one record with a histogram of
 * wake-up latency a CPU and one counter a CPU. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/record.h"
#include "common/sha256.h"

struct config {
	const char *out, *host, *experiment;
	uint64_t seed, runs, seconds, warmup, cpus, rate, breaches, first_seq, first_run;
	int64_t start_ns;
	bool no_end, watch;
};

struct gen {
	const struct config *c;
	FILE *f;
	struct record_writer w;
	struct hist_rec hist;
	uint64_t seq, random;
	int64_t now_ns; /* realtime */
	uint32_t run;
};

static uint64_t next_random(struct gen *g)
{
	/* splitmix64 */
	uint64_t z = (g->random += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void flush(struct gen *g)
{
	record_finish(&g->w, g->seq++, g->run, g->now_ns - g->c->start_ns + NS_PER_SEC, g->now_ns);
	if (fwrite(g->w.buf.data, 1, g->w.buf.len, g->f) != g->w.buf.len) {
		perror(g->c->out);
		exit(1);
	}
	record_begin(&g->w);
}

static void json_item(struct gen *g, enum item_type type, const struct strbuf *b)
{
	record_item_json(&g->w, type, b->data, b->len);
}

/* Environment, start and series of a run. */
static void begin_run(struct gen *g, uint64_t k)
{
	static const char environment[] =
		"{\"cpu.model\":\"Test "
		"CPU\",\"kernel.release\":\"6.1.0-test\",\"memory.bytes\":1024}";
	struct strbuf b CLEANUP(strbuf_done) = {0};
	char hex[SHA256_HEX];

	record_item_json(&g->w, ITEM_ENVIRONMENT, environment, strlen(environment));
	strbuf_printf(
		&b,
		"{\"run_uid\":\"%016" PRIx64 "%016" PRIx64 "\",\"kind\":\"%s\",\"host\":\"%s\","
		"\"agent_version\":\"0.1.0\",\"boot_id\":\"boot-1\",\"started_ns\":%" PRId64 ",",
		g->c->seed, k, g->c->watch ? "watch" : "measured", g->c->host, g->now_ns);
	if (g->c->experiment && !g->c->watch)
		strbuf_printf(
			&b,
			"\"experiment\":{\"name\":\"%s\",\"uid\":\"%032" PRIx64 "\","
			"\"factors\":[{\"name\":\"rq_affinity\",\"levels\":[\"0\",\"1\"]}],"
			"\"order\":\"alternating\",\"runs_per_cell\":%" PRIu64 ",\"total_runs\":"
			"%" PRIu64 ",\"seed\":1},\"factors\":{\"rq_affinity\":\"%" PRIu64 "\"},"
			"\"order\":%" PRIu64 ",\"block\":%" PRIu64 ",\"attempt\":1,",
			g->c->experiment, g->c->seed, (g->c->runs + 1) / 2, g->c->runs, k % 2,
			k + 1, k / 2 + 1);
	strbuf_printf(
		&b,
		"\"warmup_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64
		",\"workload\":{\"argv\":[\"true\"],\"name\":null},\"environment_sha256\":\"%s\","
		"\"tags\":{\"made\":\"recgen\"},\"quiet_until_ns\":null}",
		g->c->warmup * (uint64_t)NS_PER_SEC, g->c->seconds * (uint64_t)NS_PER_SEC,
		sha256_hex(environment, strlen(environment), hex));
	json_item(g, ITEM_RUN_START, &b);
	for (uint64_t cpu = 0; cpu < g->c->cpus; cpu++) {
		strbuf_clear(&b);
		strbuf_printf(&b,
			      "{\"metric\":\"wakeup_latency\",\"kind\":\"hist\",\"unit\":\"ns\","
			      "\"labels\":{\"cpu\":\"%" PRIu64
			      "\"},\"method\":\"rigstat-wakeup/1\","
			      "\"omission\":\"keeps_deadlines\",\"interval_ns\":1000000,"
			      "\"resolution_ns\":1,\"reason\":null,\"state\":\"exact\"}",
			      cpu);
		record_item_series(&g->w, 2 * cpu + 1, b.data, b.len);
		strbuf_clear(&b);
		strbuf_printf(
			&b,
			"{\"metric\":\"context_switches\",\"kind\":\"counter\",\"unit\":\"1\","
			"\"labels\":{\"cpu\":\"%" PRIu64 "\"},\"method\":\"perf/1\","
			"\"state\":\"exact\"}",
			cpu);
		record_item_series(&g->w, 2 * cpu + 2, b.data, b.len);
	}
}

static int64_t one_latency(struct gen *g, uint64_t k)
{
	uint64_t r = next_random(g);
	int64_t base = 3000 + (int64_t)(r % 4000) + (k % 2 ? 500 : 0);

	if (r >> 60 == 0) /* one of 16 is long */
		base += (int64_t)((r >> 20) % 60000);
	return base;
}

static void second(struct gen *g, uint64_t k)
{
	for (uint64_t cpu = 0; cpu < g->c->cpus; cpu++) {
		struct counter_sample s;

		hist_rec_reset(&g->hist);
		for (uint64_t i = 0; i < g->c->rate; i++)
			hist_rec_add(&g->hist, one_latency(g, k));
		record_item_hist(&g->w, 2 * cpu + 1, g->now_ns, NS_PER_SEC, &g->hist);
		s.delta = (int64_t)(1000 + next_random(g) % 500);
		s.enabled_ns = NS_PER_SEC;
		s.running_ns = next_random(g) % 8 ? (uint64_t)NS_PER_SEC : NS_PER_SEC / 2;
		record_item_counter(&g->w, 2 * cpu + 2, g->now_ns, NS_PER_SEC, &s, 1);
	}
	g->now_ns += NS_PER_SEC;
}

static void breach(struct gen *g, uint64_t i)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};

	strbuf_printf(&b,
		      "{\"t_ns\":%" PRId64 ",\"cpu\":0,\"late_ns\":%" PRIu64 ",\"due_ns\":%" PRId64
		      ",\"holders\":[{\"name\":\"irq vda\",\"kind\":\"irq\",\"ns\":40000,"
		      "\"reason\":null}],\"read\":true}",
		      g->now_ns - 1000, 50000 + i, g->now_ns - 60000);
	json_item(g, ITEM_BREACH, &b);
}

static void end_run(struct gen *g, uint64_t k)
{
	struct strbuf b CLEANUP(strbuf_done) = {0};

	record_item_value(&g->w, 2 * g->c->cpus + 1, 12.5 + (double)k);
	strbuf_printf(
		&b,
		"{\"run_uid\":\"%016" PRIx64 "%016" PRIx64 "\",\"state\":\"ok\",\"reason\":null,"
		"\"window_end\":\"duration\",\"started_ns\":0,\"ended_ns\":%" PRId64
		",\"measured_ns\":%" PRIu64
		",\"workload\":{\"exit_status\":0,\"signal\":null,\"elapsed_ns\":1,\"user_ns\":2,"
		"\"sys_ns\":3,\"max_rss_bytes\":4},\"cost\":{\"cpu_ns\":5,\"measure_cpu_ns\":1,"
		"\"rss_bytes\":6,\"rss_anon_bytes\":7,\"ctx_switches\":8},\"missed\":{\"1\":3},"
		"\"lost\":2,\"marks\":[{\"code\":\"no-fifo\",\"text\":\"no real-time priority\"}]}",
		g->c->seed, k, g->now_ns, g->c->seconds * (uint64_t)NS_PER_SEC);
	json_item(g, ITEM_RUN_END, &b);
}

static void declare_value(struct gen *g)
{
	static const char text[] = "{\"metric\":\"bandwidth\",\"kind\":\"value\",\"unit\":\"MB/s\","
				   "\"labels\":{},\"method\":\"recgen/1\",\"state\":\"exact\"}";

	record_item_series(&g->w, 2 * g->c->cpus + 1, text, strlen(text));
}

static void one_run(struct gen *g, uint64_t k)
{
	g->run = (uint32_t)(k + 1);
	begin_run(g, k);
	record_item_phase(&g->w, 1, g->now_ns);
	flush(g);
	for (uint64_t s = 0; s < g->c->warmup; s++) {
		second(g, k);
		flush(g);
	}
	declare_value(g);
	record_item_phase(&g->w, 2, g->now_ns);
	for (uint64_t s = 0; s < g->c->seconds; s++) {
		second(g, k);
		if (s < g->c->breaches)
			breach(g, s);
		flush(g);
	}
	if (g->c->no_end && k + 1 == g->c->first_run + g->c->runs)
		return;
	record_item_phase(&g->w, 3, g->now_ns);
	end_run(g, k);
	flush(g);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t v = strtoull(text, &end, 0);

	if (*end) {
		fprintf(stderr, "recgen: '%s' is not a number\n", text);
		exit(3);
	}
	return v;
}

int main(int argc, char **argv)
{
	struct config c = {.host = "box1",
			   .experiment = "rq",
			   .seed = 1,
			   .runs = 1,
			   .seconds = 5,
			   .warmup = 1,
			   .cpus = 2,
			   .rate = 1000,
			   .first_seq = 1,
			   .start_ns = clock_realtime_ns()};
	static const struct option table[] = {
		{"out", 1, NULL, 'o'},	      {"host", 1, NULL, 'h'},
		{"experiment", 1, NULL, 'e'}, {"seed", 1, NULL, 's'},
		{"runs", 1, NULL, 'n'},	      {"seconds", 1, NULL, 't'},
		{"warmup", 1, NULL, 'w'},     {"cpus", 1, NULL, 'c'},
		{"rate", 1, NULL, 'r'},	      {"breaches", 1, NULL, 'b'},
		{"first-seq", 1, NULL, 'q'},  {"first-run", 1, NULL, 'k'},
		{"start-ns", 1, NULL, 'a'},   {"no-end", 0, NULL, 'x'},
		{"watch", 0, NULL, 'W'},      {0},
	};
	struct gen *g = xcalloc(1, sizeof(*g));
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		uint64_t *numbers[128] = {
			['s'] = &c.seed,     ['n'] = &c.runs,	   ['t'] = &c.seconds,
			['w'] = &c.warmup,   ['c'] = &c.cpus,	   ['r'] = &c.rate,
			['b'] = &c.breaches, ['q'] = &c.first_seq, ['k'] = &c.first_run};

		if (opt == 'o')
			c.out = optarg;
		else if (opt == 'h')
			c.host = optarg;
		else if (opt == 'e')
			c.experiment = *optarg ? optarg : NULL;
		else if (opt == 'a')
			c.start_ns = (int64_t)number(optarg);
		else if (opt == 'x')
			c.no_end = true;
		else if (opt == 'W')
			c.watch = true;
		else if (opt < 128 && opt > 0 && numbers[opt])
			*numbers[opt] = number(optarg);
		else
			return 3;
	}
	if (!c.out) {
		fputs("recgen: --out FILE is needed\n", stderr);
		return 3;
	}
	*g = (struct gen){.c = &c, .seq = c.first_seq, .random = c.seed, .now_ns = c.start_ns};
	g->f = fopen(c.out, "wbe");
	if (!g->f) {
		perror(c.out);
		return 1;
	}
	record_begin(&g->w);
	for (uint64_t k = c.first_run; k < c.first_run + c.runs; k++)
		one_run(g, k);
	record_writer_done(&g->w);
	if (fclose(g->f) != 0) {
		perror(c.out);
		return 1;
	}
	free(g);
	return 0;
}
