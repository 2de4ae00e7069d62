/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells systemd ("READY=1") over $NOTIFY_SOCKET, as sd_notify(3) would; nothing without it. */
#pragma once

void notify_service(const char *state);
