# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments made on the server: a real server, the daemon of a real box, and what may be asked."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

from agentlib import binary
from conftest import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change settings")
SETTING = pathlib.Path("/proc/sys/vm/stat_interval")
HOST = "box-7"


class Box:
    """A daemon with lists of its own: tunable `stat`, workloads `nap` and `broken`."""

    def __init__(self, server):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rigstat-assign-"))
        for name in ("tunables.d", "workloads.d"):
            (self.dir / name).mkdir(mode=0o755)
        (self.dir / "tunables.d/box.conf").write_text(f"[stat]\nvalues = 3 4\npath = {SETTING}\n")
        (self.dir / "workloads.d/box.conf").write_text(
            f"[nap]\ncommand = sh -c 'cat {SETTING}; sleep 60'\n[broken]\ncommand = false\n")
        self.log = self.dir / "daemon.log"
        self.daemon = subprocess.Popen(
            [binary("rigstat-agent"), "daemon", "--server", f"http://{server.address}", "--host", HOST,
             "--spool", str(self.dir / "spool"), "--lock-dir", str(self.dir), "--no-shares",
             "--journal", str(self.dir / "journal"), "--tunables-dir", str(self.dir / "tunables.d"),
             "--workloads-dir", str(self.dir / "workloads.d")],
            stdout=open(self.log, "w"), stderr=subprocess.STDOUT,
            env=dict(os.environ, RIGSTAT_LOCK_DIR=str(self.dir)))
        wait_until("the box has reported", lambda: any(
            h["name"] == HOST for h in server.get("/api/v1/hosts").json()["items"]), 40)

    def stop(self):
        self.daemon.send_signal(signal.SIGTERM)
        status = self.daemon.wait(60)
        log = self.log.read_text()
        for path in sorted((self.dir / "spool/logs").glob("*")):
            log += f"\n--- {path.name}\n{path.read_text()}"
        shutil.rmtree(self.dir)
        return status, log


@pytest.fixture
def box(server):
    before = SETTING.read_text()
    made = Box(server)
    yield made
    status, log = made.stop()
    print(log)
    after = SETTING.read_text()
    SETTING.write_text(before)
    assert after == before, "the setting was left behind"
    assert status == 0 and "Sanitizer" not in log and "runtime error" not in log


def post(server, path, body):
    return server.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})


def make(server, status=201, **body):
    plan = {"name": "made", "hosts": [HOST], "runs_per_cell": 1, "warmup_ns": 200_000_000,
            "duration_ns": 1_000_000_000, "factors": [{"name": "stat", "levels": ["3", "4"], "tune": "stat"}],
            "workload": "nap"} | body
    reply = post(server, "/api/v1/experiments", plan)
    assert reply.status == status, reply.body
    return reply.json()


def assignment(server, experiment):
    items = server.get(f"/api/v1/experiments/{experiment['id']}/assignments").json()["items"]
    assert len(items) == 1
    return items[0]


def ended(server, experiment, timeout=60):
    return wait_until("the assignment's end", lambda: (
        a := assignment(server, experiment))["ended"] and a, timeout)


def test_a_box_carries_out_what_the_server_asks(server, box):
    made = make(server)
    assert made["assignments"] == [{"id": made["assignments"][0]["id"], "host": HOST, "state": "queued"}]
    began = time.monotonic()
    wait_until("it is taken", lambda: assignment(server, made)["state"] != "queued", 10)
    assert time.monotonic() - began < 5, "a waiting agent is told, it does not come by"
    done = ended(server, made)
    assert done["state"] == "done" and "2 of 2 runs ended well" in done["text"]
    runs = wait_until("both runs are packed", lambda: (items := [
        r for r in server.get("/api/v1/runs?q=experiment%3Dmade").json()["items"] if r["state"] == "ok"])
        and len(items) == 2 and items, 60)
    assert {r["factors"]["stat"] for r in runs} == {"3", "4"}
    assert {r["experiment_id"] for r in runs} == {made["id"]}, "filed under the experiment that asked"
    assert {r["kind"] for r in runs} == {"measured"}
    # the daemon's own probes paused for it and run again
    wait_until("the daemon watches again", lambda: "probes run again" in box.log.read_text(), 20)


def test_what_the_box_does_not_allow_is_refused_and_told(server, box):
    bad = ended(server, make(server, factors=[{"name": "s", "levels": ["9"], "tune": "stat"}]))
    assert bad["state"] == "refused" and "does not allow '9'" in bad["text"]
    bad = ended(server, make(server, factors=[{"name": "s", "levels": ["3"], "tune": "nothing"}]))
    assert bad["state"] == "refused" and "has no tunable 'nothing'" in bad["text"]
    bad = ended(server, make(server, workload="unknown"))
    assert bad["state"] == "refused" and "there are: nap, broken" in bad["text"]
    bad = ended(server, make(server, workload="broken"))
    assert bad["state"] == "failed" and "1 failed" in bad["text"]


def test_taking_it_back(server, box):
    running = make(server, duration_ns=60_000_000_000)
    waiting = make(server)
    wait_until("the first runs", lambda: assignment(server, running)["state"] == "running", 20)
    wait_until("the setting is made", lambda: SETTING.read_text().strip() == "3", 20)
    assert assignment(server, waiting)["state"] == "queued", "one at a time"
    for experiment in (waiting, running):
        reply = server.request("DELETE", f"/api/v1/experiments/{experiment['id']}/assignments")
        assert reply.status == 200 and reply.json() == {"cancelled": 1}
    assert assignment(server, waiting)["state"] == "cancelled"
    assert ended(server, running, 40)["state"] == "cancelled"
    assert SETTING.read_text().strip() not in ("3", "4")


def test_the_daemon_stops_while_it_runs(server, box):
    make(server, duration_ns=60_000_000_000)
    wait_until("the setting is made", lambda: SETTING.read_text().strip() == "3", 20)
    box.daemon.send_signal(signal.SIGTERM)
    assert box.daemon.wait(60) == 0
    assert SETTING.read_text().strip() != "3"


def rigstat(server, *args, status=0):
    done = subprocess.run([binary("rigstat"), "experiment", *args, "--server", f"http://{server.address}"],
                          capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_command_line(server, box):
    out = rigstat(server, "start", "cli", "--host", HOST, "--factor", "stat=3,4", "--tune", "stat=stat",
                  "--workload", "nap", "--runs", "1", "--warmup", "100ms", "--duration", "1s", "--wait")
    assert "is queued for 1 boxes" in out and f"{HOST}  done: experiment cli: 2 of 2 runs ended well" in out
    out = rigstat(server, "start", "cli", "--host", HOST, "--workload", "unknown", "--wait", status=1)
    assert f"{HOST}  refused: " in out
    waiting = json.loads(rigstat(server, "start", "cli", "--host", HOST, "--runs", "3", "--json"))
    assert "1 boxes are told to stop" in rigstat(server, "cancel", waiting["id"])
    assert "cancelled" in rigstat(server, "status", waiting["id"], "--wait", status=1)


def test_the_command_line_says_what_is_wrong(server):
    known_host(server)
    assert "one of them has never reported" in rigstat(server, "start", "x", "--host", "nobody", status=3)
    assert "write NAME=LEVEL" in rigstat(server, "start", "x", "--host", HOST, "--factor", "f", status=3)
    assert "no --factor g" in rigstat(server, "start", "x", "--host", HOST, "--tune", "g=t", status=3)
    assert "not a path" in rigstat(server, "start", "x", "--host", HOST, "--factor", "f=1", "--tune",
                                   "f=/sys/x", status=3)
    assert "none of start" in rigstat(server, "begin", "x", status=3)


def gate(server, rule, *more):
    return subprocess.run(
        [binary("rigstat"), "gate", "--server", f"http://{server.address}", "--a", "experiment=made",
         "--rule", rule, "--stop-on-breach", "--every", "500ms", "--metric", "wakeup_latency", *more],
        capture_output=True, text=True, timeout=120, check=False)


def test_a_broken_limit_stops_the_experiment(server, box):
    made = make(server, duration_ns=2_000_000_000, runs_per_cell=200)
    done = gate(server, "over(1ns)<=1/h")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 box is told to stop made" in done.stderr and "above the limit" in done.stdout
    assert ended(server, made, 40)["state"] == "cancelled"
    runs = server.get("/api/v1/runs?q=experiment%3Dmade").json()["items"]
    assert 1 <= len(runs) < 20, "long before the 400 runs"


def test_a_kept_limit_ends_the_watch_and_not_the_experiment(server, box):
    made = make(server, duration_ns=1_000_000_000, runs_per_cell=100)
    done = gate(server, "over(100s)<=1000000/h", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rule, = json.loads(done.stdout)["gate"]["rules"]
    assert rule["result"] == "pass" and rule["value"] == 0 and "however often" in rule["why"]
    assert assignment(server, made)["state"] == "running"
    server.request("DELETE", f"/api/v1/experiments/{made['id']}/assignments")
    ended(server, made, 40)


def test_a_maximum_is_kept_only_at_the_end(server, box):
    made = make(server)
    done = gate(server, "max<=100s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert assignment(server, made)["state"] == "done", "so far is not yet a pass"


def test_an_experiment_that_ends_undecided(server, box):
    make(server)
    done = gate(server, "over(100s)<=0.001/h")
    assert done.returncode == 2 and "more without another" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("rule, more, text", [
    ("p99<=+5%", [], "again and again"), ("p99<=1ms", [], "again and again"), ("max<=1ms", ["--mode", "strict"], "own"),
    ("max<=1ms", ["--a", "x.txt"], "watches one side"),
    ("max<=1ms", ["--b", "experiment=made"], "watches one side"),
    ("max<=1ms", ["--every", "1ms"], "from 100ms to 1h"),
    ("max<=1ms", ["--self"], "exclude"),
])
def test_what_cannot_be_watched(server, rule, more, text):
    done = gate(server, rule, *more)
    assert done.returncode == 3 and text in done.stderr, done.stderr


def test_a_watch_of_nothing(server):
    known_host(server)
    done = gate(server, "max<=1ms")
    assert done.returncode == 3 and "never began" in done.stderr, done.stdout + done.stderr


def known_host(server):
    server.sql(f"insert into rigstat.host (name) values ('{HOST}')")


WRONG = [
    ({"name": "a/b"}, "name"), ({"name": ""}, "name"), ({"hosts": []}, "hosts"),
    ({"hosts": [HOST, HOST]}, "hosts"), ({"hosts": "box"}, "hosts"),
    ({"factors": [{"name": "f", "levels": ["1"], "tune": "/sys/kernel/x"}]}, "factors"),
    ({"factors": [{"name": "f", "levels": ["1"], "tune": "vm.swappiness"}]}, "factors"),
    ({"factors": [{"name": "f", "levels": ["1", "1"]}]}, "factors"),
    ({"factors": [{"name": "f", "levels": []}]}, "factors"),
    ({"factors": [{"name": "f", "levels": ["it's"]}]}, "factors"),
    ({"factors": [{"name": "f", "levels": ["1"]}, {"name": "f", "levels": ["1"]}]}, "factors"),
    ({"factors": [{"name": f"f{i}", "levels": list("abcdefgh")} for i in range(8)]}, "factors"),
    ({"workload": "/bin/sh"}, "workload"), ({"workload": "sh -c x"}, "workload"),
    ({"runs_per_cell": 0}, "runs_per_cell"), ({"runs_per_cell": 10**9}, "runs_per_cell"),
    ({"runs_per_cell": 1.5}, "runs_per_cell"), ({"duration_ns": 0}, "duration_ns"),
    ({"order": "abab"}, "order"), ({"on_failure": "panic"}, "on_failure"), ({"seed": -1}, "seed"),
]


def test_what_cannot_be_asked(server):
    known_host(server)
    for body, member in WRONG:
        problem = make(server, 400, **body)
        assert problem["errors"][0]["parameter"] == member, body
    assert server.sql("select count(*) from rigstat.experiment") == [["0"]]


def test_unknown_hosts_and_members(server):
    known_host(server)
    assert make(server, 422, hosts=[HOST, "nobody"])["type"] == "/problems/unknown-host"
    assert server.sql("select count(*) from rigstat.assignment") == [["0"]], "all or none"
    assert make(server, 400, command="rm -rf /")["status"] == 400


def take(server, host=HOST, wait=0):
    reply = server.get(f"/api/v1/assignments/next?host={host}&wait={wait}")
    assert reply.status == 200, reply.body
    return reply.json()["assignment"]


def test_the_long_poll(server):
    known_host(server)
    began = time.monotonic()
    assert take(server, wait=2) is None
    assert 1.5 < time.monotonic() - began < 6
    assert take(server, "unknown") is None
    got = []
    waiting = threading.Thread(target=lambda: got.append((take(server, wait=20), time.monotonic())))
    waiting.start()
    time.sleep(1)
    asked = time.monotonic()
    made = make(server)
    waiting.join(20)
    (a, at), = got
    assert a["experiment"] == "made" and a["uid"] == made["uid"] and at - asked < 3
    assert a["plan"]["tune"] == {"stat": "stat"} and a["design"]["total_runs"] == 2
    assert take(server) is None, "taken once"
    assert take(server, "other") is None


def report(server, a, state, text="", status=200):
    reply = post(server, f"/api/v1/assignments/{a['id']}", {"state": state, "text": text})
    assert reply.status == status, reply.body
    return reply.json()


def test_reports_and_lost_agents(server):
    known_host(server)
    first, second = make(server), make(server)
    a = take(server)
    assert report(server, a, "running") == {"state": "running", "cancel": False}
    assert take(server) is None, "one at a time"
    assert report(server, a, "done", "well")["state"] == "done"
    assert report(server, a, "running", status=409)["type"] == "/problems/not-running"
    assert assignment(server, first)["text"] == "well"
    b = take(server)
    assert b["id"] == second["assignments"][0]["id"]
    # the agent is silent for more than a minute: failed, and the next one may be taken
    third = make(server)
    assert take(server) is None
    server.sql("update rigstat.assignment set seen_at = now() - interval '61 seconds' where state = 'taken'")
    assert take(server)["id"] == third["assignments"][0]["id"]
    lost = assignment(server, second)
    assert lost["state"] == "failed" and "stopped reporting" in lost["text"]
    report(server, b, "done", status=409)
    assert report(server, {"id": "a_999"}, "done", status=409)
    assert report(server, a, "sleeping", status=400)


def test_two_agents_of_one_name_do_not_take_the_same(server):
    known_host(server)
    for _ in range(4):
        make(server)
    got = []
    threads = [threading.Thread(target=lambda: got.append(take(server))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len([a for a in got if a]) == 1


def test_stopping_the_server_with_a_waiting_agent(make_server):
    server = make_server().start()
    known_host(server)
    answers = []

    def poll():
        try:
            answers.append(server.get(f"/api/v1/assignments/next?host={HOST}&wait=30").status)
        except OSError:
            answers.append(None)

    waiting = threading.Thread(target=poll)
    waiting.start()
    time.sleep(1)
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 4, "a waiting agent is answered, not waited for"
    waiting.join(20)
    assert answers == [200]
