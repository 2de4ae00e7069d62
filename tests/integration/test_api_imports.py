# SPDX-License-Identifier: GPL-2.0-or-later
"""POST /imports: identity by bytes, place and labels; dry runs; undo; names that bite."""
import hashlib

import pytest

from apilib import DATA, api, value_run  # noqa: F401 (fixture)

TABLE = b"Delay   Count\n-----   -----\n6       21\n7       203\n8       595\n"
ODD = ["it's \"quoted\"", "two words, comma", "<b>bold</b>", "Größe µs 东京", "a=b..c", "back\\slash", "100%_*?"]


def table(n):
    """A table of its own: other bytes, other run."""
    return TABLE + b"9       %d\n" % n


def test_original_bytes_are_kept(api):
    got = api.load(table(1), source="a.txt", experiment="kept", unit="us")
    assert got["sha256"] == hashlib.sha256(table(1)).hexdigest() and got["bytes"] == len(table(1))
    reply = api.call("GET", f"/imports/{got['id']}/bytes")
    assert reply.body == table(1)
    shown = api.get(f"/imports/{got['id']}")
    assert shown["sha256"] == got["sha256"] and shown["runs"][0]["id"] == got["runs"][0]["id"]
    run = api.get("/runs/" + got["runs"][0]["id"])
    assert run["source"] == "a.txt" and run["import"] == got["id"] and run["kind"] == "imported"


def test_same_bytes_and_labels_are_the_same_run(api):
    first = api.load(table(2), experiment="twice", set="kb=64", unit="us")
    again = api.load(table(2), 200, experiment="twice", set="kb=64", unit="us")
    assert again["already"] and again["runs"][0]["id"] == first["runs"][0]["id"] and again["id"] == first["id"]
    assert len(api.get("/runs", {"q": "experiment=twice"})["items"]) == 1


def test_other_labels_are_a_conflict_that_names_the_command(api):
    run = api.load(table(3), experiment="labels", set="kb=64", unit="us")["runs"][0]["id"]
    problem = api.load(table(3), 409, experiment="labels", set="kb=32", unit="us")
    assert problem["type"] == "/problems/already-imported"
    assert problem["hint"] == f"rigstat relabel {run} 'kb=32'" and "kb=64" in problem["detail"]
    api.send("PATCH", f"/runs/{run}", {"factors": {"kb": "32"}})
    assert api.load(table(3), 200, experiment="labels", set="kb=32", unit="us")["already"]
    problem = api.load(table(3), 409, experiment="elsewhere", set="kb=32", unit="us")
    assert problem["hint"].startswith("rigstat import --undo i_")


def test_dry_run_stores_nothing(api):
    got = api.load(table(4), 200, dry_run="1", experiment="dry", unit="us")
    assert got["dry_run"] and got["id"] is None and got["runs"][0]["metrics"][0]["count"] == 823
    assert api.get("/runs", {"q": "experiment=dry"})["items"] == []
    assert api.load(table(4), experiment="dry", unit="us")["already"] is False
    assert api.load(table(4), 200, dry_run="1", experiment="dry", unit="us")["already"] is True


def test_undo_removes_runs_and_what_only_they_had(api):
    got = api.load(table(5), experiment="undone", host="undone-box", unit="us")
    assert api.get("/hosts/undone-box")["runs"] == 1
    api.send("DELETE", f"/imports/{got['id']}", status=204)
    api.get("/runs/" + got["runs"][0]["id"], status=404)
    api.get("/experiments/undone", status=404)
    api.get("/hosts/undone-box", status=404)
    api.send("DELETE", f"/imports/{got['id']}", status=404)
    assert api.load(table(5), experiment="undone", unit="us")["already"] is False


def test_unit_is_inferred_with_a_note_when_not_said(api):
    notes = api.load(table(6), experiment="inferred")["runs"][0]["notes"]
    assert any("unit" in n["code"] for n in notes)


def test_summary_only_source_keeps_its_n(api):
    got = api.load((DATA / "rq-affinity-2008/summary.csv").read_bytes(), source="summary.csv", experiment="2008")
    for run in got["runs"]:
        series = api.get("/runs/" + run["id"])["series"]
        assert {(s["kind"], s["n"], s["count"]) for s in series} == {("summary", 10, None)}
        problem = api.get(f"/runs/{run['id']}/histograms/cycles_in_application", status=404)
        assert "summary" in problem["detail"]
    item = api.get("/runs", {"ids": got["runs"][0]["id"], "metric": "cycles_in_application"})["items"][0]
    assert item["summary"]["n"] == 10 and item["summary"]["value"] == 70.231


def test_contradiction_becomes_a_note_on_the_run(api):
    run = api.load(b"Of 10,000 samples:\n\n" + table(77), unit="us", experiment="claims")["runs"][0]["id"]
    note = next(n for n in api.get("/runs/" + run)["note_list"] if n["code"] == "claimed-count-differs")
    assert "10000" in note["text"] and "896" in note["text"]
    doc = api.compare(f"run={run}", f"run={run}")
    assert note in doc["a"]["runs"][0]["notes"]


@pytest.mark.parametrize("data,place", [
    (b"Delay   Count\n-----   -----\n6       21\n7       12x\n", (4, None)),
    (b"", (None, None)), (b"nonsense", (None, None))])
def test_unreadable_bytes_name_the_place(api, data, place):
    problem = api.load(data, 400, source="bad.txt")
    assert problem["status"] == 400
    if place[0]:
        assert problem["errors"][0]["line"] == place[0], problem


@pytest.mark.parametrize("params", [{"unit": "hours"}, {"set": "novalue"}, {"set": "=x"}, {"format": "nope"},
                                    {"interval": "1"}, {"dry_run": "perhaps"}, {"colour": "red"}])
def test_wrong_parameters_are_refused(api, params):
    problem = api.load(table(7), 400, **params)
    assert problem["status"] == 400


def test_too_many_bytes_are_refused_before_they_are_read(api):
    reply = api.server.request("POST", "/api/v1/imports", headers={"Content-Length": str(64 << 20)}, body=None)
    assert reply.status == 413


@pytest.mark.parametrize("i", range(len(ODD)))
def test_names_that_bite(api, i):
    name = ODD[i]
    got = api.load(table(100 + i), experiment=name, host=name, set=f"{name.replace('=', '')}={name}",
                   tag=f"t={name}", source=name, unit="us")
    run = api.get("/runs/" + got["runs"][0]["id"])
    key = name.replace("=", "")
    assert run["experiment"] == run["host"] == run["source"] == run["factors"][key] == run["tags"]["t"] == name
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for q in (f"experiment={quoted}", f"host={quoted},source={quoted}", f"tag.t={quoted}"):
        assert [r["id"] for r in api.get("/runs", {"q": q})["items"]] == [run["id"]], q
    for facet in api.get("/runs/facets", {"q": f"experiment={quoted}"})["items"]:
        for value in facet["values"]:
            assert api.get("/runs", {"q": value["selector"] + f",experiment={quoted}"})["items"]
    for cell in api.get("/experiments", {"demo": "false"})["items"][0]["cells"]:
        assert api.get("/runs", {"q": cell["selector"]})["items"]
    text = api.compare(f"experiment={quoted}", f"experiment={quoted}", format="svg", chart="histogram")
    assert b"<b>" not in text.body


def test_foreign_bytes_in_texts_cannot_break_json(api):
    api.load(b"Delay \xff  Count\n" + table(8), unit="us", experiment="foreign")
    text = b"experiment,metric,unit,factor,level,runs,min,avg,max,sdev,range\n" \
           b"f\xffg,m\x01,%,f,<\xc3>,10,1,2,3,0.5,2\n"
    run = api.load(text)["runs"][0]
    assert run["factors"] == {"f": "<?>"}
    assert api.get("/runs", {"q": "experiment=f?g"})["items"][0]["metrics"] == ["m?"]
    problem = api.load(b"\xff\xfe\x00nothing", 400)
    assert problem["type"] == "/problems/import-syntax"


def test_own_export_can_be_imported_again(api):
    runs = [value_run(i, "exported", str(i % 2), 100.5 + i) for i in range(3)]
    added = api.send("POST", "/runs", {"runs": runs}, 201)["items"]
    lines = api.call("GET", "/export", {"q": "experiment=exported"}).body
    assert lines.count(b"\n") == 3
    again = api.load(lines, 200)
    assert again["already"] and again["id"] is None
    assert [r["id"] for r in again["runs"]] == [a["id"] for a in added], "the same uids are the same runs"
    assert len(api.get("/runs", {"q": "experiment=exported"})["items"]) == 3


def test_list_of_imports_pages(api):
    seen, path = [], "/imports?limit=2"
    while path:
        page = api.get(path)
        seen += [i["id"] for i in page["items"]]
        path = page["next"] and page["next"].removeprefix("/api/v1")
    numbers = [int(i[2:]) for i in seen]
    assert numbers == sorted(numbers, reverse=True) and len(set(seen)) == len(seen) > 5


def test_formats_are_listed(api):
    names = [f["name"] for f in api.get("/imports/formats")["items"]]
    assert "delay-count" in names and "rigstat-json" in names


def test_demo_data_is_apart_and_goes_with_one_call(api):
    mine = api.load(table(9), experiment="mine", set="a=1", unit="us")
    demo = api.load(table(9), experiment="shown", set="a=2", unit="us", demo="1")
    assert demo["already"] is False and demo["runs"][0]["id"] != mine["runs"][0]["id"]
    assert [r["id"] for r in api.get("/runs", {"q": "demo=true"})["items"]] == [demo["runs"][0]["id"]]
    assert api.get("/experiments/shown")["demo"] is True
    pin = api.send("POST", "/comparisons", {"a": "demo=true", "b": "demo=true"}, 201)
    assert api.get("/status")["counts"]["demo_runs"] == 1
    assert api.send("DELETE", "/demo") == {"experiments": 1, "runs": 1}
    assert api.send("DELETE", "/demo") == {"experiments": 0, "runs": 0}
    api.get(f"/imports/{demo['id']}", status=404)
    api.get(f"/comparisons/{pin['id']}", status=404)
    assert api.get("/runs/" + mine["runs"][0]["id"])["demo"] is False
