/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the scenarios of the virtual machine. */
#pragma once

#include "common/base.h"

void spin(uint64_t loops); /* 2 instructions each */
#define KNOWN_LOOPS 400000000ull
void scenario_probe(void);
void scenario_probe_workload(void);
