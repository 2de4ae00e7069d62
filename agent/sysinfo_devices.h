/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Environment facts of interrupts, their threads and disks. */
#pragma once

#include "agent/facts.h"

void sysinfo_devices(struct facts *f, const char *root);
