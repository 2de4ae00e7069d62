/* SPDX-License-Identifier: GPL-2.0-or-later */
import assert from "node:assert/strict";
import test from "node:test";
import { colour, columnText, columnsOf, heatModel, heatTable, shade } from "../src/chart/heat";
import { timeTicks } from "../src/chart/HeatMap";
import { blockOf } from "../src/chart/overtime";
import { askOf, cellsOf, commandOf, emptyPlan, levelsOf, spanOf } from "../src/pages/plan";

const minutes = (run: string, t0: string, edges: number[], counts: number[][]) => ({
  run,
  metric: "wakeup_latency",
  unit: "ns",
  step_ns: 60e9,
  t: counts.map((_, i) => new Date(Date.parse(t0) + 60000 * i).toISOString()),
  phase: counts.map((_, i) => (i === 0 ? 1 : 2)),
  count: counts.map((c) => c.reduce((s, n) => s + n, 0)),
  lost: counts.map((_, i) => (i === 1 ? 3 : 0)),
  p50: counts.map(() => 6400),
  p99: counts.map(() => 11600),
  max: counts.map(() => null),
  edges,
  counts,
});

test("runs with grids of their own share one picture", () => {
  const a = blockOf(
    minutes(
      "r_1",
      "2026-11-30T17:00:00Z",
      [1000, 10000, 100000],
      [
        [5, 0],
        [1000, 2],
      ],
    ),
  );
  const b = blockOf(minutes("r_2", "2026-11-30T18:00:00Z", [2000, 20000], [[7]]));
  const m = heatModel([b, a], "ns")!;
  assert.equal(m.most, 1000);
  assert.deepEqual(m.y, [3, 5]);
  assert.equal(m.t[1] - m.t[0], 61 * 60000);
  assert.deepEqual(
    columnsOf(m).map((c) => c.block.run),
    ["r_1", "r_1", "r_2"],
  );
  assert.equal(
    columnText(m, columnsOf(m)[1]!, "utc"),
    "2026-11-30 17:01, measured; p50 6.40 µs; p99 11.6 µs; max n/a; 3 lost",
  );
});

test("a run without minutes has no picture, and empty cells are not in the table", () => {
  assert.equal(heatModel([], "ns"), null);
  assert.equal(
    heatModel([blockOf(minutes("r_1", "2026-11-30T17:00:00Z", [1000, 10000], []))], "ns"),
    null,
  );
  const t = heatTable(
    heatModel(
      [
        blockOf(
          minutes(
            "r_1",
            "2026-11-30T17:00:00Z",
            [1000, 10000, 100000],
            [
              [5, 0],
              [1000, 2],
            ],
          ),
        ),
      ],
      "ns",
    )!,
    "utc",
  );
  assert.deepEqual(
    t.csv.map((r) => r.slice(3)),
    [
      [1000, 10000, 5],
      [1000, 10000, 1000],
      [10000, 100000, 2],
    ],
  );
  assert.equal(t.rows[1]![2], "1,002");
});

test("one sample is seen beside a million, in both themes", () => {
  assert.equal(shade(1, 1e6), 0);
  assert.equal(shade(1e6, 1e6), 1);
  for (const dark of [true, false]) assert.notEqual(colour(0, dark), colour(1, dark));
  assert.match(colour(0.5, true), /^rgb\(\d+ \d+ \d+\)$/);
});

test("time ticks are round minutes", () => {
  const from = Date.parse("2026-11-30T17:02:11Z");
  const ticks = timeTicks(from, from + 3600000, 8).map((t) =>
    new Date(t).toISOString().slice(11, 16),
  );
  assert.deepEqual(ticks, ["17:10", "17:20", "17:30", "17:40", "17:50", "18:00"]);
});

test("a plan: combinations, span, what is asked and the same as a command", () => {
  const p = {
    ...emptyPlan(),
    name: "rq on olab-12",
    hosts: ["olab-12"],
    factors: [
      { name: "rq_affinity", levels: "0, 1,", tune: "rq_affinity" },
      { name: "load", levels: "low,high", tune: "" },
    ],
    runs: 5,
    workload: "fio-randread",
  };
  assert.deepEqual(levelsOf(p.factors[0]!), ["0", "1"]);
  assert.equal(cellsOf(p), 4);
  assert.equal(spanOf(p), 4 * 5 * 32);
  assert.deepEqual(askOf(p).factors, [
    { name: "rq_affinity", levels: ["0", "1"], tune: "rq_affinity" },
    { name: "load", levels: ["low", "high"], tune: null },
  ]);
  assert.equal(askOf(p).duration_ns, 30e9);
  const command = commandOf(p, "http://lab:8420");
  assert.match(command, /--experiment 'rq on olab-12'/);
  assert.match(command, /--factor rq_affinity=0,1 \\\n {2}--tune rq_affinity=rq_affinity/);
  assert.match(
    commandOf({ ...p, name: "it's $(x)" }, "http://lab"),
    /--experiment 'it'\\''s \$\(x\)'/,
  );
});
