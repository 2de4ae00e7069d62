# SPDX-License-Identifier: GPL-2.0-or-later
"""A box enrols with a code: the whole way, what is refused, what a lost answer does, pins, groups of boxes,
and tokens that are renewed."""
import base64
import concurrent.futures
import hashlib
import http.server
import json
import os
import pathlib
import socket
import stat
import subprocess
import threading
import time

import pytest

import records as rec
from agentlib import Agent, binary, running
from conftest import wait_until
from enrolling import (admin_command, agent, bearer, certificate, enroll, make_code, make_token, new_token,
                       start_tls)

MACHINES = ["4c4c4544-0031-3610-8056-b4c04f4b4832", "4c4c4544-0031-3610-8056-b4c04f4b4833"]


@pytest.fixture(scope="module")
def guarded(shared_server):
    """A server with an administrator."""
    shared_server.admin = make_token(shared_server, "admin")
    wait_until("tokens are asked for", lambda: shared_server.get("/api/v1/runs").status == 401, 20)
    return shared_server


def problem(reply):
    return reply.status, reply.json()["type"].rsplit("/", 1)[1]


def conf_of(path):
    lines = [l for l in path.read_text().splitlines() if l and not l.startswith("#")]
    return dict(l.split(" = ", 1) for l in lines)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# ---- the whole way ----

def test_from_the_code_to_stored_records(guarded, tmp_path):
    code = make_code(guarded, "--name", "rack 3")
    assert code.startswith("rsc_") and "." not in code  # no TLS, no pin
    conf = tmp_path / "etc" / "agent.conf"
    conf.parent.mkdir()
    conf.write_text("# ours\nperiod = 10ms\nserver = http://old:1\n")
    out = agent("enroll", "--server", f"http://{guarded.address}/", "--code-file", "-", "--host", "olab-1",
                "--config", str(conf), stdin=code + "\n")
    assert out.returncode == 0, out.stderr
    assert "olab-1" in out.stdout and code not in out.stdout + out.stderr
    token = tmp_path / "etc" / "identity" / "token"
    assert mode(token) == 0o600 and mode(token.parent) == 0o700
    assert [p.name for p in token.parent.iterdir()] == ["token"]
    assert conf_of(conf) == {"period": "10ms", "server": f"http://{guarded.address}", "host": "olab-1",
                             "token-file": str(token)}
    assert conf.read_text().startswith("# ours\nperiod = 10ms\nserver = ")
    self_said = guarded.get("/api/v1/token", headers=bearer(token.read_text().strip())).json()
    assert (self_said["host"], self_said["scopes"]) == ("olab-1", ["ingest"])
    assert code not in str(guarded.sql("select * from rigstat.enroll_code"))
    with running(Agent(tmp_path, "--config", str(conf), "--policy", "other", "--interval", "200ms", "--no-shares",
                       "--no-io", "--no-locks", "--blame", "off")) as a:
        wait_until("records", lambda: guarded.sql("select 1 from rigstat.ingest_stream s join rigstat.host h"
                                                  " using (host_id) where h.name = 'olab-1' and samples > 0"))
        a.stop()
    out = agent("enroll", "--server", f"http://{guarded.address}", "--code", code, "--host", "olab-2", "--config",
                str(tmp_path / "two" / "agent.conf"))
    assert out.returncode == 3 and "This code has been used" in out.stderr
    assert not (tmp_path / "two" / "agent.conf").exists()
    assert list((tmp_path / "two" / "identity").iterdir()) == []


def test_A24_code_is_not_left_in_the_arguments(make_server, tmp_path):
    """A24: while the agent waits for a server that does not answer, ps shows no code."""
    code = "rsc_abcdefgh_" + "C" * 22
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with subprocess.Popen([binary("rigstat-agent"), "enroll", "--server",
                               f"http://127.0.0.1:{silent.getsockname()[1]}", "--code=" + code, "--config",
                               str(tmp_path / "agent.conf")], stderr=subprocess.PIPE) as p:
            silent.settimeout(20)
            peer, _ = silent.accept()
            cmdline = pathlib.Path(f"/proc/{p.pid}/cmdline").read_bytes()
            peer.close()
            p.kill()
    assert b"--code=****" in cmdline and b"C" * 5 not in cmdline


def test_wrong_addresses_say_what_to_do(tmp_path):
    conf = ["--config", str(tmp_path / "agent.conf"), "--code", "rsc_abcdefgh_" + "C" * 22]
    out = agent("enroll", "--server", "http://127.0.0.1:9", *conf)
    assert out.returncode == 4 and "cannot be reached" in out.stderr and "connect" in out.stderr
    for args, say in ((["enroll"], "name the server"), (["enroll", "--server", "http://x"], "give a code"),
                      (["enroll", "--server", "http://x", "--code", "rs_x"], "no enrolment code"),
                      (["enroll", "--server", "x", *conf], "no http://")):
        out = agent(*args)
        assert out.returncode == 3 and say in out.stderr


# ---- what is refused ----

def test_A25_each_refusal_says_why(guarded):
    code = make_code(guarded)
    assert problem(enroll(guarded, code[:-1] + ("A" if code[-1] != "A" else "B"), "r1")[0]) == (403, "code-unknown")
    ident = code[4:12]
    guarded.sql(f"update rigstat.enroll_code set expires_at = now() where code_id = '{ident}'")
    reply, _ = enroll(guarded, code, "r1")
    assert problem(reply) == (403, "code-expired") and "enroll-code" in reply.json()["hint"]
    guarded.sql(f"update rigstat.enroll_code set expires_at = now() + interval '1 h' where code_id = '{ident}'")
    reply, token = enroll(guarded, code, "r1")
    assert reply.status == 201
    assert problem(enroll(guarded, code, "r2")[0]) == (403, "code-used")
    # A token of an enrolment is no code, and a code is no token.
    assert problem(enroll(guarded, token, "r3")[0]) == (403, "code-unknown")
    assert guarded.get("/api/v1/runs", headers=bearer(code)).status in (401, 429)
    admin = {**bearer(guarded.admin), "Content-Type": "application/json"}
    made = guarded.request("POST", "/api/v1/enroll-codes", headers=admin, body='{"uses": 3, "name": "three"}')
    assert made.status == 201 and made.json()["pin"] is None
    assert guarded.request("DELETE", "/api/v1/enroll-codes/" + made.json()["id"], headers=admin).status == 204
    assert problem(enroll(guarded, made.json()["code"], "r4")[0]) == (403, "code-revoked")
    listed = guarded.get("/api/v1/enroll-codes", headers=admin)
    mine = next(c for c in listed.json()["items"] if c["id"] == made.json()["id"])
    assert mine["revoked"] and mine["uses_max"] == 3 and made.json()["code"].encode() not in listed.body
    assert guarded.sql("select name from rigstat.host where name in ('r1', 'r2', 'r3', 'r4')") == [["r1"]]
    for body in ('{"uses": 0}', '{"uses": "x"}', '{"replace_machine": true}', '{"pin": "x"}', '{"hots": "x"}',
                 '{"host": "a b"}', '{"expires_hours": 100000}', '{"bind_machine": 1}'):
        assert guarded.request("POST", "/api/v1/enroll-codes", headers=admin, body=body).status == 400, body


def test_A25_guessing_codes_is_slowed_down(make_server):
    server = make_server()
    make_token(server, "admin")
    code = make_code(server)
    server.start()
    seen = [enroll(server, code[:13] + "A" * 22, "x")[0] for _ in range(14)]
    assert {r.status for r in seen} == {403, 429} and seen[-1].headers["Retry-After"] == "60"
    assert enroll(server, code, "x")[0].status == 429  # the right one, too, for a minute
    assert server.sql("select uses from rigstat.enroll_code") == [["0"]]


def test_A25_a_race_has_one_winner(guarded):
    code = make_code(guarded)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        replies = list(pool.map(lambda i: enroll(guarded, code, f"race{i}")[0], range(16)))
    assert sorted(r.status for r in replies) == [201] + [403] * 15
    assert len(guarded.sql("select 1 from rigstat.host where name like 'race%'")) == 1


def test_A25_lost_answer_then_the_same_again(guarded):
    code, token = make_code(guarded), new_token()
    first, text = enroll(guarded, code, "lost", token=token)
    again, _ = enroll(guarded, code, "lost", token=token)
    assert (first.status, again.status) == (201, 201)
    assert {k: v for k, v in first.json().items() if k != "server_ns"} == \
        {k: v for k, v in again.json().items() if k != "server_ns"}
    assert guarded.sql(f"select uses from rigstat.enroll_code where code_id = '{code[4:12]}'") == [["1"]]
    assert guarded.get("/api/v1/token", headers=bearer(text)).json()["host"] == "lost"
    # With the id of another's token nothing is won.
    other = make_code(guarded)
    assert problem(enroll(guarded, other, "lost2", token=new_token()[:1] + token[1:])[0]) == (409, "token-taken")


def test_agent_resumes_after_a_lost_answer(guarded, tmp_path):
    """The token that the box made and did not see confirmed is the one that it sends again."""
    code, (text, ident, digest) = make_code(guarded), new_token()
    assert enroll(guarded, code, "resumed", token=(text, ident, digest))[0].status == 201
    identity = tmp_path / "identity"
    identity.mkdir(mode=0o700)
    (identity / f"token.{code[4:12]}").write_text(text + "\n")
    out = agent("enroll", "--server", f"http://{guarded.address}", "--code", code, "--host", "resumed", "--config",
                str(tmp_path / "agent.conf"))
    assert out.returncode == 0, out.stderr
    assert (identity / "token").read_text() == text + "\n"


def test_without_an_administrator_there_is_no_code(server):
    """The first box to enrol would close an open server for everybody."""
    made = server.request("POST", "/api/v1/enroll-codes", body="{}", headers={"Content-Type": "application/json"})
    assert problem(made) == (409, "no-administrator")
    with pytest.raises(AssertionError, match="administrator"):
        make_code(server)


# ---- boxes that were installed anew, and others with their name ----

def test_group_code_with_machines(guarded):
    code = make_code(guarded, "--uses", "5", "--bind-machine", "--token-days", "30")
    reply, first = enroll(guarded, code, "g1", MACHINES[0])
    assert reply.status == 201 and reply.json()["expires"]
    assert problem(enroll(guarded, code, "g1")[0]) == (422, "machine-needed")
    reply, _ = enroll(guarded, code, "g1", MACHINES[1])
    assert problem(reply) == (409, "host-other-machine") and "Host 'g1' is another machine" in reply.json()["detail"]
    # Installed anew, with another name: it gets its host back, and the old token is over.
    assert guarded.get("/api/v1/token", headers=bearer(first)).status == 200
    reply, second = enroll(guarded, code, "debian", MACHINES[0])
    assert reply.status == 201 and reply.json()["host"] == "g1"
    assert guarded.get("/api/v1/token", headers=bearer(first)).status == 401
    assert guarded.get("/api/v1/token", headers=bearer(second)).json()["host"] == "g1"
    assert enroll(guarded, code, "g2", MACHINES[1])[0].status == 201
    assert guarded.sql(f"select uses from rigstat.enroll_code where code_id = '{code[4:12]}'") == [["3"]]
    assert guarded.sql("select count(*) from rigstat.host where name in ('g1', 'g2', 'debian')") == [["2"]]
    # The machine was replaced: only with a code that says so.
    new = MACHINES[0][:-1] + "9"
    assert problem(enroll(guarded, make_code(guarded, "--host", "g1", "--bind-machine"), "g1", new)[0]) == \
        (409, "host-other-machine")
    assert problem(enroll(guarded, make_code(guarded, "--host", "g9"), "g9", MACHINES[1])[0]) == \
        (409, "machine-other-host")
    reply, _ = enroll(guarded, make_code(guarded, "--host", "g1", "--replace-machine"), "any", new)
    assert reply.json()["host"] == "g1"
    assert guarded.sql("select machine from rigstat.host where name = 'g1'") == [[new]]


def test_a_name_that_is_in_use(guarded):
    assert enroll(guarded, make_code(guarded), "busy")[0].status == 201
    reply, _ = enroll(guarded, make_code(guarded), "busy")
    assert problem(reply) == (409, "host-taken") and "--host" in reply.json()["hint"]
    reply, _ = enroll(guarded, make_code(guarded, "--host", "busy"), "whatever")
    assert reply.status == 201 and reply.json()["host"] == "busy"
    assert len(guarded.sql("select 1 from rigstat.token t join rigstat.host h using (host_id)"
                           " where h.name = 'busy' and revoked_at is null")) == 1


def test_agent_sends_the_machine(guarded, tmp_path):
    """The DMI UUID of a faked /sys; a placeholder of lazy firmware is none."""
    code = make_code(guarded, "--uses", "5", "--bind-machine")
    uuids = {"m1": MACHINES[0].upper()[:-1] + "7", "zeros": "00000000-0000-0000-0000-000000000000",
             "lazy": "03000200-0400-0500-0006-000700080009"}
    seen = {}
    for name, uuid in uuids.items():
        fake = f"mount -t tmpfs none /sys/class && mkdir -p /sys/class/dmi/id && echo {uuid}" \
               ' >/sys/class/dmi/id/product_uuid && exec "$@"'
        out = agent("enroll", "--server", f"http://{guarded.address}", "--code", code, "--host", name, "--config",
                    str(tmp_path / name / "agent.conf"), prefix=["unshare", "-m", "sh", "-c", fake, "sh"])
        seen[name] = out.returncode, out.stderr
    if "not permitted" in seen["m1"][1]:
        pytest.skip("no mount namespaces here")
    assert seen["m1"][0] == 0, seen["m1"][1]
    assert guarded.sql("select machine from rigstat.host where name = 'm1'") == [[uuids["m1"].lower()]]
    for name in ("zeros", "lazy"):
        assert seen[name][0] == 3 and "did not tell its DMI UUID" in seen[name][1]


# ---- the server's key ----

def test_pin_of_the_servers_key(make_server, tmp_path):
    """The code carries the pin: no certificate authority is needed; another key is not spoken to."""
    good, other = certificate(tmp_path, "good"), certificate(tmp_path, "other")
    server = make_server()
    make_token(server, "admin")
    pin = admin_command(server, "pin", "--tls-cert", str(good[0]))
    der = tmp_path / "pub.der"
    assert os.system(f"openssl x509 -in {good[0]} -pubkey -noout | openssl pkey -pubin -outform der -out {der}") == 0
    assert pin == "sha256//" + base64.b64encode(hashlib.sha256(der.read_bytes()).digest()).decode()
    start_tls(server, *good)
    made = server.request("POST", "/api/v1/enroll-codes", body="{}",
                          headers={**bearer(make_token(server, "admin")), "Content-Type": "application/json"})
    assert made.json()["pin"] == pin
    code = make_code(server, "--tls-cert", str(good[0]), "--uses", "3")
    url, conf = f"https://{server.address}", tmp_path / "etc" / "agent.conf"
    bare = code.split(".")[0]
    out = agent("enroll", "--server", url, "--code", bare, "--config", str(conf))
    assert out.returncode == 4 and "self" in out.stderr and "ca-file" in out.stderr and "pin" in out.stderr
    out = agent("enroll", "--server", url.replace("https", "http"), "--code", code, "--config", str(conf))
    assert out.returncode == 3 and "https://" in out.stderr
    out = agent("enroll", "--server", url, "--code", code, "--host", "pinned", "--config", str(conf))
    assert out.returncode == 0, out.stderr
    assert conf_of(conf)["server-pin"] == pin
    assert agent("rotate", "--config", str(conf)).returncode == 0
    out = agent("enroll", "--server", url, "--code", bare, "--server-pin", pin, "--host", "by-hand", "--config",
                str(tmp_path / "two" / "agent.conf"))
    assert out.returncode == 0, out.stderr
    # Somebody in between, or a new key: nothing is said to it.
    server.stop()
    start_tls(server, *other)
    conf.write_text(conf.read_text().replace(url, f"https://{server.address}"))
    out = agent("rotate", "--config", str(conf))
    assert out.returncode == 4 and "another key than the pinned one" in out.stderr and "enrol again" in out.stderr
    with running(Agent(tmp_path, "--config", str(conf), "--policy", "other", "--interval", "200ms", "--no-shares",
                       "--no-io", "--no-locks", "--blame", "off")) as a:
        a.wait_text("another key than the pinned one")
        a.stop()
    assert server.sql("select count(*) from rigstat.ingest_stream") == [["0"]]
    new_pin = admin_command(server, "pin", "--tls-cert", str(other[0]))
    conf.write_text(conf.read_text().replace(pin, new_pin))
    assert agent("rotate", "--config", str(conf)).returncode == 0
    # A certificate authority beside the pin: both must hold.
    out = agent("rotate", "--config", str(conf), "--ca-file", str(good[0]))
    assert out.returncode == 4 and "certificate" in out.stderr
    assert agent("rotate", "--config", str(conf), "--ca-file", str(other[0])).returncode == 0


def test_clock_far_off_is_said(tmp_path):
    """Enrolled all the same: the server stores by its own clock."""
    class Late(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.dumps({"host": "late", "agent_id": "h_1", "token_id": "abcdefgh", "expires": None,
                               "server_ns": time.time_ns() + 3 * 86400 * 10**9}).encode()
            self.send_response(201)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Late) as late:
        thread = threading.Thread(target=late.handle_request)
        thread.start()
        out = agent("enroll", "--server", f"http://127.0.0.1:{late.server_port}", "--code",
                    "rsc_abcdefgh_" + "C" * 22, "--config", str(tmp_path / "agent.conf"))
        thread.join()
    assert out.returncode == 0 and "72 h 0 min" in out.stderr and "behind the server's" in out.stderr, out.stderr


@pytest.mark.parametrize("answer", [b"<html>Sign in</html>", b'{"host": "a\\ncpus = 0", "agent_id": "h_1"}', b"{}",
                                    b'{"host": "a", "agent_id": "\\u001b[2J"}', b"", b"[" * 60000])
def test_A22_what_the_server_answers_is_checked(tmp_path, answer):
    """Not everything that says 201 is a rigstat-server; and nothing it says gets into the configuration."""
    class Odd(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(201)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Odd) as odd:
        thread = threading.Thread(target=odd.handle_request)
        thread.start()
        out = agent("enroll", "--server", f"http://127.0.0.1:{odd.server_port}", "--code",
                    "rsc_abcdefgh_" + "C" * 22, "--config", str(tmp_path / "agent.conf"))
        thread.join()
    assert out.returncode == 4 and "is http://127.0.0.1" in out.stderr and "\x1b" not in out.stderr
    assert not (tmp_path / "agent.conf").exists()


# ---- successors ----

def rotate_over_rest(server, token, successor):
    return server.request("POST", "/api/v1/token/rotate", headers={**bearer(token), "Content-Type": "application/json"},
                          body=json.dumps({"token_id": successor[1], "token_sha256": successor[2]}))


def test_old_token_is_over_when_the_new_one_is_used(guarded):
    _, old = enroll(guarded, make_code(guarded, "--token-days", "90"), "rot")
    first, second = new_token(), new_token()
    assert rotate_over_rest(guarded, old, first).status == 200
    assert rotate_over_rest(guarded, old, first).status == 200  # a lost answer
    assert rotate_over_rest(guarded, old, second).status == 200  # another attempt: `first` is over
    assert guarded.get("/api/v1/token", headers=bearer(first[0])).status == 401
    assert guarded.get("/api/v1/token", headers=bearer(old)).status == 200
    said = guarded.get("/api/v1/token", headers=bearer(second[0])).json()
    assert (said["host"], said["scopes"]) == ("rot", ["ingest"]) and said["expires"]
    wait_until("the old one is over", lambda: guarded.get("/api/v1/token", headers=bearer(old)).status == 401)
    assert guarded.get("/api/v1/token", headers=bearer(second[0])).status == 200


def test_rotate_command_under_a_running_daemon(guarded, tmp_path):
    conf = tmp_path / "agent.conf"
    out = agent("enroll", "--server", f"http://{guarded.address}", "--code", make_code(guarded), "--host", "rotd",
                "--config", str(conf))
    assert out.returncode == 0, out.stderr
    samples = "select samples from rigstat.ingest_stream join rigstat.host h using (host_id) where h.name = 'rotd'"
    with running(Agent(tmp_path, "--config", str(conf), "--policy", "other", "--interval", "200ms", "--no-shares",
                       "--no-io", "--no-locks", "--blame", "off")) as a:
        wait_until("records", lambda: guarded.sql(samples))
        before = (tmp_path / "identity" / "token").read_text()
        assert agent("rotate", "--config", str(conf)).returncode == 0
        after = (tmp_path / "identity" / "token").read_text()
        assert after != before and mode(tmp_path / "identity" / "token") == 0o600
        old = guarded.sql(samples)
        wait_until("more records", lambda: guarded.sql(samples) != old)
        wait_until("the old token is over",
                   lambda: guarded.get("/api/v1/token", headers=bearer(before.strip())).status == 401)
        a.stop()
    assert "HTTP 401" not in a.text()


def test_daemon_renews_a_token_that_ends(guarded, tmp_path):
    conf = tmp_path / "agent.conf"
    out = agent("enroll", "--server", f"http://{guarded.address}", "--code",
                make_code(guarded, "--token-days", "1"), "--host", "renewed", "--config", str(conf))
    assert out.returncode == 0 and "renews it" in out.stdout, out.stderr
    before = (tmp_path / "identity" / "token").read_text()
    guarded.sql(f"update rigstat.token set created_at = now() - interval '1 day', expires_at = now() + interval '1 h'"
                f" where token_id = '{before[3:11]}'")
    with running(Agent(tmp_path, "--config", str(conf), "--policy", "other", "--interval", "200ms", "--no-shares",
                       "--no-io", "--no-locks", "--blame", "off")) as a:
        a.wait_text("the token was renewed")
        a.stop()
    after = (tmp_path / "identity" / "token").read_text()
    assert after != before
    left = guarded.sql(f"select expires_at - now() > interval '24 h' from rigstat.token where token_id = '{after[3:11]}'")
    assert left == [["t"]]


# ---- the end of a token, everywhere ----

def test_A12_revoked_on_two_servers_also_while_waiting(make_server, tmp_path):
    """A12: within 30 s; by notification it is at once. A long poll ends with 401 and takes nothing."""
    first = make_server()
    admin = make_token(first, "admin")
    first.start()
    _, box = enroll(first, make_code(first), "waiting")
    second = make_server(["--database", f"host={first.socket_dir} user=rigstat dbname=rigstat"],
                         embedded=False).start()
    ident = box[3:11]
    poll = "/api/v1/assignments/next?host=waiting&wait=30"
    for server in (first, second):
        assert server.get("/api/v1/token", headers=bearer(box)).status == 200
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(s.get, poll, headers=bearer(box), timeout=60) for s in (first, second)]
        time.sleep(1)
        assert not any(w.done() for w in waiting)
        began = time.monotonic()
        assert first.request("DELETE", "/api/v1/tokens/" + ident, headers=bearer(admin)).status == 204
        assert [w.result().status for w in waiting] == [401, 401]
        assert time.monotonic() - began < 10
    for server in (first, second):
        assert server.get("/api/v1/token", headers=bearer(box)).status == 401
    batch = rec.recgen(tmp_path / "r", seconds=1, host="waiting")
    assert rec.post(second, "b" * 32, batch, host="waiting", Authorization="Bearer " + box).status in (401, 429)
