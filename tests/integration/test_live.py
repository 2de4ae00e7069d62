# SPDX-License-Identifier: GPL-2.0-or-later
"""The stream of live pages: what is told to whom, by every server of a lab, to slow and to many readers."""
import json
import pathlib
import re
import resource
import selectors
import socket
import subprocess
import time

import pytest

import records as rec
from conftest import SERVER, wait_until
from test_auth import bearer, make_token

STREAM = "%032x"


class Reader:
    """One stream, read by hand: what arrives, and when."""

    def __init__(self, server, topics, headers=None, after=None, buffer=None):
        host, port = server.address.rsplit(":", 1)
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(20)
        self.socket.connect((host, int(port)))
        lines = [f"GET /api/v1/stream?topics={topics}{'&after=' + after if after else ''} HTTP/1.1",
                 f"Host: {server.address}", *[f"{k}: {v}" for k, v in (headers or {}).items()]]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.text, self.events, self.status, self.over = "", [], None, False

    def read(self, seconds=0.1):
        """Takes what comes within the time."""
        end = time.monotonic() + seconds
        while not self.over and (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                data = self.socket.recv(65536)
            except socket.timeout:
                break
            except ConnectionResetError:
                data = b""
            self.over = not data
            self.text += data.decode()
        if self.status is None and "\r\n\r\n" in self.text:
            head, self.text = self.text.split("\r\n\r\n", 1)
            self.status, self.head = int(head.split()[1]), head
        self.over |= self.text.endswith("\r\n0\r\n\r\n")
        plain = re.sub(r"\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n", "", self.text)
        self.events = [self.parse(e) for e in plain.split("\n\n")[:-1]]
        return self

    @staticmethod
    def parse(text):
        fields = dict(line.strip().split(": ", 1) for line in text.split("\n") if ": " in line)
        return fields.get("event"), json.loads(fields["data"]), fields.get("id")

    def changes(self, topic):
        return {c for name, data, _ in self.events if name == "change" and data["topic"] == topic
                for c in data["changes"]}

    def until(self, what, condition, timeout=20):
        wait_until(what, lambda: condition(self.read(0.1)), timeout)
        return self

    def hello(self):
        return self.until("hello", lambda r: r.events and r.events[0][0] == "hello")

    def last_id(self):
        return [i for _, _, i in self.events if i][-1]

    def close(self):
        self.socket.close()


def send_run(server, tmp_path, host, number, **options):
    """A whole run of a box, as its agent sends it."""
    records = rec.recgen(tmp_path / f"{host}-{number}", host=host, seed=number, seconds=3, **options)
    assert rec.post(server, STREAM % number, records, host=host).status == 200


def test_what_is_told_to_whom(server, tmp_path):
    send_run(server, tmp_path, "box1", 1)
    send_run(server, tmp_path, "box2", 2)
    wait_until("runs", lambda: len(server.get("/api/v1/runs").json()["items"]) == 2)
    run = server.get("/api/v1/runs?host=box1").json()["items"][0]["id"]
    readers = {t: Reader(server, t).hello() for t in ("fleet", "runs", "host:box1", "host:box2", "run:" + run)}
    assert readers["fleet"].head.lower().count("content-type: text/event-stream") == 1
    assert "no-store" in readers["fleet"].head
    send_run(server, tmp_path, "box1", 3)
    readers["host:box1"].until("the run's end", lambda r: "run.end" in r.changes("host:box1"))
    assert readers["host:box1"].changes("host:box1") >= {"data", "run.new", "run.end"}
    readers["fleet"].until("the run's end", lambda r: "run.end" in r.changes("fleet"))
    assert "data" in readers["fleet"].changes("fleet")
    assert "run.end" in readers["runs"].read(1).changes("runs")
    assert readers["run:" + run].read().changes("run:" + run) <= {"data"}, "another run of the box"
    assert server.request("PATCH", "/api/v1/runs/" + run, body=json.dumps({"excluded": "fan"}),
                          headers={"Content-Type": "application/json"}).status == 200
    readers["run:" + run].until("the exclusion", lambda r: "run.changed" in r.changes("run:" + run))
    assert readers["host:box2"].read().changes("host:box2") == set(), "nothing of box2 has changed"
    for r in readers.values():
        r.close()


@pytest.mark.parametrize("topics", ["", "weather", ",fleet", "fleet:x", "host:", "host",
                                    ",".join(["host:a"] * 33), "host:" + "a" * 200])
def test_topics_that_are_none_are_refused(shared_server, topics):
    reply = shared_server.get(f"/api/v1/stream?topics={topics}")
    assert reply.status == 400 and reply.json()["errors"][0]["parameter"] == "topics"


def test_unknown_names_are_said_but_do_not_end_the_others(shared_server):
    r = Reader(shared_server, "fleet,host:nobody,run:r_99,experiment:e_77").hello()
    assert r.events[0][1]["unknown"] == ["host:nobody", "run:r_99", "experiment:e_77"]
    assert r.events[0][1]["listening"] is True
    r.close()


def test_two_servers_of_one_database(make_server, tmp_path):
    first = make_server().start()
    second = make_server(["--database", f"host={first.socket_dir} user=rigstat dbname=rigstat"],
                         embedded=False).start()
    send_run(first, tmp_path, "box1", 1)
    wait_until("the run", lambda: first.get("/api/v1/runs").json()["items"])
    r = Reader(second, "fleet,host:box1").hello()
    send_run(first, tmp_path, "box1", 2)
    r.until("news of the other server's box",
            lambda r: {"data", "run.end"} <= r.changes("host:box1") and "data" in r.changes("fleet"))
    r.close()


def patch_host(server, note):
    assert server.request("PATCH", "/api/v1/hosts/box1", body=json.dumps({"note": note}),
                          headers={"Content-Type": "application/json"}).status == 200


def test_coming_back(server, tmp_path):
    send_run(server, tmp_path, "box1", 1)
    wait_until("the run", lambda: server.get("/api/v1/runs").json()["items"])
    r = Reader(server, "fleet").hello()
    patch_host(server, "one")
    r.until("the note", lambda r: "host.changed" in r.changes("fleet"))
    at = r.last_id()
    r.close()
    quiet = Reader(server, "fleet", headers={"Last-Event-ID": at}).hello().read(0.6)
    assert quiet.changes("fleet") == set(), "nothing was missed"
    quiet.close()
    patch_host(server, "two")
    for kw in ({"headers": {"Last-Event-ID": at}}, {"after": at}):
        back = Reader(server, "fleet", **kw).hello()
        back.until("what was missed", lambda r: "host.changed" in r.changes("fleet"))
        assert "reset" not in [e[0] for e in back.events]
        back.close()
    for stale in ("77-12", "nonsense", at.split("-")[0] + "-999999999"):
        back = Reader(server, "fleet", headers={"Last-Event-ID": stale}).hello()
        back.until("reset", lambda r: "reset" in [e[0] for e in r.events])
        back.close()
    # Over a restart: the server remembers nothing, and says so.
    open_one = Reader(server, "fleet").hello()
    begin = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begin < 4, "an open stream must not hold the server up"
    assert open_one.read(1).over
    server.start()
    back = Reader(server, "fleet", headers={"Last-Event-ID": at}).hello()
    back.until("reset", lambda r: "reset" in [e[0] for e in r.events])
    back.close()


def test_database_gone_is_said(server):
    r = Reader(server, "fleet").hello()
    server.sql("select pg_terminate_backend(pid) from pg_stat_activity "
               "where pid <> pg_backend_pid() and backend_type = 'client backend'")
    # The loss itself may be over within a quarter of a second: then only its end is told.
    r.until("its end", lambda r: ("state", {"listening": True}) in [e[:2] for e in r.events])
    assert "reset" in [e[0] for e in r.events], "notes were lost meanwhile"
    r.close()


def test_a_revoked_token_ends_its_streams(make_server):
    server = make_server().start()
    before = Reader(server, "fleet").hello()  # nobody needs a token yet
    reading, other, admin = (make_token(server, s) for s in ("read", "read", "admin"))
    wait_until("tokens are asked for", lambda: server.get("/api/v1/runs").status == 401)
    before.until("the end of the open server", lambda r: r.over and r.events[-1][0] == "denied", 40)
    assert Reader(server, "fleet").until("401", lambda r: r.status).status == 401
    ingest = make_token(server, "ingest")
    assert Reader(server, "fleet", bearer(ingest)).until("403", lambda r: r.status).status == 403
    first = Reader(server, "fleet", bearer(reading)).hello()
    second = Reader(server, "fleet", {"Cookie": "rigstat_token=" + other}).hello()
    assert server.request("DELETE", "/api/v1/tokens/" + other.split("_")[1], headers=bearer(admin)).status == 204
    begin = time.monotonic()
    second.until("the end", lambda r: r.over and r.events[-1][0] == "denied")
    assert time.monotonic() - begin < 5, "a revoked token ends its stream at once"
    assert not first.read(0.5).over
    first.close()


def test_newest_wins(server, tmp_path):
    """A hundred changes of one box are a few events, the last of them after the last change."""
    send_run(server, tmp_path, "box1", 1)
    wait_until("the run", lambda: server.get("/api/v1/runs").json()["items"])
    r = Reader(server, "host:box1").hello()
    begin = time.monotonic()
    for i in range(100):
        patch_host(server, str(i))
    took = time.monotonic() - begin
    r.read(1)
    told = [data for name, data, _ in r.events if name == "change"]
    assert sum(d["merged"] + 1 for d in told) >= 100, "every change is counted"
    assert len(told) <= 4 * (took + 1.3) + 2, f"{len(told)} events in {took:.1f} s"
    r.close()


def rss_kb(server):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def test_a_slow_reader_costs_nothing_and_is_cut(server, tmp_path):
    """It reads nothing while thousands of changes happen: no memory, and the others are served."""
    send_run(server, tmp_path, "box1", 1)
    wait_until("the run", lambda: server.get("/api/v1/runs").json()["items"])
    good = Reader(server, "host:box1").hello()

    def flood():
        """How much the server grows by twenty thousand notes: the allocator of the sanitizer keeps some."""
        before, notes = rss_kb(server), server.metrics()["rigstat_live_notes_total"]
        server.sql("do $$ begin for i in 1 .. 20000 loop perform pg_notify('rigstat', json_build_object("
                   "'kind', 'host', 'what', 'changed', 'host', 1, 'run', i)::text); end loop; end $$")
        wait_until("the notes", lambda: server.metrics()["rigstat_live_notes_total"] >= notes + 20000)
        good.read(0.5)
        return rss_kb(server) - before
    alone = flood()
    slow = Reader(server, "fleet,host:box1", buffer=4096)
    wait_until("it watches", lambda: server.metrics()["rigstat_live_watchers"] == 2)
    assert flood() < 1.3 * alone + 2000
    patch_host(server, "at last")
    assert "host.changed" in good.read(1).changes("host:box1")
    slow.hello()
    told = [d for n, d, _ in slow.read(1).events if n == "change" and d["topic"] == "host:box1"]
    assert told and sum(d["merged"] + 1 for d in told) >= 20000
    slow.close()
    good.close()
    wait_until("both are gone", lambda: server.metrics()["rigstat_live_watchers"] == 0, 15)


def test_a_thousand_readers(server, tmp_path):
    """Each is told within a few seconds; those that leave without a word are found by the beat."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3000:
        pytest.skip("the limit of open files is too low")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3000), hard))
    send_run(server, tmp_path, "box1", 1)
    wait_until("the run", lambda: server.get("/api/v1/runs").json()["items"])
    before = rss_kb(server)
    readers = []
    for k in range(200, 1001, 200):  # more at once are told to come later: 512 queries may wait
        readers += [Reader(server, "fleet,host:box1") for _ in range(200)]
        wait_until("all watch", lambda: server.metrics()["rigstat_live_watchers"] == k, 30)
    cost = (rss_kb(server) - before) / 1000
    patch_host(server, "for all")
    waiting = selectors.DefaultSelector()
    for r in readers:
        r.socket.setblocking(False)
        waiting.register(r.socket, selectors.EVENT_READ, r)
    left, end = set(readers), time.monotonic() + 30
    while left:
        assert time.monotonic() < end, f"{len(left)} readers were not told"
        for key, _ in waiting.select(1):
            key.data.text += key.fileobj.recv(65536).decode()
            if "host.changed" in key.data.text:
                left.discard(key.data)
    assert server.get("/healthz").status == 200
    print(f"{cost:.0f} kB a reader (sanitizer build)")
    for r in readers:
        r.close()
    wait_until("the dead are found", lambda: server.metrics()["rigstat_live_watchers"] == 0, 20)


def test_limits(make_server):
    """A token holds 256 streams; the next is told to come later."""
    server = make_server().start()
    token = make_token(server, "read")
    wait_until("tokens are asked for", lambda: server.get("/api/v1/runs").status == 401)
    readers = [Reader(server, "fleet", bearer(token)) for _ in range(256)]
    wait_until("all watch", lambda: server.metrics()["rigstat_live_watchers"] == 256, 30)
    more = Reader(server, "fleet", bearer(token)).until("an answer", lambda r: r.status)
    assert more.status == 503 and "Retry-After: 10" in more.head
    other = make_token(server, "read")
    Reader(server, "fleet", bearer(other)).hello().close()
    for r in readers:
        r.close()


def test_curl_reads_it(server):
    """As the documentation says it."""
    out = subprocess.run(["curl", "-sN", "--max-time", "2",
                          f"http://{server.address}/api/v1/stream?topics=fleet"],
                         capture_output=True, text=True, check=False)
    assert out.returncode == 28, "it does not end by itself"
    assert out.stdout.startswith("retry: 3000\nid: ") and "event: hello\n" in out.stdout
