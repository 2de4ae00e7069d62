/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The boxes that were asked to carry out an experiment, how far they are, and taking it back. */

import { API, ApiError, sendJson, useApi } from "../api/client";
import type { Assignment, Experiment, List } from "../api/types";
import { fmtSpan, plural } from "../lib/format";
import { useLive } from "../live/live";
import type { Tone } from "../lib/words";
import { Ago, Scroll, Time } from "../ui/bits";
import { toast } from "../ui/toast";

const STATES: Record<
  Assignment["state"],
  { symbol: string; tone: Tone; going: boolean; text?: string }
> = {
  queued: { symbol: "…", tone: "weak", going: true, text: "waits for the box" },
  taken: { symbol: "…", tone: "weak", going: true },
  running: { symbol: "▶", tone: "good", going: true },
  paused: { symbol: "‖", tone: "mixed", going: true },
  done: { symbol: "✓", tone: "good", going: false },
  failed: { symbol: "✕", tone: "bad", going: false },
  refused: { symbol: "✕", tone: "bad", going: false },
  cancelled: { symbol: "○", tone: "mixed", going: false },
};

export function Assignments({ e }: { e: Experiment }) {
  const url = `${API}/experiments/${e.id}/assignments`;
  const list = useApi<List<Assignment>>(url);
  const items = list.data?.items ?? [];
  const going = items.some((a) => STATES[a.state].going);
  const paused = items.some((a) => a.state === "paused" || a.pause);
  useLive(`experiment:${e.id}`, list.retry);
  if (items.length === 0) return null; // started on the box itself
  const cancel = async () => {
    try {
      const r = await sendJson<{ cancelled: number }>("DELETE", url, undefined);
      toast(`${plural(r.cancelled, "box", "boxes")} told to stop; settings are put back.`);
      list.retry();
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      toast(`Not taken back: ${err.problem.detail ?? err.problem.title}`);
    }
  };
  const steer = async (state: "paused" | "running") => {
    try {
      await sendJson("PATCH", `${API}/experiments/${e.id}`, { state });
      toast(
        state === "paused"
          ? "It pauses after the present run; settings are put back meanwhile."
          : "It goes on after the runs that are done.",
      );
      list.retry();
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      toast(`Not changed: ${err.problem.detail ?? err.problem.title}`);
    }
  };
  return (
    <section aria-labelledby="asked-title">
      <div class="list-head">
        <h2 id="asked-title">Asked</h2>
        {going && (
          <span class="row">
            <button
              type="button"
              class="small"
              onClick={() => void steer(paused ? "running" : "paused")}
            >
              {paused ? "Go on" : "Pause"}
            </button>
            <button type="button" class="small" onClick={cancel}>
              Take it back
            </button>
          </span>
        )}
      </div>
      <Scroll label="Boxes that were asked">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">box</th>
              <th scope="col">state</th>
              <th scope="col">progress</th>
              <th scope="col">asked</th>
              <th scope="col">last heard</th>
              <th scope="col">says</th>
            </tr>
          </thead>
          <tbody>
            {items.map((a) => {
              const s = STATES[a.state];
              return (
                <tr key={a.id}>
                  <th scope="row">
                    <a href={`/hosts/${encodeURIComponent(a.host)}`}>{a.host}</a>
                  </th>
                  <td>
                    <span class={`word tone-${s.tone}`}>
                      <span aria-hidden="true">{s.symbol}</span> {s.text ?? a.state}
                    </span>
                    {a.cancel && s.going && <span class="caution">is being taken back</span>}
                    {a.pause && a.state === "running" && (
                      <span class="caution">pauses after the present run</span>
                    )}
                    {a.waits_for && <span class="caution">{a.waits_for}</span>}
                  </td>
                  <td>
                    <HowFar a={a} />
                  </td>
                  <td class="nowrap">
                    <Time at={a.created} />
                  </td>
                  <td class="nowrap">
                    <Ago at={a.seen} />
                  </td>
                  <td>{a.text && <pre class="says">{a.text}</pre>}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </section>
  );
}

/** Runs that are done, and the time left in the agent's own reckoning. */
function HowFar({ a }: { a: Assignment }) {
  const p = a.progress;
  if (!p?.total) return <span class="na">not begun</span>;
  const done = (p.ok ?? 0) + (p.failed ?? 0);
  return (
    <>
      <progress max={p.total} value={done} aria-label={`${done} of ${p.total} runs`} /> {done} / {p.total}
      {(p.failed ?? 0) > 0 && <span class="caution">{p.failed} failed</span>}
      {a.state === "running" && p.cell && (
        <span class="caution">
          run {p.order}: {p.cell}
        </span>
      )}
      {STATES[a.state].going && p.left_ns ? (
        <span class="caution">about {fmtSpan(p.left_ns)} left</span>
      ) : null}
    </>
  );
}
