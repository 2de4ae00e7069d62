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
        self.start(server)

    def start(self, server):
        self.daemon = subprocess.Popen(
            [binary("rigstat-agent"), "daemon", "--server", f"http://{server.address}", "--host", HOST,
             "--spool", str(self.dir / "spool"), "--lock-dir", str(self.dir), "--no-shares",
             "--journal", str(self.dir / "journal"), "--tunables-dir", str(self.dir / "tunables.d"),
             "--workloads-dir", str(self.dir / "workloads.d")],
            stdout=open(self.log, "a"), stderr=subprocess.STDOUT,
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
    assert "'nobody' has never reported" in rigstat(server, "start", "x", "--host", "nobody", status=3)
    assert "write NAME=LEVEL" in rigstat(server, "start", "x", "--host", HOST, "--factor", "f", status=3)
    assert "no --factor g" in rigstat(server, "start", "x", "--host", HOST, "--tune", "g=t", status=3)
    assert "not a path" in rigstat(server, "start", "x", "--host", HOST, "--factor", "f=1", "--tune",
                                   "f=/sys/x", status=3)
    assert "none of create" in rigstat(server, "begin", "x", status=3)


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


def take(server, host=HOST, wait=0, resume=None):
    reply = server.get(f"/api/v1/assignments/next?host={host}&wait={wait}" + (f"&resume={resume}" if resume else ""))
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


def report(server, a, state, text="", status=200, **more):
    reply = post(server, f"/api/v1/assignments/{a['id']}", {"state": state, "text": text} | more)
    assert reply.status == status, reply.body
    return reply.json()


def test_reports_and_lost_agents(server):
    known_host(server)
    first, second = make(server), make(server)
    a = take(server)
    assert report(server, a, "running") == {"state": "running", "cancel": False, "pause": False}
    assert take(server) is None, "one at a time"
    assert report(server, a, "done", "well")["state"] == "done"
    assert report(server, a, "running", status=409)["type"] == "/problems/not-running"
    assert assignment(server, first)["text"] == "well"
    b = take(server)
    assert b["id"] == second["assignments"][0]["id"]
    # the agent is silent for more than a minute: it is given out again, but not for ever
    third = make(server)
    assert take(server) is None
    silent = "update rigstat.assignment set seen_at = now() - interval '61 seconds' where state = 'taken'"
    for _ in range(19):
        server.sql(silent)
        assert take(server)["id"] == b["id"]
    assert take(server) is None, "it is being carried out"
    server.sql(silent)
    assert take(server)["id"] == third["assignments"][0]["id"]
    lost = assignment(server, second)
    assert lost["state"] == "failed" and "begun 20 times" in lost["text"]
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


def control(server, experiment, state, status=200):
    reply = server.request("PATCH", f"/api/v1/experiments/{experiment['id']}", json.dumps({"state": state}),
                           {"Content-Type": "application/json"})
    assert reply.status == status, reply.body
    return reply.json()


def state_of(server, experiment):
    return server.get(f"/api/v1/experiments/{experiment['id']}").json()["state"]


def test_the_states_of_a_pause(server):
    known_host(server)
    made = make(server)
    assert state_of(server, made) == "queued"
    assert control(server, made, "paused")["state"] == "paused"
    assert take(server) is None, "paused while it waited"
    control(server, made, "paused", 409)
    assert control(server, made, "running")["state"] == "queued"
    control(server, made, "running", 409)
    a = take(server)
    assert control(server, made, "paused")["state"] == "pausing"
    assert report(server, a, "running")["pause"] is True
    control(server, made, "running")
    assert report(server, a, "running")["pause"] is False, "taken back in time"
    # taken back too late: the agent has paused already, so it waits for its turn
    assert report(server, a, "paused")["state"] == "queued"
    a = take(server)
    control(server, made, "paused")
    assert report(server, a, "paused", progress={"total": 2, "ok": 1, "left_ns": 5})["state"] == "paused"
    listed = assignment(server, made)
    assert listed["ended"] is None and listed["progress"] == {"total": 2, "ok": 1, "left_ns": 5}
    other = make(server)
    assert take(server)["id"] == other["assignments"][0]["id"], "the box is free meanwhile"
    control(server, made, "cancelled")
    assert assignment(server, made)["state"] == "cancelled" and state_of(server, made) == "cancelled"
    control(server, made, "cancelled", 409)
    control(server, made, "sleeping", 400)
    assert control(server, {"id": "e_999"}, "paused", 404)


def test_an_agent_that_was_restarted_gets_its_own_again(server):
    known_host(server)
    first, _ = make(server), make(server)
    a = take(server)
    assert take(server, resume="a_999") is None
    again = take(server, resume=a["id"])
    assert again["id"] == a["id"] and again["known"] == "" and again["uid"] == first["uid"]
    host, = server.sql(f"select host_id from rigstat.host where name = '{HOST}'")[0]
    for order in (1, 2, 3, 5):
        server.sql(f"insert into rigstat.run (host_id, run_uid, kind, state, experiment_id, order_no) select {host}, "
                   f"gen_random_uuid(), 'measured', 'ok', experiment_id, {order} from rigstat.experiment order by 1 limit 1")
    assert take(server, resume=a["id"])["known"] == "1-3,5"
    control(server, first, "paused")
    assert take(server, resume=a["id"])["id"] != a["id"], "it paused while its agent was away"
    assert assignment(server, first)["state"] == "paused"


def test_cancelling_what_nobody_carries_out_any_more(server):
    known_host(server)
    made = make(server)
    take(server)
    assert control(server, made, "cancelled")["state"] == "running", "its agent has to say so"
    server.sql("update rigstat.assignment set seen_at = now() - interval '61 seconds'")
    assert control(server, made, "cancelled")["state"] == "cancelled"


@pytest.mark.parametrize("progress", [[], {"total": 1.5}, {"cell": "x" * 301}, {"more": 1}, {"last_state": 1}])
def test_progress_is_checked(server, progress):
    known_host(server)
    make(server)
    report(server, take(server), "running", status=400, progress=progress)


def test_a_reserved_box(server):
    known_host(server)

    def reserve(by):
        return server.request("PUT", f"/api/v1/hosts/{HOST}/reservation", json.dumps({"by": by}),
                              {"Content-Type": "application/json"}).status

    waiting = make(server, by="bob@desk")
    assert reserve("eve@desk") == 200
    problem = make(server, 409, by="bob@desk")
    assert problem["type"] == "/problems/host-reserved" and "reserved by eve@desk" in problem["detail"]
    assert make(server, 409)["type"] == "/problems/host-reserved", "unsaid is somebody else"
    mine = make(server, by="eve@desk")
    assert take(server)["id"] == mine["assignments"][0]["id"], "what waited before waits on"
    assert assignment(server, waiting)["waits_for"].startswith("the box is reserved by eve@desk")
    server.request("DELETE", f"/api/v1/hosts/{HOST}/reservation?by=eve@desk")
    assert "is being carried out there" in assignment(server, waiting)["waits_for"]
    # the command line asks as USER@HOST
    assert reserve("eve@desk") == 200
    assert "is reserved by eve@desk" in rigstat(server, "create", "x", "--host", HOST, status=3)
    assert "is queued" in rigstat(server, "create", "x", "--host", HOST, "--as", "eve@desk")
    server.request("PATCH", f"/api/v1/hosts/{HOST}", json.dumps({"retired": True}), {"Content-Type": "application/json"})
    assert make(server, 409)["type"] == "/problems/host-retired"
    assert take(server) is None


def orders(server, experiment):
    """(order, state) of the experiment's runs, by order and attempt."""
    return [(int(o), s) for o, s in server.sql(
        "select order_no, state from rigstat.run where experiment_id = "
        f"{experiment['id'][2:]} and kind = 'measured' order by order_no, attempt")]


def progress(server, experiment):
    return assignment(server, experiment)["progress"] or {"ok": 0}


def test_pause_and_resume_on_a_real_box(server, box):
    made = make(server, runs_per_cell=3, duration_ns=1_500_000_000)
    wait_until("a run has ended", lambda: progress(server, made)["ok"] >= 1, 40)
    out = rigstat(server, "pause", "made")
    assert "pauses after this run" in out or "paused" in out
    wait_until("it pauses", lambda: assignment(server, made)["state"] == "paused", 30)
    before = progress(server, made)
    assert 1 <= before["ok"] < 6
    assert SETTING.read_text().strip() not in ("3", "4"), "the settings are put back meanwhile"
    wait_until("the daemon watches meanwhile", lambda: "probes run again" in box.log.read_text(), 20)
    rigstat(server, "resume", "made")
    done = ended(server, made, 90)
    assert done["state"] == "done" and "6 of 6 runs ended well" in done["text"], done["text"]
    wait_until("all are packed", lambda: len(orders(server, made)) == 6 and all(
        s == "ok" for _, s in orders(server, made)), 40)
    assert orders(server, made) == [(i, "ok") for i in range(1, 7)], "none twice"
    assert list((box.dir / "spool/plans").glob("*")) == []


def test_watch(server, box):
    made = make(server, runs_per_cell=2)
    watch = subprocess.run([binary("rigstat"), "experiment", "watch", "made", "--server", f"http://{server.address}"],
                           capture_output=True, text=True, timeout=120, check=False)
    assert watch.returncode == 0, watch.stdout + watch.stderr
    assert "box-7 is done, 4 of 4 runs ended well" in watch.stdout
    assert "no verdict before the end" in watch.stdout and "stat=3" in watch.stdout
    assert rigstat(server, "watch", made["id"])
    refused = make(server, workload="unknown")
    assert "refused" in rigstat(server, "watch", refused["id"], status=5)
    assert "there is no experiment" in rigstat(server, "watch", "nothing", status=3)


def kill_tree(box):
    """SIGKILL to the daemon and to everything that it started, at once."""
    pids = [box.daemon.pid]
    for pid in pids:
        out = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
        pids += [int(p) for p in out.stdout.split()]
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    box.daemon.wait(20)


@pytest.mark.parametrize("kill", ["daemon", "tree", "term"])
def test_a_killed_agent_goes_on_where_it_was(server, box, kill):
    made = make(server, runs_per_cell=2, duration_ns=2_000_000_000)
    wait_until("the second run", lambda: (p := progress(server, made))["ok"] >= 1 and p.get("order", 0) >= 2, 40)
    if kill == "term":
        box.daemon.send_signal(signal.SIGTERM)
        assert box.daemon.wait(60) == 0
    elif kill == "daemon":
        box.daemon.kill()
        box.daemon.wait(10)
    else:
        kill_tree(box)
    box.start(server)
    done = ended(server, made, 120)
    assert done["state"] == "done" and "4 of 4 runs ended well" in done["text"], done["text"]
    wait_until("all are packed", lambda: sum(s == "ok" for _, s in orders(server, made)) == 4 and not any(
        s == "running" for _, s in orders(server, made)), 60)
    good = [o for o, s in orders(server, made) if s == "ok"]
    assert good == [1, 2, 3, 4], "each cell as often as planned, none twice"
    assert [s for _, s in orders(server, made) if s != "ok"] in ([], ["aborted"])


def test_a_killed_server_does_not_matter(make_server):
    server = make_server().start()
    box = Box(server)
    try:
        made = make(server, runs_per_cell=2, duration_ns=1_500_000_000)
        wait_until("the second run", lambda: (p := progress(server, made))["ok"] >= 1, 40)
        server.listen = server.address
        server.kill()
        time.sleep(3)
        server.start()
        done = ended(server, made, 120)
        assert done["state"] == "done" and "4 of 4 runs ended well" in done["text"]
        wait_until("all are packed", lambda: orders(server, made) == [(i, "ok") for i in range(1, 5)], 90)
    finally:
        print(box.stop()[1])


FACTOR = ["--factor", "stat=3,4", "--tune", "stat=stat"]


def test_a_dry_run_says_what_would_change(server, box):
    before = SETTING.read_text().strip()
    out = rigstat(server, "create", "dry", "--host", HOST, *FACTOR, "--workload", "nap", "--runs", "5", "--dry-run")
    assert "dry would make 10 runs on each box, in 5 min at least." in out
    assert f"stat is set in {SETTING}: now {before} -> 3, 4, then {before} again" in out and "workload nap" in out
    assert "Nothing was changed" in out and SETTING.read_text().strip() == before
    out = rigstat(server, "create", "dry", "--host", HOST, "--dry-run")
    assert "the idle box is measured" in out
    for args, why in ((("--factor", "stat=9", "--tune", "stat=stat"), "does not allow '9'"),
                      (("--factor", "f=1", "--tune", "f=nothing"), "has no tunable 'nothing'"),
                      (("--workload", "unknown"), "there are: nap, broken")):
        out = rigstat(server, "create", "dry", "--host", HOST, *args, "--dry-run", status=1)
        assert f"{HOST} refuses it: " in out and why in out
    assert server.sql("select count(*) from rigstat.experiment") == [["0"]]
    assert server.sql("select count(*) from rigstat.assignment") == [["0"]]
    # a box that is busy is not asked
    made = make(server, duration_ns=30_000_000_000)
    wait_until("it runs", lambda: assignment(server, made)["state"] == "running", 20)
    out = rigstat(server, "create", "dry", "--host", HOST, *FACTOR, "--dry-run", status=1)
    assert "is busy with experiment made, this one would wait its turn" in out
    control(server, made, "cancelled")
    ended(server, made, 60)


def ask(server, status=201, **body):
    reply = post(server, "/api/v1/dry-runs", {"name": "dry", "hosts": [HOST]} | body)
    assert reply.status == status, reply.body
    return reply.json()


def test_boxes_that_cannot_be_asked(server):
    answer, = ask(server)["hosts"]
    assert answer["ok"] is False and "has never reported" in answer["text"] and answer["state"] == "not_asked"
    known_host(server)
    answer, = ask(server)["hosts"]
    assert answer["ok"] is None and "is not online" in answer["text"]
    server.sql(f"update rigstat.host set reserved_by = 'eve@desk', reserved_at = now() where name = '{HOST}'")
    assert "reserved by eve@desk" in ask(server)["hosts"][0]["text"]
    server.sql(f"update rigstat.host set retired_at = now() where name = '{HOST}'")
    assert "is retired" in ask(server)["hosts"][0]["text"]
    assert ask(server, 400, workload="/bin/sh")["errors"][0]["parameter"] == "workload"
    assert server.get("/api/v1/dry-runs/d_999").status == 404
    assert len(ask(server, hosts=["a", "b"])["hosts"]) == 2


def test_answers_of_agents_are_checked(server):
    post(server, f"/api/v1/hosts/{HOST}/agent", {"doing": "idle"})
    asked = ask(server)
    assert asked["hosts"][0]["state"] == "asked"
    got = server.get(f"/api/v1/assignments/next?host={HOST}").json()
    assert got["assignment"] is None and got["dry_run"]["id"] == asked["id"] and "uid" not in got["dry_run"]
    assert "dry_run" not in server.get(f"/api/v1/assignments/next?host={HOST}").json(), "asked once"
    good = {"host": HOST, "ok": True, "text": "", "answer": {"factors": [{"name": "f", "target": "t", "present": "1"}],
                                                             "workload": {"name": "nap"}}}
    url = f"/api/v1/dry-runs/{asked['id']}/answers"
    for wrong in ({"answer": []}, {"answer": {"factors": 1}}, {"answer": {"factors": [], "more": 1}},
                  {"answer": {"factors": [{"name": 5}]}}, {"answer": {"factors": [{}] * 17}},
                  {"answer": {"factors": [], "workload": {"argv": "x"}}}, {"text": "x" * 2001}, {"more": 1}):
        assert post(server, url, good | wrong).status == 400, wrong
    assert post(server, url, good | {"host": "other"}).status == 409
    assert post(server, url, good).status == 200
    assert post(server, url, good).status == 409, "answered once"
    assert server.get(f"/api/v1/dry-runs/{asked['id']}").json()["hosts"] == [
        {"host": HOST, "state": "answered", "ok": True, "text": None, "answer": good["answer"]}]
