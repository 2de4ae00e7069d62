/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /settings: who may do what, what is worth caring about, how long data stay, the demo. */

import { useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { Better, List, MetricItem, Status } from "../api/types";
import { fmt, fmtBytes, group } from "../lib/format";
import { betterText } from "../lib/words";
import { Access } from "../ui/Access";
import { toast } from "../ui/toast";
import { Facts, Heading, Scroll, Show, Time, useTitle } from "../ui/bits";
import { DemoNote } from "./Fleet";

export function SettingsPage() {
  useTitle("Settings");
  const status = useApi<Status>(`${API}/status`);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Settings</Heading>
          <p class="sub">They hold for everybody who uses this server.</p>
        </div>
        <div class="actions">
          <a class="button" href="/about">
            About this server
          </a>
        </div>
      </header>
      <DemoNote status={status.data} onGone={status.retry} />
      <Access />
      <Storage status={status.data} />
      <Metrics />
    </>
  );
}

/** Ages are options of the server's start, so that no page can shorten them by mistake. */
function Storage({ status }: { status: Status | null }) {
  return (
    <section aria-labelledby="storage-title">
      <h2 id="storage-title">How long data stay</h2>
      <p class="muted">
        Ages are given when the server starts: <code>--keep-days</code> for single intervals,{" "}
        <code>--keep-minutes</code> for minutes, <code>--keep-runs</code> for whole runs. What a pinned
        comparison names stays whole.
      </p>
      {status && (
        <Facts
          items={[
            ["database", fmtBytes(status.database.bytes)],
            ["runs", group(status.counts.runs ?? 0)],
            [
              "waiting to be packed",
              status.staging
                ? `${group(status.staging.rows)} batches, ${fmtBytes(status.staging.bytes)}`
                : null,
            ],
            ["as of", <Time at={status.now} seconds />],
          ]}
        />
      )}
    </section>
  );
}

function Metrics() {
  const metrics = useApi<List<MetricItem>>(`${API}/metrics-catalog`);
  const [all, setAll] = useState(false);
  // The catalogue is long; what this lab has never measured is asked for.
  const isShown = (m: MetricItem) => all || m.runs > 0 || m.edited;
  return (
    <section aria-labelledby="metrics-title">
      <h2 id="metrics-title">Metrics</h2>
      <p class="muted">
        Which way is better, and how large a change is worth caring about. A verdict uses these
        unless a comparison says otherwise.
      </p>
      <Show from={metrics} what="metrics">
        {(list) => (
          <>
            <Scroll label="Metrics">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col">metric</th>
                    <th scope="col">unit</th>
                    <th scope="col">better</th>
                    <th scope="col" class="num">
                      margin
                    </th>
                    <th scope="col">decided by</th>
                    <th scope="col" class="num">
                      runs
                    </th>
                    <th scope="col">meaning</th>
                    <th scope="col">change</th>
                  </tr>
                </thead>
                <tbody>
                  {list.items.filter(isShown).map((m) => (
                    <MetricRow key={m.name} m={m} onSaved={metrics.retry} />
                  ))}
                </tbody>
              </table>
            </Scroll>
            {!all && list.items.some((m) => !isShown(m)) && (
              <button type="button" onClick={() => setAll(true)}>
                Show all {list.items.length} metrics
              </button>
            )}
          </>
        )}
      </Show>
    </section>
  );
}

const BETTER: readonly Better[] = ["lower", "higher", "none"];

function MetricRow({ m, onSaved }: { m: MetricItem; onSaved: () => void }) {
  const [edit, setEdit] = useState<{ better: Better; margin: string; primary: string } | null>(
    null,
  );
  const save = async (e: Event) => {
    e.preventDefault();
    if (!edit) return;
    try {
      await sendJson("PATCH", `${API}/metrics-catalog/${encodeURIComponent(m.name)}`, {
        better: edit.better,
        margin_rel: Number(edit.margin) / 100,
        primary: edit.primary,
      });
      toast(`${m.title || m.name}: comparisons use this from now on; pins stay as they are.`);
      setEdit(null);
      onSaved();
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      toast(`Not changed: ${err.problem.detail ?? err.problem.title}`);
    }
  };
  const form = `edit-${m.name}`;
  return (
    <tr>
      <th scope="row">
        {m.title || m.name}
        <br />
        <code class="muted">{m.name}</code>
      </th>
      <td>{m.unit}</td>
      <td>
        {edit ? (
          <select
            form={form}
            aria-label="Which way is better"
            value={edit.better}
            onChange={(e) => setEdit({ ...edit, better: e.currentTarget.value as Better })}
          >
            {BETTER.map((b) => (
              <option key={b} value={b}>
                {betterText(b)}
              </option>
            ))}
          </select>
        ) : (
          <>
            {betterText(m.better)} {m.edited && <span class="badge">edited</span>}
          </>
        )}
      </td>
      <td class="num">
        {edit ? (
          <>
            <input
              form={form}
              class="short"
              type="number"
              aria-label="Margin in percent"
              min="0"
              max="1000"
              step="any"
              value={edit.margin}
              required
              onInput={(e) => setEdit({ ...edit, margin: e.currentTarget.value })}
            />{" "}
            %
          </>
        ) : (
          fmt(m.margin_rel * 100, "%")
        )}
      </td>
      <td>
        {edit ? (
          <input
            form={form}
            class="short"
            type="text"
            aria-label="Statistic that decides"
            value={edit.primary}
            required
            onInput={(e) => setEdit({ ...edit, primary: e.currentTarget.value.trim() })}
          />
        ) : (
          m.primary
        )}
      </td>
      <td class="num">{group(m.runs)}</td>
      <td>{m.description}</td>
      <td class="nowrap">
        {edit ? (
          <form id={form} onSubmit={save}>
            <button class="small">Save</button>{" "}
            <button type="button" class="small" onClick={() => setEdit(null)}>
              Cancel
            </button>
          </form>
        ) : (
          <button
            type="button"
            class="small"
            aria-label={`Change ${m.title || m.name}`}
            onClick={() =>
              setEdit({
                better: m.better,
                margin: String(Number((m.margin_rel * 100).toPrecision(6))),
                primary: m.primary,
              })
            }
          >
            Change
          </button>
        )}
      </td>
    </tr>
  );
}
