# SPDX-License-Identifier: GPL-2.0-or-later
"""Every change leaves a row that says who made it; readings and dry runs leave none."""
import json
import re

import pytest

from apilib import ROOT, check_reply
from conftest import wait_until
from enrolling import bearer, enroll, make_code, make_token, new_token


@pytest.fixture(scope="module")
def guarded(shared_server):
    shared_server.tokens = {s: make_token(shared_server, s) for s in ("admin", "write", "gate")}
    wait_until("tokens are asked for", lambda: shared_server.get("/api/v1/runs").status == 401, 20)
    return shared_server


def send(server, token, method, path, body=None, headers=None):
    if body is not None and not isinstance(body, bytes):
        body, headers = json.dumps(body), {"Content-Type": "application/json", **(headers or {})}
    return server.request(method, "/api/v1" + path, body=body, headers={**bearer(token), **(headers or {})})


def audit(server, query=""):
    reply = server.get("/api/v1/audit" + query, headers=bearer(server.tokens["admin"]))
    assert reply.status == 200, reply.body
    check_reply("GET", "/api/v1/audit", reply)
    return reply.json()["items"]


def wait_for(server, action, text=""):
    """The newest row of this action whose object has this text; it may come after the answer."""
    return wait_until(action, lambda: audit(server, f"?action={action}&object={text}"))[0]


def test_changes_are_noted(guarded):
    write, admin = guarded.tokens["write"], guarded.tokens["admin"]
    octets = {"Content-Type": "application/octet-stream"}
    table = (ROOT / "tests/data/rq-affinity-2008/summary.csv").read_bytes()
    before = len(audit(guarded))
    assert send(guarded, write, "POST", "/imports?dry_run=true", table, octets).status == 200
    made = send(guarded, write, "POST", "/imports", table, octets)
    assert made.status == 201
    row = wait_for(guarded, "import.make")
    assert row["object"] == "import " + made.json()["id"] and row["token"] == write[3:11] and row["who"] == "test"
    assert row["remote"] == "127.0.0.1" and row["request_id"] == made.headers["X-Request-Id"] and row["detail"] is None
    assert send(guarded, write, "POST", "/imports", table, octets).status == 200  # there already
    run = made.json()["runs"][0]["id"]
    assert send(guarded, write, "PATCH", "/runs/" + run, {"excluded": "the fan was öff"}).status == 200
    row = wait_for(guarded, "run.edit")
    assert row["object"] == "runs/" + run and "excluded" in row["detail"]
    assert send(guarded, write, "GET", "/runs").status == 200
    assert send(guarded, write, "PATCH", "/runs/r_999999", {"excluded": "x"}).status == 404
    assert send(guarded, write, "DELETE", "/imports/" + made.json()["id"]).status < 300
    wait_for(guarded, "import.undo")
    new = send(guarded, admin, "POST", "/tokens", {"name": "ci", "scopes": ["gate"]}).json()
    row = wait_for(guarded, "token.make", new["id"])
    assert row["object"] == "token " + new["id"] and row["token"] == admin[3:11]
    successor = new_token()
    assert send(guarded, new["token"], "POST", "/token/rotate",
                {"token_id": successor[1], "token_sha256": successor[2]}).status == 200
    assert wait_for(guarded, "token.rotate", successor[1])["object"] == "token " + successor[1]
    assert send(guarded, admin, "DELETE", "/tokens/" + new["id"]).status == 204
    wait_for(guarded, "token.revoke", new["id"])
    code = send(guarded, admin, "POST", "/enroll-codes", {"host": "audited"}).json()
    assert wait_for(guarded, "code.make", code["id"])["object"] == "code " + code["id"]
    reply, token = enroll(guarded, code["code"], "x")
    row = wait_for(guarded, "host.enroll")
    assert (row["who"], row["token"]) == ("code " + code["id"], None) and row["object"].startswith("host audited")
    rows = audit(guarded)
    assert len(rows) - before == 8, [r["action"] for r in rows]
    # No secret is in it.
    for secret in (code["code"][13:35], new["token"][12:], token[12:], successor[0][12:]):
        assert secret not in json.dumps(rows)


def test_the_command_line_is_noted(guarded):
    make_code(guarded, "--name", "rack 7", "--host", "r7")
    row = next(r for r in audit(guarded, "?action=code.make") if r["who"] == "command line")
    assert row["detail"] == "rack 7 host r7" and row["remote"] is None
    tokens = [r for r in audit(guarded, "?action=token.make") if r["who"] == "command line"]
    assert [r["detail"] for r in tokens] == ["test: gate", "test: write", "test: admin"]


def test_pages_and_filters(guarded):
    everything = audit(guarded)
    reply = guarded.get("/api/v1/audit?limit=2", headers=bearer(guarded.tokens["admin"])).json()
    second = guarded.get(reply["next"], headers=bearer(guarded.tokens["admin"])).json()
    assert reply["items"] + second["items"] == everything[:4]
    assert all("code" in r["object"] for r in audit(guarded, "?object=code"))
    mine = guarded.tokens["write"][3:11]
    assert {r["token"] for r in audit(guarded, "?token=" + mine)} == {mine}
    for token, status in ((guarded.tokens["write"], 403), (guarded.tokens["gate"], 403)):
        assert guarded.get("/api/v1/audit", headers=bearer(token)).status == status


def test_an_open_server_notes_everybody(server):
    made = server.request("POST", "/api/v1/imports", body=(ROOT / "tests/data/rq-affinity-2008/summary.csv").read_bytes(),
                          headers={"Content-Type": "application/octet-stream"})
    assert made.status == 201
    wait_until("noted", lambda: server.sql("select who from rigstat.audit") == [["everybody"]])


def test_every_changing_route_has_a_name():
    """One without a name is still noted, by method and path."""
    routes = (ROOT / "server/routes.c").read_text()
    named = (ROOT / "server/audit.c").read_text()
    changing = re.findall(r"\{HTTP_(?:POST|PUT|PATCH|DELETE),[^,]+, SCOPE_(?:WRITE|ADMIN|GATE),[^}]*?(\w+)\}", routes)
    assert len(changing) > 15
    assert [c for c in changing if f"{{{c}, " not in named] == []
