/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small components that every page uses. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { curlOf, type ApiError, type Loaded } from "../api/client";
import { exact, fmt, fmtAgo, fmtTime } from "../lib/format";
import { useZone } from "../lib/prefs";
import { setQuery, urlWith } from "../lib/router";
import { copyText } from "../lib/save";
import type { Dir } from "../lib/table";
import { formatSort } from "../lib/table";
import type { Word } from "../lib/words";
import { SignIn } from "./SignIn";
import { toast } from "./toast";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · rigstat` : "rigstat";
  }, [title]);
}

export function Heading({ children }: { children: ComponentChildren }) {
  return <h1 tabIndex={-1}>{children}</h1>;
}

/** A number with its unit; the exact value is in the tooltip. */
export function Num({ v, unit }: { v: number | null | undefined; unit: string }) {
  if (v === null || v === undefined || !Number.isFinite(v)) return <span class="na">n/a</span>;
  return <span title={exact(v, unit)}>{fmt(v, unit)}</span>;
}

export function WordMark({ word }: { word: Word }) {
  return (
    <span class={`word tone-${word.tone}`}>
      <span aria-hidden="true">{word.symbol}</span> {word.text}
    </span>
  );
}

export function Time({ at, seconds }: { at: string | null | undefined; seconds?: boolean }) {
  const zone = useZone();
  if (!at) return <span class="na">n/a</span>;
  return (
    <time dateTime={at} title={at}>
      {fmtTime(at, zone, seconds)}
    </time>
  );
}

export function Ago({ at }: { at: string | null | undefined }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, []);
  if (!at) return <span class="na">never</span>;
  return (
    <time dateTime={at} title={at}>
      {fmtAgo(at, now)}
    </time>
  );
}

export function Factors({ factors }: { factors: Record<string, string> }) {
  const keys = Object.keys(factors);
  if (keys.length === 0) return <span class="na">none</span>;
  return (
    <>
      {keys.map((k) => (
        <code class="factor" key={k}>
          {k}={factors[k]}
        </code>
      ))}
    </>
  );
}

/** A column heading that sorts; the order is in the URL. */
export function SortTh(props: {
  id: string;
  sort: { key: string; dir: Dir };
  first?: Dir;
  right?: boolean;
  class?: string;
  title?: string;
  param?: string;
  fallback: string;
  children: ComponentChildren;
}) {
  const { id, sort, first = "asc" } = props;
  const on = sort.key === id;
  const next = on ? (sort.dir === "asc" ? "desc" : "asc") : first;
  const param = props.param ?? "sort";
  const text = formatSort(id, next);
  const patch = { [param]: text === props.fallback ? null : text };
  return (
    <th
      scope="col"
      class={props.right ? "num" : props.class}
      aria-sort={on ? (sort.dir === "asc" ? "ascending" : "descending") : undefined}
      title={props.title}
    >
      <a
        class="sort"
        href={urlWith(patch)}
        onClick={(e) => {
          if (e.metaKey || e.ctrlKey || e.shiftKey) return;
          e.preventDefault();
          setQuery(patch);
        }}
      >
        {props.children}
        <span aria-hidden="true" class="arrow">
          {on ? (sort.dir === "asc" ? "▲" : "▼") : ""}
        </span>
      </a>
    </th>
  );
}

export function CopyButton({
  text,
  children = "Copy",
  what,
}: {
  text: string;
  children?: ComponentChildren;
  what: string;
}) {
  return (
    <button
      type="button"
      class="small"
      onClick={async () =>
        toast(
          (await copyText(text))
            ? `${what} copied.`
            : `Copying is not allowed here; select the text instead.`,
        )
      }
    >
      {children}
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} what="Command" />
    </div>
  );
}

/** A failed request: what, why, what to do, and the way to ask again. */
export function ProblemBox({ error, retry }: { error: ApiError; retry?: () => void }) {
  const p = error.problem;
  return (
    <div class="problem" role="alert">
      <h2>{p.title}</h2>
      {p.detail && <p>{p.detail}</p>}
      {p.errors && p.errors.length > 0 && (
        <ul>
          {p.errors
            .filter((e) => e.detail !== p.detail)
            .map((e, i) => (
              <li key={i}>
                {e.parameter && <code>{e.parameter}</code>}
                {e.column !== undefined && ` column ${e.column}`}: {e.detail}
              </li>
            ))}
        </ul>
      )}
      {p.hint && <p class="hint">{p.hint}</p>}
      {p.status === 401 && retry && <SignIn onDone={retry} />}
      <p class="row">
        {retry && (
          <button type="button" onClick={retry}>
            Retry
          </button>
        )}
        <CopyButton text={curlOf(error.url)} what="curl command">
          Copy as curl
        </CopyButton>
        {p.request_id && (
          <span class="muted">
            request <code>{p.request_id}</code>
          </span>
        )}
      </p>
    </div>
  );
}

/** Nothing for 300 ms (CSS), then a skeleton; from 2 s a sentence and Cancel. */
export function Skeleton({
  what,
  lines = 6,
  cancel,
}: {
  what: string;
  lines?: number;
  cancel?: () => void;
}) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 2000);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" aria-busy="true">
      <p class="sr-only" role="status">
        Loading {what}
      </p>
      {slow && (
        <p class="row slow">
          Still {what} …{" "}
          {cancel && (
            <button type="button" class="small" onClick={cancel}>
              Cancel
            </button>
          )}
        </p>
      )}
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} class={`bar w${(i * 7) % 4}`} />
      ))}
    </div>
  );
}

/** Data, or its loading, failure: the states that every list shares. */
export function Show<T>({
  from,
  what,
  children,
}: {
  from: Loaded<T>;
  what: string;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  if (from.error) return <ProblemBox error={from.error} retry={from.retry} />;
  if (!from.data) return <Skeleton what={what} cancel={from.cancel} />;
  return <div class={from.loading ? "flow stale" : "flow"}>{children(from.data)}</div>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Facts({ items }: { items: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {items
        .filter(([, v]) => v !== null && v !== undefined && v !== "" && v !== false)
        .map(([k, v]) => (
          <div key={k}>
            <dt>{k}</dt>
            <dd>{v}</dd>
          </div>
        ))}
    </dl>
  );
}

/** A table that scrolls sideways by itself, never the page; reachable by keyboard. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const ref = useRef<HTMLDivElement>(null);
  const [wide, setWide] = useState(false);
  useEffect(() => {
    const el = ref.current!;
    const look = () => setWide(el.scrollWidth > el.clientWidth + 1);
    const watch = new ResizeObserver(look);
    watch.observe(el);
    look();
    return () => watch.disconnect();
  }, []);
  return (
    <div
      class={`scroll ${wide ? "wide" : ""}`}
      ref={ref}
      {...(wide ? { tabIndex: 0, role: "region", "aria-label": `${label}, table` } : {})}
    >
      {children}
    </div>
  );
}

export function useNarrow(): boolean {
  const [narrow, set] = useState(() => matchMedia("(max-width: 700px)").matches);
  useEffect(() => {
    const query = matchMedia("(max-width: 700px)");
    const update = () => set(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return narrow;
}

export function Pager({
  next,
  shown,
  total,
  onMore,
  busy,
}: {
  next: string | null;
  shown: number;
  total?: number;
  onMore: () => void;
  busy: boolean;
}) {
  if (!next && (total === undefined || total <= shown)) return null;
  return (
    <p class="pager">
      {shown} shown{total !== undefined ? ` of ${total}` : ""}
      {next && (
        <button type="button" disabled={busy} onClick={onMore}>
          Show more
        </button>
      )}
    </p>
  );
}
