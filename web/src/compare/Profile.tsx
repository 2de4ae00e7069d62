/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CPUs did, and what moved between the sides: one request of its own, made when the panel
 * comes into view, because a profile has hundreds of numbers that the comparison does not need. */

import { useEffect, useRef, useState } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { Comparison, ProfileDiff, ProfileRow, ProfileShare, ProfileTable } from "../api/types";
import { letter, sideText } from "../chart/compare";
import { SIDE_TONES } from "../chart/model";
import { Swatch } from "../chart/Chart";
import { NONE, pretty, sig3 } from "../lib/format";
import { setQuery } from "../lib/router";
import { formatQuery, one, tidy, type Query } from "../lib/urlstate";
import { NOT_MOVED, type Word } from "../lib/words";
import { Scroll, Show, WordMark } from "../ui/bits";

const QUIET = 6; // rows without a clear move that are shown at once

export function ProfilePanel({
  docs,
  query,
  pinned,
}: {
  docs: readonly Comparison[];
  query: Query;
  pinned: boolean;
}) {
  const ref = useRef<HTMLElement>(null);
  const seen = useSeen(ref);
  const index = Math.min(docs.length, Math.max(1, Number(one(query, "profile", "1")) || 1));
  const doc = docs[index - 1]!;
  const diff = useApi<ProfileDiff>(seen ? profileUrl(doc, query, pinned) : null);
  return (
    <section class="card panel profile" aria-labelledby="profile-title" ref={ref}>
      <h2 id="profile-title">What did the CPUs do?</h2>
      {docs.length > 1 && (
        <label class="row">
          A against
          <select
            value={String(index)}
            onChange={(e) =>
              setQuery({ profile: e.currentTarget.value === "1" ? null : e.currentTarget.value })
            }
          >
            {docs.map((d, i) => (
              <option key={i} value={String(i + 1)}>
                {letter(i + 1)} {sideText(d, "b")}
              </option>
            ))}
          </select>
        </label>
      )}
      {pinned && (
        <p class="about">Computed now from the runs of this pin; the rest of the page is as it was.</p>
      )}
      {seen && (
        <Show from={diff} what="comparing the profiles">
          {(d) => <Diff d={d} side={index} />}
        </Show>
      )}
    </section>
  );
}

/** True from the moment that the element is near the window. */
function useSeen(ref: { current: HTMLElement | null }): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver(
      (list) => {
        if (!list.some((e) => e.isIntersecting)) return;
        setSeen(true);
        watch.disconnect();
      },
      { rootMargin: "400px" },
    );
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  return seen;
}

/** The live sides by their selectors; those of a pin by its runs. */
function profileUrl(doc: Comparison, query: Query, pinned: boolean): string {
  const side = (s: "a" | "b") =>
    pinned
      ? `run in (${(doc[s].runs ?? []).map((r) => r.id).join(",")})`
      : (doc[s].selector ?? "");
  const params = new Map([
    ["a", [side("a")]],
    ["b", [side("b")]],
  ]);
  for (const name of ["ci", "factor", "anyway"])
    if (one(query, name)) params.set(name, [one(query, name)]);
  return `${API}/profile/diff${formatQuery(params)}`;
}

function Diff({ d, side }: { d: ProfileDiff; side: number }) {
  if (d.state === "no_profile" || !d.basis) return <p class="muted">{pretty(d.sentence)}</p>;
  return (
    <>
      <p class="sentence">{pretty(d.sentence)}</p>
      {d.reasons.length > 0 && (
        <ul class="reasons">
          {d.reasons.map((r) => (
            <li key={r.code + r.text}>{pretty(r.text)}</li>
          ))}
        </ul>
      )}
      <p class="about">
        Shares of non-idle {d.basis === "cycle" ? "cycles" : "CPU time"}, by sampling
        {d.design && `; ${d.design.text}`}. Differences are in percentage points (pp). A run keeps its
        20 largest names of a kind: “≤” is what is certain of a name that it did not keep.
      </p>
      {d.tables.map((t) => (
        <Table key={t.name} t={t} side={side} confidence={d.confidence ?? 0.95} />
      ))}
      {d.links && (
        <p class="row">
          {Object.entries(d.links).map(([name, url]) => (
            <a key={name} href={tidy(url)}>
              {name === "csv" ? "CSV" : name === "markdown" ? "Markdown" : name}
            </a>
          ))}
        </p>
      )}
    </>
  );
}

const TITLES: Record<ProfileTable["name"], string> = {
  code: "Code: kernel symbols and user objects",
  programs: "Programs",
  applications: "Applications",
  whole: "The whole",
};

const moved = (r: ProfileRow) => r.delta.reading === "higher" || r.delta.reading === "lower";

function Table({ t, side, confidence }: { t: ProfileTable; side: number; confidence: number }) {
  const [all, setAll] = useState(false);
  let quiet = 0;
  const shown = all ? t.rows : t.rows.filter((r) => moved(r) || quiet++ < QUIET);
  const most = Math.max(1e-9, ...t.rows.flatMap((r) => [r.a.hi ?? 0, r.b.hi ?? 0]));
  const reach = Math.max(
    1e-9,
    ...t.rows.flatMap((r) => [...(r.delta.ci ?? []), ...r.delta.between].map((v) => Math.abs(v ?? 0))),
  );
  const name = letter(side);
  return (
    <div class="part">
      <h3>{TITLES[t.name] ?? t.title}</h3>
      <Scroll label={TITLES[t.name] ?? t.title}>
        <table class="data profile">
          <thead>
            <tr>
              <th scope="col">name</th>
              <th scope="col">
                <Swatch tone="a" /> A, <Swatch tone={SIDE_TONES[side]!} /> {name}
              </th>
              <th scope="col" class="num">
                {name} − A
              </th>
              <th scope="col">
                {Number((confidence * 100).toPrecision(4))} % interval
              </th>
              <th scope="col">moved</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((r) => (
              <tr key={r.kind + r.name}>
                <th scope="row">
                  <code>{nameOf(r)}</code>
                  <span class="muted kind">{KINDS[r.kind]}</span>
                </th>
                <td>
                  <ShareBar s={r.a} most={most} tone="a" side="A" />
                  <ShareBar s={r.b} most={most} tone={SIDE_TONES[side]!} side={name} />
                </td>
                <td class="num">{moveText(r)}</td>
                <td>
                  <Forest r={r} reach={reach} />
                  <span class="per-hour muted">{intervalText(r)}</span>
                </td>
                <td>
                  <WordMark word={wordOf(r)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {t.rows.length > shown.length && (
        <button type="button" class="small" onClick={() => setAll(true)}>
          Show all {t.rows.length} names
        </button>
      )}
      {t.covered && (
        <p class="muted">
          The names kept make up {sig3(t.covered[0] ?? 0)} % of A and {sig3(t.covered[1] ?? 0)} % of{" "}
          {name}
          {t.rare > 0 && `; ${t.rare} that few runs kept are left out`}.
        </p>
      )}
    </div>
  );
}

const KINDS: Record<ProfileRow["kind"], string> = {
  symbol: "kernel",
  object: "user",
  command: "",
  app: "",
  idle: "of everything",
  unattributed: "tasks without a known name",
  agent: "the agent itself",
};

function nameOf(r: ProfileRow): string {
  return r.name || (r.kind === "agent" ? "rigstat-agent" : r.kind);
}

/** Sampled shares: a hundredth of a percent is the last figure that means anything. */
const fixed = (v: number) => v.toFixed(2).replace(/^-0\.00$/, "0.00").replace("-", "−");
const signed = (v: number) => (v >= 0.005 ? "+" : "") + fixed(v);

/** "3.06 %", "≤ 0.40 %" for a name that no run kept, "0.20 to 0.50 %" when some did. */
function shareText(s: ProfileShare): string {
  if (s.lo === null || s.hi === null) return NONE;
  if (s.lo === s.hi) return `${fixed(s.lo)} %`;
  return s.lo <= 0 ? `≤ ${fixed(s.hi)} %` : `${fixed(s.lo)} to ${fixed(s.hi)} %`;
}

/** What is certain is filled, what is possible is outlined. */
function ShareBar({
  s,
  most,
  tone,
  side,
}: {
  s: ProfileShare;
  most: number;
  tone: string;
  side: string;
}) {
  const px = (v: number | null) => Math.round((70 * (v ?? 0)) / most);
  return (
    <span class="bar-cell" title={`${side}: kept by ${s.seen} runs`}>
      <span class="muted letter">{side}</span>
      <span class={`share tone-${tone}`} style={{ width: `${Math.max(1, px(s.hi))}px` }}>
        <span class="meter" style={{ width: `${px(s.lo)}px` }} />
      </span>
      {shareText(s)}
    </span>
  );
}

function moveText(r: ProfileRow): string {
  const { abs, between } = r.delta;
  if (abs !== null) return `${signed(abs)} pp`;
  const [lo, hi] = between;
  if (lo !== null && lo > 0) return `≥ ${signed(lo)} pp`;
  if (hi !== null && hi < 0) return `≤ ${signed(hi)} pp`;
  return NONE;
}

function intervalText(r: ProfileRow): string {
  const [lo, hi] = r.delta.ci ?? [null, null];
  return lo === null || hi === null ? NONE : `${signed(lo)} to ${signed(hi)}`;
}

/** The interval of the difference around zero; a dot, or a bar where only bounds are known. */
function Forest({ r, reach }: { r: ProfileRow; reach: number }) {
  const x = (v: number) => 60 + (54 * v) / reach;
  const [lo, hi] = r.delta.between;
  const ci = r.delta.ci;
  return (
    <svg class={`forest wide-only ${moved(r) ? "moved" : ""}`} width="120" height="16" aria-hidden="true">
      <line class="zero" x1="60" x2="60" y1="0" y2="16" />
      {ci && ci[0] !== null && ci[1] !== null && (
        <line x1={x(ci[0])} x2={x(ci[1])} y1="8" y2="8" />
      )}
      {lo !== null && hi !== null && (
        <rect x={x(lo) - 2.5} width={Math.max(5, x(hi) - x(lo) + 5)} y="5" height="6" rx="2.5" />
      )}
    </svg>
  );
}

function wordOf(r: ProfileRow): Word {
  switch (r.delta.reading) {
    case "higher":
      return { text: "rose", symbol: "▲", tone: "mixed" };
    case "lower":
      return { text: "fell", symbol: "▼", tone: "mixed" };
    case "not_tested":
      return { text: "not tested", symbol: "–", tone: "weak" };
    default:
      return NOT_MOVED[r.delta.reading];
  }
}
