# SPDX-License-Identifier: GPL-2.0-or-later
"""What the agent measures and writes into its spool, without a server."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

from agentlib import (Agent, at_or_above, binary, items, merge, running, sha256, spool_streams,
                      wait_records, wakeups)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")


def built_with_asan():
    return b"__asan_init" in pathlib.Path(binary("rigstat-agent")).read_bytes()


def only_stream(spool):
    (records,) = spool_streams(spool).values()
    return records


def run_for(tmp_path, seconds, *options, **kw):
    agent = Agent(tmp_path, *options, **kw)
    with running(agent):
        agent.wait_text("no server is given")
        time.sleep(seconds)
        took = agent.stop()
    return agent, only_stream(agent.spool), took


def test_a_run_is_whole(tmp_path):
    agent, records, took = run_for(tmp_path, 2.5, "--host", "box-é")
    assert took < 2
    assert [r.seq for r in records] == list(range(1, len(records) + 1))
    assert len({r.run for r in records}) == 1
    first = [kind for kind, _, _ in records[0].items]
    assert first[:2] == ["environment", "run_start"] and first[-1] == "phase"
    (start,), (end,) = items(records, "run_start"), items(records, "run_end")
    assert start["kind"] == "watch" and start["host"] == "box-é"
    assert start["run_uid"] == end["run_uid"] and len(start["run_uid"]) == 32
    assert end["state"] == "ok" and end["window_end"] == "stopped" and end["lost"] == 0
    assert [p["phase"] for p in items(records, "phase")] == [1, 2, 3]
    # The environment is named by the hash of its exact bytes, with sorted keys and no blanks.
    (raw,) = [raw for r in records for kind, _, raw in r.items if kind == "environment"]
    assert sha256(raw) == start["environment_sha256"]
    facts = json.loads(raw)
    assert raw == json.dumps(facts, sort_keys=True, separators=(",", ":"),
                             ensure_ascii=False).encode()
    for key in ("kernel.release", "kernel.build_id", "kernel.config_sha256", "boot.id",
                "cpu.model", "cpu.count", "clock.source", "mitigation.spectre_v2"):
        assert key in facts, key
    assert facts["kernel.release"] == os.uname().release
    assert facts["cpu.count"] == os.cpu_count()
    assert facts["measure.policy"] == "fifo:80" and facts["measure.pinned"] == "yes"
    assert facts["measure.dma_latency"] in ("0", "default")
    cost = end["cost"]
    assert 0 < cost["measure_cpu_ns"] < cost["cpu_ns"] < 5e9
    assert 0 < cost["rss_anon_bytes"] <= cost["rss_bytes"] and cost["ctx_switches"] > 2000
    probes = {p["probe"]: p for p in cost["probes"]}
    assert probes["wakeup"]["cpu_ns"] == pytest.approx(cost["measure_cpu_ns"], rel=0.2)
    assert probes["counters"]["budget"] == 0.001 and probes["counters"]["cpu_ns"] > 0
    assert all(p["divisor"] >= 1 and (p["kernel_ns"] is None or p["kernel_ns"] >= 0) for p in probes.values())
    assert sum(p["cpu_ns"] for p in probes.values()) < cost["cpu_ns"] < cost["elapsed_ns"] * os.cpu_count()


def test_every_period_is_a_sample(tmp_path):
    _, records, _ = run_for(tmp_path, 3, "--cpus", "0")
    (end,) = items(records, "run_end")
    h = merge(it["hist"] for it in wakeups(records))
    periods = sum(it["dt"] for it in wakeups(records)) / 1e6
    assert abs(h["count"] - periods) <= 60  # the edges, on a busy box
    assert h["lost"] == 0 and h["negative"] == 0 and end["measured_ns"] > 2.5e9


def test_stall_of_200_ms(tmp_path):
    """The stopped agent has 200 late samples, not one, and says that it missed periods."""
    agent = Agent(tmp_path, "--cpus", "0")
    with running(agent):
        wait_records(agent.spool, lambda rs: len(wakeups(rs)) >= 1)
        agent.signal(signal.SIGSTOP)
        time.sleep(0.2)
        agent.signal(signal.SIGCONT)
        time.sleep(1.5)
        agent.stop()
    records = only_stream(agent.spool)
    (end,) = items(records, "run_end")
    (series,) = [s for s in items(records, "series") if s["metric"] == "wakeup_latency"]
    assert series["omission"] == "keeps_deadlines" and series["labels"] == {"cpu": "0"}
    h = merge(it["hist"] for it in wakeups(records))
    # Deadlines of 200 ms, each late by what was left of the stall: 190 of them by >= 10 ms.
    # Other stalls of a busy box may add some.
    assert 185 <= at_or_above(h, 10_000_000) <= 300
    assert 95 <= at_or_above(h, 100_000_000) <= 160
    assert 195e6 <= h["max"] <= 400e6
    assert end["missed"][str(series["number"])] >= 190
    periods = sum(it["dt"] for it in wakeups(records)) / 1e6
    assert abs(h["count"] - periods) <= 60


def test_counters_count(tmp_path):
    _, records, _ = run_for(tmp_path, 2.5)
    series = {s["number"]: s for s in items(records, "series")}
    seen = {}
    for it in items(records, "counter"):
        s = series[it["series"]]
        assert s["kind"] == "counter"
        for delta, enabled, running_ns in it["samples"]:
            assert running_ns == enabled and delta >= 0
            seen[s["metric"]] = seen.get(s["metric"], 0) + delta
    # The measuring threads alone switch 1000 times a second and CPU.
    assert seen["context_switches"] > 2000 * os.cpu_count()
    assert seen["task_clock"] > 0 and "page_faults" in seen and "migrations" in seen
    assert "proc_context_switches" not in seen  # only where perf is refused


def test_without_rights(tmp_path):
    """Each missing right is named with the way to grant it, the run is marked, and what cannot be
    counted is absent with a reason."""
    os.chmod(tmp_path, 0o777)
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
              "--inh-caps=-all", "--bounding-set=-all"]
    subprocess.run([*prefix, "true"], check=True)
    limits = ["prlimit", "--memlock=65536:65536", "--rtprio=0:0"]
    for parent in tmp_path.parents:  # pytest's directories are 0700
        if parent.name.startswith("pytest-"):
            os.chmod(parent, 0o755)
    agent, records, _ = run_for(tmp_path, 2, prefix=[*limits, *prefix])
    (end,) = items(records, "run_end")
    marks = {m["code"]: m["text"] for m in end["marks"]}
    assert "CAP_SYS_NICE" in marks["no-realtime"] and "LimitRTPRIO" in marks["no-realtime"]
    refused = ["no-realtime", "no-dma-latency"]
    (facts,) = items(records, "environment")
    if not built_with_asan():  # ASan turns mlockall() into a success that does nothing
        assert "CAP_IPC_LOCK" in marks["no-memlock"] and facts["measure.memlock"] == "no"
        refused.append("no-memlock")
    for code in refused:
        assert code in marks and code in agent.text()
    assert facts["measure.policy"] == "other:0"
    assert merge(it["hist"] for it in wakeups(records))["count"] > 1000
    absent = {s["metric"]: s["reason"] for s in items(records, "series") if s["kind"] == "absent"}
    counted = {s["metric"] for s in items(records, "series") if s["kind"] == "counter"}
    assert "CAP_PERFMON" in absent["context_switches"]
    assert "proc_context_switches" in counted
    numbers = {s["number"] for s in items(records, "series") if s["kind"] == "absent"}
    assert not numbers & {it["series"] for it in items(records, "counter")}


def test_watch_runs_are_cut(tmp_path):
    _, records, _ = run_for(tmp_path, 3.6, "--watch", "1s")
    ends = items(records, "run_end")
    assert len(ends) >= 3 and [e["window_end"] for e in ends[:2]] == ["duration"] * 2
    assert len({e["run_uid"] for e in ends}) == len(ends)
    assert [r.seq for r in records] == list(range(1, len(records) + 1))


@pytest.mark.parametrize("options, say", [
    (["--cpus", "0-"], "cpus"),
    (["--policy", "deadline"], "fifo, rr, other"),
    (["--priority", "100"], "1..99"),
    (["--period", "1"], "period"),
    (["--server", "box:8420"], "http://"),
    (["--colour"], "--colour"),
    (["--config", "/nonexistent/agent.conf"], "/nonexistent/agent.conf"),
    (["now"], "now"),
])
def test_wrong_options(tmp_path, options, say):
    agent = Agent(tmp_path, *options)
    assert agent.process.wait(10) in (2, 3, 4)
    assert say in agent.text()


def test_configuration_file(tmp_path):
    conf = tmp_path / "agent.conf"
    conf.write_text("# a comment\nhost = from-file\nperiod = 2ms\ncpus = 0\n")
    _, records, _ = run_for(tmp_path, 1.5, "--config", str(conf), "--host", "from-option")
    (start,) = items(records, "run_start")
    assert start["host"] == "from-option"
    assert {s.get("interval_ns") for s in items(records, "series")
            if s["metric"] == "wakeup_latency"} == {2000000}
    conf.write_text("host = a\nspeed = 3\n")
    agent = Agent(tmp_path, "--config", str(conf))
    agent.process.wait(10)
    assert "agent.conf" in agent.text() and "speed" in agent.text() and "2" in agent.text()
