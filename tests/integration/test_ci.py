# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat submit, gate --against, and the CI examples: their script blocks are executed by sh as they stand."""
import json
import os
import random
import re
import subprocess

import pytest
import yaml

from apilib import api  # noqa: F401 (fixture)
from conftest import BUILD, ROOT
from test_track import settled

RIGSTAT = BUILD / "cli" / "rigstat"
EXAMPLES = ROOT / "packaging/ci"


def rigstat(api, *args, stdin=None, status=0):
    env = dict(os.environ, RIGSTAT_SERVER=f"http://{api.server.address}")
    out = subprocess.run([str(RIGSTAT), *args], input=stdin, capture_output=True, text=True, check=False, env=env)
    assert out.returncode == status, (args, out.returncode, out.stdout, out.stderr)
    return out


def results(rng, level, runs=4):
    """Run documents, one a line, as a benchmark would write them."""
    return "".join(json.dumps({"series": [{"metric": "elapsed", "kind": "value", "unit": "ns",
                                           "value": level * (1 + rng.gauss(0, 0.005))}]}) + "\n" for _ in range(runs))


def test_submit_values_files_and_again(api):
    args = ["submit", "--experiment", "s", "--host", "h1", "--commit", "abc1234", "--branch", "main", "--label", "job=7"]
    out = rigstat(api, *args, "--value", "build=12.5s", "--value", "size=4096bytes", "--value", "score=3")
    run = api.get(f"/runs/{out.stdout.split()[0]}")
    assert run["tags"] == {"branch": "main", "commit": "abc1234", "job": "7"} and run["host"] == "h1"
    values = {s["metric"]: (s["value"], s["unit"]) for s in run["series"]}
    assert values == {"build": (12.5e9, "ns"), "size": (4096, "bytes"), "score": (3, "1")}
    again = rigstat(api, *args, "--value", "build=12.5s", "--value", "size=4096bytes", "--value", "score=3")
    assert again.stdout == out.stdout and "already" in again.stderr
    other = rigstat(api, *(a if a != "abc1234" else "def5678" for a in args), "--value", "build=12.5s")
    assert other.stdout.split()[0] != out.stdout.split()[0], "the same figures of another commit are other runs"
    csv = ROOT / "tests/data/wakeup-delay-2004/iozone-64.txt"
    out = rigstat(api, *args, "--metric", "wakeup_latency", "--unit", "us", "--started", "2026-11-01T00:00:00Z", "--json", str(csv))
    item = json.loads(out.stdout)["items"][0]
    assert item["started"].startswith("2026-11-01T00:00:00") and item["metrics"] == ["wakeup_latency"]
    for bad in (["--value", "x"], ["--value", "x=1"], []):
        rigstat(api, "submit", "--experiment", "s", *bad, status=3)
    rigstat(api, "submit", "--experiment", "s", "--commit", "c", "--value", "x=1", "--server", "http://127.0.0.1:1", status=4)


def script_of(name):
    """(measure and submit, gate) as the CI system hands them to sh."""
    text = (EXAMPLES / name).read_text()
    if name == "Jenkinsfile":
        first, second = re.findall(r"sh '''\n(.*?)'''", text, re.S)
        return first, second
    doc = yaml.safe_load(text)
    if name == "gitlab-ci.yml":
        whole = "\n".join(doc["performance"]["script"])
        return whole, None
    steps = {s["name"]: s["run"] for s in doc["jobs"]["measure"]["steps"] if "run" in s}
    return steps["Measure"] + "\n" + steps["Submit"], steps["Gate"]


def variables(name, commit, branch):
    request = branch != "main"
    return {"github-actions.yml": {"GITHUB_SHA": commit, "GITHUB_REF_NAME": branch, "GITHUB_RUN_ID": "1",
                                   "GITHUB_HEAD_REF": branch if request else ""},
            "gitlab-ci.yml": {"CI_COMMIT_SHA": commit, "CI_COMMIT_REF_NAME": branch, "CI_DEFAULT_BRANCH": "main",
                              "CI_PIPELINE_ID": "1"},
            "Jenkinsfile": {"GIT_COMMIT": commit, "BRANCH_NAME": branch, "BUILD_NUMBER": "1", "CHANGE_TARGET": "main",
                            **({"CHANGE_BRANCH": branch} if request else {})}}[name]


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml", "Jenkinsfile"])
def test_examples_run_as_written(api, tmp_path, name):
    rng = random.Random(5)
    host = "bench-" + name.split(".")[0].lower()
    submit, gate = script_of(name)
    bench = tmp_path / "bench.sh"
    summary = tmp_path / "summary.md"

    def job(commit, branch, level, runs=4):
        bench.write_text(f"#!/bin/sh\ncat <<'END'\n{results(rng, level, runs)}END\n")
        bench.chmod(0o755)
        env = dict(os.environ, RIGSTAT_SERVER=f"http://{api.server.address}", RIGSTAT_HOST=host,
                   PATH=f"{RIGSTAT.parent}:{os.environ['PATH']}", GITHUB_STEP_SUMMARY=str(summary),
                   **variables(name, commit, branch))
        script = submit if branch == "main" or not gate else f"{submit}\n{gate}"
        return subprocess.run(["sh", "-e", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    early = job("early00", "pr-1", 1e8)
    assert early.returncode == 0 and "no series like these runs yet" in early.stderr, early.stderr
    for i in range(26):
        done = job(f"main{i:03d}", "main", 1e8, 1)
        assert done.returncode == 0, done.stderr
    settled(api.server)
    good = job("good000", "pr-2", 1e8)
    assert good.returncode == 0, good.stdout + good.stderr
    assert "no dependence on time" in good.stderr, good.stderr
    bad = job("bad0000", "pr-3", 1.2e8)
    assert bad.returncode == 1, bad.stdout + bad.stderr
    report = summary.read_text() if name.startswith("github") else (tmp_path / "gate.xml").read_text()
    assert "mean" in report


def test_gate_against_a_drifting_baseline_is_inconclusive(api):
    rng = random.Random(6)
    runs = [{"host": "drifty", "experiment": "ci", "state": "ok", "kind": "measured", "tags": {"commit": f"d{i}", "branch": "main"},
             "started": f"2026-10-{1 + i // 24:02d}T{i % 24:02d}:00:00Z",
             "series": [{"metric": "elapsed", "kind": "value", "unit": "ns", "value": 1e8 * (1 + i / 200 + rng.gauss(0, .004))}]}
            for i in range(60)]
    api.send("POST", "/runs", {"runs": runs}, 201)
    settled(api.server)
    for i in range(4):
        rigstat(api, "submit", "--experiment", "ci", "--host", "drifty", "--commit", "new", "--branch", "pr", "--value",
                f"elapsed={132 + i * .1}ms")
    out = rigstat(api, "gate", "--against", "baseline:main", "--b", "commit=new,host=drifty", "--rule", "mean<=+5%", status=2)
    assert "it drifts" in out.stderr and "one side was measured after the other" in out.stdout
    rigstat(api, "gate", "--against", "main", "--b", "commit=new", "--rule", "mean<=+5%", status=3)
    rigstat(api, "gate", "--against", "baseline:main", "--b", "commit=nothere", "--rule", "mean<=+5%", status=3)


def test_series_and_changes_verbs(api):
    out = rigstat(api, "series", "--host", "drifty", "--branch", "main")
    assert "drift" in out.stdout and "elapsed" in out.stdout
    series = json.loads(rigstat(api, "series", "--host", "drifty", "--branch", "main", "--json").stdout)["items"][0]
    csv = rigstat(api, "series", "--points", series["id"]).stdout.splitlines()
    assert csv[0].startswith("run,started,version,value_ns") and len(csv) == 61
    run = csv[31].split(",")[0]
    marked = rigstat(api, "change", "mark", series["id"], run, "--note", "by eye", "--by", "ben").stdout
    change = marked.split()[0]
    assert "confirmed" in marked and change in rigstat(api, "changes", "--host", "drifty").stdout
    assert "accepted" in rigstat(api, "change", "accept", change, "--by", "ben").stdout
    rigstat(api, "change", "ignore", change, status=3)
    rigstat(api, "change", "burn", change, status=3)
