/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The charts of a comparison, or the sentence that says why there is none. */

import { useMemo } from "preact/hooks";
import type { Comparison, Interval } from "../api/types";
import {
  ccdfModel,
  histogramModel,
  ninesOf,
  percentilesModel,
  runsModel,
  shiftModel,
  sidesOf,
  type RunDot,
  type XMode,
  type YMode,
} from "../chart/compare";
import { Chart } from "../chart/Chart";
import type { ChartModel } from "../chart/model";
import { setQuery } from "../lib/router";
import { one, type Query } from "../lib/urlstate";
import { listOf, toggled, zoomOf, zoomPatch } from "./state";

interface Props {
  docs: readonly Comparison[];
  query: Query;
  caption: string;
  svgUrl: (chart: string) => string | undefined;
}

const NO_CHARTS: Record<string, string> = {
  summary_only:
    "The source has no distribution: only a summary (min, avg, max, sdev, range) was published. The table and its intervals are computed from that summary.",
  values:
    "The source has one value per run and no distribution of samples; the runs are shown in order.",
};

export function Charts({ docs, query, caption, svgUrl }: Props) {
  const first = docs[0]!;
  const models = useModels(docs, query);
  const hiddenText = one(query, "hide");
  const hidden = useMemo(() => new Set(hiddenText.split(",").filter(Boolean)), [hiddenText]);
  const tables = listOf(query, "tables");
  const none = !models.histogram && !models.percentiles && !models.ccdf;
  const reason = NO_CHARTS[first.a.data] ?? NO_CHARTS[first.b.data];

  const chart = (m: ChartModel | null, options?: preact.ComponentChildren) =>
    m && (
      <Chart
        key={m.id}
        model={m}
        options={options}
        caption={caption}
        svgUrl={svgUrl(m.id)}
        zoom={zoomOf(query, m.id)}
        onZoom={(r) => setQuery(zoomPatch(m.id, r), "replace")}
        hidden={hidden}
        onToggle={(id) => setQuery({ hide: toggled([...hidden], id) || null }, "replace")}
        tableOpen={tables.includes(m.id)}
        onTable={() => setQuery({ tables: toggled(tables, m.id) || null }, "replace")}
        height={m.id === "runs" ? 240 : 300}
      />
    );

  return (
    <section aria-labelledby="charts-title">
      <h2 id="charts-title" class="sr-only">
        Charts
      </h2>
      {none && reason && <p class="notice">{reason}</p>}
      {none && !reason && <p class="notice">The answer holds no distribution for this metric.</p>}
      <div class="charts">
        {chart(models.histogram, <HistogramMenu query={query} uneven={models.uneven} />)}
        {chart(models.percentiles, <NinesMenu query={query} top={models.nines} />)}
        {chart(models.shift)}
        {chart(models.ccdf)}
      </div>
      {chart(models.runs)}
    </section>
  );
}

function useModels(docs: readonly Comparison[], query: Query) {
  const hx = one(query, "hx") === "lin" ? "linear" : "log";
  const hy = one(query, "hy");
  const nines = Number(one(query, "nines"));
  return useMemo(() => {
    const first = docs[0]!;
    const unit = first.charts.histogram?.unit ?? first.metric.unit;
    const threshold = first.tail?.threshold_ns ?? null;
    const bins = sidesOf(docs, (d, s) => d.charts.histogram?.[s]);
    const uneven = bins.some((b) => unevenBins(b.data.lo, b.data.hi));
    const q = docs.find((d) => d.charts.percentiles)?.charts.percentiles?.q ?? [];
    const bounds = sidesOf(docs, (d, s) => {
      const p = d.charts.percentiles?.[s];
      const band = d[s].n > 1 ? p?.band : undefined;
      return (
        p && {
          lo: p.lo,
          hi: p.hi,
          band,
          max: d.rows.find((r) => r.stat === "max")?.[s]?.max ?? null,
        }
      );
    });
    const shifts = sidesOf(docs, (d, s) => (s === "b" ? d.charts.shift : null)).filter(
      (s) => s.data.q.length > 0,
    );
    const ccdf = sidesOf(docs, (d, s) => {
      const c = d.charts.ccdf;
      if (!c || c.x.length === 0) return null;
      const band: Interval[] = (d[s].n > 1 && c[s === "a" ? "a_band" : "b_band"]) || [];
      return { x: c.x, share: c[s], band };
    });
    const dots = sidesOf(docs, (d, s) => runDots(d, s)).filter((s) => s.data.length > 0);
    const stat = first.charts.runs?.stat ?? first.metric.primary;
    const statUnit =
      first.charts.runs?.unit ?? first.rows.find((r) => r.stat === stat)?.unit ?? first.metric.unit;
    const yMode: YMode =
      hy === "count" || hy === "percent" || hy === "density" ? hy : uneven ? "density" : "count";
    return {
      uneven,
      nines: ninesOf(q),
      histogram: bins.some((b) => b.data.lo.length > 0)
        ? histogramModel(bins, unit, hx as XMode, yMode, threshold)
        : null,
      percentiles:
        q.length > 1 ? percentilesModel(q, bounds, unit, nines > 0 ? nines : ninesOf(q)) : null,
      shift: shifts.length > 0 ? shiftModel(shifts, unit, first.metric.better) : null,
      ccdf: ccdf.length > 0 ? ccdfModel(ccdf, unit, threshold) : null,
      runs:
        dots.length > 0 && dots.some((d) => d.data.length > 1)
          ? runsModel(dots, stat, statUnit)
          : null,
    };
  }, [docs, hx, hy, nines]);
}

function unevenBins(lo: number[], hi: (number | null)[]): boolean {
  const widths = lo.flatMap((v, i) => (hi[i] === null || hi[i] === undefined ? [] : [hi[i]! - v]));
  return widths.length > 1 && Math.max(...widths) > 1.01 * Math.min(...widths);
}

function runDots(d: Comparison, side: "a" | "b"): RunDot[] {
  const points = d.charts.runs?.points ?? [];
  return points.map((p, i) => ({ ...p, order: p.order ?? i + 1 })).filter((p) => p.side === side);
}

function HistogramMenu({ query, uneven }: { query: Query; uneven: boolean }) {
  const byDefault = uneven ? "density" : "count";
  return (
    <>
      <select
        aria-label="Vertical axis of the histogram"
        value={one(query, "hy", byDefault)}
        onChange={(e) =>
          setQuery({ hy: e.currentTarget.value === byDefault ? null : e.currentTarget.value })
        }
      >
        <option value="count">count</option>
        <option value="percent">% per bin</option>
        <option value="density">% per µs</option>
      </select>
      <select
        aria-label="Horizontal axis of the histogram"
        value={one(query, "hx", "log")}
        onChange={(e) =>
          setQuery({
            hx: e.currentTarget.value === "log" ? null : e.currentTarget.value,
            "z.histogram": null,
          })
        }
      >
        <option value="log">log x</option>
        <option value="lin">linear x</option>
      </select>
    </>
  );
}

function NinesMenu({ query, top }: { query: Query; top: number }) {
  const most = Math.max(1, Math.floor(top + 1e-9));
  if (most < 2) return null;
  return (
    <select
      aria-label="Number of nines"
      value={one(query, "nines", "")}
      onChange={(e) => setQuery({ nines: e.currentTarget.value || null, "z.percentiles": null })}
    >
      <option value="">all nines</option>
      {Array.from({ length: most }, (_, i) => (
        <option key={i} value={String(i + 1)}>
          {i + 1} {i === 0 ? "nine" : "nines"}
        </option>
      ))}
    </select>
  );
}
