# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's delivery over real sockets, against a stand-in for the server."""

import os
import random
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from agentlib import (Agent, Peer, decode_records, items, running, spool_streams,
                      wait_records)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")


@pytest.fixture
def peer():
    p = Peer()
    yield p
    p.stop()


def start(tmp_path, peer, *options, **kw):
    return Agent(tmp_path, "--server", peer.url, "--host", "box", *options, **kw)


def test_streams_while_it_measures(tmp_path, peer):
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: sum(len(s["records"]) for s in peer.streams.values()) >= 4)
        times = [r.realtime / 1e9 for r in peer.records()]
        assert max(times) > time.time() - 3  # live, not at the end
        assert agent.stop() < 2
    peer.check_ledger()
    assert [s["kind"] for s in items(peer.records(), "run_start")] == ["watch"]
    assert {h["X-Rigstat-Host"] for _, path, h, _ in peer.requests if "/ingest" in path} == {"box"}


def test_F1_agent_killed_in_the_middle(tmp_path, peer):
    """Nothing acknowledged is lost, nothing is doubled, and the next start ends the run."""
    uids = []
    for _ in range(3):
        with running(start(tmp_path, peer)) as agent:
            known = len(peer.streams)
            peer.wait(lambda: len(peer.streams) > known and
                      len(list(peer.streams.values())[-1]["records"]) >= 2)
            time.sleep(0.5)
            agent.kill()
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.streams) == 4 and
                  len(list(peer.streams.values())[-1]["records"]) >= 3)
        agent.stop()
    peer.check_ledger()
    streams = list(peer.streams)
    uids = [items(peer.records(s), "run_start")[0]["run_uid"] for s in streams]
    for i in range(1, 4):
        (end,) = [e for e in items(peer.records(streams[i]), "run_end")
                  if e["run_uid"] == uids[i - 1]]
        assert end["state"] == "aborted"
        (gap,) = items(peer.records(streams[i]), "gap")
        assert gap["reason"] == "unclean_end" and gap["stream"] == streams[i - 1]
    # An old stream is complete before the new one begins.
    runs = [s for i, s in enumerate(peer.order) if i == 0 or peer.order[i - 1] != s]
    assert runs == streams
    # What is on disk and was delivered has the same bytes.
    for stream, records in spool_streams(agent.spool).items():
        delivered = {r.seq: r.raw for r in peer.records(stream)}
        assert all(delivered[r.seq] == r.raw for r in records if r.seq in delivered)


def test_server_down_and_back(tmp_path):
    peer = Peer()
    port = peer.port
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 2)
        peer.stop()
        first = peer.records()
        agent.wait_text("trying again")
        time.sleep(2)
        peer2 = Peer(port)
        peer2.streams = peer.streams
        try:
            peer2.wait(lambda: len(peer2.records_unlocked()) > len(first) + 2, timeout=30)
            agent.wait_text("works again")
            agent.stop()
            peer2.check_ledger()
        finally:
            peer2.stop()


def answer(status, obj, headers=()):
    def act(handler, _body):
        handler.reply(status, obj, headers)
        return True
    return act


def test_A22_F22_hostile_answers(tmp_path, peer):
    """A huge answer, a redirect, a closed connection, rubbish, a 200 without next_seq."""
    trap = socket.create_server(("127.0.0.1", 0))
    trap.settimeout(0.2)
    url = f"http://127.0.0.1:{trap.getsockname()[1]}/api/v1/ingest"

    def drop(handler, _body):
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)
        return True

    def rubbish(handler, _body):
        handler.wfile.write(b"\x00\xff rubbish\r\n\r\n")
        handler.close_connection = True
        return True

    def endless(handler, _body):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        try:
            for _ in range(2000):
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass
        handler.close_connection = True
        return True

    for act in (endless, answer(302, {}, [("Location", url)]), drop, rubbish,
                answer(200, b"<html>please log in</html>")):
        peer.script.append(act)
    token = tmp_path / "token"
    token.write_text("secret-of-the-box\n")
    # Waiting is random between 1 s and 3^n s: with five failures in a row at most 2 minutes; the
    # script is shortened by SIGHUP, which tries a token at once.
    with running(start(tmp_path, peer, "--token-file", str(token))) as agent:
        agent.wait_text("delivering to", 40)  # before that a SIGHUP ends it
        end = time.monotonic() + 40
        while peer.script:
            assert time.monotonic() < end, agent.text()
            time.sleep(0.2)
            agent.signal(signal.SIGHUP)
        agent.signal(signal.SIGHUP)
        peer.wait(lambda: len(peer.records_unlocked()) >= 3)
        assert "longer than 64 KiB" in agent.text()
        agent.stop()
    with pytest.raises(TimeoutError):
        trap.accept()  # the redirect was not followed
    peer.check_ledger()
    assert "secret-of-the-box" not in agent.text()
    assert {h["Authorization"] for _, _, h, _ in peer.requests} == {"Bearer secret-of-the-box"}


def test_silent_server(tmp_path):
    """A server that accepts and says nothing does not stop the measuring or the end."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        url = f"http://127.0.0.1:{s.getsockname()[1]}"
        with running(Agent(tmp_path, "--server", url)) as agent:
            conn, _ = s.accept()
            time.sleep(2.5)
            assert agent.stop() < 2
            conn.close()
    (records,) = spool_streams(agent.spool).values()
    assert len(items(records, "run_end")) == 1 and len(items(records, "hist")) >= 4


def test_one_refused_record(tmp_path, peer):
    def refuse_third(handler, body):
        if any(r.seq == 3 and items([r], "hist") for r in decode_records(body)):
            handler.reply(422, {"detail": "bucket 7: negative"})
            return True
        return False

    peer.always = refuse_third
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 5)
        agent.stop()
    peer.check_ledger()
    (gap,) = items(peer.records(), "gap")
    assert gap["reason"] == "rejected" and (gap["from_seq"], gap["to_seq"]) == (3, 3)
    assert "bucket 7" in gap["text"]
    (kept,) = (agent.spool / "rejected").iterdir()
    (third,) = [r for r in decode_records(kept.read_bytes()) if r.seq == 3]
    assert gap["samples"] == third.samples > 0


def test_F5_server_lost_its_last_commits(tmp_path, peer):
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 4)
        with peer.lock:
            (st,) = peer.streams.values()
            del st["records"][1:]
            st["next"], st["crc"] = 2, None
        peer.wait(lambda: len(peer.records_unlocked()) >= 6)
        agent.stop()
    peer.check_ledger()
    assert not items(peer.records(), "gap")


def test_F28_second_daemon_refuses(tmp_path, peer):
    with running(start(tmp_path, peer)) as agent:
        agent.wait_text("delivering to")
        second = start(tmp_path, peer)
        assert second.process.wait(10) == 4
        assert "another rigstat-agent daemon uses the spool" in second.text()
        agent.stop()


def test_quiet_holds_the_network(tmp_path, peer):
    with running(start(tmp_path, peer, "--quiet", "--watch", "4s")) as agent:
        agent.wait_text("delivering to")
        time.sleep(3)
        assert not peer.requests
        peer.wait(lambda: len(items(peer.records_unlocked(), "run_end")) >= 1)
        (run,) = items(peer.records(), "run_start")
        assert run["quiet_until_ns"] > run["started_ns"] + 3e9
        agent.stop()
    peer.check_ledger()


def test_experiment_takes_the_box(tmp_path, peer):
    """While somebody holds measure.lock, the daemon's probes pause, and its run is ended."""
    holder = subprocess.Popen(["/usr/bin/python3", "-c", HOLD, str(tmp_path / "measure.lock")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with running(start(tmp_path, peer)) as agent:
            peer.wait(lambda: len(peer.records_unlocked()) >= 3)
            holder.stdin.write(b"take\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == b"taken\n"
            agent.wait_text("the daemon's probes pause")
            assert holder.stdout.readline() == b"paused\n"
            threads = os.listdir(f"/proc/{agent.process.pid}/task")
            time.sleep(2)
            assert os.listdir(f"/proc/{agent.process.pid}/task") == threads
            holder.stdin.write(b"give\n")
            holder.stdin.flush()
            agent.wait_text("probes run again")
            peer.wait(lambda: len(items(peer.records_unlocked(), "run_start")) >= 2)
            agent.stop()
    finally:
        holder.kill()
        holder.wait()
    ends = items(peer.records(), "run_end")
    assert ends[0]["reason"] == "an experiment took over the box" and ends[0]["state"] == "ok"
    peer.check_ledger()


HOLD = r"""
import fcntl, os, struct, sys, time
F_OFD_SETLK = 37
def lock(fd, kind, at):
    fcntl.fcntl(fd, F_OFD_SETLK, struct.pack("hhqqi4x", kind, 0, at, 1, 0))
sys.stdin.readline()
fd = os.open(sys.argv[1], os.O_RDWR)
lock(fd, fcntl.F_WRLCK, 0)
print("taken", flush=True)
while True:
    try:
        lock(fd, fcntl.F_WRLCK, 1)
        break
    except OSError:
        time.sleep(0.02)
lock(fd, fcntl.F_UNLCK, 1)
print("paused", flush=True)
sys.stdin.readline()
lock(fd, fcntl.F_UNLCK, 0)
time.sleep(60)
"""


def test_F8_full_disk(tmp_path, peer):
    """A file system that fills up under the agent: it goes on in memory and delivers from there."""
    spool = tmp_path / "spool"
    spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(spool)], check=True)
    try:
        (spool / "filler").write_bytes(b"x" * 900000)
        with running(start(tmp_path, peer)) as agent:
            with open(spool / "filler", "ab") as f:
                try:
                    f.write(b"x" * 900000)
                    f.flush()
                except OSError:
                    pass
            agent.wait_text("records stay in memory")
            n = len(peer.records())
            peer.wait(lambda: len(peer.records_unlocked()) > n + 2)
            os.truncate(spool / "filler", 0)
            agent.wait_text("works again", timeout=20)
            agent.stop()
        peer.check_ledger()
        assert not items(peer.records(), "gap")
    finally:
        subprocess.run(["umount", str(spool)], check=True)


def test_F8_free_space_floor(tmp_path, peer):
    """The spool leaves a part of the file system to others: below it, records stay in memory."""
    spool = tmp_path / "spool"
    spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(spool)], check=True)
    try:
        (spool / "filler").write_bytes(b"x" * (19 << 20) + b"x" * 400_000)  # 5 % are 1 MiB
        with running(start(tmp_path, peer, "--spool-free-min", "512M")) as agent:
            agent.wait_text("are to stay free", 40)
            peer.wait(lambda: len(peer.records_unlocked()) >= 3)
            assert not list(spool.glob("*/*.seg"))
            (spool / "filler").unlink()
            agent.wait_text("works again", timeout=40)
            n = len(peer.records())
            peer.wait(lambda: len(peer.records_unlocked()) > n + 2)
            assert list(spool.glob("*/*.seg"))
            agent.stop()
        peer.check_ledger()
        assert not items(peer.records(), "gap")
    finally:
        subprocess.run(["umount", str(spool)], check=True)


def test_F10_read_only_spool(tmp_path, peer):
    spool = tmp_path / "spool"
    spool.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(spool)], check=True)
    try:
        with running(start(tmp_path, peer)) as agent:
            agent.wait_text("records stay in memory")
            peer.wait(lambda: len(peer.records_unlocked()) >= 3)
            agent.stop()
        peer.check_ledger()
    finally:
        subprocess.run(["umount", str(spool)], check=True)


def test_F1_killed_at_random_moments(tmp_path, peer):
    """Twelve lives of random length; every number of every stream arrives once."""
    rng = random.Random(7)
    for _ in range(12):
        with running(start(tmp_path, peer, "--interval", "100ms")) as agent:
            time.sleep(rng.uniform(0.05, 1.2))
            agent.kill()
    with running(start(tmp_path, peer)) as agent:
        def drained():
            return not [s for s, rs in spool_streams(agent.spool).items() if rs and
                        (s not in peer.streams or peer.streams[s]["next"] <= rs[-1].seq - 2)]

        agent.wait_text("delivering to")
        peer.wait(drained, timeout=40)
        agent.stop()
    peer.check_ledger()
    uids = {s["run_uid"] for s in items(peer.records(), "run_start")}
    ended = {e["run_uid"] for e in items(peer.records(), "run_end")}
    assert uids - ended <= {items(peer.records(s), "run_start")[0]["run_uid"]
                            for s in list(peer.streams)[-1:]}


def make_certificate(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True)
    return cert, key


def test_tls_is_verified(tmp_path):
    cert, key = make_certificate(tmp_path)
    peer = Peer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    peer.httpd.socket = context.wrap_socket(peer.httpd.socket, server_side=True)
    url = f"https://localhost:{peer.port}"
    try:
        (tmp_path / "a").mkdir()
        with running(Agent(tmp_path / "a", "--server", url)) as agent:
            agent.wait_text("trying again")
            assert "certificate" in agent.text() and not peer.requests
            agent.stop()
        (tmp_path / "b").mkdir()
        with running(Agent(tmp_path / "b", "--server", url, "--ca-file", str(cert))) as agent:
            peer.wait(lambda: len(peer.records_unlocked()) >= 2)
            agent.stop()
        peer.check_ledger()
    finally:
        peer.stop()


def test_tells_systemd(tmp_path):
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(str(path))
        s.settimeout(10)
        with running(Agent(tmp_path, env={"NOTIFY_SOCKET": str(path)})) as agent:
            assert s.recv(100) == b"READY=1"
            agent.stop()
            assert s.recv(100) == b"STOPPING=1"


def test_thread_moved_by_hand(tmp_path, peer):
    """taskset and chrt on a measuring thread do not go unnoticed."""
    with running(start(tmp_path, peer, "--cpus", "0")) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 2)
        tasks = [t for t in os.listdir(f"/proc/{agent.process.pid}/task")
                 if os.sched_getscheduler(int(t)) == os.SCHED_FIFO]
        assert len(tasks) == 1
        subprocess.run(["chrt", "-f", "-p", "33", tasks[0]], check=True)
        subprocess.run(["taskset", "-pc", "0-1", tasks[0]], check=True, capture_output=True)
        n = len(peer.records())
        peer.wait(lambda: len(peer.records_unlocked()) >= n + 2)
        agent.stop()
    (end,) = [e for rs in spool_streams(agent.spool).values() for e in items(rs, "run_end")]
    marks = {m["code"]: m["text"] for m in end["marks"]}
    assert "fifo:80 to fifo:33" in marks["policy-cpu0"] and "moved-cpu0" in marks


def test_few_descriptors(tmp_path, peer):
    """With hardly any file descriptors it says so and measures what it can."""
    agent = start(tmp_path, peer, prefix=["prlimit", "--nofile=24:24"])
    with running(agent):
        wait_records(agent.spool, lambda rs: len(items(rs, "hist")) >= 4)
        assert cpu_seconds(agent.process.pid) < 3  # no spinning
        agent.stop()
    (end,) = [e for rs in spool_streams(agent.spool).values() for e in items(rs, "run_end")]
    assert "LimitNOFILE" in {m["code"]: m["text"] for m in end["marks"]}["few-descriptors"]


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_leaves_nothing_when_killed_with_a_slow_peer(tmp_path, peer):
    """The answer comes after the agent has gone: the next start finds what was stored."""
    gate = threading.Event()

    def slow(handler, body):
        status, obj = peer.answer(handler.command, handler.path, handler.headers, body)
        peer.lock.release()
        gate.wait(5)
        peer.lock.acquire()
        try:
            handler.reply(status, obj)
        except OSError:
            pass
        return True

    peer.script.append(slow)
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 1)
        agent.kill()
    gate.set()
    with running(start(tmp_path, peer)) as agent:
        peer.wait(lambda: len(peer.streams) == 2)
        agent.stop()
    peer.check_ledger()
