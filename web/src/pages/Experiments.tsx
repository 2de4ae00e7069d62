/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /experiments and /experiments/{id}: designs, their cells in order, and the comparison of levels. */

import { API, useApi } from "../api/client";
import type { Experiment, List, RunItem } from "../api/types";
import { SIDE_TONES } from "../chart/model";
import { letter } from "../chart/compare";
import { pageUrl } from "../compare/state";
import { useLive } from "../live/live";
import { fmt, plural } from "../lib/format";
import { usePlace } from "../lib/router";
import { parseSort, sortBy, type SortKey } from "../lib/table";
import { encodeValue, one, tidy } from "../lib/urlstate";
import {
  Empty,
  Factors,
  Facts,
  Heading,
  Pager,
  Scroll,
  Show,
  SortTh,
  Time,
  useNarrow,
  useTitle,
} from "../ui/bits";
import { ExperimentCard } from "./Fleet";
import { Assignments } from "./Assignments";
import { NewExperiment } from "./NewExperiment";
import { Flags, useMore } from "./Runs";

const FALLBACK = "-started";

const KEYS: Record<string, (e: Experiment) => SortKey> = {
  name: (e) => e.name,
  hosts: (e) => e.hosts.join(),
  factors: (e) => e.factors.map((f) => f.name).join(),
  order: (e) => e.order,
  progress: (e) => progressOf(e),
  started: (e) => (e.started ? Date.parse(e.started) : null),
};

function progressOf(e: Experiment): number | null {
  return e.total_runs ? e.runs.total / e.total_runs : null;
}

/** /experiments, or the form for a new one: an experiment may be called "new", so it has no path of its own. */
export function ExperimentsPage() {
  const { query } = usePlace();
  return one(query, "new") ? <NewExperiment /> : <ExperimentList />;
}

function ExperimentList() {
  useTitle("Experiments");
  const { query } = usePlace();
  const narrow = useNarrow();
  const url = `${API}/experiments`;
  const list = useApi<List<Experiment>>(url);
  const more = useMore<Experiment>(list.data, url);
  useLive(more.items.length > 0 ? null : "experiments", list.retry, 2000);
  const sort = parseSort(one(query, "sort"), FALLBACK);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Experiments</Heading>
          <p class="sub">A setting is varied on a box, in alternation; its levels are compared.</p>
        </div>
        <div class="actions">
          <a class="button primary" href="/experiments?new=1">
            New experiment
          </a>
        </div>
      </header>
      <Show from={list} what="experiments">
        {(first) => {
          const rows = sortBy(
            [...first.items, ...more.items],
            KEYS[sort.key] ?? KEYS.started!,
            sort.dir,
          );
          if (rows.length === 0)
            return (
              <Empty title="No experiment yet">
                <p>
                  <code>
                    rigstat-agent run --experiment NAME --factor SETTING=0,1 --runs 10 -- COMMAND
                  </code>{" "}
                  on a box makes one; so does <a href="/import">importing</a> files under an
                  experiment's name.
                </p>
              </Empty>
            );
          return (
            <>
              {narrow ? (
                <ul class="cards">
                  {rows.map((e) => (
                    <ExperimentCard key={e.id} e={e} level={2} />
                  ))}
                </ul>
              ) : (
                <Table rows={rows} sort={sort} />
              )}
              <Pager next={more.next} shown={rows.length} onMore={more.load} busy={more.busy} />
            </>
          );
        }}
      </Show>
    </>
  );
}

function Table({ rows, sort }: { rows: Experiment[]; sort: ReturnType<typeof parseSort> }) {
  const head = (id: string, text: string) => (
    <SortTh
      id={id}
      sort={sort}
      fallback={FALLBACK}
      first={id === "started" || id === "progress" ? "desc" : "asc"}
    >
      {text}
    </SortTh>
  );
  return (
    <Scroll label="Experiments">
      <table class="data">
        <thead>
          <tr>
            {head("name", "experiment")}
            {head("hosts", "boxes")}
            {head("factors", "factors and levels")}
            {head("order", "order")}
            {head("progress", "runs")}
            {head("started", "started")}
            <th scope="col">result</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((e) => (
            <tr key={e.id}>
              <th scope="row">
                <a href={`/experiments/${e.id}`}>{e.name}</a>{" "}
                {e.demo && <span class="badge">demo</span>}
              </th>
              <td>{e.hosts.join(", ") || <span class="na">none</span>}</td>
              <td>{e.factors.map((f) => `${f.name}: ${f.levels.join(", ")}`).join("; ")}</td>
              <td>{e.order ?? <span class="na">unknown</span>}</td>
              <td>
                <Progress e={e} />
              </td>
              <td class="nowrap">
                <Time at={e.started} />
              </td>
              <td>{e.compare && <a href={tidy(e.compare)}>Compare</a>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Progress({ e }: { e: Experiment }) {
  const extra = [
    e.runs.running > 0 && `${e.runs.running} running`,
    e.runs.failed > 0 && `${e.runs.failed} failed`,
    e.runs.excluded > 0 && `${e.runs.excluded} excluded`,
  ]
    .filter(Boolean)
    .join(", ");
  return (
    <>
      {e.total_runs && e.total_runs > e.runs.total ? (
        <>
          <progress
            max={e.total_runs}
            value={e.runs.total}
            aria-label={`${e.runs.total} of ${e.total_runs} runs`}
          />{" "}
          {e.runs.total} / {e.total_runs}
        </>
      ) : (
        e.runs.total
      )}{" "}
      {extra && <span class="muted">({extra})</span>}
    </>
  );
}

export function ExperimentPage({ id }: { id: string }) {
  const experiment = useApi<Experiment>(`${API}/experiments/${encodeURIComponent(id)}`);
  useTitle(experiment.data?.name ?? "Experiment");
  useLive(experiment.data ? `experiment:${experiment.data.id}` : null, experiment.retry);
  return (
    <Show from={experiment} what="the experiment">
      {(e) => (
        <>
          <header class="page-head">
            <div>
              <Heading>{e.name}</Heading>
              <p class="sub">
                {e.factors.map((f) => `${f.name}: ${f.levels.join(" vs ")}`).join("; ") ||
                  "no factor"}{" "}
                {e.demo && <span class="badge">demo</span>}
              </p>
            </div>
            <div class="actions">
              <a class="button" href={`/runs?q=experiment=${encodeValue(e.id)}`}>
                Its runs
              </a>
              {e.compare && (
                <a class="button primary" href={tidy(e.compare)}>
                  Compare the levels
                </a>
              )}
            </div>
          </header>
          {e.note && <p class="notice">{e.note}</p>}
          {e.order === "sequential" && (
            <p class="notice warn">
              All runs of one level came before the other: what changed with time cannot be told
              from what the factor changed. Alternate the levels next time.
            </p>
          )}
          <Facts
            items={[
              [
                "state",
                e.runs.running > 0
                  ? `${e.runs.running} running`
                  : e.ended
                    ? "finished"
                    : "no run is going on",
              ],
              ["boxes", e.hosts.join(", ") || "none named"],
              ["order", e.order ?? "unknown"],
              ["runs", <Progress e={e} />],
              ["runs per cell", e.runs_per_cell ? String(e.runs_per_cell) : null],
              ["metrics", <Names list={e.metrics} />],
              ["started", <Time at={e.started} />],
              ["ended", e.ended ? <Time at={e.ended} /> : null],
            ]}
          />
          <Interim e={e} />
          <Assignments e={e} />
          <Cells e={e} />
          <InOrder e={e} />
        </>
      )}
    </Show>
  );
}

/** While it goes on: how far it is, and why its numbers are not read as a verdict yet. */
function Interim({ e }: { e: Experiment }) {
  const done = e.runs.total - e.runs.running - e.runs.failed - e.runs.excluded;
  if (e.runs.running === 0 || !e.total_runs || done >= e.total_runs) return null;
  return (
    <p class="notice">
      <strong>Interim:</strong> {done} of {plural(e.total_runs, "planned run")} count so far. A verdict is
      drawn when all are there: who looks after every run and stops when it looks good is wrong more often than
      the confidence says. Early and sound decisions about rates of breaches are made by <code>rigstat gate --mode anytime</code>
      {e.compare && (
        <>
          , or look at <a href={tidy(e.compare)}>the comparison so far</a> as what it is
        </>
      )}
      .
    </p>
  );
}

function Names({ list }: { list: readonly string[] }) {
  if (list.length <= 4) return <>{list.join(", ")}</>;
  return (
    <details>
      <summary>{list.length} metrics</summary>
      {list.join(", ")}
    </details>
  );
}

function Cells({ e }: { e: Experiment }) {
  const first = e.cells[0];
  return (
    <section aria-labelledby="cells-title">
      <h2 id="cells-title">Cells</h2>
      <Scroll label="Cells">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">cell</th>
              <th scope="col">levels</th>
              <th scope="col" class="num">
                runs
              </th>
              <th scope="col">compare</th>
            </tr>
          </thead>
          <tbody>
            {e.cells.map((c, i) => (
              <tr key={c.selector}>
                <th scope="row">{letter(i)}</th>
                <td>
                  <Factors factors={c.factors} />
                </td>
                <td class="num">
                  {c.runs}
                  {e.runs_per_cell ? ` / ${e.runs_per_cell}` : ""}
                </td>
                <td>
                  {i === 0 || !first ? (
                    <span class="muted">reference</span>
                  ) : (
                    <a href={pageUrl(first.selector, [c.selector])}>
                      against {Object.values(first.factors).join(", ") || "A"}
                    </a>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** The runs as they were made: a strip of cells, so that order and failures are seen at once. */
function InOrder({ e }: { e: Experiment }) {
  const url = `${API}/runs?experiment=${encodeValue(e.id)}&sort=order&limit=1000`;
  const runs = useApi<List<RunItem>>(url);
  useLive(`experiment:${e.id}`, runs.retry);
  const cellOf = (r: RunItem) =>
    e.cells.findIndex((c) => Object.entries(c.factors).every(([k, v]) => r.factors[k] === v));
  return (
    <section aria-labelledby="order-title">
      <h2 id="order-title">Runs in order</h2>
      <Show from={runs} what="runs">
        {(list) => (
          <>
            <ol class="strip">
              {list.items.map((r, i) => {
                const cell = cellOf(r);
                const bad = r.excluded !== null || r.state === "failed" || r.state === "aborted";
                const text = `${r.order ?? i + 1}: ${cell < 0 ? "?" : letter(cell)} ${r.id}, ${r.excluded ? `excluded: ${r.excluded}` : r.state}`;
                return (
                  <li key={r.id}>
                    <a
                      href={`/runs/${r.id}`}
                      class={`cell tone-${SIDE_TONES[cell] ?? "ink"} ${bad ? "bad" : ""} ${r.state}`}
                      title={text}
                      aria-label={text}
                    >
                      {bad ? "✕" : cell < 0 ? "?" : letter(cell)}
                    </a>
                  </li>
                );
              })}
            </ol>
            <Scroll label="Runs in order">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col" class="num">
                      order
                    </th>
                    <th scope="col">run</th>
                    <th scope="col">levels</th>
                    <th scope="col">started</th>
                    <th scope="col" class="num">
                      p50
                    </th>
                    <th scope="col" class="num">
                      p99
                    </th>
                    <th scope="col" class="num">
                      max
                    </th>
                    <th scope="col">state</th>
                  </tr>
                </thead>
                <tbody>
                  {list.items.map((r, i) => (
                    <tr key={r.id}>
                      <td class="num">{r.order ?? i + 1}</td>
                      <th scope="row">
                        <a href={`/runs/${r.id}`}>{r.id}</a>
                      </th>
                      <td>
                        <Factors factors={r.factors} />
                      </td>
                      <td class="nowrap">
                        <Time at={r.started} />
                      </td>
                      {[r.summary?.p50 ?? r.summary?.value, r.summary?.p99, r.summary?.max].map(
                        (v, k) => (
                          <td key={k} class="num">
                            {fmt(v, r.summary?.unit ?? "")}
                          </td>
                        ),
                      )}
                      <td>
                        <Flags r={r} /> {r.excluded && <span class="muted">{r.excluded}</span>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
            {list.items.length === 0 && <p class="muted">{plural(0, "run")} so far.</p>}
          </>
        )}
      </Show>
    </section>
  );
}
