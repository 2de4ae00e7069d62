# SPDX-License-Identifier: GPL-2.0-or-later
"""`rigstat compare`, `gate` and `check-report` on files, as a person or a CI job runs them.

Expected figures are those of the two founding posts and of scipy, never of rigstat itself."""
import csv
import http.server
import io
import json
import os
import pathlib
import re
import subprocess
import threading
import xml.etree.ElementTree as ET

import pytest
from scipy import stats

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("RIGSTAT_BUILD", ROOT / "build-test"))
RIGSTAT = BUILD / "cli" / "rigstat"
DATA = ROOT / "tests" / "data"
DELAYS = [DATA / "wakeup-delay-2004" / f"iozone-{kb}.txt" for kb in (64, 32, 16)]
SUMMARY = DATA / "rq-affinity-2008" / "summary.csv"
COMPARE = DATA / "compare"


def rigstat(*args, status=0, env=None, stdin=None):
    """Runs the program; fails on another exit status or a sanitizer report."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("RIGSTAT_")}
    done = subprocess.run([RIGSTAT, *map(str, args)], capture_output=True, input=stdin,
                          env={**clean, "HOME": "/nonexistent", **(env or {})}, timeout=120)
    done.out = done.stdout.decode()
    done.err = done.stderr.decode()
    assert "Sanitizer" not in done.err, done.err
    assert done.returncode == status, f"{done.returncode}: {done.err}\n{done.out}"
    return done


def document(*args):
    return json.loads(rigstat("compare", "--json", *args).out)


def row(doc, stat):
    return next(r for r in doc["rows"] if r["stat"] == stat)


def columns(tmp_path, name, values):
    path = tmp_path / name
    path.write_text("".join(f"{v}\n" for v in values))
    return path


A = [70.412, 69.981, 70.305, 70.118, 70.562, 69.874, 70.233, 70.391, 70.047, 70.387]
B = [71.688, 71.302, 71.544, 71.417, 71.861, 71.209, 71.498, 71.633, 71.381, 71.677]


# --- the founding data ---

def test_2004_tables():
    doc = document(*DELAYS)
    assert doc["sides"] == ["iozone-64.txt", "iozone-32.txt", "iozone-16.txt"]
    first, second = doc["items"]
    for stat, values in {"p50": (12, 10, 10), "max": (161, 132, 101)}.items():
        assert row(first, stat)["a"]["avg"] == values[0] * 1000
        assert row(first, stat)["b"]["avg"] == values[1] * 1000
        assert row(second, stat)["b"]["avg"] == values[2] * 1000
    assert [first["tail"]["a"]["above"], first["tail"]["b"]["above"],
            second["tail"]["b"]["above"]] == [28, 77, 58]
    assert first["tail"]["threshold_ns"] == second["tail"]["threshold_ns"] == 47000
    for item in doc["items"]:
        assert item["verdict"]["word"] == "not_enough_runs"
        assert item["a"]["samples"] == item["b"]["samples"] == 10400
        assert item["charts"]["ccdf"]["x"]
    assert doc["trend"]["reading"] == "not_enough_runs"


def test_2004_text():
    text = rigstat("compare", *DELAYS).out
    assert max(map(len, text.splitlines())) <= 76
    assert text.isascii()
    assert re.search(r"max +us +161\.0 +132\.0 +101\.0", text)
    assert re.search(r"p50 +us +12\.00 +10\.00 +10\.00", text)
    assert "28 of 10,400" in text and "77 of 10,400" in text and "58 of 10,400" in text
    assert "Hypothesis, not a verdict" in text
    assert text.count("verdict: not_enough_runs") == 2


@pytest.mark.parametrize("name, text", [("2004", None), ("2008-stalls", "unstalled_instructions"),
                                        ("2008-cycles", "cycles_in_application")])
def test_golden_text(name, text):
    """The whole text of the founding comparisons, read and approved by eye."""
    args = DELAYS if text is None else ["--metric", text, SUMMARY]
    assert rigstat("compare", *args).out == (COMPARE / f"golden-{name}.txt").read_text()


def test_2008_summary():
    doc = document("--metric", "unstalled_instructions", SUMMARY)
    assert doc["verdict"]["word"] == "unclear"
    assert row(doc, "mean")["delta"]["p"] == pytest.approx(0.46345, abs=1e-4)
    assert row(doc, "sdev")["delta"]["reading"] == "lower"
    doc = document("--metric", "cycles_in_application", SUMMARY)
    assert doc["verdict"]["word"] == "better"
    assert row(doc, "mean")["delta"]["rel"] == pytest.approx(0.0184, abs=5e-5)
    assert row(doc, "mean")["delta"]["p"] < 1e-5


def test_all_metrics():
    done = rigstat("compare", "--json", "--metric", "all", SUMMARY)
    words = {d["metric"]["name"]: d["verdict"]["word"] for d in json.loads(done.out)["items"]}
    assert words == {"unstalled_instructions": "unclear", "cycles_in_application": "better"}
    assert "also have cycles_in_application" in rigstat("compare", SUMMARY).err


# --- plain columns ---

def test_columns_against_scipy(tmp_path):
    doc = document("--better", "higher", columns(tmp_path, "a.txt", A), columns(tmp_path, "b.txt", B))
    methods = doc["methods"]["mean"]
    welch = stats.ttest_ind(B, A, equal_var=False)
    assert methods["welch"]["t"] == pytest.approx(welch.statistic, rel=1e-9)
    assert methods["welch"]["p"] == pytest.approx(welch.pvalue, rel=1e-9)
    u = stats.mannwhitneyu(B, A, method="exact")
    assert methods["mann_whitney"]["p"] == pytest.approx(u.pvalue, rel=1e-9)
    f = stats.levene(A, B, center="median")
    assert methods["brown_forsythe"]["p"] == pytest.approx(f.pvalue, rel=1e-9)
    assert doc["verdict"]["word"] == "better"
    assert "order_unknown" in [r["code"] for r in doc["verdict"]["reasons"]]


def test_several_files_a_side(tmp_path):
    files = [columns(tmp_path, f"{i}.txt", part) for i, part in
             enumerate([A[:5], A[5:], B[:5], B[5:]])]
    doc = document("--a", files[0], files[1], "--b", files[2], files[3])
    whole = document(columns(tmp_path, "a.txt", A), columns(tmp_path, "b.txt", B))
    assert row(doc, "mean")["a"] == pytest.approx(row(whole, "mean")["a"])
    assert doc["a"]["n"] == doc["b"]["n"] == 10


def test_one_run_a_side(tmp_path):
    doc = document(columns(tmp_path, "a.txt", A[:1]), columns(tmp_path, "b.txt", B[:1]))
    assert doc["verdict"]["word"] == "not_enough_runs"
    assert row(doc, "mean")["delta"]["abs"] == pytest.approx(B[0] - A[0])


def test_drift_is_not_a_change():
    doc = document("--by", "arm", COMPARE / "synth-aa-sequential-drift.csv")
    assert doc["verdict"]["word"] == "unclear"
    assert doc["design"]["confounded"] is True
    doc = document("--by", "arm", "--better", "lower", COMPARE / "synth-ab-abba-drift.csv")
    assert doc["verdict"]["word"] == "better"


# --- distributions ---

@pytest.fixture(scope="module")
def synth(tmp_path_factory):
    """The synthetic histogram runs as run documents, one a line."""
    path = tmp_path_factory.mktemp("synth") / "runs.ndjson"
    with open(COMPARE / "synth-histogram-runs.json") as f:
        runs = json.load(f)["runs"]
    with open(path, "w") as f:
        for r in runs:
            bins = [(k * 1000, (k + 1) * 1000, n) for k, n in enumerate(r["counts"]) if n]
            lo, hi, n = (list(v) for v in zip(*bins))
            f.write(json.dumps({
                "kind": "measured", "state": "ok", "host": "box1", "experiment": "synth",
                "factors": {"arm": r["arm"]}, "order": r["order"], "block": r["pair"],
                "measured_ns": 200 * 10**9, "series": [{
                    "metric": "wakeup_latency", "kind": "hist", "unit": "ns", "resolution_ns": 1000,
                    "hist": {"scheme": "linear", "base_ns": 0, "width_ns": 1000, "count": sum(n),
                             "lo_ns": lo, "hi_ns": hi, "n": n}}]}) + "\n")
    return path, runs


def grouped_quantile(counts, q):
    """Linear interpolation inside the bin that holds rank q * N, in ns."""
    rank, below = q * sum(counts), 0
    for k, n in enumerate(counts):
        if below + n >= rank and n:
            return 1000 * (k + (rank - below) / n)
        below += n
    raise AssertionError


def test_shift_and_its_bands(synth):
    """Delete-one-block jackknife over pooled histograms, computed anew here."""
    path, runs = synth
    shift = document("--by", "arm", path)["charts"]["shift"]
    assert shift["q"] == [.1, .2, .3, .4, .5, .6, .7, .8, .9, .99, .999, .9999]
    pairs = sorted({r["pair"] for r in runs})

    def delta(q, without=None):
        pooled = {arm: [sum(c) for c in zip(*(r["counts"] for r in runs if r["arm"] == arm and
                                               r["pair"] != without))] for arm in "AB"}
        return grouped_quantile(pooled["B"], q) - grouped_quantile(pooled["A"], q)

    for i, q in enumerate(shift["q"]):
        loo = [delta(q, p) for p in pairs]
        n, mean = len(loo), sum(loo) / len(loo)
        se = ((n - 1) / n * sum((v - mean) ** 2 for v in loo)) ** 0.5
        half = stats.t.ppf(0.975, n - 1) * se
        assert shift["delta"][i] == pytest.approx(delta(q), rel=1e-4, abs=0.01)
        assert shift["lo"][i] == pytest.approx(delta(q) - half, rel=1e-4, abs=0.01)
        assert shift["hi"][i] == pytest.approx(delta(q) + half, rel=1e-4, abs=0.01)


def test_exceedance(synth):
    path, runs = synth
    doc = document("--by", "arm", "--stat", "over(50us)", path)
    counts = {arm: [sum(r["counts"][50:]) for r in runs if r["arm"] == arm] for arm in "AB"}
    assert doc["tail"]["a"]["above"] == sum(counts["A"])
    assert doc["tail"]["b"]["above"] == sum(counts["B"])
    assert row(doc, "over(50us)")["a"]["avg"] == pytest.approx(sum(counts["A"]) / 10 * 18)  # an hour
    ccdf = doc["charts"]["ccdf"]
    k = ccdf["x"].index(40000)
    share = [sum(r["counts"][40:]) / sum(r["counts"]) for r in runs if r["arm"] == "A"]
    assert ccdf["a_band"][k] == pytest.approx([min(share), max(share)], rel=1e-5)


def test_return_level(synth):
    """10 runs of 200 s are 33 minutes: the level is exceeded 33.3 times in each side."""
    path, runs = synth
    level = document("--by", "arm", path)["tail"]["return_level"]
    assert level["per"] == "minute"
    for side, arm in (("a", "A"), ("b", "B")):
        pooled = [sum(c) for c in zip(*(r["counts"] for r in runs if r["arm"] == arm))]
        k = int(level[side]["lo"]) // 1000
        assert sum(pooled[k + 1:]) < 2000 / 60 <= sum(pooled[k:])


def test_mixed(synth):
    """p50 far better, the tail clearly worse: neither word alone."""
    path, runs = synth
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for run in lines:
        h = run["series"][0]["hist"]
        if run["factors"]["arm"] == "B":  # all 3 us faster, but a share of the tail 40 us later
            rows = [(lo - 3000 if lo < 20000 else lo + 40000, n) for lo, n in zip(h["lo_ns"], h["n"])]
            rows = sorted(r for r in rows if r[0] >= 0)
            h["lo_ns"], h["n"] = [list(v) for v in zip(*rows)]
            h["hi_ns"] = [lo + 1000 for lo in h["lo_ns"]]
            h["count"] = sum(h["n"])
    other = path.parent / "mixed.ndjson"
    other.write_text("".join(json.dumps(r) + "\n" for r in lines))
    doc = document("--by", "arm", other)
    assert row(doc, "p99")["delta"]["reading"] == "better"
    assert row(doc, "p99.9")["delta"]["reading"] == "worse"
    assert doc["verdict"]["word"] == "mixed"
    assert "better in one respect and worse in another" in doc["verdict"]["sentence"]


# --- forms ---

def test_csv_and_markdown(tmp_path):
    a, b = columns(tmp_path, "a.txt", A), columns(tmp_path, "b.txt", B)
    rows = list(csv.DictReader(io.StringIO(rigstat("compare", "--csv", a, b).out)))
    assert float(rows[0]["a_avg"]) == pytest.approx(sum(A) / 10)
    assert rows[0]["verdict"] == "unclear"  # a change, but no direction is known
    text = rigstat("compare", "--markdown", a, b).out
    assert text.startswith("### ") and "| mean | A |" in text


@pytest.mark.parametrize("chart", ["histogram", "percentiles", "shift", "ccdf", "runs"])
@pytest.mark.parametrize("theme", [[], ["--dark"]])
def test_svg(chart, theme):
    root = ET.fromstring(rigstat("compare", "--svg", chart, *theme, *DELAYS[:2]).out)
    assert root.tag.endswith("svg")
    assert not [e for e in root.iter() if e.tag.endswith("script")]


def test_svg_without_distribution():
    done = rigstat("compare", "--svg", "histogram", "--metric", "cycles_in_application", SUMMARY,
                   status=3)
    assert "no distribution" in done.err


def test_hostile_names(tmp_path):
    path = tmp_path / "<script>|`x`\xff.txt".encode("latin-1").decode("utf-8", "surrogateescape")
    path.write_text("1\n2\n3\n")
    other = columns(tmp_path, "b.txt", [1, 2, 4])
    json.loads(rigstat("compare", "--json", path, other).out)
    assert rigstat("compare", path, other).out.isascii()
    assert "<script>" not in rigstat("compare", "--markdown", path, other).out
    assert b"<script>" not in rigstat("compare", "--svg", "runs", path, other).stdout


# --- usage ---

def test_help_begins_with_examples():
    for verb in ("compare", "gate", "check-report", "hosts", "runs", "experiments", "pin"):
        lines = rigstat(verb, "-h").out.splitlines()
        assert lines[0].startswith("  rigstat ") or lines[0].startswith("  git ")
        assert "Exit status" in "\n".join(lines)


@pytest.mark.parametrize("args, text", [
    (["compar"], 'did you mean "compare"'),
    (["compare", "--jsn"], "did you mean --json"),
    (["compare"], "name the files"),
    (["compare", "--stat", "p101", *DELAYS[:2]], "no statistic"),
    (["compare", "--margin", "-1", *DELAYS[:2]], "negative"),
    (["compare", "--metric", "nonsense", *DELAYS[:2]], "A has: wakeup_latency"),
    (["compare", "--confidence", "2", *DELAYS[:2]], "0.95"),
    (["compare", "/nonexistent/a", "/nonexistent/b"], "/nonexistent/a"),
    (["compare", "--primary", "p99", SUMMARY], "one number a run"),
    (["compare", "--a", "f=0", "--b", "f=1"], "which server"),
    (["gate", *DELAYS[:2]], "no rule"),
    (["gate", "--rule", "p99<5%", *DELAYS[:2]], "write STATISTIC<=LIMIT"),
])
def test_usage_errors(args, text):
    assert text in rigstat(*args, status=3).err


# --- gate ---

def gate(*args, status):
    return json.loads(rigstat("gate", "--json", *args, status=status).out)["gate"]


def test_gate_statuses():
    cycles = ["--metric", "cycles_in_application", SUMMARY, "--by", "rq_affinity"]
    assert gate("--rule", "mean>=-2%", *cycles, status=0)["result"] == "pass"
    assert gate("--rule", "mean<=+1%", *cycles, status=1)["result"] == "fail"
    # The interval is +1.44 to +2.23 %.
    assert gate("--rule", "mean<=+2%", *cycles, status=2)["result"] == "inconclusive"
    assert gate("--rule", "mean<=+2%", "--mode", "prove", *cycles, status=1)["result"] == "fail"
    assert gate("--rule", "mean<=+1.5%", "--mode", "strict", *cycles, status=1)["result"] == "fail"
    rigstat("gate", "--rule", "mean<=+2%", "--inconclusive", "pass", *cycles, status=0)
    rigstat("gate", "--rule", "mean<=+2%", "--inconclusive", "fail", *cycles, status=1)


def test_gate_of_maximum_and_few_runs():
    assert gate("--rule", "max<=132us", *DELAYS[:2], status=0)["result"] == "pass"
    assert gate("--rule", "max<=131us", *DELAYS[:2], status=1)["result"] == "fail"
    assert gate("--rule", "p99<=+5%", *DELAYS[:2], status=2)["result"] == "inconclusive"


def soak(tmp_path, hours, above):
    """One run of 1 kHz wake-ups, `above` of them at 150 us."""
    n = 1000 * 3600 * hours
    path = tmp_path / "soak.json"
    path.write_text(json.dumps({
        "kind": "measured", "state": "ok", "measured_ns": hours * 3600 * 10**9, "series": [{
            "metric": "wakeup_latency", "kind": "hist", "unit": "ns", "hist": {
                "scheme": "edges", "count": n, "lo_ns": [5000, 150000][:1 + bool(above)],
                "hi_ns": [6000, 151000][:1 + bool(above)],
                "n": [n - above, above][:1 + bool(above)]}}]}))
    return path


@pytest.mark.parametrize("hours, above, status, result", [
    (2, 0, 2, "inconclusive"), (4, 0, 0, "pass"), (10, 40, 1, "fail"), (100, 50, 0, "pass")])
def test_gate_of_a_soak(tmp_path, hours, above, status, result):
    """Upper Poisson bound at 95 %: 3.0 events for none, so 3 h show a rate below 1/h."""
    g = gate("--rule", "over(100us)<=1/h", soak(tmp_path, hours, above), status=status)
    assert g["result"] == result
    upper = stats.chi2.ppf(0.95, 2 * (above + 1)) / 2 / hours
    assert g["rules"][0]["ci"][1] == pytest.approx(upper, rel=1e-6)
    if hours == 2:
        assert "0.996 h more" in g["rules"][0]["why"]


def test_gate_self_refuses_below_noise(tmp_path):
    a = COMPARE / "synth-aa-abba-drift.csv"
    assert "refused" in rigstat("gate", "--self", "--rule", "mean<=+0.1%", "--a", a, status=2).out
    report = json.loads(rigstat("gate", "--self", "--json", "--rule", "mean<=+5%", "--a", a).out)
    assert report["rules"][0]["refused"] is False
    assert 0 < report["rules"][0]["noise_rel"] < 0.02


def test_gate_junit():
    out = rigstat("gate", "--junit", "--rule", "max<=131us", "--rule", "p99<=+5%", *DELAYS[:2],
                  status=1).out
    suite = ET.fromstring(out)
    assert suite.attrib == {"name": "rigstat gate", "tests": "2", "failures": "1", "errors": "1"}


# --- check-report ---

REPORT = DATA / "reports" / "rq-affinity-2008.txt"


def test_check_report():
    out = rigstat("check-report", REPORT, status=1).out
    assert "70.123" in out and "70.231" in out and "0.154 %" in out and "1.84 %" in out
    assert "1.95" not in out  # that claim is consistent
    doc = json.loads(rigstat("check-report", "--json", REPORT, status=1).out)
    assert {f["code"] for f in doc["findings"]} == {"quote", "transposed", "percent_prose"}


def test_check_report_clean_and_empty():
    text = REPORT.read_text().replace("70.123", "70.231").replace("1.99", "1.84")
    assert "agree with each other" in rigstat("check-report", "-", stdin=text.encode()).out
    assert "no figures" in rigstat("check-report", "-", stdin=b"hello", status=3).out
    assert "/nonexistent" in rigstat("check-report", "/nonexistent", status=3).err


# --- a server, as far as the client is concerned ---

class Fake(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_GET(self):
        type(self).seen.append((self.path, self.headers.get("Authorization")))
        if self.path.startswith("/api/v1/hosts"):
            more = "cursor" not in self.path
            body = {"items": [{"name": "box1" if more else "box2", "state": "online", "tags": {}}],
                    "next": "/api/v1/hosts?cursor=x" if more else None}
            self.reply(200, json.dumps(body))
        elif self.path.startswith("/api/v1/compare"):
            self.reply(200, "the text\n", {"X-Gate": "fail"})
        else:
            self.reply(404, json.dumps({"title": "Not here", "detail": "no such run",
                                        "hint": "look at /runs"}))

    def reply(self, status, text, headers=None):
        self.send_response(status)
        for k, v in (headers or {}).items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def fake():
    Fake.seen = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_lists_follow_pages(fake):
    out = rigstat("hosts", "--server", fake)
    assert "box1" in out.out and "box2" not in out.out and "--all" in out.err
    assert "box2" in rigstat("hosts", "--server", fake, "--all").out
    items = json.loads(rigstat("hosts", "--json", "--all", env={"RIGSTAT_SERVER": fake}).out)
    assert [h["name"] for h in items["items"]] == ["box1", "box2"]


def test_token_and_selectors(fake, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    out = rigstat("compare", "--server", fake, "--a", "experiment=rq,f=0", "--b", "f in (1,2)",
                  "--stat", "p50,p99", "--margin", "5%", env={"RIGSTAT_TOKEN_FILE": str(token)})
    assert out.out == "the text\n"
    path, auth = Fake.seen[-1]
    assert auth == "Bearer s3cret"
    assert "a=experiment%3Drq%2Cf%3D0" in path and "b=f%20in%20%281%2C2%29" in path
    assert "stat=p50%2Cp99" in path and "margin=5%25" in path and "format=text" in path


def test_gate_from_server(fake):
    rigstat("gate", "--server", fake, "--a", "f=0", "--b", "f=1", "--rule", "p99<=+5%", status=1)


def test_problem_and_no_server(fake):
    err = rigstat("runs", "--server", fake, status=3).err
    assert "Not here: no such run" in err and "look at /runs" in err
    assert "running there" in rigstat("hosts", "--server", "http://127.0.0.1:9", status=4).err
    assert "RIGSTAT_SERVER" in rigstat("hosts", status=3).err
