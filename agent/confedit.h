/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changing keys of agent.conf without touching what a person wrote beside them. Pure. */
#pragma once

#include "common/strbuf.h"

struct conf_pair {
	const char *key;
	const char *value; /* NULL: the key goes */
};

/* `text` with these keys set: in the place where a key stood, else at the end. */
void conf_edit(const char *text, const struct conf_pair *pairs, size_t n, struct strbuf *out);
