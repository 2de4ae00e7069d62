/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /runs/{id}: one run, what it measured, what it lost, on what it ran. */

import { useMemo, useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { BreachList, EnvironmentDoc, Histogram, QuantileList, Run, SeriesItem, SuggestionList } from "../api/types";
import { Chart } from "../chart/Chart";
import { histogramModel, ninesOf, percentilesModel, type YMode } from "../chart/compare";
import { OverTime } from "../chart/overtime";
import { exact, fmt, fmtSpan, group, plural, pretty } from "../lib/format";
import { setQuery, usePlace } from "../lib/router";
import { sortBy } from "../lib/table";
import { encodeValue, one, tidy, type Query } from "../lib/urlstate";
import { listOf, toggled, zoomOf, zoomPatch } from "../compare/state";
import { Empty, Facts, Factors, Heading, Num, Scroll, Show, Time, useTitle } from "../ui/bits";
import { toast } from "../ui/toast";
import { Flags } from "./Runs";

export function RunPage({ id }: { id: string }) {
  const run = useApi<Run>(`${API}/runs/${encodeURIComponent(id)}`);
  const { query } = usePlace();
  useTitle(`Run ${id}`);
  return (
    <Show from={run} what="the run">
      {(r) => (
        <>
          <header class="page-head">
            <div>
              <Heading>
                Run {r.id} <Flags r={r} />
              </Heading>
              <p class="sub">
                <Factors factors={r.factors} />
              </p>
            </div>
            <div class="actions">
              <Exclude r={r} onDone={run.retry} />
            </div>
          </header>
          {r.excluded && (
            <p class="notice warn">
              <strong>Excluded from comparisons:</strong> {r.excluded}
            </p>
          )}
          {r.reason && (
            <p class="notice warn">
              <strong>{r.state}:</strong> {r.reason}
            </p>
          )}
          <Partners r={r} />
          <Facts
            items={[
              ["box", r.host && <a href={`/hosts/${encodeURIComponent(r.host)}`}>{r.host}</a>],
              ["experiment", r.experiment && <a href={`/experiments/${r.experiment_id}`}>{r.experiment}</a>],
              ["order, block", r.order !== null ? `${r.order}${r.block !== null ? `, block ${r.block}` : ""}` : null],
              ["started", r.started && <Time at={r.started} seconds />],
              ["measured", r.measured_ns !== null ? fmtSpan(r.measured_ns) : null],
              ["kernel", r.kernel],
              ["source", r.source],
              ["import", r.import && <a href={`/import#${r.import}`}>{r.import}</a>],
              ["agent", r.agent_version],
              ["boot", r.boot_id && <code>{r.boot_id}</code>],
              ["workload", r.workload && <code>{workloadText(r.workload)}</code>],
              ["cost of measuring", r.cost && costText(r.cost)],
              ["pinned in", r.pins.length > 0 && r.pins.map((p) => <a key={p} class="factor" href={`/c/${p}`}>{p}</a>)],
              ["uid", <code>{r.uid}</code>],
            ]}
          />
          {r.note_list.length > 0 && (
            <section aria-labelledby="notes-title">
              <h2 id="notes-title">Notes</h2>
              <ul class="reasons">
                {r.note_list.map((n, i) => (
                  <li key={i}>
                    {pretty(n.text)} <code class="muted">{n.code}</code>
                  </li>
                ))}
              </ul>
            </section>
          )}
          <Distribution r={r} query={query} />
          <RunOverTime r={r} query={query} />
          <Series list={r.series} />
          {r.gaps.length > 0 && <Gaps gaps={r.gaps} />}
          {r.breaches.count > 0 && <Breaches r={r} />}
          {r.environment && <EnvironmentFacts sha={r.environment} />}
          <p class="raw row">
            <span>The same as</span>
            <a href={`${API}/runs/${r.id}`}>JSON</a>
            <a href={`${API}/runs/${r.id}?format=document`}>run document</a>
            {r.series.some((s) => s.kind === "hist") && (
              <>
                <a href={`${API}/runs/${r.id}/histograms/${r.metrics[0]}?format=csv`}>histogram CSV</a>
                <a href={`${API}/runs/${r.id}/histograms/${r.metrics[0]}?format=hgrm`}>.hgrm</a>
              </>
            )}
            {r.import && <a href={`${API}/imports/${r.import}/bytes`}>original file</a>}
          </p>
        </>
      )}
    </Show>
  );
}

function workloadText(w: Record<string, unknown>): string {
  return Array.isArray(w.argv) ? w.argv.join(" ") : String(w.name ?? "none");
}

function costText(c: Record<string, unknown>): string {
  const ns = (k: string) => (typeof c[k] === "number" ? fmt(c[k], "ns") : null);
  const cpu = ns("cpu_ns");
  const measure = ns("measure_cpu_ns");
  return [cpu && `${cpu} CPU`, measure && `${measure} of it in the measuring threads`, typeof c.rss_anon_bytes === "number" && `${fmt(c.rss_anon_bytes / 1e6, "MB")} memory`].filter(Boolean).join(", ") || "not recorded";
}

function Partners({ r }: { r: Run }) {
  const own = `run=${r.id}`;
  const list = useApi<SuggestionList>(r.state === "running" ? null : `${API}/compare/suggest?a=${encodeValue(own)}`);
  if (!list.data || list.data.items.length === 0) return null;
  return (
    <p class="row">
      <span class="muted">Compare with</span>
      {list.data.items.slice(0, 5).map((s) => (
        <a key={s.b} href={s.ui ? tidy(s.ui) : `/compare?a=${encodeValue(own)}&b=${encodeValue(s.b)}`}>
          {s.text}
        </a>
      ))}
    </p>
  );
}

function Exclude({ r, onDone }: { r: Run; onDone: () => void }) {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const send = async (excluded: string | null) => {
    try {
      await sendJson<Run>("PATCH", `${API}/runs/${r.id}`, { excluded });
      toast(excluded ? `${r.id} is excluded; it stays visible.` : `${r.id} counts again.`);
      setOpen(false);
      onDone();
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      toast(`Not changed: ${e.problem.detail ?? e.problem.title}`);
    }
  };
  if (r.excluded) return <button type="button" onClick={() => send(null)}>Count it again</button>;
  if (!open)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Exclude …
      </button>
    );
  return (
    <form
      class="row"
      onSubmit={(e) => {
        e.preventDefault();
        if (reason.trim()) void send(reason.trim());
      }}
    >
      <input type="text" aria-label="Reason for excluding the run" placeholder="Reason, e.g. fan failed" value={reason} onInput={(e) => setReason(e.currentTarget.value)} required maxLength={500} />
      <button>Exclude</button>
      <button type="button" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}

const QS = "0.01,0.1,0.25,0.5,0.75,0.9,0.95,0.99,0.995,0.999,0.9995,0.9999,0.99995,0.99999,0.999999";

function Distribution({ r, query }: { r: Run; query: Query }) {
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
    const mode: YMode = hy === "count" || hy === "percent" || hy === "density" ? hy : uneven ? "density" : "count";
    const side = { id: "a", label: h.metric, tone: "a" as const };
    const bins = { ...side, data: { lo: h.lo, hi: h.hi, n: h.n, overflow: h.overflow, overflow_lo: h.overflow_lo ?? undefined } };
    const known = quant.data.items.filter((i) => i.answer === "value" || i.answer === "at_least");
    const bounds = { ...side, data: { lo: known.map((i) => i.lo), hi: known.map((i) => i.hi), max: h.max } };
    const q = known.map((i) => i.q);
    return { hist: h.lo.length > 0 ? histogramModel([bins], h.unit, "log", mode, null) : null, perc: q.length > 1 ? percentilesModel(q, [bounds], h.unit, ninesOf(q)) : null };
  }, [hist.data, quant.data, hy]);
  const tables = listOf(query, "tables");
  if (!metric) {
    if (r.series.length === 0) return <Empty title={r.state === "running" ? "The run is still going on" : "The run has no series"} />;
    return <p class="notice">This run has no distribution: {[...new Set(r.series.map((s) => (s.kind === "summary" ? "only a summary over runs was published" : s.kind === "absent" ? `${s.metric} could not be measured` : "it has one value per metric")))].join("; ")}.</p>;
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
              {plural(h.count, "sample")}, min <Num v={h.min} unit={h.unit} />, mean <Num v={h.mean} unit={h.unit} />, max <Num v={h.max} unit={h.unit} />
              {h.lost > 0 && `; ${group(h.lost)} lost`}
              {h.overflow > 0 && `; ${group(h.overflow)} at or above ${fmt(h.overflow_lo, h.unit)}, where the histogram ends`}
              {h.negative > 0 && `; ${group(h.negative)} negative`}.
            </p>
            {quant.error && <Show from={quant} what="percentiles">{() => null}</Show>}
            {models && (
              <div class="charts">
                {models.hist && (
                  <Chart
                    model={models.hist}
                    {...common("histogram")}
                    options={
                      <select aria-label="Vertical axis of the histogram" value={hy || (h.scheme !== "linear" ? "density" : "count")} onChange={(e) => setQuery({ hy: e.currentTarget.value })}>
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

function RunOverTime({ r, query }: { r: Run; query: Query }) {
  const metrics = [...new Set(r.series.filter((s) => s.kind === "hist").map((s) => s.metric))];
  const metric = metrics.includes(one(query, "metric")) ? one(query, "metric") : metrics[0];
  if (!metric || r.kind === "imported") return null;
  return <OverTime runs={[r.id]} metric={metric} title="Over time" refreshMs={r.state === "running" ? 10000 : undefined} />;
}

const NONE_HIDDEN: ReadonlySet<string> = new Set();

const OMISSION: Record<string, string> = {
  unknown: "not known",
  keeps_deadlines: "keeps every deadline",
  skips_missed: "skips missed periods",
  intended_time: "from the intended time",
};

/** What held the CPU and who used it come as one series a cause: they are tables of their own. */
const CAUSES = ["blame_share", "blame_breaches"];
const SHOWN = 14;

function Series({ list }: { list: readonly SeriesItem[] }) {
  const [all, setAll] = useState(false);
  const plain = list.filter((s) => !CAUSES.includes(s.metric) && !isShare(s));
  const order = (s: SeriesItem) => (s.kind === "hist" ? 0 : s.kind === "absent" ? 2 : 1);
  const sorted = [...plain].sort((a, b) => order(a) - order(b));
  const shown = all ? sorted : sorted.slice(0, SHOWN);
  if (list.length === 0) return null;
  return (
    <>
      <section aria-labelledby="series-title">
        <h2 id="series-title">Metrics</h2>
        <Scroll label="Metrics">
          <table class="data">
            <thead>
              <tr>
                <th scope="col">metric</th>
                <th scope="col">labels</th>
                <th scope="col">method</th>
                <th scope="col" class="num">samples</th>
                <th scope="col" class="num">lost</th>
                <th scope="col" class="num">min</th>
                <th scope="col" class="num">mean or value</th>
                <th scope="col" class="num">max</th>
                <th scope="col">state</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((s, i) => (
                <SeriesRow key={i} s={s} />
              ))}
            </tbody>
          </table>
        </Scroll>
        {sorted.length > shown.length && (
          <button type="button" onClick={() => setAll(true)}>
            Show all {sorted.length} metrics
          </button>
        )}
      </section>
      <Causes list={list} />
      <Shares list={list.filter(isShare)} />
    </>
  );
}

function isShare(s: SeriesItem): boolean {
  return (s.metric.startsWith("time_") || s.metric.startsWith("cycles_") || s.metric.startsWith("cycle_")) && Object.keys(s.labels).length > 0 && s.unit === "%";
}

function SeriesRow({ s }: { s: SeriesItem }) {
  return (
    <tr>
      <th scope="row">{s.metric}</th>
      <td>
        {Object.entries(s.labels).map(([k, v]) => (
          <code class="factor" key={k}>
            {k}={v}
          </code>
        ))}
      </td>
      <td>
        {s.method ?? <span class="na">unknown</span>}
        {s.kind === "hist" && s.omission !== "unknown" && <span class="caution">{OMISSION[s.omission] ?? s.omission}</span>}
      </td>
      <td class="num">{s.count !== null && s.count !== undefined ? group(s.count) : s.n ? `${s.n} runs` : ""}</td>
      <td class="num">{s.lost + s.missed > 0 ? <span class="word tone-bad">▲ {group(s.lost + s.missed)}</span> : "0"}</td>
      <td class="num">
        <Num v={s.min} unit={s.unit} />
      </td>
      <td class="num">
        <Num v={s.value ?? s.mean} unit={s.unit} />
      </td>
      <td class="num">
        <Num v={s.max} unit={s.unit} />
      </td>
      <td>
        {s.kind === "absent" ? "absent" : s.state} {s.reason && <span class="caution">{s.reason}</span>}
      </td>
    </tr>
  );
}

/** Share of the late time and breaches an hour of each cause, largest first. */
function Causes({ list }: { list: readonly SeriesItem[] }) {
  const rows = new Map<string, { share: number | null; rate: number | null; rateUnit: string }>();
  for (const s of list) {
    const cause = s.labels.cause;
    if (!cause || !CAUSES.includes(s.metric)) continue;
    const row = rows.get(cause) ?? { share: null, rate: null, rateUnit: "1/h" };
    if (s.metric === "blame_share") row.share = s.value ?? null;
    else row.rate = s.value ?? null;
    rows.set(cause, row);
  }
  const sorted = sortBy([...rows], ([, r]) => r.share, "desc");
  return (
    <Ranking title="What held the CPU when a sample was late" id="causes-title" rows={sorted.map(([name, r]) => ({ name, share: r.share, note: r.rate === null ? "" : fmt(r.rate, r.rateUnit) }))} last="breaches an hour" />
  );
}

/** "time_command" is time by command; each metric has its own hundred percent. */
function Shares({ list }: { list: readonly SeriesItem[] }) {
  const metrics = [...new Set(list.map((s) => s.metric))];
  if (metrics.length === 0) return null;
  return (
    <div class="rankings">
      {metrics.map((metric) => {
        const rows = sortBy(list.filter((s) => s.metric === metric), (s) => s.value ?? s.mean ?? null, "desc");
        const [what = "", by = ""] = metric.split(/_(.*)/);
        return <Ranking key={metric} title={`CPU ${what} by ${by.replace(/_/g, " ")}`} id={`shares-${metric}`} rows={rows.map((s) => ({ name: Object.values(s.labels).join(" · "), share: s.value ?? s.mean ?? null, note: "" }))} />;
      })}
    </div>
  );
}

function Ranking({ title, id, rows, last }: { title: string; id: string; rows: { name: string; share: number | null; note: string }[]; last?: string }) {
  const [all, setAll] = useState(false);
  if (rows.length === 0) return null;
  const shown = all ? rows : rows.slice(0, 8);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <Scroll label={title}>
        <table class="data ranking">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">share</th>
              {last && (
                <th scope="col" class="num">
                  {last}
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {shown.map((r, i) => (
              <tr key={i}>
                <th scope="row">{r.name}</th>
                <td>
                  {r.share === null ? (
                    <span class="na">n/a</span>
                  ) : (
                    <span class="bar-cell">
                      <span class="meter tone-a" style={{ width: `${Math.max(1, Math.round(1.6 * r.share))}px` }} />
                      {fmt(r.share, "%")}
                    </span>
                  )}
                </td>
                {last && <td class="num">{r.note}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > shown.length && (
        <button type="button" class="small" onClick={() => setAll(true)}>
          Show all {rows.length}
        </button>
      )}
    </section>
  );
}

function Gaps({ gaps }: { gaps: Run["gaps"] }) {
  return (
    <section aria-labelledby="gaps-title">
      <h2 id="gaps-title">Gaps</h2>
      <ul class="reasons">
        {gaps.map((g, i) => (
          <li key={i}>
            {String(g.text ?? g.reason ?? "records are missing")}
            {typeof g.samples === "number" && `: ${plural(g.samples, "sample")} lost`}
          </li>
        ))}
      </ul>
    </section>
  );
}

const BREACHES = 12;

function Breaches({ r }: { r: Run }) {
  const [all, setAll] = useState(false);
  const list = useApi<BreachList>(`${API}/runs/${r.id}/breaches?limit=50`);
  return (
    <section aria-labelledby="breach-title">
      <h2 id="breach-title">Worst samples and what held the CPU</h2>
      <Show from={list} what="breaches">
        {(b) => (
          <>
            <p class="muted">
              {plural(b.count, "sample")} above the threshold, {group(b.read)} of them read.
            </p>
            <Scroll label="Breaches">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col">time</th>
                    <th scope="col" class="num">CPU</th>
                    <th scope="col" class="num">late by</th>
                    <th scope="col">held by</th>
                  </tr>
                </thead>
                <tbody>
                  {(all ? b.items : b.items.slice(0, BREACHES)).map((x, i) => (
                    <tr key={i}>
                      <td class="nowrap">
                        <Time at={x.t} seconds />
                      </td>
                      <td class="num">{x.cpu}</td>
                      <td class="num">
                        <Num v={x.late_ns} unit="ns" />
                      </td>
                      <td>{x.holders.length === 0 ? <span class="na">not read</span> : x.holders.map((h) => `${h.name}${h.ns !== null ? ` ${fmt(h.ns, "ns")}` : ""}`).join(", ")}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
            {!all && b.items.length > BREACHES && (
              <p>
                <button type="button" class="small" onClick={() => setAll(true)}>
                  Show the worst {b.items.length}
                </button>
              </p>
            )}
          </>
        )}
      </Show>
    </section>
  );
}

export function EnvironmentFacts({ sha }: { sha: string }) {
  const [open, setOpen] = useState(false);
  const [find, setFind] = useState("");
  const env = useApi<EnvironmentDoc>(open ? `${API}/environments/${sha}` : null);
  return (
    <details class="card panel" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>
        Environment <code class="muted">{sha.slice(0, 8)}</code>
      </summary>
      {open && (
        <Show from={env} what="the environment">
          {(d) => {
            const rows = Object.entries(d.facts).filter(([k, v]) => !find || k.includes(find) || String(v).includes(find));
            return (
              <>
                <p class="row">
                  <input type="search" aria-label="Find in the environment" placeholder="Find: kernel, cpu, governor …" value={find} onInput={(e) => setFind(e.currentTarget.value)} />
                  <span class="muted">
                    {rows.length} of {Object.keys(d.facts).length} facts; {plural(d.runs, "run")} ran in this environment
                  </span>
                </p>
                <Scroll label="Environment">
                  <table class="data env">
                    <tbody>
                      {rows.map(([k, v]) => (
                        <tr key={k}>
                          <th scope="row">
                            <code>{k}</code>
                          </th>
                          <td title={typeof v === "number" ? exact(v, "") : undefined}>{String(v)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </Scroll>
              </>
            );
          }}
        </Show>
      )}
    </details>
  );
}
