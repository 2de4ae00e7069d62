/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/proc_parse.h"

#include <stdio.h>

/* ---- lines and words ---- */

struct span {
	const char *p;
	size_t len;
};

/* The next line without its end; false when there is none. */
static bool next_line(const char **at, struct span *ret)
{
	size_t len = strcspn(*at, "\n");

	if (!**at)
		return false;
	*ret = (struct span){*at, len};
	*at += len + ((*at)[len] == '\n');
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void skip_blanks(struct span *s)
{
	while (s->len && is_blank(*s->p)) {
		s->p++;
		s->len--;
	}
}

static void trim_end(struct span *s)
{
	while (s->len && is_blank(s->p[s->len - 1]))
		s->len--;
}

static bool next_word(struct span *line, struct span *ret)
{
	skip_blanks(line);
	*ret = (struct span){line->p, 0};
	while (ret->len < line->len && !is_blank(line->p[ret->len]))
		ret->len++;
	line->p += ret->len;
	line->len -= ret->len;
	return ret->len > 0;
}

static bool word_is(const struct span *w, const char *text)
{
	return strlen(text) == w->len && !memcmp(w->p, text, w->len);
}

static bool begins_with(const struct span *s, const char *text)
{
	return s->len >= strlen(text) && !memcmp(s->p, text, strlen(text));
}

/* Only digits, within 64 bits. */
static bool to_u64(const struct span *w, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < w->len; i++)
		if (!is_digit(w->p[i]) || __builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(w->p[i] - '0'), &v))
			return false;
	*ret = v;
	return w->len > 0;
}

/* Takes the next word when it is a number. */
static bool take_u64(struct span *line, uint64_t *ret)
{
	struct span rest = *line, w;

	if (!next_word(&rest, &w) || !to_u64(&w, ret))
		return false;
	*line = rest;
	return true;
}

/* ---- pressure ---- */

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in us */
int proc_psi_parse(const char *text, struct psi *ret, struct err *reterr)
{
	struct span line, word, w;

	*ret = (struct psi){-1, -1};
	while (next_line(&text, &line)) {
		bool some, full;
		uint64_t us;

		if (!next_word(&line, &word))
			continue;
		some = word_is(&word, "some");
		full = word_is(&word, "full");
		while (next_word(&line, &w)) {
			if (!(some || full) || !begins_with(&w, "total="))
				continue;
			w = (struct span){w.p + 6, w.len - 6};
			if (!to_u64(&w, &us) || us > INT64_MAX / 1000)
				continue;
			*(some ? &ret->some_ns : &ret->full_ns) = (int64_t)us * 1000;
		}
	}
	if (ret->some_ns < 0 && ret->full_ns < 0)
		return err_set(reterr, ERR_INVALID, "there is no total of \"some\" or \"full\"");
	return 0;
}

/* ---- interrupts ---- */

/* "           CPU0       CPU2" */
static int take_cpus(const char **text, struct grid *g, struct err *reterr)
{
	struct span line, w;

	if (!next_line(text, &line))
		return err_set(reterr, ERR_INVALID, "the file is empty");
	while (next_word(&line, &w)) {
		struct span number = {w.p + 3, w.len > 3 ? w.len - 3 : 0};
		uint64_t cpu;

		if (!begins_with(&w, "CPU") || !to_u64(&number, &cpu) || cpu >= GRID_NO_COLUMN)
			return err_set(reterr, ERR_INVALID,
				       "the first line names no CPUs but \"%.*s\"",
				       (int)(w.len < 40 ? w.len : 40), w.p);
		grid_column(g, (uint32_t)cpu);
	}
	return g->header_len ? 0 : err_set(reterr, ERR_INVALID, "the first line names no CPU");
}

/* Behind the counts of a numbered interrupt: chip, hardware number, type, then two blanks and the
 * handlers ("PCI-MSIX-0000:00:02.0   1-edge      nvme0q1, other"). Without a handler the type is
 * padded with blanks. */
static struct span handlers_of(struct span rest)
{
	const char *end = rest.p + rest.len, *from = NULL;

	skip_blanks(&rest);
	if (!rest.len || is_blank(end[-1]))
		return (struct span){0};
	for (const char *p = rest.p; p + 2 < end; p++)
		if (is_blank(p[0]) && is_blank(p[1]) && !is_blank(p[2]))
			from = p + 2;
	return from ? (struct span){from, (size_t)(end - from)} : (struct span){0};
}

static bool has_no_cpus(const struct span *key)
{
	return word_is(key, "ERR") || word_is(key, "MIS") || word_is(key, "Err") ||
	       word_is(key, "BAD");
}

static void put_label(const struct span *key, struct span rest, char *buf, size_t cap)
{
	struct span name = rest;
	bool numbered = key->len && is_digit(key->p[0]);

	if (numbered) {
		name = handlers_of(rest);
	} else {
		skip_blanks(&name);
		trim_end(&name);
	}
	if (name.len)
		(void)snprintf(buf, cap, "%.*s", (int)(name.len < 100 ? name.len : 100), name.p);
	else
		(void)snprintf(buf, cap, numbered ? "irq %.*s" : "%.*s",
			       (int)(key->len < 40 ? key->len : 40), key->p);
}

/* "24: 1 0 IO-APIC 5-edge ACPI:Ged": the counts of the CPUs of the header. */
static int put_counts(struct grid *g, struct span line, uint64_t *values, struct err *reterr)
{
	const char *colon = memchr(line.p, ':', line.len);
	struct span key = line, rest;
	char label[128];
	struct grid_row *r;
	size_t n = 0;

	if (!colon)
		return 0;
	key.len = (size_t)(colon - line.p);
	skip_blanks(&key);
	rest = (struct span){colon + 1, line.len - (size_t)(colon + 1 - line.p)};
	while (n < g->header_len && take_u64(&rest, &values[n]))
		n++;
	if (!n || !key.len)
		return 0;
	if (n != g->header_len && (n != 1 || is_digit(*key.p)))
		return err_set(reterr, ERR_BUSY, "%.*s: %zu counts for %zu CPUs",
			       (int)(key.len < 20 ? key.len : 20), key.p, n, g->header_len);
	if (n != g->header_len && !has_no_cpus(&key))
		return 0; /* one number of which we do not know what it counts */
	put_label(&key, rest, label, sizeof(label));
	r = grid_row(g, key.p, key.len, label, strlen(label));
	if (r && has_no_cpus(&key))
		grid_put(g, r, GRID_NO_COLUMN, values[0]);
	else if (r)
		for (size_t i = 0; i < n; i++)
			grid_put(g, r, g->header[i], values[i]);
	return 0;
}

int proc_interrupts_parse(const char *text, struct grid *g, struct err *reterr)
{
	uint64_t *values CLEANUP(freep) = NULL;
	struct span line;
	int rc = take_cpus(&text, g, reterr);

	if (rc)
		return rc;
	values = xcalloc(g->header_len, sizeof(*values));
	while (!rc && next_line(&text, &line))
		rc = put_counts(g, line, values, reterr);
	return rc;
}

int proc_softirqs_parse(const char *text, struct grid *g, struct err *reterr)
{
	return proc_interrupts_parse(text, g, reterr);
}

/* ---- disks ---- */

int proc_diskstats_parse(const char *text, struct grid *g, struct err *reterr)
{
	struct span line, name;
	size_t rows = 0;
	bool empty = !*text; /* a box without block devices */

	while (next_line(&text, &line)) {
		uint64_t major, minor, v[DISK_FIELDS];
		struct grid_row *r;
		size_t n = 0;

		if (!take_u64(&line, &major) || !take_u64(&line, &minor) ||
		    !next_word(&line, &name))
			continue;
		while (n < DISK_FIELDS && take_u64(&line, &v[n]))
			n++;
		if (n <= DISK_QUEUE_MS)
			continue; /* a partition of Linux 2.6 before .25 */
		rows++;
		r = grid_row(g, name.p, name.len, name.p, name.len);
		for (size_t i = 0; r && i < n; i++)
			if (i != DISK_IN_FLIGHT)
				grid_put(g, r, (uint32_t)i, v[i]);
	}
	return rows || empty ? 0 : err_set(reterr, ERR_INVALID, "there is no device in it");
}

/* ---- run queues ---- */

static int check_version(const struct span *line, struct err *reterr)
{
	struct span rest = *line, w;
	uint64_t v = 0;

	if (!next_word(&rest, &w) || !word_is(&w, "version") || !take_u64(&rest, &v))
		return err_set(reterr, ERR_INVALID, "the first line is no version");
	if (v < 15 || v > 17)
		return err_set(reterr, ERR_UNSUPPORTED, "version %llu of the file is not known",
			       (unsigned long long)v);
	return 0;
}

int proc_schedstat_parse(const char *text, struct grid *g, struct err *reterr)
{
	struct span line, w;
	size_t rows = 0;

	if (!next_line(&text, &line))
		return err_set(reterr, ERR_INVALID, "the file is empty");
	if (check_version(&line, reterr))
		return reterr->code;
	while (next_line(&text, &line)) {
		struct grid_row *r;
		uint64_t v[9];
		size_t n = 0;

		if (!next_word(&line, &w) || !begins_with(&w, "cpu"))
			continue;
		while (n < ARRAY_LEN(v) && take_u64(&line, &v[n]))
			n++;
		if (n < ARRAY_LEN(v))
			continue;
		rows++;
		r = grid_row(g, w.p, w.len, w.p + 3, w.len - 3);
		for (uint32_t i = 0; r && i < 3; i++)
			grid_put(g, r, SCHED_RUN_NS + i, v[6 + i]);
	}
	return rows ? 0 : err_set(reterr, ERR_INVALID, "there is no CPU in it");
}

/* ---- locks ---- */

#define LOCK_COLUMNS_MAX 16

static const struct {
	const char *name;
	uint32_t field;
	bool time; /* "123.45" us */
} lock_columns[] = {
	{"con-bounces", LOCKSTAT_CON_BOUNCES, false},
	{"contentions", LOCKSTAT_CONTENTIONS, false},
	{"waittime-total", LOCKSTAT_WAIT_NS, true},
	{"acq-bounces", LOCKSTAT_ACQ_BOUNCES, false},
	{"acquisitions", LOCKSTAT_ACQUISITIONS, false},
	{"holdtime-total", LOCKSTAT_HOLD_NS, true},
};

struct lock_header {
	size_t len;			/* 0: not seen yet */
	size_t known[LOCK_COLUMNS_MAX]; /* index in lock_columns, or its length */
};

static bool take_lock_header(struct span line, struct lock_header *h)
{
	struct span w;

	if (!next_word(&line, &w) || !word_is(&w, "class") || !next_word(&line, &w) ||
	    !word_is(&w, "name"))
		return false;
	for (h->len = 0; h->len < LOCK_COLUMNS_MAX && next_word(&line, &w); h->len++) {
		size_t i = 0;

		while (i < ARRAY_LEN(lock_columns) && !word_is(&w, lock_columns[i].name))
			i++;
		h->known[h->len] = i;
	}
	return true;
}

/* "123.45" us in ns, or a plain number. */
static bool lock_number(struct span w, bool time, uint64_t *ret)
{
	const char *dot = memchr(w.p, '.', w.len);
	struct span whole = w, part = {0};
	uint64_t v, fraction = 0;

	if (dot) {
		whole.len = (size_t)(dot - w.p);
		part = (struct span){dot + 1, w.len - whole.len - 1};
	}
	if (!to_u64(&whole, &v) || (dot && (part.len != 2 || !to_u64(&part, &fraction))))
		return false;
	if (!time || v > UINT64_MAX / 1001) {
		*ret = v;
		return !dot;
	}
	*ret = v * 1000 + fraction * 10;
	return true;
}

/* The last word of what is left. */
static struct span last_word(struct span *line)
{
	struct span w;

	trim_end(line);
	w = (struct span){line->p + line->len, 0};
	while (w.len < line->len && !is_blank(w.p[-1])) {
		w.p--;
		w.len++;
	}
	line->len -= w.len;
	return w;
}

/* "&mm->mmap_lock-W:   46   84   0.26  939.10 ...": the name may have blanks, so from the right. */
static bool put_class(struct grid *g, struct span line, const struct lock_header *h)
{
	uint64_t v[LOCK_COLUMNS_MAX];
	struct grid_row *r;

	for (size_t i = h->len; i-- > 0;) {
		size_t k = h->known[i];
		struct span w = last_word(&line);
		bool time = k < ARRAY_LEN(lock_columns) ? lock_columns[k].time : true;

		if (!lock_number(w, time, &v[i]))
			return false;
	}
	trim_end(&line);
	skip_blanks(&line);
	if (line.len < 2 || line.p[line.len - 1] != ':')
		return false;
	line.len--;
	r = grid_row(g, line.p, line.len, line.p, line.len);
	for (size_t i = 0; r && i < h->len; i++)
		if (h->known[i] < ARRAY_LEN(lock_columns))
			grid_put(g, r, lock_columns[h->known[i]].field, v[i]);
	return true;
}

int proc_lockstat_parse(const char *text, struct grid *g, struct err *reterr)
{
	struct lock_header h = {0};
	struct span line;

	if (!next_line(&text, &line) || !begins_with(&line, "lock_stat version"))
		return err_set(reterr, ERR_INVALID, "the first line is no version of lock_stat");
	while (next_line(&text, &line)) {
		if (begins_with(&line, "*WARNING*"))
			return err_set(reterr, ERR_UNSUPPORTED,
				       "the kernel has switched lock debugging off");
		if (!take_lock_header(line, &h) && h.len)
			(void)put_class(g, line, &h);
	}
	return h.len ? 0 : err_set(reterr, ERR_INVALID, "there is no line of column names");
}
