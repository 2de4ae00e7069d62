/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells systemd how a service is, as sd_notify(3) would, without its library: one datagram to
 * $NOTIFY_SOCKET for each message. Without that variable nothing is sent. */
#pragma once

#include <stdint.h>

/* Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID and takes them out of the environment:
 * they are meant for this process, not for the programs that it starts (PostgreSQL would say
 * READY=1 for us). Before any thread is started. */
void notify_init(void);

/* Sends assignments, one a line: "READY=1\nSTATUS=listening". What the socket does not take is
 * lost: a service does not wait for its manager. */
void notify_service(const char *state);

/* How often "WATCHDOG=1" is due: half of the time after which systemd kills us. 0: never. */
int64_t notify_watchdog_ns(void);
