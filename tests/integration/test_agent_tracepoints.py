# SPDX-License-Identifier: GPL-2.0-or-later
"""Tracepoints of an agent that is not root: the numbers come from the root step of the service's start."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import agentlib

EVENT = "sched:sched_switch"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
WITH_PERFMON = [*NOBODY, "--inh-caps=-all,+perfmon", "--ambient-caps=-all,+perfmon"]


@pytest.fixture
def place(request):
    """A directory of nobody's: spool, lock directory (agentlib puts them there) and agent.conf."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if not any(os.path.exists(f"{d}/events/{EVENT.replace(':', '/')}/id")
               for d in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")):
        pytest.skip("no tracefs here")
    home = pathlib.Path(tempfile.mkdtemp(prefix="rigstat-tp-"))
    request.addfinalizer(lambda: shutil.rmtree(home))
    os.chown(home, 65534, 65534)
    probe = subprocess.run([*WITH_PERFMON, agentlib.binary("rigstat-agent"), "--version"], capture_output=True)
    if probe.returncode:
        pytest.skip(f"cannot be nobody with CAP_PERFMON here: {probe.stderr.decode()}")
    (home / "agent.conf").write_text(f"lock-dir = {home}\nevent = {EVENT}\nevent = sched:no_such\n"
                                     "event = block:block_rq_issue\n")
    return home


def series_of(home, *events, prefix):
    a = agentlib.Agent(home, "--config", str(home / "agent.conf"), "--cpus", "0", "--watch", "3s", "--blame", "off",
                       "--no-shares", "--no-io", "--no-locks", "--policy", "other",
                       *(x for e in events for x in ("--event", e)), prefix=prefix)
    with agentlib.running(a):
        records = agentlib.wait_records(a.spool, lambda rs: agentlib.items(rs, "run_end"), 60)
        a.stop(20)
    series = {s["metric"]: s for s in agentlib.items(records, "series")}
    name = {s["number"]: m for m, s in series.items()}
    total = {}
    for c in agentlib.items(records, "counter"):
        total[name[c["series"]]] = total.get(name[c["series"]], 0) + sum(s[0] for s in c["samples"])
    return series, total


def save(home):
    return subprocess.run([agentlib.binary("rigstat-agent"), "tracepoints", "--config", home / "agent.conf"],
                          capture_output=True, text=True, check=True).stdout


def test_numbers_from_the_service_start(place):
    said = save(place)
    assert f"{EVENT}: " in said and "sched:no_such: not found" in said
    series, total = series_of(place, "irq:irq_handler_entry", prefix=WITH_PERFMON)
    switches = series["event_sched_sched_switch"]
    assert switches["kind"] == "counter", switches.get("reason")
    assert total["event_sched_sched_switch"] > 100
    assert total["event_sched_sched_switch"] == pytest.approx(total["context_switches"], rel=0.05)
    for metric in ("event_sched_no_such", "event_irq_irq_handler_entry"):
        assert series[metric]["kind"] == "absent"
        assert "agent.conf did not name it" in series[metric]["reason"]


def test_without_the_step_the_reason_is_said(place):
    series, total = series_of(place, prefix=WITH_PERFMON)
    reason = series["event_sched_sched_switch"]["reason"]
    assert series["event_sched_sched_switch"]["kind"] == "absent"
    assert "known to root only" in reason and "event = in agent.conf" in reason
    assert "event_sched_sched_switch" not in total and total["context_switches"] > 100


def test_the_number_is_no_right(place):
    """Without CAP_PERFMON the number does not help; the reason is the missing right."""
    save(place)
    series, _ = series_of(place, prefix=[*NOBODY, "--inh-caps=-all"])
    switches = series["event_sched_sched_switch"]
    assert switches["kind"] == "absent" and "CAP_PERFMON" in switches["reason"]
    assert "perf_event_paranoid is" in switches["reason"]
