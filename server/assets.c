/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Serves the pages. Every page address gets the same document; the program in it reads the
 * address. Nothing is loaded from elsewhere, and the policy below forbids it.
 *
 * With --web-dir the files of a bundle come from disk, read while the loop waits: for people who
 * work on the pages, not for service. */
#include "server/assets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/check.h"
#include "server/http_parse.h"
#include "server/server.h"

#define DISK_FILE_MAX (16 * 1024 * 1024)

static void add_policy(struct request *req)
{
	reply_header(req, "Content-Security-Policy",
		     "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; "
		     "base-uri 'none'");
	reply_header(req, "Referrer-Policy", "same-origin");
	reply_header(req, "Vary", "Accept-Encoding");
}

static enum step not_here(struct request *req)
{
	return reply_problem(req, 404, "not-found", "Reload the page.",
			     "%s is not a file of this version of the pages.", req->path);
}

static const char *type_of(const char *path)
{
	const char *ext = strrchr(path, '.');

	if (ext && strcmp(ext, ".js") == 0)
		return "text/javascript; charset=utf-8";
	if (ext && strcmp(ext, ".css") == 0)
		return "text/css; charset=utf-8";
	if (ext && strcmp(ext, ".svg") == 0)
		return "image/svg+xml";
	return "text/html; charset=utf-8";
}

static enum step reply_disk(struct request *req, const char *path)
{
	char file[4096], block[8192];
	CLEANUP(strbuf_done) struct strbuf body = {0};
	size_t n;
	FILE *f;

	if (strstr(path, ".."))
		return not_here(req);
	(void)snprintf(file, sizeof(file), "%s%s", req->server->options.web_dir, path);
	f = fopen(file, "re");
	if (!f)
		return reply_problem(req, 404, "not-found", "Run `npm run build` in web/.",
				     "%s: %s", file, strerror(errno));
	while (body.len < DISK_FILE_MAX && (n = fread(block, 1, sizeof(block), f)) > 0)
		strbuf_add(&body, block, n);
	(void)fclose(f);
	add_policy(req);
	return reply_buf(req, 200, type_of(path), &body);
}

static const struct asset *find(const char *path)
{
	for (const struct asset *a = assets; a->path; a++)
		if (strcmp(a->path, path) == 0)
			return a;
	return NULL;
}

static enum step reply_asset(struct request *req, const struct asset *a)
{
	bool gz = a->gz && http_accepts_gzip(request_header(req, "Accept-Encoding"));
	char etag[64];

	add_policy(req);
	/* A strong tag is of the bytes sent: the compressed form has its own. */
	(void)snprintf(etag, sizeof(etag), "%s%s", a->etag, gz ? "-gz" : "");
	if (reply_etag(req, etag, false, a->immutable))
		return STEP_DONE;
	if (gz)
		reply_header(req, "Content-Encoding", "gzip");
	return reply_static(req, 200, a->type, gz ? a->gz : a->data, gz ? *a->gz_len : *a->len);
}

enum step assets_file(struct request *req)
{
	const struct asset *a;

	if (req->server->options.web_dir)
		return reply_disk(req, req->path);
	a = find(req->path);
	return a ? reply_asset(req, a) : not_here(req);
}

enum step assets_page(struct request *req)
{
	const struct asset *a;

	if (req->server->options.web_dir)
		return reply_disk(req, "/index.html");
	a = find("/index.html");
	CHECK(a);
	return reply_asset(req, a);
}
