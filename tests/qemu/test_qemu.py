# SPDX-License-Identifier: GPL-2.0-or-later
"""The agent's counting code on a machine with a PMU: QEMU's Arm CPUs count cycles and
instructions, and with -icount their number is known exactly. The code runs as /init (init.c).

Skipped with the reason where qemu, the cross compiler, cpio or a kernel are missing."""
import pathlib
import re
import shutil
import subprocess

import pytest

import kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 120  # a boot
LOOP = 10_000_000  # instructions of the known loop
MUX = 800_000_000
SOURCES = ["tests/qemu/init.c", "tests/qemu/probe.c", *(f"agent/{n}.c" for n in (
    "pmu", "pmu_cores", "pmu_event", "pmu_group", "pmu_scope", "pmu_selftest", "pmu_derived", "pmu_cpu", "pace",
    "perf_sampler", "run_summary", "tracepoint", "rights", "sysread")),
    *(f"common/{n}.c" for n in (
        "base", "err", "parse", "clock", "strbuf", "record", "hist", "hist_code", "crc32c"))]
CROSS = "aarch64-linux-gnu-gcc"
QEMU = "qemu-system-aarch64"


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """(kernel, initrd)"""
    missing = [p for p in (QEMU, CROSS, "cpio") if not shutil.which(p)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (Debian: qemu-system-arm, "
                    "gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, cpio)")
    try:
        image = kernel.kernel()
    except kernel.Unavailable as e:
        pytest.skip(f"no arm64 kernel: {e}")
    place = tmp_path_factory.mktemp("initrd")
    subprocess.run([CROSS, "-std=gnu11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static",
                    "-I.", "-o", place / "init", *SOURCES, "-lm"], cwd=ROOT, check=True)
    archive = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=place, input=b"init\n",
                             stdout=subprocess.PIPE, check=True).stdout
    (place / "initrd").write_bytes(archive)
    return image, place / "initrd"


@pytest.fixture(scope="session")
def boot(machine, tmp_path_factory):
    """boot(cpu, options, scenarios) -> {key: text}"""
    image, initrd = machine

    def run(cpu, options, *scenarios):
        log = tmp_path_factory.mktemp("boot") / "console"
        argv = [QEMU, "-M", "virt", "-cpu", cpu, "-m", "256", *options, "-kernel", image, "-initrd", initrd,
                "-append", f"console=ttyAMA0 rdinit=/init panic=-1 quiet -- {' '.join(scenarios)}",
                "-nic", "none", "-display", "none", "-no-reboot", "-monitor", "none", "-serial", f"file:{log}"]
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=True)
        except subprocess.TimeoutExpired:
            pytest.fail(f"no end within {TIMEOUT} s:\n{log.read_text(errors='replace')}")
        text = log.read_text(errors="replace")
        out = dict(m.groups() for m in re.finditer(r"^([a-z][\w.]*)=(.*?)\r?$", text, re.M))
        print(text)
        assert out.get("end") == "ok", text
        assert "failed" not in out, text
        return out

    return run


def number(out, key):
    return float(out[key])


@pytest.fixture(scope="module")
def a57(boot):
    return boot("cortex-a57", ["-icount", "shift=0"], "self_test", "loop", "too_big", "unstalled", "pinned",
                "workload", "mux")


def test_instructions_are_exact(a57):
    """(a) A loop of known length within 0.01 %."""
    assert a57["selftest"] == "trusted"
    assert a57["loop.instructions.state"] == "exact"
    assert number(a57, "loop.instructions.value") == pytest.approx(LOOP, rel=1e-4)


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_instructions_per_cycle(shift, boot, a57):
    """(b) -icount shift=N makes one instruction take 2^N cycles."""
    out = boot("cortex-a57", ["-icount", f"shift={shift}"], "loop") if shift else a57
    ipc = number(out, "loop.instructions.value") / number(out, "loop.cycles.value")
    assert ipc == pytest.approx(2.0 ** -shift, abs=1e-3)


def test_multiplexed_counts_are_flagged_and_near(a57):
    """(c) Twelve events on six counters: scaled, said so, within 2 % of the truth."""
    for i in range(12):
        assert a57[f"mux.{i}.state"] in ("estimated", "doubtful")
        assert 0.3 < number(a57, f"mux.{i}.share") < 0.999
        assert number(a57, f"mux.{i}.value") == pytest.approx(MUX, rel=0.02)


def test_a_lost_pinned_event_is_reported(a57):
    """(d) The seventh pinned event has no counter: no number instead of an estimate."""
    assert number(a57, "pinned.lost") == 1 and number(a57, "pinned.exact") == 6


def test_a_workload_counts_from_its_exec_with_its_child(a57):
    """Parent and child run 10,000,000 instructions each; the 6,000,000 before exec do not count."""
    assert a57["workload.state"] == "exact"
    assert number(a57, "workload.value") == pytest.approx(2 * LOOP, rel=0.01)


def test_unlisted_stall_events_are_not_opened_raw(a57):
    """A57 lists no stall events; raw ones would open and count 0."""
    assert "not available" in a57["unstalled"] and "not available" in a57["retiring"]
    assert "unstalled.value" not in a57


@pytest.fixture(scope="module")
def two_cpus(boot):
    return boot("cortex-a57", ["-icount", "shift=0", "-smp", "2"], "hotplug", "cgroups")


def test_hotplug_is_a_gap_and_a_new_epoch(two_cpus):
    """(e) A CPU that leaves and one that returns: no number for the interval, then whole again."""
    out = two_cpus
    assert [out[f"hotplug.{k}.state"] for k in ("before", "leaves", "away", "returns", "after")] == [
        "exact", "gap", "exact", "gap", "exact"]
    assert [out[f"hotplug.{k}.places"] for k in ("before", "away", "after")] == ["2", "1", "2"]
    assert out["hotplug.after.epochs"] == "1"
    assert number(out, "hotplug.after.value") < 3 * number(out, "hotplug.before.value")


def test_cgroups(two_cpus):
    """(i) The busy cgroup has all user cycles of the box, the idle one a true 0."""
    out = two_cpus
    assert "cgroup" in out["cgroup.early"], "before a controller is enabled the reason is the cgroup"
    assert out["cgroup.box.state"] == out["cgroup.a.state"] == "exact"
    assert number(out, "cgroup.a.value") / number(out, "cgroup.box.value") == pytest.approx(1, abs=0.02)
    assert out["cgroup.b.state"] == "idle" and number(out, "cgroup.b.value") == 0


def test_samples_are_cycles_over_the_period(boot):
    """(j) A sample each 1,000,000 cycles: as many as the counter beside it says, +-1. At the agent's rate the
    kernel chooses the periods, and their sum is the weight: the same cycles, but for the last period."""
    out = boot("cortex-a57", ["-icount", "shift=0"], "samples")
    for key in ("every", "rate"):
        assert out[f"{key}.kind"] == "cycles" and out[f"{key}.state"] == "exact"
        assert out[f"{key}.lost"] == "0"
    cycles = number(out, "every.value")
    assert cycles > 400e6
    assert abs(number(out, "every.samples") - cycles / 1e6) <= 1
    assert number(out, "every.periods") == number(out, "every.samples") * 1e6
    last = 1e9 / 99  # -icount shift=0 is a CPU of 1 GHz
    assert abs(number(out, "rate.periods") - number(out, "rate.value")) <= 1.5 * last
    assert number(out, "rate.samples") == pytest.approx(99 * number(out, "rate.value") / 1e9, rel=0.5)


def test_no_pmu(boot):
    """(f) Nothing but a reason."""
    out = boot("cortex-a57,pmu=off", ["-icount", "shift=0"], "self_test", "loop", "unstalled")
    assert out["cores"] == "0" and out["selftest"] == "no-pmu"
    assert "not available" in out["loop.instructions.error"] and "not available" in out["loop.cycles.error"]
    assert out["loop.cycles.state"] == out["loop.instructions.state"] == "absent"
    assert "unstalled.value" not in out


def test_cycles_without_instructions(boot):
    """(g) Without -icount this CPU counts cycles only: the other one says so, no 0."""
    out = boot("cortex-a57", [], "self_test", "loop")
    assert out["selftest"] == "no-pmu"
    assert out["loop.cycles.state"] == "exact" and number(out, "loop.cycles.value") > 0
    assert out["loop.instructions.state"] == "absent"
    assert "not available" in out["loop.instructions.error"]


def test_stub_stall_counters_are_refused(boot):
    """(h) neoverse-n1 lists stall events that stay 0: no 100 % unstalled."""
    out = boot("neoverse-n1", ["-icount", "shift=0"], "self_test", "unstalled")
    assert out["selftest"] == "trusted"
    assert out["unstalled"].startswith("arm-stall")
    assert out["unstalled.e0"] == "0" and out["unstalled.value"] == "none"
    assert "not available" in out["retiring"]


def test_the_probe_of_a_run(boot):
    """What the agent writes about a run whose loop has 800,000,000 instructions at 1 a cycle, 1 GHz."""
    out = boot("cortex-a57", ["-icount", "shift=0"], "probe")
    for metric in ("cycles", "instructions", "event_instructions_u", "event_armv8_pmuv3_cpu_cycles"):
        assert out[f"probe.{metric}.kind"] == "counter", out.get(f"probe.{metric}.reason")
        assert number(out, f"probe.{metric}.residency") == 1
        assert number(out, f"probe.{metric}.delta") == pytest.approx(MUX, rel=0.02)
    assert out["probe.ipc.state"] == out["probe.cpu_ghz.state"] == "exact"
    assert number(out, "probe.ipc.value") == pytest.approx(1, abs=1e-3)
    assert number(out, "probe.cpu_ghz.value") == pytest.approx(1, rel=0.05)
    for metric in ("unstalled_cycles_pct", "retiring_slots_pct", "event_no_such_event"):
        assert out[f"probe.{metric}.kind"] == "absent" and out[f"probe.{metric}.reason"]
        assert f"probe.{metric}.value" not in out
    assert out["probe.marks"] == "0"


def test_the_probe_of_a_workload(boot):
    """--counters workload: 800,000,000 instructions of the child and a bit of its start, whatever init does."""
    out = boot("cortex-a57", ["-icount", "shift=0"], "probe_workload")
    for metric in ("cycles", "instructions", "event_instructions_u"):
        assert out[f"probe.{metric}.kind"] == "counter", out.get(f"probe.{metric}.reason")
        assert number(out, f"probe.{metric}.delta") == pytest.approx(MUX, rel=0.02)
    assert out["probe.instructions.method"] == "perf-hw-workload/1"
    assert out["probe.instructions.scope"] == "workload"
    assert number(out, "probe.ipc.value") == pytest.approx(1, abs=1e-2)
    assert out["probe.ipc.method"] == "instructions-per-cycle-workload/1"
    assert number(out, "probe.cpu_ghz.value") == pytest.approx(1, rel=0.05)
    assert out["probe.cpu_ghz.state"] == "exact"


def test_the_probe_refuses_a_stub(boot):
    """The percentage of a core whose stall counters stay 0 is absent, beside a good ipc."""
    out = boot("neoverse-n1", ["-icount", "shift=0"], "probe")
    assert number(out, "probe.ipc.value") == pytest.approx(1, abs=1e-3)
    assert out["probe.unstalled_cycles_pct.kind"] == "absent"
    assert "cannot be true" in out["probe.unstalled_cycles_pct.reason"]
    assert "probe.unstalled_cycles_pct.value" not in out


def test_the_probe_without_a_pmu(boot):
    """Everything of the hardware is absent with one reason; software events go on."""
    out = boot("cortex-a57,pmu=off", ["-icount", "shift=0"], "probe")
    for metric in ("cycles", "instructions", "ipc", "cpu_ghz", "unstalled_cycles_pct", "retiring_slots_pct",
                   "event_instructions_u"):
        assert out[f"probe.{metric}.kind"] == "absent"
        assert out[f"probe.{metric}.reason"] == "not available: no hardware PMU"
    assert out["probe.event_context_switches.kind"] == "counter"
    assert number(out, "probe.event_context_switches.delta") > 0
