/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /runs/{id}: one run, what it measured, what it lost, on what it ran. */

import { useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { Run, SuggestionList } from "../api/types";
import { useLive } from "../live/live";
import { fmt, fmtSpan, pretty } from "../lib/format";
import { usePlace } from "../lib/router";
import { encodeValue, tidy } from "../lib/urlstate";
import { Distribution, RunOverTime } from "../run/Distribution";
import { ProbeCosts } from "../run/Cost";
import { Breaches, EnvironmentFacts, Gaps } from "../run/Facts";
import { Series } from "../run/Series";
import { Facts, Factors, Heading, Show, Time, useTitle } from "../ui/bits";
import { toast } from "../ui/toast";
import { Flags } from "./Runs";

export function RunPage({ id }: { id: string }) {
  const run = useApi<Run>(`${API}/runs/${encodeURIComponent(id)}`);
  const { query } = usePlace();
  useTitle(`Run ${id}`);
  useLive(`run:${id}`, run.retry, 2000, (c) => c.some((x) => x !== "data"));
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
              [
                "experiment",
                r.experiment && <a href={`/experiments/${r.experiment_id}`}>{r.experiment}</a>,
              ],
              [
                "order, block",
                r.order !== null
                  ? `${r.order}${r.block !== null ? `, block ${r.block}` : ""}`
                  : null,
              ],
              ["started", r.started && <Time at={r.started} seconds />],
              ["measured", r.measured_ns !== null ? fmtSpan(r.measured_ns) : null],
              ["kernel", r.kernel],
              ["source", r.source],
              ["import", r.import && <a href={`/import#${r.import}`}>{r.import}</a>],
              ["agent", r.agent_version],
              ["boot", r.boot_id && <code>{r.boot_id}</code>],
              ["workload", r.workload && <code>{workloadText(r.workload)}</code>],
              ["cost of measuring", r.cost && costText(r.cost)],
              [
                "pinned in",
                r.pins.length > 0 &&
                  r.pins.map((p) => (
                    <a key={p} class="factor" href={`/c/${p}`}>
                      {p}
                    </a>
                  )),
              ],
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
          {r.cost && <ProbeCosts cost={r.cost} />}
          {r.gaps.length > 0 && <Gaps gaps={r.gaps} />}
          {r.breaches.count > 0 && <Breaches r={r} />}
          {r.environment && <EnvironmentFacts sha={r.environment} />}
          <p class="raw row">
            <span>The same as</span>
            <a href={`${API}/runs/${r.id}`}>JSON</a>
            <a href={`${API}/runs/${r.id}?format=document`}>run document</a>
            {r.series.some((s) => s.kind === "hist") && (
              <>
                <a href={`${API}/runs/${r.id}/histograms/${r.metrics[0]}?format=csv`}>
                  histogram CSV
                </a>
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
  return (
    [
      cpu && `${cpu} CPU`,
      measure && `${measure} of it in the measuring threads`,
      typeof c.rss_anon_bytes === "number" && `${fmt(c.rss_anon_bytes / 1e6, "MB")} memory`,
    ]
      .filter(Boolean)
      .join(", ") || "not recorded"
  );
}

function Partners({ r }: { r: Run }) {
  const own = `run=${r.id}`;
  const list = useApi<SuggestionList>(
    r.state === "running" ? null : `${API}/compare/suggest?a=${encodeValue(own)}`,
  );
  if (!list.data || list.data.items.length === 0) return null;
  return (
    <p class="row">
      <span class="muted">Compare with</span>
      {list.data.items.slice(0, 5).map((s) => (
        <a
          key={s.b}
          href={s.ui ? tidy(s.ui) : `/compare?a=${encodeValue(own)}&b=${encodeValue(s.b)}`}
        >
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
  if (r.excluded)
    return (
      <button type="button" onClick={() => send(null)}>
        Count it again
      </button>
    );
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
      <input
        type="text"
        aria-label="Reason for excluding the run"
        placeholder="Reason, e.g. fan failed"
        value={reason}
        onInput={(e) => setReason(e.currentTarget.value)}
        required
        maxLength={500}
      />
      <button>Exclude</button>
      <button type="button" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}
