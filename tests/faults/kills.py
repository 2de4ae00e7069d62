#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""F1 on demand: kill -9 of the agent at random moments, --count times, against the ledger of a
stand-in server. tests/faults/kills.py --count 1000 --seed 7

The oracle: every stream is contiguous from 1, a record is delivered once, the delivered bytes
are those on disk, everything on disk is delivered, and a later life ends a killed one's run."""
import argparse
import pathlib
import random
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from agentlib import Agent, Peer, items, running, spool_streams  # noqa: E402


def start(tmp, peer):
    return Agent(tmp, "--server", peer.url, "--host", "box", "--interval", "100ms",
                 "--blame", "off", "--no-shares")


def live(tmp, peer, count, rng):
    """Kills `count` lives; the log of a life that ended by itself is an error."""
    for n in range(count):
        with running(start(tmp, peer)) as agent:
            time.sleep(rng.uniform(0.0, 2.0))
            assert agent.process.poll() is None, f"life {n} ended by itself:\n{agent.text()}"
            agent.kill()
            agent.log.unlink()


def drain(tmp, peer, timeout):
    """One life that ends in order; returns its spool when all before it is delivered."""
    with running(start(tmp, peer)) as agent:
        agent.wait_text("delivering to")
        before = {s: rs[-1].seq for s, rs in spool_streams(agent.spool).items() if rs}
        peer.wait(lambda: all(s in peer.streams and peer.streams[s]["next"] > last
                              for s, last in before.items()), timeout)
        assert agent.stop() < 2
    return agent.spool


def check(peer, spool):
    """The ledger; returns the number of records that are on disk and delivered. The tail of the
    last life may still be on disk only."""
    peer.check_ledger()
    count, streams = 0, list(peer.streams)
    for stream, records in spool_streams(spool).items():
        delivered = {r.seq: r.raw for r in peer.records(stream)}
        for r in records:
            if r.seq in delivered or stream in streams[:-1]:
                assert delivered.get(r.seq) == r.raw, f"stream {stream}: record {r.seq}"
                count += 1
    started = {s["run_uid"] for s in items(peer.records(), "run_start")}
    ended = {e["run_uid"] for e in items(peer.records(), "run_end")}
    last = {s["run_uid"] for s in items(peer.records(streams[-1]), "run_start")}
    assert started - ended <= last, f"{len(started - ended)} runs without an end"
    return count


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 1 << 31))
    a = p.parse_args()
    print(f"{a.count} kills, seed {a.seed}", flush=True)
    t0, peer = time.monotonic(), Peer()
    with tempfile.TemporaryDirectory(prefix="rigstat-kills-") as name:
        tmp = pathlib.Path(name)
        live(tmp, peer, a.count, random.Random(a.seed))
        drain(tmp, peer, 60 + a.count)
        spool = drain(tmp, peer, 60)
        same = check(peer, spool)
        print(f"{a.count} kills in {time.monotonic() - t0:.0f} s: {len(peer.streams)} streams "
              f"(the other lives died before their first record), "
              f"{len(peer.records())} records delivered, none twice, none missing; "
              f"{same} compared with the bytes on disk")
    peer.stop()


if __name__ == "__main__":
    main()
