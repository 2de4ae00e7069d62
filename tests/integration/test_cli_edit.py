# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat relabel and import --undo as the server's conflicts name them; exclude."""
import shlex
import subprocess

from apilib import api, value_run  # noqa: F401 (fixture)
from conftest import BUILD

TABLE = b"Delay   Count\n-----   -----\n6       21\n7       203\n8       %d\n"


def rigstat(api, *args, status=0):
    out = subprocess.run([str(BUILD / "cli/rigstat"), *args, "--server", f"http://{api.server.address}"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == status, (out.returncode, out.stdout, out.stderr)
    return out.stdout + out.stderr


def test_the_command_of_a_conflict_mends_it(api):
    run = api.load(TABLE % 1, experiment="c", set=["kb=64", "wrong=1"], unit="us")["runs"][0]["id"]
    hint = api.load(TABLE % 1, 409, experiment="c", set="kb=it's 32", unit="us")["hint"]
    rigstat(api, *shlex.split(hint)[1:])
    assert api.get("/runs/" + run)["factors"] == {"kb": "it's 32"}
    assert api.load(TABLE % 1, 200, experiment="c", set="kb=it's 32", unit="us")["already"]
    hint = api.load(TABLE % 1, 409, experiment="d", set="kb=it's 32", unit="us")["hint"]
    rigstat(api, *shlex.split(hint.split(",")[0])[1:])
    assert api.load(TABLE % 1, 201, experiment="d", set="kb=it's 32", unit="us")


def test_exclude_and_back(api):
    ids = [r["id"] for r in api.send("POST", "/runs", {"runs": [value_run(i, "x") for i in range(2)]}, 201)["items"]]
    rigstat(api, "exclude", *ids, "--reason", "fan <failed>")
    assert {api.get("/runs/" + i)["excluded"] for i in ids} == {"fan <failed>"}
    rigstat(api, "exclude", ids[0], "--undo")
    assert api.get("/runs/" + ids[0])["excluded"] is None


def test_wrong_use(api):
    run = api.send("POST", "/runs", value_run(1, "w"), 201)["items"][0]["id"]
    rigstat(api, "exclude", run, status=3)
    rigstat(api, "exclude", run, "--reason", "x", "--undo", status=3)
    rigstat(api, "relabel", run, status=3)
    rigstat(api, "relabel", run, "novalue", status=3)
    assert "agent" in rigstat(api, "relabel", run, "f=9", status=3)
    assert "r_99999" in rigstat(api, "relabel", "r_99999", "f=9", status=3)
    rigstat(api, "exclude", "--undo", status=3)
    rigstat(api, "exclude", "r_99999", "--undo", status=3)
    out = subprocess.run([str(BUILD / "cli/rigstat"), "exclude", "r_1", "--undo", "--server", "http://127.0.0.1:1"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 4
