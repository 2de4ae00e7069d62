/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is compared: side A, one or more sides B, metric, margin, confidence. */

import { useMemo } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { Experiment, List, Metric, MetricItem, RunItem, SuggestionList } from "../api/types";
import { plural } from "../lib/format";
import { setQuery } from "../lib/router";
import { encodeValue, one, type Query } from "../lib/urlstate";
import { letter } from "../chart/compare";
import { SIDE_TONES } from "../chart/model";
import { Swatch } from "../chart/Chart";
import { SelectorInput, type Choice } from "../ui/SelectorInput";
import { askedOf } from "./state";

const SIDES_MAX = 6;

interface PickersProps {
  query: Query;
  metric: Metric | null;
  stats: readonly string[];
  skips: boolean; // the source skips what long delays cover: a corrected view exists
}

export function Pickers({ query, metric, stats, skips }: PickersProps) {
  const { a, b } = askedOf(query);
  const experiments = useApi<List<Experiment>>(`${API}/experiments`);
  const suggested = useApi<SuggestionList>(a ? `${API}/compare/suggest?a=${encodeValue(a)}` : null);
  const cells = useMemo(() => cellChoices(experiments.data?.items ?? []), [experiments.data]);
  const partners: Choice[] = (suggested.data?.items ?? []).map((s) => ({
    value: s.b,
    text: s.text,
    note: plural(s.runs, "run"),
  }));
  const setB = (i: number, v: string) =>
    setQuery({ b: [...b.slice(0, i), v, ...b.slice(i + 1)].filter(Boolean) });
  const bs = b.length > 0 ? b : [""];

  return (
    <form class="pickers card" aria-label="What is compared" onSubmit={(e) => e.preventDefault()}>
      <div class="sides">
        <div class="side">
          <Swatch tone="a" />
          <SelectorInput
            label="A"
            value={a}
            choices={cells}
            inputId="side-a"
            placeholder="experiment=…, host=…, run=…"
            onCommit={(v) => setQuery({ a: v })}
          />
        </div>
        <button
          type="button"
          class="swap"
          title="Swap A and B (x)"
          aria-label="Swap A and B"
          disabled={b.length !== 1}
          onClick={() => swap(query)}
        >
          ⇄
        </button>
        <div class="others">
          {bs.map((v, i) => (
            <div class="side" key={i}>
              <Swatch tone={SIDE_TONES[i + 1]!} />
              <SelectorInput
                label={letter(i + 1)}
                value={v}
                choices={[
                  ...partners,
                  ...cells.filter((c) => !partners.some((p) => p.value === c.value)),
                ]}
                inputId={`side-${SIDE_TONES[i + 1]}`}
                placeholder="the other side"
                onCommit={(t) => setB(i, t)}
              />
              {b.length > 1 && (
                <button
                  type="button"
                  class="small"
                  aria-label={`Remove side ${letter(i + 1)}`}
                  onClick={() => setB(i, "")}
                >
                  ✕
                </button>
              )}
            </div>
          ))}
          <AddSide a={a} b={b} partners={partners} />
        </div>
      </div>
      {a && b.length > 0 && (
        <Options query={query} metric={metric} stats={stats} a={a} skips={skips} />
      )}
    </form>
  );
}

function AddSide({ a, b, partners }: { a: string; b: string[]; partners: Choice[] }) {
  const next = partners.find((p) => !b.includes(p.value) && p.value !== a);
  if (b.length === 0 || b.length >= SIDES_MAX - 1 || !next) return null;
  return (
    <button type="button" class="small" onClick={() => setQuery({ b: [...b, next.value] })}>
      + another side: {next.text}
    </button>
  );
}

export function swap(query: Query): void {
  const { a, b } = askedOf(query);
  if (b.length === 1) setQuery({ a: b[0], b: [a] });
}

function cellChoices(experiments: readonly Experiment[]): Choice[] {
  return experiments.flatMap((e) =>
    e.cells.map((c) => ({ value: c.selector, text: c.selector, note: plural(c.runs, "run") })),
  );
}

const MARGINS = ["1%", "2%", "5%", "10%", "20%"];
const CONFIDENCES = ["0.9", "0.95", "0.99"];

function Options({ query, metric, stats, a, skips }: PickersProps & { a: string }) {
  const catalog = useApi<List<MetricItem>>(`${API}/metrics-catalog`);
  const sample = useApi<List<RunItem>>(`${API}/runs?q=${encodeValue(a)}&limit=20`);
  const names = [...new Set(sample.data?.items.flatMap((r) => r.metrics) ?? [])];
  const titleOf = (name: string) => catalog.data?.items.find((m) => m.name === name)?.title ?? name;
  const own = metric ? `${Number((metric.margin_rel * 100).toPrecision(3))}%` : "";
  const set = (name: string) => (e: Event) =>
    setQuery({ [name]: (e.currentTarget as HTMLSelectElement).value || null });
  const margin = one(query, "margin");
  return (
    <div class="options">
      {metric && (
        <label>
          Metric
          <select value={metric.name} onChange={set("metric")}>
            {[...new Set([metric.name, ...names])].map((n) => (
              <option key={n} value={n}>
                {n === metric.name ? metric.title || n : titleOf(n)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        Decided by
        <select value={one(query, "primary")} onChange={set("primary")}>
          <option value="">{metric ? `${metric.primary}` : "default"}</option>
          {stats
            .filter((s) => s !== metric?.primary)
            .map((s) => (
              <option key={s} value={s}>
                {s}
              </option>
            ))}
        </select>
      </label>
      <label>
        Worth caring about
        <select value={margin} onChange={set("margin")}>
          <option value="">{margin || !own ? "the metric's own" : `≥ ${own}`}</option>
          {[...new Set([...MARGINS, ...(margin ? [margin] : [])])]
            .filter((m) => m !== own || margin === m)
            .map((m) => (
              <option key={m} value={m}>
                ≥ {m}
              </option>
            ))}
        </select>
      </label>
      <label>
        Confidence
        <select
          value={one(query, "ci", "0.95")}
          onChange={(e) =>
            setQuery({ ci: e.currentTarget.value === "0.95" ? null : e.currentTarget.value })
          }
        >
          {CONFIDENCES.map((c) => (
            <option key={c} value={c}>
              {Number(c) * 100} %
            </option>
          ))}
        </select>
      </label>
      {(skips || one(query, "corrected")) && (
        <label>
          <input
            type="checkbox"
            checked={one(query, "corrected") !== ""}
            onChange={(e) => setQuery({ corrected: e.currentTarget.checked ? "1" : null })}
          />
          Add the periods that long delays covered
        </label>
      )}
    </div>
  );
}
