/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds a box: what people say of themselves. */
#pragma once

/* `as`, or USER@HOST of this machine. malloc'd. */
char *identity(const char *as);
