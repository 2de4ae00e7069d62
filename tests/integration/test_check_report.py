# SPDX-License-Identifier: GPL-2.0-or-later
"""rigstat check-report: on the 2008 figures, and on what rigstat itself prints."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIGSTAT = pathlib.Path(os.environ.get("RIGSTAT_BUILD", ROOT / "build-test")) / "cli" / "rigstat"
DATA = ROOT / "tests" / "data"


def rigstat(*args, stdin=""):
    return subprocess.run([RIGSTAT, *map(str, args)], input=stdin, capture_output=True, text=True, timeout=60)


def test_2008_figures_contradict_each_other():
    r = rigstat("check-report", DATA / "reports" / "rq-affinity-2008.txt")
    assert r.returncode == 1, r.stderr
    assert "the text says 70.123, the table's average is 70.231" in r.stdout
    assert "probably transposed" in r.stdout
    assert "1.99 % follows only from 70.123" in r.stdout
    assert r.stdout.endswith("3 findings in 4 rows and 2 claims\n")


def test_json_names_line_code_and_bounds():
    r = rigstat("check-report", "--json", DATA / "reports" / "rq-affinity-2008.txt")
    doc = json.loads(r.stdout)
    assert r.returncode == 1
    assert [f["code"] for f in doc["findings"]] == ["quote", "transposed", "percent_prose"]
    assert {f["line"] for f in doc["findings"]} == {9}
    assert doc["findings"][2]["lo"] < 100 * (71.520 / 70.231 - 1) < doc["findings"][2]["hi"]


@pytest.mark.parametrize("files", [
    ["rq-affinity-2008/summary.csv", "--by", "rq_affinity"],
    ["wakeup-delay-2004/iozone-64.txt", "wakeup-delay-2004/iozone-32.txt"],
    ["compare/synth-ab-abba-drift.csv", "--by", "arm"],
])
@pytest.mark.parametrize("form", [[], ["--markdown"]])
def test_our_own_reports_agree_with_themselves(files, form):
    args = [DATA / f if "/" in f else f for f in files]
    printed = rigstat("compare", *args, *form)
    assert printed.returncode == 0, printed.stderr
    r = rigstat("check-report", "-", stdin=printed.stdout)
    assert r.returncode == 0, r.stdout + printed.stdout
    assert "agree with each other" in r.stdout


def test_one_wrong_digit_in_our_own_report_is_found():
    printed = rigstat("compare", DATA / "rq-affinity-2008" / "summary.csv", "--by", "rq_affinity")
    assert "5.04" in printed.stdout
    r = rigstat("check-report", "-", stdin=printed.stdout.replace("5.04", "5.40"))
    assert r.returncode == 1
    assert "range 5.40 is not max - min" in r.stdout


def test_usage_and_missing_file():
    assert rigstat("check-report").returncode == 3
    missing = rigstat("check-report", "/nonexistent/report.txt")
    assert missing.returncode in (3, 4) and "/nonexistent/report.txt" in missing.stderr
    empty = rigstat("check-report", "-", stdin="")
    assert empty.returncode == 3 and "no figures to check" in empty.stdout
