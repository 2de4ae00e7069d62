# SPDX-License-Identifier: GPL-2.0-or-later
"""The founding data sets imported over REST and compared by selector give the published figures."""
import pytest

from apilib import api, load_founding, value_run  # noqa: F401 (fixture)

IOZONE = "experiment=wakeup-2004,load=iozone,max_sectors_kb="
RQ = "experiment=rq_affinity,rq_affinity="


@pytest.fixture(scope="module", autouse=True)
def founding(api):
    load_founding(api)


def row(doc, stat):
    return next(r for r in doc["rows"] if r["stat"] == stat)


def test_2004_figures(api):
    doc = api.compare(IOZONE + "64", IOZONE + "32", IOZONE + "16", stat="p50,max,over(47us)",
                      tail="47us")
    assert doc["sides"] == ["64", "32", "16"]
    to32, to16 = doc["items"]
    assert [row(to32, "p50")[s]["avg"] // 1000 for s in "ab"] == [12, 10]
    assert row(to16, "p50")["b"]["avg"] // 1000 == 10
    assert [row(to32, "max")[s]["max"] for s in "ab"] == [161000, 132000]
    assert row(to16, "max")["b"]["max"] == 101000
    assert [to32["tail"][s]["above"] for s in "ab"] == [28, 77]
    assert to16["tail"]["b"]["above"] == 58
    assert to32["tail"]["threshold_ns"] == 47000
    assert to32["a"]["samples"] == to32["b"]["samples"] == to16["b"]["samples"] == 10400
    assert {i["verdict"]["word"] for i in doc["items"]} == {"not_enough_runs"}


def test_2004_desktop_against_load(api):
    doc = api.compare("experiment=wakeup-2004,load=desktop", IOZONE + "64", stat="p50")
    assert [row(doc, "p50")[s]["avg"] // 1000 for s in "ab"] == [7, 12]


def test_2008_unstalled_is_within_noise_and_its_spread_fell(api):
    doc = api.compare(RQ + "0", RQ + "1", metric="unstalled_instructions")
    assert doc["a"]["data"] == "summary_only" and doc["a"]["n"] == 10
    mean = row(doc, "mean")
    assert mean["delta"]["rel"] == pytest.approx(0.0195, abs=5e-5)
    assert doc["verdict"]["word"] == "unclear" == mean["delta"]["reading"]
    assert row(doc, "sdev")["delta"]["reading"] == "lower"


def test_2008_cycles_are_better_by_1_84(api):
    doc = api.compare(RQ + "0", RQ + "1", metric="cycles_in_application")
    assert row(doc, "mean")["delta"]["rel"] == pytest.approx(0.0184, abs=5e-5)
    assert doc["verdict"]["word"] == "better"
    assert row(doc, "mean")["a"]["avg"] == 70.231


@pytest.mark.parametrize("name,media,begins", [
    ("text", "text/plain", b"A "), ("csv", "text/csv", b""), ("markdown", "text/markdown", b""),
    ("svg", "image/svg+xml", b"<")])
def test_formats(api, name, media, begins):
    by_name = api.compare(IOZONE + "64", IOZONE + "32", format=name)
    by_accept = api.compare(IOZONE + "64", IOZONE + "32", headers={"Accept": media})
    assert by_name.body == by_accept.body and by_name.body.startswith(begins) and by_name.body
    assert by_name.headers["Content-Type"].startswith(media)
    if name == "text":
        assert max(map(len, by_name.body.decode().splitlines())) <= 76


def test_unknown_format_is_refused(api):
    assert api.compare(IOZONE + "64", IOZONE + "32", format="pdf", status=406)["status"] == 406


def test_chart_that_the_data_do_not_have(api):
    problem = api.compare(RQ + "0", RQ + "1", format="svg", chart="histogram", status=404)
    assert problem["type"] == "/problems/no-chart"


def test_etag_spares_the_work_until_something_changes(api):
    first = api.call("GET", "/compare", [("a", IOZONE + "64"), ("b", IOZONE + "16")])
    etag = first.headers["ETag"]
    again = api.call("GET", "/compare", [("a", IOZONE + "64"), ("b", IOZONE + "16")],
                     headers={"If-None-Match": etag})
    assert again.status == 304
    run = api.get("/runs", {"q": IOZONE + "16"})["items"][0]["id"]
    api.send("PATCH", f"/runs/{run}", {"tags": {"seen": "yes"}})
    changed = api.call("GET", "/compare", [("a", IOZONE + "64"), ("b", IOZONE + "16")],
                       headers={"If-None-Match": etag})
    assert changed.status == 200 and changed.headers["ETag"] != etag


def test_errors_name_parameter_column_and_suggestion(api):
    problem = api.compare("max_sectors_kb=>64", "load=iozone", status=400)
    assert problem["type"] == "/problems/selector-syntax"
    error = problem["errors"][0]
    assert (error["parameter"], error["column"], error["suggestion"]) == ("a", 15, ">=")
    problem = api.compare("run=abc", "load=iozone", status=400)
    assert problem["errors"][0]["column"] == 1
    problem = api.compare(IOZONE + "64", "max_sectors_kb=99", status=404)
    assert problem["type"] == "/problems/no-runs" and problem["errors"][0]["parameter"] == "b"
    problem = api.get("/compare", {"a": "load=iozone"}, 400)
    assert problem["type"] == "/problems/missing-parameter"
    problem = api.get("/compare", {"a": "load=iozone", "b": "load=desktop", "metrc": "x"}, 400)
    assert problem["errors"][0]["suggestion"] == "metric"
    problem = api.compare(IOZONE + "64", RQ + "1", status=404)
    assert "wakeup_latency" in problem["detail"] and "cycles_in_application" in problem["detail"]
    for bad in ({"ci": "2"}, {"margin": "x"}, {"stat": "p200"}, {"gate_mode": "lax"}, {"anyway": "perhaps"},
                {"tail": "-5"}, {"labels": "cpu>1"}):
        assert api.compare(IOZONE + "64", IOZONE + "32", status=400, **bad)["status"] == 400


def test_more_than_five_sides_are_refused(api):
    assert api.compare(*[IOZONE + "64"] * 7, status=400)["errors"][0]["parameter"] == "b"


def test_gate(api):
    reply = api.call("GET", "/compare", {"a": RQ + "0", "b": RQ + "1", "metric": "cycles_in_application",
                                         "gate": "mean>=-1%"})
    assert reply.headers["X-Gate"] == "pass" and reply.json()["gate"]["result"] == "pass"
    reply = api.call("GET", "/compare/gate.txt", {"a": RQ + "0", "b": RQ + "1", "metric": "cycles_in_application",
                                                  "gate": "mean<=+0.5%"})
    assert reply.headers["X-Gate"] == "fail" and reply.body.startswith(b"FAIL\n")
    reply = api.call("GET", "/compare/gate.txt", {"a": RQ + "0", "b": RQ + "1",
                                                  "metric": "unstalled_instructions", "gate": "mean>=0%"})
    assert reply.body.startswith(b"INCONCLUSIVE\n")
    junit = api.compare(RQ + "0", RQ + "1", metric="cycles_in_application", gate="mean>=-1%", format="junit")
    assert junit.headers["Content-Type"] == "application/xml" and b"<testsuite" in junit.body
    problem = api.get("/compare/gate.txt", {"a": RQ + "0", "b": RQ + "1", "gate": "nonsense"}, 400)
    assert "nonsense" in problem["detail"]


def test_gate_of_one_side(api):
    doc = api.compare("experiment=wakeup-2004,max_sectors_kb=64,load=iozone", gate="max<=161us")
    assert doc["a"] is None and doc["gate"]["result"] == "pass" and doc["b"]["n"] == 1
    assert "two sides" in api.get("/compare", {"a": RQ + "1", "gate": "mean<=+5%"}, 400)["detail"]
    assert "selector is needed" in api.get("/compare", {"a": RQ + "1"}, 400)["detail"]


def test_a_persons_margin_and_direction_count(api):
    runs = [value_run(i, "margin", str(i % 2), 100.0 + 2 * (i % 2) + 0.01 * i) for i in range(12)]
    for run in runs:
        run["series"][0]["metric"] = "frobs"
    api.send("POST", "/runs", {"runs": runs}, 201)
    a, b = "experiment=margin,f=0", "experiment=margin,f=1"
    doc = api.compare(a, b)
    assert doc["metric"]["better"] == "none" and row(doc, "mean")["delta"]["reading"] == "higher"
    api.send("PATCH", "/metrics-catalog/frobs", {"better": "lower"})
    assert api.compare(a, b)["verdict"]["word"] == "worse"
    api.send("PATCH", "/metrics-catalog/frobs", {"margin_rel": 0.5, "better": "higher"})
    doc = api.compare(a, b)
    assert doc["metric"]["margin_rel"] == 0.5 and doc["verdict"]["word"] == "same"
    assert api.compare(a, b, margin="1%")["verdict"]["word"] == "better"
    metric = api.get("/metrics-catalog/frobs")
    assert metric["edited"] and metric["runs"] == 12
    for bad in ({"better": "up"}, {"margin_rel": -1}, {"primary": "p101"}, {"colour": "red"}):
        api.send("PATCH", "/metrics-catalog/frobs", bad, 400)
    names = [m["name"] for m in api.get("/metrics-catalog")["items"]]
    assert "frobs" in names and "wakeup_latency" in names and len(names) == len(set(names))


def test_excluded_and_failed_runs_are_left_out_with_their_reason(api):
    runs = [value_run(i, "left-out", str(i % 2), 100.0 + i % 3) for i in range(8)]
    added = api.send("POST", "/runs", {"runs": runs}, 201)["items"]
    api.send("POST", "/runs", value_run(9, "left-out", "0", 5000.0, state="failed"), 201)
    api.send("PATCH", f"/runs/{added[0]['id']}", {"excluded": "fan failed"})
    a, b = "experiment=left-out,f=0", "experiment=left-out,f=1"
    doc = api.compare(a, b)
    assert doc["a"]["n"] == 3 and row(doc, "mean")["a"]["max"] < 200
    left = {r["id"]: r["excluded"] for r in doc["a"]["runs"] if r["excluded"]}
    assert "fan failed" in left[added[0]["id"]] and len(left) == 2
    assert api.compare(a + ",excluded in (true,false)", b)["a"]["n"] == 4


def test_watch_runs_only_when_asked_for(api):
    api.send("POST", "/runs", {"runs": [value_run(i, "watching", "0", 10.0, kind="watch") for i in range(3)]}, 201)
    problem = api.compare("experiment=watching", "experiment=watching", status=404)
    assert problem["type"] == "/problems/no-runs"
    assert api.compare("experiment=watching,kind=watch", "experiment=watching,kind=watch")["a"]["n"] == 3


def test_suggestions_can_be_compared(api):
    items = api.get("/compare/suggest", {"a": IOZONE + "64"})["items"]
    assert len(items) == 3 and all(i["runs"] == 1 for i in items)
    for item in items:
        assert api.compare(IOZONE + "64", item["b"])["b"]["n"] == 1
    assert api.get("/compare/suggest", {"a": "host=nix"})["items"] == []


def test_experiment_says_how_to_compare_itself(api):
    e = api.get("/experiments/wakeup-2004")
    assert [f["name"] for f in e["factors"]] == ["load", "max_sectors_kb"]
    assert [c["runs"] for c in e["cells"]] == [1, 1, 1, 1]
    query = e["compare"].split("?", 1)[1]
    assert api.get("/compare?" + query)["items"][0]["a"]["n"] == 1
    assert api.get(f"/experiments/{e['id']}") == e
    assert api.get("/experiments/none", status=404)["status"] == 404


def test_what_held_the_cpu_comes_with_the_latency(api):
    def run(i):
        side = i % 2
        causes = {"irq vda": (20.0, 60.0)[side] + i, "unattributed": (80.0, 40.0)[side] - i}
        values = [("breaches", "1", 100, {}), ("breaches_read", "1", 50, {}), ("breach_threshold", "ns", 50000, {})]
        values += [("blame_share", "%", v, {"cause": c}) for c, v in causes.items()]
        values += [("blame_breaches", "1/h", v * 10, {"cause": c}) for c, v in causes.items()]
        series = [{"metric": m, "kind": "value", "unit": u, "value": v, "labels": labels} for m, u, v, labels in values]
        series.append({"metric": "wakeup_latency", "kind": "hist", "unit": "ns",
                       "hist": {"scheme": "edges", "lo_ns": [0, 50000], "hi_ns": [50000, 100000], "n": [900 + i, 100]}})
        return value_run(i, "blame", str(side), series=series)
    api.send("POST", "/runs", {"runs": [run(i) for i in range(8)]}, 201)
    blame = api.compare("experiment=blame,f=0", "experiment=blame,f=1", metric="wakeup_latency")["tail"]["blame"]
    causes = {c["name"]: (c["a_share"], c["b_share"]) for c in blame["causes"]}
    assert causes["irq vda"] == (pytest.approx(0.23), pytest.approx(0.64))
    assert blame["read"] == [200, 200] and "of 400 breaches read" in blame["basis"]
