# SPDX-License-Identifier: GPL-2.0-or-later
"""From the box to the reader: an experiment of the agent, its runs as text, and metrics of the kernel's own counters
in comparisons."""
import json
import os

import pytest

import agentlib
from apilib import api  # noqa: F401 (a fixture)
from conftest import wait_until
from test_cli_compare import rigstat

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")

LOAD = "while :; do dd if=/dev/zero of=$0 bs=1M count=$RIGSTAT_FACTOR_MB conv=fsync 2>/dev/null; sleep 0.1; done"


@pytest.fixture(scope="module")
def experiment(api, tmp_path_factory):
    tmp = tmp_path_factory.mktemp("shown")
    a = agentlib.Agent(tmp, "--server", f"http://{api.server.address}", "--experiment", "shown", "--factor", "MB=1,16",
                       "--runs", "2", "--warmup", "1s", "--duration", "3s", "--budget", "system=0.00001", "--", "sh",
                       "-c", LOAD, str(tmp / "data"), command="run")
    with agentlib.running(a):
        assert a.process.wait(120) == 0, a.text()
    wait_until("everything is packed", lambda: api.server.sql(
        "select count(*) from rigstat.record_staging") == [["0"]], 60)
    return api.get("/runs", {"sort": "order"})["items"]


def cli(api, *args, status=0):
    return rigstat(*args, status=status, env={"RIGSTAT_SERVER": f"http://{api.server.address}"}).out


def test_a_run_as_text(api, experiment):
    text = cli(api, "run", experiment[0]["id"])
    assert max(map(len, text.splitlines())) <= 76 and text.isascii()
    assert text.startswith(f"run {experiment[0]['id']} on ")
    for part in ("experiment shown, MB=", "\ncost of measuring: ", "\n  system ", "\ndistributions ",
                 "\n  wakeup_latency cpu 0 ", "\nvalues\n", "\ninterrupts\n", "\nnot measured\n"):
        assert part in text, part
    assert "of its rate\n" in text and "[system-rate-halved]" in text
    if "  lock_wait " in text:
        assert "\nlock waits by caller " in text
    more = cli(api, "run", experiment[0]["id"], "--all")
    assert len(more) >= len(text) and max(map(len, more.splitlines())) <= 76


def test_a_run_as_json_and_what_cannot_be_asked(api, experiment):
    run = json.loads(cli(api, "run", experiment[0]["id"], "--json"))
    probes = {p["probe"]: p for p in run["cost"]["probes"]}
    assert probes["system"]["divisor"] > 1 and probes["system"]["budget"] == pytest.approx(1e-7)
    assert run["cost"]["elapsed_ns"] > run["measured_ns"]
    cli(api, "run", "r_99999", status=3)
    cli(api, "run", status=3)
    cli(api, "run", "r_1", "r_2", status=3)


@pytest.mark.parametrize("metric", ["interrupts", "softirqs", "context_switches"] + (
    ["psi_io_some"] if os.path.exists("/proc/pressure/io") else []))
def test_kernel_counters_are_metrics_like_any_other(api, experiment, metric):
    sides = ("--a", "experiment=shown,MB=1", "--b", "experiment=shown,MB=16", "--metric", metric)
    doc = json.loads(cli(api, "compare", *sides, "--json"))
    assert doc["a"]["n"] == doc["b"]["n"] == 2, doc["verdict"]
    assert doc["rows"][0]["a"]["avg"] is not None
    assert "labels_differ" not in {r["code"] for r in doc["verdict"]["reasons"]}
    text = cli(api, "compare", *sides)
    assert "flagged: " in text and "kernel counters read at a lower rate in 2 of 2 A and 2" in " ".join(text.split())


def test_one_name_of_many(api, experiment):
    doc = json.loads(cli(api, "compare", "--a", "experiment=shown,MB=1", "--b", "experiment=shown,MB=16", "--metric",
                         "interrupts", "--label", "irq=Rescheduling interrupts", "--json"))
    all_of_them = json.loads(cli(api, "compare", "--a", "experiment=shown,MB=1", "--b", "experiment=shown,MB=16",
                                 "--metric", "interrupts", "--json"))
    assert 0 < doc["rows"][0]["a"]["avg"] < all_of_them["rows"][0]["a"]["avg"]


def test_what_is_absent_says_why(api, experiment):
    if os.path.exists("/proc/lock_stat"):
        pytest.skip("this kernel has lock_stat")
    done = rigstat("compare", "--a", "experiment=shown,MB=1", "--b", "experiment=shown,MB=16", "--metric",
                   "lockstat_wait", status=3, env={"RIGSTAT_SERVER": f"http://{api.server.address}"})
    assert "was not measured in A" in done.err and "CONFIG_LOCK_STAT" in done.err
