/* SPDX-License-Identifier: GPL-2.0-or-later */
import assert from "node:assert/strict";
import test from "node:test";
import {
  exact,
  fmt,
  fmtAgo,
  fmtBetween,
  fmtBytes,
  fmtDifference,
  fmtInterval,
  fmtRel,
  fmtSpan,
  fmtTime,
  pretty,
  quantileName,
  sig3,
} from "../src/lib/format";

test("a time has three figures and the unit that fits", () => {
  assert.equal(fmt(7, "ns"), "7 ns");
  assert.equal(fmt(7.5, "ns"), "7.50 ns");
  assert.equal(fmt(999, "ns"), "999 ns");
  assert.equal(fmt(120e6, "ns/s"), "120 ms/s");
  assert.equal(fmt(0, "ns/s"), "0 ns/s");
  assert.equal(fmt(36406558, "bytes/s"), "34.7 MiB/s");
  assert.equal(fmt(1024, "bytes"), "1.00 KiB");
  assert.equal(fmt(900, "bytes"), "900 bytes");
  assert.equal(fmt(7071, "ns"), "7.07 µs");
  assert.equal(fmt(47000, "ns"), "47.0 µs");
  assert.equal(fmt(1475000, "ns"), "1.48 ms");
  assert.equal(fmt(2.5e9, "ns"), "2.50 s");
  assert.equal(fmt(0, "ns"), "0 ns");
  assert.equal(fmt(-705, "ns"), "−705 ns");
});

test("rounding up to the next unit changes the unit, never to 1000", () => {
  assert.equal(fmt(999.6, "ns"), "1.00 µs");
  assert.equal(fmt(999600, "ns"), "1.00 ms");
  assert.equal(fmt(999499, "ns"), "999 µs");
  assert.equal(fmt(9.996e6, "ns"), "10.0 ms");
});

test("what is not defined is n/a, never 0", () => {
  for (const v of [null, undefined, NaN, Infinity]) assert.equal(fmt(v, "ns"), "n/a");
  assert.equal(fmtInterval(null, "ns"), "n/a");
  assert.equal(fmtInterval([null, 3], "ns"), "n/a");
  assert.equal(fmtRel(null), "n/a");
});

test("counts are grouped and whole", () => {
  assert.equal(fmt(10400, "count"), "10,400");
  assert.equal(fmt(28, "count"), "28");
  assert.equal(exact(1234567.25, "ns"), "1,234,567.25 ns");
  assert.equal(sig3(123456), "123,000");
  assert.equal(sig3(0.000721), "0.000721");
});

test("differences of percentages are percentage points", () => {
  assert.equal(fmtDifference(1.289, "%"), "+1.29 pp");
  assert.equal(fmtDifference(0.004711, "share"), "+0.471 pp");
  assert.equal(fmtDifference(-2000, "ns"), "−2.00 µs");
  assert.equal(fmtInterval([-0.897, 1.83], "%"), "−0.897 to +1.83 pp");
  assert.equal(fmt(0.002692, "share"), "0.269 %");
  assert.equal(fmtRel(-0.0999), "−9.99 %");
});

test("both ends of an interval share a unit", () => {
  assert.equal(fmtInterval([-710, -695], "ns"), "−710 to −695 ns");
  assert.equal(fmtInterval([-400, 1200], "ns"), "−0.400 to +1.20 µs");
  assert.equal(fmtBetween(26000, 26999, "ns"), "26.0 to 27.0 µs");
  assert.equal(fmtBetween(60000, null, "ns"), "≥ 60.0 µs");
  assert.equal(fmtBetween(100000, 100800, "ns"), "101 µs");
  assert.equal(fmtBetween(null, null, "ns"), "n/a");
});

test("quantiles have no binary noise", () => {
  assert.equal(quantileName(0.999), "p99.9");
  assert.equal(quantileName(0.9999), "p99.99");
  assert.equal(quantileName(0.5), "p50");
  assert.equal(quantileName(1), "max");
});

test("spans, sizes, times", () => {
  assert.equal(fmtSpan(300e9), "5 min");
  assert.equal(fmtSpan(6780e9), "1 h 53 min");
  assert.equal(fmtSpan(4.2e9), "4.20 s");
  assert.equal(fmtSpan(90000e9), "1 d 1 h");
  assert.equal(fmtBytes(999), "999 B");
  assert.equal(fmtBytes(31000000), "31.0 MB");
  assert.equal(fmtBytes(999999), "1.00 MB");
  assert.equal(fmtTime("2026-11-30T17:02:11.123456789Z", "utc"), "2026-11-30 17:02");
  assert.equal(fmtTime("not a time", "utc"), "n/a");
  assert.equal(fmtAgo("2026-11-30T17:00:00Z", Date.parse("2026-11-30T17:01:34Z")), "2 min ago");
});

test("the server's ASCII becomes typography, identifiers stay", () => {
  assert.equal(
    pretty("p50 fell from 12 us to 10 us (-16.7 %)"),
    "p50 fell from 12\u00a0µs to 10\u00a0µs (−16.7\u00a0%)",
  );
  assert.equal(pretty("rose from 163.2 1/h"), "rose from 163.2 / h");
  assert.equal(pretty("host olab-12, nvme-0"), "host olab-12, nvme-0");
});
