/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs have in common that put a load on a CPU. */
#pragma once

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}
