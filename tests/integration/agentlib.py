# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading spools, a stand-in for the server, and running the agent. The decoder is written from
docs/PROTOCOL.md, not from the C source, so that it checks both."""

import collections
import contextlib
import ctypes
import hashlib
import http.server
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def binary(name):
    build = pathlib.Path(os.environ.get("RIGSTAT_BUILD", ROOT / "build-test"))
    for place in ("agent", "server", "cli"):
        if (build / place / name).exists():
            return str(build / place / name)
    raise FileNotFoundError(f"{name} below {build}: build it or set RIGSTAT_BUILD")


# ---- records ----

_CRC = []
for _i in range(256):
    _c = _i
    for _ in range(8):
        _c = (_c >> 1) ^ (0x82F63B78 if _c & 1 else 0)
    _CRC.append(_c)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for b in data:
        crc = _CRC[(crc ^ b) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, n):
        if self.left() < n:
            raise ValueError("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def varint(self):
        v = shift = 0
        while True:
            b = self.bytes(1)[0]
            v |= (b & 0x7F) << shift
            if not b & 0x80:
                return v
            shift += 7

    def zigzag(self):
        v = self.varint()
        return (v >> 1) ^ -(v & 1)


def slot_lo(slot):
    if slot < 256:
        return slot
    e = (slot >> 7) - 1
    return (128 + (slot & 127)) << e


def decode_hist(c):
    head = c.bytes(1)[0]
    assert head & 15 == 0, "the agent writes the fixed layout only"
    h = {"overflow": c.varint(), "negative": c.varint(), "lost": c.varint(), "buckets": {}}
    assert h["overflow"] == 0
    for bit, name in ((1, "min"), (2, "max"), (4, "sum")):
        h[name] = c.zigzag() if head >> 4 & bit else None
    last = -1
    for _ in range(c.varint()):
        last += c.varint() + 1
        h["buckets"][slot_lo(last)] = c.varint()
    h["count"] = sum(h["buckets"].values()) + h["negative"]
    return h


def decode_item(kind, data):
    c = Cursor(data)
    if kind in (1, 2, 7, 8, 9, 11):
        return json.loads(data)
    if kind == 3:
        number = c.varint()
        return dict(json.loads(data[c.at:]), number=number)
    if kind == 4:
        it = {"series": c.varint(), "t0": c.zigzag(), "dt": c.varint()}
        it["hist"] = decode_hist(c)
        assert c.left() == 0
        return it
    if kind == 5:
        it = {"series": c.varint(), "t0": c.zigzag(), "dt": c.varint(), "samples": []}
        delta = enabled = 0
        for _ in range(c.varint()):
            delta += c.zigzag()
            enabled += c.zigzag()
            it["samples"].append((delta, enabled, enabled - c.zigzag()))
        assert c.left() == 0
        return it
    if kind == 6:
        return {"series": c.varint(), "value": struct.unpack("<d", c.bytes(8))[0]}
    if kind == 10:
        return {"phase": c.bytes(1)[0], "t": struct.unpack("<q", c.bytes(8))[0]}
    raise ValueError(f"item type {kind}")


Record = collections.namedtuple("Record", "seq run samples boottime realtime items raw")
KINDS = {1: "run_start", 2: "run_end", 3: "series", 4: "hist", 5: "counter", 6: "value", 7: "gap",
         8: "breach", 9: "environment", 10: "phase", 11: "log"}


def decode_records(data, strict=True):
    """Records of a byte string; without `strict` it ends at the first that is none."""
    at, out = 0, []
    while at < len(data):
        head = data[at:at + 44]
        if len(head) == 44:
            magic, version, _, length, seq, run, samples, boot, real, crc = struct.unpack(
                "<HBBIQIIqqI", head)
        good = len(head) == 44 and magic == 0x5253 and version == 1 and 44 <= length <= len(data) - at
        if good:
            body = data[at + 44:at + length]
            good = crc == crc32c(body, crc32c(head[:40]))
        if not good:
            if strict:
                raise ValueError(f"no record at {at}")
            return out
        c, items = Cursor(body), []
        while c.left():
            kind = c.varint()
            payload = c.bytes(c.varint())
            items.append((KINDS[kind], decode_item(kind, payload), payload))
        out.append(Record(seq, run, samples, boot, real, items, data[at:at + length]))
        at += length
    return out


def segment_records(path):
    data = pathlib.Path(path).read_bytes()
    assert data[:4] == b"RSSG" and struct.unpack("<I", data[60:64])[0] == crc32c(data[:60])
    end = len(data)
    if data[-64:-60] == b"RSFT" and struct.unpack("<I", data[-4:])[0] == crc32c(data[-64:-4]):
        end -= 64
    return decode_records(data[64:end], strict=False)


def spool_streams(spool):
    """{stream: [records]} of everything in a spool directory."""
    out = {}
    for path in sorted(pathlib.Path(spool).glob("*/*.seg")):
        if re.fullmatch("[0-9a-f]{32}", path.parent.name):
            out.setdefault(path.parent.name, []).extend(segment_records(path))
    return out


def items(records, kind):
    return [it for r in records for k, it, _ in r.items if k == kind]


def wakeups(records):
    """Histogram items of wakeup_latency, of every run."""
    numbers = {s["number"] for s in items(records, "series") if s["metric"] == "wakeup_latency"}
    return [it for it in items(records, "hist") if it["series"] in numbers]


def merge(hists):
    out = {"count": 0, "lost": 0, "negative": 0, "max": 0, "buckets": collections.Counter()}
    for h in hists:
        for key in ("count", "lost", "negative"):
            out[key] += h[key]
        out["max"] = max(out["max"], h["max"] or 0)
        out["buckets"].update(h["buckets"])
    return out


def at_or_above(hist, ns):
    """Samples whose bucket begins at or above ns."""
    return sum(n for lo, n in hist["buckets"].items() if lo >= ns)


# ---- a stand-in for the server ----

class Peer:
    """Accepts as docs/PROTOCOL.md says. `script` is a list of functions (handler, body) -> bool
    that may answer instead; each is used once and dropped when it returns True."""

    def __init__(self, port=0, host="127.0.0.1"):
        self.streams = {}  # id -> {"next", "records": [(first, last, Record)], "last_crc"}
        self.script = []
        self.connections = set()
        self.always = None  # like an entry of the script that stays
        self.requests = []  # (method, path, headers, body)
        self.order = []  # stream of each stored batch
        self.lock = threading.Lock()
        self.stored = threading.Condition(self.lock)
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                super().setup()
                peer.connections.add(self.connection)

            def finish(self):
                peer.connections.discard(self.connection)
                super().finish()

            def log_message(self, *_):
                pass

            def reply(self, status, obj, headers=()):
                raw = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                for k, v in headers:
                    self.send_header(k, v)
                self.end_headers()
                self.wfile.write(raw)

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with peer.lock:
                    peer.requests.append((self.command, self.path, dict(self.headers), body))
                    ours = self.path.startswith("/api/v1/ingest")
                    if ours and peer.always and peer.always(self, body):
                        return
                    while ours and peer.script:
                        act = peer.script.pop(0)
                        if act(self, body):
                            return
                    status, obj = peer.answer(self.command, self.path, self.headers, body)
                    peer.stored.notify_all()
                self.reply(status, obj)

            do_GET = do_POST = handle_any

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, *_):
                pass

        self.httpd = Server((host, port), Handler)
        self.port = self.httpd.server_address[1]
        self.url = f"http://{host}:{self.port}"
        self.thread = threading.Thread(target=self.httpd.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.httpd.shutdown()
        self.httpd.server_close()
        for c in list(self.connections):
            with contextlib.suppress(OSError):
                c.shutdown(socket.SHUT_RDWR)

    def answer(self, method, path, headers, body):
        if method == "GET" and not path.startswith("/api/v1/ingest/"):
            return 404, {}
        if method == "GET":
            st = self.streams.get(path.rsplit("/", 1)[1])
            return 200, {"next_seq": st["next"] if st else 1}
        assert path == "/api/v1/ingest"
        assert headers["Content-Type"] == "application/x-rigstat-records"
        assert headers["X-Rigstat-CRC32C"] == f"{crc32c(body):08x}"
        stream = headers["X-Rigstat-Stream"]
        st = self.streams.setdefault(stream, {"next": 1, "records": [], "crc": None})
        spans = [span(r, stream) for r in decode_records(body)]
        assert spans[0][0] == int(headers["X-Rigstat-First"])
        assert spans[-1][1] == int(headers["X-Rigstat-Last"])
        for (_, last, _), (first, _, _) in zip(spans, spans[1:]):
            assert first == last + 1, "a body is contiguous"
        if spans[0][0] > st["next"]:
            return 409, {"expected": st["next"]}
        for first, last, r in spans:
            if last == st["next"] - 1 and st["crc"] not in (None, crc32c(r.raw)):
                return 409, {"expected": st["next"], "fork": True}
            if last >= st["next"]:
                st["records"].append((max(first, st["next"]), last, r))
                st["next"] = last + 1
                st["crc"] = crc32c(r.raw)
        self.order.append(stream)
        return 200, {"next_seq": st["next"], "server_ns": time.time_ns()}

    def records_unlocked(self, stream=None):
        """For predicates of wait(), which holds the lock."""
        return [r for s, st in self.streams.items() if stream in (None, s)
                for _, _, r in st["records"]]

    def records(self, stream=None):
        with self.lock:
            return self.records_unlocked(stream)

    def wait(self, predicate, timeout=20):
        end = time.monotonic() + timeout
        with self.stored:
            while not predicate():
                left = end - time.monotonic()
                assert left > 0, "the peer did not get what was expected in time"
                self.stored.wait(min(left, 0.2))

    def check_ledger(self):
        """Each number exactly once, as a record or inside a gap."""
        for st in self.streams.values():
            at = 1
            for first, last, _ in st["records"]:
                assert first == at
                at = last + 1
            assert at == st["next"]


def span(r, stream):
    for kind, it, _ in r.items:
        if kind == "gap" and it["stream"] == stream and it["from_seq"] == r.seq:
            return r.seq, it["to_seq"], r
    return r.seq, r.seq, r


# ---- running the agent ----

class Agent:
    def __init__(self, tmp, *options, command="daemon", prefix=(), spool=None, env=None):
        self.spool = pathlib.Path(spool or tmp / "spool")
        self.log = tmp / f"agent-{time.monotonic_ns()}.log"
        self.argv = [*prefix, binary("rigstat-agent"), command, "--spool", str(self.spool),
                     "--lock-dir", str(tmp), "--spool-free-min", "0",
                     "--retry-spread", "3s", *options,
                     *os.environ.get("RIGSTAT_AGENT_OPTIONS", "").split()]
        full_env = dict(dict(os.environ, ASAN_OPTIONS="detect_leaks=1"), **(env or {}))
        full_env.pop("RIGSTAT_SERVER", None)
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(self.argv, stdout=out, stderr=out, env=full_env,
                                            preexec_fn=_die_with_parent)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_text(self, what, timeout=15):
        end = time.monotonic() + timeout
        while what not in self.text():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, f"no \"{what}\" in:\n{self.text()}"
            time.sleep(0.02)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, timeout=10):
        """SIGTERM; returns how long it took. A leak or a race makes the status non-zero."""
        t0 = time.monotonic()
        self.process.terminate()
        self.process.wait(timeout)
        took = time.monotonic() - t0
        assert self.process.returncode == 0, self.text()
        return took

    def kill(self):
        self.process.kill()
        self.process.wait()


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


@contextlib.contextmanager
def running(agent):
    try:
        yield agent
    finally:
        if agent.process.poll() is None:
            agent.process.send_signal(signal.SIGCONT)
            agent.kill()


def wait_records(spool, predicate, timeout=15):
    """Waits until predicate(all records of the spool) holds."""
    end = time.monotonic() + timeout
    while True:
        records = [r for rs in spool_streams(spool).values() for r in rs]
        if predicate(records):
            return records
        assert time.monotonic() < end, "the spool did not get what was expected in time"
        time.sleep(0.1)


def sha256(data):
    return hashlib.sha256(data).hexdigest()
