/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/conf.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/lock.h"
#include "agent/pmu.h"
#include "agent/pmu_scope.h"
#include "agent/rights.h"
#include "agent/sysinfo.h"
#include "common/ini.h"
#include "common/parse.h"
#include "common/token.h"

#define DEFAULT_FILE "/etc/rigstat/agent.conf"

const char agent_conf_help[] =
	"  --server URL          deliver to this server (or $RIGSTAT_SERVER); none: spool only\n"
	"  --host NAME           name of this box (default: its host name)\n"
	"  --spool DIR           records wait here (default /var/lib/rigstat/spool)\n"
	"  --cpus LIST           measured CPUs, such as 0-3,8 (default: all online)\n"
	"  --housekeeping CPU    CPU for the agent's own work (default: those not measured)\n"
	"  --policy NAME         of the measuring threads: fifo, rr or other (default fifo)\n"
	"  --priority N          1-99 (default 80)\n"
	"  --period TIME         between wake-ups of a CPU (default 1ms)\n"
	"  --interval TIME       slices of a series (default 1s)\n"
	"  --watch TIME          length of a watch run (default 1h)\n"
	"  --quiet               no network and no fsync while a measured window is open\n"
	"  --no-dma-latency      do not hold /dev/cpu_dma_latency at 0\n"
	"  --blame WHEN          name what held the CPU in wake-ups later than a time, such as "
	"50us,\n"
	"                        auto (the run's own p99.9) or off (default auto)\n"
	"  --no-experiments      the daemon does not carry out experiments of the server\n"
	"  --no-shares           do not sample who uses the CPUs\n"
	"  --no-io               do not measure the latency of block requests\n"
	"  --no-locks            do not measure waits for contended kernel locks\n"
	"  --no-system           do not read what the kernel counts: pressure, interrupts, "
	"softirqs,\n"
	"                        disks, run queues, locks\n"
	"  --budget PROBE=PERCENT  CPU that a probe may take before it lowers its rate, in % of "
	"one\n"
	"                        CPU (blame and shares 1, counters, pmu and system 0.1); repeat\n"
	"  --app NAME=KEY:PATTERN  a program whose share is a metric; KEY is comm, leader, exe or\n"
	"                        cgroup, as oracle=comm:oracle*; repeat for more\n"
	"  --counters SCOPE      what counters count: box (all CPUs), workload (the run's, from "
	"its\n"
	"                        exec on, with its children) or cgroup:PATH (default box)\n"
	"  --event NAME          count this perf event, such as cache-misses, msr/smi/ or\n"
	"                        sched:sched_switch; repeat for more\n"
	"  --sync WHEN           fsync of the spool: interval, always, quiet or off\n"
	"  --spool-max SIZE      quota of the spool (default 256M)\n"
	"  --spool-free-min SIZE leave so much of the file system free (default 512M)\n"
	"  --retry-spread TIME   a lost server is tried again at random within this (default 30s)\n"
	"  --token-file FILE     secret of this box, one line\n"
	"  --ca-file FILE        certificates that the server's must come from\n"
	"  --server-pin PIN      key that the server must have (sha256//BASE64, from\n"
	"                        rigstat-server pin); needs no certificate authority\n"
	"  --lock-dir DIR        place of measure.lock (default /run/rigstat)\n"
	"  --config FILE         read this instead of " DEFAULT_FILE "\n";

static void replace(char **to, const char *value)
{
	free(*to);
	*to = xstrdup(value);
}

void agent_conf_init(struct agent_conf *c)
{
	char host[256];

	sysinfo_host_name(host, sizeof(host));
	*c = (struct agent_conf){
		.spool_dir = xstrdup("/var/lib/rigstat/spool"),
		.lock_dir = xstrdup(measure_lock_dir()),
		.host = xstrdup(host),
		.housekeeping = -1,
		.policy = SCHED_FIFO,
		.priority = 80,
		.period_ns = NS_PER_MS,
		.interval_ns = NS_PER_SEC,
		.watch_ns = 3600 * NS_PER_SEC,
		.use_dma_latency = true,
		.shares = true,
		.io = true,
		.locks = true,
		.system = true,
		.experiments = true,
		.sync = SYNC_INTERVAL,
		.retry_spread_ns = 30 * NS_PER_SEC,
		.spool_bytes_max = 256ull << 20,
		.spool_free_min = 512ull << 20,
	};
	sysinfo_online_cpus(c->cpus, AGENT_CPUS_MAX);
}

void agent_conf_done(struct agent_conf *c)
{
	free(c->server);
	free(c->spool_dir);
	free(c->lock_dir);
	free(c->host);
	free(c->token_file);
	free(c->ca_file);
	free(c->counters_cgroup);
	free(c->server_pin);
	free(c->file);
	for (size_t i = 0; i < c->apps_len; i++)
		share_app_done(&c->apps[i]);
	for (size_t i = 0; i < c->events_len; i++)
		free(c->events[i]);
	*c = (struct agent_conf){0};
}

static int set_server(struct agent_conf *c, const char *value, struct err *reterr)
{
	size_t len = strlen(value);

	if (strncmp(value, "http://", 7) && strncmp(value, "https://", 8))
		return err_set(reterr, ERR_INVALID,
			       "server: \"%s\" is no http:// or https:// address", value);
	replace(&c->server, value);
	while (len && c->server[len - 1] == '/')
		c->server[--len] = '\0';
	return 0;
}

static int set_host(struct agent_conf *c, const char *value, struct err *reterr)
{
	size_t len = strlen(value);

	if (!len || len > 128 || strpbrk(value, " \t\n/") || !text_is_clean(value, len))
		return err_set(reterr, ERR_INVALID,
			       "host: \"%s\" must have 1 to 128 characters, no blank and no slash",
			       value);
	replace(&c->host, value);
	return 0;
}

static int set_pin(struct agent_conf *c, const char *value, struct err *reterr)
{
	char pin[PIN_LEN + 1];

	if (!pin_parse(value, pin))
		return err_set(reterr, ERR_INVALID,
			       "server-pin: \"%s\" is not sha256// and 44 characters of base64, as "
			       "rigstat-server pin prints it",
			       value);
	replace(&c->server_pin, value);
	return 0;
}

static int set_cpus(struct agent_conf *c, const char *value, struct err *reterr)
{
	bool cpus[AGENT_CPUS_MAX] = {false};
	int r = parse_cpu_list(value, cpus, AGENT_CPUS_MAX, reterr);

	if (r)
		return err_prefix(reterr, "cpus: ");
	memcpy(c->cpus, cpus, sizeof(cpus));
	c->cpus_given = true;
	return 0;
}

static int set_policy(struct agent_conf *c, const char *value, struct err *reterr)
{
	if (!policy_parse(value, &c->policy))
		return err_set(reterr, ERR_INVALID, "policy: \"%s\" is none of fifo, rr, other",
			       value);
	return 0;
}

static int set_sync(struct agent_conf *c, const char *value, struct err *reterr)
{
	static const char *const names[] = {"interval", "always", "quiet", "off"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(value, names[i])) {
			c->sync = (enum sync_policy)i;
			return 0;
		}
	return err_set(reterr, ERR_INVALID, "sync: \"%s\" is none of interval, always, quiet, off",
		       value);
}

static int set_blame(struct agent_conf *c, const char *value, struct err *reterr)
{
	c->blame_ns = !strcmp(value, "off") ? -1 : 0;
	if (c->blame_ns || !strcmp(value, "auto"))
		return 0;
	if (parse_duration(value, &c->blame_ns, reterr) || c->blame_ns <= 0)
		return err_set(reterr, ERR_INVALID,
			       "blame: \"%s\" is neither auto, off nor a time such as 50us", value);
	return 0;
}

static int set_counters(struct agent_conf *c, const char *value, struct err *reterr)
{
	char *cgroup;

	if (pmu_scope_parse(value, &c->counters, &cgroup, reterr))
		return err_prefix(reterr, "counters: ");
	free(c->counters_cgroup);
	c->counters_cgroup = cgroup;
	return 0;
}

static int add_app(struct agent_conf *c, const char *value, struct err *reterr)
{
	if (c->apps_len == AGENT_APPS_MAX)
		return err_set(reterr, ERR_LIMIT, "app: at most %d applications", AGENT_APPS_MAX);
	if (share_app_parse(value, &c->apps[c->apps_len], reterr))
		return err_prefix(reterr, "app: ");
	c->apps_len++;
	return 0;
}

static int add_event(struct agent_conf *c, const char *value, struct err *reterr)
{
	if (c->events_len == AGENT_EVENTS_MAX)
		return err_set(reterr, ERR_LIMIT, "event: at most %d events", AGENT_EVENTS_MAX);
	for (size_t i = 0; i < c->events_len; i++)
		if (!strcmp(c->events[i], value))
			return 0; /* in the file and as an option */
	if (pmu_event_check(value, reterr))
		return err_prefix(reterr, "event: ");
	c->events[c->events_len++] = xstrdup(value);
	return 0;
}

/* "system=0.5": a later one of the same probe counts. */
static int add_budget(struct agent_conf *c, const char *value, struct err *reterr)
{
	static const char *const probes[] = {"blame", "shares", "counters", "pmu", "system"};
	const char *eq = strchr(value, '=');
	size_t len = eq ? (size_t)(eq - value) : 0, i = 0;
	double percent;

	while (i < ARRAY_LEN(probes) &&
	       (strlen(probes[i]) != len || strncmp(probes[i], value, len)))
		i++;
	if (i == ARRAY_LEN(probes))
		return err_set(reterr, ERR_INVALID,
			       "budget: \"%.40s\" is not PROBE=PERCENT with blame, shares, "
			       "counters, pmu or system",
			       value);
	if (parse_double(eq + 1, &percent, reterr))
		return err_prefix(reterr, "budget: ");
	if (percent <= 0 || percent > 100)
		return err_set(reterr, ERR_INVALID, "budget: %s is not above 0 and up to 100 %%",
			       eq + 1);
	if (c->budgets_len == AGENT_BUDGETS_MAX)
		return err_set(reterr, ERR_LIMIT, "budget: at most %d", AGENT_BUDGETS_MAX);
	memcpy(c->budgets[c->budgets_len].probe, probes[i], len + 1);
	c->budgets[c->budgets_len++].part = percent / 100;
	return 0;
}

static int set_int(int *to, const char *key, const char *value, int64_t min, int64_t max,
		   struct err *reterr)
{
	int64_t v;
	int r = parse_i64(value, &v, reterr);

	if (r)
		return err_prefix(reterr, "%s: ", key);
	if (v < min || v > max)
		return err_set(reterr, ERR_INVALID, "%s: %lld is not in %lld..%lld", key,
			       (long long)v, (long long)min, (long long)max);
	*to = (int)v;
	return 0;
}

static int set_time(int64_t *to, const char *key, const char *value, int64_t min, int64_t max,
		    struct err *reterr)
{
	char lo[32], hi[32];
	int64_t v;
	int r = parse_duration(value, &v, reterr);

	if (r)
		return err_prefix(reterr, "%s: ", key);
	if (v < min || v > max)
		return err_set(reterr, ERR_INVALID, "%s: must be between %s and %s", key,
			       format_ns((double)min, lo, sizeof(lo)),
			       format_ns((double)max, hi, sizeof(hi)));
	*to = v;
	return 0;
}

static int set_size(uint64_t *to, const char *key, const char *value, struct err *reterr)
{
	return parse_size(value, to, reterr) ? err_prefix(reterr, "%s: ", key) : 0;
}

static int set_flag(bool *to, const char *key, const char *value, struct err *reterr)
{
	bool yes = !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "on");

	if (!yes && strcmp(value, "no") && strcmp(value, "false") && strcmp(value, "off"))
		return err_set(reterr, ERR_INVALID, "%s: \"%s\" is neither yes nor no", key, value);
	*to = yes;
	return 0;
}

enum key {
	K_SERVER,
	K_HOST,
	K_SPOOL,
	K_CPUS,
	K_HOUSEKEEPING,
	K_POLICY,
	K_PRIORITY,
	K_PERIOD,
	K_INTERVAL,
	K_WATCH,
	K_QUIET,
	K_DMA,
	K_SYNC,
	K_SPOOL_MAX,
	K_FREE_MIN,
	K_RETRY_SPREAD,
	K_TOKEN,
	K_CA,
	K_PIN,
	K_LOCK,
	K_BLAME,
	K_SHARES,
	K_EXPERIMENTS,
	K_APP,
	K_EVENT,
	K_COUNTERS,
	K_IO,
	K_LOCKS,
	K_SYSTEM,
	K_BUDGET,
};

static const struct {
	const char *name;
	enum key key;
	bool flag;
} keys[] = {
	{"server", K_SERVER, false},
	{"host", K_HOST, false},
	{"spool", K_SPOOL, false},
	{"cpus", K_CPUS, false},
	{"policy", K_POLICY, false},
	{"priority", K_PRIORITY, false},
	{"period", K_PERIOD, false},
	{"interval", K_INTERVAL, false},
	{"watch", K_WATCH, false},
	{"quiet", K_QUIET, true},
	{"dma-latency", K_DMA, true},
	{"sync", K_SYNC, false},
	{"token-file", K_TOKEN, false},
	{"ca-file", K_CA, false},
	{"server-pin", K_PIN, false},
	{"lock-dir", K_LOCK, false},
	{"housekeeping", K_HOUSEKEEPING, false},
	{"blame", K_BLAME, false},
	{"shares", K_SHARES, true},
	{"experiments", K_EXPERIMENTS, true},
	{"app", K_APP, false},
	{"event", K_EVENT, false},
	{"counters", K_COUNTERS, false},
	{"io", K_IO, true},
	{"locks", K_LOCKS, true},
	{"system", K_SYSTEM, true},
	{"budget", K_BUDGET, false},
	{"spool-max", K_SPOOL_MAX, false},
	{"spool-free-min", K_FREE_MIN, false},
	{"retry-spread", K_RETRY_SPREAD, false},
};

static const char *find_key(const char *name, size_t len, enum key *ret, bool *ret_flag)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (strlen(keys[i].name) == len && !strncmp(keys[i].name, name, len)) {
			*ret = keys[i].key;
			*ret_flag = keys[i].flag;
			return keys[i].name;
		}
	return NULL;
}

int agent_conf_set(struct agent_conf *c, const char *name, const char *value, struct err *reterr)
{
	enum key key;
	bool flag;

	if (!find_key(name, strlen(name), &key, &flag))
		return err_set(reterr, ERR_INVALID, "there is no key \"%s\"", name);
	if (!*value)
		return err_set(reterr, ERR_INVALID, "%s: the value is missing", name);
	switch (key) {
	case K_SERVER:
		return set_server(c, value, reterr);
	case K_HOST:
		return set_host(c, value, reterr);
	case K_SPOOL:
		replace(&c->spool_dir, value);
		return 0;
	case K_LOCK:
		replace(&c->lock_dir, value);
		return 0;
	case K_RETRY_SPREAD:
		return set_time(&c->retry_spread_ns, name, value, NS_PER_SEC, 300 * NS_PER_SEC,
				reterr);
	case K_TOKEN:
		replace(&c->token_file, value);
		return 0;
	case K_CA:
		replace(&c->ca_file, value);
		return 0;
	case K_PIN:
		return set_pin(c, value, reterr);
	case K_CPUS:
		return set_cpus(c, value, reterr);
	case K_POLICY:
		return set_policy(c, value, reterr);
	case K_SYNC:
		return set_sync(c, value, reterr);
	case K_HOUSEKEEPING:
		return set_int(&c->housekeeping, name, value, -1, AGENT_CPUS_MAX - 1, reterr);
	case K_PRIORITY:
		return set_int(&c->priority, name, value, 1, 99, reterr);
	case K_PERIOD:
		return set_time(&c->period_ns, name, value, 50 * NS_PER_US, NS_PER_SEC, reterr);
	case K_INTERVAL:
		return set_time(&c->interval_ns, name, value, 100 * NS_PER_MS, 60 * NS_PER_SEC,
				reterr);
	case K_WATCH:
		return set_time(&c->watch_ns, name, value, NS_PER_SEC, 86400 * NS_PER_SEC, reterr);
	case K_QUIET:
		return set_flag(&c->quiet, name, value, reterr);
	case K_DMA:
		return set_flag(&c->use_dma_latency, name, value, reterr);
	case K_BLAME:
		return set_blame(c, value, reterr);
	case K_EXPERIMENTS:
		return set_flag(&c->experiments, name, value, reterr);
	case K_SHARES:
		return set_flag(&c->shares, name, value, reterr);
	case K_IO:
		return set_flag(&c->io, name, value, reterr);
	case K_LOCKS:
		return set_flag(&c->locks, name, value, reterr);
	case K_SYSTEM:
		return set_flag(&c->system, name, value, reterr);
	case K_BUDGET:
		return add_budget(c, value, reterr);
	case K_APP:
		return add_app(c, value, reterr);
	case K_EVENT:
		return add_event(c, value, reterr);
	case K_COUNTERS:
		return set_counters(c, value, reterr);
	case K_SPOOL_MAX:
		return set_size(&c->spool_bytes_max, name, value, reterr);
	case K_FREE_MIN:
		return set_size(&c->spool_free_min, name, value, reterr);
	}
	return err_set(reterr, ERR_INVALID, "there is no key \"%s\"", name);
}

static int on_pair(void *user, unsigned int line, const char *section, const char *key,
		   const char *value, struct err *reterr)
{
	(void)line;
	if (!key || *section)
		return err_set(reterr, ERR_INVALID, "there are no sections in this file");
	return agent_conf_set(user, key, value, reterr);
}

int agent_conf_read(struct agent_conf *c, const char *path, bool must_exist, struct err *reterr)
{
	if (!must_exist && access(path, F_OK) && errno == ENOENT)
		return 0;
	return ini_parse_file(path, false, on_pair, c, reterr);
}

/* "--key", "--key=value" or "--no-key" at argv[0]; returns how many arguments it took. */
static int take_option(struct agent_conf *c, int argc, char **argv, struct err *reterr)
{
	const char *name = argv[0] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const char *known, *value;
	enum key key;
	bool flag, no = false;

	known = find_key(name, len, &key, &flag);
	if (!known && len > 3 && !strncmp(name, "no-", 3)) {
		known = find_key(name + 3, len - 3, &key, &flag);
		no = known != NULL;
	}
	if (!known || (no && (!flag || equals)))
		return 0;
	if (equals)
		value = equals + 1;
	else if (flag)
		value = no ? "no" : "yes";
	else if (argc < 2)
		return err_set(reterr, ERR_INVALID, "--%s needs a value", known);
	else
		value = argv[1];
	if (agent_conf_set(c, known, value, reterr))
		return err_prefix(reterr, "--");
	return equals || flag ? 1 : 2;
}

/* --config decides what is read before all other options, wherever it stands. */
static int read_files(struct agent_conf *c, int argc, char **argv, struct err *reterr)
{
	const char *path = NULL, *server = getenv("RIGSTAT_SERVER");
	int r;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--config") && i + 1 < argc)
			path = argv[i + 1];
		else if (!strncmp(argv[i], "--config=", 9))
			path = argv[i] + 9;
	}
	replace(&c->file, path ? path : DEFAULT_FILE);
	r = agent_conf_read(c, c->file, path && !c->may_lack_file, reterr);
	if (!r && server && *server && set_server(c, server, reterr))
		return err_prefix(reterr, "$RIGSTAT_");
	return r;
}

static int take_config(int argc, char **argv, struct err *reterr)
{
	if (!strncmp(argv[0], "--config=", 9))
		return 1;
	if (strcmp(argv[0], "--config"))
		return 0;
	return argc > 1 ? 2 : err_set(reterr, ERR_INVALID, "--config needs a value");
}

int agent_conf_args(struct agent_conf *c, int argc, char **argv, conf_other_fn other, void *user,
		    int *ret_rest, bool *ret_help, struct err *reterr)
{
	int i = 1, r = read_files(c, argc, argv, reterr);

	*ret_help = false;
	if (r)
		return r;
	while (i < argc && !strncmp(argv[i], "-", 1) && argv[i][1]) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			*ret_help = true;
			return 0;
		}
		r = other ? other(user, argc - i, argv + i, reterr) : 0;
		if (!r)
			r = take_config(argc - i, argv + i, reterr);
		if (!r && !strncmp(argv[i], "--", 2))
			r = take_option(c, argc - i, argv + i, reterr);
		if (r < 0)
			return r;
		if (!r)
			return err_set(reterr, ERR_INVALID, "there is no option %s; see --help",
				       argv[i]);
		i += r;
	}
	*ret_rest = i;
	return 0;
}
