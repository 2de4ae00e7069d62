/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/joblog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int joblog_open(struct joblog *l, const char *path, uint64_t bytes_max, struct err *reterr)
{
	*l = (struct joblog){.bytes_max = bytes_max};
	l->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	return l->fd >= 0 ? 0 : err_errno(reterr, errno, "%s: cannot write the log", path);
}

void joblog_add(struct joblog *l, const char *data, size_t len)
{
	size_t room = l->written < l->bytes_max ? (size_t)(l->bytes_max - l->written) : 0;
	ssize_t n = write(l->fd, data, len < room ? len : room);

	l->written += n > 0 ? (uint64_t)n : 0;
	l->left_out += len - (n > 0 ? (size_t)n : 0);
	for (size_t i = 0; i < len; i++)
		l->tail[l->total++ % JOBLOG_TAIL] = data[i];
}

void joblog_tail(const struct joblog *l, size_t lines, struct strbuf *out)
{
	uint64_t len = l->total < JOBLOG_TAIL ? l->total : JOBLOG_TAIL;
	uint64_t from = l->total - len, start = l->total;

	/* back over the last newline, then over as many lines as asked for */
	if (start > from && l->tail[(start - 1) % JOBLOG_TAIL] == '\n')
		start--;
	for (; start > from; start--)
		if (l->tail[(start - 1) % JOBLOG_TAIL] == '\n' && --lines == 0)
			break;
	for (; start < l->total; start++) {
		char c = l->tail[start % JOBLOG_TAIL];

		strbuf_putc(out, (unsigned char)c < 0x20 && c != '\n' && c != '\t' ? '?' : c);
	}
}

void joblog_close(struct joblog *l)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};

	if (l->left_out) {
		strbuf_printf(&b, "\n[rigstat: %llu bytes left out here; the last lines were:]\n",
			      (unsigned long long)l->left_out);
		joblog_tail(l, 20, &b);
		if (write(l->fd, b.data, b.len) < 0)
			l->left_out += b.len;
	}
	close(l->fd);
	l->fd = -1;
}
