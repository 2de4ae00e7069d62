/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chart models of comparison documents. All numbers come from the document; what happens here is
 * scaling for the eye (counts or shares, neighbouring bins drawn together). */

import type { Bins, Bounds, Comparison, Interval } from "../api/types";
import { asinh, linear, log10, logCount, ordinal, percentile, type AxisSpec } from "../lib/axis";
import { fmt, fmtBetween, fmtShare, group, quantileName } from "../lib/format";
import { SIDE_TONES, type ChartModel, type Guide, type Mark, type Tone } from "./model";

export interface Named<T> {
  id: string; // "a", "b", "c" …
  label: string;
  tone: Tone;
  data: T;
}

/** The reference side of the first document, then the other side of each: A, B, C … */
export function sidesOf<T>(
  docs: readonly Comparison[],
  pick: (d: Comparison, side: "a" | "b") => T | null | undefined,
): Named<T>[] {
  const out: Named<T>[] = [];
  const add = (index: number, label: string, data: T | null | undefined) => {
    if (data === null || data === undefined) return;
    out.push({ id: SIDE_TONES[index]!, label, tone: SIDE_TONES[index]!, data });
  };
  const first = docs[0];
  if (!first) return out;
  add(0, sideLabel(first, "a", 0), pick(first, "a"));
  docs
    .slice(0, SIDE_TONES.length - 1)
    .forEach((d, i) => add(i + 1, sideLabel(d, "b", i + 1), pick(d, "b")));
  return out;
}

export function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

/** "A rq_affinity=0": the letter and what is special about the side. */
export function sideLabel(d: Comparison, side: "a" | "b", index: number): string {
  return `${letter(index)} ${sideText(d, side)}`;
}

export function sideText(d: Comparison, side: "a" | "b"): string {
  const own = d[side].factors ?? {};
  const other = d[side === "a" ? "b" : "a"].factors ?? {};
  const differing = Object.keys(own).filter((k) => own[k] !== other[k]);
  if (differing.length > 0) return differing.map((k) => `${k}=${own[k]}`).join(", ");
  return d[side].selector || d[side].name;
}

export type YMode = "count" | "percent" | "density";
export type XMode = "log" | "linear";

const PER_DECADE = 30;

/** Bins finer than half a cell of 1/30 decade are drawn as that cell, empty ones included; coarser
 * ones stay as they are. For densities only: a count per bin means nothing when bins are joined. */
export function coarsen(bins: Bins): { lo: number[]; hi: number[]; n: number[] } {
  const out = { lo: [] as number[], hi: [] as number[], n: [] as number[] };
  let cell = NaN;
  for (let i = 0; i < bins.lo.length; i++) {
    const lo = bins.lo[i]!;
    const hi = upperEdge(bins, i);
    const here = lo > 0 ? Math.floor(Math.log10(lo) * PER_DECADE + 1e-9) : NaN;
    const fine = lo > 0 && Math.log10(hi / lo) * PER_DECADE < 0.5;
    const last = out.n.length - 1;
    if (fine && here === cell) {
      out.n[last]! += bins.n[i]!;
    } else if (fine) {
      // The edge joins the bar before it when that one reaches into this cell.
      out.lo.push(Math.max(Math.pow(10, here / PER_DECADE), out.hi[last] ?? 0));
      out.hi.push(Math.pow(10, (here + 1) / PER_DECADE));
      out.n.push(bins.n[i]!);
    } else {
      out.lo.push(lo);
      out.hi.push(hi);
      out.n.push(bins.n[i]!);
    }
    cell = fine ? here : NaN;
  }
  return out;
}

/** The overflow has no upper edge. */
function upperEdge(bins: Bins, i: number): number {
  return bins.hi[i] ?? bins.lo[i]! * 1.25;
}

function total(bins: Bins): number {
  return bins.n.reduce((s, v) => s + v, 0);
}

function height(n: number, lo: number, hi: number, sum: number, mode: YMode): number {
  if (mode === "count") return n;
  if (mode === "percent") return (100 * n) / sum;
  return (100 * n) / sum / ((hi - lo) / 1000); // % per µs
}

const Y_LABEL: Record<YMode, string> = {
  count: "samples in a bin",
  percent: "% of samples in a bin",
  density: "% of samples per µs",
};

export function histogramModel(
  sides: Named<Bins>[],
  unit: string,
  xMode: XMode,
  yMode: YMode,
  threshold: number | null,
): ChartModel {
  const marks: Mark[] = [];
  let floor = Infinity;
  for (const s of sides) {
    const drawn =
      xMode === "log" && yMode === "density"
        ? coarsen(s.data)
        : { lo: s.data.lo, hi: s.data.lo.map((_, i) => upperEdge(s.data, i)), n: s.data.n };
    const sum = total(s.data);
    const y = drawn.n.map((n, i) =>
      n > 0 ? height(n, drawn.lo[i]!, drawn.hi[i]!, sum, yMode) : null,
    );
    for (const v of y) if (v !== null && v < floor) floor = v;
    const x = drawn.lo.map((lo, i) => (lo > 0 || xMode === "linear" ? lo : drawn.hi[i]! / 2));
    marks.push({ kind: "steps", id: s.id, label: s.label, tone: s.tone, x, x2: drawn.hi, y });
  }
  const x = xMode === "log" ? log10(unit) : linear(unit);
  const grid = [...new Set(marks.flatMap((m) => m.x))].sort((p, q) => p - q);
  const bins = mergedEdges(sides);
  return {
    id: "histogram",
    link: "latency",
    title: "Histogram",
    about: `How many samples fall in each bin${xMode === "log" ? "; both axes are logarithmic" : "; the vertical axis is logarithmic"}. Empty bins are gaps.${overflowText(sides, unit)}`,
    x,
    y: yMode === "count" ? logCount() : logCount(" %"),
    xLabel: "latency",
    yLabel: Y_LABEL[yMode],
    marks,
    guides: thresholdGuide(threshold, unit),
    legend: sides.map((s) => ({ id: s.id, label: s.label, tone: s.tone, glyph: "line" })),
    grid,
    reading: (i) => {
      const at = grid[i]!;
      return {
        x: binText(marks, at, unit),
        values: marks.map((m) => {
          const j = m.kind === "steps" ? m.x.findIndex((lo, k) => lo <= at && at < m.x2[k]!) : -1;
          const v = j < 0 ? null : m.y[j]!;
          return {
            id: m.id,
            text:
              v === null
                ? "0"
                : yMode === "count"
                  ? group(v)
                  : `${fmt(v, "")} %${yMode === "density" ? " per µs" : ""}`,
          };
        }),
      };
    },
    table: {
      head: ["from", "to", ...sides.map((s) => s.label)],
      rows: bins.map((b) => [
        fmt(b.lo, unit),
        b.hi === null ? "overflow" : fmt(b.hi, unit),
        ...b.n.map(group),
      ]),
      csvHead: [`from_${unit}`, `to_${unit}`, ...sides.map((s) => `count ${s.label}`)],
      csv: bins.map((b) => [b.lo, b.hi, ...b.n]),
    },
    yFloor: floor === Infinity ? 1 : floor / 2,
  };
}

function overflowText(sides: Named<Bins>[], unit: string): string {
  const over = sides.filter((s) => (s.data.overflow ?? 0) > 0);
  if (over.length === 0) return "";
  return ` Not drawn, because the source only says that they lie beyond its histogram: ${over.map((s) => `${group(s.data.overflow!)} of ${s.label} (≥ ${fmt(s.data.overflow_lo, unit)})`).join(", ")}.`;
}

function binText(marks: Mark[], at: number, unit: string): string {
  for (const m of marks) {
    if (m.kind !== "steps") continue;
    const j = m.x.findIndex((lo, k) => lo <= at && at < m.x2[k]!);
    if (j >= 0) return `${fmt(m.x[j]!, unit)} to ${fmt(m.x2[j]!, unit)}`;
  }
  return fmt(at, unit);
}

interface TableBin {
  lo: number;
  hi: number | null;
  n: number[];
}

/** One row per distinct bin, the sides beside each other. */
function mergedEdges(sides: Named<Bins>[]): TableBin[] {
  const rows = new Map<string, TableBin>();
  sides.forEach((s, k) => {
    s.data.lo.forEach((lo, i) => {
      const hi = s.data.hi[i] ?? null;
      const key = `${lo}/${hi}`;
      let row = rows.get(key);
      if (!row) rows.set(key, (row = { lo, hi, n: sides.map(() => 0) }));
      row.n[k] = s.data.n[i]!;
    });
  });
  return [...rows.values()].sort((p, q) => p.lo - q.lo);
}

function thresholdGuide(threshold: number | null, unit: string): Guide[] {
  return threshold === null
    ? []
    : [{ axis: "x", at: threshold, label: `tail from ${fmt(threshold, unit)}` }];
}

export interface PercentileData extends Bounds {
  max: number | null;
}

export function percentilesModel(
  q: number[],
  sides: Named<PercentileData>[],
  unit: string,
  nines: number,
): ChartModel {
  const marks: Mark[] = [];
  const known = (i: number) => sides.some((s) => (s.data.lo[i] ?? null) !== null);
  const keep = q
    .map((v, i) => ({ v, i }))
    .filter((e) => e.v < 1 && -Math.log10(1 - e.v) <= nines + 1e-9 && known(e.i));
  const xs = keep.map((e) => e.v);
  const right = xs.length > 0 ? xs[xs.length - 1]! : 0.99;
  for (const s of sides) {
    const lo = keep.map((e) => s.data.lo[e.i] ?? null);
    const hi = keep.map((e) => s.data.hi[e.i] ?? null);
    const ends: Interval[] = s.data.band
      ? keep.map((e) => s.data.band![e.i] ?? [null, null])
      : lo.map((l, i) => [l, hi[i] ?? null]);
    if (ends.some(([l, h]) => l !== null && h !== null && h - l > 0.01 * h))
      marks.push({
        kind: "band",
        id: s.id,
        label: s.label,
        tone: s.tone,
        x: xs,
        y: ends.map((e) => e[0]),
        y2: ends.map((e) => e[1]),
      });
    marks.push({
      kind: "line",
      id: s.id,
      label: s.label,
      tone: s.tone,
      x: xs,
      y: hi.map((h, i) => h ?? lo[i]!),
    });
    if (s.data.max !== null)
      marks.push({
        kind: "dots",
        shape: "diamond",
        id: s.id,
        label: s.label,
        tone: s.tone,
        x: [right],
        y: [s.data.max],
      });
  }
  const runs = sides.some((s) => s.data.band);
  const text = (s: Named<Bounds>, i: number) =>
    fmtBetween(s.data.lo[i] ?? null, s.data.hi[i] ?? null, unit);
  return {
    id: "percentiles",
    link: "quantile",
    title: "Percentiles",
    about: `Latency at each percentile; every step to the right is ten times rarer. ◆ is the maximum${runs ? ", the band the range over runs" : ""}.`,
    x: percentile(),
    y: log10(unit),
    xLabel: "percentile, on the scale 1/(1−q)",
    yLabel: "latency",
    marks,
    guides: [],
    legend: sides.map((s) => ({ id: s.id, label: s.label, tone: s.tone, glyph: "line" })),
    grid: xs,
    reading: (i) => ({
      x: quantileName(xs[i]!),
      values: sides.map((s) => ({ id: s.id, text: text(s, keep[i]!.i) })),
    }),
    table: {
      head: ["percentile", ...sides.map((s) => s.label)],
      rows: [
        ...q.map((v, i) => [quantileName(v), ...sides.map((s) => text(s, i))]),
        ["max", ...sides.map((s) => fmt(s.data.max, unit))],
      ],
      csvHead: [
        "q",
        "1/(1-q)",
        ...sides.flatMap((s) => [`${s.label} from_${unit}`, `${s.label} to_${unit}`]),
      ],
      csv: q.map((v, i) => [
        v,
        v < 1 ? Number((1 / (1 - v)).toPrecision(12)) : null,
        ...sides.flatMap((s) => [s.data.lo[i] ?? null, s.data.hi[i] ?? null]),
      ]),
    },
  };
}

/** Nines that the percentiles reach: 4 for p99.99. */
export function ninesOf(q: number[]): number {
  return q.reduce((m, v) => (v < 1 ? Math.max(m, -Math.log10(1 - v)) : m), 1);
}

export interface ShiftData {
  q: number[];
  delta: (number | null)[];
  lo: (number | null)[];
  hi: (number | null)[];
}

export function shiftModel(sides: Named<ShiftData>[], unit: string, better: string): ChartModel {
  const marks: Mark[] = [];
  const all: number[] = [];
  for (const s of sides) {
    const below = s.data.q.map((v, i) => ({ v, i })).filter((e) => e.v < 1);
    const x = below.map((e) => e.v);
    const at = (list: (number | null)[]) => below.map((e) => list[e.i] ?? null);
    for (const e of below)
      for (const v of [s.data.delta[e.i], s.data.lo[e.i], s.data.hi[e.i]])
        if (v) all.push(Math.abs(v));
    marks.push({
      kind: "band",
      id: s.id,
      label: s.label,
      tone: s.tone,
      x,
      y: at(s.data.lo),
      y2: at(s.data.hi),
    });
    marks.push({
      kind: "line",
      dots: true,
      id: s.id,
      label: s.label,
      tone: s.tone,
      x,
      y: at(s.data.delta),
    });
  }
  const grid = sides[0]?.data.q.filter((v) => v < 1) ?? [];
  const signed = (v: number | null | undefined) =>
    v === null || v === undefined ? "n/a" : (v > 0 ? "+" : "") + fmt(v, unit);
  const good =
    better === "lower"
      ? "below zero is better"
      : better === "higher"
        ? "above zero is better"
        : "neither direction is better";
  return {
    id: "shift",
    link: "quantile",
    title: "Shift",
    about: `Difference to A at each percentile, with its confidence band over runs; ${good}.`,
    x: percentile(),
    y: differenceAxis(all, unit),
    xLabel: "percentile, on the scale 1/(1−q)",
    yLabel: "difference to A",
    marks,
    guides: [{ axis: "y", at: 0, label: "" }],
    legend: sides.map((s) => ({
      id: s.id,
      label: sides.length > 1 ? s.label : `${s.label} minus A`,
      tone: s.tone,
      glyph: "band",
    })),
    grid,
    reading: (i) => ({
      x: quantileName(grid[i]!),
      values: sides.map((s) => ({
        id: s.id,
        text: `${signed(s.data.delta[i])} (${signed(s.data.lo[i])} to ${signed(s.data.hi[i])})`,
      })),
    }),
    table: {
      head: ["percentile", ...sides.flatMap((s) => [`${s.label} − A`, "from", "to"])],
      rows: (sides[0]?.data.q ?? []).map((v, i) => [
        quantileName(v),
        ...sides.flatMap((s) => [
          signed(s.data.delta[i]),
          signed(s.data.lo[i]),
          signed(s.data.hi[i]),
        ]),
      ]),
      csvHead: [
        "q",
        ...sides.flatMap((s) => [`${s.label} delta_${unit}`, `low_${unit}`, `high_${unit}`]),
      ],
      csv: (sides[0]?.data.q ?? []).map((v, i) => [
        v,
        ...sides.flatMap((s) => [
          s.data.delta[i] ?? null,
          s.data.lo[i] ?? null,
          s.data.hi[i] ?? null,
        ]),
      ]),
    },
    includeZero: true,
  };
}

/** Linear when the differences are of one size; signed log when the tail dwarfs the middle. */
function differenceAxis(sizes: number[], unit: string): AxisSpec {
  const sorted = sizes.filter((v) => v > 0).sort((p, q) => p - q);
  const small = sorted[Math.floor(sorted.length / 4)];
  const large = sorted[sorted.length - 1];
  if (small === undefined || large === undefined || large < 40 * small) return linear(unit);
  return asinh(unit, Math.pow(10, Math.floor(Math.log10(small))));
}

export interface CcdfData {
  x: number[];
  share: (number | null)[];
  band: Interval[];
}

export function ccdfModel(
  sides: Named<CcdfData>[],
  unit: string,
  threshold: number | null,
): ChartModel {
  const marks: Mark[] = [];
  for (const s of sides) {
    const x = s.data.x;
    if (s.data.band.length > 0)
      marks.push({
        kind: "band",
        id: s.id,
        label: s.label,
        tone: s.tone,
        x,
        y: s.data.band.map((b) => b[0]),
        y2: s.data.band.map((b) => b[1]),
      });
    marks.push({ kind: "line", id: s.id, label: s.label, tone: s.tone, x, y: s.data.share });
  }
  const grid = sides[0]?.data.x.filter((v) => v > 0) ?? [];
  const skip = (sides[0]?.data.x.length ?? 0) - grid.length;
  const share = (v: number | null | undefined) =>
    v ? `${fmtShare(v)} (1 in ${group(Math.round(1 / v))})` : v === 0 ? "0" : "n/a";
  return {
    id: "ccdf",
    link: "latency",
    title: "Exceedance",
    about: `The share of samples at or above each latency; both axes are logarithmic.${sides.some((s) => s.data.band.length > 0) ? " The band is the range over runs." : ""}`,
    x: log10(unit),
    y: logCount(),
    xLabel: "latency",
    yLabel: "share of samples",
    marks,
    guides: thresholdGuide(threshold, unit),
    legend: sides.map((s) => ({ id: s.id, label: s.label, tone: s.tone, glyph: "line" })),
    grid,
    reading: (i) => ({
      x: `at or above ${fmt(grid[i]!, unit)}`,
      values: sides.map((s) => ({ id: s.id, text: share(s.data.share[i + skip]) })),
    }),
    table: {
      head: ["at or above", ...sides.map((s) => s.label)],
      rows: (sides[0]?.data.x ?? []).map((v, i) => [
        fmt(v, unit),
        ...sides.map((s) => share(s.data.share[i])),
      ]),
      csvHead: [`from_${unit}`, ...sides.map((s) => `share ${s.label}`)],
      csv: (sides[0]?.data.x ?? []).map((v, i) => [
        v,
        ...sides.map((s) => s.data.share[i] ?? null),
      ]),
    },
  };
}

export interface RunDot {
  id: string;
  order: number;
  value: number | null;
  started: string | null;
}

export function runsModel(sides: Named<RunDot[]>[], stat: string, unit: string): ChartModel {
  const values = sides.flatMap((s) =>
    s.data.flatMap((d) => (d.value !== null && d.value > 0 ? [d.value] : [])),
  );
  const spread = values.length > 0 ? Math.max(...values) / Math.min(...values) : 1;
  const y = spread > 30 && values.length > 2 ? log10(unit) : linear(unit);
  const marks: Mark[] = sides.flatMap((s, k) => {
    const x = s.data.map((d) => d.order);
    const v = s.data.map((d) => d.value);
    const dots: Mark = {
      kind: "dots",
      shape: k % 2 === 0 ? "circle" : "square",
      id: s.id,
      label: s.label,
      tone: s.tone,
      x,
      y: v,
    };
    const line: Mark = { kind: "line", id: s.id, label: s.label, tone: s.tone, x, y: v };
    return [line, dots];
  });
  const flat = sides
    .flatMap((s) => s.data.map((d) => ({ ...d, side: s })))
    .sort((p, q) => p.order - q.order);
  return {
    id: "runs",
    title: "Runs in order",
    about: `${stat} of every run in the order they ran; a slope is drift, a lone dot an outlier run.`,
    x: ordinal(),
    y,
    xLabel: "order",
    yLabel: stat,
    marks,
    guides: [],
    legend: sides.map((s, k) => ({
      id: s.id,
      label: s.label,
      tone: s.tone,
      glyph: k % 2 === 0 ? "circle" : "square",
    })),
    grid: flat.map((d) => d.order),
    reading: (i) => {
      const d = flat[i]!;
      return {
        x: `run ${d.id}, ${d.order} in order`,
        values: sides.map((s) => ({ id: s.id, text: s === d.side ? fmt(d.value, unit) : "" })),
      };
    },
    table: {
      head: ["order", "run", "side", stat],
      rows: flat.map((d) => [String(d.order), d.id, d.side.label, fmt(d.value, unit)]),
      csvHead: ["order", "run", "side", unit ? `${stat}_${unit}` : stat],
      csv: flat.map((d) => [d.order, d.id, d.side.label, d.value]),
    },
  };
}
