# SPDX-License-Identifier: GPL-2.0-or-later
"""The README's commands on old files run as they are written there."""
import os
import random
import re
import subprocess

from apilib import api  # noqa: F401 (fixture)
from conftest import BUILD, ROOT

SAMPLES = 20000
ROWS = 400


def blocks(heading):
    section = re.search(rf"^## {heading}\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)
    return re.findall(r"^```\n(.*?)^```$", section.group(1), re.M | re.S)


def cyclictest_file(path, faster_us):
    """One thread as `cyclictest -h 400` writes it; lognormal latencies, 3 us less on the second side."""
    rng = random.Random(str(path.relative_to(path.parent.parent)))
    counts = [0] * ROWS
    for _ in range(SAMPLES):
        counts[min(ROWS - 1, max(1, int(rng.lognormvariate(2.6, 0.5)) - faster_us))] += 1
    seen = [k for k in range(ROWS) if counts[k]]
    rows = "".join(f"{k:06d} {n:06d}\n" for k, n in enumerate(counts))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# /dev/cpu_dma_latency set to 0us\n# Histogram\n{rows}# Total: {SAMPLES:09d}\n"
                    f"# Min Latencies: {seen[0]:05d}\n# Avg Latencies: 00014\n# Max Latencies: {seen[-1]:05d}\n"
                    "# Histogram Overflows: 00000\n")


def commands(api, tmp_path, script):
    env = {k: v for k, v in os.environ.items() if not k.startswith("RIGSTAT_")}
    env |= {"PATH": f"{BUILD / 'cli'}:{env['PATH']}", "RIGSTAT_SERVER": f"http://{api.server.address}"}
    done = subprocess.run(["sh", "-e"], input=script, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done


def test_a_folder_of_old_files(api, tmp_path):  # noqa: F811
    for side, faster_us in (("before", 0), ("after", 3)):
        for i in range(1, 9):
            cyclictest_file(tmp_path / f"old/{side}/cyclictest-{i}.txt", faster_us)
    offline, served = blocks("From a folder of old files to a first verdict")
    for script in (offline, served):
        done = commands(api, tmp_path, script)
        assert "verdict: better" in done.stdout, done.stdout
        assert "the order of the runs is not recorded" in done.stdout
    assert "would import 16 files" in done.stderr and done.stderr.count("imported 8 files (8 runs)") == 2, done.stderr


def test_old_files_of_two_kernels_are_judged_over_boots(api, tmp_path):  # noqa: F811
    said = {}
    for experiment, boots in (("unknown-boots", ["", "", ""]), ("known-boots", ["--boot 1", "--boot 2", "--boot 3"])):
        script = ""
        for kernel, faster_us in (("6.1", 0), ("6.6", 3)):
            for i, boot in enumerate(boots):
                folder = f"{experiment}-{kernel}-{i}"
                for k in (1, 2):
                    cyclictest_file(tmp_path / folder / f"{k}.txt", faster_us)
                script += f"rigstat import {folder} --experiment {experiment} --set kernel={kernel} --host olab-13 {boot}\n"
        script += f"rigstat compare --a experiment={experiment},kernel=6.1 --b experiment={experiment},kernel=6.6\n"
        said[experiment] = " ".join(commands(api, tmp_path, script).stdout.split())
    assert "verdict: not_enough_runs" in said["unknown-boots"]
    assert "12 runs do not record their boot" in said["unknown-boots"]
    assert "verdict: better" in said["known-boots"] and "6 + 6 runs are 3 + 3 boots" in said["known-boots"]
