# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments over boots: the agent's whole way, with a box whose boot loader is a few files.

A "boot" is a new boot id (bind-mounted in a mount namespace, as containers have it) and a new daemon.
The box's scripts are real programs that rigstat-tune runs: one chooses the next boot, one tells what
has booted, one asks for the reboot."""
import json
import os
import signal
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from agentlib import Agent
from conftest import BUILD, ROOT, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mount namespaces and settings")

IN_NAMESPACE = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"')


class Box:
    """A machine with a default kernel, a one-shot choice for the next boot, and a power button."""

    def __init__(self, path, timeout="1min"):
        self.dir = path
        self.spool = path / "spool"
        self.plan = self.spool / "boot.plan"
        self.tunables = path / "tunables.d"
        self.tunables.mkdir()
        self.boot_id = path / "boot_id"
        self.daemon = None
        self.server = []
        (path / "booted").write_text("old\n")
        self.script("boot-once", f'echo "$1" > {path}/next')
        self.script("show-boot", f"cat {path}/booted")
        self.script("reboot", f"touch {path}/going-down")
        (self.tunables / "boot.conf").write_text(f"""[kernel]
values = old new
apply = {path}/boot-once {{value}}
verify = {path}/show-boot
reboot = {path}/reboot
boot_timeout = {timeout}
[plain]
values = old new
apply = /bin/true {{value}}
verify = /bin/echo old
""")
        self.new_boot()

    def script(self, name, text):
        (self.dir / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.dir / name).chmod(0o755)

    def new_boot(self):
        self.boot_id.write_text(f"{uuid.uuid4()}\n")

    def options(self):
        return ["--tunables-dir", str(self.tunables), "--journal", str(self.dir / "journal"), "--blame", "off",
                "--no-shares", *self.server]

    def run(self, *words, status=0):
        argv = [*IN_NAMESPACE, self.boot_id, BUILD / "agent/rigstat-agent", "run", "--spool", self.spool, "--lock-dir",
                self.dir, "--spool-free-min", "0", *self.options(), *words]
        done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=60,
                              env={k: v for k, v in os.environ.items() if not k.startswith("RIGSTAT_")})
        assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def start_daemon(self):
        self.daemon = Agent(self.dir, "--interval", "200ms", *self.options(), spool=self.spool,
                            prefix=(*IN_NAMESPACE, str(self.boot_id)))

    def stop_daemon(self, how=signal.SIGKILL):
        if self.daemon:
            self.daemon.process.send_signal(how)
            self.daemon.process.wait(60)
        self.daemon = None

    def power_cycle(self, level=None, down_s=0):
        """The box goes down when asked and comes up with what was chosen, or with `level`."""
        wait_until("the reboot is asked for", lambda: (self.dir / "going-down").exists(), 60)
        self.stop_daemon()
        (self.dir / "going-down").unlink()
        chosen = (self.dir / "next").read_text()
        (self.dir / "next").unlink()
        (self.dir / "booted").write_text(f"{level}\n" if level else chosen)
        self.new_boot()
        time.sleep(down_s)
        self.start_daemon()
        return chosen.strip()

    def wait_end(self):
        wait_until("the plan is carried out", lambda: not self.plan.exists(), 60)

    def log(self):
        return "".join(p.read_text() for p in sorted((self.spool / "logs").glob("boots-*.log")))


@pytest.fixture
def box(tmp_path):
    made = Box(tmp_path)
    yield made
    made.stop_daemon()


DESIGN = ["--experiment", "ker", "--factor", "kernel=old,new", "--boot", "kernel=kernel", "--warmup", "0s", "--duration",
          "300ms"]


def test_a_plan_over_boots_is_carried_out(box, server):
    """Six boots in ABBA order. One comes up with the wrong kernel, in another the agent is killed."""
    url = f"http://{server.address}"
    box.server = ["--server", url, "--host", "box<b>"]
    said = box.run(*DESIGN, "--boots", "3", "--runs-per-boot", "2", status=75)
    assert "experiment ker: 12 runs (6 in each of 2 cells, abba), 6 boots" in said
    assert "boot 1 of 6 (kernel=old): the box goes down" in said
    chosen = []
    for boot in range(1, 7):
        chosen.append(box.power_cycle(level="old" if boot == 2 else None))
        if boot == 3:
            wait_until("a run of the third boot", lambda: json.loads(box.plan.read_text())["next"] == 5, 30)
            box.stop_daemon()
            box.start_daemon()
    box.wait_end()
    assert chosen == ["old", "new", "new", "old", "old", "new"]
    wait_until("the summary", lambda: "10 of 12 runs in 6 boots ended well, 2 failed" in box.log())

    def runs():
        found = server.get("/api/v1/runs?q=experiment=ker,kind=measured&limit=100").json()["items"]
        return sorted((r["order"], r["factors"]["kernel"], r["block"]) for r in found if r["state"] == "ok")
    wait_until("all runs are there", lambda: len(runs()) == 10, 60)
    assert runs() == [(1, "old", 1), (2, "old", 1), (5, "new", 2), (6, "new", 2), (7, "old", 2), (8, "old", 2),
                      (9, "old", 3), (10, "old", 3), (11, "new", 3), (12, "new", 3)]
    assert box.log().count("old has booted in place of new") == 3  # the boot, and each of its runs
    assert "Settings of an earlier" not in box.log()
    done = subprocess.run([BUILD / "cli/rigstat", "compare", "--server", url, "--a", "experiment=ker,kernel=old", "--b",
                           "experiment=ker,kernel=new"], capture_output=True, text=True, timeout=60)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and "6 + 4 runs are 3 + 2 boots" in said, done.stdout + done.stderr


def test_a_boot_that_comes_too_late_is_filed_as_failed(tmp_path):
    box = Box(tmp_path, timeout="7s")
    try:
        box.run(*DESIGN, "--boots", "1", "--runs-per-boot", "1", status=75)
        box.power_cycle(down_s=7.5)
        box.power_cycle(level="new")
        box.wait_end()
        wait_until("the summary", lambda: "1 of 2 runs in 2 boots ended well, 1 failed" in box.log())
        assert "the box came back" in box.log() and "after the limit of 7 s" in box.log(), box.log()
    finally:
        box.stop_daemon()


def test_what_is_refused(box):
    refused = {
        ("--boot", "kernel=plain"): "is not set by a boot: its tunable needs a reboot step",
        ("--boot", "kernel=nothing"): "no tunable 'nothing'",
        ("--tune", "kernel=kernel"): "is set by a boot: run with --boot kernel=kernel",
    }
    base = [w for w in DESIGN if w not in ("--boot", "kernel=kernel")]
    for words, why in refused.items():
        said = box.run(*base, "--runs", "1", *words, status=3)
        assert why in said, said
        assert not (box.dir / "going-down").exists() and not box.plan.exists()
    said = box.run("--experiment", "x", "--factor", "kernel=old,6.99", "--boot", "kernel=kernel", status=3)
    assert "does not allow '6.99'" in said


def test_one_experiment_at_a_time_and_abandon(box):
    box.run(*DESIGN, status=75)
    said = box.run("--experiment", "other", "--runs", "1", "--duration", "100ms", status=4)
    assert "experiment ker is under way over boots" in said and "--abandon ends it" in said
    assert "has not come yet" in box.run("--resume", status=75)
    assert "The experiment is ended" in box.run("--abandon")
    box.run("--resume", status=3)
    box.run("--abandon", status=3)
    box.plan.write_text("{")
    assert "cannot be read" in box.run("--resume", status=3)
    box.run("--abandon")


GRUB_CFG = """menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1f0a' {
	linux /boot/vmlinuz-6.13.1 root=UUID=1f0a ro quiet
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1f0a' {
	menuentry 'Debian GNU/Linux, with Linux 6.13.1' --class gnu $menuentry_id_option 'gnulinux-6.13.1-advanced-1f0a' {
	}
	menuentry 'Debian GNU/Linux, with Linux 6.13.1 (recovery mode)' $menuentry_id_option 'gnulinux-6.13.1-recovery-1f0a' {
	}
}
"""
BOOTCTL = """#!/bin/sh
[ "$1" = list ] && echo '[{"id": "deb-6.1.conf", "version": "6.1"}, {"id": "deb-6.13.1.conf", "version": "6.13.1"}]' && exit
echo "$@" """


def example(name, *words, status=0, **env):
    done = subprocess.run([ROOT / "packaging/examples/boot" / name, *words], capture_output=True, text=True, timeout=20,
                          env=dict(os.environ, **env))
    assert done.returncode == status, done.stderr
    return (done.stdout + done.stderr).strip()


def test_example_scripts(tmp_path):
    (tmp_path / "grub").mkdir()
    (tmp_path / "grub/grub.cfg").write_text(GRUB_CFG)
    (tmp_path / "vmlinuz-6.13.1").touch()
    (tmp_path / "vmlinuz-6.99").touch()
    (tmp_path / "cmdline").write_text("root=/dev/vda1 mitigations=auto,nosmt quiet\n")
    (tmp_path / "bootctl").write_text(BOOTCTL)
    (tmp_path / "bootctl").chmod(0o755)
    env = {"BOOT_DIR": str(tmp_path), "GRUB_REBOOT": "echo", "KEXEC": "echo", "BOOTCTL": str(tmp_path / "bootctl"),
           "CMDLINE": str(tmp_path / "cmdline")}
    assert example("boot-grub", "6.13.1", **env) == "gnulinux-advanced-1f0a>gnulinux-6.13.1-advanced-1f0a"
    assert f"there is no {tmp_path}/vmlinuz-0.0" in example("boot-grub", "0.0", status=1, **env)
    assert "has no entry for 6.99" in example("boot-grub", "6.99", status=1, **env)
    assert example("boot-kexec", "6.13.1", **env) == (f"--load {tmp_path}/vmlinuz-6.13.1 --initrd="
                                                      f"{tmp_path}/initrd.img-6.13.1 --reuse-cmdline")
    assert f"there is no {tmp_path}/vmlinuz-0.0" in example("boot-kexec", "0.0", status=1, **env)
    assert example("boot-systemd", "6.13.1", **env) == "set-oneshot deb-6.13.1.conf"
    assert "no entry of version 9" in example("boot-systemd", "9", status=1, **env)
    assert example("show-cmdline-level", "mitigations", **env) == "auto,nosmt"
    assert example("show-cmdline-level", "isolcpus", **env) == "none"
