/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/fetch.h"

#include "cli/client.h"

int fetch_add(const char *data, size_t len, const struct import_options *o, struct runs *ret,
	      struct err *reterr)
{
	struct import_result result = {0};
	int rc = import_bytes(data, len, o, &result, reterr);

	for (size_t i = 0; !rc && i < result.runs.len; i++)
		runs_add(ret, result.runs.v[i]);
	if (!rc)
		result.runs.len = 0;
	import_result_done(&result);
	return rc;
}

int fetch_runs(const char *server, const char *selector, struct runs *ret, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(strbuf_done) struct strbuf path = {0};
	struct import_options o = {.format = "rigstat-json", .source = "server"};
	int rc = client_server(server, &server, reterr);

	if (rc)
		return rc;
	strbuf_puts(&path, "/api/v1/export?q=");
	client_escape(selector, &path);
	rc = client_request(server, path.data, NULL, &answer, reterr);
	if (rc)
		return rc;
	if (!answer.body.len)
		return err_set(reterr, ERR_NOT_FOUND, "no run matches \"%.100s\"", selector);
	return fetch_add(answer.body.data, answer.body.len, &o, ret, reterr);
}
