/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rigstat gate --stop-on-breach: rules on a running experiment, judged again and again. */
#pragma once

#include "cli/request.h"
#include "common/compare/gate.h"

/* Judges what side A has measured so far every `rq->every_ns` until the rules are decided or the
 * experiment is over; a failure cancels the experiment on its boxes. *ret_body is the last
 * judgement as asked for, *ret_result the result. */
int gate_watch(const struct request *rq, const char *server, struct strbuf *ret_body,
	       enum gate_result *ret_result, struct err *reterr) MUSTCHECK;
/* What it needs: one selector that names one experiment, and rules of one side. */
int gate_watch_check(const struct request *rq, struct err *reterr) MUSTCHECK;
