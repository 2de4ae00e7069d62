/* SPDX-License-Identifier: GPL-2.0-or-later */
import assert from "node:assert/strict";
import test from "node:test";
import {
  asinh,
  axisText,
  linear,
  log10,
  logCount,
  niceStep,
  percentile,
  type AxisSpec,
} from "../src/lib/axis";

const labels = (a: AxisSpec, lo: number, hi: number, room: number) =>
  a.ticks(lo, hi, room).flatMap((t) => (t.label ? [t.label] : []));

test("a transform and its inverse agree", () => {
  for (const [axis, values] of [
    [log10("ns"), [1, 7071, 2e9]],
    [percentile(), [0, 0.5, 0.99, 0.999999]],
    [asinh("ns", 100), [-2e6, -30, 0, 5, 4e4]],
  ] as [AxisSpec, number[]][])
    for (const v of values)
      assert.ok(Math.abs(axis.inv(axis.fwd(v)!) - v) <= 1e-9 * Math.max(1, Math.abs(v)), `${v}`);
});

test("what a log axis cannot show is a gap, never a small number", () => {
  assert.equal(log10("ns").fwd(0), null);
  assert.equal(logCount().fwd(0), null);
  assert.equal(percentile().fwd(1), null);
});

test("log ticks name decades, 2 and 5 when there is room, fewer when there is not", () => {
  assert.deepEqual(labels(log10("ns"), 3, 6, 5), ["1 µs", "10 µs", "100 µs", "1 ms"]);
  assert.deepEqual(labels(log10("ns"), 4, 5, 6), ["10 µs", "20 µs", "50 µs", "100 µs"]);
  assert.ok(labels(log10("ns"), 0, 9, 4).length <= 5);
});

test("percentile ticks are nines", () => {
  assert.deepEqual(labels(percentile(), 0, 4, 6), ["0 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
  assert.ok(labels(percentile(), 0, 6, 3).length <= 4);
});

test("the signed axis is symmetric around 0", () => {
  const axis = asinh("ns", 100);
  const ticks = axis.ticks(axis.fwd(-1e6)!, axis.fwd(1e6)!, 12);
  assert.ok(ticks.some((t) => t.at === 0 && t.label === "0 ns"));
  const sum = ticks.reduce((s, t) => s + t.at, 0);
  assert.ok(Math.abs(sum) < 1e-9);
});

test("linear ticks are 1, 2, 5 steps inside the range", () => {
  assert.equal(niceStep(1, 5), 0.2);
  assert.equal(niceStep(0, 5), 1);
  assert.deepEqual(labels(linear("%"), 69.9, 71.6, 5), ["70 %", "70.5 %", "71 %", "71.5 %"]);
  assert.equal(axisText(0.1, "%"), "0.1 %");
  assert.equal(axisText(10000, "ns"), "10 µs");
  assert.equal(axisText(100, "%"), "100 %");
});
