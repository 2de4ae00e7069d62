# SPDX-License-Identifier: GPL-2.0-or-later
"""A pinned comparison is the same bytes for ever."""
from apilib import Api, api, load_founding, value_run  # noqa: F401 (fixture)

FORMATS = ["json", "result", "text", "csv", "markdown", "svg"]


def fill(api, experiment, n=12):
    runs = [value_run(i, experiment, str(i % 2), 100.0 + 3 * (i % 2) + 0.1 * (i % 5)) for i in range(n)]
    return [r["id"] for r in api.send("POST", "/runs", {"runs": runs}, 201)["items"]]


def bodies(api, pin):
    chart = {"svg": "&chart=runs"}
    return {f: api.call("GET", f"/comparisons/{pin}?format={f}{chart.get(f, '')}").body for f in FORMATS}


def test_same_bytes_after_new_runs_edits_and_restart(make_server):
    api = Api(make_server().start())
    ids = fill(api, "pinned")
    ask = {"a": "experiment=pinned,f=0", "b": "experiment=pinned,f=1", "title": "<b>µ \"t\"", "stat": "mean,sdev"}
    pin = api.send("POST", "/comparisons", ask, 201)
    live = api.get("/compare?" + pin["query"])
    before = bodies(api, pin["id"])
    assert all(before.values()) and pin["runs"] == [ids[0::2], ids[1::2]] and pin["title"] == ask["title"]
    result = api.get(f"/comparisons/{pin['id']}?format=result")
    assert result == live == api.get(f"/comparisons/{pin['id']}")["result"]
    assert pin["word"] == result["verdict"]["word"] and pin["sentence"] == result["verdict"]["sentence"]
    assert pin["id"] in api.get(f"/runs/{ids[0]}")["pins"]

    fill(api, "pinned", 6)
    api.send("PATCH", f"/runs/{ids[0]}", {"excluded": "later", "tags": {"x": "y"}})
    api.send("PATCH", "/metrics-catalog/elapsed", {"margin_rel": 0.9})
    assert api.get("/compare?" + pin["query"])["a"]["n"] != live["a"]["n"]
    assert bodies(api, pin["id"]) == before
    assert api.server.stop() == 0
    api.server.start()
    assert bodies(api, pin["id"]) == before


def test_pinning_twice_is_one_pin(api):
    fill(api, "twice")
    ask = {"a": "experiment=twice,f=0", "b": ["experiment=twice,f=1"]}
    first = api.send("POST", "/comparisons", ask, 201)
    assert api.send("POST", "/comparisons", ask, 200)["id"] == first["id"]
    assert api.send("POST", "/comparisons", dict(ask, title="named"), 201)["id"] != first["id"]
    assert [p["id"] for p in api.get("/comparisons")["items"]].count(first["id"]) == 1


def test_several_sides_and_gate(api):
    load_founding(api)
    sides = [f"experiment=wakeup-2004,load=iozone,max_sectors_kb={kb}" for kb in (64, 32, 16)]
    pin = api.send("POST", "/comparisons", {"a": sides[0], "b": sides[1:], "gate": "max<=200us", "tail": "47us"}, 201)
    got = api.get(f"/comparisons/{pin['id']}")
    assert len(got["runs"]) == 3 and [len(r) for r in got["runs"]] == [1, 1, 1] and got["word"] is None
    assert [i["tail"]["b"]["above"] for i in got["result"]["items"]] == [77, 58]
    assert got["result"]["gate"]["result"] in ("pass", "fail", "inconclusive")


def test_caching_and_removal(api):
    fill(api, "gone")
    pin = api.send("POST", "/comparisons", {"a": "experiment=gone,f=0", "b": "experiment=gone,f=1"}, 201)
    reply = api.call("GET", f"/comparisons/{pin['id']}")
    assert "immutable" in reply.headers["Cache-Control"]
    again = api.call("GET", f"/comparisons/{pin['id']}", headers={"If-None-Match": reply.headers["ETag"]})
    assert again.status == 304
    api.send("DELETE", f"/comparisons/{pin['id']}", status=204)
    api.send("DELETE", f"/comparisons/{pin['id']}", status=404)
    api.get(f"/comparisons/{pin['id']}", status=404)


def test_wrong_requests(api):
    fill(api, "wrong")
    good = {"a": "experiment=wrong,f=0", "b": "experiment=wrong,f=1"}
    for bad, status in (({"a": "f=0"}, 400), (dict(good, a="x=>1"), 400), (dict(good, b=[]), 400), (dict(good, b=5), 400),
                        (dict(good, colour="red"), 400), (dict(good, ci=7), 400), (dict(good, title="x" * 300), 400),
                        (dict(good, b="experiment=none"), 404), (dict(good, anyway="yes"), 400), ([], 400)):
        assert api.send("POST", "/comparisons", bad, status)["status"] == status, bad
    assert api.get("/comparisons/none?format=pdf", status=406)["status"] == 406


def test_list_pages(api):
    fill(api, "pages")
    for i in range(4):
        api.send("POST", "/comparisons", {"a": "experiment=pages,f=0", "b": "experiment=pages,f=1", "title": str(i)}, 201)
    seen, path = [], "/comparisons?limit=3"
    while path:
        page = api.get(path)
        assert all("result" not in p for p in page["items"])
        seen += [p["id"] for p in page["items"]]
        path = page["next"] and page["next"].removeprefix("/api/v1")
    assert len(seen) == len(set(seen)) >= 4
