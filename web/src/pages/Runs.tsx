/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /runs: every run, found by selector, and the way from two of them to a comparison. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { API, ApiError, getJson, useApi } from "../api/client";
import type { List, RunItem } from "../api/types";
import { pageUrl } from "../compare/state";
import { useLive } from "../live/live";
import { fmt, fmtSpan, group, plural } from "../lib/format";
import { navigate, setQuery, urlWith, usePlace } from "../lib/router";
import { runsSelector, splitTerms, withoutTerm } from "../lib/selector";
import { parseSort, sortBy, type SortKey } from "../lib/table";
import { formatQuery, one, type Query } from "../lib/urlstate";
import {
  Empty,
  Factors,
  Heading,
  Num,
  Pager,
  ProblemBox,
  Scroll,
  Skeleton,
  SortTh,
  Time,
  useNarrow,
  useTitle,
} from "../ui/bits";
import { SelectorInput } from "../ui/SelectorInput";
import { toast } from "../ui/toast";

const FALLBACK = "-started";
const SERVER_SORTS = ["started", "id", "host", "order", "measured"];

const KEYS: Record<string, (r: RunItem) => SortKey> = {
  id: (r) => Number(r.id.replace(/\D/g, "")),
  started: (r) => (r.started ? Date.parse(r.started) : null),
  host: (r) => r.host,
  experiment: (r) => r.experiment,
  factors: (r) => Object.entries(r.factors).join(),
  order: (r) => r.order,
  kernel: (r) => r.kernel,
  measured: (r) => r.measured_ns,
  p50: (r) => r.summary?.p50 ?? null,
  p99: (r) => r.summary?.p99 ?? null,
  max: (r) => r.summary?.max ?? null,
  lost: (r) => (r.summary ? (r.summary.lost ?? 0) + (r.summary.missed ?? 0) : null),
};

function listUrl(query: Query): string {
  const sort = one(query, "sort") || FALLBACK;
  const params = new Map<string, readonly string[]>([["include", ["total"]]]);
  if (one(query, "q")) params.set("q", [one(query, "q")]);
  if (SERVER_SORTS.includes(sort.replace(/^-/, ""))) params.set("sort", [sort]);
  return `${API}/runs${formatQuery(params)}`;
}

export function RunsPage() {
  useTitle("Runs");
  const { query } = usePlace();
  const q = one(query, "q");
  const url = listUrl(query);
  const first = useApi<List<RunItem>>(url);
  const more = useMore<RunItem>(first.data, url);
  useLive(more.items.length > 0 ? null : "runs", first.retry, 2000); // a list that is read on stays
  const items = useMemo(
    () => [...(first.data?.items ?? []), ...more.items],
    [first.data, more.items],
  );
  const chosen = one(query, "sel").split(",").filter(Boolean);

  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Runs</Heading>
          <p class="sub">
            One run is one execution of one setting on one box. Select two and compare them.
          </p>
        </div>
      </header>
      <div class="finder">
        <SelectorInput
          label="Filter"
          value={q}
          inputId="runs-filter"
          placeholder="experiment=rq,kernel~6.12"
          onCommit={(v) => setQuery({ q: v || null, sel: null })}
        />
        {q && (
          <ul class="chips" aria-label="Filters in effect">
            {splitTerms(q).map((t) => (
              <li key={t}>
                <button
                  type="button"
                  class="chip"
                  aria-label={`Remove filter ${t}`}
                  onClick={() => setQuery({ q: withoutTerm(q, t) || null })}
                >
                  <code>{t}</code> <span aria-hidden="true">✕</span>
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      {first.error ? (
        <ProblemBox error={first.error} retry={first.retry} />
      ) : !first.data ? (
        <Skeleton what="finding runs" lines={10} cancel={first.cancel} />
      ) : items.length === 0 ? (
        <NoRuns q={q} />
      ) : (
        <div class={first.loading ? "stale" : undefined}>
          <RunTable items={items} query={query} chosen={chosen} complete={!more.next} />
          <Pager
            next={more.next}
            shown={items.length}
            total={first.data.total}
            onMore={more.load}
            busy={more.busy}
          />
        </div>
      )}
      {chosen.length > 0 && <Selection ids={chosen} items={items} />}
    </>
  );
}

/** Pages after the first, kept until the question changes. */
export function useMore<T>(
  first: List<T> | null,
  question: string,
): { items: T[]; next: string | null; busy: boolean; load: () => void } {
  const [pages, setPages] = useState<{ of: string; items: T[]; next: string | null } | null>(null);
  const [busy, setBusy] = useState(false);
  const own = pages && pages.of === question ? pages : null;
  const next = own ? own.next : (first?.next ?? null);
  useEffect(() => setPages(null), [question]);
  const load = async () => {
    if (!next) return;
    setBusy(true);
    try {
      const page = await getJson<List<T>>(next);
      setPages({ of: question, items: [...(own?.items ?? []), ...page.items], next: page.next });
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      toast(`Not loaded: ${e.problem.title}.`);
    }
    setBusy(false);
  };
  return { items: own?.items ?? [], next, busy, load };
}

function NoRuns({ q }: { q: string }) {
  const all = useApi<List<RunItem>>(q ? `${API}/runs?limit=1&include=total` : null);
  if (!q)
    return (
      <Empty title="No runs yet">
        <p>
          <a href="/import">Import a file</a>, or start an experiment on a box: the{" "}
          <a href="/">fleet page</a> has the command.
        </p>
      </Empty>
    );
  const total = all.data?.total ?? 0;
  return (
    <Empty title="No runs match">
      <p>
        Nothing matches <code>{q}</code>
        {total > 0 &&
          `; there ${total === 1 ? "is 1 run" : `are ${group(total)} runs`} without this filter`}
        .
      </p>
      <p>
        <button type="button" onClick={() => setQuery({ q: null })}>
          Clear the filter
        </button>
      </p>
    </Empty>
  );
}

function toggleRun(chosen: string[], id: string): void {
  const next = chosen.includes(id) ? chosen.filter((c) => c !== id) : [...chosen, id];
  setQuery({ sel: next.join(",") || null }, "replace");
}

function RunTable({
  items,
  query,
  chosen,
  complete,
}: {
  items: RunItem[];
  query: Query;
  chosen: string[];
  complete: boolean;
}) {
  const narrow = useNarrow();
  const sort = parseSort(one(query, "sort"), FALLBACK);
  const rows = sortBy(items, KEYS[sort.key] ?? KEYS.started!, sort.dir);
  const pageOnly = !complete && !SERVER_SORTS.includes(sort.key);
  const head = (id: string, text: string, right = false) => (
    <SortTh
      id={id}
      sort={sort}
      fallback={FALLBACK}
      right={right}
      first={right || id === "started" ? "desc" : "asc"}
    >
      {text}
    </SortTh>
  );
  return (
    <>
      {pageOnly && (
        <p class="muted">Sorted within the {items.length} runs shown; there are more.</p>
      )}
      {narrow ? (
        <ul class="cards">
          {rows.map((r) => (
            <li key={r.id} class="card">
              <h2>
                <Pick r={r} chosen={chosen} /> <RunLink r={r} /> <Flags r={r} />
              </h2>
              <p>
                <Factors factors={r.factors} />
              </p>
              <p class="muted">
                {[r.host, r.experiment].filter(Boolean).join(" · ")} <Time at={r.started} />
              </p>
              <p>{summaryText(r)}</p>
            </li>
          ))}
        </ul>
      ) : (
        <Scroll label="Runs">
          <table class="data runs">
            <thead>
              <tr>
                <th scope="col">
                  <span class="sr-only">select</span>
                </th>
                {head("id", "run")}
                {head("started", "started")}
                {head("host", "box")}
                {head("experiment", "experiment")}
                {head("factors", "factors")}
                {head("order", "order", true)}
                {head("kernel", "kernel")}
                {head("measured", "measured", true)}
                {head("p50", "p50 or mean", true)}
                {head("p99", "p99", true)}
                {head("max", "max", true)}
                {head("lost", "lost", true)}
                <th scope="col">state</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <tr key={r.id} class={chosen.includes(r.id) ? "chosen" : undefined}>
                  <td>
                    <Pick r={r} chosen={chosen} />
                  </td>
                  <th scope="row">
                    <RunLink r={r} />
                  </th>
                  <td class="nowrap">
                    <Time at={r.started} />
                  </td>
                  <td>{r.host ?? <span class="na">none</span>}</td>
                  <td>
                    {r.experiment && <a href={`/experiments/${r.experiment_id}`}>{r.experiment}</a>}
                  </td>
                  <td>
                    <Factors factors={r.factors} />
                  </td>
                  <td class="num">{r.order ?? <span class="na">n/a</span>}</td>
                  <td>{r.kernel ?? <span class="na">unknown</span>}</td>
                  <td class="num">{fmtSpan(r.measured_ns)}</td>
                  <td class="num">
                    <Num
                      v={r.summary?.p50 ?? r.summary?.value ?? r.summary?.mean}
                      unit={r.summary?.unit ?? ""}
                    />
                  </td>
                  <td class="num">
                    <Num v={r.summary?.p99} unit={r.summary?.unit ?? ""} />
                  </td>
                  <td class="num">
                    <Num v={r.summary?.max} unit={r.summary?.unit ?? ""} />
                  </td>
                  <td class="num">{lostOf(r)}</td>
                  <td class="nowrap">
                    <Flags r={r} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}

function Pick({ r, chosen }: { r: RunItem; chosen: string[] }) {
  return (
    <input
      type="checkbox"
      aria-label={`Select ${r.id}`}
      checked={chosen.includes(r.id)}
      onChange={() => toggleRun(chosen, r.id)}
    />
  );
}

function RunLink({ r }: { r: RunItem }) {
  return <a href={`/runs/${r.id}`}>{r.id}</a>;
}

function lostOf(r: RunItem) {
  if (!r.summary) return <span class="na">n/a</span>;
  const n = (r.summary.lost ?? 0) + (r.summary.missed ?? 0);
  return n > 0 ? (
    <span
      class="word tone-bad"
      title={`${r.summary.lost ?? 0} samples lost, ${r.summary.missed ?? 0} periods missed`}
    >
      ▲ {group(n)}
    </span>
  ) : (
    "0"
  );
}

function summaryText(r: RunItem): string {
  const s = r.summary;
  if (!s) return r.state === "running" ? "still running" : "no summary";
  const parts = [
    s.p50 !== null && s.p50 !== undefined && `p50 ${fmt(s.p50, s.unit)}`,
    s.p99 !== null && s.p99 !== undefined && `p99 ${fmt(s.p99, s.unit)}`,
    s.max !== null && s.max !== undefined && `max ${fmt(s.max, s.unit)}`,
    s.value !== null && s.value !== undefined && `${s.metric} ${fmt(s.value, s.unit)}`,
    (s.lost ?? 0) > 0 && `${group(s.lost ?? 0)} lost`,
  ].filter(Boolean);
  return parts.join(" · ");
}

export function Flags({ r }: { r: RunItem }) {
  return (
    <>
      <span class={`badge ${r.state === "running" ? "good" : r.state === "ok" ? "weak" : "bad"}`}>
        {r.state}
      </span>{" "}
      {r.kind !== "measured" && <span class="badge weak">{r.kind}</span>}{" "}
      {r.demo && <span class="badge">demo</span>}{" "}
      {r.excluded && (
        <span class="badge bad" title={r.excluded}>
          excluded
        </span>
      )}{" "}
      {(r.notes ?? 0) > 0 && <span class="badge weak">{plural(r.notes ?? 0, "note")}</span>}
    </>
  );
}

/** What the chosen runs become: two sides when they fall in two settings, else one side each. */
export function sidesOfRuns(
  ids: readonly string[],
  items: readonly RunItem[],
): { a: string; b: string[]; text: string } | null {
  if (ids.length < 2) return null;
  const groups = new Map<string, string[]>();
  for (const id of ids) {
    const r = items.find((i) => i.id === id);
    const key = r
      ? Object.keys(r.factors)
          .sort()
          .map((k) => `${k}=${r.factors[k]}`)
          .join(",")
      : id;
    groups.set(key, [...(groups.get(key) ?? []), id]);
  }
  const lists =
    ids.length > 2 && groups.size >= 2 && groups.size <= 6
      ? [...groups.values()]
      : ids.slice(0, 6).map((id) => [id]);
  if (ids.length > 6 && groups.size < 2) return null;
  const [a, ...b] = lists.map(runsSelector);
  return {
    a: a!,
    b,
    text: `Compare ${lists.map((l, i) => `${String.fromCharCode(65 + i)}: ${l.length === 1 ? l[0] : `${l.length} runs`}`).join(" | ")}`,
  };
}

function Selection({ ids, items }: { ids: string[]; items: readonly RunItem[] }) {
  const sides = sidesOfRuns(ids, items);
  return (
    <div class="selection" role="region" aria-label="Selected runs">
      <span>{plural(ids.length, "run")} selected</span>
      {sides ? (
        <button type="button" class="primary" onClick={() => navigate(pageUrl(sides.a, sides.b))}>
          {sides.text}
        </button>
      ) : (
        <span class="muted">
          {ids.length < 2
            ? "Select another one to compare."
            : "Select runs of two settings, or at most six."}
        </span>
      )}
      <a class="button small" href={urlWith({ sel: null })}>
        Clear
      </a>
    </div>
  );
}
