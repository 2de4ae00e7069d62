# SPDX-License-Identifier: GPL-2.0-or-later
"""The workload of planted_tail.sh: sleeps; with RIGSTAT_FACTOR_SPINNER=on it holds one CPU as
SCHED_FIFO 99 for 10 ms ten times a second, in every second pair of seconds only."""
import os
import sys
import time

BURST_S, EVERY_S = 0.01, 0.1

if os.environ["RIGSTAT_FACTOR_SPINNER"] != "on":
    time.sleep(3600)
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
began = time.monotonic()
while True:
    time.sleep(EVERY_S)
    now = time.monotonic()
    if int(now - began) % 4 >= 2:
        while time.monotonic() < now + BURST_S:
            pass
