/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distribution of one run: histogram and percentiles, and its course over time. */

import { useMemo } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { Histogram, QuantileList, Run } from "../api/types";
import { Chart } from "../chart/Chart";
import { histogramModel, ninesOf, percentilesModel, type YMode } from "../chart/compare";
import { OverTime } from "../chart/overtime";
import { listOf, toggled, zoomOf, zoomPatch } from "../compare/state";
import { fmt, group, plural } from "../lib/format";
import { setQuery } from "../lib/router";
import { one, type Query } from "../lib/urlstate";
import { Empty, Num, Show } from "../ui/bits";

const QS =
  "0.01,0.1,0.25,0.5,0.75,0.9,0.95,0.99,0.995,0.999,0.9995,0.9999,0.99995,0.99999,0.999999";

export function Distribution({ r, query }: { r: Run; query: Query }) {
  const metrics = [...new Set(r.series.filter((s) => s.kind === "hist").map((s) => s.metric))];
  const metric = metrics.includes(one(query, "metric")) ? one(query, "metric") : metrics[0];
  const base = `${API}/runs/${r.id}`;
  const hist = useApi<Histogram>(metric ? `${base}/histograms/${metric}` : null);
  const quant = useApi<QuantileList>(metric ? `${base}/quantiles/${metric}?q=${QS}` : null);
  const hy = one(query, "hy");
  const models = useMemo(() => {
    if (!hist.data || !quant.data) return null;
    const h = hist.data;
    const uneven = h.scheme !== "linear";
    const mode: YMode =
      hy === "count" || hy === "percent" || hy === "density" ? hy : uneven ? "density" : "count";
    const side = { id: "a", label: h.metric, tone: "a" as const };
    const bins = {
      ...side,
      data: {
        lo: h.lo,
        hi: h.hi,
        n: h.n,
        overflow: h.overflow,
        overflow_lo: h.overflow_lo ?? undefined,
      },
    };
    const known = quant.data.items.filter((i) => i.answer === "value" || i.answer === "at_least");
    const bounds = {
      ...side,
      data: { lo: known.map((i) => i.lo), hi: known.map((i) => i.hi), max: h.max },
    };
    const q = known.map((i) => i.q);
    return {
      hist: h.lo.length > 0 ? histogramModel([bins], h.unit, "log", mode, null) : null,
      perc: q.length > 1 ? percentilesModel(q, [bounds], h.unit, ninesOf(q)) : null,
    };
  }, [hist.data, quant.data, hy]);
  const tables = listOf(query, "tables");
  if (!metric) {
    if (r.series.length === 0)
      return (
        <Empty
          title={r.state === "running" ? "The run is still going on" : "The run has no series"}
        />
      );
    return (
      <p class="notice">
        This run has no distribution:{" "}
        {[
          ...new Set(
            r.series.map((s) =>
              s.kind === "summary"
                ? "only a summary over runs was published"
                : s.kind === "absent"
                  ? `${s.metric} could not be measured`
                  : "it has one value per metric",
            ),
          ),
        ].join("; ")}
        .
      </p>
    );
  }
  const common = (id: string) => ({
    zoom: zoomOf(query, id),
    onZoom: (range: [number, number] | null) => setQuery(zoomPatch(id, range), "replace" as const),
    hidden: NONE_HIDDEN,
    onToggle: () => {},
    tableOpen: tables.includes(id),
    onTable: () => setQuery({ tables: toggled(tables, id) || null }, "replace" as const),
    caption: `Run ${r.id}, ${metric}\n${location.href}`,
  });
  return (
    <section aria-labelledby="dist-title">
      <div class="list-head">
        <h2 id="dist-title">Distribution</h2>
        {metrics.length > 1 && (
          <label class="inline">
            Metric
            <select value={metric} onChange={(e) => setQuery({ metric: e.currentTarget.value })}>
              {metrics.map((m) => (
                <option key={m}>{m}</option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Show from={hist} what="the histogram">
        {(h) => (
          <>
            <p>
              {plural(h.count, "sample")}, min <Num v={h.min} unit={h.unit} />, mean{" "}
              <Num v={h.mean} unit={h.unit} />, max <Num v={h.max} unit={h.unit} />
              {h.lost > 0 && `; ${group(h.lost)} lost`}
              {h.overflow > 0 &&
                `; ${group(h.overflow)} at or above ${fmt(h.overflow_lo, h.unit)}, where the histogram ends`}
              {h.negative > 0 && `; ${group(h.negative)} negative`}.
            </p>
            {quant.error && (
              <Show from={quant} what="percentiles">
                {() => null}
              </Show>
            )}
            {models && (
              <div class="charts">
                {models.hist && (
                  <Chart
                    model={models.hist}
                    {...common("histogram")}
                    options={
                      <select
                        aria-label="Vertical axis of the histogram"
                        value={hy || (h.scheme !== "linear" ? "density" : "count")}
                        onChange={(e) => setQuery({ hy: e.currentTarget.value })}
                      >
                        <option value="count">count</option>
                        <option value="percent">% per bin</option>
                        <option value="density">% per µs</option>
                      </select>
                    }
                  />
                )}
                {models.perc && <Chart model={models.perc} {...common("percentiles")} />}
              </div>
            )}
          </>
        )}
      </Show>
    </section>
  );
}

export function RunOverTime({ r, query }: { r: Run; query: Query }) {
  const metrics = [...new Set(r.series.filter((s) => s.kind === "hist").map((s) => s.metric))];
  const metric = metrics.includes(one(query, "metric")) ? one(query, "metric") : metrics[0];
  if (!metric || r.kind === "imported") return null;
  return (
    <OverTime
      runs={[r.id]}
      metric={metric}
      title="Over time"
      topic={r.state === "running" ? `run:${r.id}` : undefined}
    />
  );
}

const NONE_HIDDEN: ReadonlySet<string> = new Set();
