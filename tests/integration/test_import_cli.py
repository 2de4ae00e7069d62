# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat show, import and export: offline, and with a server."""
import gzip
import hashlib
import io
import json
import os
import pty
import re
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from apilib import api  # noqa: F401 (fixture)
from conftest import BUILD, ROOT, wait_until

DATA = ROOT / "tests/data"
LATENCY = DATA / "samples/latency"
RIGSTAT = BUILD / "cli/rigstat"


def rigstat(*words, server=None, stdin=None, status=0, env=None):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RIGSTAT_")}
    environment.update(env or {})
    if server:
        environment["RIGSTAT_SERVER"] = f"http://{server.server.address}"
    done = subprocess.run([str(RIGSTAT), *map(str, words)], input=stdin, capture_output=True, timeout=120,
                          env=environment)
    assert "Sanitizer" not in done.stderr.decode(), done.stderr.decode()
    assert done.returncode == status, (done.returncode, done.stdout.decode()[-500:], done.stderr.decode()[-1500:])
    return done


def show(*words, **kw):
    return json.loads(rigstat("show", "--json", *words, **kw).stdout)


# ---- show ----

def test_show_json_has_intervals_and_notes():
    doc = show(LATENCY / "cyclictest24_hist.txt")
    series = doc["runs"][0]["series"][0]
    assert doc["format"] == "cyclictest"
    assert (series["count"], series["overflow"], series["min"], series["max"]) == (3000, 646, 15000, 3839000)
    assert series["quantiles"]["p50"] == {"answer": "value", "lo": 42000, "hi": 42999, "rank": 1500}
    assert series["quantiles"]["p99"]["answer"] == "at_least" and series["quantiles"]["p99"]["lo"] == 60000
    assert series["quantiles"]["p99.99"]["answer"] == "not_resolvable"
    assert series["labels"] == {"thread": "0"} and series["scheme"] == "linear"
    assert doc["runs"][0]["notes"][0]["code"] == "inferred-unit"


def test_show_text_says_what_is_not_known():
    text = rigstat("show", LATENCY / "cyclictest24_hist.txt").stdout.decode()
    assert "3000 samples, 646 of them at or above 60 us (overflow)" in text
    assert "p99 >= 60 us" in text and "note (inferred-unit)" in text
    text = rigstat("show", LATENCY / "nohist.json").stdout.decode()
    assert "100 samples from 30 us to 916 us; their distribution is not known" in text


def test_show_refuses_with_status_1():
    done = rigstat("show", DATA / "samples/perf/guest-42-metric-only.txt", LATENCY / "ct21.json", status=1)
    assert "only metrics and no counts" in done.stderr.decode()
    assert "ct21.json" in done.stdout.decode()  # the others are shown all the same
    assert "No such file" in rigstat("show", "/nonexistent", status=1).stderr.decode()
    rigstat("show", status=3)
    rigstat("show", "--unit", "parsec", LATENCY / "ct21.json", status=3)


def test_show_options_and_stdin():
    plain = (LATENCY / "ct21_H_1thread.txt").read_bytes()
    doc = show("--unit", "ns", "-", stdin=gzip.compress(plain))
    assert doc["runs"][0]["series"][0]["max"] == 719 and doc["runs"][0]["notes"] == []
    doc = show("--overflow", "100us", LATENCY / "ct210_H_1thread.txt")
    assert doc["runs"][0]["series"][0]["overflow_lo"] == 100000
    assert b"cyclictest" in rigstat("show", "--formats").stdout


def test_gzip_bomb_is_refused_quickly():
    bomb = gzip.compress(b"0" * (64 << 20), 9)
    start = time.monotonic()
    done = rigstat("show", "-", stdin=bomb, status=1)
    assert "inflates to more than" in done.stderr.decode() and time.monotonic() - start < 20


# ---- export: what goes out comes back ----

def summary(doc):
    return [[(s["metric"], s["labels"], s.get("count"), s.get("overflow"), s.get("value"), s.get("min"), s.get("max"),
              s.get("quantiles")) for s in r["series"]] for r in doc["runs"]]


@pytest.mark.parametrize("name", ["latency/ct_stop.json", "latency/fio-3.33-jsonplus.json", "latency/oslat24.json",
                                  "perf/guest-47-cgroup.txt", "latency/bpftrace-0.17.jsonl"])
def test_ndjson_round_trip(name):
    out = rigstat("export", DATA / "samples" / name).stdout
    assert summary(show("-", stdin=out)) == summary(show(DATA / "samples" / name))


def test_csv_round_trip():
    out = rigstat("export", "--to", "csv", DATA / "compare/synth-ab-abba-drift.csv").stdout
    before, after = show(DATA / "compare/synth-ab-abba-drift.csv"), show("-", stdin=out)
    assert summary(after) == summary(before)
    assert [(r["factors"], r["order"]) for r in after["runs"]] == [(r["factors"], r["order"]) for r in before["runs"]]
    rows = rigstat("export", "--to", "csv", LATENCY / "ct_stop.json").stdout.decode().splitlines()
    assert len(rows[0].split(",")) == len(rows[1].split(","))


def test_hlog_round_trip_of_our_own_layout():
    """128 sub-buckets to the power of two are HdrHistogram's with two digits: nothing is lost."""
    def edges(v):
        if v < 256:
            return v, v + 1
        shift = v.bit_length() - 8
        return v >> shift << shift, ((v >> shift) + 1) << shift
    values = sorted({edges(v) for v in (0, 7, 255, 256, 999, 5000, 123456, 10 ** 9, 10 ** 12)})
    run = {"kind": "measured", "state": "ok", "series": [{
        "metric": "wakeup_latency", "kind": "hist", "unit": "ns", "labels": {},
        "hist": {"scheme": "log128", "count": len(values) * 3, "overflow": 0, "negative": 0, "lost": 0,
                 "lo_ns": [v[0] for v in values], "hi_ns": [v[1] for v in values], "n": [3] * len(values)}}]}
    out = rigstat("export", "--to", "hlog", "/dev/stdin", stdin=json.dumps(run).encode()).stdout
    back = json.loads(rigstat("export", "/dev/stdin", stdin=out).stdout)["series"][0]["hist"]
    want = run["series"][0]["hist"]
    assert (back["lo_ns"], back["hi_ns"], back["n"]) == (want["lo_ns"], want["hi_ns"], want["n"])


def test_hlog_and_hgrm_of_a_foreign_grid():
    out = rigstat("export", "--to", "hlog", LATENCY / "ct_stop.json").stdout
    assert b"lower edges of buckets; 2 samples are at or above 1000000 ns" in out
    back = show("-", stdin=out)["runs"][0]["series"][0]
    before = show(LATENCY / "ct_stop.json")["runs"][0]["series"][0]
    assert back["count"] == before["count"]
    for q in ("p50", "p99", "p99.9"):
        assert back["quantiles"][q]["lo"] <= before["quantiles"][q]["lo"] <= back["quantiles"][q]["hi"]
    out = rigstat("export", "--to", "hgrm", LATENCY / "jd_stop/samples.raw").stdout
    assert show("-", stdin=out)["runs"][0]["series"][0]["count"] == 2999
    rigstat("export", "--to", "hgrm", DATA / "compare/synth-ab-abba-drift.csv", status=3)


def test_openmetrics():
    text = rigstat("export", "--to", "openmetrics", LATENCY / "ct_stop.json").stdout.decode().splitlines()
    assert text[0] == "# TYPE rigstat_wakeup_latency_seconds histogram" and text[-1] == "# EOF"
    buckets = [line for line in text if "_bucket{" in line]
    counts = [int(line.rsplit(" ", 1)[1]) for line in buckets]
    assert counts == sorted(counts) and counts[-1] == 3000 and 'le="+Inf"' in buckets[-1]
    assert counts[-2] == 2998  # the overflow is only in +Inf
    assert 'le="3.7999e-05"' in "".join(buckets)


# ---- import ----

def test_import_files(api):  # noqa: F811
    files = [DATA / f"wakeup-delay-2004/{n}.txt" for n in ("iozone-16", "iozone-32")]
    done = rigstat("import", "--experiment", "cli-files", "--set", "load=iozone", *files, server=api)
    assert done.stderr.decode().strip() == "imported 2 files (2 runs), 0 already there, 0 skipped, 0 refused"
    runs = api.get("/runs", {"q": "experiment=cli-files"})["items"]
    assert len(runs) == 2 and all(r["factors"]["load"] == "iozone" for r in runs)
    done = rigstat("import", "--experiment", "cli-files", "--set", "load=iozone", *files, server=api)
    assert "0 files (0 runs), 2 already there" in done.stderr.decode()
    # The same bytes with another label: the server's answer names the way out, the others go on.
    done = rigstat("import", "--experiment", "cli-files", "--set", "load=idle", files[0], server=api, status=3)
    assert "iozone-16.txt" in done.stderr.decode() and "1 refused" in done.stderr.decode()
    hint, = re.findall(r"rigstat (relabel r_\d+) '(load=idle)'", done.stderr.decode())
    rigstat(*hint[0].split(), hint[1], server=api)
    run, = api.get("/runs", {"q": "experiment=cli-files,load=idle"})["items"]
    assert run["factors"] == {"load": "idle"}
    rigstat("relabel", "r_1", server=api, status=3)
    mine = next(i["id"] for i in api.get("/imports")["items"] if i["source"].endswith("iozone-32.txt"))
    rigstat("import", "--undo", mine, server=api)
    assert len(api.get("/runs", {"q": "experiment=cli-files"})["items"]) == 1


def test_import_dry_run_stores_nothing(api):  # noqa: F811
    done = rigstat("import", "--dry-run", "--json", "--experiment", "cli-dry", LATENCY / "ct21.json", server=api)
    doc = json.loads(done.stdout)
    assert doc["dry_run"] and doc["format"] == "rt-tests-json"
    assert done.stderr.decode().startswith("would import 1 file")
    assert api.get("/runs", {"q": "experiment=cli-dry"})["items"] == []


def test_import_larger_than_the_server_takes(api, tmp_path):  # noqa: F811
    """Above 32 MiB the runs are made here: same figures, and the run says that the original is not kept."""
    block = "".join(f"{k % 4};{k}.{k % 997:09d};{k % 97}\n" for k in range(97 * 4 * 100)).encode()
    times = (33 << 20) // len(block) + 1
    big = tmp_path / "big <b>.csv"
    big.write_bytes(block * times)
    rigstat("import", "--experiment", "cli-big", "--set", "box=a", "--unit", "ns", "--format", "jitterdebugger-csv",
            big, server=api)
    exported = json.loads(rigstat("export", "experiment=cli-big,box=a", server=api).stdout)
    note = next(n for n in exported["notes"] if n["code"] == "original-not-kept")
    assert hashlib.sha256(big.read_bytes()).hexdigest() in note["text"]
    assert [s["hist"]["count"] for s in exported["series"]] == [times * 9700] * 4
    done = rigstat("import", "--experiment", "cli-big", "--set", "box=a", "--unit", "ns", big, server=api)
    assert "0 files (0 runs), 1 already there" in done.stderr.decode()


def test_a_file_that_is_cut_off_while_it_is_read_ends_with_a_message(tmp_path):
    path = tmp_path / "shrinks.csv"
    path.write_bytes(b"0;1.5;7\n" * (8 << 20))
    p = subprocess.Popen([RIGSTAT, "show", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until("the file is mapped", lambda: "shrinks.csv" in Path(f"/proc/{p.pid}/maps").read_text())
    os.truncate(path, 4096)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 4 and b"was cut off" in err and not out, (p.returncode, out, err)


def test_import_folder_and_archives(api, tmp_path):  # noqa: F811
    folder = tmp_path / "work/log/6.12-rt/iter-0/cyclictest/logs"
    folder.mkdir(parents=True)
    (folder / "cyclictest.log").write_bytes((LATENCY / "ct_H.txt").read_bytes())
    (folder / "notes.txt").write_text("nothing to read here\n")
    (folder / "cpus_online").write_text("2\n")  # a number, but no result
    (folder / ".hidden").write_text("1\n")
    (folder / "loop").symlink_to(tmp_path)
    done = rigstat("import", "--experiment", "cli-folder", tmp_path / "work", server=api)
    assert "imported 1 file (1 run), 0 already there, 3 skipped, 0 refused" in done.stderr.decode()
    run, = api.get("/runs", {"q": "experiment=cli-folder"})["items"]
    assert run["factors"] == {"mmtests_run": "6.12-rt"}
    blob = io.BytesIO()
    long_name = "deep/" * 40 + "fio.json"
    with tarfile.open(fileobj=blob, mode="w:gz") as tar:
        for name, path in ((long_name, LATENCY / "fio-3.33-jsonplus.json"), ("a/uname", LATENCY / "jd_run1/uname"),
                           ("b.json", LATENCY / "nohist.json")):
            tar.add(path, name)
    archive = tmp_path / "results.tar.gz"
    archive.write_bytes(blob.getvalue())
    done = rigstat("import", "--experiment", "cli-tar", archive, server=api)
    assert "imported 2 files (2 runs), 0 already there, 1 skipped, 0 refused" in done.stderr.decode()
    sources = [i["source"] for i in api.get("/imports")["items"]]
    assert f"{archive}/{long_name}" in sources
    archive.write_bytes(gzip.compress(gzip.decompress(blob.getvalue())[:2000]))
    done = rigstat("import", "--experiment", "cli-tar", archive, server=api, status=3)
    assert "cut off" in done.stderr.decode()


def test_import_jitterdebugger_folder_is_one_run(api):  # noqa: F811
    done = rigstat("import", "--experiment", "cli-jd", LATENCY / "jd_run1", server=api)
    assert "imported 1 file (1 run), 0 already there, 3 skipped" in done.stderr.decode()
    run, = api.get("/runs", {"q": "experiment=cli-jd"})["items"]
    assert run["summary"]["count"] == 9389


def test_import_errors_are_summed_up(api, tmp_path):  # noqa: F811
    bad = "Delay Count\n5 2\n...\n"
    for i in range(30):
        (tmp_path / f"{i:02d}.txt").write_text(bad if i % 3 else f"Delay Count\n{i + 1} 2\n")
    done = rigstat("import", "--experiment", "cli-errors", tmp_path, server=api, status=3)
    text = done.stderr.decode()
    assert text.count("rows were left out") == 20  # one line each, the first ones
    assert text.strip().endswith("imported 10 files (10 runs), 0 already there, 0 skipped, 20 refused")


def test_import_without_server(tmp_path):
    done = rigstat("import", LATENCY / "ct21.json", LATENCY / "ct210.json", status=4,
                   env={"RIGSTAT_SERVER": "http://127.0.0.1:9"})
    assert done.stderr.decode().count("rigstat-server running") == 1  # the second file was not tried
    rigstat("import", LATENCY / "ct21.json", status=3)  # no server named


def test_import_watch(api, tmp_path):  # noqa: F811
    (tmp_path / "first.txt").write_text("Delay Count\n5 2\n")
    env = {**os.environ, "RIGSTAT_SERVER": f"http://{api.server.address}"}
    process = subprocess.Popen([str(RIGSTAT), "import", "--experiment", "cli-watch", "--watch", str(tmp_path)],
                               env=env, stderr=subprocess.PIPE)
    try:
        def runs():
            return len(api.get("/runs", {"q": "experiment=cli-watch"})["items"])
        wait_until("the file that was there", lambda: runs() == 1)
        with open(tmp_path / "second.txt", "w") as f:
            f.write("Delay Count\n6 ")
            f.flush()
            time.sleep(0.3)
            assert runs() == 1  # not before it is finished
            f.write("3\n")
        wait_until("the finished file", lambda: runs() == 2)
        (tmp_path / ".part").write_text("Delay Count\n7 3\n")
        (tmp_path / ".part").rename(tmp_path / "third.txt")
        wait_until("the renamed file", lambda: runs() == 3)
    finally:
        process.terminate()
        _, stderr = process.communicate(timeout=20)
    assert process.returncode == 0 and b"imported 3 files" in stderr, stderr


def test_export_from_server(api):  # noqa: F811
    rigstat("import", "--experiment", "cli-export", "--set", "h=60", LATENCY / "cyclictest24.json", server=api)
    out = rigstat("export", "experiment=cli-export", server=api).stdout
    back, before = show("-", stdin=out), show(LATENCY / "cyclictest24.json")
    assert summary(back) == summary(before) and back["runs"][0]["factors"] == {"h": "60"}
    hlog = rigstat("export", "--to", "hlog", "experiment=cli-export", server=api).stdout
    assert sum(s["count"] for s in show("-", stdin=hlog)["runs"][0]["series"]) == 6000
    done = rigstat("export", "experiment=no-such-thing", server=api, status=3)
    assert done.stderr


def test_ten_thousand_files_are_one_command(api, tmp_path):  # noqa: F811
    n = int(os.environ.get("RIGSTAT_MANY_FILES", "300"))
    for i in range(n):
        (tmp_path / f"{i:05d}.txt").write_text(f"Delay Count\n{i + 1} 77\n")
    done = rigstat("import", "--experiment", "cli-many", tmp_path, server=api)
    assert f"imported {n} files ({n} runs)" in done.stderr.decode()


def test_progress_on_a_terminal(api, tmp_path):  # noqa: F811
    for i in range(40):
        (tmp_path / f"{i:05d}.txt").write_text(f"Delay Count\n{i + 1} 78\n")
    leader, follower = pty.openpty()
    env = {**os.environ, "RIGSTAT_SERVER": f"http://{api.server.address}"}
    process = subprocess.Popen([str(RIGSTAT), "import", "--experiment", "cli-tty", str(tmp_path)], env=env,
                               stderr=follower)
    os.close(follower)
    seen = b""
    try:
        while chunk := os.read(leader, 4096):
            seen += chunk
    except OSError:  # the terminal closes with its last writer
        pass
    os.close(leader)
    assert process.wait(60) == 0
    assert b"32 files read, 31 imported, 0 failed" in seen and b"imported 40 files (40 runs)" in seen
