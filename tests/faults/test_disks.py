# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are full, read-only, damaged or lying, below the agents and below PostgreSQL. What the
boxes had is stored once or named in a gap of the right reason; nobody stops."""
import errno
import os
import pathlib
import pwd
import shutil
import subprocess
import time

import pytest

import lab as lablib
from lab import seeded, sh, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


@pytest.fixture
def mounts():
    """mount(path, options): a tmpfs, unmounted at the end."""
    made = []

    def mount(path, options):
        path.mkdir(exist_ok=True)
        sh("mount", "-t", "tmpfs", "-o", options, "none", path)
        made.append(path)
        return path

    yield mount
    for path in reversed(made):
        subprocess.run(["umount", "-l", str(path)], check=False)


def fill(path):
    """Until there is no room; returns the file."""
    with open(path / "filler", "ab", buffering=0) as f:
        try:
            while f.write(b"x" * 4096):
                pass
        except OSError as e:
            assert e.errno == errno.ENOSPC
    return path / "filler"


def test_F8_disk_full(lab, mounts):
    """Full at the start, in the middle, and again and again at seals; one box has a quota that is
    too small for an outage. Memory takes over, the quota drops the oldest whole, and both end."""
    at_start, middle, at_seals, quota = lab.boxes
    for box in (at_start, middle, at_seals):
        mounts(box.spool, "size=1m,mode=755")
    fill(at_start.spool)
    at_start.start()
    middle.start()
    at_seals.start("--spool-max", "16K")  # a seal every 4 KiB
    quota.start("--spool-max", "16K")
    at_start.agent.wait_text("records stay in memory", 30)
    for box in lab.boxes:
        lab.progress(box)
    fill(middle.spool)
    quota.drop("output", f"tcp dport {lablib.PORT}")
    for n in range(3):
        fill(at_seals.spool)
        lab.progress(at_seals, 4)
        os.truncate(at_seals.spool / "filler", 0)
        time.sleep(1)
    for box in (at_start, middle):
        box.agent.wait_text("records stay in memory", 30)
        lab.progress(box)
        os.truncate(box.spool / "filler", 0)
    for box in (at_start, middle):
        box.agent.wait_text("works again", 30)
        lab.progress(box)
    wait_until("the quota has dropped a segment", lambda: min(
        (int(p.stem, 16) for p in quota.spool.glob("*/*.seg")), default=1) >
        list(lab.marks(quota.host).values())[0][0], 60)
    assert quota.dropped(), "the cut met no packet"
    quota.heal()
    lab.progress(quota, 15, 90)
    lab.ledger.drain(unseen={b.host for b in (at_start, middle, at_seals)})
    for box in (at_start, middle, at_seals):
        lab.ledger.check_rate(box, reasons={"quota"} if box is at_seals else set())
    gaps = lab.ledger.check_box(quota, {"quota"}, 0)
    assert gaps and all(g["samples"] > 0 for g in gaps), gaps


def test_F9_database_disk_full(make_server, tmp_path, mounts, lab_without_server):
    """53100 from PostgreSQL: 503 and red health, never an answer that makes an agent drop data."""
    lab = lab_without_server
    lab.server = lab.make(make_server)
    base, kept = lab.server.data / "data" / "base", tmp_path / "base"
    shutil.move(base, kept)
    mounts(base, "size=96m,mode=700")
    sh("cp", "-a", f"{kept}/.", base)
    postgres = pwd.getpwnam("postgres")
    os.chown(base, postgres.pw_uid, postgres.pw_gid)
    lab.ledger = lab.begin(tmp_path, "f9")
    lab.server.start()
    lab.start_all()
    for box in lab.boxes:
        lab.progress(box)
    filler = fill(base)
    for box in lab.boxes:
        box.agent.wait_text("HTTP 503", 60)
    assert "53100" in lab.server.log() or "No space left" in lab.server.log()
    wait_until("health is red", lambda: lab.server.get("/readyz").status == 503, 30)
    assert "No space left" in lab.server.get("/readyz").json()["detail"]
    assert not any(p for b in lab.boxes for p in b.spool.glob("rejected/*"))
    filler.unlink()
    for box in lab.boxes:
        lab.progress(box, 5, timeout=90)
    assert lab.server.get("/readyz").status == 200
    lab.ledger.drain()
    lab.ledger.check()
    lab.ledger.close()
    lab.server.stop()
    subprocess.run(["umount", str(base)], check=True)


def test_F10_spool_cannot_be_used(lab, mounts):
    """Read-only, a symbolic link, a plain file, somebody else's: measured and delivered from
    memory all the same, and nothing is written where it should not be."""
    read_only, link, plain, foreign = lab.boxes
    mounts(read_only.spool, "ro")
    elsewhere = link.dir / "elsewhere"
    elsewhere.mkdir()
    link.spool.symlink_to(elsewhere)
    plain.spool.write_text("precious\n")
    foreign.spool.mkdir(mode=0o700)
    nobody = pwd.getpwnam("nobody")
    os.chown(foreign.dir, nobody.pw_uid, nobody.pw_gid)
    for directory in (foreign.dir, *foreign.dir.parents[:3]):
        directory.chmod(0o755)
    for box in (read_only, link, plain):
        box.start()
    foreign.start("--policy", "other", prefix=["setpriv", f"--reuid={nobody.pw_uid}",
                                               "--clear-groups"])
    for box in lab.boxes:
        box.agent.wait_text("records stay in memory", 30)
        lab.progress(box, 10)
        assert box.stop() < 5
    assert not list(elsewhere.iterdir()), "written through a symbolic link"
    assert plain.spool.read_text() == "precious\n" and not list(foreign.spool.iterdir())
    assert all(m[2] == 0 for m in lab.marks().values()), "samples were lost"


# The first is in the middle of what is not yet delivered, so it is a gap for certain.
DAMAGES = ("middle flip", "flip", "truncate", "zero tail", "duplicate", "swap", "foreign", "rubbish")


@pytest.mark.quick
def test_F11_damaged_segments(lab):
    """While an agent is dead its files are damaged in all ways of the list. Good records are
    kept, the others are gaps, and the next life starts as always."""
    rng = seeded()
    lab.start_all("--interval", "100ms", "--spool-max", "40K")
    for box in lab.boxes:
        lab.progress(box)
        box.drop("output", f"tcp dport {lablib.PORT}")
    time.sleep(6)
    for box in lab.boxes:
        box.kill()
        assert box.dropped()
    lab.ledger.collect()
    done = []
    for n, what in enumerate(DAMAGES):
        box = lab.boxes[n % len(lab.boxes)]
        done.append((box.number, what, damage(lab, box, what, rng)))
    print(*done, sep="\n")
    lab.ledger.drain(damaged=True)
    found = lab.ledger.check(reasons={"corrupt", "torn"}, tails=400)
    assert found[lab.boxes[0].host], "the damage in the middle was not noticed"
    assert any((b.spool / "corrupt").is_dir() for b in lab.boxes)


def damage(lab, box, what, rng):
    """Damages one segment (the last one for tails); returns what was done."""
    files = lablib.segments(box.spool)
    if what == "middle flip":
        stored = max(m[0] for m in lab.marks(box.host).values())
        victim = next(f for f in files[:-1] if int(f.stem, 16) >= stored)
    else:
        victim = files[-1] if "tail" in what or what == "truncate" else rng.choice(files)
    lab.ledger.spare(victim)
    data = bytearray(victim.read_bytes())
    at = rng.randrange(64, len(data))
    if what in ("flip", "middle flip"):
        data[at] ^= 1 << rng.randrange(8)
    elif what == "truncate":
        del data[at:]
    elif what == "zero tail":
        data[at:] = bytes(len(data) - at)
    elif what == "rubbish":
        data[at:at + 300] = rng.randbytes(300)
    elif what == "duplicate":
        shutil.copy(victim, victim.with_name(f"{int(victim.stem, 16) + 7:016x}.seg"))
    elif what == "swap":
        other = rng.choice([f for f in files if f != victim])
        lab.ledger.spare(other)
        data, theirs = bytearray(other.read_bytes()), bytes(data)
        other.write_bytes(theirs)
    elif what == "foreign":
        them = next(b for b in lab.boxes if b is not box)
        stranger = rng.choice(lablib.segments(them.spool))
        shutil.copy(stranger, victim.with_name(f"{int(victim.stem, 16) + 3:016x}.seg"))
    victim.write_bytes(data)
    return victim.name, at


def test_F12_fsync_fails(lab, tmp_path):
    """EIO from fsync: the unsynced records are written again to a new file, it is said aloud, and
    nothing is lost while the agent lives."""
    shims = []
    for box in lab.boxes:
        directory = tmp_path / f"shim{box.number}"
        directory.mkdir()
        shims.append(lablib.Shim(directory))
        box.start(env=shims[-1].env, asan="verify_asan_link_order=0")
        lab.progress(box)
    for shim in shims:
        shim.set(fsync_errno=errno.EIO)
    for box, shim in zip(lab.boxes, shims):
        wait_until("fsync has failed", lambda s=shim: s.get("fsync_failed") >= 2, 20)
        box.agent.wait_text("Input/output error", 20)
        lab.progress(box, 10)
        shim.set(fsync_errno=0)
    for box in lab.boxes:
        box.agent.wait_text("works again", 30)
        lab.progress(box)
    lab.ledger.drain(unseen={b.host for b in lab.boxes})
    for box in lab.boxes:
        assert not [g for g in lab.ledger.gaps(box.host) if g["reason"] != "unclean_end"]
        lab.ledger.check_rate(box)
    assert pathlib.Path(shims[0].library).exists()
