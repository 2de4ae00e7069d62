/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pages, embedded at build time: one table of files, made by web/build.mjs, or one page that
 * says how to build them (-DRIGSTAT_WEB=OFF). */
#pragma once

#include "server/http.h"

struct asset {
	const char *path, *type, *etag;
	bool immutable; /* the name changes with the content */
	const unsigned char *data;
	const unsigned long long *len;
	const unsigned char *gz; /* NULL: not compressed */
	const unsigned long long *gz_len;
};

/* Ended by a row without path. */
extern const struct asset assets[];

/* Handlers: a file under /assets/, and any address that is a page. */
enum step assets_file(struct request *req);
enum step assets_page(struct request *req);
