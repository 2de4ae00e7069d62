# SPDX-License-Identifier: GPL-2.0-or-later
"""A real pair of sides that differ in a known way: a program that spins in user space against dd, which
lives in system calls. The difference of their profiles must name both, from the agent to REST and text."""
import os
import shutil
import subprocess

import pytest

import agentlib
from apilib import api  # noqa: F401 (fixture)
from conftest import BUILD, wait_until

CPU = os.cpu_count() - 1
AWK = shutil.which("mawk") or shutil.which("gawk")
A, B = "experiment=usersys,load=user", "experiment=usersys,load=kernel"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to sample all CPUs"),
    pytest.mark.skipif(AWK is None, reason="neither mawk nor gawk is installed"),
]


@pytest.fixture(scope="module")
def measured(api, tmp_path_factory):
    """5 + 5 runs of 1.5 s in ABBA, sent to the server."""
    path = tmp_path_factory.mktemp("profile")
    shutil.copy(os.path.realpath(AWK), path / "spinner")
    work = path / "work.sh"
    work.write_text(f'[ "$RIGSTAT_FACTOR_LOAD" = user ] && exec taskset -c {CPU} {path}/spinner "BEGIN {{ while (1) i++ }}"\n'
                    f"exec taskset -c {CPU} dd if=/dev/zero of=/dev/null bs=1 count=1000000000\n")
    a = agentlib.Agent(path, "--server", f"http://{api.server.address}", "--experiment", "usersys", "--factor",
                       "load=user,kernel", "--runs", "5", "--warmup", "200ms", "--duration", "1500ms", "--blame", "off",
                       "--cpus", str(CPU), "--app", "spinner=comm:spinner", "--", "sh", str(work), command="run")
    with agentlib.running(a):
        assert a.process.wait(180) == 0, a.text()
    def complete():
        return api.get("/runs", {"q": "experiment=usersys,state=ok"})["items"]
    wait_until("10 complete runs", lambda: len(complete()) == 10, 60)
    profiled = [r for r in complete() if any(m.endswith("_idle") for m in r["metrics"])]
    # On a very busy box a run may lose samples and refuse its shares: it is then left out, by name.
    assert len(profiled) >= 8, [api.get(f"/runs/{r['id']}")["note_list"] for r in complete() if r not in profiled]
    return api.get("/profile/diff", {"a": A, "b": B})


def rows(doc, table):
    return {r["name"]: r for t in doc["tables"] if t["name"] == table for r in t["rows"]}


def went(row, way, quiet):
    """The interval lies on that side of 0; corrected for all the names only where the box was quiet, because other
    programs' noise and number decide that."""
    lo, hi = row["delta"]["ci"]
    assert lo > 0 if way == "higher" else hi < 0, row
    assert row["delta"]["reading"] == way or not quiet, row


def test_programs_are_named(measured):
    assert measured["state"] == "tested" and measured["design"]["paired"], measured["reasons"]
    table = next(t for t in measured["tables"] if t["name"] == "programs")
    assert {"spinner", "dd"} <= {r["name"] for r in table["rows"][:3]}, [r["name"] for r in table["rows"]]
    programs = rows(measured, "programs")
    quiet = programs["spinner"]["a"]["lo"] > 25
    went(programs["spinner"], "lower", quiet)
    went(programs["dd"], "higher", quiet)
    assert programs["spinner"]["b"]["lo"] == 0
    # the application that was named beforehand is a question of its own
    spin = rows(measured, "applications")["spinner"]
    assert spin["delta"]["reading"] == "lower" and spin["b"]["avg"] == 0


def test_code_is_named(measured):
    """The program's own code fell, the kernel's system call path rose."""
    code = rows(measured, "code")
    spinner = next(r for name, r in code.items() if name.split("/")[-1] == "spinner")
    assert spinner["kind"] == "object"
    went(spinner, "lower", rows(measured, "programs")["spinner"]["a"]["lo"] > 25)
    rose = {name for name, r in code.items() if r["kind"] == "symbol" and r["delta"]["ci"][0] > 0}
    if not any(r["kind"] == "symbol" for r in code.values()):
        pytest.skip("the kernel hides its symbols")
    assert rose & {"read_zero", "write_null", "vfs_read", "vfs_write", "ksys_read", "ksys_write", "do_syscall_64",
                   "entry_SYSCALL_64", "entry_SYSCALL_64_after_hwframe", "syscall_return_via_sysret", "read_iter_zero",
                   "entry_SYSRETQ_unsafe_stack", "clear_user_rep_good", "rep_stos_alternative", "el0_svc"}, rose


def test_the_command_line_says_it(api, measured):
    run = subprocess.run([str(BUILD / "cli/rigstat"), "profile", "diff", "--server", f"http://{api.server.address}", A, B],
                         capture_output=True, text=True)
    print(run.stdout)
    assert run.returncode == 0, run.stderr
    assert any(line.endswith(" fell  spinner") for line in run.stdout.splitlines())
