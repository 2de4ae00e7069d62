/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of a server, whole: its export, read by the importer. */
#pragma once

#include "common/import/import.h"

/* The runs that the selector chooses are added to *ret; none is an error. `server` is the option
 * or NULL. */
int fetch_runs(const char *server, const char *selector, struct runs *ret,
	       struct err *reterr) MUSTCHECK;
/* Imports a document and adds its runs. */
int fetch_add(const char *data, size_t len, const struct import_options *o, struct runs *ret,
	      struct err *reterr) MUSTCHECK;
