/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /trends and /trends/{id}: statistics over runs, by time or version, and what changed in them. */

import { useMemo } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { List, SeriesPoints, Trend } from "../api/types";
import { Chart } from "../chart/Chart";
import { trendModel } from "../chart/trend";
import { listOf, toggled } from "../compare/state";
import { fmt, fmtRel, plural } from "../lib/format";
import { setQuery, usePlace } from "../lib/router";
import { encodeValue, formatRange, one, parseRange } from "../lib/urlstate";
import { Empty, Factors, Facts, Heading, Num, Pager, Scroll, Show, Time, useTitle } from "../ui/bits";
import { useMore } from "./Runs";

const FILTERS = ["host", "metric", "stat", "experiment", "branch", "reading"] as const;

export function readingText(t: Trend): string {
  if (t.reading === "steps") return "steps";
  if (t.reading === "drift") return "drifts slowly";
  if (t.reading === "none") return "no change";
  if (t.reading === "history_too_short") return `history too short (${t.points} of ${t.needed ?? 20} points)`;
  return "not analysed yet";
}

function Context({ t }: { t: Trend }) {
  const { experiment, branch, factors } = t.context;
  const all = { ...(branch ? { branch } : {}), ...factors, ...t.labels };
  return (
    <>
      {experiment ?? <span class="na">no experiment</span>} {Object.keys(all).length > 0 && <Factors factors={all} />}
    </>
  );
}

export function TrendsPage() {
  useTitle("Trends");
  const { query } = usePlace();
  const chosen = FILTERS.filter((f) => one(query, f));
  const url = `${API}/series?${chosen.map((f) => `${f}=${encodeValue(one(query, f))}`).join("&")}`;
  const list = useApi<List<Trend>>(url);
  const more = useMore<Trend>(list.data, url);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Trends</Heading>
          <p class="sub">One statistic on one box over its runs. Never mixed over boxes; missing stays missing.</p>
        </div>
        <div class="actions">
          <a class="button" href="/changes">
            Changes
          </a>
        </div>
      </header>
      <form
        class="flow-row"
        onSubmit={(e) => {
          e.preventDefault();
          const data = new FormData(e.currentTarget);
          setQuery(Object.fromEntries(FILTERS.map((f) => [f, String(data.get(f) ?? "") || null])));
        }}
      >
        {FILTERS.slice(0, 5).map((f) => (
          <label key={f}>
            {f} <input name={f} value={one(query, f)} size={12} />
          </label>
        ))}
        <button type="submit">Show</button>
      </form>
      <Show from={list} what="series">
        {(first) => {
          const rows = [...first.items, ...more.items];
          if (rows.length === 0)
            return (
              <Empty title={chosen.length > 0 ? "No series matches" : "No series yet"}>
                <p>
                  {chosen.length > 0 ? (
                    <a href="/trends">Show all series</a>
                  ) : (
                    <>
                      Every finished run adds a point; <code>rigstat submit</code> does so from a CI job.
                    </>
                  )}
                </p>
              </Empty>
            );
          return (
            <>
              <Scroll label="Series">
                <table class="data">
                  <thead>
                    <tr>
                      <th scope="col">Series</th>
                      <th scope="col">Box</th>
                      <th scope="col">Held still</th>
                      <th scope="col" class="num">
                        Points
                      </th>
                      <th scope="col" class="num">
                        Level
                      </th>
                      <th scope="col">Reading</th>
                      <th scope="col" class="num">
                        Open changes
                      </th>
                      <th scope="col">Last</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((t) => (
                      <tr key={t.id}>
                        <th scope="row">
                          <a href={`/trends/${t.id}`}>
                            {t.stat} of {t.title}
                          </a>
                        </th>
                        <td>
                          <a href={`/hosts/${encodeURIComponent(t.host)}`}>{t.host}</a>
                        </td>
                        <td>
                          <Context t={t} />
                        </td>
                        <td class="num">{t.points}</td>
                        <td class="num">
                          <Num v={t.level} unit={t.unit} />
                        </td>
                        <td>{readingText(t)}</td>
                        <td class="num">{t.open_changes}</td>
                        <td>{t.last ? (t.last.version ?? <Time at={t.last.started} />) : <span class="na">n/a</span>}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
              <Pager next={more.next} shown={rows.length} onMore={more.load} busy={more.busy} />
            </>
          );
        }}
      </Show>
    </>
  );
}

function sentence(doc: SeriesPoints): string {
  const t = doc.series;
  const now = t.level === null ? "" : ` The level is ${fmt(t.level, t.unit)}.`;
  if (t.reading === "drift") return `It drifts slowly, so no steps are cut into it.${now}`;
  if (t.reading === "history_too_short") return `The history is too short: ${t.points} of ${t.needed ?? 20} points.`;
  const n = doc.changes.length;
  return `${n === 0 ? "No change is known" : `${plural(n, "change")} ${n === 1 ? "is" : "are"} known`} in ${plural(t.points, "point")}.${now}`;
}

function Trended({ doc }: { doc: SeriesPoints }) {
  const { query } = usePlace();
  const model = useMemo(() => trendModel(doc), [doc]);
  const t = doc.series;
  const tables = listOf(query, "tables");
  const hidden = listOf(query, "hide");
  return (
    <>
      <p class="lead">{sentence(doc)}</p>
      <h2>Over its runs</h2>
      <Chart
        model={model}
        zoom={parseRange(one(query, "zoom"))}
        onZoom={(r) => setQuery({ zoom: r ? formatRange(r[0], r[1]) : null }, "replace")}
        hidden={new Set(hidden)}
        onToggle={(id) => setQuery({ hide: toggled(hidden, id) || null }, "replace")}
        tableOpen={tables.includes("trend")}
        onTable={() => setQuery({ tables: toggled(tables, "trend") || null }, "replace")}
        caption={`${model.title} on ${t.host}`}
      />
      <h2>Changes</h2>
      {doc.changes.length === 0 ? (
        <p>None.</p>
      ) : (
        <Scroll label="Changes">
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Change</th>
                <th scope="col">State</th>
                <th scope="col">From</th>
                <th scope="col">To</th>
                <th scope="col" class="num">
                  Before
                </th>
                <th scope="col" class="num">
                  After
                </th>
                <th scope="col">Reading</th>
              </tr>
            </thead>
            <tbody>
              {doc.changes.map((c) => (
                <tr key={c.change}>
                  <th scope="row">
                    <a href={`/changes/${c.change}`}>{c.change}</a>
                  </th>
                  <td>{c.state}</td>
                  <td>{c.from_version ?? "n/a"}</td>
                  <td>
                    <a href={`/runs/${c.first_after}`}>{c.to_version ?? c.first_after}</a>
                  </td>
                  <td class="num">
                    <Num v={c.before} unit={t.unit} />
                  </td>
                  <td class="num">
                    <Num v={c.after} unit={t.unit} />
                  </td>
                  <td>
                    {c.direction} {fmtRel(c.rel)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {doc.annotations.length > 0 && (
        <>
          <h2>Annotations</h2>
          <ul>
            {doc.annotations.map((a) => (
              <li key={a.id}>
                <Time at={a.from} /> {a.text}
              </li>
            ))}
          </ul>
        </>
      )}
      <Facts
        items={[
          ["Box", <a href={`/hosts/${encodeURIComponent(t.host)}`}>{t.host}</a>],
          ["Held still", <Context t={t} />],
          ["Ordered by", t.order_by ?? "time"],
          ["Data", <a href={`${API}/series/${t.id}/points?format=csv&limit=50000`}>CSV of all points</a>],
        ]}
      />
    </>
  );
}

export function TrendPage({ id }: { id: string }) {
  const doc = useApi<SeriesPoints>(`${API}/series/${id}/points`);
  const t = doc.data?.series;
  const title = t ? `${t.stat} of ${t.title} on ${t.host}` : `Series ${id}`;
  useTitle(title);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>{title}</Heading>
        </div>
      </header>
      <Show from={doc} what="series">
        {(d) => <Trended doc={d} />}
      </Show>
    </>
  );
}
