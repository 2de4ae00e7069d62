# SPDX-License-Identifier: GPL-2.0-or-later
"""Attacks on tokens, codes and the ways in: who is let in, what leaks, what a flood does."""
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import socket
import ssl
import time
from urllib.parse import quote

import pytest

import records as rec
from agentlib import Agent, running
from conftest import wait_until
from enrolling import agent, bearer, certificate, enroll, make_code, make_token, start_tls


@pytest.fixture(scope="module")
def guarded(shared_server):
    shared_server.tokens = {s: make_token(shared_server, s) for s in ("admin", "read")}
    wait_until("tokens are asked for", lambda: shared_server.get("/api/v1/runs").status == 401, 20)
    return shared_server


def raw_status(server, headers):
    """The status of a GET /runs with these header lines; None when there was no answer."""
    host, port = server.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=20) as s:
        s.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + headers + b"\r\n")
        got = s.recv(100)
    return int(got[9:12]) if got.startswith(b"HTTP/1.1 ") else None


def test_A12_ways_to_bring_a_token(guarded):
    """The scheme in any case; one Authorization header; a cookie does not stand in for a wrong header."""
    good, admin = (guarded.tokens[s].encode() for s in ("read", "admin"))
    wrong = b"rs_aaaaaaaa_" + b"A" * 43
    assert raw_status(guarded, b"authorization: bearer " + good + b"\r\n") == 200
    for headers in (b"Authorization: Bearer " + wrong + b"\r\nAuthorization: Bearer " + good + b"\r\n",
                    b"Authorization: Bearer " + good + b"\r\nAuthorization: Bearer " + admin + b"\r\n"):
        assert raw_status(guarded, headers) == 400
    for headers in (b"Authorization: Bearer " + wrong + b"\r\nCookie: rigstat_token=" + good + b"\r\n",
                    b"Authorization: Bearer  " + good + b"\r\n", b"Authorization: " + good + b"\r\n",
                    b"Authorization: Bearer " + good + b",\r\n", b"Cookie: rigstat_token=" + good[:-1] + b"\r\n",
                    b"X-Authorization: Bearer " + good + b"\r\n"):
        assert raw_status(guarded, headers) == 401, headers


def test_A12_a_code_is_no_token(make_server, tmp_path):
    server = make_server()
    make_token(server, "admin")
    code = make_code(server)
    server.start()
    batch = rec.recgen(tmp_path / "r", seconds=1)
    for secret in (code, "rs" + code[3:], code + "A" * 21):
        assert rec.post(server, "a" * 32, batch, Authorization="Bearer " + secret).status == 401
    assert server.sql("select count(*) from rigstat.host") == [["0"]]


def test_A13_wrong_tokens_take_the_same_time(make_server):
    """Unknown id, known id with another secret: the answers differ neither in bytes nor, beyond noise, in time.
    (The comparison itself is measured in tests/unit/common/test_token.c.) Few at a time: then comes 429."""
    server = make_server()
    known = make_token(server, "read")
    server.start()
    kinds = {"unknown id": "rs_zzzzzzzz_" + known[12:], "first letter": known[:12] + "_" + known[13:],
             "last letter": known[:-1] + ("A" if known[-1] != "A" else "B")}
    connection = http.client.HTTPConnection(server.address)
    took, bodies = {k: [] for k in kinds}, set()
    order = [k for k in kinds for _ in range(3)]
    random.Random(13).shuffle(order)
    for kind in list(kinds) + order[:6]:
        begun = time.perf_counter()
        connection.request("GET", "/api/v1/runs", headers=bearer(kinds[kind]))
        reply = connection.getresponse()
        body = json.loads(reply.read())
        took[kind].append(time.perf_counter() - begun)
        assert reply.status == 401
        del body["request_id"]
        bodies.add(json.dumps(body))
    assert len(bodies) == 1
    # Beyond the limit nothing is looked up at all.
    connection.request("GET", "/api/v1/runs", headers=bearer(kinds["unknown id"]))
    connection.getresponse().read()
    blocked = []
    for i in range(300):
        begun = time.perf_counter()
        connection.request("GET", "/api/v1/runs", headers=bearer(list(kinds.values())[i % 3]))
        reply = connection.getresponse()
        reply.read()
        blocked.append((i % 3, time.perf_counter() - begun))
        assert reply.status == 429
    least = [min(t for k, t in blocked if k == kind) for kind in range(3)]
    assert max(least) < 2 * min(least), least


def test_A14_replay(make_server, tmp_path):
    """A captured request again: a duplicate, nothing stored; after the token's end 401."""
    server = make_server()
    admin = make_token(server, "admin")
    code = make_code(server, "--host", "box1")
    server.start()
    _, token = enroll(server, code)
    batch = rec.recgen(tmp_path / "r", seconds=2)
    for _ in range(3):
        answer = rec.post(server, "e" * 32, batch, Authorization="Bearer " + token)
        assert answer.status == 200 and answer.json()["next_seq"] == batch[-1].seq + 1
    assert server.sql("select samples from rigstat.ingest_stream") == [[str(sum(r.samples for r in batch))]]
    assert server.request("DELETE", "/api/v1/tokens/" + token[3:11], headers=bearer(admin)).status == 204
    assert rec.post(server, "e" * 32, batch, Authorization="Bearer " + token).status == 401


def test_A17_floods_at_the_tls_port(make_server, tmp_path):
    """Plain HTTP, half handshakes, rubbish and 200 whole handshakes; a client that speaks TLS is served all the while."""
    server = make_server()
    start_tls(server, *certificate(tmp_path, "cert"))
    host, port = server.address.rsplit(":", 1)
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(32))
    idle = []
    for i in range(200):
        s = socket.create_connection((host, int(port)), timeout=20)
        s.sendall((b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", hello, b"\xff" * 500)[i % 3])
        idle.append(s)
    begun = time.monotonic()
    assert server.get("/healthz").status == 200
    assert time.monotonic() - begun < 5
    with contextlib.suppress(ConnectionResetError):
        assert b"HTTP/1.1 200" not in idle[0].recv(1000)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def handshake(_):
        with socket.create_connection((host, int(port)), timeout=60) as s, context.wrap_socket(s) as t:
            return t.version()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(handshake, range(200)))
    assert set(versions) <= {"TLSv1.2", "TLSv1.3"}
    for s in idle:
        s.close()
    assert server.get("/healthz").status == 200


@pytest.mark.parametrize("query", [
    "q=" + quote("host~" + "*a" * 800 + "b"), "q=" + quote(",".join(f"tag.k{i}=v" for i in range(300))),
    "q=" + quote("host in (" + ",".join(f"h{i}" for i in range(700)) + ")"),
    "q=" + quote("started=0001-01-01..9999-12-31"), "q=" + quote("(" * 2000), "q=" + "a" * 6000,
    "limit=1000000000", "limit=-1", "cursor=" + "A" * 3000, "host=" + quote("%" * 1000),
], ids=lambda q: q[:24])
def test_A21_expensive_queries_end_soon(guarded, query):
    begun = time.monotonic()
    reply = guarded.get("/api/v1/runs?" + query, headers=bearer(guarded.tokens["read"]))
    assert reply.status in (200, 400, 414), (reply.status, reply.body[:200])
    assert time.monotonic() - begun < 8
    assert guarded.get("/healthz").status == 200


def test_A24_no_secret_is_written_anywhere(make_server, tmp_path):
    """Logs at the lowest level, arguments and environments of the processes, error pages, the database."""
    server = make_server(["--log-level", "debug"])
    admin = make_token(server, "admin")
    code = make_code(server)
    server.start()
    conf = tmp_path / "agent.conf"
    out = agent("enroll", "--server", f"http://{server.address}", "--code-file", "-", "--host", "quiet", "--config",
                str(conf), stdin=code + "\n")
    assert out.returncode == 0, out.stderr
    token = (tmp_path / "identity" / "token").read_text().strip()
    said = out.stdout + out.stderr
    with running(Agent(tmp_path, "--config", str(conf), "--policy", "other", "--interval", "200ms", "--no-shares",
                       "--no-io", "--no-locks", "--blame", "off")) as a:
        wait_until("records", lambda: server.sql("select 1 from rigstat.ingest_stream where samples > 0"))
        for pid in (server.process.pid, a.process.pid):
            for name in ("cmdline", "environ"):
                said += pathlib.Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
        a.stop()
        said += a.text()
    for reply in (server.get("/api/v1/runs?x=" + admin, headers=bearer(admin)), enroll(server, code)[0],
                  server.get("/" + "x" * 20, headers=bearer(admin)),
                  server.request("POST", "/api/v1/session", headers={"Content-Type": "application/json"},
                                 body=json.dumps({"token": admin + "x"}))):
        assert reply.status >= 400
        # What a person put into an address is theirs to see, and only there.
        said += reply.body.decode().replace("/api/v1/runs?x=" + admin, "")
    log = server.log()
    assert "debug" in log
    said += "\n".join(line for line in log.splitlines() if "/api/v1/runs?x=" not in line)
    said += str(server.sql("select t::text from rigstat.token t union all select c::text from rigstat.enroll_code c"
                           " union all select a::text from rigstat.audit a"))
    for what, secret in (("code", code[13:]), ("token", token[12:]), ("admin", admin[12:])):
        assert secret not in said, what
    spooled = b"".join(p.read_bytes() for p in (tmp_path / "spool").rglob("*") if p.is_file())
    assert token[12:].encode() not in spooled
    assert not [p for p in os.listdir(tmp_path) if p.startswith("core")]
