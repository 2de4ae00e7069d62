# SPDX-License-Identifier: GPL-2.0-or-later
"""Networks between four boxes and the server: cut, refused, slow, half-open, with a proxy or a portal
in between; clocks that jump; copied boxes. Stored once, and the others do not notice."""
import os
import signal
import socket
import subprocess
import time

import pytest

import lab as lablib
import records as rec
from lab import seeded, sh, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


def all_progress(lab, more=3, timeout=60.0):
    for box in lab.boxes:
        lab.progress(box, more, timeout)


def test_F16_every_cut_at_once(lab):
    """Agent to server, server to agent, both, and a firewall that answers with RST: each is
    noticed within a minute and mended by itself."""
    lab.start_all()
    all_progress(lab)
    out, back, both, reset = lab.boxes
    began = time.monotonic()
    for box in (out, both):
        box.drop("output", f"tcp dport {lablib.PORT}")
    for box in (back, both):
        box.drop("input", f"tcp sport {lablib.PORT}")
    reset.drop("output", f"tcp dport {lablib.PORT}", "counter reject with tcp reset")
    for box in lab.boxes:
        box.agent.wait_text("trying again", 60 - (time.monotonic() - began))
        assert box.dropped(), "the cut met no packet"
    print(f"all noticed after {time.monotonic() - began:.0f} s")
    for box in lab.boxes:
        box.heal()
    all_progress(lab, 10, 90)
    lab.ledger.drain()
    lab.ledger.check()


@pytest.fixture
def netdelay(tmp_path):
    """netdelay(box, ms): each packet of the box is ms late, in both directions."""
    program = lablib.build_tool(tmp_path, "netdelay", "netfilter_queue")
    started = []

    def delay(box, ms):
        p = subprocess.Popen([*box.prefix, str(program), str(ms)], stdout=subprocess.PIPE,
                             text=True)
        assert p.stdout.readline() == "ready\n"
        started.append(p)
        for chain in ("INPUT", "OUTPUT"):
            sh(*box.prefix, "iptables", "-A", chain, "-p", "tcp", "-j", "NFQUEUE",
               "--queue-num", "1")
        return p

    yield delay
    for p in started:
        if p.poll() is None:
            p.kill()
            p.wait()


def stop_delay(box, process):
    """How many packets were late."""
    sh(*box.prefix, "iptables", "-F")
    process.send_signal(signal.SIGTERM)
    return int(process.communicate(timeout=10)[0])


def test_F17_slow_and_lossy(lab, netdelay):
    """2 s of round trip, a fifth of the packets lost, 10 kbit/s: slow progress, no lasting hold
    on the server, and the other boxes do not notice."""
    slow, others = lab.boxes[0], lab.boxes[1:]
    delay = netdelay(slow, 1000)
    sh("ip", "netns", "exec", slow.name, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf",
       "rate", "10kbit", "burst", "2kb", "latency", "5s")
    slow.drop("input", "numgen random mod 5 == 0")
    lab.start_all()
    for box in others:
        lab.progress(box, 10)
    lab.progress(slow, 3, 180)
    for box in others:
        lab.progress(box, 10)
        assert "trying again" not in box.agent.text()
    lost, late = slow.dropped(), stop_delay(slow, delay)
    assert lost >= 2 and late >= 10, (lost, late)
    print(f"{late} packets were late, {lost} lost")
    sh("ip", "netns", "exec", slow.name, "tc", "qdisc", "del", "dev", "eth0", "root")
    slow.heal()
    wait_until("the server holds nothing for it", lambda: lab.server.metrics()[
        "rigstat_ingest_posts_pending"] <= 1, 40)
    lab.ledger.drain()
    lab.ledger.check()


def test_F17_delay_alone(lab, netdelay):
    """300 ms each way for all: everything arrives, only later."""
    delays = [(b, netdelay(b, 300)) for b in lab.boxes]
    lab.start_all()
    all_progress(lab, 15)
    for box, process in delays:
        assert stop_delay(box, process) >= 10
        assert "trying again" not in box.agent.text()
    lab.ledger.drain()
    lab.ledger.check()


def test_F18_half_open_both_ends(lab):
    """The cable of two boxes is pulled and nobody says goodbye: the agents notice within a
    minute, and the server does not keep the dead connections."""
    lab.start_all()
    all_progress(lab)
    before = lab.server.metrics()["rigstat_http_connections"]
    pulled, began = lab.boxes[:2], time.monotonic()
    for box in pulled:
        sh("ip", "link", "set", box.link, "down")
    for box in pulled:
        box.agent.wait_text("trying again", 60 - (time.monotonic() - began))
    wait_until("the server has let go of them", lambda: lab.server.metrics()[
        "rigstat_http_connections"] <= before - 2, 75)
    print(f"both ends after {time.monotonic() - began:.0f} s")
    for box in pulled:
        sh("ip", "link", "set", box.link, "up")
    all_progress(lab, 5, 90)
    lab.ledger.drain()
    lab.ledger.check()


def test_F19_connections_that_close_on_a_request(lab):
    """The other side closes a connection just as a request arrives, or after it was stored and
    before the answer: sent again, by curl or by us, and stored once."""
    rng, hits = seeded(), {"unread": 0, "stored": 0}

    def policy(n, request):
        if not request.startswith(b"POST /api/v1/ingest") or rng.random() > 0.3:
            return None
        if rng.random() < 0.5:
            hits["unread"] += 1
            return lambda client, data: True

        def store_and_close(client, data):
            proxy.forward(data)
            hits["stored"] += 1
            return True

        return store_and_close

    proxy = lablib.Proxy(lab, policy)
    lab.start_all(server=proxy.url)
    for _ in range(3):
        all_progress(lab, 8, 90)
    assert hits["unread"] >= 2 and hits["stored"] >= 2, hits
    posts = [r.partition(b"\r\n\r\n")[2] for r in proxy.requests if r.startswith(b"POST")]
    assert len(set(posts)) < len(posts), "nothing was sent twice"
    assert lab.server.metrics()["rigstat_ingest_duplicates_total"] >= 1
    print(hits, f"{len(posts)} posts, {len(set(posts))} different")
    for box in lab.boxes:
        box.stop()
    proxy.close()
    lab.ledger.drain()
    lab.ledger.check()


PORTAL = b"<html>Please accept our terms to use this network</html>"


def answer(status, body, *headers):
    head = [f"HTTP/1.1 {status}".encode(), b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


@pytest.mark.quick
def test_F22_captive_portal(lab):
    """200 with a page, 200 with JSON that is no answer of ours, a redirect, 511: nothing is taken
    for an acknowledgement, and the token goes nowhere else."""
    trap = socket.create_server((f"{lab.net}.254", 0))
    trap.settimeout(0.3)
    there = ("Location: http://%s:%d/" % trap.getsockname()).encode()
    answers = [answer("200 OK", PORTAL), answer("200 OK", b"{}"), answer("302 Found", b"", there),
               answer("200 OK", b'{"next_seq":"9"}'), answer("307 Temporary Redirect", b"", there),
               answer("511 Network Authentication Required", PORTAL),
               answer("200 OK", b'{"next_seq":-5}'), answer("200 OK", b"")]
    given, open_ = [], []

    def policy(n, request):
        if open_:
            return None

        def act(client, data):
            given.append(answers[len(given) % len(answers)])
            client.sendall(given[-1])

        return act

    proxy = lablib.Proxy(lab, policy)
    lab.start_all(server=proxy.url)
    for box in lab.boxes:
        box.agent.wait_text("delivering to", 40)  # before that a SIGHUP ends it
    end = time.monotonic() + 60
    while len(set(given)) < len(answers):
        assert time.monotonic() < end, f"only {len(set(given))} of the answers were asked for"
        time.sleep(1)
        for box in lab.boxes:
            box.agent.signal(signal.SIGHUP)  # reads the token again and tries at once
    assert not lab.marks()
    with pytest.raises(TimeoutError):
        trap.accept()
    trap.close()
    open_.append(True)
    for box in lab.boxes:
        box.agent.signal(signal.SIGHUP)
    all_progress(lab)
    for box in lab.boxes:
        assert "no rigstat-server" in box.agent.text()
        box.stop()
    proxy.close()
    lab.ledger.drain()
    lab.ledger.check()


def test_F14_wall_clock_jumps(lab, tmp_path):
    """A year ahead, an hour back, ten years back, and a step each second while sending: no
    silence, no lost record, and stored by the time of receipt."""
    year, shims = 365 * 86400 * 10**9, []
    for box in lab.boxes:
        directory = tmp_path / f"shim{box.number}"
        directory.mkdir()
        shims.append(lablib.Shim(directory))
        box.start(env=shims[-1].env, asan="verify_asan_link_order=0")
        lab.progress(box)
    shims[0].set(realtime_ns=year)
    shims[1].set(realtime_ns=-3600 * 10**9)
    shims[2].set(realtime_ns=-10 * year)
    for n in range(6):
        shims[3].set(realtime_ns=(n % 3 - 1) * 86400 * 10**9)
        time.sleep(1)
    all_progress(lab, 15, 20)  # 3 s of records each: silence would be seen
    far = lab.ledger.generated(lab.boxes[0].host)
    now = time.time_ns()
    assert max(r.realtime for rs in far.values() for r in rs.values()) > now + year // 2
    days = lab.server.sql("select distinct received_at::date - current_date from "
                          "rigstat.record_staging union select max(last_seen)::date - "
                          "current_date from rigstat.ingest_stream")
    assert {int(d[0]) for d in days} <= {0, -1}
    for box in lab.boxes:
        assert box.agent.process.poll() is None
        assert "trying again" not in box.agent.text()
        box.stop()
    lab.ledger.drain()
    lab.ledger.check()


def test_F15_suspended(lab, tmp_path):
    """The boot clock runs on in a suspend and the monotonic one does not: connections are opened
    anew. SIGSTOP and SIGCONT: it goes on."""
    box, stopped = lab.boxes[:2]
    directory = tmp_path / "shim"
    directory.mkdir()
    shim = lablib.Shim(directory)
    box.start(env=shim.env, asan="verify_asan_link_order=0")
    for b in lab.boxes[1:]:
        b.start()
    all_progress(lab)
    stopped.agent.signal(signal.SIGSTOP)
    shim.set(boottime_ns=600 * 10**9)
    box.agent.wait_text("the box was suspended for ", 10)
    lab.progress(box, 5)
    time.sleep(5)
    stopped.agent.signal(signal.SIGCONT)
    all_progress(lab, 5)
    lab.ledger.drain()
    lab.ledger.check()


@pytest.mark.quick
def test_F27_same_numbers_of_a_copy(lab, tmp_path):
    """A copy of the box (a restored snapshot) has used our next numbers: the fork is seen and
    counted, what was not delivered is kept aside and named, and the box goes on as a new
    stream."""
    lab.start_all()
    all_progress(lab)
    box = lab.boxes[0]
    (stream,) = lab.marks(box.host)
    box.agent.signal(signal.SIGSTOP)
    time.sleep(1)  # what was under way is stored
    at = lab.marks(box.host)[stream][0]
    copy = [r for r in rec.recgen(tmp_path / "copy", host=box.host, seconds=9, experiment="",
                                  watch=True, first_seq=at)][:5]
    assert rec.post(lab.server, stream, copy, host=box.host).status == 200
    box.agent.signal(signal.SIGCONT)
    box.agent.wait_text("the server holds other bytes", 60)
    wait_until("a new stream", lambda: len(lab.marks(box.host)) == 2, 60)
    lab.progress(box, 10)
    assert wait_until("counted", lambda: lab.marks(box.host)[stream][3], 20) >= 1
    assert list(box.spool.glob("rejected/*"))
    for b in lab.boxes:
        b.stop()
    lab.ledger.drain(unseen={box.host})
    gaps = [g for g in lab.ledger.gaps(box.host) if g["reason"] == "rejected"]
    assert gaps and gaps[0]["stream"] == stream and gaps[0]["from_seq"] >= at, gaps
    for b in lab.boxes[1:]:
        lab.ledger.check_box(b, set(), 0)
        assert all(m[3] == 0 for m in lab.marks(b.host).values())


def test_F28_two_agents_on_one_spool(lab):
    """The second one refuses with a message; the first one does not notice."""
    lab.start_all()
    all_progress(lab)
    box = lab.boxes[0]
    first = box.agent
    second = box.start()
    assert second.process.wait(20) == 4
    assert "another rigstat-agent daemon uses the spool" in second.text()
    box.agent = first
    lab.progress(box)
    lab.ledger.drain()
    lab.ledger.check()
