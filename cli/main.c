/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <stdio.h>

#include "common/suggest.h"

#define VERBS_MAX 32

static const char examples[] = "  rigstat compare before.txt after.txt\n"
			       "  rigstat hosts --server http://lab:8420\n";

static void print_help(FILE *to)
{
	fprintf(to,
		"%s\n"
		"usage: rigstat VERB [OPTIONS]   (rigstat VERB -h explains a verb)\n\n",
		examples);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(to, "  %-13s %s\n", v->name, v->summary);
	fprintf(to,
		"\nServer: --server URL or $RIGSTAT_SERVER. Token: $RIGSTAT_TOKEN, or a file named "
		"by\n$RIGSTAT_TOKEN_FILE or ~/.config/rigstat/token; never an argument.\n"
		"Exit status: 0 done, 3 usage or bad input, 4 server, network or disk;\n"
		"gate: 0 pass, 1 fail, 2 inconclusive.\n");
}

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

static int unknown_verb(const char *name)
{
	const char *names[VERBS_MAX];
	const char *near;
	size_t n = 0;

	for (; verbs[n].name && n < VERBS_MAX; n++)
		names[n] = verbs[n].name;
	near = suggest_nearest(name, names, n);
	fprintf(stderr, "rigstat: no verb \"%.60s\"", name);
	if (near)
		fprintf(stderr, "; did you mean \"%s\"?", near);
	fprintf(stderr, " rigstat -h lists them.\n");
	return EXIT_USAGE;
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("rigstat %s\n", RIGSTAT_VERSION);
		return EXIT_DONE;
	}
	v = find_verb(argv[1]);
	if (!v)
		return unknown_verb(argv[1]);
	if (wants_help(argc - 1, argv + 1)) {
		fputs(v->help, stdout);
		return EXIT_DONE;
	}
	return v->run(argc - 1, argv + 1);
}
