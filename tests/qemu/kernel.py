# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's arm64 cloud kernel, fetched once by an apt root of our own into a cache. The system's
package state is not touched; apt checks the signatures; the SHA-256 of what is booted is kept
beside it and checked at each use."""
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

META = "linux-image-cloud-arm64"
TIMEOUT = 300


class Unavailable(Exception):
    """Why there is no kernel."""


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "rigstat" / "qemu"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(argv, root):
    env = dict(os.environ, APT_CONFIG=str(root / "apt.conf"), LC_ALL="C")
    p = subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, timeout=TIMEOUT)
    if p.returncode:
        raise Unavailable(f"{' '.join(argv)}: {(p.stderr or p.stdout).strip()[-200:]}")
    return p.stdout


def fetch(cache):
    """Downloads and unpacks the kernel into `cache`."""
    root = cache / "apt"
    for d in ("state/lists/partial", "cache/archives/partial"):
        (root / d).mkdir(parents=True, exist_ok=True)
    (root / "state/status").touch()
    (root / "apt.conf").write_text(
        f'Dir::State "{root}/state";\nDir::State::status "{root}/state/status";\n'
        f'Dir::Cache "{root}/cache";\nAPT::Architecture "arm64";\nAPT::Architectures {{"arm64"}};\n'
        'APT::Sandbox::User "";\n')
    run(["apt-get", "-qq", "update"], root)
    package = re.search(r"Depends: (linux-image-\S+)", run(["apt-cache", "depends", META], root))
    if not package:
        raise Unavailable(f"apt knows no {META}")
    run(["apt-get", "-qq", "download", package.group(1)], root)
    deb = next(root.glob("linux-image-*.deb"))
    out = root / "out"
    run(["dpkg-deb", "-x", str(deb), str(out)], root)
    image = next((out / "boot").glob("vmlinuz-*"))
    shutil.move(image, cache / image.name)
    (cache / "SHA256").write_text(f"{digest(cache / image.name)}  {image.name}\n")
    shutil.rmtree(root)
    return cache / image.name


def kernel():
    """Path of the kernel image; raises Unavailable with the reason."""
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = cache / "SHA256"
        if known.exists():
            sha, name = known.read_text().split()
            if (cache / name).exists() and digest(cache / name) == sha:
                return cache / name
        if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
            raise Unavailable("no apt-get and dpkg-deb to fetch a kernel with")
        try:
            return fetch(cache)
        except (OSError, StopIteration, subprocess.TimeoutExpired) as e:
            raise Unavailable(f"the kernel could not be fetched: {e}") from e
