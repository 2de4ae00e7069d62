/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /changes and /changes/{id}: what changed, and what people decided. */

import { useState } from "preact/hooks";
import { API, ApiError, request, useApi } from "../api/client";
import type { Change, ChangeList } from "../api/types";
import { fmtRel, fmtShare, plural } from "../lib/format";
import { setQuery, usePlace } from "../lib/router";
import { encodeValue, one } from "../lib/urlstate";
import { Empty, Facts, Heading, Num, Pager, Scroll, Show, Time, useTitle } from "../ui/bits";
import { useMore } from "./Runs";

const STATES = ["new", "reopened", "confirmed", "accepted", "ignored", "fixed", "withdrawn"] as const;
const REASONS = ["noise", "environment", "duplicate", "unimportant"] as const;

export function ChangesPage() {
  useTitle("Changes");
  const { query } = usePlace();
  const state = one(query, "state");
  const url = `${API}/changes${state ? `?state=${encodeValue(state)}` : ""}`;
  const list = useApi<ChangeList>(url);
  const more = useMore<Change>(list.data, url);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Changes</Heading>
          <p class="sub">Level shifts that were found after runs, one for a box and place, over all its series.</p>
        </div>
        <div class="actions">
          <label>
            State{" "}
            <select value={state} onChange={(e) => setQuery({ state: e.currentTarget.value || null })}>
              <option value="">all but withdrawn</option>
              {STATES.map((s) => (
                <option key={s} value={s}>
                  {s}
                </option>
              ))}
            </select>
          </label>
        </div>
      </header>
      <Show from={list} what="changes">
        {(first) => {
          const rows = [...first.items, ...more.items];
          const triage = first.triage;
          if (rows.length === 0)
            return (
              <Empty title={state ? `No change is ${state}` : "No change is known"}>
                <p>Each finished run is looked at with the history of its box: at least 20 runs are needed.</p>
              </Empty>
            );
          return (
            <>
              {triage && triage.precision !== null && (
                <p>
                  {fmtShare(triage.precision)} of the {plural(triage.real + triage.noise, "alert")} that people judged
                  were real.
                </p>
              )}
              <Scroll label="Changes">
                <table class="data">
                  <thead>
                    <tr>
                      <th scope="col">Change</th>
                      <th scope="col">State</th>
                      <th scope="col">What</th>
                      <th scope="col">Since</th>
                      <th scope="col">Owner</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((c) => (
                      <tr key={c.id}>
                        <th scope="row">
                          <a href={`/changes/${c.id}`}>{c.id}</a>
                        </th>
                        <td>{c.state}</td>
                        <td>{c.sentence}</td>
                        <td>
                          <Time at={c.at} />
                        </td>
                        <td>{c.owner ?? <span class="na">nobody</span>}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
              <Pager next={more.next} shown={rows.length} onMore={more.load} busy={more.busy} />
            </>
          );
        }}
      </Show>
    </>
  );
}

function Triage({ change, onDone }: { change: Change; onDone: () => void }) {
  const [error, setError] = useState("");
  const send = (form: HTMLFormElement, state: string) => {
    const text = (name: string) => String(new FormData(form).get(name) ?? "");
    const body: Record<string, string> = { state };
    for (const name of ["note", "owner", "by"]) if (text(name)) body[name] = text(name);
    if (state === "ignored") body.reason = text("reason");
    request(`${API}/changes/${change.id}`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }).then(
      () => {
        setError("");
        onDone();
      },
      (e: unknown) => {
        if (!(e instanceof ApiError)) throw e;
        setError(e.problem.detail ?? e.problem.title);
      },
    );
  };
  return (
    <form class="flow-row" onSubmit={(e) => e.preventDefault()}>
      <label>
        Note <input name="note" value={change.note ?? ""} size={30} />
      </label>
      <label>
        Owner <input name="owner" value={change.owner ?? ""} size={10} />
      </label>
      <label>
        Your name <input name="by" size={10} />
      </label>
      <button type="button" onClick={(e) => send(e.currentTarget.form!, "accepted")}>
        Accept: the new baseline
      </button>
      <button type="button" onClick={(e) => send(e.currentTarget.form!, "confirmed")}>
        Confirm
      </button>
      <label>
        Reason{" "}
        <select name="reason">
          {REASONS.map((r) => (
            <option key={r} value={r}>
              {r}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={(e) => send(e.currentTarget.form!, "ignored")}>
        Ignore
      </button>
      {error && (
        <p class="notice warn" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}

export function ChangePage({ id }: { id: string }) {
  const doc = useApi<Change>(`${API}/changes/${id}`);
  useTitle(`Change ${id}`);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Change {id}</Heading>
        </div>
      </header>
      <Show from={doc} what="change">
        {(c) => (
          <>
            <p class="lead">{c.sentence}.</p>
            <Facts
              items={[
                ["State", c.reason ? `${c.state}: ${c.reason}` : c.state],
                ["Box", <a href={`/hosts/${encodeURIComponent(c.host)}`}>{c.host}</a>],
                ["Since", <Time at={c.at} />],
                ["Issue", c.issue ?? "none"],
                ["Evidence", c.links.compare ? <a href={c.links.compare}>Compare before and after</a> : "none"],
              ]}
            />
            <Triage change={c} onDone={doc.retry} />
            <h2>In these series</h2>
            <Scroll label="Series of the change">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col">Series</th>
                    <th scope="col" class="num">
                      Before
                    </th>
                    <th scope="col" class="num">
                      After
                    </th>
                    <th scope="col">Reading</th>
                    <th scope="col">Between</th>
                    <th scope="col">Back at</th>
                  </tr>
                </thead>
                <tbody>
                  {c.members.map((m) => (
                    <tr key={m.series}>
                      <th scope="row">
                        <a href={`/trends/${m.series}`}>
                          {m.stat} of {m.title}
                        </a>
                      </th>
                      <td class="num">
                        <Num v={m.before} unit={m.unit} />
                      </td>
                      <td class="num">
                        <Num v={m.after} unit={m.unit} />
                      </td>
                      <td>
                        {m.direction} {fmtRel(m.rel)}
                      </td>
                      <td>
                        {m.from_version ?? "n/a"} and <a href={`/runs/${m.first_after}`}>{m.to_version ?? m.first_after}</a>
                      </td>
                      <td>{m.fixed ? <a href={`/runs/${m.fixed}`}>{m.fixed}</a> : <span class="na">not yet</span>}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </Scroll>
            {c.annotations && c.annotations.length > 0 && (
              <>
                <h2>What else changed then</h2>
                <ul>
                  {c.annotations.map((a) => (
                    <li key={a.id}>
                      <Time at={a.from} /> {a.text}
                    </li>
                  ))}
                </ul>
              </>
            )}
            <h2>History</h2>
            <ol>
              {(c.events ?? []).map((e) => (
                <li key={e.at}>
                  <Time at={e.at} seconds /> {e.who}: {e.to}
                  {e.text && ` (${e.text})`}
                </li>
              ))}
            </ol>
          </>
        )}
      </Show>
    </>
  );
}
