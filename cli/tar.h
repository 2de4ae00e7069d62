/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The regular files of a tar archive in memory: ustar, GNU and pax names. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

bool tar_is(const char *data, size_t len);

struct tar {
	const char *data;
	size_t len, at;
	char name[4097]; /* of the present member */
	const char *bytes;
	size_t bytes_len;
	char long_name[4097]; /* from a GNU or pax header, for the next member */
};
/* 1 = a member, 0 = the end, < 0 = an error that names the byte. */
int tar_next(struct tar *t, struct err *reterr) MUSTCHECK;
