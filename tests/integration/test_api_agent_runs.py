# SPDX-License-Identifier: GPL-2.0-or-later
"""What agents sent, packed by the compactor, as the REST API shows and compares it."""
import pytest

import records as rec
from apilib import api  # noqa: F401 (fixture)
from conftest import wait_until

STREAM = "0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def posted(api, tmp_path_factory):
    records = rec.recgen(tmp_path_factory.mktemp("rec") / "r", runs=4, seconds=20, warmup=3, breaches=5)
    for at in range(0, len(records), 20):
        assert rec.post(api.server, STREAM, records[at:at + 20], host="box1").status == 200
    wait_until("everything is packed", lambda: api.server.sql(
        "select count(*) from rigstat.record_staging") == [["0"]], 60)
    return records


def test_lists_and_pages_of_packed_runs(api, posted):
    items = api.get("/runs", {"sort": "order"})["items"]
    assert len(items) == 4 and {r["state"] for r in items} == {"ok"} and {r["kind"] for r in items} == {"measured"}
    assert all(r["summary"]["count"] > 0 and r["summary"]["p99"] >= r["summary"]["p50"] for r in items)
    run = api.get("/runs/" + items[0]["id"])
    assert run["breaches"]["count"] == 5 and run["environment"] and run["series"]
    hist = next(s for s in run["series"] if s["kind"] == "hist")
    assert hist["count"] > 0 and hist["max"] is not None
    assert api.get("/runs/" + items[0]["id"] + "/breaches")["items"][0]["late_ns"] == run["breaches"]["worst_ns"]
    merged = api.get(f"/runs/{items[0]['id']}/histograms/{hist['metric']}")
    assert merged["count"] == items[0]["summary"]["count"] == sum(merged["n"]) + merged["overflow"] + merged["negative"]
    one = api.get(f"/runs/{items[0]['id']}/histograms/{hist['metric']}", {"labels": "cpu=0"})
    assert one["count"] < merged["count"]
    assert api.get("/environments/" + run["environment"])["runs"] == 4
    assert api.get(f"/runs/{items[0]['id']}?format=document")["series"]


def test_minutes_are_the_run_over_time(api, posted):
    run = api.get("/runs", {"sort": "order"})["items"][0]
    m = api.get(f"/runs/{run['id']}/minutes/wakeup_latency")
    assert m["t"] == sorted(m["t"]) and len({len(m[k]) for k in ("t", "phase", "count", "p50", "p99", "max", "counts")}) == 1
    measured = [i for i, phase in enumerate(m["phase"]) if phase == 2]
    assert sum(m["count"][i] for i in measured) == run["summary"]["count"]
    assert max(m["max"][i] for i in measured) == run["summary"]["max"]
    for i, row in enumerate(m["counts"]):
        assert sum(row) + m["overflow"][i] + m["negative"][i] == m["count"][i] and len(row) == len(m["edges"]) - 1 == 40
    one = api.get(f"/runs/{run['id']}/minutes/wakeup_latency", {"labels": "cpu=0", "bins": "log:5"})
    assert sum(one["count"]) < sum(m["count"]) and len(one["edges"]) == 6 and one["labels"] == {"cpu": "0"}
    # The heat map against the histogram of the whole run, on the same grid.
    h = api.get(f"/runs/{run['id']}/histograms/wakeup_latency", {"labels": "cpu=0"})
    if one["phase"] == [2]:
        import bisect
        rows = [0] * 5
        for lo, n in zip(h["lo"], h["n"]):
            rows[min(4, max(0, bisect.bisect_right(one["edges"], lo) - 1))] += n
        assert sum(abs(a - b) for a, b in zip(rows, one["counts"][0])) <= 0.01 * h["count"]
    assert api.get(f"/runs/{run['id']}/minutes/none")["t"] == []
    for bad in ("bins=native", "bins=log:0", "bins=log:201", "labels=cpu>1"):
        api.get(f"/runs/{run['id']}/minutes/wakeup_latency?{bad}", status=400)
    api.get("/runs/r_99999/minutes/wakeup_latency", status=404)


def test_host_and_experiment(api, posted):
    host = api.get("/hosts/box1")
    assert host["runs"] == 4 and host["state"] == "online" and host["kernel"] and host["age_ns"] >= 0
    assert api.get("/hosts", {"state": "online"})["counts"] == {"online": 1}
    experiment = api.get("/experiments")["items"][0]
    assert experiment["runs"]["ok"] == 4 and experiment["hosts"] == ["box1"] and experiment["uid"]
    assert {f["name"] for f in experiment["factors"]} and len(experiment["cells"]) >= 2
    answer = api.get("/compare?" + experiment["compare"].split("?")[1])
    doc = answer["items"][0] if "items" in answer else answer
    assert doc["metric"]["name"] == "wakeup_latency" and doc["a"]["samples"] > 0


def test_every_metric_of_a_run_can_be_compared(api, posted):
    run = api.get("/runs")["items"][0]
    for metric in run["metrics"]:
        kinds = {s["kind"] for s in api.get("/runs/" + run["id"])["series"] if s["metric"] == metric}
        status = 404 if kinds == {"absent"} else 200
        api.compare(f"run={run['id']}", f"run={run['id']}", metric=metric, status=status)


def test_export_of_packed_runs_can_be_imported_elsewhere(api, posted, make_server):
    from apilib import Api
    lines = api.call("GET", "/export").body
    other = Api(make_server().start())
    assert len(other.load(lines)["runs"]) == 4
    ask = [("a", "order=1"), ("b", "order=2"), ("metric", "wakeup_latency")]
    here, there = (x.get("/compare", ask) for x in (api, other))
    assert here["rows"] == there["rows"] and here["verdict"] == there["verdict"]
