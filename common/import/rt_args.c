/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/import/rt_args.h"

#include <inttypes.h>
#include <stdio.h>

struct option_word {
	char letter;
	const char *name; /* long form without "--" */
};

/* The value of `o` in this word or the next one: -h60, -h 60, --histogram=60, --histogram 60. */
static bool option_value(const struct option_word *o, struct span word, struct span rest,
			 int64_t *ret)
{
	struct span value = {NULL, 0};
	char prefix[40];

	if (word.len >= 2 && word.p[0] == '-' && word.p[1] == o->letter)
		value = span_from(word, word.p + 2);
	else {
		(void)snprintf(prefix, sizeof(prefix), "--%s", o->name);
		if (!span_skip(&word, prefix) || (word.len && *word.p != '='))
			return false;
		value = word.len ? span_from(word, word.p + 1) : word;
	}
	if (!value.len && !span_word(&rest, &value))
		return false;
	return span_i64(value, ret);
}

void rt_args_parse(struct span cmdline, struct rt_args *ret)
{
	static const struct option_word hist = {'h', "histogram"}, histall = {'H', "histofall"},
					interval = {'i', "interval"}, prio = {'p', "priority"},
					buckets = {'b', "bucket-size"},
					width = {'W', "bucket-width"}, fifo = {'f', "rtprio"},
					distance = {'d', "distance"}, step = {'s', "step"};
	struct span word;
	const char *slash;

	memset(ret, 0, sizeof(*ret));
	ret->priority = ret->distance_us = -1;
	if (!span_word(&cmdline, &word))
		return;
	slash = memrchr(word.p, '/', word.len);
	ret->program = slash ? span_from(word, slash + 1) : word;
	while (span_word(&cmdline, &word)) {
		(void)(option_value(&hist, word, cmdline, &ret->histogram) ||
		       option_value(&histall, word, cmdline, &ret->histogram) ||
		       option_value(&interval, word, cmdline, &ret->interval_us) ||
		       option_value(&prio, word, cmdline, &ret->priority) ||
		       option_value(&fifo, word, cmdline, &ret->priority) ||
		       option_value(&buckets, word, cmdline, &ret->buckets) ||
		       option_value(&width, word, cmdline, &ret->width_ns) ||
		       option_value(&distance, word, cmdline, &ret->distance_us) ||
		       option_value(&step, word, cmdline, &ret->distance_us));
		if (span_is(word, "-N") || span_is(word, "--nsecs"))
			ret->nanoseconds = true;
		if (span_is(word, "-S") || span_is(word, "--smp"))
			ret->one_a_cpu = true;
	}
}

int64_t rt_args_interval(const struct rt_args *a, uint64_t thread)
{
	int64_t interval = a->interval_us > 0 ? a->interval_us : 1000;
	int64_t distance = a->distance_us >= 0 ? a->distance_us : 500;

	if (!a->program.len || thread > 100000 || interval > INT32_MAX || distance > INT32_MAX)
		return 0;
	if (a->histogram || a->one_a_cpu)
		distance = 0;
	return (interval + distance * (int64_t)thread) * NS_PER_US;
}

void rt_args_tags(struct run *r, const struct rt_args *a)
{
	char text[24];

	if (a->priority < 0)
		return;
	(void)snprintf(text, sizeof(text), "%" PRId64, a->priority);
	labels_set(&r->tags, "priority", text);
}
