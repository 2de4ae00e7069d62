# SPDX-License-Identifier: GPL-2.0-or-later
"""Agents, server and PostgreSQL are killed at random and at chosen moments; four boxes and the
ledger say whether every record is stored once."""
import os
import signal
import threading
import time

import psycopg2
import pytest

import lab as lablib
from lab import seeded, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


def connect(server):
    c = psycopg2.connect(host=server.socket_dir, user="rigstat", dbname="rigstat")
    c.autocommit = False
    return c


@pytest.mark.quick
def test_F1_agents_killed(lab):
    """kill -9 at random moments, on four boxes at once. What a killed life had not written is at
    most one flush, and its end is marked."""
    rng, kills, failures = seeded(), 0, []

    def lives(box, pauses):
        try:
            for pause in pauses:
                box.start()
                box.agent.wait_text("delivering to")
                time.sleep(pause)
                assert box.agent.process.poll() is None, box.agent.text()
                box.kill()
        except BaseException as e:  # pylint: disable=broad-except
            failures.append(e)
            raise

    threads = [threading.Thread(target=lives, args=(b, [rng.uniform(0.1, 2.5) for _ in range(3)]))
               for b in lab.boxes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
        kills += 3
    assert not failures
    lab.ledger.drain()
    lab.ledger.check()
    unclean = [g for b in lab.boxes for g in lab.ledger.gaps(b.host)
               if g["reason"] == "unclean_end"]
    streams = sum(len(lab.ledger.generated(b.host)) for b in lab.boxes)
    print(f"{kills} kills, {streams} streams with records, {len(unclean)} marked as unclean")
    assert len(unclean) == streams - 2 * len(lab.boxes)  # but the two lives that drained


@pytest.mark.quick
def test_F2_server_killed_before_commit(lab):
    """A lock holds the transaction open; the server dies with four boxes waiting for it."""
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    db = connect(lab.server)
    with db.cursor() as c:
        c.execute("lock table rigstat.ingest_stream in share mode")
        wait_until("a group waits for the lock", lambda: waiting(lab.server), 20)
    before = lab.marks()
    lab.server.kill()
    db.close()
    lab.server.start()
    # Nobody could deliver in between: the agents wait before they try again, or this is a race
    # that only makes the marks larger, never smaller.
    assert all(lab.marks()[s][0] >= m[0] for s, m in before.items())
    lab.ledger.drain()
    lab.ledger.check()


def waiting(server):
    return server.sql("select 1 from pg_stat_activity where wait_event_type = 'Lock' "
                      "and query like '%ingest_group%'")


@pytest.mark.quick
def test_F2_server_killed_between_commit_and_reply(lab):
    """The answers of the server are cut off; it stores, and dies before anyone heard of it."""
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    before = lab.marks()
    lab.host.drop("output", f"tcp sport {lablib.PORT} ip daddr {lab.net}.11-{lab.net}.14 "
                  "tcp flags & (syn|fin|rst) == 0 meta length > 60")
    wait_until("all are stored without an answer", lambda: all(
        m[0] > before[s][0] for s, m in lab.marks().items()), 20)
    stored = lab.marks()
    assert lab.host.dropped() >= len(lab.boxes)
    lab.server.kill()
    lab.host.heal()
    lab.server.start()
    for s, m in lab.marks().items():
        assert m[0] >= stored[s][0], "an answered COMMIT is gone"
    lab.ledger.drain()
    lab.ledger.check()


def backends(server):
    return [int(r[0]) for r in server.sql(
        "select pid from pg_stat_activity where application_name = 'rigstat-server'")]


def postmaster(server):
    return int((server.data / "data" / "postmaster.pid").read_text().split()[0])


def test_F3_postgres_killed(lab):
    """kill -9 of a backend of ours and of the postmaster, at random moments while records are
    committed. RIGSTAT_KILLS sets how often (default 12). The server stays and answers 503."""
    rng, count = seeded(), int(os.environ.get("RIGSTAT_KILLS", "12"))
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    pid, losses = lab.server.process.pid, 0
    for n in range(count):
        time.sleep(rng.uniform(0.05, 1.0))
        victims = [postmaster(lab.server)] if n % 6 == 5 else backends(lab.server)
        os.kill(rng.choice(victims), signal.SIGKILL)
        time.sleep(0.05)
        status = lab.server.get("/readyz").status
        assert status in (200, 503)
        losses += status == 503
        wait_until("the database is back", lambda: lab.server.get("/readyz").status == 200, 60)
    assert lab.server.process.pid == pid and lab.server.process.poll() is None
    assert losses, "no kill was noticed: nothing was tested"
    print(f"{count} kills, {losses} seen as 503")
    lab.ledger.drain()
    lab.ledger.check()


def test_F7_slow_database(lab):
    """The mark of one box is locked: it is told to wait, the others are served all the time."""
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    slow, others = lab.boxes[0], lab.boxes[1:]
    db = connect(lab.server)
    with db.cursor() as c:
        c.execute("select 1 from rigstat.ingest_stream s join rigstat.host h using (host_id) "
                  "where h.name = %s for update of s", (slow.host,))
        began, mark = time.monotonic(), lab.marks(slow.host)
        slow.agent.wait_text("HTTP 503", 40)
        # Live data of the others is late by the lock's timeout at most, not held up altogether.
        for box in others:
            lab.progress(box, 20, timeout=30)
        assert lab.marks(slow.host) == mark
        took = time.monotonic() - began
    db.close()
    print(f"served beside a locked mark for {took:.0f} s")
    lab.progress(slow)
    assert not any("HTTP 503" in b.agent.text() for b in others)
    lab.ledger.drain()
    lab.ledger.check()


def test_F33_orderly_end_with_unsent_data(lab):
    """SIGTERM while the server cannot be reached: what is measured is on disk in 2 s, with the
    end of the run, and the next life delivers it."""
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
        box.drop("output", f"tcp dport {lablib.PORT}")
    time.sleep(2)
    for box in lab.boxes:
        assert box.dropped(), "the cut met no packet"
        assert box.stop() < 2
    lab.ledger.collect()
    for box in lab.boxes:
        (records,) = lab.ledger.generated(box.host).values()
        assert lablib.items(records.values(), "run_end"), "the run has no end on disk"
        (mark,) = lab.marks(box.host).values()
        assert max(records) >= mark[0] + 5, "nothing was unsent"
    lab.ledger.drain()
    lab.ledger.check()


def test_F33_token_rotated_while_sending(lab):
    """The token in use is revoked; with the new one in the file a SIGHUP is enough."""
    made = lab.server.request("POST", "/api/v1/tokens", headers={"Content-Type":
                              "application/json"}, body='{"name":"box","scopes":["ingest"]}')
    assert made.status == 201, made.body
    new, old = lab.boxes[0].token, lablib.TOKEN
    new.write_text(made.json()["token"] + "\n")
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    gone = lab.server.request("DELETE", f"/api/v1/tokens/{made.json()['id']}")
    assert gone.status in (200, 204), gone.body
    box = lab.boxes[0]
    box.agent.wait_text("HTTP 401", 45)
    new.write_text(old + "\n")
    for b in lab.boxes:
        b.agent.signal(signal.SIGHUP)
    lab.progress(box, 5)
    for b in lab.boxes[1:]:
        lab.progress(b)
        assert "HTTP 401" not in b.agent.text()
    lab.ledger.drain()
    lab.ledger.check()
