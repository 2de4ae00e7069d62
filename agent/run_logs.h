/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the workloads' logs. Each log is bounded, and so is their number. */
#pragma once

#include "common/err.h"

/* Makes the directory and removes all but the newest `keep` files that end in .log. */
int run_logs_prepare(const char *dir, size_t keep, struct err *reterr) MUSTCHECK;
