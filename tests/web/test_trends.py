# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of trends and changes in a browser, on a real server with a history that has a step."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))

from apilib import Api, value_run  # noqa: E402
from conftest import Server  # noqa: E402
from test_web import bundle, modules, pytestmark  # noqa: E402,F401 (fixtures)


def test_trends_and_changes(bundle):  # noqa: F811
    directory = tempfile.mkdtemp(prefix="rigstat-it-")
    os.chmod(directory, 0o755)
    server = Server(directory, ["--web-dir", str(HERE.parent.parent / "web" / "dist")])
    server.start()
    try:
        api, rng = Api(server), random.Random(2)
        runs = [value_run(i, experiment="nightly", host="box1", value=(100e6 if i < 22 else 108e6) * (1 + rng.gauss(0, .008)),
                          tags={"commit": f"c{i:02d}", "branch": "main"}) for i in range(40)]
        api.send("POST", "/runs", {"runs": runs}, 201)
        from test_track import settled
        settled(server)
        series, change = api.get("/series")["items"][0]["id"], api.get("/changes")["items"][0]["id"]
        done = subprocess.run(["node", "trends.mjs", f"http://{server.address}", series, change,
                               *filter(None, [os.environ.get("RIGSTAT_SHOTS")])], cwd=HERE, capture_output=True, text=True,
                              timeout=300, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        status, log = server.stop(), server.log()
        shutil.rmtree(directory, ignore_errors=True)
        assert status == 0, log
