/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/child.h"

#include <errno.h>
#include <unistd.h>

#include "agent/run_logs.h"
#include "common/ini.h"

#define GRACE_NS      (60 * NS_PER_SEC) /* to end its run and put settings back */
#define LOG_BYTES_MAX (1u << 20)
#define LOGS_KEPT     500

static size_t count(char *const *words)
{
	size_t n = 0;

	while (words[n])
		n++;
	return n;
}

/* This program, "run", the daemon's options, what is asked for. */
static char **make_argv(const char *self, char *const *options, char *const *args)
{
	size_t n = 0, many = count(options), more = count(args);
	char **argv = xcalloc(many + more + 3, sizeof(*argv));

	argv[n++] = xstrdup(self);
	argv[n++] = xstrdup("run");
	for (size_t i = 0; i < many; i++)
		argv[n++] = xstrdup(options[i]);
	for (size_t i = 0; i < more; i++)
		argv[n++] = xstrdup(args[i]);
	return argv;
}

int child_start(uv_loop_t *loop, const struct agent_conf *conf, char *const *options,
		char *const *args, const char *log_name,
		void (*on_exit)(void *user, const struct workload_result *r),
		void (*on_end)(void *user), void *user, struct workload **ret, struct err *reterr)
{
	CLEANUP(freep) char *logs = xasprintf("%s/logs", conf->spool_dir);
	CLEANUP(freep) char *path = xasprintf("%s/%s", logs, log_name);
	CLEANUP(words_freep) char **argv = NULL;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc = run_logs_prepare(logs, LOGS_KEPT, reterr);
	cpu_set_t all;

	if (rc)
		return rc;
	memset(&all, 0xff, sizeof(all)); /* not the housekeeping CPUs that we run on */
	if (n < 0)
		return err_errno(reterr, errno, "cannot find our own program");
	self[n] = '\0';
	argv = make_argv(self, options, args);
	return workload_start(loop,
			      &(struct workload_conf){.argv = argv,
						      .cpus = &all,
						      .log_path = path,
						      .log_bytes_max = LOG_BYTES_MAX,
						      .grace_ns = GRACE_NS},
			      on_exit, on_end, user, ret, reterr);
}
