# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that the tools make here and now are read rightly.

Each test runs the tool, reads its output in its own simple way and compares with rigstat show. A tool
that is not installed, or that this box refuses, skips its test and says why."""
import collections
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

from conftest import BUILD

RIGSTAT = BUILD / "cli/rigstat"
ROOT_USER = os.geteuid() == 0


def tool(name):
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if not path:
        pytest.skip(f"{name} is not installed")
    return path


def run(*words, cwd=None, env=None, may_fail=False):
    done = subprocess.run([str(w) for w in words], cwd=cwd, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "LC_ALL": "C", **(env or {})})
    if done.returncode and not may_fail:
        pytest.skip(f"{words[0]} does not run here: {(done.stderr or done.stdout).strip()[-200:]}")
    return done


def show(path, *options):
    done = subprocess.run([str(RIGSTAT), "show", "--json", *options, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def series(doc, metric, **labels):
    found = [s for r in doc["runs"] for s in r["series"]
             if s["metric"] == metric and all(s["labels"].get(k) == v for k, v in labels.items())]
    assert found, (metric, labels)
    return found[0]


def test_cyclictest_json_and_text_agree(tmp_path):
    cyclictest = tool("cyclictest")
    done = run(cyclictest, "-q", "-m", "-t2", "-p80", "-i500", "-l800", "-H60", "--json=ct.json", cwd=tmp_path)
    (tmp_path / "ct.txt").write_text(done.stdout)
    text, js = show(tmp_path / "ct.txt"), show(tmp_path / "ct.json")
    tool_json = json.loads((tmp_path / "ct.json").read_text())
    for t, thread in tool_json["thread"].items():
        a, b = series(text, "wakeup_latency", thread=t), series(js, "wakeup_latency", thread=t)
        assert a["count"] == b["count"] == thread["cycles"]
        assert a["overflow"] == b["overflow"] == thread["cycles"] - sum(thread["histogram"].values())
        assert a["min"] == b["min"] == thread["min"] * 1000 and a["max"] == b["max"] == thread["max"] * 1000
        assert b["interval_ns"] == 500000
        for q in ("p50", "p90"):
            assert a["quantiles"][q] == b["quantiles"][q]


def test_cyclictest_nanoseconds(tmp_path):
    run(tool("cyclictest"), "-q", "-m", "-N", "-t1", "-p80", "-l200", "-h100000", "--json=ns.json", cwd=tmp_path)
    thread = json.loads((tmp_path / "ns.json").read_text())["thread"]["0"]
    s = series(show(tmp_path / "ns.json"), "wakeup_latency")
    assert (s["min"], s["max"], s["resolution_ns"]) == (thread["min"], thread["max"], 1)


def test_cyclictest_without_histogram(tmp_path):
    done = run(tool("cyclictest"), "-q", "-m", "-t1", "-p80", "-l200")
    (tmp_path / "live.txt").write_text(done.stdout)
    words = re.search(r"C:\s*(\d+) Min:\s*(\d+) .*Max:\s*(\d+)", done.stdout).groups()
    s = series(show(tmp_path / "live.txt"), "wakeup_latency")
    assert (s["count"], s["min"], s["max"]) == (int(words[0]), int(words[1]) * 1000, int(words[2]) * 1000)


def test_cyclictest_verbose(tmp_path):
    done = run(tool("cyclictest"), "-v", "-m", "-t2", "-p80", "-i500", "-l300")
    (tmp_path / "v.txt").write_text(done.stdout)
    samples = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        found = re.fullmatch(r"\s*(\d+):\s*(\d+):\s*(-?\d+)\s*", line)
        if found:
            samples[found.group(1)].append(tuple(map(int, found.groups()[1:])))
    doc = show(tmp_path / "v.txt")
    assert doc["format"] == "cyclictest-verbose" and samples
    for thread, rows in samples.items():
        s = series(doc, "wakeup_latency", thread=thread)
        assert (s["count"], s["max"]) == (len(rows), max(v for _, v in rows) * 1000)
        assert s["lost"] == max(c for c, _ in rows) + 1 - len(rows)


def test_cyclicdeadline(tmp_path):
    run(tool("cyclicdeadline"), "-D2", "-i5000", "-q", "--json=cd.json", cwd=tmp_path)
    thread = json.loads((tmp_path / "cd.json").read_text())["thread"]["0"]
    s = series(show(tmp_path / "cd.json"), "wakeup_latency")
    assert (s["count"], s["max"]) == (thread["cycles"], thread["max"] * 1000)


@pytest.mark.parametrize("name", ["ptsematest", "svsematest", "pmqtest", "sigwaittest"])
def test_handoffs(name, tmp_path):
    run(tool(name), "-l100", "-i500", "-p80", "-q", "--json=x.json", cwd=tmp_path)
    thread = json.loads((tmp_path / "x.json").read_text())["thread"]["0"]
    s = series(show(tmp_path / "x.json"), "handoff_latency")
    assert s["count"] == thread["sender"]["samples"] and s["max"] == thread["receiver"]["max"] * 1000
    assert s["method"] == name


def test_oslat_text_and_json_agree(tmp_path):
    done = run(tool("oslat"), "-D1", "--json=os.json", cwd=tmp_path)
    (tmp_path / "os.txt").write_text(done.stdout)
    text, js = show(tmp_path / "os.txt"), show(tmp_path / "os.json")
    for thread in json.loads((tmp_path / "os.json").read_text())["thread"].values():
        a = series(text, "os_noise", cpu=str(thread["cpu"]))
        b = series(js, "os_noise", cpu=str(thread["cpu"]))
        assert a["count"] == b["count"] == sum(thread["histogram"].values())
        assert a["overflow"] == b["overflow"] == thread["histogram"].get("32", 0)
        assert a["max"] == b["max"] == thread["max"] * 1000


def test_fio(tmp_path):
    run(tool("fio"), "--name=t", "--filename=f", "--size=8m", "--rw=randrw", "--bs=4k", "--ioengine=psync",
        "--runtime=1", "--time_based", "--numjobs=2", "--output-format=json+", "--output=fio.json",
        "--write_hist_log=h", "--log_hist_msec=200", cwd=tmp_path)
    raw = (tmp_path / "fio.json").read_text()
    jobs = json.loads(raw[raw.index("{"):])["jobs"]
    doc = show(tmp_path / "fio.json")
    for op in ("read", "write"):
        got = [s for s in doc["runs"][0]["series"] if s["metric"] == "completion_latency" and s["labels"]["op"] == op]
        want = [j[op]["clat_ns"] for j in jobs]
        assert [s["count"] for s in got] == [w["N"] for w in want]  # two jobs of one name
        assert [(s["min"], s["max"]) for s in got] == [(w["min"], w["max"]) for w in want]
        for s, w in zip(got, want):
            q = s["quantiles"]["p99"]
            assert q["lo"] <= w["percentile"]["99.000000"] <= q["hi"] + 1
    log = tmp_path / "h_clat_hist.1.log"
    counts = collections.Counter()
    for line in log.read_text().splitlines():
        cells = [int(c) for c in line.split(",")]
        counts[cells[1]] += sum(cells[3:])
    for op, number in (("read", 0), ("write", 1)):
        assert series(show(log), "completion_latency", op=op)["count"] == counts[number]


def test_fio_plain_json(tmp_path):
    run(tool("fio"), "--name=t", "--filename=f", "--size=8m", "--rw=randread", "--bs=4k", "--ioengine=psync",
        "--runtime=1", "--time_based", "--output-format=json", "--output=fio.json", cwd=tmp_path)
    raw = (tmp_path / "fio.json").read_text()
    clat = json.loads(raw[raw.index("{"):])["jobs"][0]["read"]["clat_ns"]
    s = series(show(tmp_path / "fio.json"), "completion_latency")
    assert (s["count"], s["min"], s["max"]) == (clat["N"], clat["min"], clat["max"])
    for name, key in (("p50", "50.000000"), ("p99", "99.000000"), ("p99.9", "99.900000")):
        assert s["quantiles"][name]["lo"] <= clat["percentile"][key] <= s["quantiles"][name]["hi"] + 1


def test_fio_status_interval_is_one_execution(tmp_path):
    run(tool("fio"), "--name=t", "--filename=f", "--size=8m", "--rw=randread", "--bs=4k", "--ioengine=psync",
        "--runtime=4", "--time_based", "--status-interval=1", "--output-format=json+", "--output=fio.json", cwd=tmp_path)
    raw = (tmp_path / "fio.json").read_text()
    assert raw.count('"fio version"') >= 3
    # fio prints a status while it counts: bins and N of one document may differ by a request, and such
    # a file is rightly refused.
    at = raw.index("{")
    while at >= 0:
        status, end = json.JSONDecoder().raw_decode(raw, at)
        clat = status["jobs"][0]["read"]["clat_ns"]
        if sum(clat.get("bins", {}).values()) != clat["N"]:
            pytest.skip(f"fio printed a document in the middle of counting: N is {clat['N']}")
        at = raw.find("{", end)
    doc = show(tmp_path / "fio.json")
    assert len(doc["runs"]) == 1 and "status-interval" in [n["code"] for n in doc["runs"][0]["notes"]]
    counts = [int(x) for x in re.findall(r'"clat_ns" : \{[^}]*?"N" : (\d+)', raw)]
    assert series(doc, "completion_latency", op="read")["count"] == max(counts)


def test_jitterdebugger(tmp_path):
    out = tmp_path / "jd"
    run(tool("jitterdebugger"), "-l", "300", "-a", "0", "-s", "-o", out)
    cpu = json.loads((out / "results.json").read_text())["cpu"]["0"]
    s = series(show(out / "results.json"), "wakeup_latency")
    assert s["count"] == cpu["count"] and s["overflow"] == cpu["count"] - sum(cpu["histogram"].values())
    assert s["omission"] == "keeps_deadlines"
    raw = (out / "samples.raw").read_bytes()
    values = [v for _, _, _, v in struct.iter_unpack("<IqqQ", raw)]
    s = series(show(out / "samples.raw"), "wakeup_latency")
    assert (s["count"], s["min"], s["max"]) == (len(values), min(values) * 1000, max(values) * 1000)


def test_stress_ng(tmp_path):
    done = run(tool("stress-ng"), "--cyclic", "1", "--cyclic-policy", "fifo", "--cyclic-dist", "1000", "-t", "2", "-v")
    text = done.stdout + done.stderr
    (tmp_path / "sn.txt").write_text(text)
    if "latency distribution" not in text:
        pytest.skip("stress-ng printed no distribution here")
    s = series(show(tmp_path / "sn.txt"), "wakeup_latency")
    assert s["count"] == int(re.search(r"delay, (\d+) samples", text).group(1))
    assert s["max"] == int(re.search(r"max: (\d+) ns", text).group(1))
    # Nearest rank from the printed rows; stress-ng's own percentiles are a rank beside it.
    seen, rank = 0, -(-s["count"] * 9 // 10)
    for lo, n in re.findall(r"cyclic:\s+(\d+)\s+(\d+)\s*$", text, re.M):
        seen += int(n)
        if seen >= rank:
            assert s["quantiles"]["p90"]["lo"] == max(int(lo), s["min"])
            break
    else:
        assert s["quantiles"]["p90"]["answer"] == "at_least"


def test_perf_stat_forms_agree(tmp_path):
    perf = tool("perf")
    command = ["stat", "-e", "task-clock,page-faults,cycles", "--"]
    work = ["dd", "if=/dev/zero", "of=/dev/null", "bs=64k", "count=2000"]
    run(perf, *command[:1], "-x,", "-o", "s.csv", *command[1:], *work, cwd=tmp_path)
    run(perf, *command[:1], "-j", "-o", "s.json", *command[1:], *work, cwd=tmp_path)
    run(perf, *command[:1], "-o", "s.txt", *command[1:], *work, cwd=tmp_path)
    run(perf, "stat", "-r", "3", "-o", "r.txt", "-e", "page-faults", "--", *work, cwd=tmp_path)
    csv = dict((c[2], c[0]) for c in (line.split(",") for line in (tmp_path / "s.csv").read_text().splitlines())
               if len(c) > 3)
    for name in ("s.csv", "s.json", "s.txt"):
        doc = show(tmp_path / name)
        assert doc["format"] == "perf-stat" and len(doc["runs"]) == 1
        assert series(doc, "perf:task-clock")["unit"] == "ns"
        faults = series(doc, "perf:page-faults")
        assert 0.5 < faults["value"] / float(csv["page-faults"]) < 2
        if "not supported" in csv["cycles"]:
            assert series(doc, "perf:cycles")["kind"] == "absent"
    assert series(show(tmp_path / "s.csv"), "perf:task-clock")["value"] == float(csv["task-clock"]) * 1e6
    assert series(show(tmp_path / "s.txt"), "elapsed")["value"] > 0
    assert series(show(tmp_path / "r.txt"), "perf:page-faults")["summary"]["n"] == 3


def test_perf_report_and_script(tmp_path):
    perf = tool("perf")
    if not ROOT_USER:
        pytest.skip("perf record -a needs root")
    run(perf, "record", "-q", "-a", "-e", "cpu-clock", "-F", "199", "-o", "p.data", "--", "dd", "if=/dev/zero",
        "of=/dev/null", "bs=64k", "count=20000", cwd=tmp_path)
    report = run(perf, "report", "-i", "p.data", "--stdio", "--sort", "comm", "-F", "overhead,sample,period,comm",
                 cwd=tmp_path).stdout
    script = run(perf, "script", "-i", "p.data", "-F", "comm,pid,tid,cpu,time,period,event,ip,sym,dso",
                 cwd=tmp_path).stdout
    (tmp_path / "r.txt").write_text(report)
    (tmp_path / "s.txt").write_text(script)
    a = series(show(tmp_path / "r.txt"), "time_share", app="dd")
    b = series(show(tmp_path / "s.txt"), "time_share", app="dd")
    printed = float(re.search(r"([\d.]+)%.*\bdd\s*$", report, re.M).group(1))
    assert abs(a["value"] - printed) < 0.01 and abs(b["value"] - printed) < 0.01


def test_bpftrace_text_and_json(tmp_path):
    bpftrace = tool("bpftrace")
    program = "interval:ms:5 { @usecs = hist(nsecs % 4096); @lin = lhist(nsecs % 300, 0, 200, 20); } interval:s:1 { exit(); }"
    for form in ("text", "json"):
        done = run(bpftrace, "-f", form, "-e", program)
        path = tmp_path / f"b.{form}"
        path.write_text(done.stdout)
        doc = show(path)
        usecs, lin = series(doc, "usecs"), series(doc, "lin")
        assert usecs["unit"] == "ns" and lin["unit"] == "1" and usecs["count"] == lin["count"] > 50
        if form == "text":
            want = sum(int(m) for m in re.findall(r"^\[200, \.\.\.\)\s+(\d+)", done.stdout, re.M))
        else:
            data = [json.loads(x)["data"] for x in done.stdout.splitlines() if '"hist"' in x or '"lhist"' in x]
            want = sum(b["count"] for d in data for b in d.get("@lin", []) if "max" not in b)
        assert lin["overflow"] == want


def test_hwlatdetect_without_tracer_is_refused(tmp_path):
    done = run(tool("hwlatdetect"), "--duration=2", may_fail=True)
    path = tmp_path / "hw.txt"
    path.write_text(done.stdout + done.stderr)
    answer = subprocess.run([str(RIGSTAT), "show", str(path)], capture_output=True, text=True)
    if "Max Latency" in done.stdout:
        assert answer.returncode == 0
    else:
        assert answer.returncode == 1 and answer.stderr
