# SPDX-License-Identifier: GPL-2.0-or-later
"""docker-compose.yml for real: images built from Debian's own packages, everything started, looked at,
hurt, and taken away. The test starts a dockerd of its own; containers run in a network namespace.

Needs root, network, and some minutes. RIGSTAT_COMPOSE_DIR keeps the images between runs."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPOSE = os.environ.get("RIGSTAT_COMPOSE", "docker-compose").split()
SERVICES = ["db", "server", "agent1", "agent2"]
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for dockerd")


def wait_until(what, condition, timeout):
    end = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(1)
    return value


class Docker:
    """dockerd with all of its files in one directory."""

    def __init__(self, directory):
        self.dir = directory
        self.socket = directory / "docker.sock"
        self.env = dict(os.environ, DOCKER_HOST=f"unix://{self.socket}", COMPOSE_PROJECT_NAME="rigstat-test",
                        RIGSTAT_SECRETS=str(directory / "secrets"), DOCKER_BUILDKIT="0", COMPOSE_DOCKER_CLI_BUILD="0")
        self.process = self.netns = None

    def start(self, *options, prefix=()):
        log = open(self.dir / "dockerd.log", "ab")
        self.process = subprocess.Popen(
            [*prefix, "dockerd", "--data-root", self.dir / "data", "--exec-root", self.dir / "exec", "-p",
             self.dir / "pid", "-H", f"unix://{self.socket}", "--storage-driver", "overlay2", *options],
            stdout=log, stderr=log)
        wait_until("dockerd answers", lambda: self.run("docker", "version", check=False).returncode == 0, 60)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
            self.process = None
        subprocess.run(["umount", str(self.dir / "exec/netns/default")], check=False, stderr=subprocess.DEVNULL)

    def run(self, *words, check=True, timeout=1800, **kw):
        out = subprocess.run([str(w) for w in words], env=self.env, cwd=ROOT, capture_output=True, text=True,
                             timeout=timeout, check=False, **kw)
        assert not check or out.returncode == 0, f"{words}:\n{out.stdout[-3000:]}\n{out.stderr[-3000:]}"
        return out

    def compose(self, *words, **kw):
        return self.run(*COMPOSE, "--profile", "demo", *words, **kw)

    def container(self, service):
        return self.compose("ps", "-q", service).stdout.strip()

    def inspect(self, service):
        return json.loads(self.run("docker", "inspect", self.container(service)).stdout)[0]

    def health(self, service):
        return self.inspect(service)["State"]["Health"]["Status"]


def import_base(docker):
    """debian:bookworm-slim, as debootstrap makes it from the machine's own mirror."""
    if docker.run("docker", "image", "inspect", "debian:bookworm-slim", check=False).returncode == 0:
        return
    sources = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
    text = sources.read_text() if sources.exists() else pathlib.Path("/etc/apt/sources.list").read_text()
    mirror = re.search(r"(https?://\S+)", re.sub(r"(?m)^#.*$", "", text))[1]
    root = docker.dir / "rootfs"
    subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", root, mirror],
                   check=True, stdout=subprocess.DEVNULL)
    if sources.exists():  # security updates too
        (root / "etc/apt/sources.list").unlink()
        shutil.copy(sources, root / "etc/apt/sources.list.d/")
    tar = subprocess.Popen(["tar", "-C", root, "--exclude=./dev/*", "-c", "."], stdout=subprocess.PIPE)
    docker.run("docker", "import", "--change", 'CMD ["bash"]', "-", "debian:bookworm-slim", stdin=tar.stdout)
    assert tar.wait() == 0
    shutil.rmtree(root)


@pytest.fixture(scope="module")
def docker():
    keep = os.environ.get("RIGSTAT_COMPOSE_DIR")
    directory = pathlib.Path(keep or tempfile.mkdtemp(prefix="rigstat-compose-"))
    directory.mkdir(exist_ok=True)
    it = Docker(directory)
    name = f"rigstat-compose-{os.getpid()}"
    try:
        it.start("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false")
        import_base(it)
        subprocess.run([ROOT / "packaging/compose/secrets", directory / "secrets"], check=True)
        it.compose("build")
        it.stop()
        subprocess.run(["ip", "netns", "add", name], check=True)
        subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
        it.netns = ["nsenter", f"--net=/run/netns/{name}"]
        it.start(prefix=it.netns)
        yield it
        it.compose("down", "-v", check=False)
    finally:
        it.stop()
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)


def get(docker, path):
    """From where the ports are published: inside the namespace."""
    out = docker.run(*docker.netns, "curl", "-sS", "-m", "10", f"http://127.0.0.1:8420{path}", check=False)
    return out.stdout if out.returncode == 0 else ""


def runs(docker, host):
    text = get(docker, f"/api/v1/runs?q=kind%3Dwatch,host%3D{host}")
    return json.loads(text)["items"] if text.startswith("{") else []


def marks(docker):
    """{host: samples} as the database has them."""
    out = docker.compose("exec", "-T", "db", "sh", "-c",
                         "PGPASSWORD=$(cat /run/secrets/db_password) exec psql -XAtq -h /tmp -U rigstat -d rigstat -c '"
                         "select name, sum(samples)::bigint from rigstat.ingest_stream join rigstat.host "
                         "using (host_id) group by 1'", check=False)
    return dict((n, int(v)) for n, v in (line.split("|") for line in out.stdout.split()))


def grows(docker, host, timeout=240):
    before = marks(docker).get(host, 0)
    wait_until(f"{host} delivers", lambda: marks(docker).get(host, 0) > before + 1000, timeout)


def test_up_and_healthy(docker):
    docker.compose("up", "-d", "--no-build")
    for service in SERVICES:
        wait_until(f"{service} is healthy", lambda s=service: docker.health(s) == "healthy", 180)
    print(docker.compose("ps").stdout)
    for host in ("demo1", "demo2"):
        wait_until(f"a run of {host}", lambda h=host: runs(docker, h), 60)
        grows(docker, host)
    assert "<html" in get(docker, "/").lower()


def test_contained(docker):
    """Not root, nothing writable but what is named, no rights, no secret in the environment."""
    for service in SERVICES:
        it = docker.inspect(service)
        host = it["HostConfig"]
        assert host["ReadonlyRootfs"] and host["CapDrop"] == ["ALL"] and not host["Privileged"], service
        assert "no-new-privileges:true" in host["SecurityOpt"]
        assert it["Config"]["Image"] == f"rigstat-{service.rstrip('12')}:local"
        uid = docker.compose("exec", "-T", service, "id", "-u").stdout.strip()
        assert uid not in ("", "0"), service
        assert docker.compose("exec", "-T", service, "touch", "/usr/x", check=False).returncode != 0
        status = docker.compose("exec", "-T", service, "cat", "/proc/1/status").stdout
        assert re.search(r"CapEff:\s+0+$", status, re.M) and re.search(r"NoNewPrivs:\s+1", status)
        for secret in ("db_password", "token"):
            text = (docker.dir / "secrets" / secret).read_text().strip()
            assert text not in json.dumps(it), f"{secret} is in what docker inspect shows of {service}"


def test_published_on_loopback_only(docker):
    ports = docker.inspect("server")["NetworkSettings"]["Ports"]["8420/tcp"]
    assert [p["HostIp"] for p in ports] == ["127.0.0.1"]
    assert not any((docker.inspect(s)["NetworkSettings"]["Ports"] or {}).get("5432/tcp") for s in SERVICES)
    # An agent does not reach the database: it is on the other network.
    out = docker.compose("exec", "-T", "agent1", "getent", "hosts", "db", check=False)
    assert out.returncode != 0, "the agent resolves db"
    assert docker.compose("exec", "-T", "agent1", "getent", "hosts", "server").stdout


def test_database_restarts(docker):
    """Nothing that was stored is lost, and delivery goes on by itself."""
    before = marks(docker)
    assert set(before) == {"demo1", "demo2"}
    docker.compose("stop", "db")
    time.sleep(5)
    assert docker.compose("exec", "-T", "server", "bash", "/usr/local/bin/healthy.sh", check=False).returncode != 0
    docker.compose("start", "db")
    wait_until("the server is ready", lambda: '"ready"' in get(docker, "/readyz"), 60)
    assert all(marks(docker)[h] >= n for h, n in before.items())
    for host in before:
        grows(docker, host)


def test_killed_server_comes_back(docker):
    restarts = docker.inspect("server")["RestartCount"]
    os.kill(docker.inspect("server")["State"]["Pid"], 9)
    wait_until("restarted", lambda: docker.inspect("server")["RestartCount"] > restarts, 30)
    wait_until("ready", lambda: '"ready"' in get(docker, "/readyz"), 60)
    for host in ("demo1", "demo2"):
        grows(docker, host)


def test_down_leaves_nothing(docker):
    docker.compose("down", "-v")
    assert "rigstat-test" not in docker.run("docker", "ps", "-a").stdout and not docker.run("docker", "volume", "ls", "-q").stdout
