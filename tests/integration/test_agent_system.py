# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel counts about itself, on this box: against what /proc said before and after."""
import os
import pathlib
import re
import time

import pytest

import agentlib

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")


def run_once(tmp_path, *options, seconds=4, workload=()):
    a = agentlib.Agent(tmp_path, "--experiment", "system", "--runs", "1", "--warmup", "1s", "--duration",
                       f"{seconds}s", "--blame", "off", "--no-shares", "--no-io", "--no-locks", *options,
                       *(["--", *workload] if workload else []), command="run")
    with agentlib.running(a):
        assert a.process.wait(seconds + 60) == 0, a.text()
    records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
    return {k: agentlib.items(records, k) for k in ("series", "value", "counter", "run_end")}


def values(items):
    """{(metric, labels as sorted pairs): value}"""
    number = {s["number"]: s for s in items["series"]}
    return {(number[v["series"]]["metric"], tuple(sorted(number[v["series"]]["labels"].items()))): v["value"]
            for v in items["value"]}


def timer_interrupts():
    for line in pathlib.Path("/proc/interrupts").read_text().splitlines():
        if line.lstrip().startswith("LOC:"):
            return sum(int(w) for w in line.split()[1:] if w.isdigit())
    pytest.skip("this machine has no local timer interrupts of that name")


def test_interrupts_agree_with_proc(tmp_path):
    before, t0 = timer_interrupts(), time.monotonic()
    items = run_once(tmp_path)
    after, t1 = timer_interrupts(), time.monotonic()
    v = values(items)
    timer = v["interrupts", (("irq", "Local timer interrupts"),)]
    # The window lies inside ours and the rate is steady (a wake-up a ms and CPU).
    assert timer == pytest.approx((after - before) / (t1 - t0), rel=0.4)
    for metric in ("interrupts", "softirqs", "interrupts_by_cpu", "softirqs_by_cpu"):
        parts = [x for (m, labels), x in v.items() if m == metric and labels]
        assert sum(parts) == pytest.approx(v[metric, ()]), metric
    assert v["interrupts", ()] == pytest.approx(v["interrupts_by_cpu", ()], rel=0.01)


def test_a_disk_that_writes(tmp_path):
    f = tmp_path / "data"
    items = run_once(tmp_path, workload=(
        "sh", "-c", f"while :; do dd if=/dev/zero of={f} bs=1M count=8 conv=fsync 2>/dev/null; done"))
    v = values(items)
    written = {dict(labels)["device"]: x for (m, labels), x in v.items() if m == "disk_written_bytes"}
    if not written:
        pytest.skip("the file's device does not count (tmpfs?)")
    device, rate = max(written.items(), key=lambda x: x[1])
    assert rate > 1e6
    assert 0 < v["disk_busy", (("device", device),)] <= 101
    assert v["disk_writes", (("device", device),)] > 1


def test_what_this_kernel_lacks_is_absent_with_the_reason(tmp_path):
    items = run_once(tmp_path, seconds=2)
    by_metric = {}
    for s in items["series"]:
        by_metric.setdefault(s["metric"], []).append(s)
    for metric, path in (("psi_cpu_some", "pressure/cpu"), ("psi_irq_full", "pressure/irq"),
                         ("sched_run_delay", "schedstat"), ("lockstat_wait", "lock_stat")):
        (first, *_) = by_metric[metric]
        if os.path.exists(f"/proc/{path}"):
            assert first["kind"] != "absent" or first["reason"]
        else:
            assert first["kind"] == "absent" and path in first["reason"], first


def test_a_budget_that_cannot_be_kept_lowers_the_rate_and_marks_the_run(tmp_path):
    items = run_once(tmp_path, "--budget", "system=0.00001", "--budget", "counters=0.00001", seconds=7)
    (end,) = items["run_end"]
    marks = {m["code"]: m["text"] for m in end["marks"]}
    for probe in ("system", "counters"):
        assert re.search(r"of a CPU, so its rate was cut to 1/\d+", marks[f"{probe}-rate-halved"])
    cost = {p["probe"]: p for p in end["cost"]["probes"]}
    assert cost["system"]["divisor"] > 1 and cost["counters"]["divisor"] > 1
    # Fewer items, but they cover the window without a hole.
    number = next(s["number"] for s in items["series"] if s["metric"] == "context_switches")
    parts = sorted((c["t0"], c["dt"]) for c in items["counter"] if c["series"] == number)
    assert len(parts) < 8
    for (t0, dt), (t1, _) in zip(parts, parts[1:]):
        assert abs(t0 + dt - t1) < 50e6
    assert end["measured_ns"] > 6.5e9


def test_budgets_of_sampling_and_of_reading_causes(tmp_path):
    items = run_once(tmp_path, "--no-system", "--shares", "--blame", "50us", "--budget", "shares=0.00001", "--budget",
                     "blame=0.00001", seconds=6)
    (end,) = items["run_end"]
    marks = {m["code"]: m["text"] for m in end["marks"]}
    cost = {p["probe"]: p for p in end["cost"]["probes"]}
    if "no-shares" not in marks:
        assert cost["shares"]["divisor"] > 1 and "sampling cost more than" in marks["shares-rate-halved"]
        assert cost["shares"]["kernel_ns"] is None or cost["shares"]["kernel_ns"] > 0
    assert cost["blame"]["divisor"] > 1 and "reading causes cost more than" in marks["blame-rate-halved"]
    if "no-blame" not in marks:
        # Measured while the run warmed up, so it is known; without the right to, it is not a number.
        assert cost["blame"]["kernel_ns"] is None or cost["blame"]["kernel_ns"] > 0


def ticks():
    words = [int(w) for w in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return words[7], sum(words)


def test_stolen_time_agrees_with_proc_and_is_marked(tmp_path):
    before = ticks()
    items = run_once(tmp_path, "--no-system", seconds=5)
    after = ticks()
    (steal,) = [s for s in items["series"] if s["metric"] == "steal_share"]
    if steal["kind"] == "absent":
        assert not after[0] and "hypervisor" in steal["reason"]
        pytest.skip(steal["reason"])
    share = values(items)["steal_share", ()]
    (end,) = items["run_end"]
    stolen = share / 100 * end["measured_ns"] / 1e9 * os.cpu_count()
    # What was stolen in the window is part of what was stolen around it.
    assert 0 <= stolen <= (after[0] - before[0]) / os.sysconf("SC_CLK_TCK") + 0.05
    marks = {m["code"]: m["text"] for m in end["marks"]}
    assert ("steal" in marks) == (share > 0), marks


def test_disturbers_of_the_hardware_are_numbers_or_reasons(tmp_path):
    items = run_once(tmp_path, "--no-system", seconds=2)
    v = values(items)
    for metric in ("smi_count", "core_throttles", "package_throttles", "effective_ghz"):
        (s,) = [s for s in items["series"] if s["metric"] == metric]
        if s["kind"] == "absent":
            assert s["reason"]
        else:
            assert v[metric, ()] >= 0 and s["method"]


def test_without_the_probe_there_is_none_of_it(tmp_path):
    items = run_once(tmp_path, "--no-system", seconds=2)
    assert not [s for s in items["series"] if s["metric"].startswith(("psi_", "interrupts", "disk_"))]
    assert "system" not in {p["probe"] for p in items["run_end"][0]["cost"]["probes"]}
