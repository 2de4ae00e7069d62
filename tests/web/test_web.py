# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages: types, unit tests of the modules, and the browser on a real server.

Each *.test.mjs is a node test file; its tests appear here one by one. Needs node, npm and chromium.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
WEB = HERE.parent.parent / "web"

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture(scope="session")
def modules():
    """node_modules of web/, with the tools for development, as the lock file has them."""
    lock = WEB / "package-lock.json"
    stamp = WEB / "node_modules" / ".package-lock.json"
    if not (WEB / "node_modules" / "playwright-core").exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run(["npm", "ci", "--no-progress", "--loglevel=error"], cwd=WEB, check=True)
        stamp.touch()
    return WEB / "node_modules"


@pytest.fixture(scope="session")
def bundle(modules):
    """web/dist, which the mock server serves."""
    subprocess.run(["npm", "run", "-s", "build"], cwd=WEB, check=True)


def test_types(modules):
    subprocess.run(["npm", "run", "-s", "check"], cwd=WEB, check=True)


def test_modules(modules):
    run = subprocess.run(["npm", "-s", "test"], cwd=WEB, text=True, capture_output=True)
    assert run.returncode == 0, run.stdout
    assert re.search(r"^# pass [1-9]", run.stdout, re.M), run.stdout


def test_lock_file_names_no_host():
    text = (WEB / "package-lock.json").read_text()
    assert "://" not in text
    assert '"integrity"' in text


_pool = concurrent.futures.ThreadPoolExecutor(2)
_running = {}


def run_node(name):
    run = subprocess.run(
        ["node", "--test", "--test-reporter=tap", name],
        cwd=HERE, text=True, capture_output=True, timeout=900,
        env={**os.environ, "TZ": "UTC"},
    )
    return parse_tap(run.stdout), run.returncode, run.stdout + run.stderr


def run_file(name, wanted=None):
    """({test name: (ok, text)}, exit status, output) of a node test file, which runs once. Most of a file's time
    is waiting (a server starts, a page settles), so the wanted ones run two at a time."""
    for each in [name, *(wanted or ())]:
        if each not in _running:
            _running[each] = _pool.submit(run_node, each)
    return _running[name].result()


def parse_tap(text):
    results = {}
    current = None
    for line in text.splitlines():
        m = re.match(r"\s*(not )?ok \d+ - (.*?)(?: # .*)?$", line)
        if m:
            current = m.group(2).replace("\\#", "#")
            results[current] = [m.group(1) is None, line]
        elif current:
            results[current][1] += "\n" + line
    return results


def names_in(name):
    """Names as the file has them; those made in a loop are checked by the file's exit status."""
    return re.findall(r'^test\("((?:[^"\\]|\\.)*)"', (HERE / name).read_text(), re.M)


FILES = sorted(p.name for p in HERE.glob("*.test.mjs"))
CASES = [(f, t) for f in FILES for t in names_in(f)]


@pytest.fixture(scope="session")
def wanted(request):
    """The files that this session will run, in order."""
    files = [i.callspec.params["file"] for i in request.session.items
             if getattr(i, "callspec", None) and "file" in i.callspec.params]
    return list(dict.fromkeys(files))


@pytest.mark.parametrize("file,case", CASES, ids=[f"{f}: {t}" for f, t in CASES])
def test_browser(bundle, wanted, file, case):
    results, _, output = run_file(file, wanted)
    assert case in results, output
    ok, text = results[case]
    assert ok, text


@pytest.mark.parametrize("file", FILES)
def test_browser_file(bundle, file):
    _, status, output = run_file(file)
    assert status == 0, output
