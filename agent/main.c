/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent: the table of subcommands. */
#include <malloc.h>
#include <stdio.h>

#include "agent/command.h"
#include "common/log.h"

static const struct {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"daemon", "measure all the time and stream to the server", cmd_daemon},
	{"run", "run an experiment, its settings in alternation", cmd_run},
	{"tracepoints", "write down the numbers of tracepoints for the service", cmd_tracepoints},
	{"enroll", "make this box known to a server, with a code", cmd_enroll},
	{"rotate", "replace the token of this box by a new one", cmd_rotate},
	{"check", "tell whether this box is fit to be measured", cmd_check},
};

static void usage(FILE *to)
{
	fprintf(to, "usage: rigstat-agent COMMAND [OPTIONS]\n\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(to, "  %-12s %s\n", commands[i].name, commands[i].summary);
	fprintf(to, "\n`rigstat-agent COMMAND --help` describes a command.\n");
}

/* The big short-lived buffers (kernel configuration, BTF, batches) go back to the kernel, and
 * libuv's threads get no heaps of their own: the box's memory is not ours. */
static void keep_memory_small(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	mallopt(M_TRIM_THRESHOLD, 128 * 1024);
}

int main(int argc, char **argv)
{
	keep_memory_small();
	log_init("rigstat-agent", LOG_INFO);
	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("rigstat-agent %s\n", RIGSTAT_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "rigstat-agent: there is no command \"%s\"\n\n", argv[1]);
	usage(stderr);
	return 2;
}
