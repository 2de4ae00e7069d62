#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes readings.json: the right reading of every sample file.

It reads the samples by itself, knows nothing of rigstat and shares no code with it. What INDEX.md
states is asserted here, so that this script and the index cannot drift apart. Times are ns.
Quantiles are nearest rank, as the interval of values that a bucket allows, cut by the extremes.
"""
import base64
import collections
import csv
import gzip
import io
import json
import math
import pathlib
import re
import struct
import zlib

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent
OUT = []


def text(name):
    raw = (DATA / name).read_bytes()
    return (gzip.decompress(raw) if name.endswith(".gz") else raw).decode("utf-8", "replace")


def quantile(buckets, overflow, overflow_lo, lo, hi, q, negative=0):
    """buckets: sorted [(lo, hi_exclusive, n)]"""
    count = sum(n for _, _, n in buckets) + overflow + negative
    if q < 1 and count * (1 - q) < 1 - 1e-6:
        return "not resolvable"
    rank = max(1, math.ceil(q * count - 1e-9))
    if rank == 1 and lo is not None and not negative:
        return [lo, lo]  # the smallest sample is the minimum
    if rank == count and hi is not None:
        return [hi, hi]
    below = negative
    for a, b, n in buckets:
        below += n
        if rank <= below:
            first, last = a, b - 1
            if lo is not None:
                first = max(first, lo)
            if hi is not None:
                last = min(last, hi)
            return [first, last]
    if hi is not None and hi == overflow_lo:
        return [hi, hi]
    return ">=%d" % max(overflow_lo, lo or 0)


def hist(metric, buckets, overflow=0, overflow_lo=0, lo=None, hi=None, qs=(0.5, 0.99), negative=0,
         labels=None, **more):
    count = sum(n for _, _, n in buckets) + overflow + negative
    d = {"metric": metric, "kind": "hist", "count": count, "overflow": overflow}
    if overflow:
        d["overflow_lo"] = overflow_lo
    if negative:
        d["negative"] = negative
    if labels:
        d["labels"] = labels
    d["min"], d["max"] = lo, hi
    d["q"] = {str(q): quantile(buckets, overflow, overflow_lo, lo, hi, q, negative) for q in qs}
    d.update(more)
    return d


def entry(file, **more):
    OUT.append({"file": file, **more})


def refuse(file, error, **more):
    entry(file, error=error, **more)


# ---- the posts of 2004 and 2008 ----

LKML = {"desktop-64": (100, 24), "iozone-64": (161, 26), "iozone-32": (132, 27), "iozone-16": (101, 32)}
for name, (top, p99) in LKML.items():
    rows = [tuple(map(int, line.split())) for line in
            text("wakeup-delay-2004/%s.txt" % name).splitlines()[2:] if line.strip()]
    assert sum(n for _, n in rows) == 10400 and rows[-1][0] == top
    buckets = [(us * 1000, us * 1000 + 1000, n) for us, n in rows]
    s = hist("wakeup_latency", buckets, qs=(0.5, 0.99, 0.999), resolution=1000, omission="unknown")
    assert s["q"]["0.99"][0] == p99 * 1000
    entry("wakeup-delay-2004/%s.txt" % name, format="delay-count", runs=1, series=[s],
          notes=["inferred-unit"])

rows = list(csv.DictReader(io.StringIO(text("rq-affinity-2008/summary.csv"))))
entry("rq-affinity-2008/summary.csv", format="summary-csv", runs=2,
      factors=[{"rq_affinity": "0"}, {"rq_affinity": "1"}], notes=["summary-only"],
      series=[{"run": int(r["level"]), "metric": r["metric"], "kind": "summary", "unit": "%",
               "summary": {"n": 10, **{k: float(r[k]) for k in ("min", "avg", "max", "sdev")}}}
              for r in rows])

for name in ("aa-abba-drift", "aa-sequential-drift", "ab-abba-drift"):
    rows = list(csv.DictReader(io.StringIO(text("compare/synth-%s.csv" % name))))
    entry("compare/synth-%s.csv" % name, format="csv", runs=len(rows),
          factors=[{"arm": r["arm"]} for r in rows],
          series=[{"run": i, "metric": "value", "kind": "value", "value": float(r["value"])}
                  for i, r in enumerate(rows)], notes=[])
rows = list(csv.DictReader(io.StringIO(text("compare/synth-series-step-spikes.csv"))))
entry("compare/synth-series-step-spikes.csv", format="csv", runs=len(rows),
      series=[{"run": 51, "metric": "value", "value": float(rows[51]["value"])}])

# ---- cyclictest, text ----


def cyclictest_text(name):
    """Columns of {us: n}, and the footers."""
    columns, foot = None, {}
    for line in text(name).splitlines():
        if line.startswith("# ") and ":" in line:
            key, rest = line[2:].split(":", 1)
            foot.setdefault(key, [int(w) for w in rest.split() if w.isdigit()])
        elif line[:6].isdigit():
            k, *counts = [int(w) for w in line.split()]
            columns = columns or [{} for _ in counts]
            for c, n in zip(columns, counts):
                if n:
                    c[k] = n
    return columns, foot


def cyclictest_series(name, edges, unit=1000, **more):
    columns, foot = cyclictest_text(name)
    out = []
    for t, lo in enumerate(foot["Min Latencies"]):
        buckets = [(k * unit, k * unit + unit, n) for k, n in sorted(columns[t].items())]
        over = foot["Histogram Overflows"][t]
        out.append(hist("wakeup_latency", buckets, over, edges * unit, lo * unit,
                        foot["Max Latencies"][t] * unit, (0.5, 0.99, 0.999),
                        labels={"thread": str(t)}, omission="skips_missed", resolution=unit, **more))
    return out


s = cyclictest_series("samples/latency/cyclictest24_hist.txt", 60)
assert [(x["count"], x["overflow"], x["min"], x["max"]) for x in s] == [
    (3000, 646, 15000, 3839000), (3000, 478, 17000, 4692000)]
assert s[0]["q"]["0.5"] == [42000, 42999] and s[0]["q"]["0.99"] == ">=60000"
entry("samples/latency/cyclictest24_hist.txt", format="cyclictest", runs=1, series=s,
      notes=["inferred-unit"])
s = cyclictest_series("samples/latency/ct_stop_hist.txt", 1000)
assert s[0]["count"] == 3000 and s[0]["overflow"] == 2 and s[0]["max"] == 203149000
assert [s[0]["q"][q][0] for q in ("0.5", "0.99", "0.999")] == [37000, 104000, 636000]
entry("samples/latency/ct_stop_hist.txt", format="cyclictest", runs=1, series=s, notes=["inferred-unit"])
s = cyclictest_series("samples/latency/ct_H.txt", 400)
columns, _ = cyclictest_text("samples/latency/ct_H.txt")
both = collections.Counter(columns[0]) + collections.Counter(columns[1])
merged = hist("wakeup_latency", [(k * 1000, k * 1000 + 1000, n) for k, n in sorted(both.items())], 1,
              400000, 16000, 1037000, (0.5, 0.999))
assert merged["count"] == 2000 and merged["q"]["0.999"][0] == 227000
entry("samples/latency/ct_H.txt", format="cyclictest", runs=1, series=s, merged=merged,
      notes=["inferred-unit"])
# Sparse rows: the edge is only known from -H100; without it, the end of the last row.
last = max(cyclictest_text("samples/latency/ct210_H_1thread.txt")[0][0])
s = cyclictest_series("samples/latency/ct210_H_1thread.txt", last + 1)
assert (s[0]["count"], s[0]["overflow"], s[0]["min"], s[0]["max"]) == (500, 27, 18000, 644000)
entry("samples/latency/ct210_H_1thread.txt", format="cyclictest", runs=1, series=s,
      notes=["inferred-unit", "inferred-overflow-edge"])
entry("samples/latency/ct210_H_1thread.txt", format="cyclictest", options={"overflow_lo_ns": 100000},
      series=cyclictest_series("samples/latency/ct210_H_1thread.txt", 100), notes=["inferred-unit"])
s = cyclictest_series("samples/latency/ct21_H_1thread.txt", 100)
assert (s[0]["count"], s[0]["overflow"], s[0]["min"], s[0]["max"]) == (500, 10, 26000, 719000)
entry("samples/latency/ct21_H_1thread.txt", format="cyclictest", series=s, notes=["inferred-unit"])
s = cyclictest_series("samples/latency/ct_nsec_hist.txt.gz", 200000, unit=1)
assert (s[0]["count"], s[0]["overflow"], s[0]["min"], s[0]["max"]) == (2000, 1, 13101, 241516)
entry("samples/latency/ct_nsec_hist.txt.gz", format="cyclictest", options={"unit_ns": 1}, series=s,
      notes=[])

# ---- rt-tests, JSON ----


def cyclictest_json(name, edge, unit=1000, interval=1000000, qs=(0.5, 0.99, 0.999)):
    out = []
    for t, th in json.loads(text(name))["thread"].items():
        bins = {int(k): n for k, n in th.get("histogram", {}).items()}
        labels = {"thread": t}
        if th["cpu"] >= 0:
            labels["cpu"] = str(th["cpu"])
        buckets = [(k * unit, k * unit + unit, n) for k, n in sorted(bins.items())]
        out.append(hist("wakeup_latency", buckets, th["cycles"] - sum(bins.values()), edge,
                        th["min"] * unit, th["max"] * unit, qs, labels=labels,
                        omission="skips_missed", interval=interval, resolution=unit))
    return out


for name, edge in (("cyclictest24", 60), ("ct_stop", 1000), ("ct21", 100), ("ct210", 100), ("ct_dist", 100)):
    s = cyclictest_json("samples/latency/%s.json" % name, edge * 1000)
    if name == "ct_dist":
        assert [x["count"] for x in s] == [2000, 1993]
    entry("samples/latency/%s.json" % name, format="rt-tests-json", runs=1, series=s, notes=[])
entry("samples/latency/ct_nsec.json", format="rt-tests-json", notes=[],
      series=cyclictest_json("samples/latency/ct_nsec.json", 200000, unit=1))
# Every sample overflowed, so there are no buckets.
s = cyclictest_json("samples/latency/ct210_allover.json", 1000, qs=(0.5,))
assert s[0]["overflow"] == 50 and s[0]["q"]["0.5"] == ">=22000"  # no sample is below the minimum
entry("samples/latency/ct210_allover.json", format="rt-tests-json", series=s, notes=[])
# Without -h only N, min and max are known: every quantile is in [min, max].
for name, lo in (("ct210_nohist", 17000), ("nohist", 30000)):
    s = cyclictest_json("samples/latency/%s.json" % name, lo, qs=(0.5,))
    assert s[0]["q"]["0.5"] == ">=%d" % lo
    entry("samples/latency/%s.json" % name, format="rt-tests-json", series=s, notes=["no-histogram"])
refuse("samples/latency/ct24_quote_in_cmdline.bad.json", ":3:")


def oslat(name, width, unit):
    out = []
    for t, th in json.loads(text(name))["thread"].items():
        keys = [(round(float(k) * 1000), n) for k, n in th["histogram"].items()]
        edge, over = keys.pop()  # the last key holds everything above, too
        out.append(hist("os_noise", [(k - width, k, n) for k, n in keys], over, edge - width,
                        th["min"] if unit == 1 else None, th["max"] * unit, (0.5, 0.999999),
                        labels={"cpu": str(th["cpu"])}, resolution=width))
    return out


s = oslat("samples/latency/oslat24.json", 1000, 1000)
assert [(x["count"], x["overflow"], x["max"]) for x in s] == [
    (25196856, 343, 40873000), (34960084, 1019, 56516000)]
entry("samples/latency/oslat24.json", format="rt-tests-json", series=s,
      notes=["last-bucket-is-overflow"] * 2)
entry("samples/latency/oslat210_W500.json", format="rt-tests-json",
      series=oslat("samples/latency/oslat210_W500.json", 500, 1),
      notes=["last-bucket-is-overflow", "mixed-units"])

# ---- jitterdebugger ----


def jd_results(name):
    out = []
    for t, c in json.loads(text(name))["cpu"].items():
        bins = {int(k): n for k, n in c["histogram"].items()}
        out.append(hist("wakeup_latency", [(k * 1000, k * 1000 + 1000, n) for k, n in sorted(bins.items())],
                        c["count"] - sum(bins.values()), 1000000, c["min"] * 1000, c["max"] * 1000,
                        labels={"thread": t}, omission="keeps_deadlines"))
    return out


def jd_raw(name):
    raw = (DATA / name).read_bytes()
    cpus = collections.defaultdict(collections.Counter)
    for i in range(0, len(raw), 28):
        cpu, sec, nsec, value = struct.unpack("<IqqQ", raw[i:i + 28])
        cpus[cpu][value] += 1
    return [hist("wakeup_latency", [(k * 1000, k * 1000 + 1000, n) for k, n in sorted(c.items())], 0, 0,
                 min(c) * 1000, max(c) * 1000, (0.5, 0.99, 0.999), labels={"cpu": str(cpu)},
                 omission="keeps_deadlines") for cpu, c in sorted(cpus.items())]


s = jd_results("samples/latency/jd_stop/results.json")
assert (s[0]["count"], s[0]["overflow"]) == (3000, 206)
entry("samples/latency/jd_stop/results.json", format="jitterdebugger", series=s, notes=["dropped-samples"])
s = jd_results("samples/latency/jd_run1/results.json")
assert [(x["count"], x["overflow"]) for x in s] == [(4927, 7), (4466, 12)]
entry("samples/latency/jd_run1/results.json", format="jitterdebugger", series=s,
      notes=["dropped-samples"] * 2)
s = jd_raw("samples/latency/jd_stop/samples.raw")
assert s[0]["count"] == 2999 and s[0]["max"] == 201328000
assert [s[0]["q"][q][0] for q in ("0.5", "0.99", "0.999")] == [31000, 173107000, 199385000]
entry("samples/latency/jd_stop/samples.raw", format="jitterdebugger-raw", series=s, notes=["inferred-unit"])
s = jd_raw("samples/latency/jd_run1/samples.raw")
assert sum(x["count"] for x in s) == 9389
entry("samples/latency/jd_run1/samples.raw", format="jitterdebugger-raw", series=s, notes=["inferred-unit"])
for d in ("jd_run1", "jd_stop"):
    # One number, which could be a run's value: the folder's reader must not ask for it.
    entry("samples/latency/%s/cpus_online" % d, format="columns", runs=1)
    refuse("samples/latency/%s/uname" % d, "not one that rigstat reads")
# The live line of the same run: N and the extremes, no distribution.
entry("samples/latency/jd_stop.txt", format="cyclictest-lines", notes=["inferred-unit", "no-histogram"], series=[
    hist("wakeup_latency", [], 3000, 11000, 11000, 201328000, (0.5,), labels={"thread": "0"},
         omission="keeps_deadlines")])

# ---- fio ----


def fio_edges(v):
    if v < 128:
        return v, v + 1
    shift = v.bit_length() - 7
    return v >> shift << shift, ((v >> shift) + 1) << shift


job = json.loads(text("samples/latency/fio-3.33-jsonplus.json"))["jobs"][0]["read"]
clat = job["clat_ns"]
buckets = [(*fio_edges(int(k)), n) for k, n in clat["bins"].items()]
s = hist("completion_latency", buckets, 0, 0, clat["min"], clat["max"], (0.5, 0.99, 0.999, 0.9999),
         labels={"op": "read"})
assert (s["count"], s["min"], s["max"]) == (91847, 43670, 28674708)
for q, middle in (("0.5", 234496), ("0.99", 4947968), ("0.999", 12779520), ("0.9999", 26869760)):
    lo, hi = fio_edges(middle)
    assert s["q"][q] == [lo, hi - 1], (q, s["q"][q], lo, hi)
entry("samples/latency/fio-3.33-jsonplus.json", format="fio-json", runs=1, notes=[], series=[
    s, {"metric": "iops", "kind": "value", "value": job["iops"]},
    {"metric": "throughput", "unit": "bytes/s", "value": job["bw_bytes"]},
    {"metric": "submit_latency_mean", "kind": "value", "unit": "ns", "value": job["slat_ns"]["mean"]},
    {"metric": "io_latency_max", "kind": "value", "unit": "ns", "value": job["lat_ns"]["max"]}])
counts = [0] * 1856
for line in text("samples/latency/fiohist_clat_hist.1.log").splitlines():
    for i, n in enumerate(line.split(",")[3:]):
        counts[i] += int(n)
index_lo = [i if i < 128 else (64 + i % 64) << (i // 64 - 1) for i in range(1857)]
buckets = [(index_lo[i], index_lo[i + 1], n) for i, n in enumerate(counts) if n]
entry("samples/latency/fiohist_clat_hist.1.log", format="fio-hist-log", notes=["last-interval-missing"],
      series=[hist("completion_latency", buckets, qs=(0.5, 0.99, 0.999), labels={"op": "read"})])

# ---- bpftrace ----

maps = {}
for line in text("samples/latency/bpftrace-0.17.jsonl").splitlines():
    event = json.loads(line) if line.strip() else {}
    if event.get("type") == "hist":
        maps.update(event["data"])
s = hist("usecs", [(b["min"] * 1000, (b["max"] + 1) * 1000, b["count"]) for b in maps["@usecs"]])
assert s["count"] == 8567 and s["q"]["0.5"] == [8000, 15999] and s["q"]["0.99"] == [8192000, 16383999]
lin = [(b["min"], b["max"] + 1, b["count"]) for b in maps["@lin"] if "max" in b]
s2 = hist("lin", lin, maps["@lin"][-1]["count"], 200)
assert s2["overflow"] == 1305 and s2["count"] == 8567 and s2["q"]["0.99"] == ">=200"
entry("samples/latency/bpftrace-0.17.jsonl", format="bpftrace-json", series=[
    {**s, "unit": "ns"}, {**s2, "unit": "1"}])
entry("samples/latency/bpftrace-0.17-text.txt", format="bpftrace", series=[
    {"metric": "n", "kind": "hist", "count": 18475, "negative": 18475, "unit": "1"},
    {"metric": "lin", "count": 14011 + 1271 + 451 + 283 + 204 + 167 + 120 + 93 + 83 + 54 + 1738,
     "overflow": 1738, "overflow_lo": 200, "q": {"0.5": [0, 19], "0.99": ">=200"}},
    {"metric": "usecs", "unit": "ns", "count": sum(
        (389, 4078, 6049, 2835, 1676, 778, 637, 439, 324, 296, 331, 392, 177, 51, 11, 12)),
     "q": {"0.5": [4000, 7999]}}])

# ---- stress-ng ----

rows, samples = [], 0
for line in text("samples/latency/stressng-cyclic.txt").splitlines():
    words = line.split("cyclic:")[-1].split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        rows.append((int(words[0]), int(words[0]) + 1000, int(words[1])))
shown = sum(n for _, _, n in rows)
assert shown == 7551
s = hist("wakeup_latency", rows, 7589 - shown, 250000, 17938, 8867128, (0.5, 0.99, 0.999))
assert s["q"]["0.5"][0] <= 39619 <= s["q"]["0.5"][1] and s["q"]["0.999"] == ">=250000"
entry("samples/latency/stressng-cyclic.txt", format="stress-ng-cyclic", series=[s],
      notes=["unprinted-buckets"])

# ---- perf stat ----

G = "samples/perf/guest-%s"
M = "samples/perf/made-%s"


def value(metric, v, unit="1", labels=None, state="exact", **more):
    d = {"metric": "perf:" + metric, "kind": "value", "value": v, "unit": unit, "state": state, **more}
    if labels:
        d["labels"] = labels
    return d


def absent(metric, reason, labels=None):
    d = {"metric": "perf:" + metric, "kind": "absent", "reason": reason}
    if labels:
        d["labels"] = labels
    return d


def stat(name, series, runs=1, **more):
    entry(name, format="perf-stat", runs=runs, series=series, **more)


def plain(metric, v, unit="ns", **more):
    return {"metric": metric, "kind": "value", "value": v, "unit": unit, **more}


def elapsed(seconds):
    n, mean = len(seconds), sum(seconds) / len(seconds)
    return {"metric": "elapsed", "kind": "summary", "summary": {
        "n": n, "min": min(seconds) * 1e9, "avg": mean * 1e9, "max": max(seconds) * 1e9,
        "sdev": math.sqrt(sum((x - mean) ** 2 for x in seconds) / (n - 1)) * 1e9}}


def repeated(metric, mean, error, n, unit="1"):
    """perf prints the relative standard error of the mean."""
    return {"metric": "perf:" + metric, "kind": "summary", "unit": unit,
            "summary": {"n": n, "avg": mean, "sdev": mean * error / 100 * math.sqrt(n), "min": None}}


NOT_SUPPORTED, NOT_COUNTED = "not supported", "not counted"

stat(G % "01-text.txt", [
    value("cycles", 8436231), value("instructions", 8436231), value("task-clock", 8.44e6, "ns"),
    value("page-faults", 36), value("context-switches", 0), absent("branches", NOT_SUPPORTED),
    plain("ipc", 1.0, "1"), plain("elapsed", 9738416), plain("user_time", 0), plain("sys_time", 10068000)])
stat(G % "02-csv.csv", [value("cycles", 8431881), value("task-clock", 8.44e6, "ns"),
                        value("context-switches", 0), plain("ipc", 1.0, "1")], notes=[])
stat(G % "03-csv-r.csv", [value("cycles", 8425930), value("task-clock", 8.43e6, "ns")],
     notes=["mean-of-repeats"] * 3)
cycles, insns = 505010131 + 501575780 + 202831259, 3811656 + 439866 + 813813
stat(G % "04-csv-a-I.csv", [value("cycles", cycles), value("instructions", insns),
                            value("cpu-clock", 505.01e6 + 501.58e6 + 202.83e6, "ns"),
                            plain("ipc", insns / cycles, "1")])
stat(G % "05-csv-percore.csv", [value("cycles", 302129500, labels={"core": "S0-D0-C0"}),
                                value("instructions", 2085027, labels={"core": "S0-D0-C1"})])
stat(G % "06-csv-percore-I.csv", [
    value("cycles", 251477313 + 251810150 + 108816421, labels={"core": "S0-D0-C0"}),
    value("instructions", 1905098 + 402755 + 460774, labels={"core": "S0-D0-C1"})])
stat(G % "07-csv-A-I.csv", [
    value("cycles", 251290779 + 250870231 + 99942521, labels={"cpu": "0"}),
    value("instructions", 1813222 + 485851 + 421897, labels={"cpu": "1"})])
stat(G % "08-json.jsonl", [value("cycles", 8409028), value("task-clock", 8411888, "ns"),
                           absent("branches", NOT_SUPPORTED), plain("ipc", 1.0, "1")])


def json_sum(name, event, **where):
    total = 0
    for line in text(name).splitlines():
        if line.startswith("{"):
            row = json.loads(line)
            if row.get("event") == event and all(row.get(k) == v for k, v in where.items()):
                total += float(row["counter-value"])
    return total


stat(G % "09-json-percore-I.jsonl", [
    value("cycles", json_sum(G % "09-json-percore-I.jsonl", "cycles", core="S0-D0-C1"),
          labels={"core": "S0-D0-C1"})])
stat(G % "10-json-r.jsonl", [value("cycles", 8419490), value("instructions", 8419490)],
     notes=["mean-of-repeats"] * 2)
MUX = "multiplexed: counted %d %% of the time"
stat(G % "11-mux-csv.csv", [
    value("r08", 236394575, state="doubtful", reason=MUX % 49),
    value("r11", 236398244, state="doubtful", reason=MUX % 57),
    value("r08", 236403645, state="doubtful", reason=MUX % 49, labels={"instance": "11"})])
stat(G % "12-mux-text.txt", [value("r08", 236432102, state="doubtful", reason=MUX % 50),
                             value("r11", 236436191, state="doubtful", reason=MUX % 58)])
stat(G % "13-mux-group-toobig.txt",
     [absent("r08", NOT_COUNTED)] + [absent("r08", NOT_COUNTED, {"instance": str(i)}) for i in range(2, 7)] +
     [absent("r08", NOT_SUPPORTED, {"instance": str(i)}) for i in range(7, 11)])
stat(G % "14-short-notcounted.txt",
     [value("r08", 504667)] + [value("r08", 504667, labels={"instance": str(i)}) for i in range(2, 7)] +
     [absent("r08", NOT_COUNTED, {"instance": str(i)}) for i in range(7, 11)])
stat(G % "23-stat-stalls.txt", [
    value("cycles", 8413036), absent("stalled-cycles-frontend", "stub counter"),
    absent("stalled-cycles-backend", "stub counter"),
    value("r3f", 0, state="doubtful", reason="raw event that counted 0")])
refuse(G % "24-topdown.txt", "Topdown requested but")
stat(G % "25-json-A-I.jsonl", [
    value("instructions", json_sum(G % "25-json-A-I.jsonl", "instructions", cpu="1"), labels={"cpu": "1"})])
stat(G % "26-unsup.txt", [
    absent("branches", NOT_SUPPORTED), absent("cache-misses", NOT_SUPPORTED), value("cycles", 504586),
    {"run": 1, **absent("branches", NOT_SUPPORTED)}, {"run": 1, **value("cycles", 501824)}], runs=2)
stat(G % "27-cgroup.txt", [absent(e, NOT_SUPPORTED, {"cgroup": g}) for e in ("cycles", "instructions")
                           for g in "ab"], runs=3)
stat(G % "28-idle.txt", [value("cpu-clock", 502.51e6, "ns", {"cpu": "0"}),
                         value("instructions", 1993823, labels={"cpu": "1"}),
                         plain("ipc", 1993823 / 502502461, "1", labels={"cpu": "1"})])
stat(G % "29-exclusive-pinned.txt",
     [value("r08:D", 8410982)] + [value("r08:D", 8410982, labels={"instance": str(i)}) for i in range(2, 7)] +
     [absent("r08:D", NOT_COUNTED, {"instance": str(i)}) for i in range(7, 10)])
rows = [line.split(",") for line in text(G % "30-hotplug.txt").splitlines() if re.match(r"\d+\.\d{9},", line)]
good = [r for r in rows if r[1] == "CPU1" and r[4] == "cycles" and r[2].isdigit()]
lost = [r for r in rows if r[1] == "CPU1" and r[4] == "cycles" and not r[2].isdigit()]
stat(G % "30-hotplug.txt", [
    absent("cycles", "counted in %d of %d intervals" % (len(good), len(good) + len(lost)), {"cpu": "1"}),
    value("cycles", sum(int(r[2]) for r in rows if r[1] == "CPU0" and r[4] == "cycles"),
          labels={"cpu": "0"})])
refuse(G % "42-metric-only.txt", "only metrics")
stat(G % "43-table.txt", [
    repeated("cycles", 16902074, 0.15, 4), repeated("instructions", 8451037, 0.15, 4),
    elapsed([0.0195742, 0.0195449, 0.0195372, 0.0197017])])
stat(G % "44-summary.txt", [value("cycles", 1008024644), value("instructions", 4973706)])
stat(G % "45-text.txt", [
    value("cycles", 204026915, labels={"core": "S0-D0-C0"}),
    {"run": 1, **value("cycles", 407952742, labels={"socket": "S0"})},
    {"run": 2, **value("cycles", 204092737, labels={"cpu": "1"})},
    {"run": 3, **value("cycles", 411921570 + 401667020 + 194365850)}], runs=4)
stat(G % "46-socket-csv.csv", [
    value("cycles", 413445498 + 194361206, labels={"socket": "S0"}),
    {"run": 1, **value("cycles", 408042296, labels={"node": "N0"})},
    {"run": 2, **value("cycles", 407894218, labels={"socket": "S0"})}], runs=3)
stat(G % "47-cgroup.txt", [
    value("cycles", 605468470, labels={"cgroup": "a"}), value("instructions", 302734235, labels={"cgroup": "a"}),
    plain("ipc", 0.5, "1", labels={"cgroup": "a"}),
    value("cycles", 0, labels={"cgroup": "b"}, reason="never ran"),
    {"run": 1, **value("instructions", 91903464, labels={"cgroup": "a"})},
    {"run": 1, **value("instructions", 0, labels={"cgroup": "b"})},
    {"run": 2, **value("cycles", 183866722, labels={"cgroup": "a"})},
    {"run": 2, **plain("elapsed", 183986688)}], runs=3)
refuse(G % "48-perthread.txt", "Problems finding threads")
refuse(G % "00-info.txt", "not one that rigstat reads")

stat(M % "01-stat-text-nopmu.txt", [
    value("task-clock", 37.11e6, "ns"), value("context-switches", 14), value("cpu-migrations", 1),
    value("page-faults", 60), absent("cycles", NOT_SUPPORTED)])
stat(M % "02-stat-csv-nopmu.csv", [absent("cycles", NOT_SUPPORTED), value("task-clock", 36.70e6, "ns"),
                                   value("page-faults", 60)])
stat(M % "03-stat-csv-r3.csv", [absent("cycles", NOT_SUPPORTED), value("task-clock", 33.10e6, "ns"),
                                value("context-switches", 12)])
stat(M % "04-stat-csv-interval-a.csv", [value("context-switches", 472 + 655 + 259),
                                        absent("cycles", NOT_SUPPORTED)])
rows = [[c.strip() for c in line.split(",")] for line in text(M % "05-stat-csv-percore-interval.csv").splitlines()
        if line.strip().startswith("0.")]
stat(M % "05-stat-csv-percore-interval.csv", [
    value("context-switches", sum(int(r[3]) for r in rows if r[1] == "S0-D0-C1" and r[5] == "context-switches"),
          labels={"core": "S0-D0-C1"})])
rows = [[c.strip() for c in line.split(",")] for line in text(M % "06-stat-csv-A-interval.csv").splitlines()
        if line.strip().startswith("0.")]
stat(M % "06-stat-csv-A-interval.csv", [
    value("context-switches", sum(int(r[2]) for r in rows if r[1] == "CPU1" and r[4] == "context-switches"),
          labels={"cpu": "1"})])
stat(M % "07-stat-json.jsonl", [absent("cycles", NOT_SUPPORTED), value("task-clock", 39313268, "ns")])
rows = [json.loads(line) for line in text(M % "08-stat-json-r3-percore.jsonl").splitlines() if line[:1] == "{"]
stat(M % "08-stat-json-r3-percore.jsonl", [
    value("cpu-clock", 37.511982e6, "ns"), value("context-switches", 13),
    {"run": 1, **value("cpu-clock", sum(float(r["counter-value"]) for r in rows if r.get("core") == "S0-D0-C1") * 1e6,
                       "ns", {"core": "S0-D0-C1"})}], runs=2)
# Decimal commas: 0,93 is two fields of -x, and so is 100,00.
stat(M % "09-stat-csv-de_DE.csv", [
    value("task-clock", 0.93e6, "ns"), value("page-faults", 50),
    {"run": 1, **value("cpu-clock", 390.77e6 + 115.57e6, "ns")},
    {"run": 1, **value("context-switches", 1556 + 101)}], runs=2, notes=["decimal-comma"])
refuse(M % "10-stat-json-de_DE.txt", "LC_ALL=C")
stat(M % "11-stat-text-de_DE.txt", [
    repeated("task-clock", 35.58e6, 2.84, 3, "ns"), repeated("page-faults", 86, 1.03, 3),
    {"metric": "elapsed", "kind": "summary", "summary": {
        "n": 3, "avg": 0.12648e9, "sdev": 0.00634e9 * math.sqrt(3)}}])
refuse(M % "16-metric-only.csv", "only metrics")
stat(M % "17-per-thread.csv", [absent("task-clock", NOT_COUNTED, {"thread": "bash-4104"})])
stat(M % "19-table.txt", [repeated("task-clock", 40.68e6, 2.67, 4, "ns"),
                          elapsed([0.1473, 0.1936, 0.1557, 0.1411])])
refuse(M % "20-topdown-nopmu.txt", "System does not support topdown")

# ---- perf report, script, diff ----


def share(metric, app, percent, **more):
    return {"metric": metric, "kind": "value", "unit": "%", "labels": {"app": app}, "value": percent, **more}


ROUNDED = {"state": "estimated"}
stat15 = [share("cycle_share", "sh", 68.31, **ROUNDED), share("cycle_share", "dd", 27.92, **ROUNDED),
          share("cycle_share", "swapper", 3.52, **ROUNDED), share("cycle_share", "perf", 0.06, **ROUNDED)]
entry(G % "15-record-report.txt", format="perf-report", runs=1, series=stat15,
      notes=["share-of-all", "rounded-shares"])
# dd is 27.18 in the kernel and 0.74 in busybox.
entry(G % "16-report-commdso.txt", format="perf-report", runs=1, series=stat15)
entry(G % "17-report-csv.csv", format="perf-report", runs=1, series=stat15)
periods = {}
for line in text(G % "22-report-percent.txt").splitlines():
    words = line.split()
    if words and words[-2:-1] and words[-2].isdigit() and "%" in line:
        periods[words[-1]] = int(words[-2])
total = sum(periods.values())
assert round(periods["sh"] / total * 100, 2) == 68.31
entry(G % "22-report-percent.txt", format="perf-report", runs=1, notes=["share-of-all"], series=[
    share("cycle_share", app, n / total * 100, state="exact") for app, n in periods.items()])


def script(name, metric, notes):
    weights = collections.Counter()
    for line in text(name).splitlines():
        head = line.split(": ")[0].rsplit(None, 3) if line[:1] == " " else []
        if len(head) == 4 and head[2].startswith("["):
            weights[head[0].strip()] += int(line.split(": ")[1].split()[0])
    return [share(metric, app, n / sum(weights.values()) * 100) for app, n in weights.items()]


for name, metric in ((G % "18-script.txt", "cycle_share"), (G % "19-script-default.txt", "cycle_share"),
                     (M % "14-script.txt", "time_share"), (M % "21-script-comm-spaces.txt", "time_share")):
    s = script(name, metric, [])
    assert s and all(x["labels"]["app"] for x in s)
    entry(name, format="perf-script", runs=1, series=s, notes=["share-of-all"])
refuse(G % "20-script-events.txt", "no samples in it")
refuse(M % "15-script-side-events.txt", "no samples in it")
refuse(G % "21-diff.txt", "perf diff")
# The same recording twice: by command with rounded shares, then with periods.
entry(M % "12-record-report-cpuclock.txt", format="perf-report", runs=2, series=[
    share("time_share", "node", 17.57, **ROUNDED),
    share("time_share", "npm install @st", 15.20, **ROUNDED)])
sums = collections.Counter()
for line in text(M % "13-report-fieldsep.csv").splitlines():
    cells = [c.strip() for c in line.split(";")]
    if cells[0].endswith("%"):
        sums[cells[2]] += round(float(cells[0][:-1]) * 100)
entry(M % "13-report-fieldsep.csv", format="perf-report", runs=1, series=[
    share("time_share", app, n / 100, **ROUNDED) for app, n in sums.items()])

# ---- formats without a sample file: texts in the shape that the tools' sources and pages show ----



def inline(name, content, **more):
    OUT.append({"file": name, "text": content, **more})


SN = text("samples/latency/stressng-cyclic.txt")
both = [y for x in SN.splitlines(True) for y in (x, x.replace("[16066]", "[16067]") if "[16066]" in x else "")]
inline("stressng-two.txt", "".join(both), format="stress-ng-cyclic", series=[
    {"metric": "wakeup_latency", "count": 7589, "overflow": 38},
    {"metric": "wakeup_latency", "count": 7589, "overflow": 38, "labels": {"instance": "2"}}])
inline("stressng-plain.txt", "".join(x for x in SN.splitlines(True) if "cyclic: sched" in x or "min:" in x),
       format="stress-ng-cyclic", series=[hist("wakeup_latency", [], 7589, 17938, 17938, 8867128, (0.5,))])

RTLA = """1# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:01:05
Index   IRQ-000   Thr-000   IRQ-003   Thr-003
0           100         0         7         0
1             5        90         0         6
2             0        14         0         0
over:         0         1         0         1
count:      105       105         7         7
min:          0         1         0         1
avg:          0         1         0         1
max:          1       300         0        77
ALL:        IRQ       Thr
count:      112       112
"""
inline("rtla.txt", RTLA, format="rtla", notes=["inferred-overflow-edge"] * 2, series=[
    hist("irq_latency", [(0, 1000, 100), (1000, 2000, 5)], 0, 0, 0, 1000, labels={"cpu": "0", "context": "irq"},
         resolution=1000),
    hist("wakeup_latency", [(1000, 2000, 90), (2000, 3000, 14)], 1, 3000, 1000, 300000,
         labels={"cpu": "0", "context": "thread"}),
    hist("wakeup_latency", [(1000, 2000, 6)], 1, 2000, 1000, 77000, (0.5,),
         labels={"cpu": "3", "context": "thread"})])
inline("rtla-count.txt", RTLA.replace("count:      105       105", "count:      105       106"),
       error="Thr-0: count is 106, but buckets and over sum to 105")
inline("rtla-ns.txt", RTLA.replace("microseconds (us)", "nanoseconds (ns)"), format="rtla",
       series=[hist("irq_latency", [(0, 1, 100), (1, 2, 5)], 0, 0, 0, 1, labels={"cpu": "0"}, resolution=1)])
inline("rtla-minus.txt", RTLA.replace("0           100", "0          -100"), error=":5:")
inline("osnoise.txt", """# RTLA osnoise histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:10
Index   CPU-000   CPU-001
0           300       200
5             4         0
10            1         2
over:         0         0
count:      305       202
min:          0         0
avg:          0.50      0.10
max:         10        10
""", format="rtla", notes=["inferred-bucket-width"], series=[
    # Every row is a multiple of 5, so the buckets are at most that wide; extremes are floors.
    hist("os_noise", [(0, 5000, 300), (5000, 10000, 4), (10000, 15000, 1)], labels={"cpu": "0"}, resolution=5000)])
inline("rtla-elided.txt", RTLA.replace("1             5", "...\n1             5"), error="rows were left out")

HGRM = """       Value     Percentile TotalCount 1/(1-Percentile)

       0.250 0.000000000000          2           1.00
       0.500 0.500000000000         60           2.00
       2.000 0.990000000000         99         100.00
       8.000 1.000000000000        100            inf
#[Mean    =        0.600, StdDeviation   =        0.900]
#[Max     =        7.998, Total count    =          100]
#[Buckets =           27, SubBuckets     =         2048]
"""
inline("t.hgrm", HGRM, format="hgrm", notes=["inferred-unit"], series=[
    hist("request_latency", [(0, 250001, 2), (250001, 500001, 58), (500001, 2000001, 39), (2000001, 8000001, 1)],
         hi=7998000)])
inline("us.hgrm", HGRM, format="hgrm", options={"unit_ns": 1000}, notes=[], series=[
    hist("request_latency", [(0, 251, 2), (251, 501, 58), (501, 2001, 39), (2001, 8001, 1)], hi=7998)])
inline("cut.hgrm", "".join(HGRM.splitlines(True)[:4] + HGRM.splitlines(True)[6:]), error="the table is cut off")
inline("falls.hgrm", HGRM.replace("         99 ", "         59 "), error=":5:")


def hdr_index(value, digits=2):
    """Index in HdrHistogram's counts array, and the edges of its slot (lowest value 1)."""
    half = math.ceil(math.log2(2 * 10 ** digits)) - 1
    exponent = max(0, value.bit_length() - 1 - half)
    sub = value >> exponent
    return (exponent << half) + sub, sub << exponent, (sub + 1) << exponent


def zigzag(n):
    n = (n << 1) ^ (n >> 63)
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def hdr_payload(counts, version, digits=2, word=8, offset=0):
    slots = {hdr_index(v, digits)[0]: n for v, n in counts.items()}
    if version == 2:
        body, at = b"", 0
        for i, n in sorted(slots.items()):
            body += (zigzag(-(i - at)) if i > at else b"") + zigzag(n)
            at = i + 1
    else:
        body = b"".join(slots.get(i, 0).to_bytes(word, "big") for i in range(max(slots) + 1))
    if version == 0:
        head = struct.pack(">iiqqq", 0x1c849308 | word << 4, digits, 1, 3600 * 10 ** 9, sum(counts.values()))
        cookie = 0x1c849309 | word << 4
    else:
        base = 0x1c849301 if version == 1 else 0x1c849303
        head = struct.pack(">iiiiqqd", base | (0x10 if version == 2 else word << 4), len(body), offset, digits, 1,
                           3600 * 10 ** 9, 1.0)
        cookie = (0x1c849302 | word << 4) if version == 1 else 0x1c849304 | 0x10
    packed = zlib.compress(head + body)
    return base64.b64encode(struct.pack(">iI", cookie, len(packed)) + packed).decode()


def hdr_buckets(*counts, digits=2):
    sums = collections.Counter()
    for c in counts:
        for v, n in c.items():
            sums[hdr_index(v, digits)[1:]] += n
    return [(lo, hi, n) for (lo, hi), n in sorted(sums.items())]


HLOG = """#[Logged with jHiccup version 2.0.7]
#[Histogram log format version 1.2]
#[StartTime: 1441812279.474 (seconds since epoch), Wed Sep 09 08:24:39 PDT 2015]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
"""
C1 = {100: 7, 5000: 3, 123456: 1}
C2 = {100: 1, 77777777: 2}
for version in (0, 1, 2):
    log = HLOG + "0.127,1.007,0.124,%s\n1.134,0.999,77.778,%s\n" % (
        hdr_payload(C1, version), hdr_payload(C2, version))
    inline("v%d.hlog" % version, log, format="hdr-log", runs=1, notes=["inferred-unit"], series=[
        hist("request_latency", hdr_buckets(C1, C2), qs=(0.5, 0.9))])
inline("narrow.hlog", HLOG + "0.1,1.0,0.1,%s\n" % hdr_payload(C1, 1, word=2), format="hdr-log",
       series=[hist("request_latency", hdr_buckets(C1))])
inline("tags.hlog", HLOG + "Tag=a,0.1,1.0,0.1,%s\n0.1,1.0,0.1,%s\nTag=a,1.1,1.0,0.1,%s\n" % (
    hdr_payload(C1, 2), hdr_payload(C2, 2), hdr_payload(C2, 2)), format="hdr-log", series=[
        hist("request_latency", hdr_buckets(C1, C2), labels={"tag": "a"}),
        {"metric": "request_latency", "labels": {"tag": "a"}, "count": 14}])
inline("shifted.hlog", HLOG + "0.1,1.0,0.1,%s\n" % hdr_payload(C1, 2, offset=1), error="normalizing offset")
inline("cut.hlog", HLOG + "0.1,1.0,0.1,%s\n" % hdr_payload(C1, 2)[:60], error=":5:")
inline("comma.hlog", HLOG + "0,1,1,0,0,1,%s\n" % hdr_payload(C1, 2), error="decimal commas")

BCC = """Tracing run queue latency... Hit Ctrl-C to end.

06:20:16
     usecs               : count     distribution
         0 -> 1          : 233      |***********                             |
         2 -> 3          : 742      |************************************    |
         4 -> 7          : 25       |*                                       |

06:20:17
     usecs               : count     distribution
         0 -> 1          : 200      |***********                             |
         2 -> 3          : 0        |                                        |
         4 -> 7          : 10       |*                                       |
        64 -> 127        : 3        |                                        |
"""
inline("runqlat.txt", BCC, format="bcc", notes=["inferred-intervals"], series=[
    hist("runqueue_latency", [(0, 2000, 433), (2000, 4000, 742), (4000, 8000, 35), (64000, 128000, 3)], unit="ns")])
inline("biolatency.txt", """Tracing block device I/O... Hit Ctrl-C to end.

disk = 'xvdb'
     msecs               : count     distribution
         0 -> 1          : 5        |****|
     18014398509481984 -> 36028797018963967 : 2        |*   |

disk = 'xvda1'
     msecs               : count     distribution
         0 -> 1          : 7        |****|
""", format="bcc", notes=["clock-went-back"], series=[
    hist("io_latency", [(0, 2000000, 5)], negative=2, labels={"disk": "xvdb"}, qs=()),
    hist("io_latency", [(0, 2000000, 7)], labels={"disk": "xvda1"})])
inline("bcc-elided.txt", BCC.replace("         2 -> 3          : 742", "...\n         2 -> 3          : 742"),
       error="rows were left out")
inline("bcc-overlap.txt", BCC.replace("         4 -> 7          : 25 ", "         3 -> 7          : 25 "),
       error=":7:")
inline("bpftrace-keyed.txt", """Attaching 2 probes...

@ns[sshd, 12]:
[4K, 8K)              10 |@@@@|
[8K, 16K)              3 |@   |

@count[bash]: 42
""", format="bpftrace", notes=["inferred-unit"], series=[
    hist("ns", [(4096, 8192, 10), (8192, 16384, 3)], labels={"key": "sshd, 12"}, unit="ns"),
    {"metric": "count", "kind": "value", "value": 42, "labels": {"key": "bash"}}])

OSLAT = """oslat V 2.40
Total runtime: 		1 seconds

        Core:	 0 1
Counter Freq:	 2445 2445 (Mhz)
    001 (us):	 1000 2000
    002 (us):	 24 0
    032 (us):	 6 0 (including overflows)
     Minimum:	 1 1 (us)
     Average:	 1.001 1.001 (us)
     Maximum:	 3858 1 (us)
     Max-Min:	 3857 0 (us)
    Duration:	 1.998 1.998 (sec)
"""
inline("oslat.txt", OSLAT, format="oslat", series=[
    hist("os_noise", [(0, 1000, 1000), (1000, 2000, 24)], 6, 31000, None, 3858000, labels={"cpu": "0"}),
    hist("os_noise", [(0, 1000, 2000)], 0, 0, None, 1000, labels={"cpu": "1"})])
inline("oslat-W.txt", OSLAT.replace("001 (us)", "000.500 (us)").replace("002 (us)", "001.500 (us)").replace(
    "032 (us)", "032.000 (us)").replace("3858 1", "3858000 400"), format="oslat", notes=["mixed-units"], series=[
        hist("os_noise", [(0, 500, 1000), (1000, 1500, 24)], 6, 31500, None, None, labels={"cpu": "0"}, resolution=500)])
inline("oslat-rows.txt", "".join(x for x in OSLAT.splitlines(True) if "(us):" not in x) + "999 (us): \n",
       error="oslat")
inline("oslat-max.txt", OSLAT.replace("3858 1", "3858 9"), error="core 1: max is 9000 ns, but the last bucket")
inline("oslat-cut.txt", OSLAT.split("     Maximum")[0], error="the file ends before")

HWLAT = """hwlatdetect:  test duration 100 seconds
   detector: tracer
   parameters:
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: 23us
Samples recorded: 2
Samples exceeding threshold: 2
ts: 1610000000.123456789, inner:12, outer:23
ts: 1610000009.123456789, inner:15, outer:0
"""
inline("hwlat.txt", HWLAT, format="hwlatdetect", notes=["one-sample-a-window"], series=[
    hist("hw_latency", [(0, 10000, 98), (15000, 16000, 1), (23000, 24000, 1)], hi=23000)])
inline("hwlat-quiet.txt", HWLAT.split("Max Latency")[0] + "Max Latency: Below threshold\nSamples recorded: 0\n",
       format="hwlatdetect", series=[hist("hw_latency", [(0, 10000, 100)])])
inline("hwlat-cut.txt", HWLAT.split("Max Latency")[0], error="it did not end")

RTEVAL = """<?xml version="1.0" encoding="UTF-8"?>
<rteval version="3.8">
 <run_info days="0" hours="0" minutes="1" seconds="0"><date>2026-01-01</date></run_info>
 <uname><node>box1</node><kernel is_RT="1">6.12.0-rt</kernel><arch>x86_64</arch></uname>
 <Measurements><Profile loads="1" parallel="1">
  <cyclictest command_line="cyclictest -i100 -qmu -h 3500 -p95 --threads --affinity">
   <system description="2 cores"><statistics><samples>30</samples></statistics></system>
   <core id="0" priority="95">
    <statistics><samples>20</samples><minimum unit="us">3</minimum><maximum unit="us">9</maximum></statistics>
    <histogram nbuckets="3"><bucket index="3" value="15"/><bucket index="4" value="4"/><bucket index="9" value="1"/></histogram>
   </core>
   <core id="1" priority="95">
    <statistics><samples>10</samples><minimum unit="us">2</minimum><maximum unit="us">4000</maximum></statistics>
    <histogram nbuckets="1"><bucket index="2" value="9"/></histogram>
   </core>
  </cyclictest></Profile></Measurements>
</rteval>
"""
inline("summary.xml", RTEVAL, format="rteval", runs=1, series=[
    hist("wakeup_latency", [(3000, 4000, 15), (4000, 5000, 4), (9000, 10000, 1)], 0, 0, 3000, 9000,
         labels={"cpu": "0"}, interval=100000, omission="skips_missed"),
    hist("wakeup_latency", [(2000, 3000, 9)], 1, 3500000, 2000, 4000000, (0.5,), labels={"cpu": "1"})])
inline("none.xml", re.sub(r"<bucket index=\"2\"[^>]*>", "", RTEVAL).replace("<samples>10</samples>", ""),
       error="core 1 has no histogram")
inline("cut.xml", RTEVAL.split("</core>")[0], error="inside a <core>")

inline("bench.txt", """goos: linux
pkg: example.org/x
BenchmarkEncode/size=1-8         \t    1000\t      1234.5 ns/op\t      56 B/op
BenchmarkEncode/size=1-8         \t    1000\t      1240 ns/op\t      56 B/op
BenchmarkDecode-8                \t    2000\t       900 ns/op
PASS
""", format="go-bench", runs=2, series=[
    {"metric": "go:Encode/size=1-8:ns/op", "unit": "ns", "value": 1234.5},
    {"run": 1, "metric": "go:Encode/size=1-8:ns/op", "value": 1240},
    {"metric": "go:Decode-8:ns/op", "value": 900},
    {"metric": "go:Encode/size=1-8:B/op", "unit": "B/op", "value": 56}])
inline("hyperfine.json", json.dumps({"results": [
    {"command": "a", "mean": 0.15, "times": [0.1, 0.2], "exit_codes": [0, 1], "parameters": {"n": "4"}},
    {"command": "b", "mean": 0.3, "times": [0.3]}]}), format="hyperfine", runs=3,
    factors=[{"command": "a", "n": "4"}, {"command": "a"}, {"command": "b"}], series=[
        {"metric": "elapsed", "unit": "ns", "value": 0.1e9}, {"run": 2, "metric": "elapsed", "value": 0.3e9}])
inline("hyperfine.csv", """command,mean,stddev,median,user,system,min,max
true,0.0027,0.0005,0.0026,0.0008,0.0002,0.0022,0.0033
""", error="averages without the number of runs")
SYSBENCH = """Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       1.000 |****************************************  80
       4.000 |**********                                19
      16.000 |                                          1

General statistics:
    total time:                          10.0000s
    total number of events:              100

Latency (ms):
         min:                                    0.90
         avg:                                    1.72
         max:                                   17.10
         95th percentile:                        4.00
         sum:                                  172.00

Threads fairness:
    events (avg/stddev):           100.0000/0.0
"""
inline("sysbench.txt", SYSBENCH, format="sysbench", notes=["inferred-edges"], series=[
    hist("request_latency", [(0, 2000001, 80), (2000001, 8000001, 19), (8000001, 32000001, 1)]),
    {"metric": "ops_per_second", "unit": "1/s", "value": 10}])
inline("sysbench-n.txt", SYSBENCH.replace("  19\n", "  18\n"), error="sums to 99, but 100 events")
inline("sysbench-plain.txt", SYSBENCH.split("\n\n", 1)[1], format="sysbench", series=[
    hist("request_latency", [], 100, 900000, 900000, 17100000, (0.5,))])

inline("live.txt", "\x1b[1AT: 0 ( 9) P:80 I:1000 C:     50 Min:     14 Act:   31 Avg:   32 Max:      40\n"
       "T: 0 ( 9) P:80 I:1000 C:    100 Min:     14 Act:   31 Avg:   32 Max:      41\n"
       "T: 1 (10) P:80 I:1500 C:     74 Min:     25 Act:   31 Avg:   46 Max:     569\n",
       format="cyclictest-lines", notes=["inferred-unit", "no-histogram"], series=[
           hist("wakeup_latency", [], 100, 14000, 14000, 41000, (0.5,), labels={"thread": "0"}, interval=1000000),
           hist("wakeup_latency", [], 74, 25000, 25000, 569000, (0.5,), labels={"thread": "1"}, interval=1500000)])

VERBOSE = "Max CPUs = 2\n       0:       0:      36\n       0:       1:      30\n       0:       3:      30\n" \
    "       1:       0:     500\n       1:       1:      41\n"
inline("ct-v.txt", VERBOSE, format="cyclictest-verbose", notes=["inferred-unit"], series=[
    # cycle 2 of thread 0 never came out
    hist("wakeup_latency", [(30000, 31000, 2), (36000, 37000, 1)], 0, 0, 30000, 36000, (0.5,), labels={"thread": "0"},
         lost=1),
    hist("wakeup_latency", [(41000, 42000, 1), (500000, 501000, 1)], 0, 0, 41000, 500000, (0.5,),
         labels={"thread": "1"}, lost=0)])
inline("ct-v-twice.txt", VERBOSE * 2, error=":8: cycle 0 of thread 0 after cycle 3")

# ---- contradictions and damage in cyclictest's text ----

CT = """# cyclictest -q -m -S -p80 -i200 -h5 -N
# /dev/cpu_dma_latency set to 0us
T: 0 (1234) P:80 I:200 C: 10 Min: 2 Act: 3 Avg: 3 Max: 9\x1b[1A# Histogram
000000 000000\t000000
000001 000000\t000001
000002 000004\t000003
000003 000005\t000006
000004 000000\t000000
# Total: 000000009 000000010
# Min Latencies: 00002 00001
# Avg Latencies: 00003 00002
# Max Latencies: 00009 00003
# Histogram Overflows: 00001 00000
# Histogram Overflow at cycle number:
# Thread 0: 00007
# Thread 1:
"""
inline("ct.txt", CT, format="cyclictest", notes=[], series=[
    hist("wakeup_latency", [(2, 3, 4), (3, 4, 5)], 1, 5, 2, 9, labels={"thread": "0"}, interval=200000, resolution=1),
    hist("wakeup_latency", [(1, 2, 1), (2, 3, 3), (3, 4, 6)], 0, 0, 1, 3, labels={"thread": "1"})])
inline("ct-md.txt", "".join("    " + line.rstrip("\n") + "\r\n" for line in CT.splitlines(True)),
       format="cyclictest", series=[{"metric": "wakeup_latency", "labels": {"thread": "0"}, "count": 10}])
inline("ct-total.txt", CT.replace("000000009", "000000008"), error=":9: Total says 8 for thread 0")
inline("ct-max.txt", CT.replace("00009 00003", "00009 00002"), error="thread 1: max is 2 ns, but the histogram")
inline("ct-over.txt", CT.replace("00009 00003", "00004 00003"), error="samples overflowed")
inline("ct-missing.txt", CT.replace("00009 00003", "00009 00007"), error="nothing overflowed: samples are missing")
inline("ct-elided.txt", CT.replace("000003 000005", "...\n000003 000005"), error=":7:1: rows were left out")
inline("ct-more.txt", CT.replace("000003 000005", "More histogram entries ...\n000003 000005"),
       error="rows were left out")
inline("ct-cut.txt", CT.split("# Min")[0], error="it is cut off")
inline("ct-two.txt", CT + CT, error="two files in one")
inline("ct-ragged.txt", CT.replace("000005\t000006", "000005"), error=":7:1: 1 counts; the rows above have 2")
inline("ct-huge.txt", CT.replace("# Max Latencies: 00009", "# Max Latencies: 18446744073709551612"),
       format="cyclictest", notes=["clock-went-back"], series=[
           {"metric": "wakeup_latency", "labels": {"thread": "0"}, "count": 10, "overflow": 1, "max": None}])
inline("ct-unit.txt", CT, options={"unit_ns": 1000}, error="leave --unit out")
JD = json.loads(text("samples/latency/jd_stop/results.json"))
JD["cpu"]["0"]["count"] = 5
inline("jd.json", json.dumps(JD), error="cpu 0: the histogram sums to 2794, but count is 5")
CTJ = text("samples/latency/ct210.json")
inline("ct-cycles.json", CTJ.replace('"cycles": 500', '"cycles": 5'), error="only 5 cycles were run")
inline("ct-nan.json", json.dumps({"file_version": 1, "rt_test_version:": "2.40", "cmdline:": "cyclictest -h 60",
                                  "thread": {"0": {"histogram": {}, "cycles": 0, "min": 1000000, "max": 0,
                                                   "avg": "X", "cpu": 0}}}).replace('"X"', "-nan"),
       format="rt-tests-json", notes=["repaired-json"],
       series=[{"metric": "wakeup_latency", "count": 0, "overflow": 0}])
inline("ct-sorted.json", json.dumps({"file_version": 1, "rt_test_version:": "2.40", "cmdline:": "cyclictest -h 60",
                                     "thread": {"0": {"histogram": {"10": 1, "9": 2, "100": 1}, "cycles": 4,
                                                      "min": 9, "max": 100, "cpu": 0}}}),
       format="rt-tests-json", series=[hist("wakeup_latency", [(9000, 10000, 2), (10000, 11000, 1), (100000, 101000, 1)],
                                            0, 0, 9000, 100000, (0.5,))])
PT = {"file_version": 1, "rt_test_version:": "2.40", "cmdline:": "ptsematest -l200 -p80", "return_code": 1,
      "thread": {"0": {"sender": {"cpu": 0, "samples": 200}, "receiver": {"cpu": 1, "min": 15, "avg": 46.45, "max": 128}}}}
inline("pt.json", json.dumps(PT), format="rt-tests-json", notes=["tool-failed"], series=[
    hist("handoff_latency", [], 200, 15000, 15000, 128000, (0.5,), labels={"cpu": "1"})])
PT["thread"] = {}
inline("ssdd.json", json.dumps(PT), error="only say passed or failed")
FIO = json.loads(text("samples/latency/fio-3.33-jsonplus.json"))
PLAIN = json.loads(json.dumps(FIO))
del PLAIN["jobs"][0]["read"]["clat_ns"]["bins"]
# Plain JSON: the percentiles that fio names are right to their bin, as with bins.
inline("fio-plain.json", json.dumps(PLAIN), format="fio-json", notes=["from-percentiles"], series=[
    {"metric": "completion_latency", "count": 91847, "min": 43670, "max": 28674708,
     "q": {q: [fio_edges(v)[0], fio_edges(v)[1] - 1] for q, v in (
         ("0.01", 127488), ("0.5", 234496), ("0.9", 806912), ("0.95", 1826816), ("0.99", 4947968),
         ("0.999", 12779520), ("0.9999", 26869760))}}])
# fio 2 has microseconds.
inline("fio2.json", json.dumps({"fio version": "fio-2.16", "jobs": [{"jobname": "j", "error": 0, "read": {
    "iops": 10.5, "clat": {"min": 5, "max": 90, "mean": 20.5, "stddev": 1, "N": 7}}}]}), format="fio-json", series=[
        {"metric": "completion_latency_max", "unit": "ns", "value": 90000},
        {"metric": "completion_latency_mean", "unit": "ns", "value": 20500}])
LATER = json.loads(json.dumps(FIO))
LATER["timestamp_ms"] += 3600 * 1000
two = "fio: some warning\n" + json.dumps(FIO) + "\nmore text\n" + json.dumps(LATER, indent=2) + "\n"
inline("fio-two.json", two, format="fio-json", runs=2, notes=[], series=[
    {"metric": "completion_latency", "count": 91847}, {"run": 1, "metric": "completion_latency", "count": 91847}])
# --status-interval: the same execution a second before its end, then whole.
BEFORE = json.loads(json.dumps(FIO))
BEFORE["timestamp_ms"] -= 1000
BEFORE["jobs"][0]["job_runtime"] -= 1000
inline("fio-status.json", json.dumps(BEFORE) + json.dumps(FIO), format="fio-json", runs=1,
       notes=["status-interval"], series=[{"metric": "completion_latency", "count": 91847}])
FIO["jobs"][0]["read"]["clat_ns"]["N"] = 1
inline("fio-n.json", json.dumps(FIO), error="the bins sum to 91847, but N is 1")
FIO["jobs"][0]["read"]["clat_ns"]["bins"] = {"129": 1}
inline("fio-bin.json", json.dumps(FIO), error="min is 43670 ns, but the histogram")
FIO["jobs"][0]["read"]["clat_ns"]["bins"] = {"256": 1}
inline("fio-odd.json", json.dumps(FIO), error="not the midpoint")
inline("stat-broken.jsonl", '{"counter-value" : "5.000000", "unit" : "", "event" : "cycles", "event-runtime" : 9, '
       '"pcnt-running" : 100.00}\n"counter-value" : "6"}\n{"counter-value" : "7.0", "unit" : "", "event" : "x", '
       '"event-runtime" : 9, "pcnt-running" : 12.00}\n{bad\n', format="perf-stat", notes=["broken-lines"], series=[
           value("cycles", 5), absent("x", "counted only 12 %")])
inline("stat-zoo.csv", """218957037351,cycles,100,95.00
1,,instructions,500,100.00
0.5,Joules,power/energy-pkg/,100,100.00,,
7,,cpu/event=0x3c,umask=0x1/,100,100.00,,
235733;;branches;1000;100.00;;
""", format="perf-stat", series=[
    value("cycles", 218957037351, state="estimated", reason="95 %"),
    value("energy-pkg", 0.5, "Joules", {"pmu": "power"}),
    value("cpu/event=0x3c,umask=0x1/", 7), value("branches", 235733)])
inline("hybrid.csv", """256500230,,cpu_atom/cycles/,100,100.00,,
37487490,,cpu_atom/instructions/,100,100.00,5.54,insn per cycle
1000,,cpu_core/cycles/,100,100.00,,
3000,,cpu_core/instructions/,100,100.00,,
7,,cpu_core/cycles/u,100,100.00,,
""", format="perf-stat", series=[
    value("cycles:u", 7, labels={"pmu": "cpu_core"}),
    plain("ipc", 37487490 / 256500230, "1", labels={"pmu": "cpu_atom"}),
    plain("ipc", 3.0, "1", labels={"pmu": "cpu_core"})])
inline("grouped.txt", """
 Performance counter stats for 'x':

       627.912.025      cycles                    #    0,995 GHz
          12,34 msec    task-clock

       5,001079353 seconds time elapsed
""", format="perf-stat", series=[value("cycles", 627912025), value("task-clock", 12.34e6, "ns"),
                                 plain("elapsed", 5001079353)])

(HERE / "readings.json").write_text(json.dumps(OUT, indent=1) + "\n")
print(len(OUT), "readings")
