# SPDX-License-Identifier: GPL-2.0-or-later
"""Regression tracking: trends, change points, changes and what people say about them."""
import random
import re

import pytest

from apilib import DATA, api, value_run  # noqa: F401 (fixture)
from conftest import ROOT, wait_until


def settled(server):
    """Everything that was stored is in the trends and analysed."""
    wait_until("the trends are analysed", lambda: server.sql(
        "select (select count(*) from rigstat.track_queue),"
        " (select count(*) from rigstat.trend where revision > computed)") == [["0", "0"]], 60)


def histogram(rng, p99_us):
    """10,000 samples: a body at p99 / 10 and, well away, 2 % around the wanted p99."""
    values = sorted([int(abs(rng.gauss(p99_us * 100, p99_us * 4))) for _ in range(9800)]
                    + [int(p99_us * 1000 * (0.9 + 0.2 * k / 200)) for k in range(200)])
    buckets = {}
    for v in values:
        buckets[v // 100 * 100] = buckets.get(v // 100 * 100, 0) + 1
    lo = sorted(buckets)
    return {"scheme": "edges", "count": len(values), "lo_ns": lo, "hi_ns": [x + 100 for x in lo],
            "n": [buckets[x] for x in lo], "min_ns": values[0], "max_ns": values[-1], "sum_ns": sum(values)}


def nightly(i, p99_us, rng, host="rack-1", **tags):
    """The run of version i."""
    return {"host": host, "experiment": "nightly", "state": "ok", "kind": "measured",
            "tags": {"commit": f"c{i:02d}", "branch": "main", **tags},
            "started": f"2026-10-{1 + i // 24:02d}T{i % 24:02d}:00:00Z", "measured_ns": 60 * 10**9,
            "series": [{"metric": "wakeup_latency", "kind": "hist", "unit": "ns",
                        "hist": histogram(rng, p99_us)}]}


def send(api, *runs):
    api.send("POST", "/runs", {"runs": list(runs)}, 201)
    settled(api.server)


def series_of(api, **params):
    return api.get("/series", params)["items"]


def test_nightly_story(api):
    """40 versions: an 8 % regression of p99 at 23 is found, told once, accepted, and fixed at 31."""
    rng = random.Random(1)
    told = lambda: api.server.sql("select event from rigstat.notification order by notification_id")
    levels = [54.0 if 23 <= i < 31 else 50.0 for i in range(40)]
    runs = [nightly(i, level * (1 + rng.gauss(0, 0.01)), rng) for i, level in enumerate(levels)]
    send(api, *runs[:10])
    p99 = series_of(api, host="rack-1", stat="p99", branch="main")[0]
    assert p99["reading"] == "history_too_short" and p99["needed"] >= 20 and p99["points"] == 10
    send(api, *runs[10:23])
    assert api.get("/changes", {"host": "rack-1"})["items"] == [] and told() == []
    for run in runs[23:30]:
        send(api, run)
    found = api.get("/changes", {"host": "rack-1"})
    assert [c["state"] for c in found["items"]] == ["new"]
    change = found["items"][0]
    assert change["direction"] == "worse" and change["range"]["to_version"] == "c23"
    assert change["range"]["from_version"] == "c22" and change["members"][0]["stat"] == "p99"
    assert abs(change["members"][0]["rel"] - 0.08) < 0.02
    assert {m["stat"] for m in change["members"]} >= {"p50", "p99", "p99.9"}, "one change of the box"
    assert "p99 of wake-up latency on rack-1 rose by" in change["sentence"] and "worse" in change["sentence"]
    assert told() == [["new"]]

    path = f"/changes/{change['id']}"
    assert api.send("PATCH", path, {"state": "ignored"}, 400)["errors"][0]["parameter"] == "reason"
    accepted = api.send("PATCH", path, {"state": "accepted", "note": "queued fix", "owner": "anna", "by": "anna"})
    assert accepted["state"] == "accepted" and accepted["owner"] == "anna"
    for run in runs[30:]:
        send(api, run)
    assert told() == [["new"]], "no second alert"
    items = api.get("/changes", {"host": "rack-1"})["items"]
    assert [c["state"] for c in items] == ["fixed"]
    fixed = api.get(path)
    assert [e["to"] for e in fixed["events"]] == ["new", "accepted", "fixed"]
    assert {m["fixed_version"] for m in fixed["members"] if m["fixed"]} == {"c31"}
    assert fixed["evidence"]["run"] and abs(fixed["evidence"]["level"] - fixed["evidence"]["before"]) < 2500
    assert fixed["links"]["compare"].startswith("/compare?a=run%20in")

    again = [nightly(40 + i, 54 * (1 + rng.gauss(0, 0.01)), rng) for i in range(8)]
    for run in again:
        send(api, run)
    assert api.get(path)["state"] == "reopened" and told() == [["new"], ["reopened"]]


def test_points_as_json_csv_and_rows(api):
    series = series_of(api, host="rack-1", stat="p99")[0]
    path = f"/series/{series['id']}/points"
    doc = api.get(path)
    assert doc["series"]["points"] == len(doc["points"]) == 48
    assert [p["version"] for p in doc["points"]][:3] == ["c00", "c01", "c02"]
    assert all(p["lo"] <= p["value"] <= p["hi"] and p["n"] == 10000 for p in doc["points"])
    assert doc["changes"][0]["first_after"] and doc["changes"][0]["change"].startswith("c_")
    rows = api.get(path, {"shape": "rows", "time": "ms", "limit": 5})
    assert len(rows) == 5 and rows[-1]["version"] == "c47" and isinstance(rows[0]["time"], int)
    csv = api.get(path, {"format": "csv"}).body.decode().splitlines()
    assert csv[0].startswith("run,started,version,value_ns") and len(csv) == 49
    assert api.get("/series/s_99999/points", status=404)["type"] == "/problems/not-found"
    api.get(path, {"shape": "square"}, 400)


def test_series_are_never_mixed(api):
    """Other host, branch, factor, environment or method: another series."""
    one = lambda i, **more: value_run(i, experiment="apart", **more)
    env = {"cpu.model": "A", "kernel.release": "6.1"}
    send(api, one(0), one(1), one(2, host="box-2"), one(3, level="1"), one(4, tags={"branch": "pr-7"}),
         one(5, environment=env), one(6, environment=dict(env, **{"kernel.release": "6.2"})),
         one(7, environment=dict(env, **{"cpu.model": "B"})))
    found = sorted(s["points"] for s in series_of(api, experiment="apart"))
    assert found == [1, 1, 1, 1, 2, 2], "a kernel alone does not part a series, a CPU does"
    notes = [a["text"] for a in api.get("/annotations", {"host": "box"})["items"]]
    assert "kernel: 6.1 -> 6.2" in notes


def test_missing_stays_missing(api):
    """A quantile that cannot be resolved is a point without a value; an excluded run has none."""
    few = {"scheme": "edges", "count": 20, "lo_ns": [1000], "hi_ns": [2000], "n": [20]}
    run = lambda i: {"host": "gaps", "experiment": "gaps", "state": "ok", "kind": "measured",
                     "started": f"2026-10-01T{i:02d}:00:00Z",
                     "series": [{"metric": "wakeup_latency", "kind": "hist", "unit": "ns", "hist": few}]}
    send(api, *[run(i) for i in range(3)])
    p999 = series_of(api, host="gaps", stat="p99.9")[0]
    points = api.get(f"/series/{p999['id']}/points")["points"]
    assert [(p["value"], p["answer"]) for p in points] == [(None, "not_resolvable")] * 3 and p999["points"] == 0
    p50 = series_of(api, host="gaps", stat="p50")[0]
    assert p50["points"] == 3
    api.send("PATCH", f"/runs/{points[1]['run']}", {"excluded": "someone logged in"})
    settled(api.server)
    left = api.get(f"/series/{p50['id']}/points")["points"]
    assert [p["run"] for p in left] == [points[0]["run"], points[2]["run"]]
    api.send("PATCH", f"/runs/{points[1]['run']}", {"excluded": None})
    settled(api.server)
    assert api.get(f"/series/{p50['id']}")["series"]["points"] == 3


def test_orders_of_versions(api):
    """By number, and by a list as git gives it; what the list lacks has no place."""
    run = lambda i, v: value_run(i, experiment="order", host="orders", tags={"version": v}, value=100 + i)
    send(api, run(0, "6.12"), run(1, "6.9"), run(2, "6.10-rc1"))
    series = series_of(api, host="orders")[0]
    assert series["order_by"] == "version"
    versions = lambda: [(p["version"], p["placed"]) for p in api.get(f"/series/{series['id']}/points")["points"]]
    assert [v for v, _ in versions()] == ["6.9", "6.10-rc1", "6.12"]
    order = api.send("PUT", "/orders/version", {"kind": "list", "versions": ["6.12", "6.9"]})
    assert order["versions"] == 2 and order["series"] == 1
    settled(api.server)
    assert versions() == [("6.12", True), ("6.9", True), ("6.10-rc1", False)]
    assert api.get(f"/series/{series['id']}")["series"]["points"] == 2
    api.send("PUT", "/orders/version", {"kind": "list"}, 400)
    assert {o["key"]: o["kind"] for o in api.get("/orders")["items"]}["version"] == "list"
    api.send("PUT", "/orders/version", {"kind": "semver"})
    settled(api.server)
    assert [v for v, _ in versions()] == ["6.9", "6.10-rc1", "6.12"]
    long_ids = ["0123456789abcdef", "fedcba9876543210"]
    api.send("PUT", "/orders/commit", {"kind": "list", "versions": long_ids})
    send(api, *[value_run(i, experiment="git", host="git", tags={"commit": c}) for i, c in
                enumerate([long_ids[1][:8], long_ids[0][:8]])])
    git = series_of(api, host="git")[0]
    assert [p["version"] for p in api.get(f"/series/{git['id']}/points")["points"]] == ["01234567", "fedcba98"]
    api.send("PUT", "/orders/commit", {"kind": "time"})


def reference(name):
    lines = (DATA / "compare" / name).read_text().splitlines()
    return [float(l.split(",")[1]) for l in lines if l[:1].isdigit()]


@pytest.mark.parametrize("name, reading, places", [
    ("synth-series-step-spikes.csv", "steps", [70]), ("synth-series-bimodal-stationary.csv", "none", []),
    ("synth-series-slow-drift.csv", "drift", [])])
def test_reference_series_through_the_server(api, name, reading, places):
    values, host = reference(name), name[13:-4]
    send(api, *[value_run(0, experiment="reference", host=host, value=v,
                          started=f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}T00:00:00Z") for i, v in enumerate(values)])
    series = series_of(api, host=host)[0]
    assert series["reading"] == reading, api.server.sql(f"select result from rigstat.trend where trend_id = {series['id'][2:]}")
    doc = api.get(f"/series/{series['id']}/points")
    order = [p["run"] for p in doc["points"]]
    assert [order.index(c["first_after"]) for c in doc["changes"]] == places


def test_marks_annotations_and_precision(api):
    host = "hand"
    send(api, *[value_run(i, experiment=host, host=host, value=100 if i < 5 else 120) for i in range(10)])
    series = series_of(api, host=host)[0]
    runs = [p["run"] for p in api.get(f"/series/{series['id']}/points")["points"]]
    mark = api.send("POST", "/changes", {"series": series["id"], "run": runs[5], "note": "new NVMe", "by": "ben"}, 201)
    assert mark["origin"] == "hand" and mark["state"] == "confirmed" and mark["members"][0]["rel"] == pytest.approx(0.2)
    assert mark["events"][0]["who"] == "ben"
    api.send("POST", "/changes", {"series": series["id"], "run": runs[0]}, 409)
    api.send("POST", "/changes", {"series": "x", "run": runs[0]}, 400)
    note = api.send("POST", "/annotations", {"host": host, "from": "2026-11-01T05:00:00Z", "text": "fan replaced",
                                             "tags": ["hardware"], "by": "ben"}, 201)
    assert [a["text"] for a in api.get(f"/changes/{mark['id']}")["annotations"]] == ["fan replaced"]
    api.send("POST", "/annotations", {"host": "nowhere", "text": "x"}, 404)
    api.send("POST", "/annotations", {"text": ""}, 400)
    api.send("DELETE", f"/annotations/{note['id']}", None, 204)
    api.send("DELETE", f"/annotations/{note['id']}", None, 404)
    api.get("/changes/c_99999", status=404)
    api.send("PATCH", "/changes/c_99999", {"state": "accepted"}, 404)
    api.get("/changes", {"state": "newish"}, 400)
    worst = api.get("/changes", {"direction": "worse", "sort": "-size", "metric": "wakeup_latency", "host": "rack-*"})
    assert worst["triage"]["real"] >= 1 and worst["triage"]["precision"] == 1.0
    api.send("PATCH", f"/changes/{worst['items'][0]['id']}", {"state": "ignored", "reason": "noise", "by": "ben"})
    assert api.get("/changes", {"state": "ignored"})["triage"]["precision"] < 1.0


def test_retention_keeps_the_values_in_the_trends(api):
    host = "old"
    send(api, *[value_run(i, experiment=host, host=host) for i in range(3)])
    series = series_of(api, host=host)[0]
    api.server.sql("update rigstat.run set created_at = now() - interval '90 days' where host_id ="
                   f" (select host_id from rigstat.host where name = '{host}')")
    api.server.sql("select rigstat.retain(0, 0, 0, 30)")
    settled(api.server)
    points = api.get(f"/series/{series['id']}/points")["points"]
    assert len(points) == 3 and not any(p["run_kept"] for p in points)


def test_sql_and_engine_name_the_same_blocking_facts(api):
    text = (ROOT / "common/compare/environment.c").read_text()
    for pattern, kind in re.findall(r'\{"([^"]+)", FACT_(\w+),', text):
        key = pattern.replace("*", "x")
        assert api.server.sql(f"select rigstat.is_blocking_fact('{key}')") == [["t" if kind == "BLOCKING" else "f"]], key
