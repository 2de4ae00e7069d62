/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run measured: its metrics, and shares as rankings. */

import { useState } from "preact/hooks";
import type { SeriesItem } from "../api/types";
import { fmt, group } from "../lib/format";
import { sortBy } from "../lib/table";
import { Num, Scroll } from "../ui/bits";
import { isSystem, System } from "./System";

const OMISSION: Record<string, string> = {
  unknown: "not known",
  keeps_deadlines: "keeps every deadline",
  skips_missed: "skips missed periods",
  intended_time: "from the intended time",
};

/** What held the CPU and who used it come as one series a cause: they are tables of their own. */
const CAUSES = ["blame_share", "blame_breaches"];
const SHOWN = 14;

export function Series({ list }: { list: readonly SeriesItem[] }) {
  const [all, setAll] = useState(false);
  const plain = list.filter((s) => !CAUSES.includes(s.metric) && !isShare(s) && !isSystem(s));
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
                <th scope="col" class="num">
                  samples
                </th>
                <th scope="col" class="num">
                  lost
                </th>
                <th scope="col" class="num">
                  min
                </th>
                <th scope="col" class="num">
                  mean or value
                </th>
                <th scope="col" class="num">
                  max
                </th>
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
      <System list={list.filter(isSystem)} />
    </>
  );
}

function isShare(s: SeriesItem): boolean {
  return (
    (s.metric.startsWith("time_") ||
      s.metric.startsWith("cycles_") ||
      s.metric.startsWith("cycle_")) &&
    Object.keys(s.labels).length > 0 &&
    s.unit === "%"
  );
}

/** A counter is declared in what it counts; its value is a rate. */
function valueUnit(s: SeriesItem): string {
  return s.kind === "counter" ? `${s.unit}/s` : s.unit;
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
        {s.kind === "hist" && s.omission !== "unknown" && (
          <span class="caution">{OMISSION[s.omission] ?? s.omission}</span>
        )}
      </td>
      <td class="num">
        {s.count !== null && s.count !== undefined ? group(s.count) : s.n ? `${s.n} runs` : ""}
      </td>
      <td class="num">
        {s.lost + s.missed > 0 ? (
          <span class="word tone-bad">▲ {group(s.lost + s.missed)}</span>
        ) : (
          "0"
        )}
      </td>
      <td class="num">
        <Num v={s.min} unit={s.unit} />
      </td>
      <td class="num">
        <Num v={s.value ?? s.mean} unit={valueUnit(s)} />
      </td>
      <td class="num">
        <Num v={s.max} unit={s.unit} />
      </td>
      <td>
        {s.kind === "absent" ? "absent" : s.state}{" "}
        {s.reason && <span class="caution">{s.reason}</span>}
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
    <Ranking
      title="What held the CPU when a sample was late"
      id="causes-title"
      rows={sorted.map(([name, r]) => ({
        name,
        share: r.share,
        note: r.rate === null ? "" : fmt(r.rate, r.rateUnit),
      }))}
      last="breaches an hour"
    />
  );
}

/** What follows "time_" or "cycle_" in a metric, in the order shown. */
const PROFILE: Record<string, string> = {
  share: "of named applications",
  share_of_all: "of named applications, idle included",
  command: "by program",
  symbol: "by kernel symbol",
  object: "by user object",
};
const KEPT = 20; // names of a kind that a run keeps: common/model/profile.h

/** Who used the CPUs; each metric has its own hundred percent. */
function Shares({ list }: { list: readonly SeriesItem[] }) {
  const kinds = Object.keys(PROFILE);
  const place = (metric: string) => kinds.indexOf(metric.split(/_(.*)/)[1] ?? "");
  const metrics = [...new Set(list.map((s) => s.metric))].sort((a, b) => place(a) - place(b));
  if (metrics.length === 0) return null;
  return (
    <div class="rankings">
      {metrics.map((metric) => {
        const rows = sortBy(
          list.filter((s) => s.metric === metric),
          (s) => s.value ?? s.mean ?? null,
          "desc",
        );
        const [what = "", by = ""] = metric.split(/_(.*)/);
        const least = rows[KEPT - 1]?.value;
        return (
          <Ranking
            key={metric}
            title={`CPU ${what === "cycle" ? "cycles" : what} ${PROFILE[by] ?? `by ${by.replace(/_/g, " ")}`}`}
            id={`shares-${metric}`}
            rows={rows.map((s) => ({
              name: Object.values(s.labels).join(" · "),
              share: s.value ?? s.mean ?? null,
              note: "",
            }))}
            foot={
              by.endsWith("all")
                ? ""
                : `Of what was not idle${least ? `; any other name: at most ${fmt(least, "%")}` : ""}.`
            }
          />
        );
      })}
    </div>
  );
}

function Ranking({
  title,
  id,
  rows,
  last,
  foot,
}: {
  title: string;
  id: string;
  rows: { name: string; share: number | null; note: string }[];
  last?: string;
  foot?: string;
}) {
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
                      <span
                        class="meter tone-a"
                        style={{ width: `${Math.max(1, Math.round(1.6 * r.share))}px` }}
                      />
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
      {foot && <p class="muted">{foot}</p>}
    </section>
  );
}
