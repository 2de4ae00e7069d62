/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat import: files, folders and archives to the server, as the bytes that they are.
 *
 * A file that was named must be readable; in a folder or archive, what no importer knows is skipped
 * and counted. The server decides whether bytes are already there, so the verb may be repeated. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/import_args.h"
#include "cli/import_large.h"
#include "cli/input.h"
#include "cli/tar.h"
#include "cli/verbs.h"
#include "common/import/gunzip.h"

/* In folders: below this a file is only some table of numbers, unless its name says .csv. */
#define SURE_ENOUGH   40
#define ERRORS_SHOWN  20
#define TRIES	      5
#define PROGRESS_STEP 16

const char verb_import_help[] =
	"  rigstat import before/*.txt --set rq_affinity=0 --experiment rq\n"
	"  rigstat import results.tar.gz --host olab-12 --dry-run\n"
	"\n"
	"usage: rigstat import [OPTIONS] FILE|FOLDER|ARCHIVE|-...\n"
	"\n"
	"Sends files to the server, which keeps the original bytes and makes runs of them.\n"
	"Folders and tar archives (also .tar.gz) are read to the bottom; what no importer knows "
	"in\n"
	"them is skipped and counted. mmtests folders (RUN/iter-N/...) set the factor "
	"mmtests_run.\n"
	"The same bytes in the same place are the same run, so a command may be repeated.\n"
	"\n"
	"  --set FACTOR=LEVEL the level of a factor, on every run (repeat for more)\n"
	"  --tag NAME=VALUE   a tag, on every run\n"
	"  --experiment NAME  the experiment; made when it is new\n"
	"  --host NAME        the box, when the file does not say\n"
	"  --boot NAME        which boot of the box (any name), when the file does not say: what "
	"is\n"
	"                     fixed at boot is judged over boots, not runs\n"
	"  --dry-run          let the server read and report, and store nothing\n"
	"  --watch FOLDER     import what is there, then every file that is finished there, until\n"
	"                     interrupted\n"
	"  --undo IMPORT      remove an import (i_3) and its runs\n"
	"  --json             one line of JSON for each file: the server's answer\n"
	"  --server URL       or $RIGSTAT_SERVER\n" IMPORT_ARG_HELP "\n"
	"Exit status: 0 everything was imported or already there, 3 usage or some file was "
	"refused\n"
	"(the others are imported), 4 the server or the network failed (nothing after that was "
	"sent).\n";

struct import_run {
	struct import_args args;
	const char **paths;
	size_t n, cap;
	const char *server, *watch, *undo;
	bool dry_run, json, progress;
	/* results */
	size_t seen, imported, already, skipped, failed, runs;
	int status; /* ERR_* of a failure that ends everything, 0 = go on */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* ---- what the person sees ---- */

static void clear_progress(const struct import_run *im)
{
	if (im->progress)
		(void)fputs("\r\033[K", stderr);
}

static void show_progress(const struct import_run *im)
{
	if (im->progress && im->seen % PROGRESS_STEP == 0)
		(void)fprintf(stderr, "\r\033[K%zu files read, %zu imported, %zu failed", im->seen,
			      im->imported, im->failed);
}

static void complain(struct import_run *im, const char *text)
{
	im->failed++;
	clear_progress(im);
	if (im->failed <= ERRORS_SHOWN)
		(void)fprintf(stderr, "rigstat: %s\n", text);
	if (im->failed == ERRORS_SHOWN + 1)
		(void)fprintf(stderr, "rigstat: more errors follow; they are only counted\n");
}

static void summary(const struct import_run *im)
{
	clear_progress(im);
	(void)fprintf(stderr,
		      "%s%zu file%s (%zu run%s), %zu already there, %zu skipped, %zu refused\n",
		      im->dry_run ? "would import " : "imported ", im->imported,
		      im->imported == 1 ? "" : "s", im->runs, im->runs == 1 ? "" : "s", im->already,
		      im->skipped, im->failed);
}

static void take_answer(struct import_run *im, const struct client_answer *answer)
{
	json_t *doc =
		json_loadb(answer->body.data ? answer->body.data : "", answer->body.len, 0, NULL);

	if (json_is_true(json_object_get(doc, "already"))) {
		im->already++;
	} else {
		im->imported++;
		im->runs += json_array_size(json_object_get(doc, "runs"));
	}
	if (im->json) {
		char *line = json_dumps(doc, JSON_COMPACT);

		if (line)
			(void)printf("%s\n", line);
		free(line);
	}
	json_decref(doc);
}

/* ---- one file ---- */

/* "RUN/iter-0/cyclictest/logs/x.log" of mmtests: the run's name. */
static bool mmtests_run(const char *name, char *ret, size_t cap)
{
	const char *iter = strstr(name, "/iter-"), *start;

	if (!iter || iter == name || iter[6] < '0' || iter[6] > '9')
		return false;
	for (start = iter; start > name && start[-1] != '/';)
		start--;
	(void)snprintf(ret, cap, "%.*s", (int)(iter - start), start);
	return *ret != '\0';
}

/* `made_here`: the body is run documents (import_large). */
static void path_of(const struct import_run *im, const char *name, bool made_here,
		    struct strbuf *out)
{
	const struct import_options *o = &im->args.o;
	struct import_args labels = {.o = {.factors = o->factors,
					   .tags = o->tags,
					   .host = o->host,
					   .boot = o->boot,
					   .experiment = o->experiment}};
	char run[128];

	strbuf_puts(out, "/api/v1/imports?source=");
	client_escape(name, out);
	if (im->dry_run)
		strbuf_puts(out, "&dry_run=true");
	import_args_query(made_here ? &labels : &im->args, out);
	if (mmtests_run(name, run, sizeof(run)) &&
	    !labels_get(&im->args.o.factors, "mmtests_run")) {
		strbuf_puts(out, "&set=mmtests_run%3D");
		client_escape(run, out);
	}
}

/* 429 and 503 mean "later"; anything else from the network ends the command. */
static int post_bytes(struct import_run *im, const char *path, const char *data, size_t len,
		      struct err *reterr)
{
	int rc = 0;

	for (int try = 0; try < TRIES; try++) {
		CLEANUP(client_answer_done) struct client_answer answer = {0};
		struct client_call call = {.server = im->server,
					   .path = path,
					   .method = "POST",
					   .content_type = "application/octet-stream",
					   .body = data,
					   .body_len = len};

		rc = client_call(&call, &answer, reterr);
		if (!rc) {
			take_answer(im, &answer);
			return 0;
		}
		if (answer.status != 429 && answer.status != 503)
			return rc;
		(void)poll(NULL, 0, 500 << try);
	}
	return rc;
}

static int post(struct import_run *im, const char *name, const char *data, size_t len,
		struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = {0}, documents = {0};
	bool large = len > IMPORT_BODY_MAX;
	int rc = large ? import_large(name, data, len, &im->args, &documents, reterr) : 0;

	if (rc)
		return rc;
	path_of(im, name, large, &path);
	return large ? post_bytes(im, path.data, documents.data, documents.len, reterr)
		     : post_bytes(im, path.data, data, len, reterr);
}

/* The server refused this file (go on), or there is no server (stop)? */
static bool is_fatal(int rc)
{
	return rc == ERR_REMOTE || rc == ERR_TIMEOUT || rc == ERR_PERM || rc == ERR_NOMEM;
}

static bool ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a >= b && !strcmp(s + a - b, end);
}

/* jitterdebugger leaves two files of one run; samples.raw has the samples that results.json drops.
 */
static bool has_raw_beside(const char *name)
{
	const char *slash = strrchr(name, '/');
	CLEANUP(freep)
	char *raw = xasprintf("%.*ssamples.raw", slash ? (int)(slash + 1 - name) : 0, name);

	return access(raw, R_OK) == 0;
}

/* `found`: it was found in a folder or archive, not named. */
static void import_bytes_of(struct import_run *im, const char *name, const char *data, size_t len,
			    bool found)
{
	const char *format = NULL;
	struct err err = {0};
	int sure, rc;

	im->seen++;
	show_progress(im);
	sure = im->args.o.format ? 100 : import_detect(data, len, &format);
	if (found && (!sure || (sure < SURE_ENOUGH && !ends_with(name, ".csv")) ||
		      (format && !strcmp(format, "jitterdebugger") && has_raw_beside(name)))) {
		im->skipped++;
		return;
	}
	rc = post(im, name, data, len, &err);
	if (!rc)
		return;
	if (is_fatal(rc))
		im->status = rc;
	(void)err_prefix(&err, "%s: ", name);
	complain(im, err.text);
}

static void import_tar(struct import_run *im, const char *name, const char *data, size_t len)
{
	struct tar *t = xcalloc(1, sizeof(*t));
	struct err err;
	int rc = 0;

	t->data = data;
	t->len = len;
	while (!im->status && !interrupted && (rc = tar_next(t, &err)) == 1) {
		CLEANUP(freep) char *member = xasprintf("%s/%s", name, t->name);

		import_bytes_of(im, member, t->bytes, t->bytes_len, true);
	}
	if (rc < 0) {
		(void)err_prefix(&err, "%s: ", name);
		complain(im, err.text);
	}
	free(t);
}

static void import_file(struct import_run *im, const char *path, bool found)
{
	CLEANUP(strbuf_done) struct strbuf plain = {0};
	CLEANUP(input_close) struct input bytes = {0};
	const char *name = input_name(path);
	struct err err;

	if (input_open(path, &bytes, &err)) {
		complain(im, err.text);
		return;
	}
	if (tar_is(bytes.data, bytes.len)) {
		import_tar(im, name, bytes.data, bytes.len);
		return;
	}
	if (gunzip_is(bytes.data, bytes.len) &&
	    gunzip_bytes(bytes.data, bytes.len, &plain, &err) == 0 &&
	    tar_is(plain.data, plain.len)) {
		import_tar(im, name, plain.data, plain.len);
		return;
	}
	import_bytes_of(im, name, bytes.data, bytes.len, found);
}

/* ---- folders ---- */

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void import_path(struct import_run *im, const char *path, bool found);

static void import_folder(struct import_run *im, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, visible, alphasort);
	struct err err;

	if (n < 0) {
		(void)err_errno(&err, errno, "%s", path);
		complain(im, err.text);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (!im->status && !interrupted) {
			CLEANUP(freep) char *child = xasprintf("%s/%s", path, names[i]->d_name);

			import_path(im, child, true);
		}
		free(names[i]);
	}
	free(names);
}

static void import_path(struct import_run *im, const char *path, bool found)
{
	struct stat st;
	struct err err;

	if (!strcmp(path, "-")) {
		import_file(im, path, found);
		return;
	}
	/* A link inside a folder could lead round in circles; one that was named is followed. */
	if ((found ? lstat(path, &st) : stat(path, &st)) != 0) {
		(void)err_errno(&err, errno, "%s", path);
		complain(im, err.text);
	} else if (S_ISDIR(st.st_mode)) {
		import_folder(im, path);
	} else if (S_ISREG(st.st_mode)) {
		import_file(im, path, found);
	} else if (found) {
		im->skipped++;
	} else {
		(void)err_set(&err, ERR_INVALID, "%s: neither a file nor a folder", path);
		complain(im, err.text);
	}
}

/* Files that were closed after writing, or moved here. */
static int watch_events(struct import_run *im, int fd, struct err *reterr)
{
	char buf[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR ? 0 : err_errno(reterr, errno, "watching %s", im->watch);
	for (char *p = buf; p < buf + n;) {
		const struct inotify_event *e = (const struct inotify_event *)(void *)p;

		p += sizeof(*e) + e->len;
		if (e->mask & IN_Q_OVERFLOW)
			import_folder(im, im->watch);
		if (e->mask & (IN_DELETE_SELF | IN_MOVE_SELF))
			return err_set(reterr, ERR_IO, "%s is gone", im->watch);
		if (e->len && e->name[0] != '.') {
			CLEANUP(freep) char *path = xasprintf("%s/%s", im->watch, e->name);

			import_path(im, path, true);
			summary(im);
		}
	}
	return 0;
}

static int watch(struct import_run *im, struct err *reterr)
{
	int fd = inotify_init1(IN_CLOEXEC), rc = 0;
	struct sigaction sa = {.sa_handler = on_signal};

	if (fd < 0)
		return err_errno(reterr, errno, "inotify");
	/* Watch first, then look: a file that comes in between is read twice, never lost. */
	if (inotify_add_watch(fd, im->watch,
			      IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
				      IN_ONLYDIR) < 0) {
		rc = err_errno(reterr, errno, "%s", im->watch);
		close(fd);
		return rc;
	}
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	import_folder(im, im->watch);
	summary(im);
	while (!rc && !im->status && !interrupted)
		rc = watch_events(im, fd, reterr);
	close(fd);
	return rc;
}

/* ---- the verb ---- */

static int take_option(struct import_run *im, int id, const char *value, struct err *reterr)
{
	switch (id) {
	case ARG_OPERAND:
		GROW(im->paths, im->n, im->cap);
		im->paths[im->n++] = value;
		return 0;
	case 1:
		im->dry_run = true;
		return 0;
	case 2:
		im->watch = value;
		return 0;
	case 3:
		im->server = value;
		return 0;
	case 4:
		im->json = true;
		return 0;
	case 5:
		im->undo = value;
		return 0;
	default:
		return import_args_take(&im->args, id, value, reterr);
	}
}

static int parse(struct import_run *im, int argc, char **argv, struct err *reterr)
{
	static const struct option_def defs[] = {{"--dry-run", 1, false},
						 {"--watch", 2, true},
						 {"--server", 3, true},
						 {"--json", 4, false},
						 {"--undo", 5, true},
						 IMPORT_ARG_DEFS,
						 {0}};
	struct args a = {.argv = argv, .argc = argc, .at = 1};
	const char *value;
	int id;

	while ((id = args_next(&a, defs, &value, reterr)) != ARG_END) {
		if (id >= 0)
			id = take_option(im, id, value, reterr);
		if (id < 0)
			return id;
	}
	if (im->undo && (im->n || im->watch))
		return err_set(reterr, ERR_INVALID, "--undo stands alone");
	if (!im->n && !im->watch && !im->undo)
		return err_set(reterr, ERR_INVALID, "which files?");
	return client_server(im->server, &im->server, reterr);
}

static int undo(const struct import_run *im, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0};
	struct client_call call = {.server = im->server, .method = "DELETE"};

	strbuf_puts(&path, "/api/v1/imports/");
	client_escape(im->undo, &path);
	call.path = path.data;
	return client_call(&call, &answer, reterr);
}

int verb_import(int argc, char **argv)
{
	struct import_run im = {.progress = isatty(STDERR_FILENO)};
	struct err err = {0};
	int rc, status;

	if (parse(&im, argc, argv, &err)) {
		status = cli_usage("import", &err);
	} else if (im.undo) {
		status = undo(&im, &err) ? cli_fail(&err) : EXIT_DONE;
	} else {
		for (size_t i = 0; i < im.n && !im.status && !interrupted; i++)
			import_path(&im, im.paths[i], false);
		rc = im.watch && !im.status ? watch(&im, &err) : 0;
		if (rc)
			complain(&im, err.text);
		if (im.n || interrupted)
			summary(&im);
		status = im.status || (rc && rc != ERR_INVALID) ? EXIT_SERVER
			 : im.failed				? EXIT_USAGE
								: EXIT_DONE;
	}
	import_args_done(&im.args);
	free(im.paths);
	return status;
}
