# SPDX-License-Identifier: GPL-2.0-or-later
"""Agent and server together, killed in the middle: nothing that was acknowledged is lost and
nothing is doubled. The agent keeps what it delivered for 15 minutes, so its spool says what the
server must have."""

import os
import socket
import time

import pytest

from agentlib import Agent, items, merge, running, spool_streams
from conftest import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def start(tmp_path, address, *options):
    return Agent(tmp_path, "--server", f"http://{address}", "--host", "box-1", "--blame", "off",
                 "--no-shares", *options)


def positions(server):
    """{stream: next number} as the server tells an agent."""
    return lambda stream: server.get(f"/api/v1/ingest/{stream}").json()["next_seq"]


def everything_is_there(server, spool, but_own_tail=0):
    """Does the server have every number of every stream of the spool?"""
    where = positions(server)
    return all(where(stream) > records[-1].seq - but_own_tail
               for stream, records in spool_streams(spool).items() if records)


def runs_of(server):
    got = server.get("/api/v1/runs?q=kind%3Dwatch&limit=100")
    assert got.status == 200, got.body
    return {r["uid"]: r for r in got.json()["items"]}


def expected(spool):
    """{run_uid: {cpu: measured samples}} from the bytes on disk."""
    out = {}
    for records in spool_streams(spool).values():
        run, measured, names = None, False, {}
        for r in records:
            for kind, it, _ in r.items:
                if kind == "run_start":
                    run, measured, names = out.setdefault(it["run_uid"], {}), False, {}
                elif kind == "series" and it["metric"] == "wakeup_latency":
                    names[it["number"]] = it["labels"]["cpu"]
                elif kind == "phase":
                    measured = it["phase"] == 2
                elif kind == "hist" and it["series"] in names and (measured or ends_here(r)):
                    run[names[it["series"]]] = run.get(names[it["series"]], 0) + it["hist"]["count"]
    return out


def ends_here(record):
    """The last measured item stands before the phase that ends the window."""
    return any(k == "phase" and it["phase"] == 3 for k, it, _ in record.items)


def check_counts(server, spool):
    """Every sample once: the merged histogram of each run that has ended has exactly the samples
    on disk."""
    want, checked = expected(spool), 0
    for uid, run in runs_of(server).items():
        if run["state"] == "running":
            continue
        got = server.get(f"/api/v1/runs/{run['id']}/histograms/wakeup_latency").json()
        assert got["count"] == sum(want[uid].values()), (uid, run["state"])
        checked += 1
    return checked


def test_one_life(server, tmp_path):
    with running(start(tmp_path, server.address)) as agent:
        wait_until("a run on the server", lambda: runs_of(server))
        (run,) = runs_of(server).values()
        assert run["state"] == "running" and run["host"] == "box-1"
        time.sleep(2)
        agent.stop()
    with running(start(tmp_path, server.address)) as second:  # delivers what was left at the end
        second.wait_text("delivering to")
        wait_until("all of the first life", lambda: everything_is_there(server, agent.spool, 2))
        wait_until("the first run's end", lambda: [r for r in runs_of(server).values()
                                                   if r["state"] == "ok"])
        second.stop()
    hosts = server.get("/api/v1/hosts").json()["items"]
    assert [h["name"] for h in hosts] == ["box-1"]


def test_F1_agent_killed_again_and_again(server, tmp_path):
    for life in (1.3, 0.4, 2.2, 0.1):
        with running(start(tmp_path, server.address)) as agent:
            time.sleep(life + 0.5)
            agent.kill()
    with running(start(tmp_path, server.address)) as agent:
        agent.wait_text("delivering to")
        wait_until("old streams", lambda: everything_is_there(server, agent.spool, 2), 40)
        agent.stop()
    with running(start(tmp_path, server.address)) as agent:
        agent.wait_text("delivering to")
        wait_until("all", lambda: everything_is_there(server, agent.spool, 2), 40)
        uids = set(expected(agent.spool))
        wait_until("all ends", lambda: sum(r["state"] != "running" for r in
                                           runs_of(server).values()) >= len(uids) - 1, 30)
        agent.stop()
    states = [r["state"] for r in runs_of(server).values()]
    assert states.count("aborted") >= 2 and states.count("ok") >= 1
    assert set(runs_of(server)) == set(expected(agent.spool))
    assert check_counts(server, agent.spool) == len(states) - states.count("running") >= 3


def test_F2_server_killed_again_and_again(make_server, tmp_path):
    server = make_server(listen=f"127.0.0.1:{free_port()}").start()
    with running(start(tmp_path, server.address, "--interval", "200ms")) as agent:
        for pause in (1.5, 0.7, 1.1):
            time.sleep(pause)
            server.kill()
            time.sleep(pause / 2)
            server.start()
        # Waiting after failures is random and grows; these lives are short.
        wait_until("delivery goes on", lambda: everything_is_there(server, agent.spool, 15), 60)
        agent.stop()
    with running(start(tmp_path, server.address)) as last:
        last.wait_text("delivering to")
        wait_until("all", lambda: everything_is_there(server, agent.spool, 2), 60)
        wait_until("the run's end", lambda: [r for r in runs_of(server).values()
                                             if r["state"] == "ok"], 30)
        last.stop()
    with running(start(tmp_path, server.address)) as last:
        last.wait_text("delivering to")
        wait_until("all", lambda: everything_is_there(server, agent.spool, 2), 60)
        wait_until("all ends", lambda: sum(r["state"] == "ok" for r in
                                           runs_of(server).values()) >= 2, 30)
        last.stop()
    streams = spool_streams(agent.spool)
    assert not items([r for rs in streams.values() for r in rs], "gap")
    assert check_counts(server, agent.spool) >= 2
    assert merge(it["hist"] for rs in streams.values() for it in items(rs, "hist"))["lost"] == 0
