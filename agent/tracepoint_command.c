/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat-agent tracepoints: the step of the service's start that needs root. */
#include <stdio.h>

#include "agent/command.h"
#include "agent/conf.h"
#include "agent/tracepoint.h"
#include "common/strbuf.h"

static const char usage[] = "usage: rigstat-agent tracepoints [OPTIONS]\n\n"
			    "Looks up the tracepoints that agent.conf names (event = "
			    "sched:sched_switch) and writes their\n"
			    "numbers to " TRACEPOINTS_FILE
			    " in the lock directory, where the service, which may not read "
			    "tracefs,\n"
			    "finds them. The systemd unit runs it as root before each start.\n\n";

int cmd_tracepoints(int argc, char **argv)
{
	CLEANUP(agent_conf_done) struct agent_conf c;
	CLEANUP(strbuf_done) struct strbuf report = {0};
	CLEANUP(freep) char *file = NULL;
	struct err err = {0};
	bool help;
	int rest, rc;

	agent_conf_init(&c);
	rc = agent_conf_args(&c, argc, argv, NULL, NULL, &rest, &help, &err);
	if (!rc && help) {
		printf("%s%s", usage, agent_conf_help);
		return 0;
	}
	if (!rc && rest < argc)
		rc = err_set(&err, ERR_INVALID, "unexpected argument \"%s\"", argv[rest]);
	file = xasprintf("%s/" TRACEPOINTS_FILE, c.lock_dir);
	if (!rc)
		rc = tracepoints_save("", file, c.events, c.events_len, &report, &err);
	if (report.len)
		fputs(report.data, stdout);
	if (!rc)
		return 0;
	fprintf(stderr, "rigstat-agent tracepoints: %s\n", err.text);
	return err_exit_status(rc);
}
