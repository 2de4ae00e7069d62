/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of per-run values: min, avg, max, sdev, range of each side as in 2008, the difference
 * with its interval, and the reading in words. On a phone each statistic is a card, reading first. */

import type { ComponentChildren } from "preact";
import type { Comparison, Row, Spread } from "../api/types";
import { letter } from "../chart/compare";
import { SIDE_TONES } from "../chart/model";
import { Swatch } from "../chart/Chart";
import { exact, fmt, fmtBetween, fmtDifference, fmtInterval, fmtRel, pretty } from "../lib/format";
import { setQuery } from "../lib/router";
import { parseSort, sortBy, type SortKey } from "../lib/table";
import { one, type Query } from "../lib/urlstate";
import {
  betterText,
  GROUPS,
  readingGroup,
  readingWord,
  severity,
  statTitle,
  type Group,
} from "../lib/words";
import { Num, Scroll, SortTh, useNarrow, WordMark } from "../ui/bits";
import { listOf, toggled } from "./state";

/** One statistic over all sides: the reference row and one row per other side. */
interface StatRow {
  stat: string;
  unit: string;
  role: Row["role"];
  a: Spread | null;
  others: { index: number; row: Row }[];
  place: number; // order of the document
}

function statRows(docs: readonly Comparison[]): StatRow[] {
  const out: StatRow[] = [];
  docs.forEach((d, k) => {
    for (const row of d.rows) {
      let r = out.find((s) => s.stat === row.stat);
      if (!r)
        out.push(
          (r = {
            stat: row.stat,
            unit: row.unit,
            role: row.role,
            a: row.a,
            others: [],
            place: out.length,
          }),
        );
      r.others.push({ index: k + 1, row });
    }
  });
  return out;
}

const FALLBACK = "-severity";

const KEYS: Record<string, (r: StatRow, d: Comparison) => SortKey> = {
  severity: (r, d) => Math.max(...r.others.map((o) => severity(o.row.delta, d.metric.better))),
  stat: (r) => r.place,
  min: (r) => r.a?.min,
  avg: (r) => r.a?.avg,
  max: (r) => r.a?.max,
  sdev: (r) => r.a?.sdev,
  range: (r) => r.a?.range,
  delta: (r) => r.others[0]?.row.delta?.rel,
  size: (r) => absolute(r.others[0]?.row.delta?.rel),
  ci: (r) => r.others[0]?.row.delta?.ci_rel?.[0] ?? null,
  p: (r) => r.others[0]?.row.delta?.p_adjusted ?? r.others[0]?.row.delta?.p,
  mde: (r) => r.others[0]?.row.delta?.mde_rel,
};

function absolute(v: number | null | undefined): number | null {
  return v === null || v === undefined ? null : Math.abs(v);
}

export function ResultTable({ docs, query }: { docs: readonly Comparison[]; query: Query }) {
  const first = docs[0]!;
  const narrow = useNarrow();
  const sort = parseSort(one(query, "sort"), FALLBACK);
  const key = KEYS[sort.key] ?? KEYS.severity!;
  const all = statRows(docs);
  const shownGroups = listOf(query, "show");
  const wanted = (r: StatRow) =>
    shownGroups.length === 0 ||
    r.others.some((o) => shownGroups.includes(readingGroup(o.row.delta)));
  const rows = sortBy(all.filter(wanted), (r) => key(r, first), sort.dir);
  const extra = one(query, "cols") === "more";
  const ci = Math.round(first.confidence * 1000) / 10;

  return (
    <section aria-labelledby="table-title" class="results">
      <header>
        <h2 id="table-title">
          {first.metric.title || first.metric.name}{" "}
          <span class="muted">per run; {betterText(first.metric.better)}</span>
        </h2>
        <div class="tools">
          <Chips rows={all} on={shownGroups} />
          <label class="inline">
            Order
            <select
              value={one(query, "sort") || FALLBACK}
              onChange={(e) =>
                setQuery({
                  sort: e.currentTarget.value === FALLBACK ? null : e.currentTarget.value,
                })
              }
            >
              <option value="-severity">worst first</option>
              <option value="severity">best first</option>
              <option value="stat">by statistic</option>
              <option value="-size">by size of change</option>
              {!["-severity", "severity", "stat", "-size"].includes(
                one(query, "sort") || FALLBACK,
              ) && <option value={one(query, "sort")}>by column</option>}
            </select>
          </label>
          <button
            type="button"
            class="small"
            aria-pressed={extra}
            onClick={() => setQuery({ cols: extra ? null : "more" })}
          >
            More columns
          </button>
        </div>
      </header>
      {rows.length === 0 ? (
        <p class="muted">
          {all.length === 0
            ? "The sides share no statistic."
            : `${all.length} statistics are filtered away.`}{" "}
          {all.length > 0 && (
            <button type="button" class="small" onClick={() => setQuery({ show: null })}>
              Show all
            </button>
          )}
        </p>
      ) : narrow ? (
        <Cards rows={rows} docs={docs} ci={ci} extra={extra} />
      ) : (
        <Wide rows={rows} docs={docs} sort={sort} ci={ci} extra={extra} />
      )}
      {!narrow && <Notes rows={rows} many={docs.length > 1} />}
      <p class="muted foot">
        Each value is one run's; min, avg, max, sdev and range are over the runs of a side. Δ is the
        side minus A.
      </p>
    </section>
  );
}

function Chips({ rows, on }: { rows: StatRow[]; on: string[] }) {
  const count = (g: Group) =>
    rows.filter((r) => r.others.some((o) => readingGroup(o.row.delta) === g)).length;
  return (
    <div class="chips" role="group" aria-label="Show only">
      {GROUPS.filter((g) => count(g.id) > 0 || on.includes(g.id)).map((g) => (
        <button
          key={g.id}
          type="button"
          class="chip"
          aria-pressed={on.includes(g.id)}
          onClick={() => setQuery({ show: toggled(on, g.id) || null })}
        >
          {g.text} <span class="count">{count(g.id)}</span>
        </button>
      ))}
    </div>
  );
}

interface PartProps {
  rows: StatRow[];
  docs: readonly Comparison[];
  ci: number;
  extra: boolean;
}

function Wide({ rows, docs, sort, ci, extra }: PartProps & { sort: ReturnType<typeof parseSort> }) {
  const head = (id: string, text: string, title?: string, right = true) => (
    <SortTh id={id} sort={sort} fallback={FALLBACK} right={right} title={title}>
      {text}
    </SortTh>
  );
  return (
    <Scroll label="Results">
      <table class="compare">
        <thead>
          <tr>
            {head("stat", "statistic", undefined, false)}
            <th scope="col">side</th>
            {extra && (
              <th scope="col" class="num">
                n
              </th>
            )}
            {head("min", "min", "sorts by side A")}
            {head("avg", "avg", "sorts by side A")}
            {head("max", "max", "sorts by side A")}
            {head("sdev", "sdev", "sorts by side A")}
            {head("range", "range", "sorts by side A")}
            {head("delta", "Δ avg", "the side minus A; sorts by the signed change in percent")}
            {head("ci", `${ci} % interval`)}
            <SortTh id="severity" sort={sort} fallback={FALLBACK} class="reading">
              reading
            </SortTh>
            {extra &&
              head("p", "p", "adjusted for reading several statistics, where that was done")}
            {extra && head("mde", "can see", "the smallest change that this many runs would show")}
            {extra && <th scope="col">test</th>}
          </tr>
        </thead>
        {rows.map((r) => (
          <tbody key={r.stat} class={`role-${r.role}`}>
            <tr>
              <th scope="rowgroup" rowSpan={r.others.length + 1}>
                {statTitle(r.stat)}
                {r.role === "primary" && <span class="badge">decides</span>}
              </th>
              <SideCell index={0} />
              <SpreadCells s={r.a} unit={r.unit} n={extra} />
              <td class="ref" colSpan={extra ? 6 : 3}>
                {docs.length > 1 ? "reference" : ""}
              </td>
            </tr>
            {r.others.map((o) => (
              <OtherRow key={o.index} index={o.index} row={o.row} extra={extra} />
            ))}
          </tbody>
        ))}
      </table>
    </Scroll>
  );
}

/** Cautions as footnotes, so that the table stays a table. */
function Notes({ rows, many }: { rows: StatRow[]; many: boolean }) {
  const noted = rows.flatMap((r) => {
    const own = r.others.map((o) => (o.row.caution ? pretty(o.row.caution) : null));
    const texts = own.every((t) => t === own[0])
      ? own.slice(0, 1).filter((t) => t !== null)
      : r.others.flatMap((o, i) =>
          own[i] ? [`${many ? `${letter(o.index)}: ` : ""}${own[i]}`] : [],
        );
    return texts.length > 0 ? [{ stat: r.stat, texts }] : [];
  });
  if (noted.length === 0) return null;
  return (
    <ul class="foot notes">
      {noted.map((n) => (
        <li key={n.stat} id={`note-${n.stat}`}>
          <strong>{n.stat}</strong> {n.texts.join("; ")}
        </li>
      ))}
    </ul>
  );
}

function SideCell({ index }: { index: number }) {
  return (
    <td class="side">
      <Swatch tone={SIDE_TONES[index]!} /> {letter(index)}
    </td>
  );
}

function SpreadCells({ s, unit, n }: { s: Spread | null; unit: string; n: boolean }) {
  return (
    <>
      {n && <td class="num">{s?.n ?? "n/a"}</td>}
      {(["min", "avg", "max", "sdev", "range"] as const).map((k) => (
        <td key={k} class={`num ${k === "avg" ? "strong" : ""}`}>
          <SpreadNum s={s} k={k} unit={unit} />
        </td>
      ))}
    </>
  );
}

/** One run read from bins is known to its bin; one in the overflow only from below. */
function SpreadNum({
  s,
  k,
  unit,
}: {
  s: Spread | null;
  k: "min" | "avg" | "max" | "sdev" | "range";
  unit: string;
}) {
  if (!s || (s.n === 1 && (k === "sdev" || k === "range"))) return <span class="na">n/a</span>;
  if (s.at_least && k !== "sdev" && k !== "range")
    return <span title={exact(s[k], unit)}>≥ {fmt(s[k], unit)}</span>;
  if (s.n === 1 && s.bounds && k === "avg")
    return (
      <span
        title={`${exact(s.bounds[0], unit)} to ${exact(s.bounds[1], unit)}: known to the bin of the table`}
      >
        {s.bounds[1] - s.bounds[0] > 0.02 * s.bounds[1]
          ? fmtBetween(s.bounds[0], s.bounds[1], unit)
          : fmt(s.avg, unit)}
      </span>
    );
  return <Num v={s[k]} unit={unit} />;
}

function OtherRow({ index, row, extra }: { index: number; row: Row; extra: boolean }) {
  const d = row.delta;
  const weak = d?.reading === "not_resolvable" || d?.reading === "not_enough_runs";
  return (
    <tr>
      <SideCell index={index} />
      <SpreadCells s={row.b} unit={row.unit} n={extra} />
      <td class={`num delta ${weak ? "weak" : ""}`}>
        <Change row={row} />
      </td>
      <td class="num">{fmtInterval(d?.ci, row.unit)}</td>
      <td class="reading">
        <WordMark word={readingWord(d)} />
        {row.caution && (
          <a class="note-link" href={`#note-${row.stat}`} title={pretty(row.caution)}>
            note
          </a>
        )}
      </td>
      {extra && <td class="num">{pText(d?.p_adjusted ?? d?.p)}</td>}
      {extra && (
        <td class="num">
          {d?.mde_rel === null || d?.mde_rel === undefined
            ? "n/a"
            : `≥ ${fmt(d.mde_rel * 100, "%")}`}
        </td>
      )}
      {extra && <td class="test">{d?.test ?? "n/a"}</td>}
    </tr>
  );
}

function Change({ row }: { row: Row }): ComponentChildren {
  const d = row.delta;
  if (!d || d.abs === null) return <span class="na">n/a</span>;
  return (
    <>
      {fmtDifference(d.abs, row.unit)} <span class="rel">{fmtRel(d.rel)}</span>
    </>
  );
}

export function pText(p: number | null | undefined): string {
  if (p === null || p === undefined) return "n/a";
  return p < 0.001 ? "< 0.001" : String(Number(p.toPrecision(2)));
}

function Cards({ rows, docs, ci, extra }: PartProps) {
  return (
    <div class="stat-cards">
      {rows.map((r) => (
        <article key={r.stat} class={`card role-${r.role}`}>
          <h3>
            {statTitle(r.stat)} {r.role === "primary" && <span class="badge">decides</span>}
          </h3>
          {r.others.map((o) => (
            <p key={o.index} class="change">
              {docs.length > 1 && (
                <>
                  <Swatch tone={SIDE_TONES[o.index]!} /> {letter(o.index)}{" "}
                </>
              )}
              <WordMark word={readingWord(o.row.delta)} /> <Change row={o.row} />
              <br />
              <span class="muted">
                {ci} % interval {fmtInterval(o.row.delta?.ci, r.unit)}
                {extra &&
                  `; p ${pText(o.row.delta?.p_adjusted ?? o.row.delta?.p)}; ${o.row.delta?.test ?? ""}`}
              </span>
              {o.row.caution && <span class="caution">{pretty(o.row.caution)}</span>}
            </p>
          ))}
          <table class="mini">
            <thead>
              <tr>
                <th scope="col">side</th>
                {["min", "avg", "max", "sdev"].map((k) => (
                  <th key={k} scope="col" class="num">
                    {k}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {[{ index: 0, s: r.a }, ...r.others.map((o) => ({ index: o.index, s: o.row.b }))].map(
                ({ index, s }) => (
                  <tr key={index}>
                    <SideCell index={index} />
                    {(["min", "avg", "max", "sdev"] as const).map((k) => (
                      <td key={k} class="num">
                        <SpreadNum s={s} k={k} unit={r.unit} />
                      </td>
                    ))}
                  </tr>
                ),
              )}
            </tbody>
          </table>
        </article>
      ))}
    </div>
  );
}
