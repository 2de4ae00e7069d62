/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A box's latency over any range of time, binned by the server to the pixels of the chart. A range
 * that is brushed can be looked at closer, or compared with another one. */

import { useMemo } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { HostHeat } from "../api/types";
import { fmtSpan, fmtTime, group, plural } from "../lib/format";
import { useZone } from "../lib/prefs";
import { setQuery, usePlace } from "../lib/router";
import { quoteValue } from "../lib/selector";
import { encodeValue, one, parseRange } from "../lib/urlstate";
import { useLive } from "../live/live";
import { listOf, toggled } from "../compare/state";
import { Num, ProblemBox, Time } from "../ui/bits";
import { heatModel, type HeatBlock } from "./heat";
import { HeatMap } from "./HeatMap";

const RANGES: readonly [string, string][] = [
  ["10m", "10 minutes"],
  ["1h", "1 hour"],
  ["6h", "6 hours"],
  ["24h", "1 day"],
  ["7d", "7 days"],
  ["30d", "30 days"],
];
const COLUMNS = 400;
const HOUR = 3600e3;

function blockOf(h: HostHeat): HeatBlock {
  const from = Date.parse(h.from);
  return {
    run: h.host,
    edges: h.edges,
    t: h.t.map((k) => from + (k * h.step_ns) / 1e6),
    step: h.step_ns / 1e6,
    counts: h.counts,
    phase: h.t.map(() => 0),
    lost: h.lost,
    p50: h.p50,
    p99: h.p99,
    max: h.max,
  };
}

export function HostOverTime({ host, metric }: { host: string; metric: string }) {
  const { query } = usePlace();
  const zoom = parseRange(one(query, "zoom"));
  const brush = parseRange(one(query, "brush"));
  const range = one(query, "range", "1h");
  const time = zoom
    ? `from=${new Date(zoom[0]).toISOString()}&to=${new Date(zoom[1]).toISOString()}`
    : `from=${encodeValue(range)}`;
  const url = `${API}/hosts/${encodeURIComponent(host)}/heatmap/${metric}?${time}&width=${COLUMNS}&height=60`;
  const heat = useApi<HostHeat>(url);
  useLive(zoom ? null : `host:${host}`, heat.retry, 5000, (c) => c.some((x) => x !== "host.changed"));
  const model = useMemo(
    () => (heat.data ? heatModel([blockOf(heat.data)], heat.data.unit || "ns") : null),
    [heat.data],
  );
  const tables = listOf(query, "tables");
  const last = heat.data && heat.data.t.length > 0 ? heat.data.t.length - 1 : -1;
  return (
    <section aria-label="History of latency" class="flow">
      {heat.data && last >= 0 && !zoom && <Newest heat={heat.data} at={last} />}
      <p class="row">
        <label class="inline">
          Range
          <select
            value={zoom ? "" : range}
            onChange={(e) => setQuery({ range: e.currentTarget.value, zoom: null, brush: null })}
          >
            {zoom && <option value="">chosen</option>}
            {RANGES.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {zoom && (
          <button type="button" class="small" onClick={() => setQuery({ zoom: null, brush: null })}>
            The newest again
          </button>
        )}
        {!zoom && <span class="muted">Drag over the chart to choose a part of it.</span>}
      </p>
      {heat.error ? (
        <ProblemBox error={heat.error} retry={heat.retry} />
      ) : model ? (
        <HeatMap
          model={model}
          title="Latency over time"
          about={aboutOf(heat.data!, metric)}
          tableOpen={tables.includes("heat")}
          onTable={() => setQuery({ tables: toggled(tables, "heat") || null }, "replace")}
          brush={brush}
          onBrush={(b) => setQuery({ brush: b ? `${Math.round(b[0])}..${Math.round(b[1])}` : null })}
        />
      ) : heat.data ? (
        <p class="notice">
          Nothing was measured here in this range. A longer one may show something; what an agent sends
          appears about a minute later.
        </p>
      ) : null}
      {brush && <Brushed host={host} range={brush} />}
    </section>
  );
}

function aboutOf(h: HostHeat, metric: string): string {
  const lost = h.lost.reduce((s, n) => s + n, 0);
  return `${metric}, ${fmtSpan(h.step_ns)} a column, from ${h.source === "minutes" ? "minutes" : "single intervals"}; colour is the logarithm of the count, empty cells are blank.${lost > 0 ? ` ${group(lost)} samples were lost.` : ""}`;
}

function Newest({ heat, at }: { heat: HostHeat; at: number }) {
  const t = new Date(Date.parse(heat.from) + (heat.t[at]! * heat.step_ns) / 1e6).toISOString();
  return (
    <p>
      <strong>Newest</strong> (<Time at={t} seconds />, {fmtSpan(heat.step_ns)}): p50{" "}
      <Num v={heat.p50[at]} unit={heat.unit} />, p99 <Num v={heat.p99[at]} unit={heat.unit} />, max{" "}
      <Num v={heat.max[at]} unit={heat.unit} />, {plural(heat.count[at] ?? 0, "sample")}
      {(heat.lost[at] ?? 0) > 0 ? `, ${group(heat.lost[at]!)} lost` : ", none lost"}.
    </p>
  );
}

/** A brushed range against another one. Runs are what is compared, so the range must hold some. */
function Brushed({ host, range }: { host: string; range: [number, number] }) {
  const zone = useZone();
  const [from, to] = range;
  const span = to - from;
  const side = (a: number, b: number) =>
    `host=${quoteValue(host)},kind=watch,started>=${iso(a)},started<${iso(b)}`;
  const against = (shift: number) =>
    `/compare?a=${encodeValue(side(from - shift, to - shift))}&b=${encodeValue(side(from, to))}`;
  return (
    <section class="notice" aria-labelledby="brushed-title">
      <h2 id="brushed-title">
        {fmtTime(new Date(from).toISOString(), zone)} to {fmtTime(new Date(to).toISOString(), zone).slice(11)},{" "}
        {fmtSpan(span * 1e6)}
      </h2>
      <p class="row">
        <button
          type="button"
          class="small"
          onClick={() => setQuery({ zoom: `${Math.round(from)}..${Math.round(to)}`, brush: null })}
        >
          Look closer
        </button>
        {span >= HOUR && (
          <>
            <a href={against(span)}>Compare with the same time before it</a>
            <a href={against(24 * HOUR)}>Compare with the same time a day earlier</a>
          </>
        )}
        <a
          href={`/runs?q=${encodeValue(`host=${quoteValue(host)},started>=${iso(from)},started<${iso(to)}`)}`}
        >
          Runs that began in it
        </a>
        <button type="button" class="small" onClick={() => setQuery({ brush: null })}>
          Drop
        </button>
      </p>
      <p class="muted">
        {span >= HOUR
          ? "Two ranges of watching are no experiment: nothing was alternated, so a difference may come from anything that changed between them. The hourly runs that began in each range are compared."
          : "A comparison is of runs, and watching makes one an hour: choose an hour or more to compare it with another."}
      </p>
    </section>
  );
}

function iso(ms: number): string {
  return new Date(Math.round(ms / 1000) * 1000).toISOString().replace(".000", "");
}
