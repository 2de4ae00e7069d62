/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is larger than the server takes: its runs are made here, and they are sent. */
#pragma once

#include "cli/import_args.h"
#include "common/strbuf.h"

/* The server's limit for one import. */
#define IMPORT_BODY_MAX ((size_t)32 << 20)

/* Adds the file's runs to `ret` as run documents, a line each. Every run gets a note that says that
 * the original bytes are not on the server, with their SHA-256. The options are applied here: the
 * server needs none of them but the labels. */
int import_large(const char *name, const char *data, size_t len, const struct import_args *a,
		 struct strbuf *ret, struct err *reterr) MUSTCHECK;
