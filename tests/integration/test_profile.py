# SPDX-License-Identifier: GPL-2.0-or-later
"""What moved between two sides' profiles: over REST, by the command line on a server and on files.
Figures by scipy (ttest_rel on the five blocks)."""
import csv
import io
import json
import os
import subprocess

import pytest

from apilib import api  # noqa: F401 (fixture)
from conftest import BUILD

FOO = [(3.0, 5.2), (3.2, 5.6), (3.1, 5.4), (3.1, 5.5), (2.9, 5.3)]
A, B = "experiment=prof,f=0", "experiment=prof,f=1"


def series(metric, value, **labels):
    return {"metric": metric, "kind": "value", "unit": "%", "value": value, "labels": labels,
            "method": f"rigstat-shares-{metric.split('_')[0]}/1"}


def run(block, side, word="time", experiment="prof", symbols=None):
    """Place 1 2, 4 3, 5 6 ...: ABBA."""
    symbols = symbols or {"foo": FOO[block][side], "ext4_mark_inode_dirty": 20 - FOO[block][side]}
    return {"host": "box", "experiment": experiment, "state": "ok", "kind": "measured",
            "factors": {"f": str(side)}, "block": block + 1,
            "order": 2 * block + 1 + (1 - side if block % 2 else side),
            "started": f"2026-11-01T00:{2 * block + side:02d}:00Z",
            "series": [series(f"{word}_idle", 50.0), series(f"{word}_agent", 0.2), series(f"{word}_unattributed", 0.0),
                       series(f"{word}_command", 60.0, comm="fio"), series(f"{word}_share", 60.0, app="fio"),
                       series(f"{word}_object", 30.0, object="libc.so.6")]
            + [series(f"{word}_symbol", v, symbol=k) for k, v in symbols.items()]}


@pytest.fixture(scope="module", autouse=True)
def runs(api):
    docs = [run(b, s) for b in range(5) for s in (0, 1)]
    docs += [run(b, s, "cycle" if s else "time", "mixed") for b in range(3) for s in (0, 1)]
    docs += [{**run(0, s, experiment="none"), "series": [{"metric": "elapsed", "kind": "value", "unit": "ns", "value": 5}]}
             for s in (0, 1)]
    api.send("POST", "/runs", {"runs": docs}, 201)


def rows(doc, table):
    return {r["name"]: r for t in doc["tables"] if t["name"] == table for r in t["rows"]}


def cli(api, *args, server=True, status=0):
    env = dict(os.environ, RIGSTAT_SERVER=f"http://{api.server.address}") if server else dict(os.environ)
    done = subprocess.run([str(BUILD / "cli/rigstat"), "profile", *args], env=env, capture_output=True, text=True)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stderr


def test_what_moved(api):
    doc = api.get("/profile/diff", {"a": A, "b": B})
    assert doc["state"] == "tested" and doc["basis"] == "time" and doc["design"]["paired"]
    foo = rows(doc, "code")["foo"]
    assert (foo["a"]["avg"], foo["b"]["avg"]) == pytest.approx((3.06, 5.40))
    assert foo["delta"]["abs"] == pytest.approx(2.34)
    assert foo["delta"]["ci"] == pytest.approx([2.2289421957920887, 2.451057804207912])
    assert foo["delta"]["p"] == pytest.approx(5.113075883545423e-07)
    assert foo["delta"]["reading"] == "higher"
    assert rows(doc, "code")["ext4_mark_inode_dirty"]["delta"]["reading"] == "lower"
    assert rows(doc, "code")["libc.so.6"]["delta"]["reading"] == "unclear"
    assert rows(doc, "applications")["fio"]["a"]["avg"] == 60
    assert set(rows(doc, "programs")) == {"fio"}
    assert "rose from 3.06 % to 5.40 %" in doc["sentence"] or "fell from 16.94 % to 14.60 %" in doc["sentence"]
    assert doc["a"]["runs"][0]["id"].startswith("r_")


def test_formats_and_links(api):
    doc = api.get("/profile/diff", {"a": A, "b": B})
    for name, link in doc["links"].items():
        assert api.call("GET", link.removeprefix("/api/v1")).status == 200, name
    text = api.get("/profile/diff", {"a": A, "b": B, "format": "text"}).body.decode()
    assert all(len(line) <= 76 for line in text.splitlines()) and "[k] foo" in text
    table = list(csv.DictReader(io.StringIO(api.get("/profile/diff", {"a": A, "b": B, "format": "csv"}).body.decode())))
    assert {r["name"] for r in table if r["table"] == "code"} == set(rows(doc, "code"))
    assert float(next(r for r in table if r["name"] == "foo")["ci_lo"]) == pytest.approx(2.2289421957920887)
    first = api.call("GET", "/profile/diff", {"a": A, "b": B})
    again = api.call("GET", "/profile/diff", {"a": A, "b": B}, headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304
    other = api.call("GET", "/profile/diff", {"a": A, "b": B, "margin": "3%"}, headers={"If-None-Match": first.headers["ETag"]})
    assert other.status == 200 and rows(other.json(), "code")["foo"]["delta"]["reading"] == "below_margin"


def test_states_that_are_no_errors(api):
    doc = api.get("/profile/diff", {"a": "experiment=mixed,f=0", "b": "experiment=mixed,f=1"})
    assert doc["state"] == "not_comparable" and doc["basis"] is None and "never mixed" in doc["sentence"]
    doc = api.get("/profile/diff", {"a": "experiment=none,f=0", "b": B})
    assert doc["state"] == "no_profile" and doc["tables"] == []
    doc = api.get("/profile/diff", {"a": A + ",block=1", "b": B + ",block=1"})
    assert doc["state"] == "not_enough_runs" and rows(doc, "code")["foo"]["delta"]["p"] is None


def test_wrong_questions(api):
    assert api.get("/profile/diff", {"a": A}, 400)["errors"][0]["parameter"] == "b"
    assert api.get("/profile/diff", [("a", A), ("b", B), ("b", B)], 400)["errors"][0]["parameter"] == "b"
    assert "cycle_share" in api.get("/profile/diff", {"a": A, "b": B, "metric": "elapsed"}, 400)["detail"]
    assert api.get("/profile/diff", {"a": A, "b": "experiment=nothing"}, 404)["type"] == "/problems/no-runs"
    api.get("/profile/diff", {"a": A, "b": B, "format": "svg"}, 406)


def test_command_line_on_server_and_on_files_agree(api, tmp_path):
    sides = []
    for name, selector in (("a", A), ("b", B)):
        path = tmp_path / f"{name}.ndjson"
        path.write_bytes(api.call("GET", "/export", {"q": selector}).body)
        sides.append(str(path))
    here, there = cli(api, "diff", *sides, server=False), cli(api, "diff", A, B)
    # the sides' names differ, what was found does not
    assert here.split("\n\n")[2:] == there.split("\n\n")[2:] and "[k] foo" in there
    doc = json.loads(cli(api, "diff", "--json", A, B))
    assert doc["tables"] == json.loads(cli(api, "diff", "--json", *sides, server=False))["tables"]
    assert "| foo" in cli(api, "diff", "--markdown", A, B).replace("\\[k\\] ", "")
    assert "--stat: not an option" in cli(api, "diff", "--stat", "p99", A, B, status=3)
    assert "two sides" in cli(api, "diff", A, status=3)


def test_one_run(api):
    shown = cli(api, "show", "r_1")
    assert "[k] ext4_mark_inode_dirty" in shown and "50.00  idle (of everything)" in shown
    doc = json.loads(cli(api, "show", "--json", "r_1"))
    assert [e["name"] for e in doc["profiles"][0]["code"]] == ["libc.so.6", "ext4_mark_inode_dirty", "foo"]
    assert len(json.loads(cli(api, "show", "--json", A))["items"]) == 5
    assert "not sampled" in cli(api, "show", "experiment=none,f=0")
    assert "no run" in cli(api, "show", "r_99999", status=3)
    assert cli(api, "show", "--csv", "r_1").splitlines()[0] == "run,basis,kind,name,of,share"


def test_show_and_export_keep_a_profile_readable(tmp_path):
    """`show` gives the largest names and how many more; CSV has a column for each name, empty where a run did not keep it."""
    symbols = {f"fn_{i:02d}": 10.0 - i / 10 for i in range(20)}
    docs = [run(0, 0, symbols=symbols), run(0, 1, symbols={"mod: only_b": 4.5})]
    path = tmp_path / "two.ndjson"
    path.write_text("".join(json.dumps(d) + "\n" for d in docs))
    rigstat = str(BUILD / "cli/rigstat")
    text = subprocess.run([rigstat, "show", str(path)], capture_output=True, text=True, check=True).stdout
    first = text[:text.index("run 2")]
    assert first.count("time_symbol symbol=") == 3 and "time_symbol symbol=fn_00: 10 %" in first
    assert "time_symbol: 17 more names (rigstat profile show)" in first
    out = subprocess.run([rigstat, "export", "--to", "csv", str(path)], capture_output=True, text=True, check=True).stdout
    a, b = csv.DictReader(io.StringIO(out))
    assert a["time_symbol symbol=fn_19 [%]"] == "8.1" and a["time_symbol symbol=mod: only_b [%]"] == ""
    assert b["time_symbol symbol=fn_19 [%]"] == "" and b["time_symbol symbol=mod: only_b [%]"] == "4.5"
