# SPDX-License-Identifier: GPL-2.0-or-later
"""Live tests of what the agent says about a loaded CPU: one experiment of one run each."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
BUILD = pathlib.Path(os.environ.get("RIGSTAT_BUILD", ROOT / "build-test"))
HOG = str(BUILD / "tests" / "tools" / "hog")


@pytest.fixture
def measure(tmp_path):
    """measure(workload, *options) -> (items by kind, text): one measured run on the last CPU."""
    import agentlib

    def run(workload, *options, seconds=6, cpu=None):
        cpu = os.cpu_count() - 1 if cpu is None else cpu
        a = agentlib.Agent(tmp_path, "--experiment", "blame", "--runs", "1", "--warmup", "1s",
                           "--duration", f"{seconds}s", "--cpus", str(cpu), *options, "--", *workload,
                           command="run")
        with agentlib.running(a):
            assert a.process.wait(seconds + 60) == 0, a.text()
        records = [r for rs in agentlib.spool_streams(a.spool).values() for r in rs]
        return {k: agentlib.items(records, k) for k in ("breach", "series", "value", "run_end")}, a.text()

    return run


def values(items):
    """{(metric, label value or None): value} of the run."""
    number = {s["number"]: s for s in items["series"]}
    out = {}
    for v in items["value"]:
        s = number[v["series"]]
        out[s["metric"], next(iter(s["labels"].values()), None)] = v["value"]
    return out


def measured_records(records):
    """Those of one run that lie in the measured window."""
    inside, out = False, []
    for r in records:
        phases = [it["phase"] for k, it, _ in r.items if k == "phase"]
        if inside:
            out.append(r)
        inside = (inside or 2 in phases) and 3 not in phases
    return out


def read_breaches(items):
    read = [b for b in items["breach"] if b["read"]]
    for b in read:
        assert sum(h["ns"] for h in b["holders"]) == b["late_ns"], "parts must sum to the lateness"
        assert b["holders"] == sorted(b["holders"], key=lambda h: -h["ns"])
    return read
