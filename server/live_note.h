/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What servers tell each other on the PostgreSQL channel `rigstat`, one JSON object a note:
 *
 *   {"kind":"run","what":"end","host":1,"experiment":2,"run":17}
 *   {"kind":"data","hosts":[1,2]}
 *
 * Triggers make the first form (rigstat.tell), a server's live.c the second, once a second, for the
 * hosts whose records it has stored. Absent ids: it concerns more than one. Pure. */
#pragma once

#include "common/err.h"
#include "common/strbuf.h"

enum live_note_kind {
	NOTE_RUN,
	NOTE_ASSIGNMENT,
	NOTE_EXPERIMENT,
	NOTE_HOST,
	NOTE_TOKEN,
	NOTE_DATA, /* records came; no `what` */
	NOTE_KINDS
};

enum live_note_what { NOTE_NEW, NOTE_PROGRESS, NOTE_END, NOTE_CHANGED, NOTE_WHATS };

/* As many as fit in a payload: PostgreSQL takes less than 8000 bytes. */
#define NOTE_HOSTS_MAX 380

struct live_note {
	enum live_note_kind kind;
	enum live_note_what what;
	int64_t host, experiment, run; /* 0: none, or several */
	int64_t hosts[NOTE_HOSTS_MAX]; /* of NOTE_DATA */
	size_t n_hosts;
};

/* A payload that is not one of ours is ERR_INVALID: a newer server in the same lab may send kinds
 * that this one does not know. */
int live_note_read(const char *payload, struct live_note *ret, struct err *reterr) MUSTCHECK;
/* The payload of NOTE_DATA for at most NOTE_HOSTS_MAX hosts. */
void live_note_put_data(struct strbuf *out, const int64_t *hosts, size_t n);
const char *live_note_kind_name(enum live_note_kind kind);
