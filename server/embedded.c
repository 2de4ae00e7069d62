/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/embedded.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crc32c.h"
#include "common/log.h"
#include "server/db_admin.h"

#define SOCKET_DIR_MAX 90 /* sun_path is 108, and PostgreSQL appends "/.s.PGSQL.5432" */
#define START_MS       60000
#define STOP_S	       30
#define OLD_SERVER_S   20
#define LOG_MAX	       (10 << 20)
#define RESTART_NS     (5 * NS_PER_SEC)

struct embedded {
	char *dir, *data, *socket_dir, *conninfo, *bin_dir;
	bool own_socket_dir; /* outside of dir: remove it at the end */
	int lock_fd;
	uid_t uid;
	gid_t gid;
	const char *user; /* the user PostgreSQL runs as, for messages and initgroups */
	bool drop;	  /* we are root and become that user */
	pid_t pid;
	int64_t started_ns;
};

/* ---- where and who ---- */

static int pick_user(struct embedded *e, struct err *reterr)
{
	static const char *const names[] = {"postgres", "nobody"};

	e->uid = geteuid();
	e->gid = getegid();
	e->user = "the present user";
	if (e->uid != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct passwd *pw = getpwnam(names[i]);

		if (!pw)
			continue;
		e->user = names[i];
		e->uid = pw->pw_uid;
		e->gid = pw->pw_gid;
		e->drop = true;
		return 0;
	}
	return err_set(reterr, ERR_UNSUPPORTED,
		       "PostgreSQL does not run as root, and there is neither a user postgres nor "
		       "nobody: run rigstat-server as an ordinary user");
}

static char *bin_dir_of(int major)
{
	char *dir = xasprintf("/usr/lib/postgresql/%d/bin", major);
	char *file = xasprintf("%s/postgres", dir);
	bool found = access(file, X_OK) == 0;

	free(file);
	if (!found)
		freep(&dir);
	return dir;
}

static char *bin_dir_on_path(void)
{
	const char *path = getenv("PATH");

	for (const char *p = path; p && *p;) {
		size_t n = strcspn(p, ":");
		char *dir = xstrndup(p, n);
		char *file = xasprintf("%s/postgres", dir);
		char *init = xasprintf("%s/initdb", dir);
		bool found = access(file, X_OK) == 0 && access(init, X_OK) == 0;

		free(file);
		free(init);
		if (found)
			return dir;
		free(dir);
		p += n + (p[n] == ':');
	}
	return NULL;
}

/* The version that made the cluster, or the newest for a new one. */
static int find_binaries(struct embedded *e, struct err *reterr)
{
	char *file CLEANUP(freep) = xasprintf("%s/PG_VERSION", e->data);
	FILE *f = fopen(file, "re");
	int major = 0;

	if (f) {
		if (fscanf(f, "%d", &major) != 1)
			major = 0;
		(void)fclose(f);
		e->bin_dir = bin_dir_of(major);
	}
	for (int v = 30; v >= 15 && !e->bin_dir && !major; v--)
		e->bin_dir = bin_dir_of(v);
	if (!e->bin_dir)
		e->bin_dir = bin_dir_on_path();
	if (e->bin_dir)
		return 0;
	if (major)
		return err_set(reterr, ERR_UNSUPPORTED,
			       "%s was made by PostgreSQL %d, which is not installed: install "
			       "postgresql-%d",
			       e->data, major, major);
	return err_set(
		reterr, ERR_UNSUPPORTED,
		"PostgreSQL 15 or newer is not installed: install the package postgresql, or "
		"use --database");
}

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	bool empty = true;

	if (!d)
		return false;
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    strcmp(entry->d_name, "lost+found") != 0)
			empty = false;
	(void)closedir(d);
	return empty;
}

static int make_dir(const struct embedded *e, const char *dir, struct err *reterr)
{
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_errno(reterr, errno, "%s cannot be made", dir);
	if (e->drop && chown(dir, e->uid, e->gid) < 0)
		return err_errno(reterr, errno, "%s cannot be given to user %s", dir, e->user);
	return 0;
}

static int make_parents(char *path)
{
	for (char *p = path + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST) {
			*p = '/';
			return -errno;
		}
		*p = '/';
	}
	return 0;
}

static int prepare_dir(struct embedded *e, const char *dir, struct err *reterr)
{
	char *given CLEANUP(freep) = xstrdup(dir);
	char *lock CLEANUP(freep) = NULL;
	int rc = make_parents(given);
	struct stat st;
	bool existed = stat(dir, &st) == 0;

	if (strpbrk(dir, "'\\,\""))
		return err_set(reterr, ERR_INVALID,
			       "--embedded %s: no quotes, commas or backslashes in the name", dir);
	if (rc < 0)
		return err_errno(reterr, -rc, "--embedded %s: cannot be made", dir);
	lock = xasprintf("%s/lock", dir);
	if (existed && access(lock, F_OK) != 0 && !is_empty(dir))
		return err_set(reterr, ERR_CONFLICT,
			       "--embedded %s: the directory has other files in it; give a new one",
			       dir);
	if (make_dir(e, dir, reterr) < 0)
		return err_prefix(reterr, "--embedded: ");
	e->dir = realpath(dir, NULL);
	if (!e->dir)
		return err_errno(reterr, errno, "--embedded %s", dir);
	e->data = xasprintf("%s/data", e->dir);
	e->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (e->lock_fd < 0)
		return err_errno(reterr, errno, "%s", lock);
	if (flock(e->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(reterr, ERR_BUSY,
			       "--embedded %s: another rigstat-server is running on it. Several "
			       "servers share an ordinary PostgreSQL: --database",
			       dir);
	return 0;
}

/* A socket's path has 107 bytes: a long DIR gets its socket elsewhere. */
static int pick_socket_dir(struct embedded *e, struct err *reterr)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	e->socket_dir = xasprintf("%s/s", e->dir);
	if (strlen(e->socket_dir) > SOCKET_DIR_MAX) {
		if (geteuid() == 0)
			runtime = "/run";
		if (!runtime || strlen(runtime) > 50 || access(runtime, W_OK) != 0)
			runtime = "/tmp";
		free(e->socket_dir);
		e->socket_dir = xasprintf("%s/rigstat-%08x", runtime,
					  (unsigned int)crc32c(0, e->dir, strlen(e->dir)));
		e->own_socket_dir = true;
	}
	if (mkdir(e->socket_dir, 0700) < 0 && errno != EEXIST)
		return err_errno(reterr, errno, "%s cannot be made", e->socket_dir);
	if (lstat(e->socket_dir, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    (st.st_uid != geteuid() && st.st_uid != e->uid) || (st.st_mode & 0077) != 0)
		return err_set(reterr, ERR_PERM, "%s belongs to someone else: remove it",
			       e->socket_dir);
	return make_dir(e, e->socket_dir, reterr);
}

/* ---- processes ---- */

static void reset_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

/* In the child: becomes the user and runs argv; output goes to out_fd. */
static NORETURN void exec_as(const struct embedded *e, pid_t parent, int out_fd, char *const argv[])
{
	reset_signals();
	(void)setpgid(0, 0); /* a Ctrl-C in the terminal is for us; we stop PostgreSQL in order */
	if (e->drop && (setgroups(0, NULL) < 0 || initgroups(e->user, e->gid) < 0 ||
			setgid(e->gid) < 0 || setuid(e->uid) < 0))
		_exit(126);
	/* After the change of user, which clears it. SIGINT is PostgreSQL's fast shutdown. */
	if (prctl(PR_SET_PDEATHSIG, SIGINT) < 0 || getppid() != parent)
		_exit(126);
	(void)dup2(out_fd, STDOUT_FILENO);
	(void)dup2(out_fd, STDERR_FILENO);
	(void)setenv("LC_ALL", "C", 1);
	(void)unsetenv("PGDATA");
	if (chdir("/") < 0)
		_exit(126);
	execv(argv[0], argv);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

/* The end of what a program said, one line. */
static void read_tail(int fd, char *buf, size_t cap)
{
	ssize_t n;
	off_t size = lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)cap - 1 ? size - (off_t)cap + 1 : 0;

	buf[0] = '\0';
	n = pread(fd, buf, cap - 1, from);
	if (n > 0)
		buf[n] = '\0';
	for (char *p = buf; *p; p++)
		if (*p == '\n')
			*p = ' ';
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* Made beside its place and renamed, so that a cluster is there wholly or not at all. */
static int run_initdb(struct embedded *e, struct err *reterr)
{
	char *initdb CLEANUP(freep) = xasprintf("%s/initdb", e->bin_dir);
	char *fresh CLEANUP(freep) = xasprintf("%s.new", e->data);
	char *argv[] = {initdb,
			(char *)"-D",
			fresh,
			(char *)"-U",
			(char *)"rigstat",
			(char *)"-A",
			(char *)"trust",
			(char *)"--no-locale",
			(char *)"-E",
			(char *)"UTF8",
			NULL};
	int out = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	pid_t parent = getpid(), pid;
	char said[300];
	int status;

	if (out < 0)
		return err_errno(reterr, errno, "a temporary file in /tmp");
	log_info("embedded: making a PostgreSQL cluster in %s as user %s", e->data, e->user);
	(void)nftw(fresh, remove_entry, 16, FTW_DEPTH | FTW_PHYS); /* of an interrupted start */
	pid = fork();
	if (pid == 0)
		exec_as(e, parent, out, argv);
	status = pid < 0 ? -1 : wait_for(pid);
	read_tail(out, said, sizeof(said));
	close(out);
	if (status == 0 && rename(fresh, e->data) == 0)
		return 0;
	return err_set(reterr, ERR_DB, "%s/initdb failed as user %s (can that user reach %s?): %s",
		       e->bin_dir, e->user, e->dir, said);
}

static int open_log(const struct embedded *e, struct err *reterr)
{
	char *file CLEANUP(freep) = xasprintf("%s/postgres.log", e->dir);
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return err_errno(reterr, errno, "%s", file);
	if (fstat(fd, &st) == 0 && st.st_size > LOG_MAX && ftruncate(fd, 0) < 0)
		log_warn("embedded: %s is large and cannot be cut", file);
	if (e->drop && fchown(fd, e->uid, e->gid) < 0)
		log_warn("embedded: %s cannot be given to user %s", file, e->user);
	return fd;
}

static int spawn_postgres(struct embedded *e, struct err *reterr)
{
	char *postgres CLEANUP(freep) = xasprintf("%s/postgres", e->bin_dir);
	char *sockets CLEANUP(freep) = xasprintf("unix_socket_directories=%s", e->socket_dir);
	const char *const settings[] = {
		"listen_addresses=",
		sockets,
		"unix_socket_permissions=0700",
		"max_connections=40",
		"shared_buffers=64MB",
		"max_wal_size=1GB",
		"wal_compression=lz4",
		"cluster_name=rigstat",
		"log_line_prefix=%m [%p] ",
		"log_timezone=UTC",
		"max_parallel_workers_per_gather=0",
		"autovacuum_max_workers=2",
	};
	char *argv[3 + 2 * ARRAY_LEN(settings) + 1] = {postgres, (char *)"-D", e->data};
	pid_t parent = getpid();
	int log = open_log(e, reterr);

	if (log < 0)
		return log;
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		argv[3 + 2 * i] = (char *)"-c";
		argv[4 + 2 * i] = (char *)(uintptr_t)settings[i];
	}
	e->pid = fork();
	if (e->pid == 0)
		exec_as(e, parent, log, argv);
	close(log);
	e->started_ns = clock_monotonic_ns();
	if (e->pid < 0)
		return err_errno(reterr, errno, "PostgreSQL cannot be started");
	return 0;
}

static bool is_alive(void *ctx)
{
	struct embedded *e = ctx;

	if (e->pid > 0 && waitpid(e->pid, NULL, WNOHANG) == e->pid)
		e->pid = 0;
	return e->pid > 0;
}

/* The postmaster of a server that was killed is still shutting down: its pid file names it. */
static pid_t old_postmaster(const struct embedded *e)
{
	char *file CLEANUP(freep) = xasprintf("%s/postmaster.pid", e->data);
	char name[40] = "", comm[64];
	FILE *f = fopen(file, "re");
	long pid = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &pid) != 1)
		pid = 0;
	(void)fclose(f);
	(void)snprintf(comm, sizeof(comm), "/proc/%ld/comm", pid);
	f = pid > 0 ? fopen(comm, "re") : NULL;
	if (!f)
		return 0;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	(void)fclose(f);
	return strncmp(name, "postgres", 8) == 0 ? (pid_t)pid : 0;
}

static int wait_for_old(const struct embedded *e, struct err *reterr)
{
	const struct timespec pause = {.tv_nsec = 50 * NS_PER_MS};
	int64_t until = clock_monotonic_ns() + OLD_SERVER_S * NS_PER_SEC;
	pid_t pid;

	while ((pid = old_postmaster(e))) {
		if (clock_monotonic_ns() > until)
			return err_set(reterr, ERR_BUSY,
				       "a PostgreSQL (process %ld) is still running on %s: stop it",
				       (long)pid, e->data);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static int start(struct embedded *e, struct err *reterr)
{
	char *file CLEANUP(freep) = xasprintf("%s/PG_VERSION", e->data);
	char *admin CLEANUP(freep) = NULL;

	if (access(file, F_OK) != 0 && run_initdb(e, reterr) < 0)
		return reterr->code;
	if (wait_for_old(e, reterr) < 0 || spawn_postgres(e, reterr) < 0)
		return reterr->code;
	admin = xasprintf("host='%s' user=rigstat dbname=postgres", e->socket_dir);
	e->conninfo = xasprintf("host='%s' user=rigstat dbname=rigstat", e->socket_dir);
	if (db_admin_wait(admin, START_MS, is_alive, e, reterr) < 0)
		return err_prefix(reterr, "see %s/postgres.log: ", e->dir);
	return db_admin_create_database(admin, "rigstat", reterr);
}

int embedded_start(const char *dir, struct embedded **ret, struct err *reterr)
{
	struct embedded *e = xcalloc(1, sizeof(*e));

	e->lock_fd = -1;
	if (pick_user(e, reterr) < 0 || prepare_dir(e, dir, reterr) < 0 ||
	    find_binaries(e, reterr) < 0 || pick_socket_dir(e, reterr) < 0 ||
	    start(e, reterr) < 0) {
		embedded_stop(e);
		return reterr->code;
	}
	*ret = e;
	return 0;
}

char *embedded_running(const char *dir)
{
	char *file CLEANUP(freep) = xasprintf("%s/data/postmaster.pid", dir);
	char line[300], *conninfo = NULL;
	FILE *f = fopen(file, "re");

	/* Line 5 is the directory of the socket. */
	for (int n = 1; f && fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = '\0';
		if (n == 5 && *line)
			conninfo = xasprintf("host='%s' user=rigstat dbname=rigstat", line);
	}
	if (f)
		(void)fclose(f);
	return conninfo;
}

const char *embedded_conninfo(const struct embedded *e)
{
	return e->conninfo;
}

void embedded_tick(struct embedded *e)
{
	struct err err;

	if (is_alive(e) || clock_monotonic_ns() - e->started_ns < RESTART_NS)
		return;
	log_error(
		"embedded: PostgreSQL has ended by itself: see %s/postgres.log; starting it again",
		e->dir);
	if (spawn_postgres(e, &err) < 0)
		log_error("embedded: %s", err.text);
}

void embedded_stop(struct embedded *e)
{
	const struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};
	int64_t until = clock_monotonic_ns() + STOP_S * NS_PER_SEC;

	if (!e)
		return;
	if (is_alive(e))
		(void)kill(e->pid, SIGINT);
	while (is_alive(e) && clock_monotonic_ns() < until)
		(void)nanosleep(&pause, NULL);
	if (e->pid > 0) {
		log_warn("embedded: PostgreSQL does not stop: stopping it at once");
		(void)kill(e->pid, SIGQUIT);
		(void)wait_for(e->pid);
	}
	if (e->own_socket_dir && e->socket_dir)
		(void)rmdir(e->socket_dir);
	if (e->lock_fd >= 0)
		close(e->lock_fd);
	free(e->dir);
	free(e->data);
	free(e->socket_dir);
	free(e->conninfo);
	free(e->bin_dir);
	free(e);
}
