# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line against a real server: the same runs give the same document as offline."""
import json

from apilib import api, load_founding, value_run  # noqa: F401 (a fixture)
from test_cli_compare import DELAYS, SUMMARY, rigstat

JITTER = [0.1, -0.3, 0.2, 0.4, -0.2, 0.0, -0.1, 0.3, -0.4, 0.1]
A = [100.0, 101.5, 99.2, 100.7, 99.9, 100.3, 101.1, 98.8, 100.2, 99.6]


def load(api):
    if "loaded" in api.__dict__:
        return
    api.loaded = True
    load_founding(api)
    for i, v in enumerate(A):  # ABBA, B 5 % below
        first, second = (0, 1) if i % 2 == 0 else (1, 0)
        for place, level in ((2 * i, first), (2 * i + 1, second)):
            api.send("POST", "/runs", value_run(place, "cli", str(level), v * (1 - 0.05 * level) + level * JITTER[i],
                                                boot_id="b"), 201)


def cli(api, *args, status=0):
    return rigstat(*args, status=status, env={"RIGSTAT_SERVER": f"http://{api.server.address}"})


def test_same_as_offline(api):
    load(api)
    at = ["--server", f"http://{api.server.address}"]
    online = json.loads(cli(api, "compare", "--json", *at, "--a", "experiment=wakeup-2004,max_sectors_kb=64,load=iozone",
                            "--b", "experiment=wakeup-2004,max_sectors_kb=32,load=iozone").out)
    offline = json.loads(rigstat("compare", "--json", "--unit", "us", *DELAYS[:2]).out)
    for key in ("rows", "tail", "methods", "design"):
        assert online[key] == offline[key], key
    assert online["verdict"]["word"] == offline["verdict"]["word"] == "not_enough_runs"


def test_words_and_text(api):
    load(api)
    at = ["--server", f"http://{api.server.address}"]
    sides = ["--a", "experiment=cli,f=0", "--b", "experiment=cli,f=1"]
    text = cli(api, "compare", *at, *sides).out
    assert "\nB  experiment=cli,f=1: 10 runs\n" in text
    assert "verdict: better" in text and "analysed in 10 blocks" in text
    assert max(map(len, text.splitlines())) <= 76
    assert cli(api, "compare", "--svg", "runs", *at, *sides).out.startswith("<svg")
    assert "selector" in cli(api, "compare", *at, "--a", "f=>1", "--b", "f=1", status=3).err.lower()


def test_gate(api):
    load(api)
    at = ["--server", f"http://{api.server.address}"]
    sides = ["--a", "experiment=cli,f=0", "--b", "experiment=cli,f=1"]
    cli(api, "gate", *sides, "--rule", "mean<=+1%", status=0)  # selectors need no --server
    cli(api, "gate", *at, *sides, "--rule", "mean<=-20%", status=1)
    cli(api, "gate", *at, *sides, "--rule", "mean<=-5%", status=2)
    out = cli(api, "gate", "--junit", *at, *sides, "--rule", "mean<=-20%", status=1).out
    assert 'failures="1"' in out


def test_gate_self(api):
    """The runs of A alone, split again and again: the scatter of A is about 1 %."""
    load(api)
    a = ["--a", "experiment=cli,f=0"]
    assert "refused" in cli(api, "gate", "--self", *a, "--rule", "mean<=+0.1%", status=2).out
    report = json.loads(cli(api, "gate", "--self", "--json", *a, "--rule", "mean<=+5%").out)
    assert report["runs"] == 10 and 0 < report["rules"][0]["noise_rel"] < 0.02
    remark = cli(api, "gate", "--self", *a, "--b", "experiment=cli,f=1", "--rule", "mean<=+5%")
    assert "A/A check" in remark.err and "pass" in remark.out
    assert "no run matches" in cli(api, "gate", "--self", "--a", "experiment=no", "--rule", "mean<=+5%", status=3).err


def test_lists_and_pin(api):
    load(api)
    runs = cli(api, "runs", "experiment=cli,f=0").out.splitlines()
    assert len(runs) == 11 and runs[0].startswith("RUN")
    items = json.loads(cli(api, "runs", "experiment=cli", "--json", "--all", "--limit", "7").out)["items"]
    assert len(items) == 20 and len({r["id"] for r in items}) == 20
    assert "cli" in cli(api, "experiments").out
    assert "box" in cli(api, "hosts").out
    link, sentence = cli(api, "pin", "--title", "t", "--a", "experiment=cli,f=0", "--b",
                         "experiment=cli,f=1").out.splitlines()
    assert link.startswith(f"http://{api.server.address}/c/") and "B is better" in sentence
    pin = api.get(f"/comparisons/{link.rsplit('/', 1)[1]}")
    assert pin["title"] == "t" and pin["word"] == "better"


def test_summary(api):
    load(api)
    at = ["--server", f"http://{api.server.address}"]
    online = json.loads(cli(api, "compare", "--json", *at, "--metric", "unstalled_instructions",
                            "--a", "rq_affinity=0,source=summary.csv", "--b", "rq_affinity=1,source=summary.csv").out)
    offline = json.loads(rigstat("compare", "--json", "--metric", "unstalled_instructions", SUMMARY).out)
    assert online["verdict"] == offline["verdict"]
