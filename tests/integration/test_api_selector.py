# SPDX-License-Identifier: GPL-2.0-or-later
"""Selectors mean the same in SQL as in C: the cases of tests/unit/common/test_selector.c on the same run."""
import re

import pytest

from apilib import ROOT, api, value_run  # noqa: F401 (fixture)

SOURCE = (ROOT / "tests/unit/common/test_selector.c").read_text()
CASES = [(re.sub(r"\\(.)", r"\1", text), want == "true")
         for text, want in re.findall(r'holds\(r, "((?:[^"\\]|\\.)*)", (true|false)\)', SOURCE)]


@pytest.fixture(scope="module")
def run(api):
    doc = {
        "uid": "8f14e45fceea167a5a36dedd4bea2543", "kind": "measured", "state": "ok", "host": "olab-12",
        "experiment": "rq", "factors": {"rq_affinity": "0", "size": "9.5", "commit": "6.12.10"},
        "tags": {"rack": 'a, "b"', "rq_affinity": "tagged"}, "started": "2026-11-02T10:00:00Z",
        "measured_ns": 30 * 10**9, "order": 3, "environment": {"kernel.release": "6.12.9-rt7", "cpu.count": 32},
        "series": [{"metric": "wakeup_latency", "kind": "value", "unit": "ns", "value": 1},
                   {"metric": "elapsed", "kind": "value", "unit": "ns", "value": 2}]}
    # Others must not be chosen in its stead.
    api.send("POST", "/runs", value_run(1, "other"), 201)
    return api.send("POST", "/runs", doc, 201)["items"][0]["id"]


def test_there_are_cases():
    assert len(CASES) > 45


@pytest.mark.parametrize("text,want", CASES)
def test_same_meaning_as_in_c(api, run, text, want):
    ids = [r["id"] for r in api.get("/runs", {"q": text, "limit": 1000})["items"]]
    assert (run in ids) == want


@pytest.mark.parametrize("text,want", [
    ("run={run}", True), ("run=r_999999", False), ("run in ({run},r_999999)", True), ("run!={run}", False),
    ("run~8f14", True), ("experiment={e}", True), ("experiment in ({e},x)", True), ("experiment!={e}", False),
    ("experiment~r", True), ("demo=false", True), ("demo=true", False), ("import=i_1", False), ("import!=i_1", True),
    ("size<10,size>9", True), ("size>9.6", False), ("env.cpu.count in (32)", True), ("env.none!=x", True),
    ("kernel=6.12.9-rt7", True), ("kernel~6.12.9*rt?", True), ("kernel=6.12..6.13", True),
    ("commit~6.12.1?", True), ("commit~6_12", False), ("rack~a%", False), ("rack~\"a, \"", True), ("uid~8f", True)])
def test_what_only_the_server_knows(api, run, text, want):
    e = api.get(f"/runs/{run}")["experiment_id"]
    ids = [r["id"] for r in api.get("/runs", {"q": text.format(run=run, e=e), "limit": 1000})["items"]]
    assert (run in ids) == want


@pytest.mark.parametrize("text", ["x=' or true --", "host=\"'; drop table rigstat.run; --\"", "x~\"%' or '1'='1\"",
                                  "\"a'b\"=1", "x=$1", "env.\"=1", "x in ('a','b')"])
def test_no_text_becomes_sql(api, run, text):
    reply = api.call("GET", "/runs", {"q": text})
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert run not in [r["id"] for r in reply.json()["items"]]
    assert api.get(f"/runs/{run}")["state"] == "ok"


def test_many_terms_and_values(api, run):
    q = ",".join(f"f{i}!=x" for i in range(63)) + ",size in (" + ",".join(str(i) for i in range(300)) + ",9.5)"
    assert run in [r["id"] for r in api.get("/runs", {"q": q, "limit": 1000})["items"]]
    api.get("/runs", {"q": q + ",a=1"}, 400)
    worst = ",".join(f"f{i}=1.5..2.5" for i in range(64))
    assert api.get("/runs", {"q": worst})["items"] == []


def test_examples_of_the_manual_are_selectors(api, run):
    text = (ROOT / "docs/man/rigstat-selectors.7").read_text()
    examples = text.split(".SH EXAMPLES\n.EX\n")[1].split(".EE")[0].splitlines()
    assert len(examples) >= 5
    for example in examples:
        api.get("/runs", {"q": example})
    problem = api.get("/runs", {"q": "started=>2026-11-01"}, 400)
    assert text.split(".SH DIAGNOSTICS")[1].split(".EX\n")[1].splitlines()[0] in problem["detail"]
