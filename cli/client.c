/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include <curl/curl.h>

#include "cli/cli.h"

#define CONNECT_MS  10000L
#define REQUEST_MS  300000L
#define TOKEN_BYTES 4096

void client_answer_done(struct client_answer *a)
{
	strbuf_done(&a->body);
}

void client_escape(const char *text, struct strbuf *out)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (isalnum(c) || strchr("-._~", c))
			strbuf_putc(out, (char)c);
		else
			strbuf_printf(out, "%%%02X", c);
	}
}

int client_server(const char *option, const char **ret, struct err *reterr)
{
	*ret = option ? option : getenv("RIGSTAT_SERVER");
	if (!*ret || !**ret)
		return err_set(reterr, ERR_INVALID,
			       "which server? Say --server http://HOST:8420 or set RIGSTAT_SERVER");
	if (strncasecmp(*ret, "http://", 7) != 0 && strncasecmp(*ret, "https://", 8) != 0)
		return err_set(reterr, ERR_INVALID, "server %.100s: write http://HOST:PORT", *ret);
	return 0;
}

/* Leaves *ret NULL when there is none: the server may need none. */
static int read_token(char **ret, struct err *reterr)
{
	CLEANUP(strbuf_done) struct strbuf text = {0};
	const char *env = getenv("RIGSTAT_TOKEN"), *file = getenv("RIGSTAT_TOKEN_FILE");
	const char *home = getenv("HOME");
	CLEANUP(freep) char *path = NULL;
	size_t len;
	int r;

	*ret = NULL;
	if (env && *env) {
		*ret = xstrdup(env);
		return 0;
	}
	if (!file && !home)
		return 0;
	path = file ? xstrdup(file) : xasprintf("%s/.config/rigstat/token", home);
	r = cli_read_file(path, TOKEN_BYTES, &text, reterr);
	if (r == ERR_NOT_FOUND && !file)
		return 0;
	if (r < 0)
		return err_prefix(reterr, "token: ");
	len = strcspn(text.data, "\r\n");
	*ret = xstrndup(text.data, len);
	return 0;
}

static size_t on_body(char *data, size_t size, size_t n, void *user)
{
	struct client_answer *a = user;

	if (a->body.len + size * n > ANSWER_BYTES_MAX)
		return 0;
	strbuf_add(&a->body, data, size * n);
	return size * n;
}

static size_t on_header(char *data, size_t size, size_t n, void *user)
{
	struct client_answer *a = user;
	size_t len = size * n, skip;

	if (len > 7 && !strncasecmp(data, "x-gate:", 7)) {
		for (skip = 7; skip < len && data[skip] == ' '; skip++)
			;
		snprintf(a->gate, sizeof(a->gate), "%.*s", (int)strcspn(data + skip, "\r\n"),
			 data + skip);
	}
	return len;
}

/* RFC 9457: title, detail and hint in one line. */
static int problem(const struct client_answer *a, const char *url, struct err *reterr)
{
	json_t *j = json_loadb(a->body.data ? a->body.data : "", a->body.len, 0, NULL);
	const char *title = json_string_value(json_object_get(j, "title"));
	const char *detail = json_string_value(json_object_get(j, "detail"));
	const char *hint = json_string_value(json_object_get(j, "hint"));
	int code = a->status == 404			  ? ERR_NOT_FOUND
		   : a->status == 401 || a->status == 403 ? ERR_PERM
		   : a->status < 500			  ? ERR_INVALID
							  : ERR_REMOTE;

	if (title)
		err_set(reterr, code, "%s%s%s%s%s", title, detail ? ": " : "", detail ? detail : "",
			hint ? " - " : "", hint ? hint : "");
	else
		err_set(reterr, a->status == 404 ? ERR_REMOTE : code, "%s answered %ld", url,
			a->status);
	json_decref(j);
	return code;
}

static int transfer_failed(CURLcode rc, const struct client_answer *a, const char *server,
			   struct err *reterr)
{
	if (rc == CURLE_WRITE_ERROR && a->body.len)
		return err_set(reterr, ERR_LIMIT, "the answer of %s is larger than %zu MiB", server,
			       ANSWER_BYTES_MAX >> 20);
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(reterr, ERR_TIMEOUT, "%s did not answer in time", server);
	return err_set(reterr, ERR_REMOTE, "%s: %s: is rigstat-server running there?", server,
		       curl_easy_strerror(rc));
}

static struct curl_slist *headers_for(const char *token, const char *content_type)
{
	struct curl_slist *h = NULL;

	if (token) {
		CLEANUP(freep) char *line = xasprintf("Authorization: Bearer %s", token);

		h = curl_slist_append(h, line);
	}
	if (content_type) {
		CLEANUP(freep) char *line = xasprintf("Content-Type: %s", content_type);

		h = curl_slist_append(h, line);
	}
	return h;
}

static void set_options(CURL *curl, const struct client_call *c, const char *url,
			struct client_answer *ret)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "rigstat/" RIGSTAT_VERSION);
	curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, REQUEST_MS);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, ret);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	if (c->content_type) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body_len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, c->body);
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, c->method);
}

/* One handle for all calls of the program, so that the connection is kept: importing ten thousand
 * files is ten thousand requests, not as many connections. */
static CURL *kept_handle(void)
{
	static CURL *kept;

	if (kept)
		curl_easy_reset(kept); /* keeps connections, drops options */
	else
		kept = curl_easy_init();
	return kept;
}

int client_call(const struct client_call *c, struct client_answer *ret, struct err *reterr)
{
	size_t len = strlen(c->server);
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *url = NULL;
	struct curl_slist *headers;
	const char *type = NULL;
	CURLcode rc;
	CURL *curl;

	if (read_token(&token, reterr) < 0)
		return reterr->code;
	while (len && c->server[len - 1] == '/')
		len--;
	url = xasprintf("%.*s%s", (int)len, c->server, c->path);
	curl = kept_handle();
	if (!curl)
		return err_set(reterr, ERR_NOMEM, "no memory for a connection");
	headers = headers_for(token, c->content_type);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	set_options(curl, c, url, ret);
	rc = curl_easy_perform(curl);
	if (rc == CURLE_OK) {
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret->status);
		curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
		snprintf(ret->content_type, sizeof(ret->content_type), "%s", type ? type : "");
	}
	curl_slist_free_all(headers);
	strbuf_add(&ret->body, "", 0);
	if (rc != CURLE_OK)
		return transfer_failed(rc, ret, c->server, reterr);
	return ret->status >= 300 ? problem(ret, url, reterr) : 0;
}

int client_request(const char *server, const char *path, const char *json,
		   struct client_answer *ret, struct err *reterr)
{
	const struct client_call c = {.server = server,
				      .path = path,
				      .method = json ? "POST" : "GET",
				      .content_type = json ? "application/json" : NULL,
				      .body = json,
				      .body_len = json ? strlen(json) : 0};

	return client_call(&c, ret, reterr);
}

int client_json(const char *server, const char *method, const char *path, const json_t *body,
		json_t **ret, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(freep) char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
	const struct client_call c = {.server = server,
				      .path = path,
				      .method = method,
				      .content_type = body ? "application/json" : NULL,
				      .body = text,
				      .body_len = text ? strlen(text) : 0};
	int rc = client_call(&c, &answer, reterr);

	if (rc)
		return rc;
	*ret = json_loadb(answer.body.data, answer.body.len, 0, NULL);
	if (!json_is_object(*ret))
		return err_set(reterr, ERR_REMOTE, "the server's answer is no JSON object");
	return 0;
}
