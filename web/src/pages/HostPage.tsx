/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /hosts/{host}: one box and its latest runs. */

import { API, useApi } from "../api/client";
import type { Host, List, RunItem } from "../api/types";
import { encodeValue } from "../lib/urlstate";
import { Ago, Factors, Facts, Heading, Num, Scroll, Show, Time, useTitle } from "../ui/bits";
import { StateWord } from "./Fleet";
import { EnvironmentFacts } from "./RunPage";
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
          {h.environment && <EnvironmentFacts sha={h.environment} />}
          <LatestRuns host={h.name} />
        </>
      )}
    </Show>
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
                    <th scope="col" class="num">p50</th>
                    <th scope="col" class="num">p99</th>
                    <th scope="col" class="num">max</th>
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
                      <td>{r.experiment && <a href={`/experiments/${r.experiment_id}`}>{r.experiment}</a>}</td>
                      <td>
                        <Factors factors={r.factors} />
                      </td>
                      {[r.summary?.p50 ?? r.summary?.value, r.summary?.p99, r.summary?.max].map((v, i) => (
                        <td key={i} class="num">
                          <Num v={v} unit={r.summary?.unit ?? ""} />
                        </td>
                      ))}
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
