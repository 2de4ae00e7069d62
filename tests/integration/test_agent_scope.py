# SPDX-License-Identifier: GPL-2.0-or-later
"""`counters = box | workload | cgroup:PATH`: software events of a known program, whose own rusage
says what they must be. Hardware events of the scopes: tests/qemu."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import agentlib

# Works a known amount in itself and in a child, then writes what the kernel says of both.
KNOWN = """
import json, mmap, os, resource, sys, time
def work(pages, naps, cpu_s):
    m = mmap.mmap(-1, pages * 4096)
    m.madvise(15)  # MADV_NOHUGEPAGE: a fault each page
    for i in range(pages):
        m[i * 4096] = 1
    for _ in range(naps):
        time.sleep(0.001)
    end = time.process_time() + cpu_s
    while time.process_time() < end:
        pass
begin = dict.fromkeys(("ru_utime", "ru_stime", "ru_minflt", "ru_majflt", "ru_nvcsw", "ru_nivcsw"), 0)
if len(sys.argv) > 2:
    with open(sys.argv[2] + "/cgroup.procs", "w") as f:
        f.write("0")
    usage = resource.getrusage(resource.RUSAGE_SELF)
    begin = {k: getattr(usage, k) for k in begin}
time.sleep(0.5)
if os.fork() == 0:
    work(3000, 40, 0.3)
    os._exit(0)
work(2000, 60, 0.2)
os.wait()
own, child = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
def all_of(key):
    return getattr(own, key) - begin[key] + getattr(child, key)
with open(sys.argv[1], "w") as f:
    json.dump({"cpu_ns": 1e9 * (all_of("ru_utime") + all_of("ru_stime")),
               "faults": all_of("ru_minflt") + all_of("ru_majflt"),
               "switches": all_of("ru_nvcsw") + all_of("ru_nivcsw")}, f)
os._exit(0)  # without Python's own clearing up
"""


def agent_run(tmp_path, *options):
    a = agentlib.Agent(tmp_path, "--experiment", "scope", "--runs", "1", "--cpus", "0", "--blame", "off",
                       "--no-shares", "--no-io", "--no-locks", "--policy", "other", *options, command="run")
    with agentlib.running(a):
        status = a.process.wait(60)
    return status, a


def known(tmp_path, scope, *arguments):
    """(series by metric, {metric: total of the whole run}, what rusage says)"""
    script, answer = tmp_path / "known.py", tmp_path / "answer.json"
    script.write_text(KNOWN)
    status, a = agent_run(tmp_path, "--counters", scope, "--warmup", "0s", "--duration", "0s", "--", sys.executable,
                          str(script), str(answer), *arguments)
    assert status == 0, a.text()
    records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
    series = {s["metric"]: s for s in agentlib.items(records, "series")}
    name = {s["number"]: s["metric"] for s in series.values()}
    totals = {}
    for it in agentlib.items(records, "counter"):
        for delta, enabled, running in it["samples"]:
            assert enabled == running > 0, "software events run all the time"
            totals[name[it["series"]]] = totals.get(name[it["series"]], 0) + delta
    return series, totals, json.loads(answer.read_text())


@pytest.fixture
def perf_right():
    if os.geteuid() != 0:
        pytest.skip("only root may count the kernel's events of a task here")


@pytest.fixture
def cgroup():
    """A directory of version 2, made and removed by the test."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    base = next((m[1] for m in mounts if m[2] == "cgroup2"), None)
    path = pathlib.Path(base or "/none") / f"rigstat-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as e:
        pytest.skip(f"no cgroup can be made here: {e}")
    # perf_event comes to the groups of version 2 when any controller is first enabled (systemd does).
    control = path.parent / "cgroup.subtree_control"
    controllers = (path.parent / "cgroup.controllers").read_text().split()
    if not control.read_text().split() and controllers:
        control.write_text(f"+{controllers[-1]}")
        control.write_text(f"-{controllers[-1]}")
    yield path
    path.rmdir()


def check_known(series, totals, answer, scope, method):
    for metric in ("task_clock", "context_switches", "migrations", "page_faults", "major_page_faults"):
        s = series[metric]
        assert s["kind"] == "counter", s.get("reason")
        assert s["labels"] == {"scope": scope} and s["method"] == method
    assert answer["faults"] >= 5000 and answer["switches"] >= 100
    assert totals["page_faults"] == pytest.approx(answer["faults"], rel=0.03)
    assert totals["context_switches"] == pytest.approx(answer["switches"], rel=0.03, abs=5)
    assert totals["task_clock"] == pytest.approx(answer["cpu_ns"], rel=0.1)


def test_a_workload_is_counted_with_its_child(tmp_path, perf_right):
    series, totals, answer = known(tmp_path, "workload")
    check_known(series, totals, answer, "workload", "perf-sw-workload/1")


def test_a_cgroup_is_counted(tmp_path, perf_right, cgroup):
    """The workload goes into the cgroup; the path is given as /proc/PID/cgroup has it."""
    scope = f"cgroup:/{cgroup.name}"
    series, totals, answer = known(tmp_path, scope, str(cgroup))
    check_known(series, totals, answer, scope, "perf-sw-cgroup/1")


def test_an_idle_cgroup_has_a_true_zero(tmp_path, perf_right, cgroup):
    """0 and measured, beside a busy box; the path may be that of the directory, too."""
    series, totals, _ = known(tmp_path, f"cgroup:{cgroup}")
    assert series["context_switches"]["kind"] == "counter"
    assert totals["context_switches"] == totals["task_clock"] == totals["page_faults"] == 0


def test_the_box_is_the_default_and_says_so(tmp_path, perf_right):
    series, totals, answer = known(tmp_path, "box")
    assert series["context_switches"]["labels"] == {"scope": "box"}
    assert series["context_switches"]["method"] == "perf-sw-cpuwide/1"
    assert totals["context_switches"] > answer["switches"]
    assert totals["page_faults"] >= answer["faults"]


@pytest.mark.parametrize("scope, words", [
    ("workload", "there is none"),
    ("cgroup:/rigstat-no-such", "No such file"),
    ("cgroup:relative", "absolute path"),
    ("all", "none of box, workload and cgroup:PATH"),
])
def test_what_cannot_be_counted_is_said_before_anything_runs(tmp_path, scope, words):
    if scope.startswith("cgroup:/") and "cgroup" not in pathlib.Path("/proc/self/mounts").read_text():
        words = "no cgroup file system"
    status, a = agent_run(tmp_path, "--counters", scope, "--duration", "1s")
    assert status == 3 and words in a.text()


def test_a_watch_run_has_no_workload(tmp_path):
    """The daemon with counters = workload: absent with the reason, and the rest is measured."""
    a = agentlib.Agent(tmp_path, "--cpus", "0", "--watch", "2s", "--blame", "off", "--no-shares", "--policy", "other",
                       "--counters", "workload", "--event", "page-faults")
    with agentlib.running(a):
        records = agentlib.wait_records(a.spool, lambda rs: agentlib.items(rs, "run_end"), 60)
        a.stop(20)
    series = {s["metric"]: s for s in agentlib.items(records, "series")}
    for metric in ("context_switches", "event_page_faults"):
        assert series[metric]["kind"] == "absent" and "watch run" in series[metric]["reason"]
        assert series[metric]["labels"]["scope"] == "workload"
    assert agentlib.wakeups(records)


def test_a_workload_that_cannot_be_started_fails_the_run(tmp_path):
    """The child waits before its exec() for the counters; a failed exec must still be told."""
    status, a = agent_run(tmp_path, "--counters", "workload", "--duration", "1s", "--", "/no/such/program")
    assert status != 0 and "cannot run the workload /no/such/program: No such file" in a.text()
    assert not subprocess.run(["pgrep", "-f", "/no/such/program"], capture_output=True).stdout
