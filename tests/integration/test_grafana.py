# SPDX-License-Identifier: GPL-2.0-or-later
"""The schema grafana, and the dashboards: every query of every panel is executed as Grafana would send it."""
import json
import re
import subprocess

import pytest
import yaml

import records as rec
from apilib import api, value_run  # noqa: F401 (fixture)
from conftest import ROOT
from test_compact import START, STREAM, all_packed, post_all
from test_track import settled

FOLDER = ROOT / "packaging/grafana"
BOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
FROM, TO = "2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"


def as_reader(server, sql):
    """Rows of a query of the read-only role."""
    out = subprocess.run(["psql", "-XAtq", "-F", "\x1f", "-v", "ON_ERROR_STOP=1", "-h", server.socket_dir, "-U", "rigstat",
                          "-d", "rigstat", "-c", "set role rigstat_grafana", "-c", sql],
                         capture_output=True, text=True, check=False)
    assert out.returncode == 0, (sql, out.stderr)
    return [line.split("\x1f") for line in out.stdout.splitlines()]


@pytest.fixture(scope="module")
def lab(api, tmp_path_factory):
    """A box that measured for some minutes, and a history with a step."""
    path = tmp_path_factory.mktemp("rec") / "records"
    post_all(api.server, STREAM, rec.recgen(path, seconds=140, warmup=9, breaches=5, start_ns=START))
    all_packed(api.server)
    runs = [value_run(i, experiment="nightly", host="box1", value=(100 if i < 20 else 120) + i % 3 * .1,
                      tags={"commit": f"c{i}", "branch": "main"}) for i in range(40)]
    api.send("POST", "/runs", {"runs": runs}, 201)
    api.send("POST", "/annotations", {"text": "power cut", "from": "2026-11-01T03:00:00Z", "tags": ["lab"]}, 201)
    settled(api.server)
    return api.server


def test_the_reader_sees_the_views_and_nothing_else(lab):
    views = [r[0] for r in lab.sql("select table_name from information_schema.views where table_schema = 'grafana'")]
    assert set(views) == {"hosts", "runs", "run_quantiles", "series", "changes", "annotations"}
    for view in views:
        assert as_reader(lab, f"select * from grafana.{view} limit 1"), view
    for bad in ("select * from rigstat.token", "select * from rigstat.run", "delete from rigstat.run",
                "create table grafana.x (i int)"):
        with pytest.raises(AssertionError, match="permission denied"):
            as_reader(lab, bad)


def test_views_say_what_the_api_says(lab, api):
    change = api.get("/changes")["items"][0]
    row = as_reader(lab, "select change, host, metric, direction, from_version, to_version, round(rel::numeric, 1)"
                         " from grafana.changes")
    assert row == [[change["id"], "box1", "elapsed", "worse", "c19", "c20", "0.2"]]
    texts = {r[0]: r[1] for r in as_reader(lab, "select text, coalesce(host, '-') from grafana.annotations")}
    assert texts["power cut"] == "-" and texts["elapsed value 20.0 %"] == "box1"
    assert as_reader(lab, "select count(*), min(version), max(value) from grafana.series where metric = 'elapsed'") \
        == [["40", "c0", "120.2"]]


def test_heat_map_counts_every_sample_once(lab):
    minutes = lab.sql("select sum(bucketed), count(distinct minute_ns) from rigstat.hist_minute")[0]
    long = as_reader(lab, f"select sum(count), count(distinct time) from grafana.heatmap_long('box1', 'wakeup_latency',"
                          f" '{FROM}', '{TO}', '1 minute')")[0]
    assert long == minutes
    wide = as_reader(lab, f"select to_jsonb(x) - 'time' from grafana.heatmap_wide('box1', 'wakeup_latency', '{FROM}',"
                          f" '{TO}', '1 minute') x")
    rows = [json.loads(r[0]) for r in wide]
    assert len(rows) == int(minutes[1])
    assert sum(n for row in rows for n in row.values() if n) == int(minutes[0])
    columns = [r[0] for r in lab.sql("select unnest(proargnames[6:]) from pg_proc where proname = 'heatmap_wide'")][1:]
    assert [int(c) for c in columns[:-1]] == sorted(int(c) for c in columns[:-1]) and columns[-1] == "inf"


def test_packed_histograms_decode_in_sql_as_everywhere(lab):
    for (d,) in lab.sql("select encode(d, 'hex') from rigstat.hist_minute limit 20"):
        hist = rec.Hist.read(bytes.fromhex(d))
        want = {rec.slot_edges(s): n for s, n in hist.buckets.items()}
        got = {(int(lo), int(hi)): int(n) for lo, hi, n in
               lab.sql(f"select * from rigstat.hist_buckets(decode('{d}', 'hex'))")}
        assert got == want


def variables(board, server):
    """A value for each variable, by its own query, as Grafana fills them."""
    values = {}
    for v in board["templating"]["list"]:
        if v["type"] == "query":
            rows = as_reader(server, v["query"])
            assert rows, v["name"]
            wanted = {"host": "box1", "metric": "elapsed", "stat": "value"}[v["name"]]
            names = [r[0] for r in rows]
            values[v["name"]] = wanted if wanted in names else names[0]
        else:
            values[v["name"]] = v["query"]
    return values


def expand(sql, values):
    """The macros of Grafana's PostgreSQL data source."""
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 between '{FROM}' and '{TO}'", sql)
    sql = sql.replace("$__timeFrom()", f"'{FROM}'").replace("$__timeTo()", f"'{TO}'").replace("$__interval", "1h")
    for name, value in values.items():
        sql = sql.replace(f"${name}", value)
    assert "$" not in sql, sql
    return sql


@pytest.mark.parametrize("path", BOARDS, ids=lambda p: p.stem)
def test_every_query_of_a_dashboard_runs(lab, path):
    board = json.loads(path.read_text())
    values = variables(board, lab)
    assert board["uid"] == f"rigstat-{path.stem}" and board["title"].startswith("rigstat")
    ids = [p["id"] for p in board["panels"]]
    assert len(ids) == len(set(ids)) >= 3
    for panel in board["panels"]:
        assert panel["datasource"]["uid"] == "rigstat"
        for target in panel["targets"]:
            rows = as_reader(lab, expand(target["rawSql"], values))
            assert rows, f"{panel['title']}: nothing to show"
            if target["format"] == "time_series":
                columns = lab.sql(f"select * from ({expand(target['rawSql'], values)}) x limit 0") == []
                assert columns and "time" in target["rawSql"]
    for a in board["annotations"]["list"]:
        assert as_reader(lab, expand(a["rawQuery"], values))


def test_dashboards_link_to_pages_of_the_server(lab):
    routes = (ROOT / "server/routes.c").read_text()
    for path in BOARDS:
        for url in re.findall(r'"url": "\$\{base\}([^"]+)"', path.read_text()):
            page = "/" + url.split("/")[1] + "/{"
            assert page in routes, url


def test_provisioning_files_name_what_there_is(lab):
    source = yaml.safe_load((FOLDER / "provisioning/datasources/rigstat.yaml").read_text())["datasources"][0]
    assert source["type"] == "postgres" and source["uid"] == "rigstat"
    assert lab.sql(f"select 1 from pg_roles where rolname = '{source['user']}'") == [["1"]]
    boards = yaml.safe_load((FOLDER / "provisioning/dashboards/rigstat.yaml").read_text())["providers"][0]
    assert boards["type"] == "file" and boards["options"]["path"]
