# SPDX-License-Identifier: GPL-2.0-or-later
"""Ingest: stored exactly once, whatever is sent again, left out or damaged."""
import http.client
import os
import signal
import threading
import time

import psycopg2
import pytest

import records as rec
from conftest import wait_until

STREAM = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def batch(tmp_path):
    return rec.recgen(tmp_path / "r", seconds=8)


def next_seq(server, stream=STREAM):
    return server.get("/api/v1/ingest/" + stream).json()["next_seq"]


def mark(server):
    return server.sql("select next_seq, samples, gap_samples from rigstat.ingest_stream")


def test_stores_and_answers_after_commit(server, batch):
    assert next_seq(server) == 1
    answer = rec.post(server, STREAM, batch[:4])
    assert answer.status == 200 and answer.json()["next_seq"] == 5
    assert mark(server) == [["5", str(sum(r.samples for r in batch[:4])), "0"]]
    assert next_seq(server) == 5
    answer = rec.post(server, STREAM, batch[4:])
    assert answer.json()["next_seq"] == len(batch) + 1


def test_A14_duplicates_store_nothing(server, batch):
    rec.post(server, STREAM, batch[:4])
    before = mark(server)
    for again in (batch[:4], batch[:2], batch[3:4]):
        answer = rec.post(server, STREAM, again)
        assert answer.status == 200 and answer.json()["next_seq"] == 5
    assert mark(server) == before
    # A batch that overlaps: only the new part counts.
    assert rec.post(server, STREAM, batch[2:6]).json()["next_seq"] == 7
    assert mark(server)[0][1] == str(sum(r.samples for r in batch[:6]))


def test_gap_in_the_sequence(server, batch):
    rec.post(server, STREAM, batch[:2])
    answer = rec.post(server, STREAM, batch[4:])
    assert answer.status == 409 and answer.json()["expected"] == 3
    assert "fork" not in answer.json()
    assert rec.post(server, STREAM, batch[2:]).status == 200


def test_declared_gap(server, batch):
    rec.post(server, STREAM, batch[:2])
    declared = [rec.gap(STREAM, 5, 3, 5, samples=77)] + batch[5:]
    answer = rec.post(server, STREAM, declared, X_Rigstat_First="3")
    assert answer.status == 200 and answer.json()["next_seq"] == len(batch) + 1
    assert mark(server)[0][2] == "77"
    # Made anew for another attempt, its bytes differ: a duplicate all the same.
    again = [rec.gap(STREAM, 5, 3, 5, samples=78)]
    assert rec.post(server, STREAM, again, X_Rigstat_First="3").status == 200
    assert mark(server)[0][2] == "77"


def test_A15_F27_same_number_other_bytes(server, batch, tmp_path):
    other = rec.recgen(tmp_path / "other", seconds=8, seed=2)
    rec.post(server, STREAM, batch[:3])
    answer = rec.post(server, STREAM, other[:3])
    assert answer.status == 409 and answer.json()["fork"] is True
    answer = rec.post(server, STREAM, other[:5])
    assert answer.status == 409 and answer.json()["fork"] is True
    assert next_seq(server) == 4
    wait_until("the forks are counted", lambda: server.sql(
        "select forks from rigstat.ingest_stream") == [["2"]])
    assert rec.post(server, STREAM, batch).status == 200


def test_damage_is_refused_whole(server, batch):
    body = bytearray(b"".join(r.data for r in batch[:2]))
    answer = rec.post(server, STREAM, batch[:2], body=bytes(body), X_Rigstat_CRC32C="00000000")
    assert answer.status == 400
    body[-1] ^= 1  # a bit inside a record, with a good CRC of the body
    answer = rec.post(server, STREAM, batch[:2], body=bytes(body))
    assert answer.status == 422 and "checksum" in answer.json()["detail"]
    assert mark(server) in ([], [["1", "0", "0"]])
    assert server.sql("select count(*) from rigstat.record_staging") == [["0"]]


@pytest.mark.parametrize("headers, status", [
    ({"Content_Type": "application/json"}, 415),
    ({"X_Rigstat_Stream": "short"}, 400),
    ({"X_Rigstat_Stream": STREAM.upper()}, 400),
    ({"X_Rigstat_Host": ""}, 400),
    ({"X_Rigstat_Host": "x" * 129}, 400),
    ({"X_Rigstat_Host": "box2"}, 422),
    ({"X_Rigstat_First": "0"}, 400),
    ({"X_Rigstat_Last": "x"}, 400),
    ({"X_Rigstat_Last": "3"}, 422),
    ({"X_Rigstat_CRC32C": None}, 400),
])
def test_A5_A12_wrong_headers(shared_server, batch, headers, status):
    assert rec.post(shared_server, STREAM, batch[:2], **headers).status == status
    assert shared_server.sql("select count(*) from rigstat.record_staging") == [["0"]]


@pytest.mark.parametrize("items, word", [
    ([(rec.RUN_START, b'{"run_uid":1}')], "run start"),
    ([(rec.RUN_START, b"{")], "run start"),
    ([(rec.HIST, b"\x01\x00")], "histogram"),
    ([(rec.HIST, b"\x00\x00\x01" + b"\x00" * 5)], "series"),
    ([(rec.COUNTER, b"\x01\x00\x01\xff\xff\xff\x7f\x00")], "counter"),
    ([(rec.VALUE, b"\x01\x00\x00\x00\x00\x00\x00\xf8\x7f")], "finite"),
    ([(rec.PHASE, b"\x09" + b"\x00" * 8)], "phase"),
    ([(rec.BREACH, b'{"t_ns":1,"late_ns":2,"holders":[{"name":"x\\u0007","kind":"irq","ns":1}]}')],
     "control"),
    ([(rec.GAP, b'{"stream":"%s","from_seq":5,"to_seq":2,"reason":"quota"}' % STREAM.encode())],
     "gap"),
    ([(rec.ENVIRONMENT, b'{"a":{}}')], "environment"),
    ([(rec.SERIES, b'\x01{"metric":"m","kind":"sum"}')], "series"),
])
def test_A7_A8_A23_every_field_is_checked(shared_server, items, word):
    answer = rec.post(shared_server, STREAM, [rec.make(1, 1, items)])
    assert answer.status == 422 and word in answer.json()["detail"], answer.body
    assert shared_server.sql("select count(*) from rigstat.record_staging") == [["0"]]


def test_unknown_items_are_kept(server):
    assert rec.post(server, STREAM, [rec.make(1, 0, [(99, b"later")])]).status == 200


def test_A1_length_is_required(server):
    connection = http.client.HTTPConnection(server.address)
    connection.putrequest("POST", "/api/v1/ingest")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()
    # Refused before the body is read: none is sent here.
    connection = http.client.HTTPConnection(server.address)
    connection.putrequest("POST", "/api/v1/ingest")
    connection.putheader("Content-Length", str(3 << 20))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413 and answer.getheader("Connection") == "close"
    connection.close()


def test_restart_in_the_middle_stores_once(make_server, tmp_path):
    """kill -9 between posts: everything acknowledged is there, everything sent again is once."""
    batch = rec.recgen(tmp_path / "r", seconds=30)
    server = make_server().start()
    at = 0
    while at < len(batch):
        answer = rec.post(server, STREAM, batch[at:at + 3])
        assert answer.status == 200
        at = answer.json()["next_seq"] - 1
        if at in (9, 21):
            server.kill()
            server.start()
            assert next_seq(server) == at + 1
            rec.post(server, STREAM, batch[at - 3:at])  # the answer was lost: sent again
    assert mark(server)[0][1] == str(sum(r.samples for r in batch))


def test_many_agents_share_transactions(server, tmp_path):
    """20 agents at once: all stored, in fewer transactions than posts."""
    batches = [rec.recgen(tmp_path / f"r{i}", host=f"box{i}", seed=i + 1, seconds=12)
               for i in range(20)]
    failures = []

    def agent(i):
        connection = None
        for k in range(len(batches[i])):
            answer = rec.post(server, f"{i:032x}", [batches[i][k]], host=f"box{i}")
            if answer.status != 200 or answer.json()["next_seq"] != k + 2:
                failures.append(answer.body)
        return connection

    threads = [threading.Thread(target=agent, args=(i,)) for i in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    m = server.metrics()
    assert m["rigstat_ingest_posts_total"] == sum(len(b) for b in batches)
    assert m["rigstat_ingest_groups_total"] < m["rigstat_ingest_posts_total"]


def test_bad_post_does_not_spoil_the_group(server, tmp_path):
    """One stream's stale mark makes only that stream look again."""
    a = rec.recgen(tmp_path / "a", host="a", seconds=6)
    b = rec.recgen(tmp_path / "b", host="b", seconds=6, seed=2)
    sa, sb = "a" * 32, "b" * 32
    assert rec.post(server, sa, a[:2], host="a").status == 200
    assert rec.post(server, sb, b[:2], host="b").status == 200
    # Another server has stored a's next record: the mark of this one is stale.
    server.sql("update rigstat.ingest_stream set next_seq = 4, last_crc = %d"
               " where stream_id = '%s'" % (a[2].crc, sa))
    answers = {}

    def send(name, stream, recs):
        answers[name] = rec.post(server, stream, recs, host=name)

    threads = [threading.Thread(target=send, args=("a", sa, a[2:5])),
               threading.Thread(target=send, args=("b", sb, b[2:5]))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert answers["a"].json()["next_seq"] == 6 and answers["b"].json()["next_seq"] == 6
    # A database that was restored from yesterday: the mark went back.
    server.sql("update rigstat.ingest_stream set next_seq = 2 where stream_id = '%s'" % sa)
    answer = rec.post(server, sa, a[5:], host="a")
    assert answer.status == 409 and answer.json()["expected"] == 2


def test_F3_database_outage_stores_once(server, tmp_path):
    """PostgreSQL is killed again and again under the posts: 503, then everything is there once."""
    batch = rec.recgen(tmp_path / "r", seconds=60)
    stop = threading.Event()

    def kill():
        while not stop.wait(1.5):
            try:
                os.kill(int((server.data / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            except (OSError, IndexError, ValueError):
                pass
            stop.wait(6)

    killer = threading.Thread(target=kill)
    killer.start()
    statuses, at, end = set(), 0, time.monotonic() + 100
    while at < len(batch) and time.monotonic() < end:
        answer = rec.post(server, STREAM, batch[at:at + 2])
        statuses.add(answer.status)
        if answer.status == 200:
            at = answer.json()["next_seq"] - 1
            time.sleep(0.1)
        else:
            assert answer.status == 503 and answer.headers["Retry-After"], answer.body
            time.sleep(0.5)
    stop.set()
    killer.join()
    assert at == len(batch) and 200 in statuses
    assert server.log().count("PostgreSQL has ended by itself") >= 1
    wait_until("ready", lambda: server.get("/readyz").status == 200, 60)
    assert mark(server)[0][1] == str(sum(r.samples for r in batch))
    wait_until("packed", lambda: server.sql("select count(*) from rigstat.record_staging") == [["0"]], 60)
    assert server.sql("select state, samples from rigstat.run") == [["ok", str(sum(r.samples for r in batch))]]


def test_F7_locked_mark_of_another_stream(server, tmp_path):
    """A stream that shares a transaction with one whose mark is locked does not pay for it."""
    a = rec.recgen(tmp_path / "a", host="a", seconds=6)
    b = rec.recgen(tmp_path / "b", host="b", seconds=6, seed=2)
    sa, sb, answers = "a" * 32, "b" * 32, {}
    assert rec.post(server, sa, a[:2], host="a").status == 200
    assert rec.post(server, sb, b[:2], host="b").status == 200

    def send(name, stream, recs, host):
        answers[name] = rec.post(server, stream, recs, host=host)

    db = psycopg2.connect(host=server.socket_dir, user="rigstat", dbname="rigstat")
    with db.cursor() as c:
        c.execute("select 1 from rigstat.ingest_stream where stream_id = %s for update", (sa,))
        threads = [threading.Thread(target=send, args=("first", sa, a[2:4], "a"))]
        threads[0].start()
        wait_until("it waits for the lock", lambda: server.sql(
            "select 1 from pg_stat_activity where wait_event_type = 'Lock'"))
        # Both of these wait for the first one's transaction and then share the next.
        for args in (("again", sa, a[2:4], "a"), ("other", sb, b[2:4], "b")):
            threads.append(threading.Thread(target=send, args=args))
            threads[-1].start()
        for t in threads:
            t.join()
    db.close()
    assert answers["other"].json()["next_seq"] == 5
    for name in ("first", "again"):
        assert answers[name].status == 503 and int(answers[name].headers["Retry-After"]) >= 2
    assert server.metrics()["rigstat_ingest_groups_split_total"] >= 1
    assert rec.post(server, sa, a[2:4], host="a").json()["next_seq"] == 5


def test_missing_partition_is_not_the_agents_fault(server, batch):
    """Without a partition for today nothing is refused for ever."""
    time.sleep(3)  # the server makes partitions a second after its start, then every ten minutes
    for name in [r[0] for r in server.sql("select inhrelid::regclass::text from pg_inherits"
                                          " where inhparent = 'rigstat.record_staging'::regclass")]:
        server.sql("drop table " + (name if "." in name else "rigstat." + name))
    answer = rec.post(server, STREAM, batch[:2])
    assert answer.status == 503
    server.sql("select rigstat.make_partitions(7)")
    assert rec.post(server, STREAM, batch[:2]).status == 200


def test_two_servers_on_one_port(make_server, tmp_path):
    """SO_REUSEPORT: two processes share the port and the database; one may go away."""
    first = make_server().start()
    args = ["--database", f"host={first.socket_dir} user=rigstat dbname=rigstat", "--reuse-port"]
    second = make_server(args, embedded=False).start()
    third = make_server(args, embedded=False, listen=second.address).start()
    batches = [rec.recgen(tmp_path / f"r{i}", host=f"box{i}", seed=i + 1, seconds=10) for i in range(6)]
    for k in range(12):
        if k == 6:
            assert third.stop() == 0
        for i, b in enumerate(batches):
            for _ in range(20):
                try:
                    answer = rec.post(second, f"{i:032x}", [b[k]], host=f"box{i}")
                    break
                except OSError:  # a connection that the closed listener had in its queue
                    time.sleep(0.1)
            assert answer.status == 200 and answer.json()["next_seq"] == k + 2
    assert first.sql("select sum(samples) from rigstat.ingest_stream") == \
        [[str(sum(r.samples for b in batches for r in b[:12]))]]
