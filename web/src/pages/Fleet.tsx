/* SPDX-License-Identifier: GPL-2.0-or-later */
/* / : the boxes, what needs attention, and the way to a first comparison. */

import { useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { Experiment, Host, HostList, List, Status } from "../api/types";
import { group, plural } from "../lib/format";
import { useLive } from "../live/live";
import { setQuery, usePlace } from "../lib/router";
import { parseSort, sortBy, type SortKey } from "../lib/table";
import { encodeValue, one, tidy } from "../lib/urlstate";
import {
  Ago,
  Command,
  Facts,
  Factors,
  Heading,
  Scroll,
  Show,
  SortTh,
  useNarrow,
  useTitle,
} from "../ui/bits";
import { toast } from "../ui/toast";

const FALLBACK = "-need";

const STATES: Record<Host["state"], { symbol: string; text: string; tone: string; rank: number }> =
  {
    online: { symbol: "●", text: "online", tone: "good", rank: 1 },
    stale: { symbol: "◐", text: "stale", tone: "mixed", rank: 3 },
    offline: { symbol: "○", text: "offline", tone: "bad", rank: 4 },
    imported: { symbol: "⇩", text: "imported", tone: "weak", rank: 0 },
    retired: { symbol: "–", text: "retired", tone: "weak", rank: 0 },
  };

const KEYS: Record<string, (h: Host) => SortKey> = {
  need: (h) => STATES[h.state].rank * 10 + ((h.lost_1h ?? 0) > 0 ? 5 : 0),
  name: (h) => h.name,
  state: (h) => STATES[h.state].rank,
  seen: (h) => (h.last_seen ? Date.parse(h.last_seen) : null),
  lost: (h) => (h.state === "imported" ? null : h.lost_1h),
  kernel: (h) => h.kernel,
  runs: (h) => h.runs,
  now: (h) => h.last_run?.started,
};

/* How often: records come every second from every box, the states of boxes change seldom. */
const RECORDS_MS = 5000;
const isNews = (changes: string[]) => changes.some((c) => c !== "data");

export function FleetPage() {
  useTitle("Fleet");
  const hosts = useApi<HostList>(`${API}/hosts?limit=1000`);
  const status = useApi<Status>(`${API}/status`);
  useLive("fleet", hosts.retry, RECORDS_MS);
  useLive("fleet", () => (hosts.retry(), status.retry()), 1000, isNews);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Fleet</Heading>
          <p class="sub">{hosts.data && summary(hosts.data)}</p>
        </div>
        <div class="actions">
          <a class="button" href="/import">
            Import files
          </a>
          <a class="button primary" href="/compare">
            Compare
          </a>
        </div>
      </header>
      <DemoNote status={status.data} onGone={() => (status.retry(), hosts.retry())} />
      {hosts.data && <Attention hosts={hosts.data.items} />}
      {hosts.error || !hosts.data ? (
        <Show from={hosts} what="hosts">
          {() => null}
        </Show>
      ) : hosts.data.items.some((h) => h.state !== "imported") ? (
        <Hosts list={hosts.data.items} />
      ) : (
        <>
          <FirstSteps status={status.data} />
          {hosts.data.items.length > 0 && <Hosts list={hosts.data.items} />}
        </>
      )}
      <Latest />
    </>
  );
}

function summary(list: HostList): string {
  const boxes = list.items.filter((h) => h.state !== "imported");
  const imported = list.items.length - boxes.length;
  const count = (s: Host["state"]) => list.items.filter((h) => h.state === s).length;
  if (boxes.length === 0)
    return imported > 0
      ? `No box reports yet; ${plural(imported, "host")} known from imports.`
      : "No box reports yet.";
  const parts = (["online", "stale", "offline"] as const)
    .filter((s) => count(s) > 0)
    .map((s) => `${count(s)} ${STATES[s].text}`);
  return `${plural(boxes.length, "box", "boxes")}: ${parts.join(" · ")}${imported > 0 ? ` · ${imported} from imports` : ""}`;
}

function Attention({ hosts }: { hosts: readonly Host[] }) {
  const needy = hosts.filter(
    (h) => h.state === "stale" || h.state === "offline" || (h.lost_1h ?? 0) > 0,
  );
  if (needy.length === 0) return null;
  return (
    <section class="notice warn" aria-labelledby="attention-title">
      <h2 id="attention-title">Needs attention</h2>
      <ul>
        {needy.slice(0, 8).map((h) => (
          <li key={h.name}>
            <a href={`/runs?q=host=${encodeValue(h.name)}`}>{h.name}</a>{" "}
            {h.state !== "online" ? (
              <>
                is {STATES[h.state].text}: last seen <Ago at={h.last_seen} />.
              </>
            ) : (
              `lost ${plural(h.lost_1h ?? 0, "sample")} in the last hour; comparisons that use them say so.`
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Hosts({ list }: { list: readonly Host[] }) {
  const { query } = usePlace();
  const narrow = useNarrow();
  const sort = parseSort(one(query, "sort"), FALLBACK);
  const state = one(query, "state");
  const kept = list.filter((h) => !state || h.state === state);
  const rows = sortBy(kept, KEYS[sort.key] ?? KEYS.need!, sort.dir);
  const head = (id: string, text: string, right = false, title?: string) => (
    <SortTh
      id={id}
      sort={sort}
      fallback={FALLBACK}
      right={right}
      title={title}
      first={right ? "desc" : "asc"}
    >
      {text}
    </SortTh>
  );
  return (
    <section aria-labelledby="hosts-title">
      <div class="list-head">
        <h2 id="hosts-title">Boxes</h2>
        <div class="chips" role="group" aria-label="Show only">
          {(Object.keys(STATES) as Host["state"][])
            .filter((s) => list.some((h) => h.state === s))
            .map((s) => (
              <button
                key={s}
                type="button"
                class="chip"
                aria-pressed={state === s}
                onClick={() => setQuery({ state: state === s ? null : s })}
              >
                {STATES[s].text}{" "}
                <span class="count">{list.filter((h) => h.state === s).length}</span>
              </button>
            ))}
        </div>
      </div>
      {narrow ? (
        <ul class="cards">
          {rows.map((h) => (
            <li key={h.name} class="card">
              <h3>
                <HostLink host={h} /> <StateWord host={h} />
              </h3>
              <Facts
                items={[
                  ["seen", h.state === "imported" ? null : <Ago at={h.last_seen} />],
                  ["lost in 1 h", h.state === "imported" ? null : lostText(h)],
                  ["kernel", h.kernel],
                  ["now", <Now host={h} />],
                ]}
              />
            </li>
          ))}
        </ul>
      ) : (
        <Scroll label="Boxes">
          <table class="data">
            <thead>
              <tr>
                {head("name", "box")}
                {head(
                  "state",
                  "state",
                  false,
                  "online: seen in the last 30 s; stale: in the last 10 min",
                )}
                {head("seen", "last seen", true)}
                {head("lost", "lost (1 h)", true)}
                {head("kernel", "kernel")}
                {head("now", "now, or last run")}
                {head("runs", "runs", true)}
                <th scope="col">tags</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((h) => (
                <tr key={h.name}>
                  <th scope="row">
                    <HostLink host={h} />
                  </th>
                  <td>
                    <StateWord host={h} />
                  </td>
                  <td class="num">
                    {h.state === "imported" ? (
                      <span class="na">n/a</span>
                    ) : (
                      <Ago at={h.last_seen} />
                    )}
                  </td>
                  <td class="num">{lostText(h)}</td>
                  <td>{h.kernel ? <code>{h.kernel}</code> : <span class="na">unknown</span>}</td>
                  <td>
                    <Now host={h} />
                  </td>
                  <td class="num">{group(h.runs)}</td>
                  <td>
                    {Object.entries(h.tags).map(([k, v]) => (
                      <code class="factor" key={k}>
                        {v ? `${k}=${v}` : k}
                      </code>
                    ))}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </section>
  );
}

function HostLink({ host }: { host: Host }) {
  return <a href={`/hosts/${encodeURIComponent(host.name)}`}>{host.name}</a>;
}

export function StateWord({ host }: { host: Host }) {
  const s = STATES[host.state];
  return (
    <span class={`word tone-${s.tone}`}>
      <span aria-hidden="true">{s.symbol}</span> {s.text}
    </span>
  );
}

function lostText(h: Host) {
  if (h.state === "imported") return <span class="na">n/a</span>;
  const lost = h.lost_1h ?? 0;
  return lost > 0 ? <span class="word tone-bad">▲ {group(lost)}</span> : "0";
}

function Now({ host }: { host: Host }) {
  const r = host.last_run;
  if (!r) return <span class="na">no run yet</span>;
  return (
    <>
      <a href={`/runs/${r.id}`}>{r.id}</a>{" "}
      {r.state === "running" ? (
        <span class="badge good">running</span>
      ) : (
        <span class="muted">{r.state}</span>
      )}{" "}
      {r.experiment ?? ""}{" "}
      {r.factors && Object.keys(r.factors).length > 0 && <Factors factors={r.factors} />}
    </>
  );
}

/** Demo data is never mistaken for one's own, and goes with one click. */
export function DemoNote({ status, onGone }: { status: Status | null; onGone: () => void }) {
  const [busy, setBusy] = useState(false);
  const demo = status?.counts.demo_runs ?? 0;
  if (demo === 0) return null;
  const remove = async () => {
    setBusy(true);
    try {
      const gone = await sendJson<{ experiments: number; runs: number }>(
        "DELETE",
        `${API}/demo`,
        undefined,
      );
      toast(`Removed ${plural(gone.runs, "demo run")}.`);
      onGone();
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      toast(`Not removed: ${e.problem.title}.`);
    }
    setBusy(false);
  };
  return (
    <p class="notice row">
      <span>
        {plural(demo, "demo run")}: published kernel-list results of 2004 and 2008, entered through
        the normal importer. They count in no total of the fleet.
      </span>
      <button type="button" class="small" disabled={busy} onClick={remove}>
        Remove demo data
      </button>
    </p>
  );
}

function FirstSteps({ status }: { status: Status | null }) {
  return (
    <section class="card steps" aria-labelledby="steps-title">
      <h2 id="steps-title">Three steps to a first verdict</h2>
      <ol>
        <li>
          <h3>
            <span class="word tone-good">✓</span> The server is running
          </h3>
          <p class="muted">
            {status
              ? `rigstat-server ${status.version}, PostgreSQL ${status.database.version}.`
              : "It answers."}
          </p>
        </li>
        <li>
          <h3>
            <span class="word tone-weak">○</span> Run a first A/B on a test box
          </h3>
          <p>
            There the agent alternates a setting, measures, and sends every run here. The box
            appears on this page by itself.
          </p>
          <Command
            text={`rigstat-agent run --server ${location.origin} --experiment first \\\n  --factor rq_affinity=0,1 --tune rq_affinity=/sys/block/vda/queue/rq_affinity \\\n  --runs 10 --warmup 2s --duration 30s -- fio job.fio`}
          />
        </li>
        <li>
          <h3>
            <span class="word tone-weak">○</span> Or bring files that you have
          </h3>
          <p>
            <a href="/import">Import</a> reads cyclictest, rtla, fio, perf stat, HdrHistogram and
            plain tables. Two files under different levels are enough for a comparison.
          </p>
        </li>
      </ol>
    </section>
  );
}

function Latest() {
  const list = useApi<List<Experiment>>(`${API}/experiments?limit=6`);
  if (!list.data || list.data.items.length === 0) return null;
  return (
    <section aria-labelledby="latest-title">
      <div class="list-head">
        <h2 id="latest-title">Latest experiments</h2>
        <a href="/experiments">All experiments</a>
      </div>
      <ul class="cards">
        {list.data.items.map((e) => (
          <ExperimentCard key={e.id} e={e} />
        ))}
      </ul>
    </section>
  );
}

export function ExperimentCard({ e, level = 3 }: { e: Experiment; level?: 2 | 3 }) {
  const Title = level === 2 ? "h2" : "h3";
  return (
    <li class="card">
      <Title>
        <a href={`/experiments/${e.id}`}>{e.name}</a> {e.demo && <span class="badge">demo</span>}{" "}
        {e.runs.running > 0 && <span class="badge good">running</span>}
      </Title>
      <p>{e.factors.map((f) => `${f.name}: ${f.levels.join(" vs ")}`).join("; ") || "no factor"}</p>
      <p class="muted">
        {plural(e.runs.total, "run")}
        {e.hosts.length > 0 && ` on ${e.hosts.join(", ")}`}
      </p>
      {e.compare && (
        <p>
          <a href={tidy(e.compare)}>Compare the levels</a>
        </p>
      )}
    </li>
  );
}
