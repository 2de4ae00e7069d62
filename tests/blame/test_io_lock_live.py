# SPDX-License-Identifier: GPL-2.0-or-later
"""I/O latency and lock waits by known answers."""
import json
import os
import subprocess

import pytest

import agentlib
from conftest import HOG, measured_records, values

CPU = os.cpu_count() - 1


def skip_if_absent(items, metric):
    reasons = [s["reason"] for s in items["series"] if s["metric"] == metric and s["kind"] == "absent"]
    if reasons:
        pytest.skip(f"{metric}: {reasons[0]}")


@pytest.fixture
def loop_device(tmp_path):
    image = tmp_path / "image"
    image.write_bytes(b"\0" * (32 << 20))
    try:
        dev = subprocess.run(["losetup", "--find", "--show", "--direct-io=off", image], check=True,
                             capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as e:
        pytest.skip(f"no loop device here: {e}")
    # Neighbouring requests that are merged would be counted as one; the device goes away with the test.
    with open(f"/sys/block/{dev[5:]}/queue/nomerges", "w", encoding="ascii") as f:
        f.write("2")
    yield dev
    subprocess.run(["losetup", "--detach", dev], check=True)


def test_every_request_is_measured_once_or_counted_as_lost(tmp_path, loop_device):
    """fio says how many requests it sent to a device of its own, and how long they took."""
    result = tmp_path / "fio.json"
    a = agentlib.Agent(tmp_path, "--experiment", "io", "--runs", "1", "--warmup", "1s", "--duration", "60s", "--cpus",
                       str(CPU), "--blame", "off", "--no-shares", "--no-locks", "--", "fio", "--name=t",
                       f"--filename={loop_device}", "--rw=randread", "--bs=4k", "--direct=1", "--iodepth=4",
                       "--ioengine=libaio", "--size=32m", "--io_size=24m", "--rate_iops=1500",
                       "--output-format=json", f"--output={result}", command="run")
    with agentlib.running(a):
        assert a.process.wait(120) == 0, a.text()
    records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
    items = {"series": agentlib.items(records, "series")}
    skip_if_absent(items, "io_latency")
    number = {s["number"] for s in items["series"] if s["metric"] == "io_latency"
              and s["labels"] == {"device": loop_device[5:], "operation": "read"}}
    hist = agentlib.merge([h["hist"] for h in agentlib.items(records, "hist") if h["series"] in number])
    fio = json.loads(result.read_text())["jobs"][0]["read"]
    lost = agentlib.items(records, "run_end")[0]["lost"]
    assert fio["total_ios"] == 6144
    # 0.1 % of slack: on some virtual machines one or two of 6,144 are missing, and why is not known.
    assert hist["count"] <= 6144 <= 1.001 * hist["count"] + lost, f"{hist['count']} measured, {lost} lost"
    assert hist["count"] >= 0.99 * 6144
    mean = sum(lo * n for lo, n in hist["buckets"].items()) / hist["count"]
    assert mean <= fio["lat_ns"]["mean"], "the block layer cannot take longer than the program waited"
    assert mean >= fio["lat_ns"]["min"] / 10
    assert hist["max"] <= fio["lat_ns"]["max"]


def test_contended_locks_name_who_wanted_them(tmp_path):
    """Threads that map and unmap wait for one mmap_lock: its takers are the largest callers."""
    a = agentlib.Agent(tmp_path, "--experiment", "lock", "--runs", "1", "--warmup", "1s", "--duration", "5s", "--cpus",
                       str(CPU), "--blame", "off", "--no-shares", "--no-io", "--", HOG, "mmap", "0", "8", "60",
                       command="run")
    with agentlib.running(a):
        assert a.process.wait(60) == 0, a.text()
    records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
    items = {k: agentlib.items(records, k) for k in ("series", "value")}
    skip_if_absent(items, "lock_wait")
    v = values(items)
    rates = sorted(((x, caller) for (metric, caller), x in v.items() if metric == "lock_wait_rate" and caller),
                   reverse=True)
    assert rates, "no caller was named"
    total = v["lock_wait_rate", None]
    mm = sum(x for x, caller in rates if "mmap" in caller or "munmap" in caller or "fault" in caller or "vm" in caller)
    assert mm > total / 2, rates[:6]
    # The callers and the rest are all; and they are what the histogram has.
    for metric in ("lock_wait_rate", "lock_contentions"):
        assert sum(x for (m, caller), x in v.items() if m == metric and caller) == pytest.approx(v[metric, None])
    number = next(s["number"] for s in items["series"] if s["metric"] == "lock_wait")
    hist = agentlib.merge([h["hist"] for h in agentlib.items(measured_records(records), "hist")
                           if h["series"] == number])
    seconds = agentlib.items(records, "run_end")[0]["measured_ns"] / 1e9
    assert v["lock_contentions", None] * seconds == pytest.approx(hist["count"], rel=0.02)
    assert v["lock_wait_rate", None] * seconds == pytest.approx(
        sum(lo * n for lo, n in hist["buckets"].items()), rel=0.05)
