# SPDX-License-Identifier: GPL-2.0-or-later
"""10,000 idle connections: a fresh request is served and memory stays small. The bound of memory
is that of a release build (RIGSTAT_BUILD=build); a sanitizer's own memory is not the server's."""
import pathlib
import re
import resource
import socket
import time

import pytest

IDLE = 10_000


@pytest.fixture
def descriptors():
    """Room for both ends: the server inherits the limit."""
    old = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + 2000, max(old[1], IDLE + 2000)))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, old)


def rss(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) << 10


def sanitized(server):
    return "libasan" in pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()


def test_A16_ten_thousand_idle(descriptors, make_server):
    server = make_server().start()
    host, port = server.address.rsplit(":", 1)
    idle = []
    for i in range(IDLE):
        s = socket.create_connection((host, int(port)),
                                     source_address=(f"127.0.{1 + i % 50}.1", 0))
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")  # not finished
        idle.append(s)
    connected = server.metrics()["rigstat_http_connections"]
    started = time.monotonic()
    assert server.get("/healthz").status == 200
    took = time.monotonic() - started
    memory = rss(server)
    print(f"{connected:.0f} connections, fresh request {took * 1e3:.1f} ms, RSS {memory >> 20} MiB")
    small = sanitized(server) or memory < 150_000_000
    for s in idle:
        s.close()
    assert connected >= IDLE and took < 1 and small
