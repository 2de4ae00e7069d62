# SPDX-License-Identifier: GPL-2.0-or-later
"""Start, stop, kill -9, a second server, migrations."""
import os
import subprocess
import time

from conftest import SERVER, wait_until


def run(*args):
    return subprocess.run([str(SERVER), *args], capture_output=True, text=True, timeout=60,
                          check=False)


def postgres_of(server):
    """Process ids of all PostgreSQL processes of this server's cluster."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd")
            comm = open(f"/proc/{pid}/comm", encoding="ascii").read()
        except OSError:
            continue
        if comm.startswith("postgres") and cwd == str(server.data / "data"):
            found.append(int(pid))
    return found


def test_starts_answers_and_stops_clean(server):
    assert server.get("/healthz").json()["status"] == "ok"
    assert server.get("/readyz").status == 200
    assert server.metrics()['rigstat_db_connections{pool="query"}'] >= 1
    assert postgres_of(server)
    assert server.stop() == 0
    wait_until("PostgreSQL is gone", lambda: not postgres_of(server))


def test_second_start_keeps_data(make_server):
    server = make_server().start()
    server.sql("insert into rigstat.host (name) values ('kept')")
    assert server.stop() == 0
    server.start()
    assert server.sql("select name from rigstat.host") == [["kept"]]


def test_kill_leaves_no_orphan_and_restarts(make_server):
    server = make_server().start()
    server.sql("insert into rigstat.host (name) values ('kept')")
    server.kill()
    # At once: the old PostgreSQL may still be shutting down.
    server.start()
    assert server.sql("select name from rigstat.host") == [["kept"]]
    server.kill()
    wait_until("PostgreSQL has ended with its server", lambda: not postgres_of(server))


def test_second_server_on_the_directory_is_refused(server):
    out = run("serve", "--embedded", str(server.data), "--listen", "127.0.0.1:0")
    assert out.returncode == 4
    assert "--database" in out.stderr and "another rigstat-server" in out.stderr
    assert server.get("/readyz").status == 200


def test_postgres_comes_back_when_it_dies(server):
    postmaster = int((server.data / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, 9)
    wait_until("not ready", lambda: server.get("/readyz").status == 503)
    wait_until("ready again", lambda: server.get("/readyz").status == 200, 60)


def test_port_in_use(server):
    other = run("check", "--embedded", str(server.data))
    assert other.returncode == 4
    out = run("serve", "--database", f"host={server.socket_dir} user=rigstat dbname=rigstat",
              "--listen", server.address)
    assert out.returncode != 0 and "another program has this port" in out.stderr


def test_migrations(server):
    conninfo = f"host={server.socket_dir} user=rigstat dbname=fresh"
    server.sql("create database fresh")
    out = run("serve", "--database", conninfo, "--listen", "127.0.0.1:0")
    assert out.returncode == 3 and "rigstat-server migrate" in out.stderr
    # Two at once: the lock makes one wait, and both succeed.
    both = [subprocess.Popen([str(SERVER), "migrate", "--database", conninfo],
                             stderr=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for process in both:
        assert process.wait(60) == 0, process.stderr.read()
        process.stdout.close()
        process.stderr.close()
    assert run("check", "--database", conninfo).returncode == 0
    subprocess.run(["psql", "-Xq", conninfo, "-c",
                    "insert into rigstat.schema_version (version, name) values (999, 'later')"],
                   check=True)
    for command in ("migrate", "check", "serve"):
        out = run(command, "--database", conninfo)
        assert out.returncode == 3 and "schema 999" in out.stderr, out.stderr


def test_long_directory(make_server):
    """A directory whose socket path would not fit into 107 bytes."""
    server = make_server()
    deep = server.dir / ("d" * 60) / ("e" * 60)
    deep.parent.mkdir()
    server.data.rename(deep)
    server.data = deep
    server.start()
    assert len(server.socket_dir) < 90
    assert server.sql("select 1") == [["1"]]


def test_wrong_use():
    for args in ((), ("serve",), ("nonsense", "--embedded", "/tmp/x"),
                 ("serve", "--embedded", "/tmp/x", "--database", "host=y"),
                 ("serve", "--embedded", "/tmp/x", "--reuse-port"),
                 ("serve", "--database", "host=/nowhere", "--log-level", "loud")):
        assert run(*args).returncode == 3, args
    assert run("--version").stdout.startswith("rigstat-server ")
    assert "--embedded" in run("--help").stdout


def test_foreign_directory_is_refused(tmp_path):
    (tmp_path / "precious").write_text("x")
    out = run("migrate", "--embedded", str(tmp_path))
    assert out.returncode == 3 and "other files" in out.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["precious"]


def test_unreachable_database_is_not_the_end(server):
    """Queries fail with 503, and the server recovers by itself when PostgreSQL returns."""
    server.sql("select pg_terminate_backend(pid) from pg_stat_activity"
               " where application_name = 'rigstat-server'")
    wait_until("reconnected", lambda: server.get("/readyz").status == 200)
    started = time.monotonic()
    assert server.get("/healthz").status == 200
    assert time.monotonic() - started < 2
