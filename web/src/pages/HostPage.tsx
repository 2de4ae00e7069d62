/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /hosts/{host}: one box and its latest runs. */

import { useEffect, useState } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { Host, List, Minutes, RunItem } from "../api/types";
import { OverTime } from "../chart/overtime";
import { group, plural } from "../lib/format";
import { quoteValue } from "../lib/selector";
import { encodeValue } from "../lib/urlstate";
import { Ago, Factors, Facts, Heading, Num, Scroll, Show, Time, useTitle } from "../ui/bits";
import { StateWord } from "./Fleet";
import { EnvironmentFacts } from "../run/Facts";
import { Flags } from "./Runs";

export function HostPage({ name }: { name: string }) {
  useTitle(name);
  const host = useApi<Host>(`${API}/hosts/${encodeURIComponent(name)}`);
  return (
    <Show from={host} what="the box">
      {(h) => (
        <>
          <header class="page-head">
            <div>
              <Heading>{h.name}</Heading>
              <p class="sub">
                <StateWord host={h} /> {h.state !== "imported" && <Ago at={h.last_seen} />}
              </p>
            </div>
            <div class="actions">
              <a class="button" href={`/runs?q=host=${encodeValue(h.name)}`}>
                All its runs
              </a>
            </div>
          </header>
          <Facts
            items={[
              ["kernel", h.kernel],
              ["CPU", h.cpu],
              ["CPUs", h.cpus],
              ["agent", h.agent_version],
              ["lost in the last hour", h.state === "imported" ? null : String(h.lost_1h ?? 0)],
              ["runs", String(h.runs)],
              ["tags", Object.keys(h.tags).length > 0 && <Factors factors={h.tags} />],
              ["note", h.note],
            ]}
          />
          {h.state !== "imported" && <Watch host={h.name} />}
          {h.environment && <EnvironmentFacts sha={h.environment} />}
          <LatestRuns host={h.name} />
        </>
      )}
    </Show>
  );
}

const WATCHED_HOURS = 3;

/** The daemon's hourly watch runs, one after the other, and the last minute in words. */
function Watch({ host }: { host: string }) {
  const runs = useApi<List<RunItem>>(
    `${API}/runs?q=${encodeValue(`host=${quoteValue(host)},kind=watch`)}&limit=${WATCHED_HOURS}`,
  );
  const [latest, setLatest] = useState<Minutes | null>(null);
  useEffect(() => {
    const timer = setInterval(runs.retry, 60000); // a new run begins every hour
    return () => clearInterval(timer);
  }, [runs.retry]);
  const list = runs.data?.items ?? [];
  const first = list[0];
  if (!first) return null;
  const metric = first.summary?.metric ?? first.metrics[0] ?? "wakeup_latency";
  const last = latest ? latest.t.length - 1 : -1;
  return (
    <>
      {latest && last >= 0 && (
        <p>
          <strong>Last minute</strong> (<Time at={latest.t[last]} />
          ): p50 <Num v={latest.p50[last]} unit={latest.unit} />, p99{" "}
          <Num v={latest.p99[last]} unit={latest.unit} />, max{" "}
          <Num v={latest.max[last]} unit={latest.unit} />,{" "}
          {plural(latest.count[last] ?? 0, "sample")}
          {(latest.lost[last] ?? 0) > 0 ? `, ${group(latest.lost[last]!)} lost` : ", none lost"}.
        </p>
      )}
      <OverTime
        runs={list.map((r) => r.id)}
        metric={metric}
        title="Watching"
        refreshMs={first.state === "running" ? 10000 : undefined}
        onLatest={setLatest}
      />
    </>
  );
}

function LatestRuns({ host }: { host: string }) {
  const runs = useApi<List<RunItem>>(`${API}/runs?host=${encodeValue(host)}&limit=20`);
  return (
    <section aria-labelledby="latest-runs">
      <h2 id="latest-runs">Latest runs</h2>
      <Show from={runs} what="runs">
        {(list) =>
          list.items.length === 0 ? (
            <p class="muted">No run yet.</p>
          ) : (
            <Scroll label="Latest runs">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col">run</th>
                    <th scope="col">started</th>
                    <th scope="col">experiment</th>
                    <th scope="col">factors</th>
                    <th scope="col" class="num">
                      p50
                    </th>
                    <th scope="col" class="num">
                      p99
                    </th>
                    <th scope="col" class="num">
                      max
                    </th>
                    <th scope="col">state</th>
                  </tr>
                </thead>
                <tbody>
                  {list.items.map((r) => (
                    <tr key={r.id}>
                      <th scope="row">
                        <a href={`/runs/${r.id}`}>{r.id}</a>
                      </th>
                      <td class="nowrap">
                        <Time at={r.started} />
                      </td>
                      <td>
                        {r.experiment && (
                          <a href={`/experiments/${r.experiment_id}`}>{r.experiment}</a>
                        )}
                      </td>
                      <td>
                        <Factors factors={r.factors} />
                      </td>
                      {[r.summary?.p50 ?? r.summary?.value, r.summary?.p99, r.summary?.max].map(
                        (v, i) => (
                          <td key={i} class="num">
                            <Num v={v} unit={r.summary?.unit ?? ""} />
                          </td>
                        ),
                      )}
                      <td>
                        <Flags r={r} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
          )
        }
      </Show>
    </section>
  );
}
