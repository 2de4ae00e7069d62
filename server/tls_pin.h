/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pin of a certificate's public key: what agents that enrolled with it hold the server to. */
#pragma once

#include "common/token.h"

/* `pem` is the text of a certificate file; its first certificate counts. */
int tls_pin(const char *pem, char ret[PIN_LEN + 1], struct err *reterr) MUSTCHECK;
