/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int cli_fail(const struct err *e)
{
	fprintf(stderr, "rigstat: %s\n", e->text);
	return err_exit_status(e->code);
}

int cli_usage(const char *verb, const struct err *e)
{
	fprintf(stderr, "rigstat %s: %s (rigstat %s -h explains)\n", verb, e->text, verb);
	return EXIT_USAGE;
}

void cli_clean(struct strbuf *out)
{
	for (size_t i = 0; i < out->len; i++) {
		unsigned char c = (unsigned char)out->data[i];

		if ((c < ' ' && c != '\n' && c != '\t') || c == 127)
			out->data[i] = '?';
	}
}

int cli_print(const struct strbuf *out)
{
	struct err e;

	if (out->len && fwrite(out->data, 1, out->len, stdout) != out->len) {
		err_errno(&e, errno, "standard output");
		return cli_fail(&e);
	}
	if (fflush(stdout) != 0) {
		err_errno(&e, errno, "standard output");
		return cli_fail(&e);
	}
	return EXIT_DONE;
}

int cli_read_fd(int fd, const char *name, size_t max, struct strbuf *ret, struct err *reterr)
{
	for (;;) {
		char buf[65536];
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(reterr, errno, "%s", name);
		if (n == 0)
			return 0;
		if (ret->len + (size_t)n > max)
			return err_set(reterr, ERR_LIMIT, "%s is larger than %zu MiB", name,
				       max >> 20);
		strbuf_add(ret, buf, (size_t)n);
	}
}

int cli_read_file(const char *path, size_t max, struct strbuf *ret, struct err *reterr)
{
	int fd, r;

	strbuf_add(ret, "", 0);
	if (!strcmp(path, "-"))
		return cli_read_fd(STDIN_FILENO, "standard input", max, ret, reterr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(reterr, errno, "%s", path);
	r = cli_read_fd(fd, path, max, ret, reterr);
	close(fd);
	return r;
}
