/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every handler of the table in routes.c: begin functions, see http.h. */
#pragma once

#include "server/http.h"

/* api_health.c */
enum step api_healthz(struct request *req);
enum step api_readyz(struct request *req);
enum step api_self_metrics(struct request *req);
