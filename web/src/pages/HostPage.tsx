/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /hosts/{host}: one box and its latest runs. */

import { API, useApi } from "../api/client";
import type { Host, List, RunItem } from "../api/types";
import { HostOverTime } from "../chart/hostheat";
import { useLive } from "../live/live";
import { fmt, fmtBytes, fmtSpan, group, plural } from "../lib/format";
import { encodeValue } from "../lib/urlstate";
import { Ago, Factors, Facts, Heading, Num, Scroll, Show, Time, useTitle } from "../ui/bits";
import { StateWord } from "./Fleet";
import { EnvironmentFacts } from "../run/Facts";
import { Flags } from "./Runs";

export function HostPage({ name }: { name: string }) {
  useTitle(name);
  const host = useApi<Host>(`${API}/hosts/${encodeURIComponent(name)}`);
  useLive(`host:${name}`, host.retry, 5000);
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
              ["now", h.now?.text],
              [
                "reserved",
                h.reserved && (
                  <>
                    by {h.reserved.by}
                    {h.reserved.reason && `: ${h.reserved.reason}`}
                  </>
                ),
              ],
              ["behind", h.lag_ns ? fmtSpan(h.lag_ns) : null],
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
          {h.state !== "imported" && <OverAll host={h.name} />}
          <AgentFacts h={h} />
          {h.environment && <EnvironmentFacts sha={h.environment} />}
          <LatestRuns host={h.name} />
        </>
      )}
    </Show>
  );
}

/** The metric of the newest run: what the box measures, latency first. */
function OverAll({ host }: { host: string }) {
  const runs = useApi<List<RunItem>>(`${API}/runs?host=${encodeValue(host)}&limit=1`);
  const first = runs.data?.items[0];
  if (!first) return null;
  const metric = first.metrics.includes("wakeup_latency")
    ? "wakeup_latency"
    : (first.summary?.metric ?? first.metrics[0]);
  return metric ? <HostOverTime host={host} metric={metric} /> : null;
}

/** What the agent says about itself: the heartbeat in words, problems first. */
function AgentFacts({ h }: { h: Host }) {
  const a = h.agent;
  if (!a) return null;
  const dropped = a.dropped?.samples ?? 0;
  return (
    <section aria-labelledby="agent-title">
      <h2 id="agent-title">Agent</h2>
      {a.error && (
        <p class="notice warn">
          <strong>Last problem</strong> <Ago at={a.error.time} />: {a.error.text}
        </p>
      )}
      <Facts
        items={[
          ["heard", <Ago at={a.reported} />],
          ["running for", a.uptime_ns ? fmtSpan(a.uptime_ns) : null],
          ["box up for", a.box_uptime_ns ? fmtSpan(a.box_uptime_ns) : null],
          [
            "waiting to be sent",
            a.spool ? `${group(a.spool.records ?? 0)} records, ${fmtBytes(a.spool.bytes ?? 0)}` : null,
          ],
          ["spool", a.spool?.problem],
          ["dropped", dropped > 0 ? `${plural(dropped, "sample")} since it started` : "nothing"],
          [
            "clock",
            a.clock_offset_ns !== null && a.clock_offset_ns !== undefined
              ? `${fmt(Math.abs(a.clock_offset_ns), "ns")} ${a.clock_offset_ns >= 0 ? "ahead" : "behind"}${a.clock_error_ns ? `, known to ${fmt(a.clock_error_ns, "ns")}` : ""}`
              : null,
          ],
        ]}
      />
    </section>
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
