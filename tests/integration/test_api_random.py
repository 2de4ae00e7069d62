# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests made at random from docs/openapi.json: none may end in a 5xx, in an answer that the document does not
promise, or in a sanitizer's report. The seed is fixed, so that a failure can be repeated."""
import json
import random
import re
import urllib.parse

from apilib import OPENAPI, api, check_reply, load_founding, value_run  # noqa: F401 (fixture)

REQUESTS = 1200
VALUES = [
    "", "x", "1", "0", "-1", "r_1", "r_7", "i_1", "e_1", "experiment=many,f=0", "experiment=many,f=1", "load=iozone",
    "experiment=wakeup-2004", "a=>b", "f=1..", '"', "host in (a,b)", "started>=2026-11-01", "p50,p99", "over(47us)", "max",
    "mean", "log:5", "csv", "json", "text", "svg", "junit", "markdown", "hgrm", "histogram", "runs", "shift", "5%", "0.95",
    "1e999", "nan", "µ<b>'\"", "9" * 30, "cpu=0", "wakeup_latency", "elapsed", "p99<=+5%", "max<=200us", "true", "false",
    "total", "-started", "\t", "%00", "a" * 300, "run=r_7", "kernel~6.*", "47us"]
MEMBERS = ["excluded", "tags", "factors", "note", "a", "b", "title", "metric", "margin_rel", "better", "primary", "series",
           "runs", "stat", "gate", "ci", "margin", "tail", "labels"]
LEFT_OUT = re.compile("ingest|session|token|^/metrics$|^/readyz$")


def random_value(rng, pin):
    return rng.choice(VALUES + [pin])


def random_body(rng, pin):
    def member():
        v = random_value(rng, pin)
        return rng.choice([None, True, 5, -1.5, v, [], {}, [v], {v: v}, {v: 1}])
    return json.dumps({rng.choice(MEMBERS): member() for _ in range(rng.randint(0, 4))}).encode()


def random_query(rng, operation, pin):
    pairs = []
    for p in operation.get("parameters", []):
        p = OPENAPI["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]] if "$ref" in p else p
        if p["in"] == "query" and (p.get("required") or rng.random() < 0.3):
            pairs += [(p["name"], random_value(rng, pin)) for _ in range(rng.choice([1, 1, 2]))]
    return "?" + urllib.parse.urlencode(pairs) if pairs else ""


def test_no_request_surprises(api):
    load_founding(api)
    runs = [value_run(i, "many", str(i % 2), 100.0 + i) for i in range(12)]
    api.send("POST", "/runs", {"runs": runs}, 201)
    pin = api.send("POST", "/comparisons", {"a": "experiment=many,f=0", "b": "experiment=many,f=1"}, 201)["id"]
    operations = [(path, verb, operation) for path, item in OPENAPI["paths"].items() for verb, operation in item.items()
                  if verb in ("get", "patch", "post") and not LEFT_OUT.search(path)]
    rng, answered = random.Random(2008), 0
    for _ in range(REQUESTS):
        path, verb, operation = rng.choice(operations)
        path = re.sub(r"\{\w+\}", lambda m: urllib.parse.quote(random_value(rng, pin) or "x", safe=""), path)
        url = path + random_query(rng, operation, pin)
        body, headers = None, {}
        if verb != "get":
            body, headers = random_body(rng, pin), {"Content-Type": "application/json"}
        reply = api.server.request(verb.upper(), url, body=body, headers=headers)
        assert reply.status < 500, (verb, url, body, reply.body[:500])
        check_reply(verb.upper(), path.replace("%2F", "_"), reply)
        answered += reply.status == 200
    assert answered > REQUESTS / 10, "most requests must not be refused at the door"
