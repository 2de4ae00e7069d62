# SPDX-License-Identifier: GPL-2.0-or-later
"""The schema and the statements of sql/queries against it."""
import pathlib
import subprocess
import time

import pytest

from conftest import ROOT

QUERIES = sorted((ROOT / "sql" / "queries").glob("*.sql"))


def test_every_query_prepares(server):
    script = "".join(f"prepare {q.stem} as\n{q.read_text()}\n;\n" for q in QUERIES)
    out = subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", server.socket_dir, "-U", "rigstat",
                          "-d", "rigstat", "-f", "-"], input=script, text=True, capture_output=True,
                         check=False)
    assert out.returncode == 0, out.stderr
    assert len(QUERIES) > 20


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: q.stem)
def test_query_is_one_documented_statement(query):
    text = query.read_text()
    assert text.startswith("--"), "the first line says what it does"
    body = "\n".join(l for l in text.splitlines() if not l.lstrip().startswith("--")).rstrip()
    assert ";" not in body.rstrip(";"), "one statement"


def test_every_table_has_a_comment(server):
    assert server.sql("select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
                      " where n.nspname = 'rigstat' and c.relkind in ('r', 'p') and not c.relispartition"
                      " and obj_description(c.oid) is null") == []


def test_histogram_parts_must_make_the_count(server):
    server.sql("insert into rigstat.host (name) values ('h')")
    server.sql("insert into rigstat.run (host_id, run_uid, kind, state) select host_id, gen_random_uuid(),"
               " 'measured', 'ok' from rigstat.host")
    good = ("insert into rigstat.run_total (host_id, run_id, series_no, bucketed, overflow, negative, count, d)"
            " select host_id, run_id, 1, 5, 1, 2, %d, '' from rigstat.run")
    with pytest.raises(AssertionError, match="hist_parts"):
        server.sql(good % 9)
    server.sql(good % 8)


def test_partitions_are_made_ahead(server):
    count = "select count(*) from pg_inherits where inhparent = 'rigstat.%s'::regclass"
    for table in ("record_staging", "chunk", "hist_chunk"):
        assert int(server.sql(count % table)[0][0]) >= 8
    server.sql("select rigstat.make_partitions(10)")
    assert server.sql("select rigstat.make_partitions(10)") == [["0"]]


def test_migrations_are_numbered():
    names = sorted(p.name for p in pathlib.Path(ROOT / "sql" / "migrations").glob("*.sql"))
    numbers = [int(n[:4]) for n in names]
    assert numbers == sorted(set(numbers)) and numbers[0] == 1


def old_partition(server, table, days):
    """A partition of so many days ago; its name."""
    return server.sql(
        f"do $$ declare d date := (now() at time zone 'UTC')::date - {days}; begin execute format("
        f"'create table rigstat.{table}_%s partition of rigstat.{table} for values from (%L) to (%L)',"
        "to_char(d, 'YYYYMMDD'), d::timestamp at time zone 'UTC', (d + 1)::timestamp at time zone 'UTC'); end $$;"
        f"select '{table}_' || to_char((now() at time zone 'UTC')::date - {days}, 'YYYYMMDD')")[-1][0]


def retain(server, *days):
    """Until nothing is due; how many calls did something."""
    calls = 0
    while int(server.sql(f"select rigstat.retain({', '.join(map(str, days))})")[-1][0]):
        calls += 1
    return calls


def test_retention_drops_only_what_it_may(server):
    exists = lambda name: server.sql(f"select to_regclass('rigstat.{name}') is not null") == [["t"]]
    time.sleep(3)  # the server does the same a second after its start, then every ten minutes
    empty, full = old_partition(server, "record_staging", 8), old_partition(server, "record_staging", 9)
    chunk, fresh = old_partition(server, "chunk", 40), old_partition(server, "chunk", 20)
    # In one transaction, so that the compactor does not take the row.
    kept = server.sql(
        "begin; insert into rigstat.record_staging (host_id, stream_id, run_no, first_seq, last_seq, first_ns, last_ns,"
        " samples, run_end, records, received_at) values (1, gen_random_uuid(), 1, 1, 1, 1, 1, 1, false, '',"
        " now() - interval '9 days'); select rigstat.retain(0, 0, 0, 0);"
        f" select to_regclass('rigstat.{empty}') is null, to_regclass('rigstat.{full}') is not null; rollback")
    assert kept[-1] == ["t", "t"]
    server.sql("insert into rigstat.host (name) values ('h')")
    server.sql("insert into rigstat.run (host_id, run_uid, kind, state, created_at) select host_id, gen_random_uuid(),"
               " k, 'ok', now() - interval '40 days' from rigstat.host, unnest(array['watch', 'measured']) k")
    retain(server, 0, 0, 0, 0)
    assert exists(chunk) and not exists(empty)
    assert server.sql("select count(*) from rigstat.run") == [["2"]]
    retain(server, 30, 0, 30, 0)
    assert not exists(chunk) and exists(fresh)
    assert server.sql("select kind from rigstat.run") == [["measured"]]


def old_run(server, kind, days, pinned):
    """A run with a chunk, intervals and a minute, received so many days ago; its id."""
    run = server.sql(
        "insert into rigstat.run (host_id, run_uid, kind, state, created_at) select max(host_id), gen_random_uuid(),"
        f" '{kind}', 'ok', now() - interval '{days} days' from rigstat.host returning run_id")[0][0]
    for table, value in (("chunk", "(host_id, run_id, series_no, t0_ns, dt_ns, phase, n, vmin, vmax, vsum, received_at, v)"
                          " select host_id, run_id, 1, 1, 1, 2, 1, 1, 1, 1"),
                         ("hist_chunk", "(host_id, run_id, series_no, t0_ns, dt_ns, phase, n, count, received_at, d)"
                          " select host_id, run_id, 1, 1, 1, 2, 1, 1")):
        server.sql(f"insert into rigstat.{table} {value}, now() - interval '{days} days', 'x' from rigstat.run"
                   f" where run_id = {run}")
    server.sql("insert into rigstat.hist_minute (host_id, run_id, series_no, minute_ns, phase, bucketed, overflow,"
               f" negative, count, lost, d) select host_id, run_id, 1, 0, 2, 1, 0, 0, 1, 0, 'x' from rigstat.run"
               f" where run_id = {run}")
    if pinned:
        server.sql("insert into rigstat.pin (slug, params, document, method, run_ids)"
                   f" values ('P{run}', '{{}}', '{{}}', 1, array[{run}])")
    return run


def test_retention_spares_the_runs_of_a_pinned_comparison(server):
    time.sleep(3)
    for table in ("chunk", "hist_chunk"):
        old_partition(server, table, 40)
    server.sql("insert into rigstat.host (name) values ('h')")
    runs = {(kind, pin): old_run(server, kind, 40, pin) for kind in ("watch", "measured") for pin in (True, False)}
    left = lambda table: {r[0] for r in server.sql(f"select run_id from rigstat.{table}")}
    pinned = {run for (_, pin), run in runs.items() if pin}

    due = server.sql("select what, name, rows from rigstat.retention_due(30, 30, 30, 30)")
    assert {d[0] for d in due} == {"samples", "minutes", "watch", "runs"} and ["runs", "1 runs", "1"] in due
    assert left("chunk") == set(runs.values()), "a dry run drops nothing"

    retain(server, 30, 0, 0, 0)
    assert left("chunk") == left("hist_chunk") == pinned
    assert server.sql("select count(*) from rigstat.day_partition where age = 40") == [["0"]]
    assert left("hist_minute") == left("run") == set(runs.values()), "minutes and runs have ages of their own"
    notes = server.sql(f"select notes from rigstat.run where run_id = {runs['measured', False]}")[0][0]
    assert "single intervals were dropped by age" in notes, "what is gone is said"

    retain(server, 30, 30, 0, 0)
    assert left("hist_minute") == pinned and left("run") == set(runs.values())
    retain(server, 30, 30, 30, 30)
    assert left("run") == pinned
    server.sql("delete from rigstat.pin")
    retain(server, 30, 30, 30, 30)
    assert left("run") == left("chunk") == left("hist_chunk") == set()


def test_a_partition_in_use_waits_and_the_rest_goes_on(server):
    time.sleep(3)
    first, second = old_partition(server, "chunk", 41), old_partition(server, "chunk", 40)
    holder = subprocess.Popen(
        ["psql", "-XAtq", "-h", server.socket_dir, "-U", "rigstat", "-d", "rigstat", "-c",
         f"begin; lock table rigstat.{first} in access share mode; select pg_sleep(8)"], stdout=subprocess.DEVNULL)
    time.sleep(1)
    assert server.sql("select rigstat.retain(30, 0, 0, 0)") == [["1"]]
    gone = lambda name: server.sql(f"select to_regclass('rigstat.{name}') is null") == [["t"]]
    assert gone(second) and not gone(first)
    assert holder.wait(20) == 0
    assert retain(server, 30, 0, 0, 0) == 1 and gone(first)


def test_forecast_of_size(server):
    rows = {r[0]: r[1:] for r in server.sql("select * from rigstat.storage_forecast(30, 0, 0)")}
    assert set(rows) == {"samples", "minutes", "runs"} and rows["samples"][2] == "30"
