/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run lost, its worst samples, and the facts of its box. */

import { useState } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { BreachList, EnvironmentDoc, Run } from "../api/types";
import { exact, fmt, group, plural } from "../lib/format";
import { Num, Scroll, Show, Time } from "../ui/bits";

export function Gaps({ gaps }: { gaps: Run["gaps"] }) {
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

export function Breaches({ r }: { r: Run }) {
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
                    <th scope="col" class="num">
                      CPU
                    </th>
                    <th scope="col" class="num">
                      late by
                    </th>
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
                      <td>
                        {x.holders.length === 0 ? (
                          <span class="na">not read</span>
                        ) : (
                          x.holders
                            .map((h) => `${h.name}${h.ns !== null ? ` ${fmt(h.ns, "ns")}` : ""}`)
                            .join(", ")
                        )}
                      </td>
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
            const rows = Object.entries(d.facts).filter(
              ([k, v]) => !find || k.includes(find) || String(v).includes(find),
            );
            return (
              <>
                <p class="row">
                  <input
                    type="search"
                    aria-label="Find in the environment"
                    placeholder="Find: kernel, cpu, governor …"
                    value={find}
                    onInput={(e) => setFind(e.currentTarget.value)}
                  />
                  <span class="muted">
                    {rows.length} of {Object.keys(d.facts).length} facts; {plural(d.runs, "run")}{" "}
                    ran in this environment
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
                          <td title={typeof v === "number" ? exact(v, "") : undefined}>
                            {String(v)}
                          </td>
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
