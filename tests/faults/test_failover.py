# SPDX-License-Identifier: GPL-2.0-or-later
"""Two real PostgreSQL, a primary and its streaming standby, below one server: the primary dies, loses
its last commits, or turns read-only; a database restored from a copy. The agents go back and
deliver again what the database has lost."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

import lab as lablib
from conftest import SERVER
from lab import sh, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")

BIN = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name))
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Postgres:
    def __init__(self, directory, name):
        self.data, self.sockets = directory / name, directory / f"{name}-s"
        self.sockets.mkdir(mode=0o755)
        shutil.chown(self.sockets, "postgres")

    def run(self, program, *args, **kw):
        sh("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", BIN / program,
           *args, **{**QUIET, **kw})

    def init(self):
        self.run("initdb", "-U", "rigstat", "-A", "trust", "--no-sync", "-D", self.data)

    def follow(self, primary):
        self.run("pg_basebackup", "-h", primary.sockets, "-U", "rigstat", "-D", self.data, "-R",
                 "-X", "stream", "-c", "fast")

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-w", "-l", self.sockets / "log", "-o",
                 f"-k {self.sockets} -c listen_addresses= -c max_connections=60", "start")

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def promote(self):
        self.run("pg_ctl", "-D", self.data, "-w", "promote")

    def sql(self, text, database="rigstat"):
        out = subprocess.run(["psql", "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-h",
                              str(self.sockets), "-U", "rigstat", "-d", database, "-c", text],
                             capture_output=True, text=True, check=False)
        assert out.returncode == 0, out.stderr
        return [line.split("\x1f") for line in out.stdout.splitlines()]

    def configure(self, **settings):
        for name, value in settings.items():
            self.sql(f"alter system set {name} = {value}")
        self.sql("select pg_reload_conf()")

    def running(self):
        return (self.data / "postmaster.pid").exists()


@pytest.fixture
def pair():
    """(primary, its standby), both running."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="rigstat-pg-"))
    directory.chmod(0o755)
    shutil.chown(directory, "postgres")
    primary, standby = Postgres(directory, "a"), Postgres(directory, "b")
    try:
        primary.init()
        primary.start()
        primary.sql("create database rigstat", "postgres")
        standby.follow(primary)
        standby.start()
        yield primary, standby
    finally:
        for p in (primary, standby):
            if p.running():
                p.stop("immediate")
        shutil.rmtree(directory)


@pytest.fixture
def pair_lab(pair, make_server, lab_without_server, tmp_path):
    """The lab on both databases; lab.server.sql asks the one that is named by lab.now."""
    lab = lab_without_server
    dsn = f"host={pair[0].sockets},{pair[1].sockets} dbname=rigstat user=rigstat " \
          "target_session_attrs=read-write"
    subprocess.run([str(SERVER), "migrate", "--database", dsn], check=True, **QUIET)
    lab.server = lab.make(make_server, ["--database", dsn], embedded=False)
    lab.now = pair[0]
    lab.server.sql = lambda text: lab.now.sql(text)
    lab.ledger = lab.begin(tmp_path, "failover")
    lab.server.start()
    yield lab
    lab.ledger.close()


def caught_up(primary, standby):
    at = primary.sql("select pg_current_wal_lsn()")[0][0]
    wait_until("the standby has it all", lambda: standby.sql(
        f"select pg_last_wal_replay_lsn() >= '{at}'") == [["t"]])


def all_progress(lab, more=3, timeout=60.0):
    for box in lab.boxes:
        lab.progress(box, more, timeout)


def test_F5_failover_that_loses_commits(pair, pair_lab):
    """Replication is cut, the primary acknowledges more and dies, the standby is promoted: 409
    with the number that it knows, the agents go back, and there is no hole."""
    lab, (primary, standby) = pair_lab, pair
    lab.start_all()
    all_progress(lab)
    caught_up(primary, standby)
    standby.configure(primary_conninfo="''")
    wait_until("replication is cut", lambda: primary.sql(
        "select count(*) from pg_stat_replication") == [["0"]])
    all_progress(lab, 10)
    had = lab.marks()
    primary.stop("immediate")
    standby.promote()
    lab.now = standby
    promoted = time.monotonic()
    wait_until("the server has found it", lambda: lab.server.get("/readyz").status == 200, 30)
    ready = time.monotonic() - promoted
    all_progress(lab, 20, 90)
    # What the new database did not know: where it sent the agents back to.
    back = [re.search(r"asks for stream (\w+) from (\d+) again", b.agent.text()) for b in lab.boxes]
    lost = [had[m[1]][0] - int(m[2]) for m in back if m]
    print(f"ready {ready:.1f} s after the promotion; records lost with the commits: {lost}")
    assert len(lost) == len(lab.boxes) and min(lost) >= 8, "the failover lost too little"
    lab.ledger.drain()
    lab.ledger.check()


def test_F4_primary_turns_read_only(pair, pair_lab):
    """25006: the old primary stays up and read-only, the server leaves it for the new one."""
    lab, (primary, standby) = pair_lab, pair
    lab.start_all()
    all_progress(lab)
    primary.configure(default_transaction_read_only="on")
    wait_until("it is noticed", lambda: "is read-only" in lab.server.log(), 30)
    caught_up(primary, standby)
    standby.promote()
    lab.now = standby
    promoted = time.monotonic()
    wait_until("ready", lambda: lab.server.get("/readyz").status == 200, 30)
    all_progress(lab, 5, 90)
    print(f"delivery goes on {time.monotonic() - promoted:.1f} s after the promotion")
    assert primary.running(), "the old primary was to stay"
    assert not any(p for b in lab.boxes for p in b.spool.glob("rejected/*"))
    lab.ledger.drain()
    lab.ledger.check()


def test_F5_database_restored_from_a_copy(lab, tmp_path):
    """The database of some time ago: what the boxes still hold is delivered again."""
    lab.start_all()
    all_progress(lab)
    lab.server.stop()
    data, copy = lab.server.data, tmp_path / "copy"
    sh("cp", "-a", data, copy)
    lab.server.start()
    all_progress(lab, 20, 90)
    had = lab.marks()
    lab.server.stop()
    shutil.rmtree(data)
    sh("cp", "-a", copy, data)
    lab.server.start()
    all_progress(lab, 20, 90)
    back = [re.search(r"asks for stream (\w+) from (\d+) again", b.agent.text()) for b in lab.boxes]
    lost = [had[m[1]][0] - int(m[2]) for m in back if m]
    print(f"records lost with the newer database: {lost}")
    assert len(lost) == len(lab.boxes) and min(lost) >= 15, "the copy lost too little"
    lab.ledger.drain()
    lab.ledger.check()
