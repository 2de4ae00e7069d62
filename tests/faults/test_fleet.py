# SPDX-License-Identifier: GPL-2.0-or-later
"""500 agents (tests/tools/fleet: the agent's own spool and delivery, 500 times) and one server: its
restart is no stampede, all is delivered, an agent that drains a day does not hold up the live ones,
and with the database stopped the server's memory is bounded."""
import ctypes
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

import pytest

from conftest import BUILD, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a packet socket")

AGENTS = int(os.environ.get("RIGSTAT_AGENTS", "500"))
DAY = 86_400


@pytest.fixture
def descriptors():
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (12_000, max(old[1], 12_000)))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, old)


class Fleet:
    def __init__(self, server, *options, agents=AGENTS):
        self.dir = tempfile.mkdtemp(prefix="rigstat-fleet-", dir="/dev/shm")
        self.process = subprocess.Popen(
            [str(BUILD / "tests/tools/fleet"), "--server", f"http://{server.address}", "--dir", self.dir,
             "--agents", str(agents), *map(str, options)],
            stdout=subprocess.PIPE, stderr=open(self.dir + "/log", "wb"), text=True,
            env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        assert self.process.stdout.readline() == "ready\n", self.log()

    def log(self):
        return pathlib.Path(self.dir, "log").read_text(errors="replace")[-3000:]

    def result(self, timeout):
        out, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, self.log()
        keys = ("agents", "records", "samples", "p50", "p99", "max", "drained", "failures")
        return dict(zip(keys, map(float, out.split())))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


@pytest.fixture
def fleet(descriptors):
    made = []

    def start(server, *options, **kw):
        made.append(Fleet(server, *options, **kw))
        return made[-1]

    yield start
    for f in made:
        f.close()


class Connects:
    """When connections were established: the server's SYN+ACK packets on the loopback."""

    def __init__(self, port):
        self.times, self.port, self.ended = [], port, False
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.sock.bind(("lo", 0))
        self.sock.settimeout(0.5)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 20)
        self.keep_syn_acks()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def keep_syn_acks(self):
        """A classic BPF filter: TCP, flags SYN and ACK, from our port; the rest costs nothing."""
        program = [(0x30, 0, 0, 9), (0x15, 0, 6, 6),              # IPv4 protocol is TCP
                   (0xB1, 0, 0, 0), (0x48, 0, 0, 0),              # X = header length; source port
                   (0x15, 0, 3, self.port), (0x50, 0, 0, 13),     # flags
                   (0x15, 0, 1, 0x12), (0x06, 0, 0, 64), (0x06, 0, 0, 0)]
        code = b"".join(struct.pack("HBBI", *i) for i in program)
        buf = bytearray(code)
        address = (ctypes.c_char * len(buf)).from_buffer(buf)
        self.filter = (buf, address)
        self.sock.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HL", len(program), ctypes.addressof(address)))

    def run(self):
        while not self.ended:
            try:
                _, where = self.sock.recvfrom(64)
            except TimeoutError:
                continue
            if where[2] != socket.PACKET_OUTGOING:  # loopback shows each packet twice
                self.times.append(time.monotonic())

    def close(self):
        self.ended = True
        self.thread.join()
        self.sock.close()


def rss(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) << 10


def peak_to_mean(times, begin):
    """Of connects in windows of 1 s, until 95 % of the fleet is back: the last few have waited
    through more than one failure and only make the mean smaller."""
    times = sorted(t - begin for t in times if t >= begin)[:AGENTS]
    end = times[int(len(times) * 0.95) - 1]
    first = times[0]
    windows = [0] * max(1, int(end - first + 0.999))
    for t in times:
        if t < first + len(windows):
            windows[int(t - first)] += 1
    return max(windows), sum(windows) / len(windows), end


def stored(server):
    return float(server.sql("select coalesce(sum(samples), 0) from rigstat.ingest_stream")[0][0])


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return "127.0.0.1:%d" % s.getsockname()[1]


def test_F25_server_restart_is_no_stampede(make_server, fleet):
    """The server is away for ten seconds. Connects per second, peak over mean, below 2."""
    server = make_server(listen=free_address()).start()
    f = fleet(server, "--seconds", 100)
    wait_until("all deliver", lambda: server.metrics()["rigstat_ingest_streams"] >= AGENTS, 60)
    server.kill()
    time.sleep(10)
    connects = Connects(int(server.address.rsplit(":", 1)[1]))
    server.start(ready=False)
    wait_until("it listens", lambda: server._read_address(0), 60)
    begin = time.monotonic()
    r = f.result(300)
    connects.close()
    peak, mean, back = peak_to_mean(connects.times, begin)
    print(f"{AGENTS} agents, server away: 95 % back after {back:.0f} s, connects per 1 s window: "
          f"peak {peak}, mean {mean:.1f}, ratio {peak / mean:.2f}; {r['records']:.0f} records, "
          f"{r['failures']:.0f} failed requests, all delivered")
    assert len(connects.times) >= AGENTS * 0.95
    assert stored(server) == r["samples"]
    assert peak / mean < 2


def test_F26_a_day_of_backlog_among_live_agents(make_server, fleet):
    """One agent brings a day of records; 99 others are acknowledged as before. On a busy machine
    the bound is twice what it is without the backlog."""
    server = make_server().start()
    f = fleet(server, "--seconds", 30, agents=100)
    quiet = f.result(300)
    before = stored(server)
    f.close()
    f = fleet(server, "--seconds", 30, "--backlog", DAY, agents=100)
    busy = f.result(600)
    print(f"100 agents; live acknowledgement p50 / p99: {quiet['p50']:.0f} / {quiet['p99']:.0f} ms alone, "
          f"{busy['p50']:.0f} / {busy['p99']:.0f} ms while one drains {DAY} records in {busy['drained'] / 1e3:.1f} s")
    assert stored(server) - before == busy["samples"] and busy["samples"] >= DAY * 10
    assert busy["drained"] > 0
    assert busy["p99"] < max(2000, 2 * quiet["p99"]), "live data waits for the backlog"


def test_F6_database_stopped_memory_is_bounded(make_server, fleet):
    """PostgreSQL is stopped below 500 delivering agents for a minute: 503 for all, memory stays
    what it was, and then everything arrives."""
    server = make_server().start()
    f = fleet(server, "--seconds", 100)
    wait_until("all deliver", lambda: server.metrics()["rigstat_ingest_streams"] >= AGENTS, 60)
    before = rss(server.process.pid)
    postmaster = int((server.data / "data" / "postmaster.pid").read_text().split()[0])
    children = pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    for pid in [postmaster, *map(int, children)]:
        os.kill(pid, signal.SIGSTOP)  # worse than dead: it takes connections and says nothing
    peak, end = before, time.monotonic() + 60
    while time.monotonic() < end:
        peak = max(peak, rss(server.process.pid))
        assert server.get("/healthz").status == 200
        time.sleep(0.5)
    pending = server.metrics()["rigstat_ingest_pending_bytes"]
    for pid in [postmaster, *map(int, children)]:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass
    r = f.result(600)
    print(f"{AGENTS} agents, PostgreSQL stopped for 60 s: RSS {before >> 20} -> {peak >> 20} MiB, {pending / 1e6:.1f} MB "
          f"pending at its end; {r['records']:.0f} records, all delivered, {r['failures']:.0f} requests refused")
    assert r["failures"] >= AGENTS, "the outage was not noticed"
    assert stored(server) == r["samples"]
    assert peak < before + (100 << 20)
