# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts as the server sees them: heartbeats of real agents, states, retiring, reservations."""
import json
import statistics
import subprocess
import time

import pytest

from agentlib import Agent, binary, running, spool_streams
from conftest import wait_until

HOST = "box-7"


@pytest.fixture
def box(server, tmp_path):
    """A daemon that measures one CPU and delivers to `server`."""
    with running(daemon(server, tmp_path)) as agent:
        yield agent
        if agent.process.poll() is None:
            agent.stop(20)


def daemon(server, tmp_path, *options):
    return Agent(tmp_path, "--server", f"http://{server.address}", "--host", HOST, "--cpus", "0", "--policy", "other",
                 "--no-shares", "--no-io", "--no-locks", "--blame", "off", *options)


def host(server, name=HOST):
    reply = server.get(f"/api/v1/hosts/{name}")
    return reply.json() if reply.status == 200 else {"state": "unknown", "agent": None, "now": None}


def rigstat(server, *args, status=0):
    done = subprocess.run([binary("rigstat"), *args, "--server", f"http://{server.address}"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def send(server, method, path, body=None, status=200):
    reply = server.request(method, path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json"} if body is not None else {})
    assert reply.status == status, reply.body
    return reply.json()


def beat(server, status=200, **members):
    return send(server, "POST", f"/api/v1/hosts/{HOST}/agent", {"doing": "idle"} | members, status)


def test_a_real_agent_says_how_it_is(server, box):
    h = wait_until("two heartbeats", lambda: (h := host(server))["agent"] and
                   h["agent"]["clock_offset_ns"] is not None and h)
    assert h["state"] == "online" and h["now"]["state"] == "watching" and h["retired"] is None
    agent = h["agent"]
    assert agent["version"] == h["agent_version"] and agent["error"] is None and agent["spool"]["problem"] is None
    assert 0 < agent["uptime_ns"] < 60e9 < agent["box_uptime_ns"]
    assert agent["dropped"] == {"records": 0, "samples": 0, "refused": 0} and agent["spool"]["bytes"] > 0
    assert 0 <= h["lag_ns"] < 10e9
    # one machine, one clock
    assert abs(agent["clock_offset_ns"]) <= agent["clock_error_ns"] < 5e9
    listed, = server.get("/api/v1/hosts").json()["items"]
    assert listed["agent"]["version"] == agent["version"]
    out = rigstat(server, "hosts")
    assert "NOW" in out and "watching" in out and "CLOCK" in out
    out = rigstat(server, "host", "show", HOST)
    assert f"{HOST} is online: watching" in out and "the server's (within" in out and "records wait" in out
    assert json.loads(rigstat(server, "host", "show", HOST, "--json"))["name"] == HOST


def test_an_agent_without_the_server_says_so_later(server, box):
    """The server goes away and comes back: what piled up and the error are told."""
    wait_until("a heartbeat", lambda: host(server)["agent"])
    address = server.address
    server.stop()
    box.wait_text("trying again")
    time.sleep(2)
    server.listen = address
    server.start()
    h = wait_until("a heartbeat with the error", lambda: (h := host(server))["agent"] and h["agent"]["error"] and h, 60)
    assert "delivery to" in h["agent"]["error"]["text"] and h["agent"]["error"]["time"].endswith("Z")


def test_a_run_of_a_person_is_seen(server, box, tmp_path):
    wait_until("watching", lambda: (n := host(server)["now"]) and n["state"] == "watching")
    run = Agent(tmp_path, "--server", f"http://{server.address}", "--host", HOST, "--cpus", "0", "--policy", "other",
                "--no-shares", "--no-io", "--no-locks", "--blame", "off", "--experiment", "by-hand", "--runs", "1",
                "--duration", "20s", "--warmup", "0s", command="run", spool=box.spool)
    with running(run):
        now = wait_until("measuring", lambda: (n := host(server)["now"]) and n["state"] == "measuring" and n, 30)
        assert "by-hand" in now["text"]
        run.signal(2)
        run.process.wait(20)
    wait_until("watching again", lambda: host(server)["now"]["state"] == "watching", 30)


def test_states_by_age(server):
    beat(server)
    for seconds, state in ((0, "online"), (29, "online"), (31, "stale"), (599, "stale"), (601, "offline")):
        server.sql(f"update rigstat.agent set last_seen = now() - interval '{seconds} seconds', "
                   f"reported_at = now() - interval '{seconds} seconds'")
        h = host(server)
        assert h["state"] == state, seconds
        assert (h["now"] is None) == (state == "offline")
        assert abs(h["age_ns"] - seconds * 1e9) < 1e9
    page = server.get("/api/v1/hosts").json()
    assert page["stale_after_ns"] == 30e9 and page["offline_after_ns"] == 600e9 and page["counts"] == {"offline": 1}


def test_the_lag_grows_while_nobody_speaks(server):
    beat(server, lag_ns=5_000_000_000)
    assert host(server)["lag_ns"] == 5e9
    server.sql("update rigstat.agent set last_seen = now() - interval '100 s', reported_at = now() - interval '100 s'")
    assert 105e9 <= host(server)["lag_ns"] < 115e9


@pytest.mark.parametrize("members", [
    {"doing": "dancing"}, {"doing": None}, {"lag_ns": 1.5}, {"lag_ns": "1"}, {"error": 5}, {"error": "x" * 401},
    {"version": "y" * 41}, {"unknown": 1}, {"doing_text": "a\u0000b"},
])
def test_a_heartbeat_is_checked(shared_server, members):
    beat(shared_server, status=400, **members)
    assert host(shared_server)["state"] == "unknown", "nothing was stored"


def test_heartbeats_of_a_hostile_agent_are_bounded(server):
    assert server.request("POST", f"/api/v1/hosts/{HOST}/agent", b"[" * 70000,
                          {"Content-Type": "application/json"}).status in (400, 413)
    assert send(server, "POST", f"/api/v1/hosts/{'x' * 200}/agent", {"doing": "idle"}, 400)
    beat(server, clock_offset_ns=2**63 - 1, spool_bytes=-(2**63))
    assert host(server)["agent"]["clock_offset_ns"] == 2**63 - 1


def test_retiring(server, box, tmp_path):
    wait_until("the box delivers", lambda: server.sql(
        "select 1 from rigstat.ingest_stream where samples > 0"), 40)
    assert "is retired" in rigstat(server, "host", "retire", HOST)
    assert server.get("/api/v1/hosts").json()["items"] == []
    assert [h["name"] for h in server.get("/api/v1/hosts?state=retired").json()["items"]] == [HOST]
    assert host(server)["state"] == "retired" and host(server)["now"] is None
    # its agent keeps what it has, and says why
    wait_until("the agent is refused", lambda: "is retired" in box.text(), 30)
    stored = int(server.sql("select sum(samples) from rigstat.ingest_stream")[0][0])
    time.sleep(3)
    assert int(server.sql("select sum(samples) from rigstat.ingest_stream")[0][0]) == stored, "no more writes"
    beat(server, status=403)
    run = {"runs": [{"host": HOST, "experiment": "x", "state": "ok", "kind": "measured", "factors": {},
                     "series": [{"metric": "elapsed", "kind": "value", "unit": "ns", "value": 1}]}]}
    problem = send(server, "POST", "/api/v1/runs", run["runs"][0], 403)
    assert "is retired and takes no more" in problem["detail"]
    assert "in use again" in rigstat(server, "host", "unretire", HOST)
    beat(server)
    assert host(server)["state"] == "online" and host(server)["retired"] is None
    box.stop(20)  # it would try again by itself, but not within this test's patience
    with running(daemon(server, tmp_path)) as again:
        wait_until("it delivers again, also what it kept",
                   lambda: int(server.sql("select sum(samples) from rigstat.ingest_stream")[0][0]) > stored, 40)
        again.stop(20)


def test_a_retired_box_is_refused_on_every_server(make_server):
    """The other server of a database is told, not only the one that was asked."""
    one = make_server().start()
    beat(one)
    two = make_server(["--database", f"host={one.socket_dir} user=rigstat dbname=rigstat"], embedded=False).start()
    beat(two)
    send(one, "PATCH", f"/api/v1/hosts/{HOST}", {"retired": True})
    beat(two, status=403)
    send(one, "PATCH", f"/api/v1/hosts/{HOST}", {"retired": "yes"}, 400)
    two.stop()


def test_reserving(server):
    assert "there is no host" in rigstat(server, "host", "reserve", HOST, status=3)
    beat(server)
    out = rigstat(server, "host", "reserve", HOST, "--as", "eve@desk", "--for", "2h", "--reason", "kernel bisect")
    assert f"{HOST} is reserved by eve@desk until 20" in out
    h = host(server)
    assert h["reserved"]["by"] == "eve@desk" and h["reserved"]["reason"] == "kernel bisect"
    assert "eve@desk" in rigstat(server, "hosts") and "kernel bisect" in rigstat(server, "host", "show", HOST)
    assert beat(server)["reserved"]["by"] == "eve@desk", "the agent is told"
    out = rigstat(server, "host", "reserve", HOST, "--as", "bob@desk", status=3)
    assert "is reserved by eve@desk: kernel bisect" in out
    assert "eve@desk" in rigstat(server, "host", "reserve", HOST, "--as", "eve@desk"), "longer, by the same"
    assert host(server)["reserved"]["until"] is None
    assert "is reserved by eve@desk" in rigstat(server, "host", "release", HOST, "--as", "bob@desk", status=3)
    assert "held by eve@desk" in rigstat(server, "host", "release", HOST, "--as", "bob@desk", "--force")
    assert host(server)["reserved"] is None
    assert "Nobody has reserved" in rigstat(server, "host", "release", HOST, status=3)
    # it ends by itself
    rigstat(server, "host", "reserve", HOST, "--for", "1s")
    wait_until("its end", lambda: host(server)["reserved"] is None, 5)
    assert "bob@desk" in rigstat(server, "host", "reserve", HOST, "--as", "bob@desk")


@pytest.mark.parametrize("body", [
    {}, {"by": ""}, {"by": "x" * 129}, {"by": "a", "for_ns": 0}, {"by": "a", "for_ns": "1h"},
    {"by": "a", "for_ns": 10**18}, {"by": "a", "reason": "x" * 401}, {"by": "a", "more": 1},
])
def test_a_reservation_is_checked(shared_server, body):
    send(shared_server, "PUT", f"/api/v1/hosts/{HOST}/reservation", body, 400)


def value_run(server):
    run = {"host": HOST, "experiment": "rq", "state": "ok", "kind": "measured", "factors": {"f": "0"},
           "series": [{"metric": "elapsed", "kind": "value", "unit": "ns", "value": 1}]}
    return send(server, "POST", "/api/v1/runs", run, 201)


def test_tags_notes_and_names(server):
    value_run(server)
    for what, url in (("r_1", "/runs/r_1"), ("experiment/rq", "/experiments/rq"), (f"host/{HOST}", f"/hosts/{HOST}")):
        def now():
            return server.get("/api/v1" + url).json()

        assert rigstat(server, "tag", what, "rack=7", "b=x y") == "b=x y\nrack=7\n" or now()["tags"] == {"rack": "7", "b": "x y"}
        rigstat(server, "tag", what, "b-", "c=")
        assert now()["tags"] == {"rack": "7", "c": ""}, what
        assert "rack=7" in rigstat(server, "tag", what) and now()["tags"] == {"rack": "7", "c": ""}
        rigstat(server, "annotate", what, "fan was loud")
        rigstat(server, "annotate", what, "--append", "and hot")
        assert now()["note"] == "fan was loud\nand hot"
        rigstat(server, "annotate", what, "")
        assert now()["note"] is None
        assert "neither NAME=VALUE nor NAME-" in rigstat(server, "tag", what, "word", status=3)
    rigstat(server, "rename", "e_1", "rq-new")
    assert server.get("/api/v1/experiments/e_1").json()["name"] == "rq-new"
    assert server.get("/api/v1/experiments/rq").status == 404
    assert "without a slash" in rigstat(server, "rename", "e_1", "a/b", status=3)
    rigstat(server, "rename", f"host/{HOST}", "box-8")
    assert server.get("/api/v1/hosts/box-8").json()["runs"] == 1 and server.get(f"/api/v1/hosts/{HOST}").status == 404
    beat(server)  # an agent that still goes by the old name is another host
    assert "goes by this name" in rigstat(server, "rename", f"host/{HOST}", "box-9", status=3)
    assert "There is a host" in rigstat(server, "rename", "host/box-8", HOST, status=3)
    assert "runs have no names" in rigstat(server, "rename", "r_1", "x", status=3)
    assert "is none of" in rigstat(server, "tag", "rq", status=3)
    assert "there is no host" in rigstat(server, "rename", "host/nobody", "x", status=3)


class Run:
    def __init__(self):
        self.slices, self.metrics, self.reason = [], set(), None  # lengths in s

    def goes_by(self, seconds):
        """Some slices are in, and the usual one is about so long."""
        return len(self.slices) > 2 and 0.7 * seconds < statistics.median(self.slices) < 1.4 * seconds


def runs_of(box):
    """The runs in the box's spool, one after the other."""
    out = []
    for records in spool_streams(box.spool).values():
        for kind, it, _ in (i for r in records for i in r.items):
            if kind == "run_start":
                out.append(Run())
            elif kind == "run_end":
                out[-1].reason = it["reason"]
            elif kind == "series":
                out[-1].metrics.add(it["metric"])
            elif kind == "hist":
                out[-1].slices.append(it["dt"] / 1e9)
    return out


def test_settings_of_the_server_are_applied_without_a_restart(server, box):
    wait_until("a watch run", lambda: (r := runs_of(box)) and r[0].goes_by(1) and host(server)["agent"] and r, 40)
    assert "does as its own file says" in rigstat(server, "host", "set", HOST)
    assert rigstat(server, "host", "set", HOST, "interval=300ms", "system=no") == "interval=300ms\nsystem=no\n"
    wait_until("they are in use", lambda: host(server)["agent"]["settings"] == "interval=300ms, system=no", 40)
    assert "(set from the server)" in rigstat(server, "host", "show", HOST)
    first, _ = wait_until("a run with them", lambda: len(r := runs_of(box)) == 2 and r[1].goes_by(0.3) and r)
    assert first.reason == "settings of the server changed"
    rigstat(server, "host", "set", HOST, "interval-", "system-")
    wait_until("they are gone", lambda: host(server)["agent"]["settings"] is None, 40)
    wait_until("a run without them", lambda: len(r := runs_of(box)) == 3 and r[2].goes_by(1))
    assert box.process.poll() is None
    box.stop(20)
    first, second, third = (r.metrics for r in runs_of(box))
    assert second < first == third, "the probe that was off is on again"


@pytest.mark.parametrize("settings, why", [
    ({"server": "http://evil"}, "cannot be set from here"), ({"intervall": "1s"}, "did you mean 'interval'"),
    ({"interval": "1ms"}, "not between"), ({"interval": 5}, "short text"), ({"shares": "maybe"}, "neither yes nor no"),
    ({"blame": "never"}, "neither auto"), ({"interval": "1s" * 30}, "short text"), ([], "must be an object"),
])
def test_settings_are_a_closed_list(shared_server, settings, why):
    problem = send(shared_server, "PATCH", f"/api/v1/hosts/{HOST}", {"settings": settings}, 400)
    assert why in problem["detail"] and problem["errors"][0]["parameter"] == "settings"


def test_a_hostile_server_sets_nothing_else(server, tmp_path):
    """What the server's own check would refuse is refused by the box, too."""
    beat(server)
    server.sql("""update rigstat.host set settings = '{"token-file": "/etc/shadow", "interval": "2s"}'""")
    with running(daemon(server, tmp_path)) as box:
        box.wait_text("may not set 'token-file' of this box", 30)
        wait_until("it watches on as its own file says", lambda: (r := runs_of(box)) and r[-1].goes_by(1) and
                   host(server)["agent"], 40)
        assert host(server)["agent"]["settings"] is None
        box.stop(20)
