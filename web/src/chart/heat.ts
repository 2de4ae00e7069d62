/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A heat map as data: columns of time, rows of a logarithmic grid, colour by the logarithm of the
 * count. Pure; HeatMap.tsx draws it. */

import { fmt, fmtTime, group, type Zone } from "../lib/format";
import type { DataTable } from "./model";

/** Columns that share one grid: a run has one, a host's past several. */
export interface HeatBlock {
  edges: number[]; // rows: [edges[i], edges[i + 1])
  t: number[]; // start of each column, ms since 1970
  step: number; // ms
  counts: number[][]; // [column][row]
  phase: number[]; // 1 warm-up, 2 measured, 3 after, 0 unknown
  lost: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  max: (number | null)[];
  run: string;
}

export interface HeatModel {
  blocks: HeatBlock[];
  unit: string;
  t: [number, number];
  y: [number, number]; // log10 of the unit
  most: number; // largest count of a cell
}

export function heatModel(blocks: HeatBlock[], unit: string): HeatModel | null {
  const used = blocks.filter((b) => b.t.length > 0 && b.edges.length > 1);
  if (used.length === 0) return null;
  const t: [number, number] = [Infinity, -Infinity];
  const y: [number, number] = [Infinity, -Infinity];
  let most = 1;
  for (const b of used) {
    t[0] = Math.min(t[0], b.t[0]!);
    t[1] = Math.max(t[1], b.t[b.t.length - 1]! + b.step);
    const first = b.edges.find((e) => e > 0) ?? 1;
    y[0] = Math.min(y[0], Math.log10(first));
    y[1] = Math.max(y[1], Math.log10(b.edges[b.edges.length - 1]!));
    for (const column of b.counts) for (const n of column) if (n > most) most = n;
  }
  return { blocks: used, unit, t, y, most };
}

/** 0..1 by the logarithm: one sample is visible, a million does not hide it. */
export function shade(n: number, most: number): number {
  return most <= 1 ? 1 : Math.log(n) / Math.log(most);
}

/* Viridis at nine points (CC0), darkest first. */
const VIRIDIS = [
  [68, 1, 84],
  [71, 44, 122],
  [59, 81, 139],
  [44, 113, 142],
  [33, 144, 141],
  [39, 173, 129],
  [92, 200, 99],
  [170, 220, 50],
  [253, 231, 37],
];

/** Few samples are faint against the page, many are strong, in both themes. */
export function colour(v: number, dark: boolean): string {
  const at = (dark ? 0.12 + 0.88 * v : 0.95 - 0.95 * v) * (VIRIDIS.length - 1);
  const i = Math.min(VIRIDIS.length - 2, Math.floor(at));
  const [a, b] = [VIRIDIS[i]!, VIRIDIS[i + 1]!];
  const mix = a.map((c, k) => Math.round(c + (b[k]! - c) * (at - i)));
  return `rgb(${mix.join(" ")})`;
}

export const PHASES: Record<number, string> = { 0: "", 1: "warm-up", 2: "measured", 3: "after" };

export interface Column {
  block: HeatBlock;
  i: number;
}

export function columnsOf(m: HeatModel): Column[] {
  return m.blocks
    .flatMap((block) => block.t.map((_, i) => ({ block, i })))
    .sort((a, b) => a.block.t[a.i]! - b.block.t[b.i]!);
}

export function columnText(m: HeatModel, c: Column, zone: Zone): string {
  const { block: b, i } = c;
  const parts = [
    `${fmtTime(new Date(b.t[i]!).toISOString(), zone)}${PHASES[b.phase[i] ?? 0] ? `, ${PHASES[b.phase[i]!]}` : ""}`,
    `p50 ${fmt(b.p50[i], m.unit)}`,
    `p99 ${fmt(b.p99[i], m.unit)}`,
    `max ${fmt(b.max[i], m.unit)}`,
  ];
  if ((b.lost[i] ?? 0) > 0) parts.push(`${group(b.lost[i]!)} lost`);
  return parts.join("; ");
}

export function heatTable(m: HeatModel, zone: Zone): DataTable {
  const columns = columnsOf(m);
  const count = (c: Column) => c.block.counts[c.i]!.reduce((s, n) => s + n, 0);
  return {
    head: ["minute", "phase", "samples", "lost", "p50", "p99", "max"],
    rows: columns.map((c) => {
      const { block: b, i } = c;
      return [
        fmtTime(new Date(b.t[i]!).toISOString(), zone),
        PHASES[b.phase[i] ?? 0] ?? "",
        group(count(c)),
        group(b.lost[i] ?? 0),
        fmt(b.p50[i], m.unit),
        fmt(b.p99[i], m.unit),
        fmt(b.max[i], m.unit),
      ];
    }),
    csvHead: ["minute", "run", "phase", `from_${m.unit}`, `to_${m.unit}`, "count"],
    csv: columns.flatMap(({ block: b, i }) =>
      b.counts[i]!.flatMap((n, row) =>
        n > 0
          ? [
              [
                new Date(b.t[i]!).toISOString(),
                b.run,
                PHASES[b.phase[i] ?? 0] ?? "",
                b.edges[row]!,
                b.edges[row + 1]!,
                n,
              ],
            ]
          : [],
      ),
    ),
  };
}
