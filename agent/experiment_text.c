/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an experiment says: to the server as JSON, to people as text. */
#include "agent/experiment.h"

#include <ctype.h>

#include "common/model/selector.h"
#include "common/parse.h"

#define ARGV_BYTES_MAX 16384
#define ARG_BYTES_MAX  2000
#define CELLS_SHOWN    40

/* ---- JSON ---- */

void experiment_clean(char *text)
{
	if (text_is_clean(text, strlen(text)))
		return;
	for (unsigned char *s = (unsigned char *)text; *s; s++)
		if ((*s < 0x20 && *s != '\t' && *s != '\n') || *s >= 0x7f)
			*s = '?';
}

/* An argument of any bytes and any length. */
static void put_arg(const char *arg, struct strbuf *out)
{
	size_t len = strlen(arg), cut = len > ARG_BYTES_MAX ? ARG_BYTES_MAX : len;
	CLEANUP(freep) char *text = NULL;

	while (cut < len && cut && ((unsigned char)arg[cut] & 0xc0) == 0x80)
		cut--; /* not inside a character */
	text = xasprintf("%.*s%s", (int)cut, arg, cut < len ? " [...]" : "");
	experiment_clean(text);
	json_put_string(out, text);
}

static void put_experiment(const struct experiment_conf *c, struct strbuf *out)
{
	const struct design *d = &c->design;

	strbuf_puts(out, "\"experiment\":{\"name\":");
	json_put_string(out, c->name);
	strbuf_printf(out, ",\"uid\":\"%s\",\"factors\":[", c->uid);
	for (size_t i = 0; i < d->factors_len; i++) {
		strbuf_printf(out, "%s{\"name\":", i ? "," : "");
		json_put_string(out, d->factors[i].name);
		strbuf_puts(out, ",\"levels\":[");
		for (size_t k = 0; k < d->factors[i].levels_len; k++) {
			strbuf_puts(out, k ? "," : "");
			json_put_string(out, d->factors[i].levels[k]);
		}
		strbuf_puts(out, "]}");
	}
	strbuf_printf(out,
		      "],\"order\":\"%s\",\"runs_per_cell\":%u,\"total_runs\":%zu,\"seed\":%llu}",
		      design_order_name(d->order), d->runs_per_cell, d->runs_len,
		      (unsigned long long)d->seed);
}

static void put_factors(const struct experiment_conf *c, uint32_t cell, struct strbuf *out)
{
	strbuf_puts(out, ",\"factors\":{");
	for (size_t i = 0; i < c->design.factors_len; i++) {
		strbuf_puts(out, i ? "," : "");
		json_put_string(out, c->design.factors[i].name);
		strbuf_putc(out, ':');
		json_put_string(out, design_level(&c->design, cell, i));
	}
	strbuf_putc(out, '}');
}

static void put_argv(const struct experiment_conf *c, struct strbuf *out)
{
	size_t start = out->len;

	if (!c->argv) {
		strbuf_puts(out, ",\"workload\":null");
		return;
	}
	strbuf_puts(out, ",\"workload\":{\"argv\":[");
	for (size_t i = 0; c->argv[i] && out->len - start < ARGV_BYTES_MAX; i++) {
		strbuf_puts(out, i ? "," : "");
		put_arg(c->argv[i], out);
	}
	strbuf_puts(out, "],\"name\":");
	if (c->workload_name)
		json_put_string(out, c->workload_name);
	else
		strbuf_puts(out, "null");
	strbuf_putc(out, '}');
}

void experiment_put_start(const struct experiment_conf *conf, const struct design_run *run,
			  uint32_t attempt, int64_t quiet_until_ns, struct strbuf *out)
{
	put_experiment(conf, out);
	put_factors(conf, run->cell, out);
	strbuf_printf(out, ",\"order\":%u,\"block\":%u,\"attempt\":%u", run->order, run->block,
		      attempt);
	strbuf_printf(out, ",\"warmup_ns\":%lld,\"duration_ns\":%lld", (long long)conf->warmup_ns,
		      (long long)conf->duration_ns);
	put_argv(conf, out);
	if (quiet_until_ns)
		strbuf_printf(out, ",\"quiet_until_ns\":%lld", (long long)quiet_until_ns);
	else
		strbuf_puts(out, ",\"quiet_until_ns\":null");
}

static void put_or_null(const char *key, bool known, int value, struct strbuf *out)
{
	if (known)
		strbuf_printf(out, "\"%s\":%d", key, value);
	else
		strbuf_printf(out, "\"%s\":null", key);
}

void experiment_put_workload(const struct workload_result *r, struct strbuf *out)
{
	strbuf_putc(out, '{');
	put_or_null("exit_status", r->exit_status >= 0, r->exit_status, out);
	strbuf_putc(out, ',');
	put_or_null("signal", r->signal != 0, r->signal, out);
	strbuf_printf(out,
		      ",\"elapsed_ns\":%lld,\"user_ns\":%lld,\"sys_ns\":%lld,"
		      "\"max_rss_bytes\":%lld}",
		      (long long)r->elapsed_ns, (long long)r->user_ns, (long long)r->sys_ns,
		      (long long)r->max_rss_bytes);
}

/* One that we ended ourselves did what it should, whatever its status says. */
const char *experiment_fault(const struct workload_result *r, char *buf)
{
	if (r->stopped || (r->exit_status == 0 && !r->signal))
		return NULL;
	if (r->signal)
		snprintf(buf, 100, "the workload was killed by signal %d (SIG%s)", r->signal,
			 sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
	else
		snprintf(buf, 100, "the workload ended with exit status %d", r->exit_status);
	return buf;
}

/* ---- selectors ---- */

static bool is_field(const char *name)
{
	for (const struct selector_field *f = selector_fields(); f->name; f++)
		if (!strcmp(f->name, name))
			return true;
	return false;
}

void experiment_put_selector(const struct experiment_conf *conf, uint32_t cell, struct strbuf *out)
{
	selector_print_eq("experiment", conf->name, out);
	for (size_t i = 0; i < conf->design.factors_len; i++) {
		const char *name = conf->design.factors[i].name;
		CLEANUP(freep) char *key = xasprintf("%s%s", is_field(name) ? "factor." : "", name);

		selector_print_eq(key, design_level(&conf->design, cell, i), out);
	}
}

/* In single quotes for a shell. */
static void put_shell(const char *s, struct strbuf *out)
{
	strbuf_putc(out, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			strbuf_puts(out, "'\\''");
		else
			strbuf_putc(out, *s);
	}
	strbuf_putc(out, '\'');
}

/* Percent-encoded for a query. */
static void put_query(const char *s, struct strbuf *out)
{
	for (; *s; s++) {
		if (isalnum((unsigned char)*s) || strchr("-._~,", *s))
			strbuf_putc(out, *s);
		else
			strbuf_printf(out, "%%%02X", (unsigned char)*s);
	}
}

/* ---- plan ---- */

static void put_factor_line(const struct factor *f, struct strbuf *out)
{
	CLEANUP(freep) char *env = design_env_name(f->name);

	strbuf_printf(out, "  %s:", f->name);
	for (size_t i = 0; i < f->levels_len; i++)
		strbuf_printf(out, "%s %s", i ? "," : "", f->levels[i]);
	if (f->boot)
		strbuf_printf(out, "  (a boot into %s each time)\n", f->tune);
	else if (f->tune)
		strbuf_printf(out, "  (sets %s)\n", f->tune);
	else
		strbuf_printf(out, "  (a label: nothing is set; the workload sees $%s)\n", env);
}

static void put_length(const struct experiment_conf *c, struct strbuf *out)
{
	char warmup[40], duration[40], all[40];

	if (!c->duration_ns) {
		strbuf_printf(out, "  each run: %s warm-up, then until the workload ends\n",
			      format_ns((double)c->warmup_ns, warmup, sizeof(warmup)));
		return;
	}
	strbuf_printf(
		out, "  each run: %s warm-up, %s measured%s; about %s in all\n",
		format_ns((double)c->warmup_ns, warmup, sizeof(warmup)),
		format_ns((double)c->duration_ns, duration, sizeof(duration)),
		c->argv ? " or until the workload ends" : "",
		format_ns((double)(c->warmup_ns + c->duration_ns) * (double)c->design.runs_len, all,
			  sizeof(all)));
}

static void put_order(const struct design *d, struct strbuf *out)
{
	if (d->order == ORDER_SEQUENTIAL && d->cells > 1)
		strbuf_puts(out,
			    "  warning: sequential order: a drift of the box cannot be told from "
			    "an effect, and the\n"
			    "  comparison will say so; use --order abba, alternate or random\n");
	if (d->order == ORDER_ABBA && d->cells > 1 && d->runs_per_cell % 2)
		strbuf_puts(out, "  note: abba is balanced with an even number of runs only\n");
	if (d->order == ORDER_RANDOM)
		strbuf_printf(out, "  seed: %llu (--seed repeats this order)\n",
			      (unsigned long long)d->seed);
}

void experiment_put_plan(const struct experiment_conf *conf, bool every_run, struct strbuf *out)
{
	const struct design *d = &conf->design;

	strbuf_printf(out, "experiment %s: %zu runs", conf->name, d->runs_len);
	if (d->cells > 1)
		strbuf_printf(out, " (%u in each of %u cells, %s)", d->runs_per_cell, d->cells,
			      design_order_name(d->order));
	if (design_has_boots(d))
		strbuf_printf(out, ", %u boots", design_boots(d));
	strbuf_putc(out, '\n');
	for (size_t i = 0; i < d->factors_len; i++)
		put_factor_line(&d->factors[i], out);
	strbuf_puts(out, "  workload:");
	for (size_t i = 0; conf->argv && conf->argv[i]; i++)
		strbuf_printf(out, " %s", conf->argv[i]);
	strbuf_puts(out, conf->argv ? "\n" : " none: the idle box is measured\n");
	put_length(conf, out);
	put_order(d, out);
	for (size_t i = 0; every_run && i < d->runs_len; i++) {
		strbuf_printf(out, "  run %u/%zu  ", d->runs[i].order, d->runs_len);
		if (d->runs[i].boot)
			strbuf_printf(out, "boot %u  ", d->runs[i].boot);
		if (d->runs[i].block)
			strbuf_printf(out, "block %u  ", d->runs[i].block);
		design_put_cell(d, d->runs[i].cell, out);
		strbuf_putc(out, '\n');
	}
}

/* ---- summary ---- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The middle one of a statistic over the good runs of a cell, as text; "-" when there is none. */
static const char *median(const struct experiment_result *r, uint32_t cell, size_t offset,
			  char *buf, size_t cap)
{
	CLEANUP(freep) int64_t *v = xcalloc(r->len + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < r->len; i++)
		if (r->runs[i].ok && r->runs[i].has_latency && r->runs[i].cell == cell)
			memcpy(&v[n++], (const char *)&r->runs[i] + offset, sizeof(*v));
	if (!n)
		return "-";
	qsort(v, n, sizeof(*v), by_value);
	return format_ns(((double)v[n / 2] + (double)v[(n - 1) / 2]) / 2, buf, cap);
}

static void put_cell_row(const struct experiment_conf *c, const struct experiment_result *r,
			 uint32_t cell, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf name = {0};
	char p50[40], p99[40], max[40];
	size_t ok = 0;

	for (size_t i = 0; i < r->len; i++)
		ok += r->runs[i].ok && r->runs[i].cell == cell;
	design_put_cell(&c->design, cell, &name);
	strbuf_printf(out, "  %-30s %4zu  %9s  %9s  %9s\n", name.data, ok,
		      median(r, cell, offsetof(struct run_result, p50_ns), p50, sizeof(p50)),
		      median(r, cell, offsetof(struct run_result, p99_ns), p99, sizeof(p99)),
		      median(r, cell, offsetof(struct run_result, max_ns), max, sizeof(max)));
}

/* Of a boot only the cells that were run in it are shown. */
static bool has_runs(const struct experiment_result *r, uint32_t cell)
{
	for (size_t i = 0; i < r->len; i++)
		if (r->runs[i].cell == cell)
			return true;
	return false;
}

static void put_delivery(const struct experiment_result *r, const char *server,
			 const char *spool_dir, struct strbuf *out)
{
	if (!server)
		strbuf_printf(out,
			      "No server was named (--server URL): everything is in the spool %s,\n"
			      "and the next `rigstat-agent daemon` or `run` with a server sends "
			      "it.\n",
			      spool_dir);
	else if (r->delivered)
		strbuf_printf(out, "Everything is on the server %s.\n", server);
	else
		strbuf_printf(out,
			      "%llu records are still in the spool %s (%s);\nthe next "
			      "`rigstat-agent daemon` or `run` sends them.\n",
			      (unsigned long long)r->left, spool_dir,
			      *r->problem ? r->problem : "the server was too slow");
}

void experiment_put_comparison(const struct experiment_conf *c, const char *server,
			       struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf link = {0};

	if (c->design.cells < 2)
		return;
	strbuf_puts(out, "Compare:\n  rigstat compare --server ");
	strbuf_puts(out, server);
	strbuf_printf(&link, "%s/compare", server);
	for (uint32_t i = 0; i < c->design.cells && i < CELLS_SHOWN; i++) {
		CLEANUP(strbuf_done) struct strbuf s = {0};

		experiment_put_selector(c, i, &s);
		strbuf_printf(out, " \\\n    --%c ", i ? 'b' : 'a');
		put_shell(s.data, out);
		strbuf_printf(&link, "%c%c=", i ? '&' : '?', i ? 'b' : 'a');
		put_query(s.data, &link);
	}
	if (c->metric) {
		strbuf_printf(out, " \\\n    --metric %s", c->metric);
		strbuf_printf(&link, "&metric=%s", c->metric);
	}
	strbuf_printf(out, "\n  %s\n", link.data);
}

void experiment_put_summary(const struct experiment_conf *conf, const struct experiment_result *r,
			    const char *server, const char *spool_dir, struct strbuf *out)
{
	char elapsed[40];

	const struct design *d = &conf->design;

	strbuf_printf(out, "\nexperiment %s", conf->name);
	if (conf->end)
		strbuf_printf(out, ", boot %u of %u", d->runs[conf->first].boot, design_boots(d));
	strbuf_printf(out, ": %zu of %zu runs ended well",
		      r->len - r->failed - r->aborted + r->earlier_ok,
		      conf->end ? conf->end - conf->first : d->runs_len);
	if (r->failed + r->earlier_failed)
		strbuf_printf(out, ", %u failed", r->failed + r->earlier_failed);
	if (r->aborted)
		strbuf_printf(out, ", %u aborted", r->aborted);
	strbuf_printf(out, ", in %s\n", format_ns((double)r->elapsed_ns, elapsed, sizeof(elapsed)));
	if (r->earlier_ok + r->earlier_failed)
		strbuf_printf(out, "%u of the runs were done before it was interrupted.\n",
			      r->earlier_ok + r->earlier_failed);
	if (r->paused)
		strbuf_puts(out, "It is paused: the other runs are still to be done.\n");
	strbuf_putc(out, '\n');
	strbuf_printf(out, "  %-30s %4s  %9s  %9s  %9s\n", "wake-up latency, median of runs",
		      "runs", "p50", "p99", "max");
	for (uint32_t i = 0; i < conf->design.cells && i < CELLS_SHOWN; i++)
		if (!conf->end || has_runs(r, i))
			put_cell_row(conf, r, i, out);
	strbuf_putc(out, '\n');
	put_delivery(r, server, spool_dir, out);
	if (server && !conf->end)
		experiment_put_comparison(conf, server, out);
}
