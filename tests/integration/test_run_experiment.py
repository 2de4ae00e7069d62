# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat-agent run on real settings of a loop device: applied, verified, put back, recorded.

Needs root and /dev/loop; skipped without. Every setting that a test touches is read before and
compared (and put back) after it, whatever happened in between."""
import http.server
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

import spoolread

BUILD = pathlib.Path(os.environ.get("RIGSTAT_BUILD") or
                     pathlib.Path(__file__).resolve().parents[2] / "build-test")
AGENT, TUNE = BUILD / "agent/rigstat-agent", BUILD / "agent/rigstat-tune"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to change settings"),
    pytest.mark.skipif(not AGENT.exists(), reason="rigstat-agent is not built"),
]


def wait_until(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for: {what}"
        time.sleep(0.02)
    return value


class Loop:
    """A loop device on a sparse file, and its queue's settings."""

    def __init__(self, path):
        self.file = path / "disk"
        with open(self.file, "wb") as f:
            f.truncate(64 << 20)
        made = subprocess.run(["losetup", "--find", "--show", self.file], capture_output=True,
                              text=True)
        if made.returncode:
            pytest.skip(f"no loop device: {made.stderr.strip()}")
        self.device = made.stdout.strip()
        self.queue = pathlib.Path("/sys/block") / pathlib.Path(self.device).name / "queue"
        self.before = {k: self.get(k) for k in ("max_sectors_kb", "rq_affinity", "scheduler",
                                                "read_ahead_kb")}

    def path(self, name):
        return str(self.queue / name)

    def get(self, name):
        text = (self.queue / name).read_text().strip()
        chosen = re.search(r"\[(\S+)\]", text)
        return chosen.group(1) if chosen else text

    def close(self):
        changed = {k: self.get(k) for k, v in self.before.items() if self.get(k) != v}
        for name in changed:
            (self.queue / name).write_text(self.before[name])
        subprocess.run(["losetup", "--detach", self.device], check=True)
        assert not changed, f"left behind: {changed}, before: {self.before}"


@pytest.fixture
def loop(tmp_path):
    device = Loop(tmp_path)
    yield device
    device.close()


class Box:
    """The agent's directories for one test, and the agent itself."""

    def __init__(self, path):
        self.path = path
        self.spool, self.journal = path / "spool", path / "tune.journal"
        self.tunables, self.workloads = path / "tunables.d", path / "workloads.d"
        self.tunables.mkdir(mode=0o755)
        self.workloads.mkdir(mode=0o755)
        self.env = dict(os.environ, RIGSTAT_LOCK_DIR=str(path))
        for name in ("RIGSTAT_SERVER", "RIGSTAT_TUNE", "JOURNAL_STREAM"):
            self.env.pop(name, None)

    def command(self, *args, workload=(), warmup="200ms", duration="500ms"):
        fixed = ["--spool", self.spool, "--journal", self.journal, "--tunables-dir",
                 self.tunables, "--workloads-dir", self.workloads, "--warmup", warmup,
                 "--duration", duration, "--interval", "100ms", "--experiment", "exp"]
        return [str(a) for a in (AGENT, "run", *fixed, *args, *(["--", *workload] if workload
                                                                else []))]

    def run(self, *args, status=0, timeout=120, **kw):
        done = subprocess.run(self.command(*args, **kw), env=self.env, capture_output=True,
                              text=True, timeout=timeout)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, *args, **kw):
        out = open(self.path / "agent.out", "w")
        return subprocess.Popen(self.command(*args, **kw), env=self.env, stdout=out,
                                stderr=subprocess.STDOUT)

    def output(self):
        return (self.path / "agent.out").read_text()

    def runs(self):
        return spoolread.runs(self.spool)

    def workload_log(self):
        return "".join(p.read_text() for p in sorted((self.spool / "logs").iterdir()))


@pytest.fixture
def box(tmp_path):
    path = tmp_path / "box"
    path.mkdir()
    return Box(path)


def tuner_of(agent):
    """The process id of rigstat-tune, child of the agent."""
    children = pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()
    for pid in children:
        if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "rigstat-tune":
            return int(pid)
    return None


def gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def see(loop, name):
    """A workload that writes the setting which it runs under."""
    return ["sh", "-c", f"echo \"$RIGSTAT_FACTOR_F $(cat {loop.path(name)})\"; sleep 30"]


def test_settings_are_applied_recorded_and_restored(box, loop):
    out = box.run("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs", 2,
                  workload=see(loop, "max_sectors_kb"))
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    assert box.journal.stat().st_size == 0
    assert box.workload_log().splitlines() == ["64 64", "32 32", "32 32", "64 64"]
    assert "4 of 4 runs ended well" in out and "run 4/4  f=64  ok" in out
    runs = box.runs()
    assert [r.factors for r in runs] == [{"f": "64"}, {"f": "32"}, {"f": "32"}, {"f": "64"}]
    assert [r.start["order"] for r in runs] == [1, 2, 3, 4]
    assert [r.start["block"] for r in runs] == [1, 1, 2, 2]
    assert {r.environment["tunable.f"] for r in runs} == {"64", "32"}
    for r in runs:
        assert r.start["kind"] == "measured"
        assert r.start["experiment"]["order"] == "abba"
        assert r.start["experiment"]["factors"] == [{"name": "f", "levels": ["64", "32"]}]
        assert r.start["experiment"]["total_runs"] == 4
        assert r.start["warmup_ns"] == 200_000_000 and r.start["duration_ns"] == 500_000_000
        assert r.end["state"] == "ok" and r.end["window_end"] == "duration"
        assert 500_000_000 <= r.end["measured_ns"] < 5_000_000_000
        assert r.end["workload"]["signal"] == signal.SIGTERM
        assert [p for p, _ in r.phases] == [1, 2, 3]
        assert "wakeup_latency" in {s["metric"] for s in r.series.values()}
    assert len({r.start["run_uid"] for r in runs}) == 4
    assert len({r.start["experiment"]["uid"] for r in runs}) == 1


def test_selector_settings_and_values_that_the_kernel_refuses(box, loop):
    box.run("--factor", "f=mq-deadline,none", "--tune", f"f={loop.path('scheduler')}", "--runs", 1,
            workload=see(loop, "scheduler"))
    assert loop.get("scheduler") == loop.before["scheduler"]
    assert "mq-deadline" in box.workload_log().splitlines()[0].split("[")[1]
    out = box.run("--factor", "f=none,nonsense", "--tune", f"f={loop.path('scheduler')}",
                  status=3)
    assert "offers no 'nonsense'" in out
    # refused by the kernel in the second run; cut down by the kernel in the second run
    out = box.run("--factor", "f=64,1", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs", 1,
                  status=3)
    assert "the kernel refuses '1'" in out
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    out = box.run("--factor", "f=64,99999999", "--tune", f"f={loop.path('max_sectors_kb')}",
                  "--runs", 1, status=3)
    assert f"was set to '99999999' but reads '{loop.before['max_sectors_kb']}'" in out
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]


def test_only_kernel_settings_can_be_named(box, tmp_path):
    target = tmp_path / "file"
    target.write_text("1")
    for path in (target, "/etc/hostname", "/sys/../etc/hostname", "/proc/self/oom_score_adj"):
        out = box.run("--factor", "f=1,2", "--tune", f"f={path}", status=3)
        assert "only files below /sys and /proc/sys" in out
    assert target.read_text() == "1"


def test_restored_when_the_workload_fails(box, loop):
    out = box.run("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs", 2,
                  status=1, workload=["sh", "-c", "sleep 0.4; echo broken disk >&2; exit 3"])
    assert "failed: the workload ended with exit status 3" in out and "broken disk" in out
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    runs = box.runs()
    assert len(runs) == 1, "--on-failure stop is the default"
    assert runs[0].end["state"] == "failed" and "exit status 3" in runs[0].end["reason"]
    assert runs[0].end["workload"]["exit_status"] == 3
    assert runs[0].end["window_end"] == "workload"


def test_on_failure_continue_and_retries(box):
    script = "sleep 0.3; [ $RIGSTAT_FACTOR_F = good ] || kill -SEGV $$"
    out = box.run("--factor", "f=good,bad", "--runs", 2, "--on-failure", "continue", "--retries",
                  1, status=1, workload=["sh", "-c", script])
    assert "a label: nothing is set" in out and "SIGSEGV" in out
    runs = box.runs()
    got = [(r.factors["f"], r.start["order"], r.start["attempt"], r.end["state"]) for r in runs]
    assert got == [("good", 1, 1, "ok"), ("bad", 2, 1, "failed"), ("bad", 2, 2, "failed"),
                   ("bad", 3, 1, "failed"), ("bad", 3, 2, "failed"), ("good", 4, 1, "ok")]


def test_the_window_ends_with_the_workload_and_its_resources_are_kept(box):
    script = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.3"
    box.run("--runs", 2, duration="60s", warmup="0s", workload=["sh", "-c", script])
    for r in box.runs():
        assert r.end["window_end"] == "workload" and r.end["state"] == "ok"
        assert r.end["workload"]["exit_status"] == 0 and r.end["workload"]["signal"] is None
        assert 300_000_000 <= r.end["workload"]["elapsed_ns"] < 30_000_000_000
        assert r.values["elapsed"] == r.end["workload"]["elapsed_ns"]
        assert 0 < r.values["user_time"] + r.values["sys_time"] < r.values["elapsed"]
        assert r.values["max_rss"] > 100_000
        assert r.end["measured_ns"] >= 300_000_000


def test_a_workload_that_ends_in_the_warm_up_is_a_failure(box):
    out = box.run("--runs", 1, status=1, warmup="5s", workload=["true"])
    assert "ended in the warm-up: nothing was measured" in out
    assert box.runs()[0].end["state"] == "failed"


def test_a_workload_that_cannot_be_run(box, loop):
    out = box.run("--factor", "f=64", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs", 3,
                  status=3, workload=["/no/such/program"])
    assert "cannot run the workload /no/such/program" in out
    assert [r.end["state"] for r in box.runs()] == ["failed"]
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]


def start_and_wait(box, loop, **kw):
    agent = box.start("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}",
                      "--runs", 5, duration="30s", workload=see(loop, "max_sectors_kb"), **kw)
    wait_until(lambda: loop.get("max_sectors_kb") == "64", "the first setting")
    wait_until(lambda: (box.spool / "logs").exists() and box.workload_log(), "the workload")
    return agent


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_restored_on_a_signal(box, loop, sig):
    agent = start_and_wait(box, loop)
    agent.send_signal(sig)
    assert agent.wait(20) == 130, box.output()
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    assert box.journal.stat().st_size == 0
    runs = box.runs()
    assert len(runs) == 1 and runs[0].end["state"] == "aborted"
    assert runs[0].end["window_end"] == "stopped"


def test_ctrl_c_reaches_the_whole_terminal_group_and_settings_come_back(box, loop):
    """As a terminal does: SIGINT to the process group; the helper must outlive it."""
    agent = subprocess.Popen(
        box.command("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs",
                    5, duration="30s", workload=see(loop, "max_sectors_kb")),
        env=box.env, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: loop.get("max_sectors_kb") == "64", "the first setting")
    os.killpg(agent.pid, signal.SIGINT)
    assert agent.wait(20) == 130
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]


def test_restored_after_kill_9_of_the_agent(box, loop):
    agent = start_and_wait(box, loop)
    tuner = tuner_of(agent)
    assert os.getsid(tuner) == tuner, "the helper must be in a session of its own"
    agent.kill()
    agent.wait()
    wait_until(lambda: loop.get("max_sectors_kb") == loop.before["max_sectors_kb"], "put back", 10)
    wait_until(lambda: gone(tuner), "the helper's end", 10)
    assert box.journal.stat().st_size == 0


def test_a_killed_agent_takes_its_workload_along(box):
    agent = box.start("--runs", 1, duration="60s", workload=["sh", "-c", "echo $$; exec sleep 77"])
    pid = int(wait_until(lambda: (box.spool / "logs").exists() and box.workload_log(), "the workload"))
    assert not gone(pid)
    agent.kill()
    agent.wait()
    wait_until(lambda: gone(pid), "the workload's end", 10)


def test_the_second_signal_does_not_wait(box):
    agent = box.start("--runs", 3, "--grace", "120s", duration="60s",
                      workload=["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"])
    wait_until(lambda: (box.spool / "logs").exists() and box.workload_log(), "the workload")
    agent.send_signal(signal.SIGINT)
    wait_until(lambda: "once more to end at once" in box.output(), "the first signal's answer")
    time.sleep(0.5)
    assert agent.poll() is None, "the workload ignores TERM and has two minutes"
    agent.send_signal(signal.SIGINT)
    assert agent.wait(20) == 130
    assert [r.end["state"] for r in box.runs()] == ["aborted"]


def kill_both(agent):
    tuner = tuner_of(agent)
    os.kill(tuner, signal.SIGSTOP)  # it must not see the agent die first
    agent.kill()
    os.kill(tuner, signal.SIGKILL)
    agent.wait()
    wait_until(lambda: gone(tuner), "the helper's death", 10)


def test_restored_at_the_next_start_after_kill_9_of_both(box, loop):
    kill_both(start_and_wait(box, loop))
    assert loop.get("max_sectors_kb") == "64"
    assert box.journal.stat().st_size > 0
    out = box.run("--runs", 1, "--factor", "x=label", workload=["sleep", "30"])
    assert "was put back from '64' to '" in out
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    assert box.journal.stat().st_size == 0


def recover(box):
    done = subprocess.run([TUNE, "--recover", "--journal", box.journal, "--tunables",
                           box.tunables], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_recovery_leaves_what_somebody_else_set(box, loop):
    kill_both(start_and_wait(box, loop))
    (loop.queue / "max_sectors_kb").write_text("128")
    status, out = recover(box)
    assert status == 0 and "left alone" in out
    assert loop.get("max_sectors_kb") == "128"
    (loop.queue / "max_sectors_kb").write_text(loop.before["max_sectors_kb"])


def test_an_earlier_boot_is_reported_and_not_replayed(box, loop):
    kill_both(start_and_wait(box, loop))
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    old = boot.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    lines = box.journal.read_text().splitlines()
    assert lines[0].endswith(boot)
    # the line with another boot id needs its own checksum
    lines[0] = f"{crc32c(chr(9) + 'boot' + chr(9) + old):08x}\tboot\t{old}"
    box.journal.write_text("\n".join(lines) + "\n")
    status, out = recover(box)
    assert status == 0 and "when the box went down" in out
    assert loop.get("max_sectors_kb") == "64", "a reboot resets it, not we"
    assert box.journal.stat().st_size == 0
    (loop.queue / "max_sectors_kb").write_text(loop.before["max_sectors_kb"])


def crc32c(text):
    crc = 0xFFFFFFFF
    for byte in text.encode():
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_restored_after_kill_9_of_the_helper(box, loop):
    agent = box.start("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs",
                      3, duration="2s", workload=see(loop, "max_sectors_kb"))
    wait_until(lambda: loop.get("max_sectors_kb") == "64", "the first setting")
    wait_until(lambda: (box.spool / "logs").exists() and box.workload_log(), "the workload")
    os.kill(tuner_of(agent), signal.SIGKILL)
    assert agent.wait(30) not in (0, 1)
    assert "rigstat-tune has ended" in box.output()
    assert "was put back from '64'" in box.output()
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]


def test_somebody_else_changes_the_setting_during_a_run(box, loop):
    agent = box.start("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs",
                      3, duration="2s", workload=see(loop, "max_sectors_kb"))
    wait_until(lambda: (box.spool / "logs").exists() and box.workload_log(), "the workload")
    (loop.queue / "max_sectors_kb").write_text("256")
    assert agent.wait(30) == 3, box.output()
    assert "another program changed it to '256'" in box.output()
    run, = box.runs()
    assert run.end["state"] == "failed"
    assert "tunable-changed" in {m["code"] for m in run.end["marks"]}
    assert loop.get("max_sectors_kb") == "256", "not ours to put back"
    (loop.queue / "max_sectors_kb").write_text(loop.before["max_sectors_kb"])


def test_a_named_tunable_and_a_named_workload(box, loop):
    state = box.path / "state"
    state.write_text("idle\n")
    (box.tunables / "box.conf").write_text(
        f"[mode]\nvalues = fast slow\napply = /bin/sh -c 'echo $1 >{state}' sh {{value}}\n"
        f"verify = /bin/cat {state}\nrestore = /bin/sh -c 'echo $1 >{state}' sh {{old}}\n"
        f"[readahead]\nvalues = 64 128\npath = {loop.path('read_ahead_kb')}\n")
    (box.workloads / "box.conf").write_text(
        f"[look]\ncommand = sh -c 'cat {state} {loop.path('read_ahead_kb')}; sleep 20'\n")
    box.run("--factor", "mode=fast,slow", "--tune", "mode=mode", "--factor", "ra=64", "--tune",
            "ra=readahead", "--workload", "look", "--runs", 1)
    assert box.workload_log().split() == ["fast", "64", "slow", "64"]
    assert state.read_text() == "idle\n"
    assert loop.get("read_ahead_kb") == loop.before["read_ahead_kb"]
    assert {r.start["workload"]["name"] for r in box.runs()} == {"look"}
    out = box.run("--factor", "mode=fast,warp", "--tune", "mode=mode", status=3)
    assert "tunable 'mode' does not allow 'warp'" in out
    out = box.run("--factor", "f=1", "--tune", "f=nothing", status=3)
    assert "has no tunable 'nothing'" in out
    (box.tunables / "box.conf").chmod(0o666)
    out = box.run("--factor", "mode=fast", "--tune", "mode=mode", status=3)
    assert "must not be writable" in out
    assert state.read_text() == "idle\n"


@pytest.fixture
def public_box():
    """A box whose directories another user can reach, as in real life."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="rigstat-box-"))
    path.chmod(0o755)
    made = Box(path)
    yield made
    shutil.rmtree(path)


@pytest.fixture
def tune_service(public_box):
    """What rigstat-tune.socket is for systemd: a helper of root for each connection."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    path = public_box.path / "tune.sock"
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen()

    def serve():
        while True:
            try:
                conn, _ = listener.accept()
            except OSError:
                return
            subprocess.run([TUNE, "--journal", public_box.journal, "--tunables",
                            public_box.tunables], stdin=conn)
            conn.close()

    threading.Thread(target=serve, daemon=True).start()
    yield path
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def as_nobody(box, service, *args, status):
    os.chown(box.path, 65534, 65534)
    command = box.command("--tune-socket", service, "--runs", 1, *args, workload=["sleep", "20"])
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command],
                          env=box.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_others_than_root_may_only_choose_listed_values(public_box, tune_service):
    box, path = public_box, pathlib.Path("/proc/sys/vm/stat_interval")
    before = path.read_text()
    (box.tunables / "box.conf").write_text(
        f"[stat]\nvalues = 3 4\npath = {path}\n[free]\npath = /proc/sys/vm/swappiness\n")
    try:
        out = as_nobody(box, tune_service, "--factor", "f=3,4", "--tune", "f=stat", status=0)
        assert "2 of 2 runs ended well" in out
        assert [r.environment["tunable.f"] for r in box.runs()] == ["3", "4"]
        assert path.read_text() == before
        for setting, level, says in ((f"{path}", "3", "only root may name a path"),
                                     ("vm.stat_interval", "3", "only root may name a path"),
                                     ("free", "50", "lists no values"),
                                     ("stat", "5", "does not allow '5'")):
            out = as_nobody(box, tune_service, "--factor", f"f={level}", "--tune", f"f={setting}",
                            status=3)
            assert says in out
        assert path.read_text() == before
    finally:
        path.write_text(before)


def test_one_program_measures_at_a_time(box):
    agent = box.start("--runs", 1, duration="30s", workload=["sleep", "60"])
    wait_until(lambda: (box.spool / "logs").exists() and list((box.spool / "logs").iterdir()),
               "the first run")
    out = box.run("--runs", 1, workload=["true"], status=4)
    assert f"process {agent.pid}" in out, "it must say who holds the box"
    agent.send_signal(signal.SIGINT)
    agent.wait(20)


def test_dry_run_changes_nothing(box, loop):
    out = box.run("--factor", "f=64,32", "--tune", f"f={loop.path('max_sectors_kb')}", "--runs", 2,
                  "--order", "random", "--seed", 5, "--dry-run", workload=["false"])
    assert "run 4/4  block 2" in out and "Nothing was changed" in out
    assert f"now '{loop.before['max_sectors_kb']}'" in out
    assert not box.spool.exists() or not box.runs()
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]


def test_sequential_warns_and_the_seed_is_kept(box):
    out = box.run("--factor", "f=a,b", "--runs", 2, "--order", "sequential", duration="200ms",
                  workload=["sleep", "20"])
    assert "warning: sequential order" in out
    assert [r.factors["f"] for r in box.runs()] == ["a", "a", "b", "b"]
    shutil.rmtree(box.spool)
    box.run("--factor", "f=a,b,c,d", "--runs", 1, "--order", "random", "--seed", 11,
            duration="200ms", workload=["sleep", "20"])
    first = [r.factors["f"] for r in box.runs()]
    assert box.runs()[0].start["experiment"]["seed"] == 11
    shutil.rmtree(box.spool)
    box.run("--factor", "f=a,b,c,d", "--runs", 1, "--order", "random", "--seed", 11,
            duration="200ms", workload=["sleep", "20"])
    assert [r.factors["f"] for r in box.runs()] == first


def test_sysctl_by_name(box):
    path = pathlib.Path("/proc/sys/vm/stat_interval")
    before = path.read_text()
    try:
        box.run("--factor", "f=3,5", "--tune", "f=vm.stat_interval", "--runs", 1,
                workload=["sh", "-c", f"cat {path}; sleep 20"])
        assert box.workload_log().split() == ["3", "5"]
        assert path.read_text() == before
    finally:
        path.write_text(before)


class Ingest(http.server.BaseHTTPRequestHandler):
    """Acknowledges everything and remembers when each request came."""
    protocol_version = "HTTP/1.1"

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.answer({"next_seq": self.server.next_seq.get(self.path.rsplit("/", 1)[1], 1)})

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append(time.time_ns())
        last = int(self.headers["X-Rigstat-Last"])
        self.server.next_seq[self.headers["X-Rigstat-Stream"]] = last + 1
        self.answer({"next_seq": last + 1, "server_ns": time.time_ns()})

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ingest)
    made.posts, made.next_seq = [], {}
    made.url = f"http://127.0.0.1:{made.server_port}"
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def windows(box):
    return [(dict(r.phases)[2], dict(r.phases)[3]) for r in box.runs()]


def test_a_server_gets_everything_before_the_end(box, server):
    out = box.run("--server", server.url, "--factor", "f=a,b", "--metric", "io_latency", "--runs",
                  1, duration="2s", workload=["sleep", "20"])
    assert f"Everything is on the server {server.url}." in out
    assert "--b 'experiment=exp,f=b'" in out and "--metric io_latency" in out
    assert f"{server.url}/compare?a=experiment%3Dexp,f%3Da&b=experiment%3Dexp,f%3Db" in out
    assert any(a < t < b for t in server.posts for a, b in windows(box)), "it streams meanwhile"


def test_quiet_keeps_the_network_out_of_the_measured_window(box, server):
    out = box.run("--server", server.url, "--quiet", "--runs", 3, duration="2s",
                  workload=["sleep", "20"])
    assert f"Everything is on the server {server.url}." in out
    assert len(server.posts) >= 3
    edge = 100_000_000  # a request that was under way when the window began
    inside = [t for t in server.posts for a, b in windows(box) if a + edge < t < b]
    assert not inside, f"{len(inside)} of {len(server.posts)} requests in a quiet window"
    for r in box.runs():
        assert r.start["quiet_until_ns"] >= r.start["started_ns"] + 2_000_000_000


def test_no_server_there_is_told_and_nothing_is_lost(box):
    began = time.monotonic()
    out = box.run("--server", "http://127.0.0.1:9", "--drain", "1s", "--runs", 1,
                  workload=["sleep", "20"])
    assert time.monotonic() - began < 20, "the wait at the end is bounded"
    assert re.search(r"[1-9]\d* records are still in the spool", out)
    assert box.runs()[0].end["state"] == "ok"


def test_a_terminal_gets_one_line_that_is_rewritten(box):
    master, slave = pty.openpty()
    agent = subprocess.Popen(box.command("--runs", 2, duration="1s", workload=["sleep", "20"]),
                             env=box.env, stdout=slave, stderr=subprocess.DEVNULL)
    os.close(slave)
    text = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # EIO: the other end is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(master)
    assert agent.wait(20) == 0
    text = text.decode()
    assert re.search(r"\r\x1b\[Krun 2/2  \(one cell\)  measuring, 0 of 1 s  \([\d.]+ \w+ left\)", text)
    assert re.search(r"\r\x1b\[Krun 2/2  \(one cell\)  ok, ", text)


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
def test_three_levels_of_max_sectors_kb_under_fio(box, loop):
    """The experiment of 2004, small: three levels, two runs each, one second, a real load."""
    fio = ["fio", "--name=load", f"--filename={loop.device}", "--rw=read", "--bs=1M", "--direct=1",
           "--ioengine=libaio", "--iodepth=4", "--time_based", "--runtime=60", "--output-format",
           "terse"]
    out = box.run("--factor", "max_sectors_kb=64,32,16", "--tune",
                  f"max_sectors_kb={loop.path('max_sectors_kb')}", "--runs", 2, "--order",
                  "alternate", duration="1s", workload=fio)
    assert "6 of 6 runs ended well" in out
    assert loop.get("max_sectors_kb") == loop.before["max_sectors_kb"]
    runs = box.runs()
    assert [r.factors["max_sectors_kb"] for r in runs] == ["64", "32", "16"] * 2
    for r in runs:
        assert r.environment["tunable.max_sectors_kb"] == r.factors["max_sectors_kb"]
        assert r.start["workload"]["argv"] == fio
        assert r.end["window_end"] == "duration"
        assert r.end["workload"]["user_ns"] + r.end["workload"]["sys_ns"] > 0


def test_check_reads_the_box(box):
    done = subprocess.run([AGENT, "check", "--json", "--spool", box.spool], env=box.env,
                          capture_output=True, text=True, timeout=60)
    report = json.loads(done.stdout)
    levels = {c["name"]: c["level"] for c in report["checks"]}
    assert {"real-time", "perf", "tracefs", "rt-throttling", "governor", "turbo", "smt", "idle",
            "clocksource", "time-sync", "disk", "spool", "server", "memory-lock", "nmi-watchdog",
            "numa-balancing", "huge-pages", "irq-affinity", "isolcpus", "steal", "smi"} <= set(levels)
    assert done.returncode == (1 if report["fail"] else 0)
    assert all(c["fix"] for c in report["checks"] if c["level"] == "fail")
    assert levels["spool"] == "ok" and not box.spool.exists(), "a check leaves nothing behind"


def test_check_fails_without_the_right_to_be_realtime(box):
    os.chmod(box.path, 0o777)
    done = subprocess.run(
        ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-all", "--reuid=65534",
         "--regid=65534", "--clear-groups", "prlimit", "--rtprio=0", AGENT, "check", "--json",
         "--spool", box.spool], env=box.env, capture_output=True, text=True, timeout=60)
    found = {c["name"]: c for c in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1
    assert found["real-time"]["level"] == "fail" and "CAP_SYS_NICE" in found["real-time"]["fix"]
