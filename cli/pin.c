/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat pin: keeps a comparison of a server as it is now. */
#include "cli/client.h"
#include "cli/request.h"
#include "cli/verbs.h"

const char verb_pin_help[] =
	"  rigstat pin --a experiment=rq,rq_affinity=0 --b experiment=rq,rq_affinity=1\n"
	"  rigstat pin --title 'rq_affinity on box1' --metric io_latency --a run=r_1 --b run=r_2\n"
	"\n"
	"usage: rigstat pin [compare's options] --a SELECTOR --b SELECTOR [--c SELECTOR...]\n"
	"\n"
	"Stores the runs, the parameters and the result; prints the link that shows it for ever.\n"
	"\n"
	"  --title TEXT          shown in lists\n"
	"  --json                the server's answer\n"
	"  --server URL          else $RIGSTAT_SERVER\n"
	"\n"
	"Exit status: 0 done, 3 usage or bad input, 4 server or network.\n";

static json_t *joined(char *const *list, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf b = {0};

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&b, "%s%s", i ? "," : "", list[i]);
	return n ? json_string(b.data) : NULL;
}

static void set(json_t *o, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(o, key, value);
}

static json_t *text(const char *s)
{
	return s ? json_string(s) : NULL;
}

static int body_of(const struct request *rq, json_t **ret, struct err *reterr)
{
	json_t *o = json_object(), *b = json_array();

	for (size_t i = 0; i < rq->sides.n; i++) {
		json_t *selector = rq->sides.request[i].n == 1
					   ? json_string(rq->sides.request[i].files[0])
					   : NULL;

		if (!selector) {
			json_decref(o);
			json_decref(b);
			return err_set(reterr, ERR_INVALID, "each side is one selector, in UTF-8");
		}
		if (i)
			json_array_append_new(b, selector);
		else
			json_object_set_new(o, "a", selector);
	}
	json_object_set_new(o, "b", b);
	set(o, "title", text(rq->title));
	set(o, "metric", text(rq->o.metric));
	set(o, "stat", joined(rq->stats, rq->stats_len));
	set(o, "margin", text(rq->margin));
	set(o, "primary", text(rq->o.primary));
	set(o, "factor", text(rq->o.factor));
	set(o, "gate", joined(rq->rules, rq->rules_len));
	set(o, "gate_mode", text(rq->mode));
	set(o, "tail", text(rq->threshold));
	if (rq->o.confidence > 0)
		set(o, "ci", json_real(rq->o.confidence));
	if (rq->o.anyway)
		set(o, "anyway", json_true());
	if (rq->o.corrected)
		set(o, "corrected", json_true());
	*ret = o;
	return 0;
}

static int print_answer(const struct request *rq, const char *server,
			const struct client_answer *answer)
{
	CLEANUP(strbuf_done) struct strbuf out = {0};
	json_t *j = json_loadb(answer->body.data, answer->body.len, 0, NULL);
	const char *ui = json_string_value(json_object_get(json_object_get(j, "links"), "ui"));
	const char *sentence = json_string_value(json_object_get(j, "sentence"));
	struct err e;

	if (!ui) {
		json_decref(j);
		err_set(&e, ERR_REMOTE, "%s did not answer with a pin: is it a rigstat-server?",
			server);
		return cli_fail(&e);
	}
	if (rq->output == OUTPUT_JSON)
		strbuf_add(&out, answer->body.data, answer->body.len);
	else
		strbuf_printf(&out, "%.*s%s\n%s%s", (int)strcspn(server + 8, "/") + 8, server, ui,
			      sentence ? sentence : "", sentence ? "\n" : "");
	json_decref(j);
	return cli_print(&out);
}

static int post(struct request *rq, struct err *reterr)
{
	CLEANUP(client_answer_done) struct client_answer answer = {0};
	CLEANUP(freep) char *body = NULL;
	const char *server;
	json_t *o = NULL;

	if (rq->sides.n < 2)
		return err_set(reterr, ERR_INVALID, "name two sides: --a SELECTOR --b SELECTOR");
	if (client_server(rq->server, &server, reterr) < 0 || body_of(rq, &o, reterr) < 0)
		return reterr->code;
	body = json_dumps(o, 0);
	json_decref(o);
	if (client_request(server, "/api/v1/comparisons", body, &answer, reterr) < 0)
		return reterr->code;
	return print_answer(rq, server, &answer);
}

int verb_pin(int argc, char **argv)
{
	struct request rq;
	struct err e;
	int status;

	request_init(&rq);
	if (request_parse(&rq, argc, argv, &e) < 0) {
		status = cli_usage("pin", &e);
	} else {
		status = post(&rq, &e);
		if (status < 0)
			status = cli_fail(&e);
	}
	request_done(&rq);
	return status;
}
