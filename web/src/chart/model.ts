/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a chart shows, apart from how it is drawn: axes, marks, readings and the same data as a
 * table. Pure: built from a document, tested without a browser. */

import type { AxisSpec } from "../lib/axis";

/** Colour and dash of a mark; "ink" is the text colour, for what belongs to no side. */
export type Tone = "a" | "b" | "c" | "d" | "e" | "f" | "ink";

export const SIDE_TONES: readonly Tone[] = ["a", "b", "c", "d", "e", "f"];

/** Dash pattern in CSS pixels: A is solid, every other side differs without its colour too. */
export const DASHES: Record<Tone, number[]> = {
  a: [],
  b: [6, 4],
  c: [2, 3],
  d: [8, 3, 2, 3],
  e: [12, 4],
  f: [4, 2, 1, 2],
  ink: [],
};

type Values = (number | null)[];

interface MarkBase {
  id: string;
  label: string;
  tone: Tone;
  x: number[];
}

export type Mark =
  | (MarkBase & { kind: "line"; y: Values; dots?: boolean })
  | (MarkBase & { kind: "steps"; x2: number[]; y: Values }) // bins: [x, x2) at height y
  | (MarkBase & { kind: "dots"; y: Values; shape: "circle" | "square" | "diamond" })
  | (MarkBase & { kind: "band"; y: Values; y2: Values });

export interface Guide {
  axis: "x" | "y";
  at: number;
  label: string;
}

export interface Reading {
  x: string;
  values: { id: string; text: string }[];
}

export interface DataTable {
  head: string[];
  rows: string[][]; // as shown
  csv: (string | number | null)[][]; // exact, units in the head
  csvHead: string[];
}

export interface ChartModel {
  id: string;
  title: string;
  about: string; // one sentence
  x: AxisSpec;
  y: AxisSpec;
  xLabel: string;
  yLabel: string;
  marks: Mark[];
  guides: Guide[];
  legend: { id: string; label: string; tone: Tone; glyph: "line" | "band" | "circle" | "square" }[];
  grid: number[]; // x of the readings, ascending, data units
  reading(i: number): Reading;
  table: DataTable;
  yFloor?: number; // data units: where filled steps start on a log axis
  includeZero?: boolean; // keep y = 0 in view
  link?: string; // charts of one group share the x axis and show the same place
}

/** [lo, hi] in plot space over the marks that are shown, inside the x window (plot space). */
export function yExtent(
  m: ChartModel,
  hidden: ReadonlySet<string>,
  window: readonly [number, number],
): [number, number] {
  let lo = Infinity;
  let hi = -Infinity;
  const take = (v: number | null | undefined) => {
    const p = v === null || v === undefined ? null : m.y.fwd(v);
    if (p === null) return;
    if (p < lo) lo = p;
    if (p > hi) hi = p;
  };
  for (const mark of m.marks) {
    if (hidden.has(mark.id)) continue;
    for (let i = 0; i < mark.x.length; i++) {
      const x = m.x.fwd(mark.x[i]!);
      const right = mark.kind === "steps" ? m.x.fwd(mark.x2[i]!) : x;
      if (x === null || right === null || right < window[0] || x > window[1]) continue;
      take(mark.y[i]);
      if (mark.kind === "band") take(mark.y2[i]);
    }
  }
  if (m.includeZero) take(0);
  if (m.yFloor !== undefined) take(m.yFloor);
  if (lo > hi) return [0, 1];
  const pad = (hi - lo || Math.abs(hi) || 1) * 0.06;
  const floored = m.yFloor !== undefined && m.y.fwd(m.yFloor) === lo;
  return [floored ? lo : lo - pad, hi + pad];
}

export function xExtent(m: ChartModel): [number, number] {
  let lo = Infinity;
  let hi = -Infinity;
  for (const mark of m.marks) {
    const ends = mark.kind === "steps" ? mark.x2 : mark.x;
    for (let i = 0; i < mark.x.length; i++) {
      const a = m.x.fwd(mark.x[i]!);
      const b = m.x.fwd(ends[i]!);
      if (a !== null && a < lo) lo = a;
      if (b !== null && b > hi) hi = b;
    }
  }
  if (lo > hi) return [0, 1];
  const pad = (hi - lo || 1) * 0.02;
  return [lo - pad, hi + pad];
}

/** The grid index nearest to x in plot space. */
export function nearest(m: ChartModel, p: number): number {
  let best = 0;
  let gap = Infinity;
  for (let i = 0; i < m.grid.length; i++) {
    const at = m.x.fwd(m.grid[i]!);
    if (at !== null && Math.abs(at - p) < gap) {
      gap = Math.abs(at - p);
      best = i;
    }
  }
  return best;
}

export function csvOf(table: DataTable): string {
  const cell = (v: string | number | null) => {
    const s = v === null ? "" : String(v);
    return /[",\r\n]/.test(s) ? `"${s.replace(/"/g, '""')}"` : s;
  };
  return [table.csvHead, ...table.csv].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
