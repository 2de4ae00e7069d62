/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat demo: the two founding data sets, through the same importer as everybody's files. */
#include <jansson.h>

#include "cli/args.h"
#include "cli/client.h"
#include "cli/verbs.h"

const char verb_demo_help[] =
	"  rigstat demo load --server http://localhost:8420\n"
	"  rigstat demo remove\n"
	"\n"
	"usage: rigstat demo load|remove [--server URL]\n"
	"\n"
	"Imports two posts to kernel mailing lists, flagged as demo data: wake-up delays under\n"
	"iozone with max_sectors_kb 64, 32 and 16 (2004), and rq_affinity 0 against 1 (2008).\n"
	"`remove` takes away all that is flagged so, and nothing else.\n";

#define DEMO(symbol)                                                                               \
	extern const unsigned char symbol[];                                                       \
	extern const unsigned long long symbol##_len;
DEMO(demo_desktop_64)
DEMO(demo_iozone_64)
DEMO(demo_iozone_32)
DEMO(demo_iozone_16)
DEMO(demo_rq_affinity)

static const struct {
	const char *query; /* after experiment=, percent-encoded */
	const unsigned char *data;
	const unsigned long long *len;
} files[] = {
	{"wakeup_delay_2004&host=demo-2004&source=desktop-64.txt&metric=wakeup_latency&unit=us"
	 "&set=max_sectors_kb%3D64&set=load%3Ddesktop",
	 demo_desktop_64, &demo_desktop_64_len},
	{"wakeup_delay_2004&host=demo-2004&source=iozone-64.txt&metric=wakeup_latency&unit=us"
	 "&set=max_sectors_kb%3D64&set=load%3Diozone",
	 demo_iozone_64, &demo_iozone_64_len},
	{"wakeup_delay_2004&host=demo-2004&source=iozone-32.txt&metric=wakeup_latency&unit=us"
	 "&set=max_sectors_kb%3D32&set=load%3Diozone",
	 demo_iozone_32, &demo_iozone_32_len},
	{"wakeup_delay_2004&host=demo-2004&source=iozone-16.txt&metric=wakeup_latency&unit=us"
	 "&set=max_sectors_kb%3D16&set=load%3Diozone",
	 demo_iozone_16, &demo_iozone_16_len},
	{"rq_affinity&host=demo-2008&source=rq-affinity-2008.csv", demo_rq_affinity,
	 &demo_rq_affinity_len},
};

static int load(const char *server, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(client_answer_done) struct client_answer answer = {0};
		CLEANUP(freep)
		char *path = xasprintf("/api/v1/imports?demo=1&experiment=%s", files[i].query);
		const struct client_call call = {.server = server,
						 .path = path,
						 .method = "POST",
						 .content_type = "application/octet-stream",
						 .body = files[i].data,
						 .body_len = (size_t)*files[i].len};
		int rc = client_call(&call, &answer, reterr);

		if (rc)
			return err_prefix(reterr, "demo data: ");
	}
	printf("demo data: experiments wakeup_delay_2004 and rq_affinity are there\n");
	return 0;
}

static int remove_demo(const char *server, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	const struct client_call call = {
		.server = server, .path = "/api/v1/demo", .method = "DELETE"};
	int rc = client_call(&call, &answer, reterr);

	if (!rc)
		printf("demo data: removed\n");
	return rc;
}

int verb_demo(int argc, char **argv)
{
	static const struct option_def defs[] = {{"--server", 1, true}, {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value, *server = NULL, *what = NULL;
	struct err err = {0};
	int id;

	while ((id = args_next(&a, defs, &value, &err)) != ARG_END) {
		if (id < 0)
			return cli_usage("demo", &err);
		if (id == 1)
			server = value;
		else
			what = value;
	}
	if (!what || (strcmp(what, "load") && strcmp(what, "remove"))) {
		err_set(&err, ERR_INVALID, "say load or remove");
		return cli_usage("demo", &err);
	}
	if (client_server(server, &server, &err))
		return cli_usage("demo", &err);
	if (!strcmp(what, "load") ? load(server, &err) : remove_demo(server, &err))
		return cli_fail(&err);
	return EXIT_DONE;
}
