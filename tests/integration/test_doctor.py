# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat doctor and the server's part of rigstat-agent check, against real servers in good and bad states."""
import http.server
import json
import os
import subprocess
import threading

from agentlib import binary
from conftest import SERVER, wait_until

HOST = "box-7"


def doctor(url, status=0, token=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith("RIGSTAT_TOKEN")}
    if token:
        env["RIGSTAT_TOKEN"] = token
    done = subprocess.run([binary("rigstat"), "doctor", "--json", "--server", url], capture_output=True, text=True,
                          timeout=60, check=False, env=env)
    assert done.returncode == status, done.stdout + done.stderr
    return {c["name"]: c for c in json.loads(done.stdout)["checks"]}


def check(url, *args, env=None):
    done = subprocess.run([binary("rigstat-agent"), "check", "--json", "--host", HOST, "--server", url, *args],
                          capture_output=True, text=True, timeout=60, check=False, env=env)
    return {c["name"]: c for c in json.loads(done.stdout)["checks"]}


def beat(server, **members):
    reply = server.request("POST", f"/api/v1/hosts/{HOST}/agent", json.dumps({"doing": "idle"} | members),
                           {"Content-Type": "application/json"})
    assert reply.status == 200, reply.body


def test_a_good_server(server):
    found = doctor(f"http://{server.address}")
    assert {c["level"] for c in found.values()} <= {"ok", "warn"}
    for name in ("server", "version", "token", "clock", "database", "packing", "hosts"):
        assert found[name]["level"] == "ok" and found[name]["fix"] is None, found[name]
    assert found["retention"]["level"] == "warn" and "--keep-days" in found["retention"]["fix"]
    assert "MiB" in found["disk"]["text"]
    text = subprocess.run([binary("rigstat"), "doctor", "--server", f"http://{server.address}"], capture_output=True,
                          text=True, check=False).stdout
    assert "0 of " in text and "OK    server" in text and "to do: start the server with --keep-days N" in text


def test_boxes_in_trouble(server):
    beat(server, version="0.0.1", clock_offset_ns=5_000_000_000, clock_error_ns=1000, spool_problem="disk full")
    found = doctor(f"http://{server.address}")
    for name in ("hosts-clock", "hosts-version", "hosts-spool"):
        assert found[name]["level"] == "warn" and HOST in found[name]["text"] and found[name]["fix"]
    server.sql("update rigstat.agent set last_seen = now() - interval '1 minute'")
    assert HOST in doctor(f"http://{server.address}")["hosts-stale"]["text"]
    server.sql("update rigstat.agent set last_seen = now() - interval '1 hour'")
    found = doctor(f"http://{server.address}")
    assert HOST in found["hosts-offline"]["text"] and "retire" in found["hosts-offline"]["fix"]


def test_no_server_and_another_one():
    found = doctor("http://127.0.0.1:1", 1)
    assert found["server"]["level"] == "fail" and len(found) == 1
    assert check("http://127.0.0.1:1")["server"]["level"] == "fail"

    class Portal(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>please log in</html>")

        def log_message(self, *args):
            pass

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{httpd.server_address[1]}"
    assert "not as rigstat-server does" in doctor(url, 1)["server"]["text"]
    assert "not as rigstat-server does" in check(url)["server"]["text"]
    httpd.shutdown()


def test_what_the_box_may_do_there(server):
    url = f"http://{server.address}"
    found = check(url)
    assert found["server"]["level"] == found["rights"]["level"] == found["server-clock"]["level"] == "ok"
    assert found["version"]["level"] == "ok" and "reserved" not in found
    beat(server)
    server.request("PUT", f"/api/v1/hosts/{HOST}/reservation", json.dumps({"by": "eve@desk"}),
                   {"Content-Type": "application/json"})
    assert "eve@desk" in check(url)["reserved"]["text"]
    server.request("PATCH", f"/api/v1/hosts/{HOST}", json.dumps({"retired": True}), {"Content-Type": "application/json"})
    assert "is retired" in check(url)["rights"]["text"]


def token(server, scopes, *args):
    out = subprocess.run([str(SERVER), "token", "--embedded", str(server.data), "--name", "test", "--scopes", scopes,
                          *args], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return next(w for w in out.stdout.split() if w.startswith("rs_"))


def test_tokens(server, tmp_path):
    url = f"http://{server.address}"
    beat(server)
    server.sql("insert into rigstat.host (name) values ('other')")
    read, admin = token(server, "read"), token(server, "admin")
    box, other = token(server, "ingest", "--host", HOST), token(server, "ingest", "--host", "other")
    wait_until("tokens are wanted", lambda: server.get("/api/v1/status").status == 401, 30)
    found = doctor(url, 1)
    assert "wants a valid token" in found["token"]["text"] and "~/.config/rigstat/token" in found["token"]["fix"]
    assert doctor(url, token=read)["token"]["text"] == \
        "this token may read; it may not write, admin, ingest for any host"
    assert doctor(url, token=admin)["token"]["text"] == "this token may read, write, admin, ingest for any host"
    assert doctor(url, 1, token=box)["token"]["level"] == "fail", "no right to read"
    secret = tmp_path / "token"

    def with_token(text):
        secret.write_text(text)
        secret.chmod(0o600)
        return check(url, "--token-file", str(secret))["rights"]

    assert check(url)["rights"]["level"] == "fail" and "token-file" in check(url)["rights"]["fix"]
    assert with_token(box)["level"] == "ok"
    assert with_token(other)["level"] == "fail" and "for another host, 'other'" in with_token(other)["text"]
    assert with_token(read)["level"] == "fail" and "scope" in with_token(read)["text"]
    assert with_token(box[:-1] + ("a" if box[-1] != "a" else "b"))["level"] == "fail"
    secret.chmod(0o644)
    assert check(url, "--token-file", str(secret))["token-file"]["level"] == "warn"
