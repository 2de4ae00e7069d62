/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The conversation of rigstat-tune with the agent: one message each way, in turn, over a
 * SOCK_SEQPACKET socket. Fields are separated by newlines.
 *
 *   greeting            ready / REPORT...      what recovery did, "" when nothing
 *   bind FACTOR SPEC    ok / TARGET / PRESENT
 *   check FACTOR VALUE  ok
 *   set FACTOR VALUE    ok                     journaled, written, read back
 *   verify FACTOR       ok                     still holds what was set
 *   restore             ok / REPORT...         everything put back
 *   any failure         err / CODE / TEXT      CODE as in common/err.h
 *
 * When the other end closes, or SIGTERM comes, everything is put back. */
#pragma once

#include "agent/tune/tuner.h"

#define SERVE_MESSAGE_MAX 16384

/* Returns when the conversation is over and everything is put back. */
int serve(struct tuner *t, int fd, const struct strbuf *greeting, struct err *reterr) MUSTCHECK;
