# SPDX-License-Identifier: GPL-2.0-or-later
"""A host's latency over a range of time: every sample is in one cell, whatever the grid."""
import gzip
import json

import pytest

from conftest import wait_until
from test_live import send_run


@pytest.fixture(scope="module")
def filled(shared_server, tmp_path_factory):
    """Two runs of box1 and one of box2; {host: samples of all phases}."""
    tmp = tmp_path_factory.mktemp("heat")
    for n, host in ((1, "box1"), (2, "box1"), (3, "box2")):
        send_run(shared_server, tmp, host, n)
    wait_until("all is packed", lambda: shared_server.sql(
        "select count(*) from rigstat.run where state = 'ok'") == [["3"]] and shared_server.sql(
        "select count(*) from rigstat.record_staging") == [["0"]])
    return shared_server, {h: int(n) for h, n in shared_server.sql(
        "select h.name, sum(t.count) from rigstat.hist_minute t join rigstat.host h using (host_id) "
        "join rigstat.series s using (host_id, run_id, series_no) join rigstat.metric m using (metric_id) "
        "where m.name = 'wakeup_latency' group by 1")}


def ask(server, query="", host="box1", **kw):
    return server.get(f"/api/v1/hosts/{host}/heatmap/wakeup_latency?{query}", **kw)


def span(server):
    """A range that holds all runs, as from and to."""
    ((lo, hi),) = server.sql("select to_char(to_timestamp(min(t0_ns) / 1000000000) at time zone 'UTC', "
                             "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), to_char(to_timestamp(max(t0_ns) / 1000000000 + 60) "
                             "at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') from rigstat.hist_chunk")
    return f"from={lo}&to={hi}"


@pytest.mark.parametrize("grid", ["", "&width=1&height=1", "&width=3600&height=200", "&width=7&height=13"])
def test_every_sample_is_in_one_cell(filled, grid):
    server, samples = filled
    assert set(samples) == {"box1", "box2"}
    for host, n in samples.items():
        doc = ask(server, span(server) + grid, host).json()
        assert doc["source"] == ("minutes" if "width=1&" in grid else "intervals")
        columns = len(doc["t"])
        assert columns and all(len(doc[k]) == columns for k in ("count", "lost", "overflow", "p50", "p99", "max", "counts"))
        assert len(doc["edges"]) == len(doc["counts"][0]) + 1 and doc["edges"] == sorted(doc["edges"])
        for i, row in enumerate(doc["counts"]):
            assert sum(row) + doc["overflow"][i] == doc["count"][i]
            assert doc["edges"][0] <= doc["max"][i] <= doc["edges"][-1]
        if doc["source"] == "intervals":
            assert sum(doc["count"]) == n
        assert doc["unit"] == "ns"


def test_halves_make_the_whole(filled):
    server, samples = filled
    lo, hi = (x.split("=")[1] for x in span(server).split("&"))
    whole = ask(server, f"from={lo}&to={hi}&width=600").json()
    begin, end = (int(server.sql(f"select extract(epoch from '{x}'::timestamptz)::bigint")[0][0]) for x in (lo, hi))
    cut = server.sql(f"select to_char(to_timestamp({(begin + end) // 2}) at time zone 'UTC', "
                     "'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')")[0][0]
    halves = [ask(server, f"from={a}&to={b}&width=300").json() for a, b in ((lo, cut), (cut, hi))]
    assert sum(sum(h["count"]) for h in halves) == sum(whole["count"]) == samples["box1"]


def test_one_series_gzip_and_nothing(filled):
    server, samples = filled
    one = ask(server, span(server) + "&labels=cpu=0").json()
    assert 0 < sum(one["count"]) < samples["box1"] and one["labels"] == {"cpu": "0"}
    packed = ask(server, span(server), headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(packed.body)) == ask(server, span(server)).json()
    empty = ask(server, "from=2001-01-01&to=2001-01-02").json()
    assert empty["t"] == [] and empty["edges"] == [] and empty["source"] == "minutes"


@pytest.mark.parametrize("query", ["width=0", "width=3601", "height=201", "from=2026-12-02&to=2026-12-01",
                                   "labels=cpu~0", "from=yesterday", "colour=red"])
def test_what_is_refused(filled, query):
    assert ask(filled[0], query).status == 400
