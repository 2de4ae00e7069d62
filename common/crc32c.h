/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC-32C (Castagnoli), as in RFC 3720 B.4; reflected, initial and final value inverted. */
#pragma once

#include "common/base.h"

/* Continues from an earlier value; start with 0. crc32c(0, "123456789", 9) == 0xe3069283. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
