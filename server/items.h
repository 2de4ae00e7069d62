/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON items of records (docs/PROTOCOL.md): read, bounded and checked field by field. The
 * same reader serves ingest, which refuses, and the compactor, which stores. Pure. */
#pragma once

#include <jansson.h>

#include "common/record.h"

/* A checked object, new reference. Fields that the table does not know are dropped, so nothing
 * unchecked is ever stored. Errors name the item and the field. */
int item_json(enum item_type type, const char *text, size_t len, json_t **ret,
	      struct err *reterr) MUSTCHECK;

/* Reading a checked object: absent and null are the default. */
int64_t item_i64(const json_t *obj, const char *key, int64_t def);
const char *item_text(const json_t *obj, const char *key); /* NULL when absent */
/* 32 hex digits to 16 bytes; false when it is not that. */
bool item_uid(const char *text, unsigned char ret[16]);
