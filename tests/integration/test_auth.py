# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens, scopes, sessions, TLS, and who may listen where."""
import json
import ssl
import subprocess
import urllib.request

import pytest

import records as rec
from conftest import SERVER, wait_until
from enrolling import bearer, certificate, make_token, start_tls

STREAM = "0123456789abcdef0123456789abcdef"


REFUSED = (401, 429)  # 429 once this address has sent many wrong ones to the shared server


@pytest.fixture(scope="module")
def guarded(shared_server):
    """A server with a token of each scope in server.tokens."""
    server = shared_server
    server.tokens = {scope: make_token(server, scope) for scope in ("read", "gate", "ingest", "write", "admin")}
    wait_until("tokens are asked for", lambda: server.get("/api/v1/runs").status == 401, 20)
    return server


def test_open_without_tokens_until_one_is_made(server):
    assert server.get("/api/v1/runs").status == 200
    token = make_token(server, "admin")  # while the server runs on its directory
    wait_until("tokens are asked for", lambda: server.get("/api/v1/runs").status == 401, 20)
    assert server.get("/api/v1/runs", headers=bearer(token)).status == 200


def test_scopes(guarded):
    t = guarded.tokens
    assert guarded.get("/healthz").status == 200
    for scope, read, gate, write, admin in (("read", 200, 403, 403, 403), ("gate", 200, 200, 403, 403),
                                            ("ingest", 403, 403, 403, 403), ("write", 200, 200, 404, 403),
                                            ("admin", 200, 200, 404, 200)):
        assert guarded.get("/api/v1/runs", headers=bearer(t[scope])).status == read
        # gate --stop-on-breach cancels what a broken limit makes pointless.
        assert guarded.request("DELETE", "/api/v1/experiments/e_1/assignments",
                               headers=bearer(t[scope])).status == gate
        assert guarded.request("DELETE", "/api/v1/comparisons/AAAAAAAA",
                               headers=bearer(t[scope])).status == write
        assert guarded.get("/api/v1/tokens", headers=bearer(t[scope])).status == admin


@pytest.mark.parametrize("header", [
    None, "", "Bearer", "Bearer x", "Basic dXNlcjpwYXNz", "Bearer rs_aaaaaaaa_" + "A" * 43,
    "Bearer rs_aaaaaaaa_" + "A" * 44, "Bearer rs_AAAAAAAA_" + "A" * 43, "Bearer " + "x" * 3000,
])
def test_A12_wrong_tokens_get_one_answer(guarded, header):
    answer = guarded.get("/api/v1/runs", headers={} if header is None else {"Authorization": header})
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    body = answer.json()
    del body["request_id"]
    assert body["detail"] == "A valid token is needed." and "hint" in body


def test_A12_a_token_in_the_query_is_no_token(guarded):
    assert guarded.get("/api/v1/runs?token=" + guarded.tokens["read"]).status == 401


def test_A12_secret_of_another_token(guarded):
    a, b = guarded.tokens["read"], guarded.tokens["admin"]
    assert guarded.get("/api/v1/runs", headers=bearer(a[:12] + b[12:])).status == 401


def test_A12_guessing_is_slowed_down(make_server):
    server = make_server()
    make_token(server, "read")
    server.start()
    seen = {server.get("/api/v1/runs", headers=bearer("rs_aaaaaaaa_" + "A" * 43)).status for _ in range(15)}
    assert seen == {401, 429}


def test_A12_ingest_only_for_its_host(make_server, tmp_path):
    server = make_server().start()
    server.sql("insert into rigstat.host (name) values ('box1')")
    token = make_token(server, "ingest", "box1")
    server.stop()
    server.start()
    batch = rec.recgen(tmp_path / "r", seconds=2)
    other = rec.recgen(tmp_path / "s", seconds=2, host="box2")
    assert rec.post(server, STREAM, batch).status == 401
    assert rec.post(server, STREAM, batch, Authorization="Bearer " + token).status == 200
    answer = rec.post(server, "f" * 32, other, host="box2", Authorization="Bearer " + token)
    assert answer.status == 403
    assert server.sql("select name from rigstat.host") == [["box1"]]


def test_A12_ingest_mark_only_of_its_host(make_server, tmp_path):
    """Where a stream of another host stands is not said; nor is whether there is one."""
    server = make_server()
    make_token(server, "admin")
    server.start()
    server.sql("insert into rigstat.host (name) values ('box1'), ('box2')")
    tokens = {h: make_token(server, "ingest", h) for h in ("box1", "box2")}
    batch = rec.recgen(tmp_path / "r", seconds=2)
    assert rec.post(server, STREAM, batch, Authorization="Bearer " + tokens["box1"]).status == 200
    mark = "/api/v1/ingest/" + STREAM
    assert server.get(mark, headers=bearer(tokens["box1"])).json()["next_seq"] == batch[-1].seq + 1
    assert server.get(mark, headers=bearer(tokens["box2"])).json()["next_seq"] == 1
    assert server.get(mark, headers={**bearer(tokens["box2"]), "X-Rigstat-Host": "box1"}).status == 403
    everything = bearer(make_token(server, "ingest"))
    assert server.get(mark, headers=everything).json()["next_seq"] == batch[-1].seq + 1
    assert server.get(mark, headers={**everything, "X-Rigstat-Host": "box2"}).json()["next_seq"] == 1
    assert server.get("/api/v1/assignments/next?host=box1", headers=bearer(tokens["box2"])).status == 403


def test_an_ingest_token_for_every_host_is_asked_for(guarded):
    command = [str(SERVER), "token", "--embedded", str(guarded.data), "--scopes", "ingest"]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert out.returncode == 3 and "enroll-code" in out.stderr and "--any-host" in out.stderr
    out = subprocess.run(command + ["--host", "never-seen"], capture_output=True, text=True, check=False)
    assert out.returncode == 3 and "enroll-code --host never-seen" in out.stderr
    admin = {**bearer(guarded.tokens["admin"]), "Content-Type": "application/json"}
    for more, status in (({}, 400), ({"host": "never-seen"}, 404), ({"any_host": True}, 201)):
        made = guarded.request("POST", "/api/v1/tokens", headers=admin,
                               body=json.dumps({"name": "a", "scopes": ["ingest"], **more}))
        assert made.status == status and (status == 201 or "enroll-codes" in made.json()["hint"])


def test_tokens_over_rest(guarded):
    admin = bearer(guarded.tokens["admin"])
    assert guarded.get("/api/v1/runs", headers=admin).status == 200
    made = guarded.request("POST", "/api/v1/tokens", headers={**admin, "Content-Type": "application/json"},
                           body=json.dumps({"name": "ci", "scopes": ["read"], "expires_days": 3}))
    assert made.status == 201
    token = made.json()
    assert guarded.get("/api/v1/runs", headers=bearer(token["token"])).status == 200
    listed = guarded.get("/api/v1/tokens", headers=admin)
    mine = [t for t in listed.json()["items"] if t["id"] == token["id"]][0]
    assert mine["name"] == "ci" and mine["scopes"] == ["read"] and mine["expires"] and not mine["revoked"]
    assert token["token"].encode() not in listed.body
    assert guarded.request("DELETE", "/api/v1/tokens/" + token["id"], headers=admin).status == 204
    assert guarded.get("/api/v1/runs", headers=bearer(token["token"])).status in REFUSED
    assert guarded.request("DELETE", "/api/v1/tokens/" + token["id"], headers=admin).status == 404
    # Only digests are kept.
    stored = guarded.sql("select * from rigstat.token")
    assert token["token"][12:] not in str(stored)
    # Expired: refused.
    late = guarded.request("POST", "/api/v1/tokens", headers={**admin, "Content-Type": "application/json"},
                           body=json.dumps({"name": "late", "scopes": ["read"], "expires_days": 1})).json()
    guarded.sql(f"update rigstat.token set expires_at = now() - interval '1 second' where token_id = '{late['id']}'")
    assert guarded.get("/api/v1/runs", headers=bearer(late["token"])).status in REFUSED


def test_session_cookie(guarded):
    made = guarded.request("POST", "/api/v1/session", headers={"Content-Type": "application/json"},
                           body=json.dumps({"token": guarded.tokens["read"]}))
    assert made.status == 204
    cookie = made.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert guarded.get("/api/v1/runs", headers={"Cookie": "a=b; " + cookie.split(";")[0]}).status == 200
    assert guarded.get("/api/v1/runs", headers={"Cookie": "xrigstat_token=" + guarded.tokens["read"]}).status == 401


def test_A20_pages_of_other_sites_cannot_write(server):
    """CSRF: a browser names the page's origin."""
    for origin, status in (("http://evil.example", 403), ("null", 403),
                           ("http://" + server.address, 404), (None, 404)):
        headers = {"Origin": origin} if origin else {}
        assert server.request("DELETE", "/api/v1/comparisons/AAAAAAAA", headers=headers).status == status, origin
    assert "Access-Control-Allow-Origin" not in server.get("/api/v1/runs", headers={"Origin": "http://x"}).headers


def test_listening_elsewhere_needs_a_token(make_server):
    server = make_server(listen="0.0.0.0:0")
    out = subprocess.run([str(SERVER), "serve", "--embedded", str(server.data), "--listen", "0.0.0.0:0"],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 3 and "rigstat-server token --name admin" in out.stderr
    token = make_token(server, "admin")
    server.args = ["--anonymous", "read"]
    server.start(ready=False)
    wait_until("listening", lambda: server._read_address(0), 30)
    server.address = "127.0.0.1:" + server.address.rsplit(":", 1)[1]
    wait_until("ready", lambda: server.get("/readyz").status == 200)
    assert server.get("/api/v1/runs").status == 200
    assert server.get("/api/v1/tokens").status == 401
    assert server.get("/api/v1/tokens", headers=bearer(token)).status == 200
    assert "in the clear" in server.log()


def test_token_file(make_server, tmp_path):
    good = tmp_path / "token"
    good.write_text("rs_abcdefgh_" + "Z" * 43 + "\n")
    server = make_server(["--token-file", str(good)]).start()
    assert server.get("/api/v1/tokens").status == 401
    assert server.get("/api/v1/tokens", headers=bearer(good.read_text().strip())).status == 200
    server.stop()
    good.write_text("rs_abcdefgh_" + "Y" * 43 + "\n")
    out = subprocess.run([str(SERVER), "serve", "--embedded", str(server.data), "--token-file", str(good)],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode != 0 and "another secret" in out.stderr


def test_tls(make_server, tmp_path):
    cert, key = certificate(tmp_path, "cert")
    server = start_tls(make_server(), cert, key)
    assert "https://" in server.log()
    context = ssl.create_default_context(cafile=str(cert))
    with urllib.request.urlopen(f"https://{server.address}/healthz", context=context) as answer:
        assert json.load(answer)["status"] == "ok"
    out = subprocess.run([str(SERVER), "serve", "--embedded", str(tmp_path / "x"), "--tls-cert", str(cert)],
                         capture_output=True, text=True, timeout=60, check=False)
    assert out.returncode == 3 and "belong together" in out.stderr
