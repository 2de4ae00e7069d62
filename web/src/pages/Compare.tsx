/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /compare: the live comparison, and where to start when nothing is chosen yet. */

import { useEffect } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { CompareAnswer, Experiment, List, Pin } from "../api/types";
import { Pickers, swap } from "../compare/Pickers";
import { askedOf, compareUrl } from "../compare/state";
import { CompareView, docsOf, titleOf } from "../compare/View";
import { onKeys } from "../lib/keys";
import { navigate, setQuery, usePlace } from "../lib/router";
import { one, tidy } from "../lib/urlstate";
import { plural } from "../lib/format";
import { Empty, Heading, ProblemBox, Show, Skeleton, Time, useTitle } from "../ui/bits";
import { toast } from "../ui/toast";

const ALL_TABLES = "histogram,percentiles,shift,ccdf,runs";

export function ComparePage() {
  const { query } = usePlace();
  const asked = askedOf(query);
  const ready = asked.a !== "" && asked.b.length > 0;
  const answer = useApi<CompareAnswer>(ready ? compareUrl(asked.params) : null);
  const docs = answer.data ? docsOf(answer.data).docs : [];
  const first = docs[0] ?? null;
  useTitle(first && ready ? titleOf(docs) : "Compare");

  useEffect(
    () =>
      onKeys({
        x: () => swap(query),
        t: () => setQuery({ tables: one(query, "tables") ? null : ALL_TABLES }, "replace"),
      }),
    [query],
  );

  const pickers = (
    <Pickers
      query={query}
      metric={first?.metric ?? null}
      stats={first?.rows.map((r) => r.stat) ?? []}
      skips={docs.some((d) => d.verdict.reasons.some((r) => r.code.startsWith("omission")))}
    />
  );
  if (!ready || !answer.data || answer.error)
    return (
      <>
        <header class="page-head">
          <div>
            <Heading>Compare</Heading>
            <p class="sub">Did this change make it better, worse, or can't we tell?</p>
          </div>
        </header>
        {pickers}
        {!ready ? (
          <Start a={asked.a} />
        ) : answer.error ? (
          <ProblemBox error={answer.error} retry={answer.retry} />
        ) : (
          <Skeleton what="comparing the runs" lines={12} cancel={answer.cancel} />
        )}
      </>
    );
  return (
    <div class={answer.loading ? "stale" : undefined} aria-busy={answer.loading}>
      <CompareView
        answer={answer.data}
        query={query}
        pinned={false}
        before={pickers}
        urls={{
          json: compareUrl(asked.params, { format: "json" }),
          text: compareUrl(asked.params, { format: "text" }),
          csv: compareUrl(asked.params, { format: "csv" }),
          markdown: compareUrl(asked.params, { format: "markdown" }),
          svg: (chart) => compareUrl(asked.params, { format: "svg", chart }),
        }}
        actions={
          <button type="button" class="primary" onClick={() => pin(asked.params)}>
            Pin
          </button>
        }
      />
    </div>
  );
}

async function pin(params: ReadonlyMap<string, readonly string[]>): Promise<void> {
  const body: Record<string, unknown> = {};
  for (const [name, values] of params) {
    if (name === "b") body.b = values;
    else if (name === "ci") body.ci = Number(values[0]);
    else if (name === "anyway" || name === "corrected")
      body[name] = values[0] === "1" || values[0] === "true";
    else body[name] = values[0];
  }
  try {
    const made = await sendJson<Pin>("POST", `${API}/comparisons`, body);
    navigate(`/c/${made.id}`);
    toast("Pinned. This page never changes again; its address is the permalink.");
  } catch (e) {
    if (!(e instanceof ApiError)) throw e;
    toast(`Not pinned: ${e.problem.title}. ${e.problem.hint ?? ""}`);
  }
}

/** Nothing chosen: the comparisons that lie at hand. */
function Start({ a }: { a: string }) {
  const experiments = useApi<List<Experiment>>(`${API}/experiments`);
  const pins = useApi<List<Pin>>(`${API}/comparisons?limit=10`);
  return (
    <>
      {a && (
        <p class="notice">
          Choose what to compare A with: the box for side B offers the other levels of its factors.
        </p>
      )}
      <section aria-labelledby="start-title">
        <h2 id="start-title">Start from an experiment</h2>
        <Show from={experiments} what="experiments">
          {(list) =>
            list.items.filter((e) => e.compare).length === 0 ? (
              <Empty title="No experiment has two levels yet">
                <p>
                  Import two files under different levels on the <a href="/import">import page</a>,
                  or choose runs on the <a href="/runs">runs page</a>.
                </p>
              </Empty>
            ) : (
              <ul class="cards">
                {list.items
                  .filter((e) => e.compare)
                  .map((e) => (
                    <li key={e.id} class="card">
                      <h3>
                        <a href={tidy(e.compare!)}>{e.name}</a>
                      </h3>
                      <p>
                        {e.factors.map((f) => `${f.name}: ${f.levels.join(" vs ")}`).join("; ")}
                      </p>
                      <p class="muted">
                        {plural(e.runs.total, "run")}
                        {e.hosts.length > 0 && ` on ${e.hosts.join(", ")}`}{" "}
                        {e.demo && <span class="badge">demo</span>}
                      </p>
                    </li>
                  ))}
              </ul>
            )
          }
        </Show>
      </section>
      {pins.data && pins.data.items.length > 0 && (
        <section aria-labelledby="pins-title">
          <h2 id="pins-title">Pinned comparisons</h2>
          <ul class="pins">
            {pins.data.items.map((p) => (
              <li key={p.id}>
                <a href={`/c/${p.id}`}>{p.title ?? p.id}</a> <span class="muted">{p.sentence}</span>{" "}
                <Time at={p.created} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
