# SPDX-License-Identifier: GPL-2.0-or-later
"""The network fails under the agent: cut in one direction or both, slow and lossy. It notices
within a minute, loses nothing, doubles nothing, and goes on by itself."""

import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from agentlib import Agent, Peer, items, running  # noqa: E402

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


def sh(*words, **kw):
    subprocess.run(words, check=True, **kw)


class Box:
    """A network namespace joined to ours by a veth pair."""

    def __init__(self):
        self.name = f"rigstat-{os.getpid()}"
        net = 2 + os.getpid() % 200
        self.here, self.there = f"10.91.{net}.1", f"10.91.{net}.2"
        self.link = f"rs{os.getpid() % 100000}"
        sh("ip", "netns", "add", self.name)
        sh("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns",
           self.name)
        sh("ip", "addr", "add", f"{self.here}/24", "dev", self.link)
        sh("ip", "link", "set", self.link, "up")
        sh("ip", "-n", self.name, "addr", "add", f"{self.there}/24", "dev", "eth0")
        sh("ip", "-n", self.name, "link", "set", "eth0", "up")

    def nft(self, text):
        sh("ip", "netns", "exec", self.name, "nft", "-f", "-", input=text.encode())

    def heal(self):
        self.nft("flush ruleset\n")

    def close(self):
        subprocess.run(["ip", "link", "del", self.link], check=False)
        subprocess.run(["ip", "netns", "del", self.name], check=False)


@pytest.fixture
def box():
    b = Box()
    time.sleep(1.2)  # the first connect after "up" may fail
    yield b
    b.close()


@pytest.fixture
def peer(box):
    p = Peer(host=box.here)
    yield p
    p.stop()


def start(tmp_path, box, peer):
    return Agent(tmp_path, "--server", peer.url, "--blame", "off", "--no-shares",
                 prefix=["ip", "netns", "exec", box.name])


CUT = "table inet cut {{ chain c {{ type filter hook {hook} priority 0; tcp {port} {n} drop\n}}\n}}\n"


def goes_on(agent, peer, more):
    n = len(peer.records())
    peer.wait(lambda: len(peer.records_unlocked()) > n + more, timeout=60)
    agent.wait_text("works again")
    agent.stop()


def nothing_lost(peer):
    peer.check_ledger()
    assert not items(peer.records(), "gap")


@pytest.mark.parametrize("directions", [("output",), ("input",), ("output", "input")])
def test_F16_cut(tmp_path, box, peer, directions):
    with running(start(tmp_path, box, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 3)
        cut = time.monotonic()
        for hook in directions:
            box.nft(CUT.replace("cut", f"cut_{hook}").format(
                hook=hook, port="dport" if hook == "output" else "sport", n=peer.port))
        agent.wait_text("trying again", timeout=60)
        assert time.monotonic() - cut < 60
        time.sleep(5)
        box.heal()
        goes_on(agent, peer, 20)
    nothing_lost(peer)


@pytest.mark.parametrize("answer", ["reject with tcp reset", "reject with icmpx port-unreachable"])
def test_F16_refused(tmp_path, box, peer, answer):
    """The network answers instead of the server: RST, or ICMP unreachable."""
    with running(start(tmp_path, box, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 3)
        box.nft("table inet cut { chain c { type filter hook output priority 0; "
                f"tcp dport {peer.port} {answer}\n}}\n}}\n")
        agent.wait_text("trying again", timeout=60)
        time.sleep(3)
        box.heal()
        goes_on(agent, peer, 5)
    nothing_lost(peer)


def test_F17_lossy(tmp_path, box, peer):
    """30 % of the packets vanish, in both directions: slower, but whole."""
    rule = "table inet lossy {{ chain {h} {{ type filter hook {h} priority 0; " \
           "numgen random mod 100 < 30 drop\n}}\n}}\n"
    box.nft("".join(rule.format(h=h) for h in ("input", "output")))
    with running(start(tmp_path, box, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 15, timeout=90)
        box.heal()
        agent.stop()
    peer.check_ledger()
    assert not items(peer.records(), "gap")


def test_F18_server_is_gone_without_a_word(tmp_path, box, peer):
    """The server's host vanishes: no FIN, no RST, and its address answers nothing."""
    with running(start(tmp_path, box, peer)) as agent:
        peer.wait(lambda: len(peer.records_unlocked()) >= 3)
        gone = time.monotonic()
        sh("ip", "link", "set", box.link, "down")
        agent.wait_text("trying again", timeout=60)
        assert time.monotonic() - gone < 60
        sh("ip", "link", "set", box.link, "up")
        n = len(peer.records())
        peer.wait(lambda: len(peer.records_unlocked()) > n + 5, timeout=90)
        agent.stop()
    peer.check_ledger()
