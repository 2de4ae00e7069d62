/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/pmu_scope.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/check.h"
#include "common/parse.h"

#define MOUNTS	     "/proc/self/mounts"
#define CGROUP1_TYPE 0x27e0eb
#define CGROUP2_TYPE 0x63677270
#define CGROUP_WORD  "cgroup:"

/* ---- the configured word ---- */

int pmu_scope_parse(const char *text, enum pmu_mode *ret_mode, char **ret_cgroup,
		    struct err *reterr)
{
	const char *path = text + strlen(CGROUP_WORD);

	*ret_cgroup = NULL;
	if (!strcmp(text, "box") || !strcmp(text, "workload")) {
		*ret_mode = *text == 'b' ? PMU_BOX : PMU_TASK;
		return 0;
	}
	if (strncmp(text, CGROUP_WORD, strlen(CGROUP_WORD)) != 0)
		return err_set(reterr, ERR_INVALID,
			       "\"%.80s\" is none of box, workload and cgroup:PATH", text);
	if (*path != '/' || strlen(path) > PMU_SCOPE_MAX || !text_is_clean(path, strlen(path)) ||
	    strpbrk(path, "\n\t") || strstr(path, "/../"))
		return err_set(reterr, ERR_INVALID,
			       "cgroup:\"%.80s\": write an absolute path of at most %d characters, "
			       "as cgroup:/system.slice/nginx.service",
			       path, PMU_SCOPE_MAX);
	*ret_mode = PMU_CGROUP;
	*ret_cgroup = xstrdup(path);
	return 0;
}

int pmu_scope_check(const struct pmu_scope_conf *conf, struct err *reterr)
{
	int fd, r;

	if (conf->mode == PMU_TASK && !conf->has_workload)
		return err_set(
			reterr, ERR_INVALID,
			"counters = workload counts the workload of a run, and there is none: "
			"give a command behind --, or count the box");
	if (conf->mode != PMU_CGROUP)
		return 0;
	r = pmu_cgroup_open(MOUNTS, conf->cgroup, &fd, reterr);
	if (!r)
		close(fd);
	return r;
}

/* ---- cgroups ---- */

/* The directory of a cgroup, and not any other: perf would refuse that with EBADF only. */
static int open_cgroup_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && (fs.f_type == CGROUP1_TYPE || fs.f_type == CGROUP2_TYPE))
		return fd;
	close(fd);
	errno = ENOTSUP;
	return -1;
}

/* The hierarchy that perf_event belongs to: its own of version 1, else version 2. */
static bool is_perf_hierarchy(const struct mntent *m, bool *ret_own)
{
	*ret_own = !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "perf_event") != NULL;
	return *ret_own || !strcmp(m->mnt_type, "cgroup2");
}

static bool find_hierarchy(const char *mounts, char *buf, size_t cap)
{
	FILE *f = setmntent(mounts, "re");
	bool found = false, own = false;
	struct mntent *m;

	if (!f)
		return false;
	while (!own && (m = getmntent(f)))
		if (is_perf_hierarchy(m, &own) && (own || !found)) {
			snprintf(buf, cap, "%s", m->mnt_dir);
			found = true;
		}
	endmntent(f);
	return found;
}

int pmu_cgroup_open(const char *mounts, const char *path, int *ret_fd, struct err *reterr)
{
	char dir[256], full[512];
	bool found = find_hierarchy(mounts, dir, sizeof(dir));

	*ret_fd = open_cgroup_dir(path);
	if (*ret_fd >= 0)
		return 0;
	if (!found)
		return err_set(reterr, ERR_NOT_FOUND,
			       "counters = cgroup:%s: no cgroup file system is mounted that perf "
			       "can count by (cgroup2, or version 1 with perf_event)",
			       path);
	snprintf(full, sizeof(full), "%s%s", dir, path);
	*ret_fd = open_cgroup_dir(full);
	if (*ret_fd >= 0)
		return 0;
	return err_set(reterr, ERR_NOT_FOUND,
		       "counters = cgroup:%s: %s: %s; name a cgroup that exists when the run "
		       "begins",
		       path, full, errno == ENOTSUP ? "not a cgroup" : strerror(errno));
}

/* ---- a scope ---- */

void pmu_scope_init(struct pmu_scope *s, const struct pmu_scope_conf *conf)
{
	*s = (struct pmu_scope){.conf = *conf, .cgroup_fd = -1};
	snprintf(s->label, sizeof(s->label), "%s%s",
		 conf->mode == PMU_BOX	  ? "box"
		 : conf->mode == PMU_TASK ? "workload"
					  : CGROUP_WORD,
		 conf->mode == PMU_CGROUP ? conf->cgroup : "");
}

static void close_cgroup(struct pmu_scope *s)
{
	if (s->cgroup_fd >= 0)
		close(s->cgroup_fd);
	s->cgroup_fd = -1;
}

void pmu_scope_done(struct pmu_scope *s)
{
	close_cgroup(s);
}

void pmu_scope_begin(struct pmu_scope *s)
{
	struct err err;
	int r = 0;

	close_cgroup(s);
	s->pid = 0;
	s->why[0] = '\0';
	if (s->conf.mode == PMU_CGROUP)
		r = pmu_cgroup_open(MOUNTS, s->conf.cgroup, &s->cgroup_fd, &err);
	else if (s->conf.mode == PMU_TASK && !s->conf.has_workload)
		r = err_set(&err, ERR_INVALID,
			    "counters = workload: this run has no workload (a watch run has none)");
	if (r)
		snprintf(s->why, sizeof(s->why), "not available: %.380s", err.text);
}

bool pmu_scope_of_run(const struct pmu_scope *s)
{
	return s->conf.mode != PMU_BOX;
}

bool pmu_scope_waits(const struct pmu_scope *s)
{
	return s->conf.mode == PMU_TASK && !s->pid;
}

struct pmu_target pmu_scope_target(const struct pmu_scope *s, const bool *cpus, size_t cpus_len)
{
	return (struct pmu_target){.mode = s->conf.mode,
				   .cpus = cpus,
				   .cpus_len = cpus_len,
				   .cgroup_fd = s->cgroup_fd,
				   .pid = s->pid,
				   .on_exec = s->conf.mode == PMU_TASK};
}

const char *pmu_scope_method(const struct pmu_scope *s, const char *method, char *buf, size_t cap)
{
	static const char cpuwide[] = "-cpuwide";
	const char *slash = method ? strchr(method, '/') : NULL;
	size_t len;

	if (s->conf.mode == PMU_BOX || !method)
		return method;
	CHECK(slash);
	len = (size_t)(slash - method);
	if (len > strlen(cpuwide) && !strncmp(slash - strlen(cpuwide), cpuwide, strlen(cpuwide)))
		len -= strlen(cpuwide);
	snprintf(buf, cap, "%.*s-%s%s", (int)len, method,
		 s->conf.mode == PMU_TASK ? "workload" : "cgroup", slash);
	return buf;
}

void pmu_scope_label(const struct pmu_scope *s, struct series_decl *d)
{
	size_t i = 0;

	while (i < ARRAY_LEN(d->label) && d->label[i][0])
		i++;
	CHECK(i < ARRAY_LEN(d->label));
	d->label[i][0] = "scope";
	d->label[i][1] = s->label;
}

struct counter_sample pmu_scope_sample(const struct pmu_sum *sum, int64_t dt_ns)
{
	if (sum->state == PMU_IDLE)
		return (struct counter_sample){0, (uint64_t)dt_ns, (uint64_t)dt_ns};
	return (struct counter_sample){(int64_t)sum->value, sum->enabled_ns, sum->running_ns};
}

void pmu_scope_state(struct run_summary *s, uint64_t series, const struct pmu_sum *run,
		     enum pmu_state worst, uint64_t missing, uint64_t intervals)
{
	bool scaled = run->state == PMU_ESTIMATED || run->state == PMU_DOUBTFUL;
	const char *state = scaled ? pmu_state_name(run->state) : NULL;

	if (missing && missing == intervals)
		run_summary_state(s, series, NULL, "%s: %s", pmu_state_name(worst),
				  pmu_state_reason(worst));
	else if (missing)
		run_summary_state(s, series, state,
				  "%llu of %llu intervals have no number (%s: %s)",
				  (unsigned long long)missing, (unsigned long long)intervals,
				  pmu_state_name(worst), pmu_state_reason(worst));
	else if (scaled)
		run_summary_state(s, series, state, "%s; on a counter %.0f %% of the time",
				  pmu_state_reason(run->state),
				  100.0 * (double)run->running_ns / (double)run->enabled_ns);
}
