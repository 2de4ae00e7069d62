# SPDX-License-Identifier: GPL-2.0-or-later
"""A throwaway rigstat-server for each test: private PostgreSQL, free port, private directory.

The programs are those of $RIGSTAT_BUILD (default: build-test, the sanitizer build). The log of each
server is shown when its test fails, and a sanitizer report fails the test."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RIGSTAT_BUILD", ROOT / "build-test"))
SERVER = BUILD / "server" / "rigstat-server"
RECGEN = BUILD / "tests" / "tools" / "recgen"


def wait_until(what, condition, timeout=20.0):
    """Polls until condition() is true and returns its value; fails with `what`."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(0.05)


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = dict(response.getheaders())
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


class Server:
    """One rigstat-server process; start() after stop() or kill() uses the same data."""

    def __init__(self, directory, args=None, listen="127.0.0.1:0", embedded=True, prefix=(),
                 token=None):
        self.dir = pathlib.Path(directory)
        self.data = self.dir / "db"
        self.log_path = self.dir / "server.log"
        self.args = list(args or [])
        self.listen = listen
        self.embedded = embedded
        self.prefix = list(prefix)  # a command that runs it, such as ip netns exec NAME
        self.token = token
        self.process = None
        self.address = None
        self.reports = []

    def start(self, ready=True):
        options = ["--embedded", str(self.data)] if self.embedded else []
        env = dict(os.environ, ASAN_OPTIONS="detect_leaks=1:exitcode=99")
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, str(SERVER), "serve", "--listen", self.listen, *options, *self.args],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
        if ready:
            wait_until("the server listens", lambda: self._read_address(offset), 60)
            wait_until("the server is ready", lambda: self.get("/readyz").status == 200, 30)
        return self

    def _read_address(self, offset):
        with open(self.log_path, "rb") as log:
            log.seek(offset)
            text = log.read().decode(errors="replace")
        assert self.process.poll() is None, "the server ended:\n" + text
        found = re.search(r"listening on https?://(\S+)", text)
        self.address = found.group(1) if found else None
        return self.address

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def stop(self):
        """In order; returns the exit status."""
        if self.process is None:
            return 0
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(40)
        self.process = None
        return status

    def kill(self):
        self.process.kill()
        self.process.wait(10)
        self.process = None

    def request(self, method, path, body=None, headers=None, timeout=30):
        connection = http.client.HTTPConnection(self.address, timeout=timeout)
        headers = {"Authorization": f"Bearer {self.token}", **(headers or {})} if self.token \
            else headers or {}
        try:
            connection.request(method, path, body=body, headers=headers)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **kw):
        return self.request("GET", path, **kw)

    def metrics(self):
        lines = self.get("/metrics").body.decode().splitlines()
        return {k: float(v) for k, v in (l.rsplit(" ", 1) for l in lines if l[0] != "#")}

    @property
    def socket_dir(self):
        """Where the private PostgreSQL listens."""
        args = (self.data / "data" / "postmaster.opts").read_text()
        return re.search(r'unix_socket_directories=([^"]+)"', args).group(1)

    def sql(self, text):
        """Rows of a query as lists of texts."""
        out = subprocess.run(
            ["psql", "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-h", self.socket_dir, "-U",
             "rigstat", "-d", "rigstat", "-c", text],
            capture_output=True, text=True, check=False)
        assert out.returncode == 0, out.stderr
        return [line.split("\x1f") for line in out.stdout.splitlines()]


@pytest.fixture(scope="session")
def template():
    """A cluster with the schema, made once: copying is faster than initdb."""
    directory = tempfile.mkdtemp(prefix="rigstat-it-")
    os.chmod(directory, 0o755)
    data = pathlib.Path(directory) / "db"
    out = subprocess.run([str(SERVER), "migrate", "--embedded", str(data)], capture_output=True,
                         text=True, check=False)
    assert out.returncode == 0, out.stderr
    yield data
    shutil.rmtree(directory)


def _maker(template, made, directories):
    def make(args=None, **kw):
        directory = tempfile.mkdtemp(prefix="rigstat-it-")
        directories.append(directory)
        os.chmod(directory, 0o755)
        server = Server(directory, args, **kw)
        if server.embedded:
            subprocess.run(["cp", "-a", str(template), str(server.data)], check=True)
        made.append(server)
        return server

    return make


def _finish(made, directories, show):
    """Stops all; what was wrong with them. Sanitizer reports end in the exit status."""
    problems = []
    for server in made:
        if server.process is not None and server.process.poll() is None:
            status = server.stop()
            if status != 0:
                problems.append(f"exit status {status}")
        elif server.process is not None:
            problems.append(f"the server ended by itself with {server.process.returncode}")
        log = server.log()
        if "Sanitizer" in log or "runtime error:" in log or "failed: " in log and "CHECK" in log:
            problems.append("a sanitizer report in the log")
        if problems or show:
            print(f"--- log of {server.dir} ---\n{log}")
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
    return problems


@pytest.fixture
def make_server(template, request):
    """make_server(args=[...]) -> a Server that is not started yet."""
    made, directories = [], []
    yield _maker(template, made, directories)
    problems = _finish(made, directories, getattr(request.node, "failed", False))
    assert not problems, problems


@pytest.fixture
def server(make_server):
    return make_server().start()


@pytest.fixture(scope="module")
def shared_server(template):
    """One server for all tests of a module that only look, or bring names of their own."""
    made, directories = [], []
    yield _maker(template, made, directories)().start()
    problems = _finish(made, directories, False)
    assert not problems, problems


@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call" and outcome.get_result().failed:
        item.failed = True
