/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A series over runs: points with the interval of each run, levels, and where they changed. */

import type { SeriesPoints } from "../api/types";
import { linear, ordinal } from "../lib/axis";
import { fmt } from "../lib/format";
import type { ChartModel, Guide, Mark } from "./model";

/** Level lines from the changes: each holds from its first run to the next change. */
function levels(doc: SeriesPoints, at: Map<string, number>): Mark | null {
  const known = doc.changes
    .filter((c) => at.has(c.first_after))
    .sort((p, q) => at.get(p.first_after)! - at.get(q.first_after)!);
  if (known.length === 0) return null;
  const x: number[] = [];
  const y: (number | null)[] = [];
  const hold = (from: number, to: number, level: number) => {
    x.push(from, to, to);
    y.push(level, level, null);
  };
  let from = 1;
  for (const c of known) {
    const place = at.get(c.first_after)!;
    hold(from, place - 1, c.before);
    from = place;
    const back = c.fixed ? at.get(c.fixed) : undefined;
    if (back !== undefined) {
      hold(from, back - 1, c.after);
      from = back;
    }
  }
  const last = known[known.length - 1]!;
  hold(from, doc.points.length, last.fixed ? last.before : last.after);
  return { kind: "line", id: "level", label: "level", tone: "b", x, y };
}

export function trendModel(doc: SeriesPoints): ChartModel {
  const { series, points } = doc;
  const x = points.map((_, i) => i + 1);
  const at = new Map(points.map((p, i) => [p.run, i + 1]));
  const kept = points.map((p) => (p.outlier || !p.placed ? null : p.value));
  const out = points.map((p) => (p.outlier || !p.placed ? p.value : null));
  const level = levels(doc, at);
  const marks: Mark[] = [
    {
      kind: "band",
      id: "run",
      label: "interval of the run",
      tone: "a",
      x,
      y: points.map((p) => p.lo),
      y2: points.map((p) => p.hi),
    },
    { kind: "line", id: "value", label: series.stat, tone: "a", x, y: kept },
    { kind: "dots", shape: "circle", id: "value", label: series.stat, tone: "a", x, y: kept },
  ];
  if (out.some((v) => v !== null))
    marks.push({ kind: "dots", shape: "diamond", id: "out", label: "not used", tone: "ink", x, y: out });
  if (level) marks.push(level);
  const guides: Guide[] = doc.changes.flatMap((c) => {
    const place = at.get(c.first_after);
    const back = c.fixed ? at.get(c.fixed) : undefined;
    const found: Guide[] = [];
    if (place !== undefined) found.push({ axis: "x", at: place - 0.5, label: `${c.change} ${c.direction}` });
    if (back !== undefined) found.push({ axis: "x", at: back - 0.5, label: `${c.change} fixed` });
    return found;
  });
  const name = (i: number) => points[i]!.version ?? points[i]!.started ?? points[i]!.run;
  const note = (i: number) => {
    const p = points[i]!;
    return !p.placed ? "no place in the list" : p.outlier ? "outlier" : p.value === null ? p.answer : "";
  };
  return {
    id: "trend",
    title: `${series.stat} of ${series.title}`,
    about: `Every run of ${series.host} in order of ${series.order_by ?? "time"}; the band is the interval of each run's own value.`,
    x: ordinal(),
    y: linear(series.unit),
    xLabel: series.order_by ? `order of ${series.order_by}` : "order in time",
    yLabel: series.stat,
    marks,
    guides,
    legend: [
      { id: "value", label: series.stat, tone: "a", glyph: "circle" },
      { id: "run", label: "interval of the run", tone: "a", glyph: "band" },
      ...(level ? [{ id: "level", label: "level", tone: "b" as const, glyph: "line" as const }] : []),
    ],
    grid: x,
    reading: (i) => ({
      x: `${name(i)} (${points[i]!.run})`,
      values: [
        { id: "value", text: note(i) || fmt(points[i]!.value, series.unit) },
        { id: "run", text: `${fmt(points[i]!.lo, series.unit)} to ${fmt(points[i]!.hi, series.unit)}` },
      ],
    }),
    table: {
      head: ["version", "run", "started", series.stat, "from", "to", "note"],
      rows: points.map((p, i) => [
        p.version ?? "",
        p.run,
        p.started ?? "",
        fmt(p.value, series.unit),
        fmt(p.lo, series.unit),
        fmt(p.hi, series.unit),
        note(i),
      ]),
      csvHead: ["version", "run", "started", `value_${series.unit}`, `lo_${series.unit}`, `hi_${series.unit}`, "note"],
      csv: points.map((p, i) => [p.version, p.run, p.started, p.value, p.lo, p.hi, note(i)]),
    },
  };
}
