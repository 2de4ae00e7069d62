# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of the REST API that holds every answer against docs/openapi.json.

`api` is one server for a whole test module: tests there must not disturb each other. What they ask
is recorded, so that test_api_contract can say which operations were never seen."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import urllib.parse

import jsonschema
import pytest

from conftest import ROOT, Server

DATA = ROOT / "tests/data"
OPENAPI = json.loads((ROOT / "docs/openapi.json").read_text())
RESOLVER = jsonschema.RefResolver("", OPENAPI)


def operation_of(method, path):
    """(pattern, operation) of a request, the most literal pattern first."""
    found = []
    for pattern, item in OPENAPI["paths"].items():
        regex = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(pattern))
        if re.fullmatch(regex, path) and method.lower() in item:
            found.append((pattern.count("{"), pattern))
    assert found, f"docs/openapi.yaml has no {method} {path}"
    pattern = min(found)[1]
    return pattern, OPENAPI["paths"][pattern][method.lower()]


def resolve(node):
    return RESOLVER.resolve(node["$ref"])[1] if "$ref" in node else node


def check_reply(method, path, reply):
    """Status, media type and body are among those that the document promises."""
    pattern, operation = operation_of(method, path)
    responses = operation["responses"]
    status = str(reply.status)
    assert status in responses or ("default" in responses and reply.status >= 400), \
        f"{method} {pattern}: status {status} is not in the document: {reply.body[:300]}"
    response = resolve(responses.get(status, responses.get("default")))
    content = response.get("content", {})
    if reply.status in (204, 304):
        assert reply.body == b""
        return
    media = reply.headers["Content-Type"].split(";")[0]
    assert media in content, f"{method} {pattern} {status}: {media} is not in the document"
    if media in ("application/json", "application/problem+json"):
        schema = content[media]["schema"]
        errors = list(jsonschema.Draft202012Validator(schema, resolver=RESOLVER).iter_errors(reply.json()))
        assert not errors, f"{method} {pattern} {status}: {errors[0].json_path}: {errors[0].message}"


class Api:
    def __init__(self, server):
        self.server = server
        self.seen = set()

    def call(self, method, path, params=None, body=None, headers=None):
        """`params`: a dict or a list of pairs; `body`: bytes, or JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        elif body is not None:
            headers.setdefault("Content-Type", "application/octet-stream")
        url = "/api/v1" + path
        if params:
            url += "?" + urllib.parse.urlencode(params)
        reply = self.server.request(method, url, body=body, headers=headers)
        plain = ("/api/v1" + path).split("?")[0]
        check_reply(method, plain, reply)
        self.seen.add((method, operation_of(method, plain)[0]))
        return reply

    def get(self, path, params=None, status=200, **kw):
        reply = self.call("GET", path, params, **kw)
        assert reply.status == status, (reply.status, reply.body[:600])
        return reply.json() if "json" in reply.headers.get("Content-Type", "") and status != 304 else reply

    def send(self, method, path, body=None, status=200, params=None, headers=None):
        reply = self.call(method, path, params, body, headers)
        assert reply.status == status, (reply.status, reply.body[:600])
        return reply.json() if reply.body else None

    def load(self, data, status=201, **params):
        """POST /imports; `set` and `tag` may be lists."""
        pairs = []
        for key, value in params.items():
            pairs += [(key, v) for v in (value if isinstance(value, list) else [value])]
        return self.send("POST", "/imports", data, status, pairs)

    def compare(self, a, *b, status=200, headers=None, **params):
        pairs = [("a", a)] + [("b", x) for x in b] + list(params.items())
        return self.get("/compare", pairs, status, headers=headers)


def load_founding(api):
    """The two posts, as a person would import them."""
    for name, load, kb in (("desktop-64", "desktop", 64), ("iozone-64", "iozone", 64),
                           ("iozone-32", "iozone", 32), ("iozone-16", "iozone", 16)):
        api.load((DATA / f"wakeup-delay-2004/{name}.txt").read_bytes(), source=f"{name}.txt",
                 experiment="wakeup-2004", unit="us", set=[f"load={load}", f"max_sectors_kb={kb}"])
    api.load((DATA / "rq-affinity-2008/summary.csv").read_bytes(), source="summary.csv")


def value_run(i, experiment="values", level="0", value=100.0, **more):
    """A run document with one number."""
    run = {"host": "box", "experiment": experiment, "state": "ok", "kind": "measured",
           "factors": {"f": level}, "order": i + 1, "started": f"2026-11-{1 + i // 24:02d}T{i % 24:02d}:00:00Z",
           "series": [{"metric": "elapsed", "kind": "value", "unit": "ns", "value": value}]}
    run.update(more)
    return run


@pytest.fixture(scope="module")
def api(template):
    directory = pathlib.Path(tempfile.mkdtemp(prefix="rigstat-it-"))
    os.chmod(directory, 0o755)
    server = Server(directory)
    subprocess.run(["cp", "-a", str(template), str(server.data)], check=True)
    server.start()
    yield Api(server)
    status = server.stop()
    log = server.log()
    shutil.rmtree(directory, ignore_errors=True)
    assert status == 0 and "Sanitizer" not in log and "runtime error:" not in log, log
