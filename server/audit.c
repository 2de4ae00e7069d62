/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "server/audit.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/log.h"
#include "server/api.h"
#include "server/auth.h"
#include "server/db.h"
#include "server/queries.h"
#include "server/routes.h"
#include "server/server.h"

#define DETAIL_MAX 1000

/* Names of actions. A changing route that is not here is named by method and path, so that none
 * can be forgotten. */
static const struct {
	enum step (*begin)(struct request *req);
	const char *action;
	bool body; /* the body says what was changed, and holds no secret */
} actions[] = {
	{api_host_edit, "host.edit", true},
	{api_host_reserve, "host.reserve", true},
	{api_host_release, "host.release", false},
	{api_experiment_make, "experiment.make", true},
	{api_experiment_edit, "experiment.edit", true},
	{api_assignments_cancel, "experiment.cancel", false},
	{api_dry_run_ask, "experiment.dry-run", true},
	{api_runs_add, "run.add", false},
	{api_run_edit, "run.edit", true},
	{api_pin, "comparison.pin", true},
	{api_unpin, "comparison.unpin", false},
	{api_metric_edit, "metric.edit", true},
	{api_order_set, "order.set", false},
	{api_change_mark, "change.mark", true},
	{api_change_edit, "change.edit", true},
	{api_annotation_add, "annotation.add", true},
	{api_annotation_delete, "annotation.delete", false},
	{api_demo_remove, "demo.remove", false},
	{api_import, "import.make", false},
	{api_import_undo, "import.undo", false},
	{api_token_add, "token.make", true},
	{api_token_revoke, "token.revoke", false},
	{api_token_rotate, "token.rotate", false},
	{api_code_add, "code.make", true},
	{api_code_revoke, "code.revoke", false},
	{api_enroll, "host.enroll", false},
};

void audit_note(struct request *req, const char *who, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(req->audit_object, sizeof(req->audit_object), fmt, ap);
	va_end(ap);
	if (who)
		(void)snprintf(req->audit_who, sizeof(req->audit_who), "%s", who);
}

/* A POST that answers 200 made nothing: a dry run, or it was there already. */
static bool is_change(const struct request *req, int status)
{
	enum scope scope = req->route->scope;

	if (status < 200 || status > 299 || req->method == HTTP_GET || req->method == HTTP_HEAD)
		return false;
	if (req->route->begin == api_token_rotate || req->route->begin == api_enroll)
		return true;
	return (scope == SCOPE_WRITE || scope == SCOPE_ADMIN || scope == SCOPE_GATE) &&
	       (req->method != HTTP_POST || status != 200);
}

static const char *method_name(enum http_method m)
{
	return m == HTTP_POST	 ? "POST"
	       : m == HTTP_PUT	 ? "PUT"
	       : m == HTTP_PATCH ? "PATCH"
				 : "DELETE";
}

struct note {
	char action[120], object[200], request[24];
};

static void on_stored(void *ctx, const struct db_result *res, const struct err *err)
{
	struct note *n = ctx;

	(void)res;
	if (err)
		log_error("audit: %s of %s (request %s) could not be stored: %s", n->action,
			  n->object, n->request, err->text);
	free(n);
}

/* At a character's edge: a piece of one would be refused. */
static size_t cut(const char *text, size_t len, size_t max)
{
	size_t n = len < max ? len : max;

	while (n && n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

void audit_replied(struct request *req, int status, const char *location)
{
	static const char root[] = "/api/v1/";
	char detail[DETAIL_MAX + 1] = "";
	const char *object = *req->audit_object ? req->audit_object
			     : location		? location
						: req->path;
	struct note *n;
	size_t i = 0;

	if (!req->route || !is_change(req, status))
		return;
	n = xcalloc(1, sizeof(*n));
	if (strncmp(object, root, strlen(root)) == 0)
		object += strlen(root);
	memcpy(n->object, object, cut(object, strlen(object), sizeof(n->object) - 1));
	memcpy(n->request, req->id, sizeof(n->request));
	while (i < ARRAY_LEN(actions) && actions[i].begin != req->route->begin)
		i++;
	if (i < ARRAY_LEN(actions))
		(void)snprintf(n->action, sizeof(n->action), "%s", actions[i].action);
	else
		(void)snprintf(n->action, sizeof(n->action), "%s %s", method_name(req->method),
			       req->route->path);
	if (i < ARRAY_LEN(actions) && actions[i].body && req->body)
		memcpy(detail, req->body, cut(req->body, req->body_len, DETAIL_MAX));
	db_query(req->server->db, DB_QUERY, &Q_AUDIT_ADD,
		 (struct db_param[]){P_TEXT(*req->token_id ? req->token_id : NULL),
				     P_TEXT(*req->audit_who ? req->audit_who : "everybody"),
				     P_TEXT(n->action), P_TEXT(n->object),
				     P_TEXT(*detail ? detail : NULL), P_TEXT(request_remote(req)),
				     P_TEXT(n->request)},
		 7, DB_DEADLINE_MS, NULL, on_stored, n);
}
