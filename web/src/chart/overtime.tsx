/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heat map of one run, or of the latest runs of a box. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { API, ApiError, getJson } from "../api/client";
import type { Minutes } from "../api/types";
import { useLive } from "../live/live";
import { setQuery, usePlace } from "../lib/router";
import { listOf, toggled } from "../compare/state";
import { heatModel, type HeatBlock } from "./heat";
import { HeatMap } from "./HeatMap";

export function blockOf(m: Minutes): HeatBlock {
  return {
    run: m.run,
    edges: m.edges,
    t: m.t.map((t) => Date.parse(t)),
    step: m.step_ns / 1e6,
    counts: m.counts,
    phase: m.phase,
    lost: m.lost,
    p50: m.p50,
    p99: m.p99,
    max: m.max,
  };
}

interface Props {
  runs: readonly string[];
  metric: string;
  title: string;
  topic?: string; // the newest run is still going on: where its news come
  onLatest?: (m: Minutes | null) => void;
}

/** Nothing at all when no run has minutes: an import has no course of time. */
export function OverTime({ runs, metric, title, topic, onLatest }: Props) {
  const { query } = usePlace();
  const [answers, setAnswers] = useState<Minutes[]>([]);
  const [error, setError] = useState<string | null>(null);
  const key = `${runs.join()} ${metric}`;

  const [round, setRound] = useState(0);
  const kept = useRef({ key: "", known: new Map<string, Minutes>() });
  useLive(topic ?? null, () => setRound((n) => n + 1), 5000);

  useEffect(() => {
    const abort = new AbortController();
    if (kept.current.key !== key) kept.current = { key, known: new Map() };
    const { known } = kept.current;
    const load = async () => {
      for (const run of runs) {
        // Only the newest run grows.
        if (known.has(run) && run !== runs[0]) continue;
        known.set(
          run,
          await getJson<Minutes>(`${API}/runs/${run}/minutes/${metric}?bins=log:60`, {
            signal: abort.signal,
          }),
        );
      }
      setAnswers(runs.map((r) => known.get(r)!));
      setError(null);
      onLatest?.(known.get(runs[0]!) ?? null);
    };
    if (runs.length > 0)
      load().catch((e: unknown) => {
        if (abort.signal.aborted) return;
        if (!(e instanceof ApiError)) throw e;
        setError(e.problem.title);
      });
    return () => abort.abort();
  }, [key, round]);

  const model = useMemo(() => heatModel(answers.map(blockOf), answers[0]?.unit ?? "ns"), [answers]);
  const tables = listOf(query, "tables");
  const columns = model?.blocks.reduce((n, b) => n + b.t.length, 0) ?? 0;
  if (error && !model)
    return <p class="notice warn">The course over time could not be loaded: {error}.</p>;
  if (!model || columns < 2) return null;
  return (
    <HeatMap
      model={model}
      title={title}
      about={`${metric} minute by minute; colour is the logarithm of the count, empty cells are blank${answers.some((a) => a.phase.some((p) => p === 1 || p === 3)) ? ", warm-up is faint" : ""}.${error ? ` No news: ${error}.` : ""}`}
      tableOpen={tables.includes("heat")}
      onTable={() => setQuery({ tables: toggled(tables, "heat") || null }, "replace")}
    />
  );
}
