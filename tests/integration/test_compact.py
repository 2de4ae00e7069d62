# SPDX-License-Identifier: GPL-2.0-or-later
"""The compactor against an independent recomputation from the records themselves."""
import hashlib
import json
import math

import pytest

import records as rec
from conftest import wait_until

STREAM = "0123456789abcdef0123456789abcdef"
MINUTE = 60_000_000_000
START = 1_700_000_017_000_000_000  # 17 s into a minute


def post_all(server, stream, records, size=7, host="box1"):
    for at in range(0, len(records), size):
        answer = rec.post(server, stream, records[at:at + size], host=host)
        assert answer.status == 200, answer.body


def all_packed(server):
    wait_until("everything is packed", lambda: server.sql(
        "select count(*) from rigstat.record_staging") == [["0"]], 60)


class Expected:
    """What the records of one run say, computed here."""

    def __init__(self, records):
        self.total, self.minutes, self.intervals, self.counters = {}, {}, {}, {}
        self.breaches, self.value, phase = 0, None, 0
        for record in records:
            for kind, data in record.items():
                r = rec.Reader(data)
                if kind == rec.PHASE:
                    phase = data[0]
                elif kind == rec.HIST:
                    series, t0, dt = r.varint(), r.zigzag(), r.varint()
                    raw = r.rest()
                    hist = rec.Hist.read(raw)
                    self.intervals.setdefault(series, []).append((phase, t0, dt, raw))
                    key = (series, t0 // MINUTE * MINUTE, phase)
                    self.minutes.setdefault(key, rec.Hist()).add(hist)
                    if phase == 2:
                        self.total.setdefault(series, rec.Hist()).add(hist)
                elif kind == rec.COUNTER:
                    series, t0, dt, n = r.varint(), r.zigzag(), r.varint(), r.varint()
                    delta = enabled = 0
                    for i in range(n):
                        delta += r.zigzag()
                        enabled += r.zigzag()
                        running = enabled - r.zigzag()
                        self.counters.setdefault(series, []).append(
                            (phase, t0 + i * dt, dt, delta, enabled, running))
                elif kind == rec.BREACH:
                    self.breaches += 1
                elif kind == rec.VALUE:
                    import struct
                    self.value = struct.unpack("<d", data[-8:])[0]


def stored_intervals(server, run_id):
    """hist_chunk decoded: {series: [(phase, t0, dt, bytes)]}."""
    out = {}
    for series, t0, dt, phase, n, count, d in server.sql(
            "select series_no, t0_ns, dt_ns, phase, n, count, encode(d, 'hex') from rigstat.hist_chunk"
            f" where run_id = {run_id} order by series_no, phase, t0_ns"):
        r, t, step, seen = rec.Reader(bytes.fromhex(d)), int(t0), int(dt), 0
        for _ in range(int(n)):
            t += r.zigzag()
            step += r.zigzag()
            raw = r.take(r.varint())
            seen += rec.Hist.read(raw).count
            out.setdefault(int(series), []).append((int(phase), t, step, raw))
            t += step
        assert not r.left() and seen == int(count)
    return out


def stored_samples(server, run_id):
    """chunk decoded: {series: [(phase, t0, dt, delta, enabled, running)]}; checks the headers."""
    out = {}
    for series, t0, dt, phase, n, vmin, vmax, vsum, v in server.sql(
            "select series_no, t0_ns, dt_ns, phase, n, vmin, vmax, vsum, encode(v, 'hex')"
            f" from rigstat.chunk where run_id = {run_id} order by series_no, phase, t0_ns"):
        r, t, step, delta, enabled = rec.Reader(bytes.fromhex(v)), int(t0), int(dt), 0, 0
        flags, rates = r.take(1)[0], []
        for _ in range(int(n)):
            if not flags & 1:
                t += r.zigzag()
                step += r.zigzag()
            delta += r.zigzag()
            enabled = step if flags & 2 else enabled + r.zigzag()
            running = enabled if flags & 4 else enabled - r.zigzag()
            rates.append(delta * enabled / running / (step / 1e9))
            out.setdefault(int(series), []).append((int(phase), t, step, delta, enabled, running))
            t += step
        assert not r.left()
        assert math.isclose(float(vmin), min(rates)) and math.isclose(float(vmax), max(rates))
        assert math.isclose(float(vsum), sum(rates))
    return out


def check_run(server, run_id, expected):
    """Every table of one run against the records."""
    assert stored_intervals(server, run_id) == expected.intervals
    assert stored_samples(server, run_id) == expected.counters
    minutes = {(int(s), int(t), int(p)): (int(c), int(b), rec.Hist.read(bytes.fromhex(d)))
               for s, t, p, c, b, d in server.sql(
                   "select series_no, minute_ns, phase, count, bucketed, encode(d, 'hex')"
                   f" from rigstat.hist_minute where run_id = {run_id}")}
    assert minutes.keys() == expected.minutes.keys()
    for key, (count, bucketed, hist) in minutes.items():
        assert vars(hist) == vars(expected.minutes[key])
        assert count == bucketed == hist.count
    totals = {int(s): rec.Hist.read(bytes.fromhex(d)) for s, d in server.sql(
        f"select series_no, encode(d, 'hex') from rigstat.run_total where run_id = {run_id}"
        " and d is not null")}
    assert {s: vars(h) for s, h in totals.items()} == {s: vars(h) for s, h in expected.total.items()}
    check_values(server, run_id, expected)
    assert server.sql(f"select count(*), max(breach_no) from rigstat.breach where run_id = {run_id}") \
        == [[str(expected.breaches), str(expected.breaches or "")]]


def check_values(server, run_id, expected):
    values = {(m, int(s), stat): (float(v or "nan"), lo, hi) for m, s, stat, v, lo, hi in server.sql(
        "select m.name, v.series_no, v.stat, v.value, v.lo, v.hi from rigstat.run_value v"
        f" join rigstat.metric m using (metric_id) where run_id = {run_id}")}
    merged = rec.Hist()
    for hist in expected.total.values():
        merged.add(hist)
    for series, hist in [(0, merged), *expected.total.items()]:
        get = lambda stat: values["wakeup_latency", series, stat]
        assert get("count")[0] == hist.count
        assert (get("min")[0], get("max")[0]) == (hist.min, hist.max)
        assert math.isclose(get("mean")[0], hist.sum / hist.count)
        for stat, q in (("p50", .5), ("p90", .9), ("p99", .99), ("p99.9", .999)):
            lo, hi = hist.quantile(q)
            assert get(stat) == (lo, str(lo), str(hi)), (series, stat)
    rates = 0.0
    for series, samples in expected.counters.items():
        measured = [s for s in samples if s[0] == 2]
        scaled = [d * e / r for _, _, _, d, e, r in measured]
        seconds = sum(s[2] for s in measured) / 1e9
        rate = sum(scaled) / seconds
        rates += rate
        assert math.isclose(values["context_switches", series, "rate"][0], rate)
        assert math.isclose(values["context_switches", series, "total"][0], sum(scaled))
        share = sum(s[5] for s in measured) / sum(s[4] for s in measured)
        assert math.isclose(values["context_switches", series, "running_share"][0], share)
    assert math.isclose(values["context_switches", 0, "rate"][0], rates)
    assert values["bandwidth", 0, "value"][0] == expected.value


def runs_of(records):
    return {run: [r for r in records if r.run == run] for run in sorted({r.run for r in records})}


def test_equals_a_recomputation(server, tmp_path):
    """Two runs of 140 s over several minutes, in small posts with a pause for partial passes."""
    records = rec.recgen(tmp_path / "r", runs=2, seconds=140, warmup=9, breaches=5, start_ns=START)
    half = len(records) * 2 // 3
    post_all(server, STREAM, records[:half])
    wait_until("a pass was made", lambda: server.metrics()["rigstat_compact_passes_total"] >= 2)
    post_all(server, STREAM, records[half:])
    all_packed(server)
    found = server.sql("select run_id, run_no, state, kind, order_no, block_no, factors::text, samples, lost,"
                       " missed, breaches, window_end, measured_ns, notes::text, workload::text"
                       " from rigstat.run order by run_no")
    assert len(found) == 2
    for row, (run, recs) in zip(found, runs_of(records).items()):
        assert row[1:6] == [str(run), "ok", "measured", str(run), "1"]
        assert json.loads(row[6]) == {"rq_affinity": str(run - 1)}
        assert int(row[7]) == sum(r.samples for r in recs)
        assert row[8:13] == ["2", "3", "5", "duration", str(140 * 10**9)]
        assert json.loads(row[13]) == [{"code": "no-fifo", "text": "no real-time priority"}]
        assert json.loads(row[14])["exit_status"] == 0 and json.loads(row[14])["argv"] == ["true"]
        check_run(server, row[0], Expected(recs))
    assert server.sql("select name, design ->> 'order' from rigstat.experiment") == [["rq", "alternating"]]
    assert server.sql("select facts ->> 'cpu.model' from rigstat.environment e join rigstat.run r"
                      " on r.environment_sha256 = e.sha256") == [["Test CPU"]] * 2
    # The name is the SHA-256 of the bytes that the agent sent, computed here from them.
    sent = b'{"cpu.model":"Test CPU","kernel.release":"6.1.0-test","memory.bytes":1024}'
    assert server.sql("select encode(sha256, 'hex') from rigstat.environment") == [[hashlib.sha256(sent).hexdigest()]]
    # Rows are packed: the open ones were written again, longer.
    assert server.sql("select max(n) from rigstat.hist_chunk") == [["60"]]
    assert server.sql("select max(n) from rigstat.chunk") == [["140"]]
    assert server.metrics()["rigstat_compact_failed_total"] == 0


def test_kill_at_any_time_packs_once(make_server, tmp_path):
    """kill -9 of the server in the middle of passes: nothing is lost or doubled."""
    records = rec.recgen(tmp_path / "r", runs=2, seconds=70, start_ns=START)
    server = make_server().start()
    for at in range(0, len(records), 9):
        assert rec.post(server, STREAM, records[at:at + 9]).status == 200
        if at % 45 == 36:
            server.kill()
            server.start()
    all_packed(server)
    for (run_id, run_no), in [[r] for r in server.sql("select run_id, run_no from rigstat.run")]:
        check_run(server, run_id, Expected(runs_of(records)[int(run_no)]))


def test_two_servers_pack_once(make_server, tmp_path):
    """Two servers on one database compete for the same runs."""
    first = make_server().start()
    conninfo = f"host={first.socket_dir} user=rigstat dbname=rigstat"
    second = make_server(["--database", conninfo], embedded=False).start()
    streams = {i: rec.recgen(tmp_path / f"r{i}", host=f"box{i}", seed=i + 1, seconds=40, start_ns=START)
               for i in range(4)}
    for i, records in streams.items():
        for at in range(0, len(records), 5):
            server = (first, second)[at // 5 % 2]
            assert rec.post(server, f"{i:032x}", records[at:at + 5], host=f"box{i}").status == 200
    all_packed(first)
    for name, run_id in first.sql("select h.name, r.run_id from rigstat.run r join rigstat.host h using (host_id)"):
        check_run(first, run_id, Expected(streams[int(name[3:])]))
    assert second.stop() == 0


def test_a_running_run_can_be_seen(server, tmp_path):
    """Before its end: listed as running, with totals of the closed part."""
    records = rec.recgen(tmp_path / "r", seconds=100, no_end=True, start_ns=START)
    post_all(server, STREAM, records[:3])
    wait_until("the run is listed", lambda: server.sql("select state from rigstat.run") == [["running"]])
    post_all(server, STREAM, records[3:])
    wait_until("totals of a closed minute", lambda: server.sql(
        "select count(*) from rigstat.run_value where stat = 'p99' and series_no = 0") == [["1"]])
    assert server.sql("select state, phase from rigstat.run") == [["running", "2"]]


def test_a_running_run_is_judged_by_what_it_measured_so_far(server, tmp_path):
    """A gate of one side sees it; its hours are those of the packed records, after the warm-up."""
    records = rec.recgen(tmp_path / "r", seconds=100, warmup=10, no_end=True, start_ns=START)
    post_all(server, STREAM, records)
    wait_until("packed", lambda: server.sql("select count(*) from rigstat.run_total") != [["0"]])
    ask = "/api/v1/compare?a=host%3Dbox1&gate=over(1ns)%3C%3D1/h&metric=wakeup_latency"
    reply = server.get(ask)
    assert reply.status == 200 and reply.headers["X-Gate"] == "fail", reply.body
    side = reply.json()["b"]
    assert reply.json()["a"] is None and side["n"] == 1
    assert side["runs"][0]["notes"][-1]["code"] == "running"
    assert abs(side["measured_h"] * 3600 - 100) <= 1
    # Not without a gate, and a running run is no side of a comparison.
    assert server.get(ask.split("&gate")[0]).status == 400
    both = server.get(ask + "&b=host%3Dbox1").json()
    assert both["a"]["n"] == 0 == both["b"]["n"]


def test_a_watch_run_is_measured_from_its_start(server, tmp_path):
    records = rec.recgen(tmp_path / "r", seconds=5, warmup=0, watch=True, start_ns=START)
    post_all(server, STREAM, records)
    all_packed(server)
    assert server.sql("select kind, state, experiment_id is null from rigstat.run") == [["watch", "ok", "t"]]


def test_a_crash_ends_the_run_on_the_next_stream(server, tmp_path):
    """The agent died: the old stream has no end; the next one says `aborted` by the run's uid."""
    records = rec.recgen(tmp_path / "r", seconds=20, no_end=True, start_ns=START)
    post_all(server, STREAM, records)
    wait_until("listed", lambda: server.sql("select state from rigstat.run") == [["running"]])
    uid = server.sql("select replace(run_uid::text, '-', '') from rigstat.run")[0][0]
    end = {"run_uid": uid, "state": "aborted", "reason": "the agent ended before the run did",
           "window_end": "stopped", "ended_ns": START + 10**9, "missed": {}, "lost": 0, "marks": []}
    gap = {"stream": STREAM, "from_seq": len(records) + 1, "to_seq": len(records) + 1,
           "reason": "unclean_end", "text": "ended"}
    items = [(rec.GAP, json.dumps(gap).encode()), (rec.RUN_END, json.dumps(end).encode())]
    assert rec.post(server, "f" * 32, [rec.make(1, 1, items)]).status == 200
    all_packed(server)
    assert server.sql("select state, reason, last_seq from rigstat.run") == \
        [["aborted", "the agent ended before the run did", str(len(records))]]
    # What was measured before the crash is there.
    run_id = server.sql("select run_id from rigstat.run")[0][0]
    assert stored_intervals(server, run_id) == Expected(records).intervals


def test_a_gap_is_shown_at_its_run(server, tmp_path):
    records = rec.recgen(tmp_path / "r", seconds=20, start_ns=START)
    post_all(server, STREAM, records[:5])
    declared = [rec.gap(STREAM, 6, 6, 8, samples=4000)] + records[8:]
    assert rec.post(server, STREAM, declared, X_Rigstat_First="6").status == 200
    all_packed(server)
    gap_samples, notes = server.sql("select gap_samples, notes::text from rigstat.run")[0]
    assert gap_samples == "4000"
    texts = [n["text"] for n in json.loads(notes) if n["code"] == "gap"]
    assert texts == ["records 6 to 8 are missing (4000 samples, quota): dropped"]


def test_the_end_says_what_counters_rest_on(server, tmp_path):
    """`states` of RUN_END: a doubtful number, one with a reason only, and one that never was a number."""
    records = rec.recgen(tmp_path / "r", seconds=20, start_ns=START)
    counters = [no for r in records for kind, data in r.items() if kind == rec.SERIES
                for no in [rec.Reader(data).varint()] if b'"counter"' in data]
    cycles = 120
    declared = rec.varint(cycles) + json.dumps({"metric": "cycles", "kind": "counter", "unit": "1",
                                                "labels": {"scope": "workload"}}).encode()
    items = []
    for kind, data in records[-1].items():
        if kind == rec.RUN_END:
            end = json.loads(data)
            end["states"] = {str(counters[0]): {"state": "doubtful", "reason": "scaled; 60 % of the time"},
                             str(counters[1]): {"reason": "1 of 20 intervals has no number"},
                             str(cycles): {"reason": "not-counted: never on a counter"},
                             "x": {"reason": "no series"}, "5000": {"state": "wrong"}, "7": 3}
            items.append((rec.SERIES, declared))
            data = json.dumps(end).encode()
        items.append((kind, data))
    last = rec.make(records[-1].seq, records[-1].run, items)
    post_all(server, STREAM, records[:-1] + [last])
    all_packed(server)
    run = server.get("/api/v1/runs").json()["items"][0]["id"]
    series = server.get(f"/api/v1/runs/{run}").json()["series"]
    switches = [(s["state"], s["reason"]) for s in series if s["metric"] == "context_switches" and s["labels"]]
    assert ("doubtful", "scaled; 60 % of the time") in switches
    assert ("exact", "1 of 20 intervals has no number") in switches
    (never,) = [s for s in series if s["metric"] == "cycles"]
    assert never["kind"] == "absent" and never["value"] is None
    assert never["reason"] == "not-counted: never on a counter" and never["labels"] == {"scope": "workload"}
    # The sum over the series is as sure as the least sure of them.
    assert server.sql("select s.state from rigstat.series s join rigstat.metric m using (metric_id)"
                      " where m.name = 'context_switches' order by 1 limit 1") == [["doubtful"]]


def test_late_records_add_to_the_minute(server, tmp_path):
    """The box's clock was set back in the run: a minute that is stored already grows."""
    records = rec.recgen(tmp_path / "r", seconds=80, start_ns=START)
    again = rec.recgen(tmp_path / "s", seconds=80, seed=1, first_run=0, first_seq=len(records) + 1,
                       start_ns=START)
    open_run = records[:-1]
    post_all(server, STREAM, open_run)
    wait_until("minutes are stored", lambda: server.sql(
        "select count(*) > 0 from rigstat.hist_minute") == [["t"]])
    # The same times once more, numbered on: only HIST items, then the end.
    late, seq = [], len(open_run)
    for r in again[3:30]:
        items = [(k, d) for k, d in r.items() if k == rec.HIST]
        if items:
            seq += 1
            late.append(rec.make(seq, 1, items, r.realtime_ns))
    seq += 1
    late.append(rec.make(seq, 1, list(records[-1].items()), records[-1].realtime_ns))
    post_all(server, STREAM, late)
    all_packed(server)
    expected = Expected(open_run + late)
    run_id = server.sql("select run_id from rigstat.run")[0][0]
    got = {(int(s), int(t), int(p)): vars(rec.Hist.read(bytes.fromhex(d))) for s, t, p, d in server.sql(
        "select series_no, minute_ns, phase, encode(d, 'hex') from rigstat.hist_minute"
        f" where run_id = {run_id}")}
    assert got == {k: vars(h) for k, h in expected.minutes.items()}
    check_values(server, run_id, expected)


@pytest.mark.parametrize("days", [-3650, 3650])
def test_a_wrong_clock_does_not_break_ingest(server, tmp_path, days):
    records = rec.recgen(tmp_path / "r", seconds=3, start_ns=START + days * 86400 * 10**9)
    post_all(server, STREAM, records)
    all_packed(server)
    assert server.sql("select state from rigstat.run") == [["ok"]]
