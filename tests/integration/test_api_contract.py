# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/openapi.yaml, the table of routes and the server say the same."""
import json
import re

from apilib import OPENAPI, ROOT, api, operation_of  # noqa: F401 (fixture)


def plain(path):
    return re.sub(r"\{[^}]*\}", "{}", path)


def routes():
    """(method, path) of server/routes.c that are not pages."""
    table = (ROOT / "server/routes.c").read_text()
    found = set()
    for methods, path, handler in re.findall(r'\{(HTTP_[A-Z_ |]+), "([^"]+)",[^}]*?(\w+)\}', table):
        if not handler.startswith("assets_"):
            found |= {(m, plain(path)) for m in re.findall(r"HTTP_([A-Z]+)", methods)}
    return found


def documented():
    return {(verb.upper(), plain(path)) for path, item in OPENAPI["paths"].items()
            for verb in item if verb != "parameters"}


def test_every_route_is_documented_and_back():
    assert len(routes()) > 30
    assert routes() - documented() == set(), "routes that docs/openapi.yaml lacks"
    assert documented() - routes() == set(), "operations that server/routes.c lacks"


def test_the_server_gives_the_document(api):
    reply = api.call("GET", "/openapi.json")
    assert reply.json() == json.loads((ROOT / "docs/openapi.json").read_text())
    again = api.call("GET", "/openapi.json", headers={"If-None-Match": reply.headers["ETag"]}) \
        if "304" in operation_of("GET", "/api/v1/openapi.json")[1]["responses"] else None
    assert again is None or again.status == 304


def test_index_links_lead_somewhere(api):
    for name, link in api.get("")["links"].items():
        if name != "compare":
            assert api.get(link.removeprefix("/api/v1")), name


def test_documented_parameters_are_known_and_others_refused(api):
    """Every GET refuses an unknown parameter, and none that the document names."""
    values = {"run": "r_1", "import": "i_1", "metric": "m", "host": "h", "experiment": "e", "pin": "p",
              "sha256": "0" * 16, "stream": "0" * 32, "dry_run": "d_1", "series": "s_1",
              "change": "c_1"}
    skip = {"/api/v1/ingest/{stream}", "/healthz", "/readyz", "/metrics"}
    checked = 0
    for path, item in OPENAPI["paths"].items():
        if "get" not in item or path in skip or not path.startswith("/api/v1"):
            continue
        url = re.sub(r"\{(\w+)\}", lambda m: values[m.group(1)], path).removeprefix("/api/v1")
        problem = api.get(url, {"no_such_parameter": "1"}, 400)
        assert problem["type"] == "/problems/unknown-parameter", path
        assert problem["errors"][0]["parameter"] == "no_such_parameter"
        for p in item["get"].get("parameters", []):
            p = OPENAPI["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p
            reply = api.call("GET", url, [(p["name"], "x")])
            if reply.status == 400:
                assert "is no parameter of" not in reply.json()["detail"], (path, p["name"])
            checked += 1
    assert checked > 40


def test_problems_have_a_slug_and_the_request_id(api):
    reply = api.call("GET", "/runs?limit=x")
    problem = reply.json()
    assert problem["type"].startswith("/problems/") and problem["request_id"] == reply.headers["X-Request-Id"]
    reply = api.server.request("DELETE", "/api/v1/runs")
    assert reply.status == 405 and "GET" in reply.headers["Allow"]
    assert api.server.get("/api/v1/nothing").json()["type"] == "/problems/not-found"


def test_status(api):
    status = api.get("/status")
    assert status["database"]["schema"] >= 2 and status["counts"]["runs"] == 0
