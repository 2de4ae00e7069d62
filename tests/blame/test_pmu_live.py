# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters of the box against what /proc says of the same moments, and what a box without a
hardware PMU says. Exact counts of hardware events: tests/qemu."""
import bisect
import os
import pathlib
import sys

import pytest

CPU = os.cpu_count() - 1
CORE_PMU = any((d.name == "cpu" or (d / "cpus").exists())
               for d in pathlib.Path("/sys/bus/event_source/devices").iterdir())
TRACEFS = any(os.access(f"{d}/events/sched/sched_switch/id", os.R_OK)
              for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"))

# Two processes of one CPU hand a byte to and fro; a third notes the kernel's own total.
PINGPONG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[2])})
ping, pong = os.pipe(), os.pipe()
if os.fork() == 0:
    while os.read(ping[0], 1):
        os.write(pong[1], b'x')
if os.fork() == 0:
    os.sched_setaffinity(0, range(os.cpu_count()))
    with open(sys.argv[1], "w") as log:
        while True:
            before = time.time_ns()
            for line in open("/proc/stat"):
                if line.startswith("ctxt"):
                    log.write(f"{(before + time.time_ns()) // 2} {line.split()[1]}\\n")
                    log.flush()
            time.sleep(0.05)
while True:
    os.write(ping[1], b'x')
    os.read(pong[0], 1)
"""


def counters(items, metric):
    numbers = [s["number"] for s in items["series"] if s["metric"] == metric]
    return [c for c in items["counter"] if c["series"] in numbers]


def total_at(log, t):
    """The kernel's total at a time, between two lines of the log; None outside of it."""
    i = bisect.bisect(log, (t,))
    if i == 0 or i == len(log):
        return None
    (t0, v0), (t1, v1) = log[i - 1], log[i]
    return v0 + (v1 - v0) * (t - t0) / (t1 - t0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """(items, log) of one run beside the ping-pong."""
    import agentlib

    tmp = tmp_path_factory.mktemp("pmu")
    work, log = tmp / "pingpong.py", tmp / "ctxt"
    work.write_text(PINGPONG)
    events = ["context-switches", "cache-misses", "msr/no-such-event/"]
    if TRACEFS:
        events.append("sched:sched_switch")
    a = agentlib.Agent(tmp, "--experiment", "pmu", "--runs", "1", "--warmup", "1s", "--duration", "5s",
                       "--cpus", str(CPU), "--blame", "off", *(x for e in events for x in ("--event", e)),
                       "--", sys.executable, str(work), str(log), str(CPU), command="run")
    with agentlib.running(a):
        assert a.process.wait(60) == 0, a.text()
    records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
    items = {k: agentlib.items(records, k) for k in ("series", "counter", "value", "run_end")}
    return items, [tuple(map(int, line.split())) for line in log.read_text().splitlines() if line.count(" ") == 1]


@pytest.mark.parametrize("metric", ["event_context_switches", "event_sched_sched_switch", "context_switches"])
def test_context_switches_agree_with_proc(run, metric):
    """Within 5 % of /proc/stat over the same seconds, while a ping-pong makes most of them."""
    items, log = run
    if metric == "event_sched_sched_switch" and not TRACEFS:
        pytest.skip("tracefs cannot be read here")
    absent = [s["reason"] for s in items["series"] if s["metric"] == metric and s["kind"] == "absent"]
    if absent and "right" in absent[0]:
        pytest.skip(absent[0])
    ours = theirs = 0
    for c in counters(items, metric):
        begin, end = total_at(log, c["t0"]), total_at(log, c["t0"] + c["dt"])
        if begin is None or end is None:
            continue
        (delta, enabled, running), = c["samples"]
        assert enabled == running, "a software event runs all the time"
        ours += delta
        theirs += end - begin
    assert theirs > 5000, "the ping-pong did not run"
    assert ours == pytest.approx(theirs, rel=0.05)


def test_what_cannot_be_counted_has_a_reason(run):
    """No hardware PMU or a wrong name: an absent series that says so, and no number."""
    items, _ = run
    series = {s["metric"]: s for s in items["series"]}
    assert series["event_msr_no_such_event"]["kind"] == "absent"
    assert "no-such-event" in series["event_msr_no_such_event"]["reason"] or \
        "no PMU" in series["event_msr_no_such_event"]["reason"]
    if CORE_PMU:
        pytest.skip("this box has a hardware PMU: its absence cannot be tested")
    for metric in ("cycles", "instructions", "ipc", "cpu_ghz", "unstalled_cycles_pct", "retiring_slots_pct",
                   "event_cache_misses"):
        s = series[metric]
        assert s["kind"] == "absent" and s["reason"] == "not available: no hardware PMU"
        assert not counters(items, metric)
        assert s["number"] not in [v["series"] for v in items["value"]]
