/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server may set for the daemon of a box (agent/settings.h has the other end). Pure. */
#pragma once

#include <jansson.h>

#include "common/err.h"

/* An object of known names with fitting texts: interval (100ms to 60s), blame (auto, off or a
 * time), io, locks, shares, system (yes or no). */
int host_settings_check(const json_t *settings, struct err *reterr) MUSTCHECK;
