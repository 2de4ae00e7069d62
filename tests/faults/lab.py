# SPDX-License-Identifier: GPL-2.0-or-later
"""A lab: four boxes and a server, each in a network namespace of its own on one bridge, and the
ledger of what the boxes generated.

The ledger is the oracle of all fault tests: of each number of each stream that ever was on a box's
disk, the server has the same record once, or a gap names it; nothing else is stored. It keeps hard
links of all segments, so that it knows what an agent has deleted since."""
import contextlib
import errno
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from agentlib import (Agent, decode_records, items, running, segment_records,  # noqa: E402,F401
                      slot_lo)
from conftest import wait_until  # noqa: E402,F401

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "tools"
TOKEN = "rs_abcdefgh_" + "L" * 43
PORT = 8421


def seeded():
    """A random generator, and its seed in the output of the test."""
    seed = int(os.environ.get("RIGSTAT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
    print(f"seed {seed} (RIGSTAT_SEED={seed} repeats it)")
    return random.Random(seed)


def sh(*words, **kw):
    subprocess.run([str(w) for w in words], check=True, **kw)


def build_tool(directory, name, *libraries, shared=False):
    """A program or library of tests/tools that only these tests need."""
    out = directory / (name + (".so" if shared else ""))
    sh("cc", "-O1", "-Wall", "-Wextra", "-Werror", *(["-shared", "-fPIC"] if shared else []),
       "-o", out, TOOLS / f"{name}.c", *[f"-l{lib}" for lib in libraries])
    return out


class Namespace:
    def __init__(self, name, address, bridge, link):
        self.name, self.address, self.link = name, address, link
        sh("ip", "netns", "add", name)
        sh("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        sh("ip", "link", "set", link, "master", bridge, "up")
        sh("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            sh("ip", "-n", name, "link", "set", device, "up")
        self.prefix = ["ip", "netns", "exec", name]

    def nft(self, text):
        sh(*self.prefix, "nft", "-f", "-", input=text.encode())

    def drop(self, hook, match, verdict="counter drop"):
        """A rule at input or output; the counter says whether it was met."""
        self.nft(f"table inet f_{hook} {{ chain c {{ type filter hook {hook} priority 0; "
                 f"{match} {verdict}\n}}\n}}\n")

    def dropped(self):
        """Packets that the rules have counted."""
        out = subprocess.run([*self.prefix, "nft", "list", "ruleset"], check=True,
                             capture_output=True, text=True).stdout.split()
        return sum(int(out[i + 1]) for i, w in enumerate(out) if w == "packets")

    def heal(self):
        self.nft("flush ruleset\n")

    def close(self):
        for words in (["ip", "link", "del", self.link], ["ip", "netns", "del", self.name]):
            subprocess.run(words, check=False, stderr=subprocess.DEVNULL)


class Box(Namespace):
    """A box: its network, its disk, and the agent that runs on it."""

    def __init__(self, number, lab):
        super().__init__(f"{lab.name}b{number}", f"{lab.net}.{10 + number}", lab.bridge,
                         f"{lab.bridge}b{number}")
        self.number, self.lab = number, lab
        self.agent = self.dir = self.host = None

    def begin(self, directory, test):
        """A fresh disk and a host name of its own for a test."""
        self.dir, self.host = directory, f"{test}-box{self.number}"
        self.dir.mkdir(mode=0o755)
        self.token = self.dir / "token"
        self.token.write_text(TOKEN + "\n")
        self.spool = self.dir / "spool"

    def start(self, *options, server=None, prefix=(), env=None, asan=None):
        if asan:
            env = dict(env or {}, ASAN_OPTIONS=f"detect_leaks=1:{asan}")
        self.agent = Agent(self.dir, "--server", server or self.lab.url, "--host", self.host,
                           "--token-file", str(self.token), "--cpus", "0", "--period", "4ms",
                           "--interval", "200ms", "--blame", "off", "--no-shares", "--no-io",
                           "--no-locks", "--no-experiments", *options,
                           prefix=[*self.prefix, *prefix], env=env)
        return self.agent

    def stop(self):
        took = self.agent.stop()
        self.agent = None
        return took

    def kill(self):
        if self.agent and self.agent.process.poll() is None:
            self.agent.process.send_signal(signal.SIGCONT)
            self.agent.kill()
        self.agent = None


class Lab:
    """The bridge is in the test's own namespace, so that the test reaches all."""
    numbers = itertools.count()

    def __init__(self, make_server, boxes=4):
        number = next(self.numbers)
        self.net = f"10.{92 + number}.{1 + os.getpid() % 250}"
        self.bridge = f"rl{os.getpid() % 100000}{'xyz'[number]}"
        self.name = f"rigstat-{os.getpid()}-{number}"
        self.parts = []
        try:
            sh("ip", "link", "add", self.bridge, "type", "bridge")
            sh("ip", "addr", "add", f"{self.net}.254/24", "dev", self.bridge)
            sh("ip", "link", "set", self.bridge, "up")
            self.host = Namespace(f"{self.name}s", f"{self.net}.1", self.bridge,
                                  f"{self.bridge}s")
            self.parts.append(self.host)
            self.boxes = []
            for i in range(boxes):
                self.boxes.append(Box(i + 1, self))
                self.parts.append(self.boxes[-1])
            time.sleep(1.2)  # the first connect after "up" may fail
            self.url = f"http://{self.net}.1:{PORT}"
            self.server = self.make(make_server) if make_server else None
        except BaseException:
            self.close()
            raise

    def make(self, make_server, args=(), **kw):
        server = make_server(listen=f"{self.net}.1:{PORT}", prefix=self.host.prefix, token=TOKEN,
                             args=list(args), **kw)
        token = server.dir / "token"
        token.write_text(TOKEN + "\n")
        server.args += ["--token-file", str(token)]
        return server

    def close(self):
        for box in getattr(self, "boxes", []):
            box.kill()
        for part in self.parts:
            part.close()
        subprocess.run(["ip", "link", "del", self.bridge], check=False)

    def begin(self, tmp_path, test):
        """A ledger over fresh boxes."""
        for box in self.boxes:
            box.kill()
            box.heal()
            box.begin(tmp_path / f"box{box.number}", test)
        self.host.heal()
        return Ledger(self, tmp_path / "ledger")

    def start_all(self, *options, **kw):
        for box in self.boxes:
            box.start(*options, **kw)

    def marks(self, host=None):
        """{stream: (next_seq, samples, gap_samples, forks)} as the database says."""
        hosts = ", ".join(f"'{h}'" for h in ([host] if host else [b.host for b in self.boxes]))
        rows = self.server.sql(
            "select replace(s.stream_id::text, '-', ''), next_seq, samples, gap_samples, forks "
            "from rigstat.ingest_stream s join rigstat.host h using (host_id) "
            f"where h.name in ({hosts}) order by first_seen")
        return {r[0]: tuple(map(int, r[1:])) for r in rows}

    def progress(self, box, more=3, timeout=60.0):
        """Waits until `more` numbers more of the box are stored."""
        def total():
            return sum(m[0] for m in self.marks(box.host).values())

        goal = total() + more
        wait_until(f"{box.host} goes on", lambda: total() >= goal, timeout)


def segments(spool):
    """Files of streams; directories may vanish under our eyes."""
    out = []
    for stream in sorted(spool.glob("[0-9a-f]" * 32)):
        with contextlib.suppress(FileNotFoundError):
            out += [stream / name for name in sorted(os.listdir(stream)) if name.endswith(".seg")]
    return out


class Ledger:
    """Hard links of every segment of every box, and the check against the server."""

    def __init__(self, lab, directory):
        self.lab, self.dir = lab, directory
        directory.mkdir()
        self.ended, self.failure = threading.Event(), None
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        try:
            while not self.ended.wait(0.05):
                self.collect()
        except BaseException as e:  # pylint: disable=broad-except
            self.failure = e


    def collect(self):
        for box in self.lab.boxes:
            for path in segments(box.spool):
                copy = self.dir / f"{box.host}@{path.parent.name}@{path.name}"
                try:
                    os.link(path, copy)
                except (FileExistsError, FileNotFoundError):
                    pass
                except OSError as e:  # another file system: copies, as good as they come
                    assert e.errno == errno.EXDEV
                    with contextlib.suppress(FileNotFoundError):
                        if not copy.exists() or copy.stat().st_size != path.stat().st_size:
                            shutil.copy(path, copy)

    def close(self):
        self.ended.set()
        self.thread.join()

    def spare(self, path):
        """Before a test damages a segment: the ledger keeps the good bytes."""
        self.collect()
        data = pathlib.Path(path).read_bytes()
        os.unlink(path)
        pathlib.Path(path).write_bytes(data)

    def generated(self, host):
        """{stream: {number: record}} of all that was on the disk of the box."""
        out = {}
        for path in sorted(self.dir.glob(f"{host}@*")):
            stream = path.name.split("@")[1]
            with open(path, "rb") as f:
                if f.read(24)[8:].hex() != stream:
                    continue  # a test has put it there
            for r in segment_records(path):
                out.setdefault(stream, {}).setdefault(r.seq, r)
        return out

    # ---- the end ----

    def drain(self, timeout=90.0, unseen=(), damaged=False):
        """Two lives that end in order: the first delivers all before it, the second the first.
        Of the hosts `unseen` the disk does not say what there is."""
        self.unseen, self.damaged = set(unseen), damaged
        for _ in range(2):
            for box in self.lab.boxes:
                box.kill()
                box.heal()
                box.start()
            for box in self.lab.boxes:
                box.agent.wait_text("delivering to")
                wait_until(f"{box.host} is drained", lambda b=box: self.is_drained(b), timeout)
                self.collect()
                box.stop()

    def is_drained(self, box):
        """All streams but the agent's own."""
        marks = self.lab.marks(box.host)
        if self.damaged or box.host in self.unseen:
            # Delivery is in the order of streams: its own comes last. (Recovery names others in the log.)
            own = re.search(r"stream ([0-9a-f]{32}), delivering to", box.agent.text()).group(1)
            return own in marks
        streams = self.generated(box.host)
        own = max(streams, key=lambda s: next(iter(streams[s].values())).boottime, default=None)
        return all(s in marks and marks[s][0] > max(rs) for s, rs in streams.items() if s != own)

    def check(self, reasons=(), tails=0):
        """Stored + gaps = generated. `reasons` of gaps that may be; returns the gaps by host."""
        gaps = {}
        for box in self.lab.boxes:
            gaps[box.host] = self.check_box(box, set(reasons), tails)
        return gaps

    def check_box(self, box, reasons, tails):
        assert not self.failure, f"the ledger broke: {self.failure!r}"
        marks, made, out = self.lab.marks(box.host), self.generated(box.host), []
        assert made, f"{box.host} generated nothing"
        last = list(marks)[-1]
        for stream, records in made.items():
            next_seq, samples, gap_samples, _ = marks[stream]
            if stream != last:
                assert next_seq + tails > max(records), f"{stream}: {max(records)} is not stored"
            gaps = [g for g in self.gaps(box.host) if g["stream"] == stream
                    and g["reason"] != "unclean_end"]
            lost = {n for g in gaps for n in range(g["from_seq"], g["to_seq"] + 1)}
            numbers = set(range(1, next_seq))
            missing = numbers - set(records) - lost
            assert not missing, f"{stream}: {sorted(missing)[:5]} are neither generated nor a gap"
            assert {g["reason"] for g in gaps} <= reasons, gaps
            want = sum(r.samples for n, r in records.items() if n in numbers and n not in lost)
            assert samples == want, (stream, samples, want, gap_samples)
            assert len(lost) == sum(g["to_seq"] - g["from_seq"] + 1 for g in gaps), "gaps overlap"
            out += gaps
        assert set(marks) <= set(made), "the server has streams that no box made"
        self.check_histograms(box, made, out, marks)
        return out

    def check_rate(self, box, reasons=()):
        """Where not all records were on a disk: each ended run has as many samples as its measured
        time has periods. A lost or doubled record would be 50 of them."""
        lost = [g for g in self.gaps(box.host) if g["reason"] != "unclean_end"]
        assert {g["reason"] for g in lost} <= set(reasons), lost
        path = f"/api/v1/runs?q=kind%3Dwatch,host%3D{box.host}&limit=100"
        wait_until("all runs but the last have ended", lambda: sum(
            r["state"] == "running" for r in self.lab.server.get(path).json()["items"]) <= 1, 90)
        runs = [r for r in self.lab.server.get(path).json()["items"] if r["state"] == "ok"]
        for run in runs:
            detail = self.lab.server.get(f"/api/v1/runs/{run['id']}").json()
            got = self.lab.server.get(
                f"/api/v1/runs/{run['id']}/histograms/wakeup_latency").json()["count"]
            due = run["measured_ns"] / 4e6
            missed = sum(s.get("missed") or 0 for s in detail["series"])
            gone = sum(g["samples"] for g in lost)
            assert due - 30 <= got + missed + gone <= due + 30, (run["id"], got, missed, gone, due)
        assert runs, f"{box.host}: no run was compared"

    def gaps(self, host):
        """Gap items that are stored: those in staging and packed ones. In this order: what is packed
        in between is seen twice, never not at all."""
        found = {}
        rows = self.lab.server.sql(
            "select encode(records, 'hex') from rigstat.record_staging s join rigstat.host h "
            f"using (host_id) where h.name = '{host}'")
        for (text,) in rows:
            for g in items(decode_records(bytes.fromhex(text)), "gap"):
                found[(g["stream"], g["from_seq"])] = g
        rows = self.lab.server.sql(
            "select replace(g.stream_id::text, '-', ''), from_seq, to_seq, samples, reason "
            f"from rigstat.gap g join rigstat.host h using (host_id) where h.name = '{host}'")
        for r in rows:
            found[(r[0], int(r[1]))] = dict(stream=r[0], from_seq=int(r[1]), to_seq=int(r[2]), samples=int(r[3]),
                                            reason=r[4])
        return list(found.values())

    def check_histograms(self, box, made, gaps, marks):
        """Bucket by bucket, of each run that has ended: what the compactor packed is what the
        box measured, once."""
        lost = {(g["stream"], n) for g in gaps for n in range(g["from_seq"], g["to_seq"] + 1)}
        want, checked = {}, 0
        for stream, records in made.items():
            measured_buckets([r for n, r in sorted(records.items()) if (stream, n) not in lost
                              and n < marks[stream][0]], want)
        path = f"/api/v1/runs?q=kind%3Dwatch,host%3D{box.host}&limit=100"
        wait_until("all runs but the last have ended", lambda: sum(
            r["state"] == "running" for r in self.lab.server.get(path).json()["items"]) <= 1, 90)
        for run in self.lab.server.get(path).json()["items"]:
            if run["state"] == "running" or not want.get(run["uid"]):
                continue
            got = self.lab.server.get(
                f"/api/v1/runs/{run['id']}/histograms/wakeup_latency?format=csv")
            assert got.status == 200, got.body
            rows = [line.split(",") for line in got.body.decode().split()
                    if line[0].isdigit() or line[0] == "-"]
            have = {int(lo): int(n) for lo, _, n in rows if int(n)}
            assert have == want[run["uid"]], f"{box.host} {run['id']} {run['state']}"
            checked += 1
        assert checked, f"{box.host}: no run was compared"


def measured_buckets(records, out):
    """{run uid: {bucket: samples}} of the measured windows."""
    run, measured, numbers = None, False, set()
    for r in records:
        for kind, it, _ in r.items:
            if kind == "run_start":
                run, measured, numbers = out.setdefault(it["run_uid"], {}), False, set()
            elif kind == "series" and it["metric"] == "wakeup_latency":
                numbers.add(it["number"])
            elif kind == "phase":
                measured = it["phase"] == 2
            elif kind == "hist" and it["series"] in numbers and (measured or window_ends(r)):
                for lo, n in it["hist"]["buckets"].items():
                    run[lo] = run.get(lo, 0) + n


def window_ends(record):
    """The last measured item stands before the phase that ends the window."""
    return any(k == "phase" and it["phase"] == 3 for k, it, _ in record.items)


class Shim:
    """The clocks and the fsync of one agent, changed while it runs (tests/tools/faultshim.c)."""

    FIELDS = ("realtime_ns", "boottime_ns", "fsync_errno", "fsync_failed")

    def __init__(self, directory):
        self.library = build_tool(directory, "faultshim", "dl", shared=True)
        self.path = directory / "faults"
        self.path.write_bytes(bytes(8 * len(self.FIELDS)))
        self.env = {"LD_PRELOAD": str(self.library), "FAULTSHIM": str(self.path)}

    def set(self, **values):
        with open(self.path, "r+b") as f:
            for name, value in values.items():
                f.seek(8 * self.FIELDS.index(name))
                f.write(struct.pack("<q", value))

    def get(self, name):
        return struct.unpack_from("<q", self.path.read_bytes(), 8 * self.FIELDS.index(name))[0]


class Proxy:
    """Between an agent and the server, on the bridge. `policy(n, request)` says what happens to
    the n-th request: None passes it on, else it is called with the client's socket and the bytes
    and answers by itself (or closes)."""

    def __init__(self, lab, policy):
        self.lab, self.policy = lab, policy
        self.requests, self.lock = [], threading.Lock()
        self.listener = socket.create_server((f"{lab.net}.254", 0))
        self.url = "http://%s:%d" % self.listener.getsockname()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    @staticmethod
    def message(sock):
        """One HTTP message with Content-Length, or b"" at the end."""
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return b""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                       if line.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            more = sock.recv(65536)
            if not more:
                return b""
            body += more
        return head + b"\r\n\r\n" + body

    def forward(self, data):
        with socket.create_connection((f"{self.lab.net}.1", PORT), timeout=30) as server:
            server.sendall(data)
            return self.message(server)

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            while request := self.message(client):
                with self.lock:
                    self.requests.append(request)
                    act = self.policy(len(self.requests), request)
                if act:
                    if act(client, request):
                        return
                    continue
                client.sendall(self.forward(request))

    def close(self):
        self.listener.close()


