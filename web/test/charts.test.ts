/* SPDX-License-Identifier: GPL-2.0-or-later */
import assert from "node:assert/strict";
import test from "node:test";
import { ccdfModel, coarsen, histogramModel, percentilesModel } from "../src/chart/compare";
import { csvOf, nearest, yExtent } from "../src/chart/model";
import { readingGroup, readingWord, severity } from "../src/lib/words";
import type { Delta } from "../src/api/types";

const side = <T>(data: T) => ({ id: "a", label: "A x=0", tone: "a" as const, data });
const delta = (reading: Delta["reading"], rel: number): Delta => ({
  abs: rel * 1000,
  rel,
  ci: null,
  ci_rel: null,
  p: null,
  p_adjusted: null,
  reading,
  test: null,
  mde_rel: null,
  more_blocks: null,
});

test("drawing bins together loses no sample", () => {
  const lo = Array.from({ length: 500 }, (_, i) => 10000 + 80 * i);
  const bins = { lo, hi: lo.map((v) => v + 80), n: lo.map((_, i) => i % 7) };
  const drawn = coarsen(bins);
  assert.ok(drawn.lo.length < 30);
  assert.equal(
    drawn.n.reduce((s, v) => s + v, 0),
    bins.n.reduce((s, v) => s + v, 0),
  );
  for (let i = 1; i < drawn.lo.length; i++) assert.ok(drawn.lo[i]! >= drawn.hi[i - 1]! - 1e-6);
});

test("coarse bins keep their true edges", () => {
  const bins = { lo: [6000, 7000, 9000], hi: [7000, 8000, 10000], n: [21, 203, 5] };
  assert.deepEqual(coarsen(bins), bins);
});

test("an empty bin is a gap, and the table has the exact counts", () => {
  const m = histogramModel(
    [side({ lo: [0, 1000, 5000], hi: [1000, 2000, 6000], n: [4, 0, 1] })],
    "ns",
    "log",
    "count",
    2000,
  );
  const steps = m.marks[0]!;
  assert.equal(steps.kind, "steps");
  assert.deepEqual(steps.y, [4, null, 1]);
  assert.ok(steps.x[0]! > 0); // a bin from 0 has a place on a log axis
  assert.deepEqual(m.table.csv, [
    [0, 1000, 4],
    [1000, 2000, 0],
    [5000, 6000, 1],
  ]);
  assert.equal(m.reading(m.grid.indexOf(5000)).values[0]!.text, "1");
  assert.deepEqual(
    m.guides.map((g) => g.at),
    [2000],
  );
});

test("overflow is said in words", () => {
  const m = histogramModel(
    [side({ lo: [0], hi: [1000], n: [4], overflow: 12, overflow_lo: 60000 })],
    "ns",
    "log",
    "count",
    null,
  );
  assert.match(m.about, /12 of A x=0 \(≥ 60.0 µs\)/);
});

test("percentiles nobody can know are not drawn, and those in the overflow are bounds", () => {
  const m = percentilesModel(
    [0.5, 0.99, 0.999, 0.9999],
    [side({ lo: [10, 20, 60, null], hi: [11, 21, null, null], max: 1475 })],
    "ns",
    6,
  );
  assert.deepEqual(m.grid, [0.5, 0.99, 0.999]);
  assert.equal(m.reading(2).values[0]!.text, "≥ 60 ns");
});

test("csv quotes and keeps units in the head", () => {
  const m = ccdfModel([side({ x: [0, 1000, 2000], share: [1, 0.5, 0], band: [] })], "ns", null);
  assert.equal(csvOf(m.table), "from_ns,share A x=0\r\n0,1\r\n1000,0.5\r\n2000,0\r\n");
  assert.deepEqual(m.grid, [1000, 2000]);
  assert.equal(m.reading(0).values[0]!.text, "50.0 % (1 in 2)");
  assert.equal(nearest(m, Math.log10(1100)), 0);
  const [lo, hi] = yExtent(m, new Set(), [2, 4]);
  assert.ok(lo < Math.log10(0.5) && hi >= Math.log10(0.5));
});

test("worst first puts worse above unclear above better", () => {
  const order = [
    delta("better", -0.4),
    delta("unclear", 0.01),
    delta("worse", 0.02),
    delta("worse", 0.4),
    delta("not_resolvable", 3),
    delta("same", 0),
  ].sort((x, y) => severity(y, "lower") - severity(x, "lower"));
  assert.deepEqual(
    order.map((d) => d.reading),
    ["worse", "worse", "unclear", "same", "better", "not_resolvable"],
  );
  assert.equal(order[0]!.rel, 0.4);
  // When higher is better, the larger fall is the worse one.
  assert.ok(severity(delta("worse", -0.4), "higher") > severity(delta("worse", -0.1), "higher"));
});

test("a reading is a word with a symbol of its own", () => {
  assert.deepEqual(readingWord(delta("better", -0.1)), {
    text: "better",
    symbol: "▼",
    tone: "good",
  });
  assert.deepEqual(readingWord(delta("worse", -0.1)), { text: "worse", symbol: "▼", tone: "bad" });
  assert.equal(readingWord(null).text, "n/a");
  assert.equal(readingGroup(delta("below_margin", 0.001)), "same");
});
