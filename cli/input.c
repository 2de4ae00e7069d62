/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

const char *input_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

/* Pages behind the end of a file that another process cut off, or a disk that fails. */
static void on_sigbus(int sig)
{
	static const char text[] =
		"rigstat: an input file was cut off, or its disk failed, while it was read\n";

	(void)sig;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_SERVER);
}

static int map_file(int fd, const char *path, size_t len, struct input *ret, struct err *reterr)
{
	struct sigaction sa = {.sa_handler = on_sigbus};

	ret->map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->map == MAP_FAILED) {
		ret->map = NULL;
		return err_errno(reterr, errno, "%s", path);
	}
	(void)sigaction(SIGBUS, &sa, NULL);
	(void)madvise(ret->map, len, MADV_SEQUENTIAL);
	ret->data = ret->map;
	ret->len = len;
	return 0;
}

int input_open(const char *path, struct input *ret, struct err *reterr)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc;
	struct stat st;

	*ret = (struct input){.data = ""};
	if (fd < 0)
		return err_errno(reterr, errno, "%s", path);
	/* A file of /proc says that it is empty; standard input may stand in the middle. */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && !is_stdin) {
		rc = map_file(fd, path, (size_t)st.st_size, ret, reterr);
	} else {
		rc = cli_read_fd(fd, input_name(path), PIPE_BYTES_MAX, &ret->read, reterr);
		if (rc == ERR_LIMIT)
			rc = err_set(reterr, ERR_LIMIT,
				     "%s: more than %zu MiB through a pipe; give it as a file, "
				     "which may have any size",
				     input_name(path), PIPE_BYTES_MAX >> 20);
		ret->data = ret->read.data ? ret->read.data : "";
		ret->len = ret->read.len;
	}
	if (!is_stdin)
		close(fd);
	if (rc)
		input_close(ret);
	return rc;
}

void input_close(struct input *in)
{
	if (in->map)
		(void)munmap(in->map, in->len);
	strbuf_done(&in->read);
	*in = (struct input){.data = ""};
}
