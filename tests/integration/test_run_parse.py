# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat-agent run --parse: the workload is a real measuring tool, its figures end in the database."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from agentlib import binary
from conftest import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")


def agent_run(server, tmp_path, *args, status=0):
    done = subprocess.run(
        [binary("rigstat-agent"), "run", "--server", f"http://{server.address}", "--spool", str(tmp_path / "spool"),
         "--lock-dir", str(tmp_path), "--no-shares", "--host", "box", "--experiment", "parsed", "--runs", "1",
         "--warmup", "0s", "--duration", "0s", *args],
        capture_output=True, text=True, timeout=120, check=False,
        env=dict(os.environ, RIGSTAT_LOCK_DIR=str(tmp_path)))
    assert done.returncode == status and "Sanitizer" not in done.stderr, done.stdout + done.stderr
    return done.stdout + done.stderr


def the_run(server, state="ok"):
    found = wait_until("the run is packed", lambda: [
        r for r in server.get("/api/v1/runs?q=experiment%3Dparsed").json()["items"] if r["state"] == state], 60)
    return server.get(f"/api/v1/runs/{found[0]['id']}").json()


def shown(path):
    """The same output, read by the command line."""
    done = subprocess.run([binary("rigstat"), "show", "--json", str(path)], capture_output=True, text=True, check=True)
    run, = json.loads(done.stdout)["runs"]
    return run


def the_log(tmp_path):
    log, = (tmp_path / "spool/logs").glob("*.log")
    return log


def test_cyclictest(server, tmp_path):
    if not shutil.which("cyclictest"):
        pytest.skip("cyclictest (rt-tests) is not installed")
    agent_run(server, tmp_path, "--parse", "cyclictest", "--", "cyclictest", "-q", "-m", "-t2", "-p70", "-i500", "-l1500", "-h60")
    run = the_run(server)
    told = [s for s in shown(the_log(tmp_path))["series"] if s["kind"] == "hist"]
    got = server.get(f"/api/v1/runs/{run['id']}/histograms/tool_wakeup_latency?format=json").json()
    assert len(told) == 2 and got["count"] == sum(s["count"] for s in told) == 3000
    assert got["overflow"] == sum(s["overflow"] for s in told)
    # What came through the spool is what rigstat import would have made of the file.
    assert server.sql("select sum(bucketed + overflow) from rigstat.run_total t join rigstat.series s "
                      "using (host_id, run_id, series_no) join rigstat.metric m using (metric_id) "
                      "where m.name = 'tool_wakeup_latency'") == [["3000"]]
    mine = [s for s in run["series"] if s["metric"] == "wakeup_latency"]
    assert mine and all(s["method"] != "cyclictest" for s in mine), "two instruments stay apart"
    doc = server.get("/api/v1/compare?a=experiment%3Dparsed&b=experiment%3Dparsed&metric=tool_wakeup_latency").json()
    assert doc["metric"]["better"] == "lower" and doc["a"]["samples"] == 3000


def test_fio(server, tmp_path):
    if not shutil.which("fio"):
        pytest.skip("fio is not installed")
    agent_run(server, tmp_path, "--parse", "auto", "--", "fio", "--name=t", "--rw=randread", "--size=4m", "--bs=4k", "--number_ios=400",
              f"--filename={tmp_path}/data", "--output-format=json+", "--ioengine=psync")
    run = the_run(server)
    count = json.loads(the_log(tmp_path).read_text()[the_log(tmp_path).read_text().index("{"):])
    clat = [s for s in run["series"] if s["metric"] == "completion_latency"]
    assert clat and count["jobs"][0]["read"]["total_ios"] == 400
    got = server.get(f"/api/v1/runs/{run['id']}/histograms/completion_latency?format=json").json()
    assert got["count"] == 400


def test_a_workload_of_the_box_says_how_it_is_read(server, tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "w/box.conf").write_text("[h]\ncommand = sh -c 'echo name,ops; echo a,7'\nparse = csv\n")
    agent_run(server, tmp_path, "--workload", "h", "--workloads-dir", str(tmp_path / "w"))
    value, = [s for s in the_run(server)["series"] if s["metric"] == "ops"]
    assert server.sql("select value from rigstat.run_value v join rigstat.metric m using (metric_id) where m.name = 'ops' "
                      "and stat = 'value' and series_no > 0") == [["7"]], value


def test_what_cannot_be_read_has_failed(server, tmp_path):
    out = agent_run(server, tmp_path, "--parse", "cyclictest", "--", "sh", "-c", "echo '# Histogram'; echo '000001 x'", status=1)
    assert "--parse cyclictest: " in out
    run = the_run(server, "failed")
    assert run["reason"].startswith("--parse cyclictest: ")


def test_what_cannot_be_asked(server, tmp_path):
    assert "is no format; there are: auto, " in agent_run(server, tmp_path, "--parse", "cyclicest", "--", "true", status=3)
    done = subprocess.run([binary("rigstat-agent"), "run", "--experiment", "x", "--spool", str(pathlib.Path(tmp_path)),
                           "--parse", "auto"], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "--parse reads a workload's output" in done.stderr
