# SPDX-License-Identifier: GPL-2.0-or-later
"""Several servers on one database: the same records arrive many times and everywhere, and one of
the servers is killed. Every record is stored once."""
import concurrent.futures
import http.client
import os
import random
import time

import pytest

import records as rec

SEED = int(os.environ.get("RIGSTAT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)


@pytest.fixture
def fleet(make_server):
    """(the server that owns the database, two others that share one port)."""
    first = make_server().start()
    args = ["--database", f"host={first.socket_dir} user=rigstat dbname=rigstat", "--reuse-port"]
    second = make_server(args, embedded=False).start()
    third = make_server(args, embedded=False, listen=second.address).start()
    return first, second, third


def stored(server):
    """[samples in the marks, samples in the gaps] of all streams."""
    return server.sql("select sum(samples), sum(gap_samples) from rigstat.ingest_stream")


def deliver(server, stream, host, records, deadline=60):
    """Sends one record at a time until each is acknowledged, as an agent does."""
    end, retries = time.monotonic() + deadline, 0
    for r in records:
        while True:
            try:
                answer = rec.post(server, stream, [r], host=host)
                if answer.status == 200 and answer.json()["next_seq"] == r.seq + 1:
                    break
                assert answer.status in (429, 503), (answer.status, answer.body)
            except (OSError, http.client.HTTPException):
                pass
            retries += 1
            assert time.monotonic() < end, f"{host}: record {r.seq} was not taken in time"
            time.sleep(0.05)
    return retries


def test_two_servers_one_killed(fleet, tmp_path):
    """kill -9 with requests in flight: what it acknowledged is there, the rest is sent again."""
    print(f"seed {SEED}")
    first, second, third = fleet
    batches = [rec.recgen(tmp_path / f"r{i}", host=f"box{i}", seed=SEED % 1000 + i, seconds=40)
               for i in range(6)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(deliver, second, f"{i + 1:032x}", f"box{i}", b)
                for i, b in enumerate(batches)]
        time.sleep(random.Random(SEED).uniform(0.1, 0.4))
        going = not all(j.done() for j in jobs)
        third.kill()
        retries = sum(j.result() for j in jobs)
    assert going, "the kill came too late to mean anything"
    print(f"{sum(map(len, batches))} records, {retries} requests sent again")
    assert stored(first) == [[str(sum(r.samples for b in batches for r in b)), "0"]]
    for i, b in enumerate(batches):
        at = first.get(f"/api/v1/ingest/{i + 1:032x}").json()["next_seq"]
        assert at == b[-1].seq + 1


def test_F20_same_records_a_hundred_times(fleet, tmp_path):
    """100 copies in parallel to three servers: one is stored, each is acknowledged. A second copy
    at one server while the first is in its queue is told to come again (503), as agents do."""
    batch = rec.recgen(tmp_path / "r", seconds=6)

    def send(i):
        for _ in range(300):
            answer = rec.post(fleet[i % 3], "20" * 16, batch)
            if answer.status != 503:
                break
            assert int(answer.headers["Retry-After"]) >= 1
            time.sleep(0.1)
        return answer

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(send, range(100)))
    assert {(a.status, a.json().get("next_seq")) for a in answers} == {(200, batch[-1].seq + 1)}
    assert stored(fleet[0]) == [[str(sum(r.samples for r in batch)), "0"]]


def test_F21_reordered(fleet, tmp_path):
    """Number 3 before 2, at another server than 1: the answer names 2 and nothing is stored."""
    batch = rec.recgen(tmp_path / "r", seconds=6)
    stream = "21" * 16
    assert rec.post(fleet[0], stream, batch[:1]).status == 200
    before = stored(fleet[0])
    answer = rec.post(fleet[1], stream, batch[2:3])
    assert answer.status == 409 and answer.json()["expected"] == 2
    assert stored(fleet[0]) == before
    assert rec.post(fleet[1], stream, batch[1:]).json()["next_seq"] == batch[-1].seq + 1
    assert stored(fleet[0]) == [[str(sum(r.samples for r in batch)), "0"]]
