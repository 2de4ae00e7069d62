/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison, live or pinned: sentence, table, charts, tail, environment. */

import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { CompareAnswer, Comparison, Many } from "../api/types";
import { curlOf, getText, type ApiError } from "../api/client";
import { sideText } from "../chart/compare";
import { pretty } from "../lib/format";
import { copyText } from "../lib/save";
import type { Query } from "../lib/urlstate";
import { betterText } from "../lib/words";
import { CopyButton, Heading } from "../ui/bits";
import { toast } from "../ui/toast";
import { Charts } from "./Charts";
import { EnvironmentPanel, HostsPanel, HowToRead, TailPanel } from "./Panels";
import { ProfilePanel } from "./Profile";
import { ResultTable } from "./Table";
import { SideFacts, Verdicts } from "./Verdict";

export function docsOf(answer: CompareAnswer): { docs: Comparison[]; many: Many | null } {
  return "items" in answer ? { docs: answer.items, many: answer } : { docs: [answer], many: null };
}

/** "rq_affinity: 0 vs 1" when one factor differs; else the sides in full. */
export function titleOf(docs: readonly Comparison[]): string {
  const first = docs[0]!;
  const texts = [sideText(first, "a"), ...docs.map((d) => sideText(d, "b"))];
  const split = texts.map((t) => /^([^=,\s]+)=([^,]*)$/.exec(t));
  const key = split[0]?.[1];
  if (key && split.every((m) => m?.[1] === key))
    return `${key}: ${split[0]![2]} vs ${split
      .slice(1)
      .map((m) => m![2])
      .join(", ")}`;
  return `${texts[0]} vs ${texts.slice(1).join(" vs ")}`;
}

interface Props {
  answer: CompareAnswer;
  query: Query;
  urls: {
    json: string;
    text: string;
    csv: string;
    markdown: string;
    svg: (chart: string) => string;
  };
  pinned: boolean;
  actions?: ComponentChildren;
  before?: ComponentChildren; // pickers, or the note of a pin
}

export function CompareView({ answer, query, urls, pinned, actions, before }: Props) {
  const { docs, many } = useMemo(() => docsOf(answer), [answer]);
  const first = docs[0];
  if (!first) return <p class="notice">The answer holds no comparison.</p>;
  const hosts = [
    ...new Set(docs.flatMap((d) => [...(d.a.hosts ?? []), ...(d.b.hosts ?? [])])),
  ].filter(Boolean);
  const title = titleOf(docs);
  const caption = `${title}\n${pretty(first.verdict.sentence)}\n${location.href}  ${new Date().toISOString().slice(0, 16)}Z`;
  return (
    <article class="comparison">
      <header class="page-head">
        <div>
          <Heading>{title}</Heading>
          <p class="sub">
            {first.metric.title || first.metric.name}
            {hosts.length > 0 && ` on ${hosts.join(", ")}`}; {betterText(first.metric.better)}
          </p>
        </div>
        <div class="actions">
          <button type="button" onClick={() => copyAsText(urls.text)}>
            Copy as text
          </button>
          {actions}
        </div>
      </header>
      {before}
      <Verdicts docs={docs} many={many} canWaive={!pinned} />
      <SideFacts docs={docs} />
      <ResultTable docs={docs} query={query} />
      <Charts
        docs={docs}
        query={query}
        caption={caption}
        svgUrl={(c) => (docs.length === 1 ? urls.svg(c) : undefined)}
      />
      <div class="panels">
        <HostsPanel docs={docs} />
        <TailPanel docs={docs} />
        <ProfilePanel docs={docs} query={query} pinned={pinned} />
        <EnvironmentPanel docs={docs} />
      </div>
      <HowToRead doc={first} />
      <p class="raw row">
        <span>The same as</span>
        <a href={urls.json}>JSON</a>
        <a href={urls.csv}>CSV</a>
        <a href={urls.text}>text</a>
        <a href={urls.markdown}>Markdown</a>
        <CopyButton text={curlOf(urls.text)} what="curl command">
          Copy as curl
        </CopyButton>
        <CopyButton text={location.href} what="Link">
          Copy link
        </CopyButton>
        <span class="muted">method {first.method}</span>
      </p>
    </article>
  );
}

async function copyAsText(url: string): Promise<void> {
  try {
    const text = await getText(url);
    toast(
      (await copyText(text))
        ? "Copied as text, ready for a mail."
        : "Copying is not allowed here; open the text link below instead.",
    );
  } catch (e) {
    toast(`Not copied: ${(e as ApiError).problem?.title ?? String(e)}.`);
  }
}
