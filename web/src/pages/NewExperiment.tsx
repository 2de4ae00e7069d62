/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks boxes to carry out an experiment. A box accepts names from its own lists only, so this form
 * has no place for a path or a command. */

import { useMemo, useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi, type Problem } from "../api/client";
import type { Host, HostList } from "../api/types";
import { fmtSpan, plural } from "../lib/format";
import { navigate } from "../lib/router";
import { Command, Heading, Show, useTitle } from "../ui/bits";
import { askOf, cellsOf, commandOf, emptyPlan, spanOf, type Factor, type Plan } from "./plan";

export function NewExperiment() {
  useTitle("New experiment");
  const hosts = useApi<HostList>(`${API}/hosts?limit=1000`);
  const [plan, setPlan] = useState<Plan>(emptyPlan);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (p: Partial<Plan>) => setPlan({ ...plan, ...p });
  const ask = useMemo(() => askOf(plan), [plan]);

  const send = async (e: Event) => {
    e.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const made = await sendJson<{ id: string }>("POST", `${API}/experiments`, ask);
      navigate(`/experiments/${made.id}`);
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      setProblem(err.problem);
    }
    setBusy(false);
  };
  const total = cellsOf(plan) * plan.runs;

  return (
    <>
      <header class="page-head">
        <div>
          <Heading>New experiment</Heading>
          <p class="sub">
            A box alternates the levels, measures each run, and puts every setting back.
          </p>
        </div>
      </header>
      <form class="flow" onSubmit={send}>
        <div class="card import-options">
          <label>
            Name
            <input
              type="text"
              required
              maxLength={100}
              value={plan.name}
              placeholder="rq_affinity on olab-12"
              onInput={(e) => change({ name: e.currentTarget.value })}
            />
          </label>
          <label>
            Workload, a name of the box's list
            <input
              type="text"
              value={plan.workload}
              placeholder="none: the idle box"
              onInput={(e) => change({ workload: e.currentTarget.value.trim() })}
            />
          </label>
          <NumberField
            label="Runs of each combination"
            value={plan.runs}
            min={1}
            onChange={(runs) => change({ runs })}
          />
          <NumberField
            label="Warm-up, seconds"
            value={plan.warmup}
            min={0}
            onChange={(warmup) => change({ warmup })}
          />
          <NumberField
            label="Measured, seconds"
            value={plan.duration}
            min={1}
            onChange={(duration) => change({ duration })}
          />
          <label>
            Order
            <select
              value={plan.order}
              onChange={(e) => change({ order: e.currentTarget.value as Plan["order"] })}
            >
              <option value="abba">A B, B A, … (drift cancels)</option>
              <option value="alternate">A B, A B, …</option>
              <option value="random">shuffled in each block</option>
              <option value="sequential">all A, then all B</option>
            </select>
          </label>
          <label>
            When a run fails
            <select
              value={plan.onFailure}
              onChange={(e) => change({ onFailure: e.currentTarget.value as Plan["onFailure"] })}
            >
              <option value="stop">stop</option>
              <option value="continue">continue</option>
            </select>
          </label>
          <label>
            Network while measuring
            <select
              value={plan.quiet ? "quiet" : "stream"}
              onChange={(e) => change({ quiet: e.currentTarget.value === "quiet" })}
            >
              <option value="stream">send every second</option>
              <option value="quiet">hold back until the window is over</option>
            </select>
          </label>
        </div>
        {plan.order === "sequential" && (
          <p class="notice warn">
            All A, then all B: what drifts with time cannot be told from what the factor does. The
            verdict will be "unclear" for that reason.
          </p>
        )}
        <Factors list={plan.factors} onChange={(factors) => change({ factors })} />
        <section aria-labelledby="boxes-title">
          <h2 id="boxes-title">Boxes</h2>
          <Show from={hosts} what="boxes">
            {(list) => (
              <Boxes list={list.items} chosen={plan.hosts} onChange={(h) => change({ hosts: h })} />
            )}
          </Show>
        </section>
        <p>
          <strong>{plural(total, "run")}</strong> on each of{" "}
          {plural(plan.hosts.length, "box", "boxes")}: {plural(cellsOf(plan), "combination")} ×{" "}
          {plural(plan.runs, "run")}, at least {fmtSpan(spanOf(plan) * 1e9)}.
        </p>
        {problem && (
          <div class="problem" role="alert">
            <p>
              <strong>{problem.title}.</strong> {problem.detail}
            </p>
            {problem.hint && <p class="hint">{problem.hint}</p>}
          </div>
        )}
        <p>
          <button
            class="primary"
            disabled={busy || plan.hosts.length === 0 || plan.name.trim() === ""}
          >
            Ask {plan.hosts.length === 0 ? "a box" : plan.hosts.join(", ")}
          </button>
        </p>
        <details class="card panel">
          <summary>The same from a shell</summary>
          <p>On the box:</p>
          <Command text={commandOf(plan, location.origin)} />
          <p>Through this server:</p>
          <Command
            text={`curl -s ${location.origin}${API}/experiments -H 'Content-Type: application/json' -d '${JSON.stringify(ask).replace(/'/g, "'\\''")}'`}
          />
        </details>
      </form>
    </>
  );
}

function NumberField({
  label,
  value,
  min,
  onChange,
}: {
  label: string;
  value: number;
  min: number;
  onChange: (v: number) => void;
}) {
  return (
    <label>
      {label}
      <input
        type="number"
        min={min}
        step="any"
        value={String(value)}
        required
        onInput={(e) => readNumber(e.currentTarget, onChange)}
      />
    </label>
  );
}

function readNumber(input: HTMLInputElement, onChange: (v: number) => void): void {
  if (!Number.isNaN(input.valueAsNumber)) onChange(input.valueAsNumber);
}

function Factors({ list, onChange }: { list: Factor[]; onChange: (f: Factor[]) => void }) {
  const set = (i: number, f: Partial<Factor>) =>
    onChange(list.map((x, k) => (k === i ? { ...x, ...f } : x)));
  return (
    <section aria-labelledby="factors-title">
      <h2 id="factors-title">Factors</h2>
      {list.map((f, i) => (
        <div class="card import-options" key={i}>
          <label>
            Factor
            <input
              type="text"
              required
              value={f.name}
              placeholder="rq_affinity"
              onInput={(e) => set(i, { name: e.currentTarget.value.trim() })}
            />
          </label>
          <label>
            Levels, separated by commas
            <input
              type="text"
              required
              value={f.levels}
              placeholder="0, 1"
              onInput={(e) => set(i, { levels: e.currentTarget.value })}
            />
          </label>
          <label>
            Tunable of the box
            <input
              type="text"
              value={f.tune}
              placeholder="none: a label for the workload"
              onInput={(e) => set(i, { tune: e.currentTarget.value.trim() })}
            />
          </label>
          {list.length > 1 && (
            <p>
              <button
                type="button"
                class="small"
                onClick={() => onChange(list.filter((_, k) => k !== i))}
              >
                Remove {f.name || "this factor"}
              </button>
            </p>
          )}
        </div>
      ))}
      {list.length < 8 && (
        <button
          type="button"
          class="small"
          onClick={() => onChange([...list, { name: "", levels: "", tune: "" }])}
        >
          + factor
        </button>
      )}
    </section>
  );
}

function Boxes({
  list,
  chosen,
  onChange,
}: {
  list: readonly Host[];
  chosen: string[];
  onChange: (hosts: string[]) => void;
}) {
  const boxes = list.filter((h) => h.state !== "imported");
  if (boxes.length === 0)
    return (
      <p class="muted">
        No box has reported yet; its daemon is started with{" "}
        <code>rigstat-agent daemon --server {location.origin}</code>.
      </p>
    );
  return (
    <ul class="chips">
      {boxes.map((h) => (
        <li key={h.name}>
          <label class="inline">
            <input
              type="checkbox"
              checked={chosen.includes(h.name)}
              onChange={(e) =>
                onChange(
                  e.currentTarget.checked
                    ? [...chosen, h.name]
                    : chosen.filter((c) => c !== h.name),
                )
              }
            />{" "}
            {h.name} ({h.state})
          </label>
        </li>
      ))}
    </ul>
  );
}
