# SPDX-License-Identifier: GPL-2.0-or-later
"""Tokens, enrolment codes, boxes that enrol, and servers with TLS, for tests."""
import hashlib
import http.client
import json
import secrets
import ssl
import string
import subprocess

from agentlib import binary
from conftest import SERVER, Reply, wait_until


def bearer(token):
    return {"Authorization": "Bearer " + token}


def database_of(server):
    if server.embedded:
        return ["--embedded", str(server.data)]
    return server.args[server.args.index("--database"):][:2]


def admin_command(server, *args):
    """rigstat-server token, enroll-code ...: what it prints."""
    out = subprocess.run([str(SERVER), *args, *database_of(server)], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


def make_token(server, scopes, host=None):
    """A token; one for ingest is for all hosts unless it names one."""
    args = ["token", "--name", "test", "--scopes", scopes]
    if host:
        args += ["--host", host]
    elif "ingest" in scopes:
        args += ["--any-host"]
    return admin_command(server, *args)


def make_code(server, *args):
    return admin_command(server, "enroll-code", *args)


def new_token():
    """(text, id, digest) as a box makes it."""
    ident = "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(8))
    secret = secrets.token_urlsafe(32)
    assert len(secret) == 43
    return f"rs_{ident}_{secret}", ident, hashlib.sha256(secret.encode()).hexdigest()


def enroll(server, code, host="box1", machine=None, token=None):
    """POST /enroll; the answer and the text of the token."""
    text, ident, digest = token or new_token()
    body = {"code": code, "host": host, "token_id": ident, "token_sha256": digest, "machine": machine}
    reply = server.request("POST", "/api/v1/enroll", body=json.dumps(body),
                           headers={"Content-Type": "application/json"})
    return reply, text


def agent(*args, stdin="", prefix=()):
    """rigstat-agent to its end."""
    return subprocess.run([*prefix, binary("rigstat-agent"), *args], capture_output=True, text=True, check=False,
                          input=stdin, timeout=60)


def certificate(directory, name, ip="127.0.0.1"):
    """(certificate, key), self-signed."""
    cert, key = directory / f"{name}.pem", directory / f"{name}.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", f"/CN={name}", "-addext",
                    f"subjectAltName=IP:{ip}"], check=True, capture_output=True)
    return cert, key


def start_tls(server, cert, key):
    """Starts a server whose request() and get() speak TLS, without looking at the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def request(method, path, body=None, headers=None, timeout=30):
        connection = http.client.HTTPSConnection(server.address, timeout=timeout, context=context)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return Reply(connection.getresponse())
        finally:
            connection.close()

    server.request = request
    server.args = ["--tls-cert", str(cert), "--tls-key", str(key)]
    offset = server.log_path.stat().st_size if server.log_path.exists() else 0
    server.start(ready=False)
    wait_until("listening", lambda: server._read_address(offset), 60)
    wait_until("ready", lambda: server.get("/readyz").status == 200, 30)
    return server
