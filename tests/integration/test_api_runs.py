# SPDX-License-Identifier: GPL-2.0-or-later
"""GET, POST and PATCH /runs: pages, order, filters, histograms, quantiles, idempotency."""
import csv
import io
import json

import pytest

from apilib import DATA, api, value_run  # noqa: F401 (fixture)


def pages(api, path):
    got = []
    while path:
        page = api.get(path)
        got.append([r["id"] for r in page["items"]])
        path = page["next"] and page["next"].removeprefix("/api/v1")
    return got


@pytest.fixture(scope="module")
def many(api):
    runs = [value_run(i, "many", str(i % 3), 100.0 + i, host=f"box{i % 4}") for i in range(23)]
    runs += [value_run(90 + i, "many", "9", 1.0, started=None, order=None) for i in range(2)]
    return [r["id"] for r in api.send("POST", "/runs", {"runs": runs}, 201)["items"]]


@pytest.mark.parametrize("sort", ["-started", "started", "-id", "id", "host", "-host", "order", "-order",
                                  "measured", "-measured"])
def test_pages_give_every_run_once_in_order(api, many, sort):
    one = pages(api, f"/runs?q=experiment%3Dmany&limit=1000&sort={sort}")
    assert len(one) == 1 and sorted(one[0]) == sorted(many)
    for limit in (1, 4, 25):
        got = pages(api, f"/runs?q=experiment%3Dmany&limit={limit}&sort={sort}")
        assert [r for page in got for r in page] == one[0]
        assert all(len(page) == limit for page in got[:-1])


def test_runs_without_the_value_come_last_both_ways(api, many):
    for sort in ("started", "-started", "order", "-order"):
        ids = pages(api, f"/runs?q=experiment%3Dmany&sort={sort}")[0]
        assert set(ids[-2:]) == set(many[-2:])


def test_a_page_does_not_shift_when_runs_arrive(api):
    api.send("POST", "/runs", {"runs": [value_run(i, "shift") for i in range(4)]}, 201)
    first = api.get("/runs", {"q": "experiment=shift", "limit": 2, "sort": "-id"})
    api.send("POST", "/runs", value_run(9, "shift"), 201)
    second = api.get(first["next"].removeprefix("/api/v1"))
    assert not {r["id"] for r in first["items"]} & {r["id"] for r in second["items"]}


def test_cursor_is_bound_to_its_filter(api, many):
    page = api.get("/runs", {"q": "experiment=many", "limit": 2})
    cursor = page["next"].split("cursor=")[1]
    for params in ({"q": "experiment=other", "cursor": cursor}, {"q": "experiment=many", "sort": "id", "cursor": cursor},
                   {"q": "experiment=many", "cursor": "00"}, {"q": "experiment=many", "cursor": "x"}):
        assert api.get("/runs", params, 400)["type"] == "/problems/cursor"


def test_plain_filters_and_total(api, many):
    got = api.get("/runs", {"experiment": "many", "host": "box1", "include": "total", "limit": 2})
    assert got["total"] == 6 and {r["host"] for r in got["items"]} == {"box1"}
    day = api.get("/runs", {"experiment": "many", "since": "2026-11-01", "until": "2026-11-01", "limit": 100})
    assert len(day["items"]) == 23
    assert api.get("/runs", {"experiment": "many", "since": "2026-11-01T20:00:00Z"})["items"][-1]["order"] == 21
    assert api.get("/runs", {"ids": f"{many[0]},{many[3]}"})["items"][0]["id"] == many[3]
    assert api.get("/runs", {"experiment": "many", "metric": "elapsed"})["items"]
    assert api.get("/runs", {"experiment": "many", "metric": "none"})["items"] == []


def test_wrong_parameters(api):
    for params in ({"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"sort": "colour"}, {"since": "yesterday"},
                   {"include": "all"}, {"ids": "abc"}):
        assert api.get("/runs", params, 400)["status"] == 400
    problem = api.get("/runs", {"sorted": "id"}, 400)
    assert problem["errors"][0] == {"parameter": "sorted", "suggestion": "sort", "detail": problem["detail"]}


def test_facets_count(api, many):
    facets = {(f["kind"], f["key"]): {v["value"]: v["runs"] for v in f["values"]}
              for f in api.get("/runs/facets", {"q": "experiment=many"})["items"]}
    assert facets["factor", "f"] == {"0": 8, "1": 8, "2": 7, "9": 2}
    assert facets["field", "host"]["box0"] == 6 and facets["field", "metric"] == {"elapsed": 25}


def test_patch(api, many):
    path = f"/runs/{many[5]}"
    run = api.send("PATCH", path, {"excluded": "fan", "tags": {"a": "1"}, "note": "hm"})
    assert (run["excluded"], run["tags"], run["note"]) == ("fan", {"a": "1"}, "hm")
    run = api.send("PATCH", path, {"tags": {}})
    assert (run["excluded"], run["tags"], run["note"]) == ("fan", {}, "hm"), "absent members stay"
    run = api.send("PATCH", path, {"excluded": None, "note": None})
    assert (run["excluded"], run["note"]) == (None, None)
    for body in ({"excluded": ""}, {"excluded": 5}, {"tags": {"a": 1}}, {"tags": []}, {"colour": "x"}, [],
                 {"note": "x" * 5000}, {"tags": {"": "x"}}, {"note": "a\u0007b"}):
        assert api.send("PATCH", path, body, 400)["status"] == 400
    assert "agent" in api.send("PATCH", path, {"factors": {"f": "5"}}, 409)["detail"]
    api.send("PATCH", "/runs/r_999999", {"note": "x"}, 404)
    api.get("/runs/r_x", status=404)
    uid = api.get(path)["uid"]
    assert api.get(f"/runs/{uid}")["id"] == many[5]


def test_post_is_idempotent_by_key_and_uid(api):
    run = value_run(1, "idem", uid="0123456789abcdef0123456789abcdef")
    first = api.send("POST", "/runs", run, 201, headers={"Idempotency-Key": "k-1"})
    again = api.send("POST", "/runs", run, 200, headers={"Idempotency-Key": "k-1"})
    assert again["already"] and again["items"][0]["id"] == first["items"][0]["id"]
    assert api.send("POST", "/runs", run, 200)["items"][0]["id"] == first["items"][0]["id"]
    other = value_run(2, "idem")
    assert api.send("POST", "/runs", other, 409, headers={"Idempotency-Key": "k-1"})["status"] == 409
    new = value_run(3, "idem")
    ids = {api.send("POST", "/runs", new, s, headers={"Idempotency-Key": "k-2"})["items"][0]["id"] for s in (201, 200)}
    assert len(ids) == 1


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b'{"runs":[]}', b'{"runs":{}}', b'{"series":[]}', b'{"series":[{"metric":"x"}]}',
    b'{"series":[{"metric":"x","kind":"value","unit":"ns","value":"1"}]}',
    b'{"series":[{"metric":"x","kind":"value","unit":"ns","value":1}],"host":"a\\u0000b"}',
    b'{"series":[{"metric":"x","kind":"value","unit":"ns","value":1}],"host":""}',
    b'{"series":[{"metric":"x","kind":"hist","unit":"ns","hist":{"count":5,"lo_ns":[1],"hi_ns":[2],"n":[4]}}]}',
    b'{"series":[{"metric":"x","kind":"value","unit":"ns","value":1e999}]}',
    b"[" * 100000 + b"]" * 100000, b'{"a":1,"a":2}', b'{"series":' + b"[" * 60 + b"]" * 60 + b"}",
    b'{"series":[' + b"0," * 300000 + b"0]}"])
def test_bad_bodies_are_refused_in_order(api, body):
    reply = api.call("POST", "/runs", body=body, headers={"Content-Type": "application/json"})
    assert 400 <= reply.status < 500 and reply.headers["Content-Type"] == "application/problem+json"


def test_body_of_another_type_is_refused(api):
    reply = api.call("POST", "/runs", body=b"{}", headers={"Content-Type": "text/plain"})
    assert 400 <= reply.status < 500


@pytest.fixture(scope="module")
def iozone(api):
    data = (DATA / "wakeup-delay-2004/iozone-64.txt").read_bytes()
    return api.load(data, unit="us", experiment="hist")["runs"][0]["id"]


def counts():
    lines = (DATA / "wakeup-delay-2004/iozone-64.txt").read_text().split("\n")[2:]
    return {int(l.split()[0]): int(l.split()[1]) for l in lines if l.strip()}


def test_histogram_is_the_table_that_was_imported(api, iozone):
    h = api.get(f"/runs/{iozone}/histograms/wakeup_latency")
    assert dict(zip([x // 1000 for x in h["lo"]], h["n"])) == counts()
    assert h["scheme"] == "linear" and h["count"] == h["bucketed"] == 10400
    text = api.call("GET", f"/runs/{iozone}/histograms/wakeup_latency?format=csv").body.decode()
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["lo_ns", "hi_ns", "count"]
    assert {int(r[0]) // 1000: int(r[2]) for r in rows[1:]} == counts()
    hgrm = api.call("GET", f"/runs/{iozone}/histograms/wakeup_latency?format=hgrm").body
    assert b"Percentile" in hgrm and b"10400" in hgrm
    coarse = api.get(f"/runs/{iozone}/histograms/wakeup_latency?bins=log:10")
    assert len(coarse["n"]) <= 10 and sum(coarse["n"]) == 10400 and coarse["coarsened"]
    assert set(coarse["lo"]) <= set(h["lo"]) and set(coarse["hi"]) <= set(h["hi"]), "edges are edges of the source"
    for bad in ("bins=log:0", "bins=x", "format=pdf", "labels=cpu>1"):
        api.get(f"/runs/{iozone}/histograms/wakeup_latency?{bad}", status=400)
    api.get(f"/runs/{iozone}/histograms/none", status=404)
    api.get(f"/runs/{iozone}/histograms/wakeup_latency?labels=cpu%3D0", status=404)


def test_quantiles_are_intervals_with_rank(api, iozone):
    items = api.get(f"/runs/{iozone}/quantiles/wakeup_latency", {"q": "0.5,0.99,0.99999,1"})["items"]
    samples = sorted(us for us, n in counts().items() for _ in range(n))
    for item in items[:2]:
        rank = -(-item["q"] * 10400 // 1)
        assert item["rank"] == rank and item["lo"] == samples[int(rank) - 1] * 1000
        assert item["hi"] == item["lo"] + 999 and item["answer"] == "value"
    assert items[2]["answer"] == "not_resolvable" and items[2]["lo"] is None and "10400" in items[2]["text"]
    assert items[3]["lo"] == 161000
    reply = api.call("GET", f"/runs/{iozone}/quantiles/wakeup_latency?format=csv")
    assert reply.body.startswith(b"q,lo_ns,hi_ns,answer,rank,count\r\n0.5,12000,12999,value,5200,10400")
    for bad in ("q=0", "q=2", "q=x", "q=", "format=svg"):
        api.get(f"/runs/{iozone}/quantiles/wakeup_latency?{bad}", status=400)


def test_overflow_is_at_least_never_the_edge(api):
    series = {"metric": "wakeup_latency", "kind": "hist", "unit": "ns",
              "hist": {"scheme": "edges", "count": 10, "overflow": 3, "overflow_lo_ns": 400, "lost": 7, "max_ns": 1475,
                       "lo_ns": [0], "hi_ns": [400], "n": [7]}}
    run = api.send("POST", "/runs", value_run(1, "over", series=[series]), 201)["items"][0]
    item = api.get(f"/runs/{run['id']}/quantiles/wakeup_latency", {"q": "0.8"})["items"][0]
    assert item["answer"] == "at_least" and (item["lo"], item["hi"]) == (400, 1475)
    assert run["summary"]["lost"] == 7
    assert api.get(f"/runs/{run['id']}/quantiles/wakeup_latency")["lost"] == 7


def test_absent_series_keeps_its_reason(api):
    series = [{"metric": "cycles", "kind": "absent", "unit": "1/s", "reason": "no hardware PMU"},
              {"metric": "elapsed", "kind": "value", "unit": "ns", "value": 5}]
    run = api.send("POST", "/runs", value_run(1, "absent", series=series), 201)["items"][0]["id"]
    got = {s["metric"]: s for s in api.get(f"/runs/{run}")["series"]}
    assert got["cycles"]["kind"] == "absent" and got["cycles"]["reason"] == "no hardware PMU"
    assert got["cycles"]["value"] is None
    assert "no hardware PMU" in api.get(f"/runs/{run}/histograms/cycles", status=404)["detail"]
    assert api.get(f"/runs/{run}/breaches") == {"read": 0, "worst_ns": None, "count": 0, "items": []}


def test_document_round_trip(api):
    run = value_run(4, "round", tags={"t": "x"}, block=2, boot_id="b", environment={"kernel.release": "6.1", "cpu.count": 4})
    added = api.send("POST", "/runs", run, 201)["items"][0]["id"]
    doc = api.get(f"/runs/{added}?format=document")
    for key in ("host", "experiment", "state", "kind", "factors", "tags", "order", "block", "boot_id", "environment"):
        assert doc[key] == run[key], key
    assert doc["series"][0]["value"] == 100.0


def test_export_is_complete_over_several_batches(api):
    runs = [value_run(i, "batch", str(i), i + 0.1) for i in range(45)]
    api.send("POST", "/runs", {"runs": runs}, 201)
    lines = api.call("GET", "/export", {"q": "experiment=batch"}).body.decode().splitlines()
    assert [json.loads(l)["factors"]["f"] for l in lines] == [str(i) for i in range(45)]
    assert [json.loads(l)["series"][0]["value"] for l in lines] == [i + 0.1 for i in range(45)]
    assert api.call("GET", "/export", {"q": "experiment=nix"}).body == b""
    api.get("/export", {"q": "a=>b"}, 400)


def test_environments(api):
    facts = {"kernel.release": "6.1", "cpu.model": "X", "cpu.count": 4, "temperature.cpu": 50}
    other = dict(facts, **{"kernel.release": "6.2", "new": "1"})
    del other["temperature.cpu"]
    a, b = (api.send("POST", "/runs", value_run(1, "env", environment=e), 201)["items"][0]["id"]
            for e in (facts, other))
    sha = api.get(f"/runs/{a}")["environment"]
    env = api.get(f"/environments/{sha}")
    assert env["facts"] == facts and env["runs"] == 1 and env["hosts"] == ["box"]
    assert api.get(f"/environments/{sha[:12]}")["sha256"] == sha
    diff = api.get("/environments/diff", {"a": a, "b": api.get(f"/runs/{b}")["environment"]})
    got = {i["key"]: (i["a"], i["b"], i["class"]) for i in diff["items"]}
    assert got == {"kernel.release": ("6.1", "6.2", "warn"), "new": (None, "1", "warn"),
                   "temperature.cpu": (50, None, "tolerance")} and diff["equal"] == 2
    assert api.get("/environments/diff", {"a": a, "b": "r_999999"}, 404)["detail"].startswith("b:")
    api.get("/environments/diff", {"a": a}, 400)
    api.get("/environments/00000000", status=404)
    assert api.get("/runs", {"q": "experiment=env,kernel>=6.2"})["items"][0]["id"] == b


def test_hosts(api):
    api.send("POST", "/runs", value_run(1, "hosts", host="rack 7/<b>"), 201)
    host = api.get("/hosts/rack%207%2F%3Cb%3E")
    assert host["state"] == "imported" and host["runs"] == 1 and host["last_run"]["experiment"] == "hosts"
    host = api.send("PATCH", "/hosts/rack%207%2F%3Cb%3E", {"tags": {"rack": "7"}, "note": "x"})
    assert host["tags"] == {"rack": "7"} and host["note"] == "x"
    assert [h["name"] for h in api.get("/hosts", {"tag": "rack=7"})["items"]] == ["rack 7/<b>"]
    assert api.get("/hosts", {"tag": "rack=8"})["items"] == []
    assert "rack 7/<b>" in [h["name"] for h in api.get("/hosts", {"host": "rack*", "state": "imported"})["items"]]
    assert api.get("/hosts", {"state": "online"})["items"] == []
    assert api.get("/hosts", {"state": "onlin"}, 400)["errors"][0]["suggestion"] == "online"
    api.get("/hosts/none", status=404)
    api.send("PATCH", "/hosts/none", {"note": "x"}, 404)


def test_counters_of_several_cpus_are_summed_as_rates(api):
    """As the packer stores them: a total a CPU, and the summed rate at series 0."""
    run = api.send("POST", "/runs", value_run(1, "counters"), 201)["items"][0]["id"][2:]
    api.server.sql(f"""
        with r as (select host_id, run_id from rigstat.run where run_id = {run}),
        m as (insert into rigstat.metric (name, unit) values ('instructions', '1') returning metric_id),
        s as (insert into rigstat.series (host_id, run_id, series_no, metric_id, kind, labels, unit)
            select r.host_id, r.run_id, 10 + c, m.metric_id, 'counter', jsonb_build_object('cpu', c::text), '1'
            from r, m, generate_series(0, 1) c returning *),
        t as (insert into rigstat.run_total (host_id, run_id, series_no, count, delta, seconds)
            select host_id, run_id, series_no, 10, 1000.0 * series_no, 10 from s)
        insert into rigstat.run_value (host_id, run_id, metric_id, series_no, stat, value, n)
        select r.host_id, r.run_id, m.metric_id, 0, 'rate', 2100, 10 from r, m""")
    shown = [s for s in api.get(f"/runs/r_{run}")["series"] if s["metric"] == "instructions"]
    assert [(s["labels"], s["value"], s["kind"]) for s in shown] == \
        [({"cpu": "0"}, 1000, "counter"), ({"cpu": "1"}, 1100, "counter")]
    doc = api.compare(f"run={run}", f"run={run}", metric="instructions", stat="mean")
    assert doc["rows"][0]["a"]["avg"] == 2100 and doc["metric"]["unit"] == "1/s"
