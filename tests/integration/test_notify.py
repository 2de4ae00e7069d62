# SPDX-License-Identifier: GPL-2.0-or-later
"""What systemd is told: ready only when requests are answered, alive from the loop, stopping."""
import signal
import socket
import subprocess
import time

import pytest

from conftest import BUILD


class Manager:
    """Stands in for systemd: a datagram socket and what came over it."""

    def __init__(self, path):
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(self.path)
        self.senders = set()

    def next(self, timeout):
        self.socket.settimeout(timeout)
        data, ancillary, _, _ = self.socket.recvmsg(4096, 256)
        self.senders.add(int.from_bytes(ancillary[0][2][:4], "little"))
        return data.decode().split("\n")

    def wait(self, what, timeout=60):
        """The messages up to one that has `what`."""
        end = time.monotonic() + timeout
        seen = []
        while not seen or what not in seen[-1]:
            assert time.monotonic() < end, f"no {what} in {seen}"
            seen.append(self.next(timeout))
        return seen


@pytest.fixture
def manager(tmp_path, monkeypatch):
    m = Manager(tmp_path / "notify")
    monkeypatch.setenv("NOTIFY_SOCKET", m.path)
    monkeypatch.setenv("WATCHDOG_USEC", "2000000")
    yield m
    m.socket.close()


def test_server(make_server, manager):
    server = make_server().start(ready=False)
    pid = server.process.pid
    before = manager.wait("READY=1")
    assert before[0] == ["STATUS=preparing the database"]
    assert not any("WATCHDOG=1" in m for m in before)
    status = [line for line in before[-1] if line.startswith("STATUS=listening on http://")]
    server.address = status[0].rsplit("/", 1)[1]
    assert server.get("/healthz").status == 200  # at once: ready means listening
    manager.wait("WATCHDOG=1", 5)
    manager.wait("WATCHDOG=1", 5)
    server.process.send_signal(signal.SIGSTOP)  # a loop that hangs does not ping
    time.sleep(0.2)
    manager.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        while True:
            manager.socket.recv(4096)
    time.sleep(2.5)
    with pytest.raises(BlockingIOError):
        manager.socket.recv(4096)
    server.process.send_signal(signal.SIGCONT)
    manager.wait("WATCHDOG=1", 5)
    server.process.send_signal(signal.SIGTERM)
    manager.wait("STOPPING=1", 10)
    assert server.process.wait(40) == 0
    server.process = None
    assert manager.senders == {pid}  # PostgreSQL, which we start, does not speak for us


def test_agent(manager, tmp_path):
    config = tmp_path / "agent.conf"
    config.write_text("")
    agent = subprocess.Popen(
        [str(BUILD / "agent" / "rigstat-agent"), "daemon", "--spool", str(tmp_path / "spool"),
         "--lock-dir", str(tmp_path), "--policy", "other", "--period", "100ms", "--interval",
         "60s", "--blame", "off", "--no-io", "--no-locks", "--no-shares", "--no-dma-latency",
         "--config", str(config)],
        stderr=subprocess.PIPE, text=True)
    try:
        manager.wait("READY=1")
        manager.wait("WATCHDOG=1", 5)  # though its ticks are a minute apart
        agent.send_signal(signal.SIGHUP)
        manager.wait("RELOADING=1", 10)
        manager.wait("READY=1", 10)
        agent.send_signal(signal.SIGTERM)
        manager.wait("STOPPING=1", 10)
        _, err = agent.communicate(timeout=40)
        assert agent.returncode == 0, err
        assert manager.senders == {agent.pid}
    finally:
        if agent.poll() is None:
            agent.kill()
            agent.wait()
