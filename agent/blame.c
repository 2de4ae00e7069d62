/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/blame.h"
#include "agent/blame_reader.h"
#include "agent/facts.h"
#include "common/clock.h"

#include <stdio.h>

#define THRESHOLD_START_NS (100 * NS_PER_US) /* until the warm-up has shown a p99.9 */
#define WARMUP_SAMPLES_MIN 2000
#define WORST_KEPT	   20
#define ITEMS_MAX	   2000 /* BREACH items of one interval */
#define CAUSES_MAX	   64
#define TAKE_AT_ONCE	   64
#define BUDGET		   0.01 /* of one CPU */

struct cause {
	char name[40];
	int64_t ns;
	uint64_t largest; /* breaches in which it was the largest holder */
};

struct blame {
	struct probe base;
	struct wakeup *w;
	const struct probe *wakeup_probe;
	struct blame_recorder *rec;
	struct blame_reader *reader;
	struct err why_not; /* text is "" when the recorder works */
	bool auto_threshold;
	int64_t threshold_ns;
	/* the run */
	int64_t measured_from_ns, measured_to_ns; /* realtime; 0: not yet */
	uint64_t breaches, read, unlisted;
	int64_t read_ns; /* lateness of all that was read */
	struct cause causes[CAUSES_MAX];
	size_t n_causes;
	int64_t worst[WORST_KEPT]; /* lateness, largest first */
	size_t n_worst;
};

/* ---- tallying ---- */

static struct cause *cause_of(struct blame *b, const char *name)
{
	for (size_t i = 0; i < b->n_causes; i++)
		if (!strcmp(b->causes[i].name, name))
			return &b->causes[i];
	if (b->n_causes == CAUSES_MAX - 1)
		name = "other causes";
	if (b->n_causes == CAUSES_MAX)
		return &b->causes[CAUSES_MAX - 1];
	b->causes[b->n_causes] = (struct cause){0};
	(void)snprintf(b->causes[b->n_causes].name, sizeof(b->causes[0].name), "%s", name);
	return &b->causes[b->n_causes++];
}

static void tally(struct blame *b, const struct blame_done *d)
{
	b->breaches++;
	if (!d->read)
		return;
	b->read++;
	b->read_ns += d->late_ns;
	for (size_t i = 0; i < d->split.n; i++) {
		struct cause *c = cause_of(b, d->split.holders[i].name);

		c->ns += d->split.holders[i].ns;
		c->largest += i == 0;
	}
}

/* True when it is among the worst of the run so far: then its raw events are worth a look. */
static bool among_worst(struct blame *b, int64_t late_ns)
{
	size_t i = b->n_worst;

	if (i == WORST_KEPT && late_ns <= b->worst[i - 1])
		return false;
	if (i < WORST_KEPT)
		b->n_worst++;
	else
		i--;
	for (; i > 0 && b->worst[i - 1] < late_ns; i--)
		b->worst[i] = b->worst[i - 1];
	b->worst[i] = late_ns;
	return true;
}

/* ---- writing ---- */

static void put_holders(struct strbuf *j, const struct blame_split *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct blame_holder *h = &s->holders[i];

		strbuf_printf(j, "%s{\"name\":", i ? "," : "");
		json_put_string(j, h->name);
		strbuf_printf(j, ",\"kind\":\"%s\",\"ns\":%lld", blame_holder_kind_name(h->kind),
			      (long long)h->ns);
		if (h->reason) {
			strbuf_puts(j, ",\"reason\":");
			json_put_string(j, h->reason);
		}
		strbuf_putc(j, '}');
	}
}

static void event_text(const struct blame_event *e, char *buf, size_t cap)
{
	static const char *const words[] = {"?",	   "switch",	"waking",
					    "irq in",	   "irq out",	"softirq in",
					    "softirq out", "vector in", "vector out"};
	const char *word = words[e->kind < ARRAY_LEN(words) ? e->kind : 0];

	if (e->kind == BLAME_SWITCH)
		(void)snprintf(buf, cap, "switch %.16s:%u (%d) -> %.16s:%u (%d)", e->prev_name,
			       e->id, e->prev_prio, e->name, e->id2, e->next_prio);
	else if (e->kind == BLAME_WAKING)
		(void)snprintf(buf, cap, "waking %u", e->id2);
	else
		(void)snprintf(buf, cap, "%s %u%s%.16s", word, e->id, e->name[0] ? " " : "",
			       e->name);
}

/* [[ns after due, "text"], ...] */
static void put_events(struct strbuf *j, const struct blame_done *d)
{
	strbuf_puts(j, ",\"events\":[");
	for (size_t i = 0; i < d->n_events; i++) {
		char text[96];

		event_text(&d->events[i], text, sizeof(text));
		strbuf_printf(j, "%s[%lld,", i ? "," : "",
			      (long long)(d->events[i].t_ns - d->due_ns));
		json_put_string(j, text);
		strbuf_putc(j, ']');
	}
	strbuf_putc(j, ']');
}

static void put_breach(struct blame *b, const struct blame_done *d, int64_t to_realtime_ns,
		       struct record_writer *w)
{
	struct strbuf j CLEANUP(strbuf_done) = {0};
	int64_t due = d->due_ns + to_realtime_ns;

	strbuf_printf(&j,
		      "{\"t_ns\":%lld,\"cpu\":%d,\"late_ns\":%lld,\"due_ns\":%lld,\"read\":%s,"
		      "\"holders\":[",
		      (long long)(due + d->late_ns), d->cpu, (long long)d->late_ns, (long long)due,
		      d->read ? "true" : "false");
	put_holders(&j, &d->split);
	strbuf_putc(&j, ']');
	if (d->read && among_worst(b, d->late_ns))
		put_events(&j, d);
	strbuf_putc(&j, '}');
	record_item_json(w, ITEM_BREACH, j.data, j.len);
}

static bool in_window(const struct blame *b, int64_t t_ns)
{
	return b->measured_from_ns && t_ns >= b->measured_from_ns && t_ns <= b->measured_to_ns;
}

static void drain(struct blame *b, struct record_writer *w, bool flush)
{
	int64_t to_realtime_ns = clock_realtime_ns() - clock_monotonic_ns();
	struct blame_done d[TAKE_AT_ONCE];
	size_t n, items = 0;

	do {
		n = blame_reader_take(b->reader, d, ARRAY_LEN(d), flush);
		for (size_t i = 0; i < n; i++) {
			int64_t t = d[i].due_ns + d[i].late_ns + to_realtime_ns;

			if (in_window(b, t))
				tally(b, &d[i]);
			if (w && items++ < ITEMS_MAX)
				put_breach(b, &d[i], to_realtime_ns, w);
			else if (w)
				b->unlisted++;
			free(d[i].events);
		}
	} while (n);
}

/* ---- the probe ---- */

static void blame_begin(struct probe *p)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);

	blame_reader_threads(b->reader);
	drain(b, NULL, true);
	(void)blame_reader_dropped(b->reader);
	b->measured_from_ns = b->measured_to_ns = 0;
	b->breaches = b->read = b->unlisted = 0;
	b->read_ns = 0;
	b->n_causes = b->n_worst = 0;
	if (b->rec)
		blame_recorder_begin(b->rec);
}

/* The run's own p99.9, once its warm-up has enough samples. */
static void follow_warmup(struct blame *b)
{
	const struct hist_rec *warm = wakeup_probe_warmup(b->wakeup_probe);
	struct hist h CLEANUP(hist_done) = {0};
	struct hist_quantile q;

	if (!b->auto_threshold || warm->count < WARMUP_SAMPLES_MIN)
		return;
	hist_from_rec(&h, warm);
	q = hist_quantile(&h, 0.999);
	if (q.answer != HIST_VALUE || q.lo <= 0)
		return;
	b->threshold_ns = q.lo;
	wakeup_set_breach(b->w, b->threshold_ns);
}

static void blame_slow(struct probe *p, unsigned int divisor)
{
	blame_reader_slow(CONTAINER_OF(p, struct blame, base)->reader, divisor);
}

static void blame_cost(struct probe *p, struct probe_cost *ret)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);

	ret->threads_ns = blame_reader_cpu_ns(b->reader);
	ret->kernel_ns = b->rec ? blame_recorder_kernel_ns(b->rec) : 0;
}

static void blame_collect(struct probe *p, const struct interval *i, struct record_writer *w)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);

	if (i->measured) {
		if (!b->measured_from_ns)
			b->measured_from_ns = i->t0_ns;
		b->measured_to_ns = i->t0_ns + i->dt_ns;
	} else if (!b->measured_from_ns) {
		follow_warmup(b);
	}
	if (b->rec)
		blame_recorder_tick(b->rec, i->edge);
	drain(b, w, false);
	if (i->measured)
		b->breaches += blame_reader_dropped(b->reader);
	else
		(void)blame_reader_dropped(b->reader);
}

static void blame_declare(struct probe *p, struct series_list *l)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);
	struct series_decl d = {
		.metric = "blame_share", .kind = "absent", .unit = "%", .reason = b->why_not.text};

	if (b->why_not.text[0])
		(void)series_declare(l, &d);
}

struct writing {
	struct record_writer *w;
	uint64_t *last;
};

static void put_value(const struct writing *x, const char *metric, const char *unit,
		      const char *cause, double value)
{
	struct series_decl d = {
		.metric = metric, .kind = "value", .unit = unit, .method = "rigstat-blame/1"};

	if (cause) {
		d.label[0][0] = "cause";
		d.label[0][1] = cause;
	}
	record_item_value(x->w, series_declare_more(x->w, x->last, &d), value);
}

static void blame_finish(struct probe *p, struct record_writer *w, uint64_t *last_series)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);
	struct writing x = {w, last_series};
	double hours;

	drain(b, w, true);
	b->breaches += blame_reader_dropped(b->reader);
	hours = (double)(b->measured_to_ns - b->measured_from_ns) / (3600.0 * NS_PER_SEC);
	if (!b->measured_from_ns || hours <= 0)
		return;
	put_value(&x, "breaches_per_hour", "1/h", NULL, (double)b->breaches / hours);
	put_value(&x, "breaches", "1", NULL, (double)b->breaches);
	put_value(&x, "breach_threshold", "ns", NULL, (double)b->threshold_ns);
	if (b->why_not.text[0])
		return;
	put_value(&x, "breaches_read", "1", NULL, (double)b->read);
	if (!b->read_ns)
		return;
	/* Reads are capped: rates of a cause are its share of what was read, times all. */
	for (size_t i = 0; i < b->n_causes; i++) {
		const struct cause *c = &b->causes[i];

		put_value(&x, "blame_share", "%", c->name,
			  100.0 * (double)c->ns / (double)b->read_ns);
		put_value(&x, "blame_breaches", "1/h", c->name,
			  (double)c->largest / (double)b->read * (double)b->breaches / hours);
	}
}

static void blame_summary(struct probe *p, struct run_summary *sum)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);
	char blind[64];

	if (b->why_not.text[0]) {
		marks_add(&sum->marks, "no-blame",
			  "the cause of late wake-ups is not available: %s", b->why_not.text);
		return;
	}
	blame_reader_blind(b->reader, blind, sizeof(blind));
	if (blind[0])
		marks_add(&sum->marks, "blame-blind-in-idle",
			  "events in the idle task of CPU %s do not reach the recorder", blind);
	if (b->unlisted)
		marks_add(&sum->marks, "breaches-unlisted",
			  "%llu late samples are counted but not listed",
			  (unsigned long long)b->unlisted);
}

static void blame_free(struct probe *p)
{
	struct blame *b = CONTAINER_OF(p, struct blame, base);

	blame_reader_free(b->reader);
	blame_recorder_close(b->rec);
	free(b);
}

struct probe *blame_probe(const struct blame_conf *conf, struct wakeup *w,
			  const struct probe *wakeup_p)
{
	struct blame *b = xcalloc(1, sizeof(*b));

	b->base = (struct probe){.name = "blame",
				 .budget = BUDGET,
				 .expense = "reading causes",
				 .slow = blame_slow,
				 .cost = blame_cost,
				 .declare = blame_declare,
				 .begin = blame_begin,
				 .collect = blame_collect,
				 .finish = blame_finish,
				 .summary = blame_summary,
				 .free = blame_free};
	b->w = w;
	b->wakeup_probe = wakeup_p;
	b->auto_threshold = !conf->threshold_ns;
	b->threshold_ns = conf->threshold_ns ? conf->threshold_ns : THRESHOLD_START_NS;
	if (blame_recorder_open(conf->cpus, conf->cpus_len, &b->rec, &b->why_not))
		b->rec = NULL;
	else
		b->why_not.text[0] = '\0';
	wakeup_set_breach(w, b->threshold_ns);
	b->reader = blame_reader_new(w, b->rec);
	return &b->base;
}
