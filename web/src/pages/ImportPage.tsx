/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /import: drop files or paste text, see what they would become, import, undo. */

import { useRef, useState } from "preact/hooks";
import { API, ApiError, request, sendJson, useApi, type Problem } from "../api/client";
import type { Import, List } from "../api/types";
import { pageUrl } from "../compare/state";
import { fmtBytes, group, plural } from "../lib/format";
import { quoteValue, runsSelector } from "../lib/selector";
import { formatQuery } from "../lib/urlstate";
import { Empty, Factors, Heading, Pager, Scroll, Show, Time, useTitle } from "../ui/bits";
import { toast } from "../ui/toast";
import { useMore } from "./Runs";

interface Options {
  experiment: string;
  host: string;
  boot: string;
  format: string;
  unit: string;
  metric: string;
}

interface Item {
  key: number;
  name: string;
  bytes: Blob;
  set: string; // "factor=level, factor=level": every file has its own
  report: Import | null;
  problem: Problem | null;
  done: boolean;
  busy: boolean;
}

let nextKey = 1;

export function ImportPage() {
  useTitle("Import");
  const [items, setItems] = useState<Item[]>([]);
  const [options, setOptions] = useState<Options>({
    experiment: "",
    host: "",
    boot: "",
    format: "",
    unit: "",
    metric: "",
  });
  const [over, setOver] = useState(false);
  const [pasted, setPasted] = useState("");
  const fileRef = useRef<HTMLInputElement>(null);
  const history = useApi<List<Import>>(`${API}/imports`);

  const patch = (key: number, change: Partial<Item>) =>
    setItems((list) => list.map((i) => (i.key === key ? { ...i, ...change } : i)));
  const send = async (item: Item, o: Options, dry: boolean) => {
    patch(item.key, { busy: true });
    try {
      const response = await request(importUrl(item, o, dry), {
        method: "POST",
        body: item.bytes,
        headers: { "Content-Type": "application/octet-stream" },
      });
      const report = (await response.json()) as Import;
      patch(item.key, { report, problem: null, busy: false, done: !dry });
      if (!dry) history.retry();
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      patch(item.key, { problem: e.problem, report: null, busy: false });
    }
  };
  const add = (list: readonly { name: string; bytes: Blob }[]) => {
    const made = list.map(
      (f): Item => ({
        key: nextKey++,
        name: f.name,
        bytes: f.bytes,
        set: guessLevel(f.name),
        report: null,
        problem: null,
        done: false,
        busy: false,
      }),
    );
    setItems((old) => [...old, ...made]);
    for (const item of made) void send(item, options, true);
  };
  const addFiles = (files: FileList | null | undefined) =>
    add([...(files ?? [])].map((f) => ({ name: f.name, bytes: f })));
  const change = (o: Partial<Options>) => {
    const next = { ...options, ...o };
    setOptions(next);
    for (const item of items) if (!item.done) void send(item, next, true);
  };
  const open = items.filter((i) => !i.done && i.report);
  const importAll = async () => {
    for (const item of open) await send(item, options, false);
  };

  return (
    <>
      <header class="page-head">
        <div>
          <Heading>Import</Heading>
          <p class="sub">
            Results that you have become runs. Nothing is stored before you have seen what was read.
          </p>
        </div>
      </header>
      <div
        class={`drop ${over ? "over" : ""}`}
        onDragOver={(e) => {
          e.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(e) => {
          e.preventDefault();
          setOver(false);
          addFiles(e.dataTransfer?.files);
        }}
      >
        <p>
          <strong>Drop files here</strong> or{" "}
          <button type="button" onClick={() => fileRef.current?.click()}>
            choose files
          </button>
        </p>
        <input
          ref={fileRef}
          type="file"
          multiple
          class="sr-only"
          aria-label="Files to import"
          tabIndex={-1}
          onChange={(e) => {
            addFiles(e.currentTarget.files);
            e.currentTarget.value = "";
          }}
        />
        <details>
          <summary>or paste text</summary>
          <textarea
            aria-label="Text to import"
            rows={6}
            value={pasted}
            onInput={(e) => setPasted(e.currentTarget.value)}
            placeholder={"Delay   Count\n-----   -----\n6       2257\n7       3210"}
          />
          <p>
            <button
              type="button"
              disabled={pasted.trim() === ""}
              onClick={() => {
                add([{ name: "pasted.txt", bytes: new Blob([pasted]) }]);
                setPasted("");
              }}
            >
              Read the text
            </button>
          </p>
        </details>
        <Formats />
      </div>
      <OptionsForm options={options} onChange={change} />
      {items.length > 0 && (
        <section aria-labelledby="read-title">
          <div class="list-head">
            <h2 id="read-title">What was read</h2>
            <button
              type="button"
              class="primary"
              disabled={open.length === 0 || items.some((i) => i.busy)}
              onClick={importAll}
            >
              Import {plural(open.length, "file")}
            </button>
          </div>
          <ul class="imports">
            {items.map((i) => (
              <ItemCard
                key={i.key}
                item={i}
                onSet={(set) => {
                  const next = { ...i, set };
                  patch(i.key, { set });
                  void send(next, options, true);
                }}
                onRemove={() => setItems(items.filter((x) => x.key !== i.key))}
                onUndone={() => {
                  setItems(items.filter((x) => x.key !== i.key));
                  history.retry();
                }}
              />
            ))}
          </ul>
          <Next items={items} experiment={options.experiment} />
        </section>
      )}
      <History from={history} />
    </>
  );
}

function importUrl(item: Item, o: Options, dry: boolean): string {
  const params = new Map<string, readonly string[]>();
  if (dry) params.set("dry_run", ["1"]);
  params.set("source", [item.name]);
  const sets = item.set
    .split(",")
    .map((s) => s.trim())
    .filter((s) => s.includes("="));
  if (sets.length > 0) params.set("set", sets);
  for (const [k, v] of Object.entries(o)) if (v) params.set(k, [v as string]);
  return `${API}/imports${formatQuery(params)}`;
}

/** "iozone-64.txt" probably means level 64; the name of the factor is the person's to give. */
function guessLevel(name: string): string {
  const m = /([A-Za-z_][A-Za-z0-9_]*)=([^.,\s]+)/.exec(name);
  return m ? `${m[1]}=${m[2]}` : "";
}

function Formats() {
  const formats = useApi<{ items: { name: string; title: string }[] }>(`${API}/imports/formats`);
  if (!formats.data) return null;
  return (
    <details>
      <summary>
        {plural(formats.data.items.length, "format")} are recognised by their content
      </summary>
      <ul class="formats">
        {formats.data.items.map((f) => (
          <li key={f.name}>
            <strong>{f.name}</strong> {f.title}
          </li>
        ))}
      </ul>
    </details>
  );
}

function OptionsForm({
  options,
  onChange,
}: {
  options: Options;
  onChange: (o: Partial<Options>) => void;
}) {
  const formats = useApi<{ items: { name: string; title: string }[] }>(`${API}/imports/formats`);
  const text = (name: "experiment" | "host" | "boot" | "metric", label: string, placeholder: string) => (
    <label>
      {label}
      <input
        type="text"
        value={options[name]}
        placeholder={placeholder}
        onChange={(e) => onChange({ [name]: e.currentTarget.value.trim() })}
      />
    </label>
  );
  return (
    <form
      class="card import-options"
      aria-label="For all files"
      onSubmit={(e) => e.preventDefault()}
    >
      {text("experiment", "Experiment", "groups the files; made when new")}
      {text("host", "Box", "where it was measured")}
      {text("boot", "Boot", "any name; kernels are judged over boots")}
      <label>
        Format
        <select
          value={options.format}
          onChange={(e) => onChange({ format: e.currentTarget.value })}
        >
          <option value="">detect</option>
          {(formats.data?.items ?? []).map((f) => (
            <option key={f.name} value={f.name}>
              {f.title}
            </option>
          ))}
        </select>
      </label>
      <label>
        Unit of the values
        <select value={options.unit} onChange={(e) => onChange({ unit: e.currentTarget.value })}>
          <option value="">as the file says</option>
          <option value="ns">ns</option>
          <option value="us">µs</option>
          <option value="ms">ms</option>
          <option value="s">s</option>
        </select>
      </label>
      {text("metric", "Metric", "as the file says")}
    </form>
  );
}

function ItemCard({
  item,
  onSet,
  onRemove,
  onUndone,
}: {
  item: Item;
  onSet: (set: string) => void;
  onRemove: () => void;
  onUndone: () => void;
}) {
  const r = item.report;
  return (
    <li class="card">
      <div class="list-head">
        <h3>
          {item.name} <span class="muted">{fmtBytes(item.bytes.size)}</span>{" "}
          {item.done ? (
            <span class="badge good">{r?.already ? "was here already" : "imported"}</span>
          ) : item.busy ? (
            <span class="badge weak">reading</span>
          ) : item.problem ? (
            <span class="badge bad">not readable</span>
          ) : (
            <span class="badge">dry run</span>
          )}
        </h3>
        <div class="row">
          {item.done && r?.id && !r.already && <Undo id={r.id} onUndone={onUndone} />}
          {!item.done && (
            <button type="button" class="small" onClick={onRemove}>
              Leave out
            </button>
          )}
        </div>
      </div>
      {!item.done && (
        <label class="set">
          Setting of this file
          <input
            type="text"
            value={item.set}
            placeholder="max_sectors_kb=64"
            onChange={(e) => onSet(e.currentTarget.value.trim())}
          />
        </label>
      )}
      {item.problem && (
        <div class="problem" role="alert">
          <p>
            <strong>{item.problem.title}.</strong> {item.problem.detail}
          </p>
          {item.problem.hint && <p class="hint">{item.problem.hint}</p>}
        </div>
      )}
      {r && <Report r={r} done={item.done} />}
    </li>
  );
}

function Report({ r, done }: { r: Import; done: boolean }) {
  const fresh = r.runs.filter((x) => !x.already).length;
  return (
    <>
      <p>
        Read as <strong>{r.format}</strong>: {plural(r.runs.length, "run")}
        {fresh < r.runs.length && `, ${r.runs.length - fresh} of them already here`}.
      </p>
      <Scroll label="Runs that were read">
        <table class="data">
          <tbody>
            {r.runs.slice(0, 50).map((x, i) => (
              <tr key={i}>
                <th scope="row">
                  {x.id ? (
                    <a href={`/runs/${x.id}`}>{x.id}</a>
                  ) : (
                    <span class="muted">run {i + 1}</span>
                  )}
                </th>
                <td>
                  <Factors factors={x.factors} />
                </td>
                <td>
                  {x.metrics
                    .map(
                      (m) =>
                        `${m.metric} (${m.unit})${m.count !== null && m.count !== undefined ? `: ${plural(m.count, "sample")}` : m.n ? `: ${m.n} runs` : ""}`,
                    )
                    .join(", ")}
                </td>
                <td class="muted">
                  {x.already && `${done ? "" : "would be "}the same run; `}
                  {x.notes.map((n) => n.text).join("; ")}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {r.runs.length > 50 && <p class="muted">and {group(r.runs.length - 50)} more</p>}
    </>
  );
}

function Undo({ id, onUndone }: { id: string; onUndone: () => void }) {
  const undo = async () => {
    try {
      await sendJson("DELETE", `${API}/imports/${id}`, undefined);
      toast("Undone: the import and its runs are gone.");
      onUndone();
    } catch (e) {
      if (!(e instanceof ApiError)) throw e;
      toast(`Not undone: ${e.problem.detail ?? e.problem.title}`);
    }
  };
  return (
    <button type="button" class="small" onClick={undo}>
      Undo
    </button>
  );
}

/** After the import: straight to the comparison. */
function Next({ items, experiment }: { items: readonly Item[]; experiment: string }) {
  const runs = items.filter((i) => i.done).flatMap((i) => i.report?.runs ?? []);
  const groups = new Map<string, string[]>();
  for (const r of runs) {
    if (!r.id) continue;
    const key = Object.entries(r.factors)
      .map(([k, v]) => `${k}=${quoteValue(v)}`)
      .join(",");
    groups.set(key, [...(groups.get(key) ?? []), r.id]);
  }
  if (groups.size < 2 || groups.size > 6)
    return runs.length > 0 ? (
      <p class="muted">Import files of another setting to compare.</p>
    ) : null;
  const selectors = [...groups.entries()].map(([key, ids]) =>
    key && experiment ? `experiment=${quoteValue(experiment)},${key}` : runsSelector(ids),
  );
  return (
    <p>
      <a class="button primary" href={pageUrl(selectors[0]!, selectors.slice(1))}>
        Compare {[...groups.keys()].map((k) => k || "the rest").join(" vs ")}
      </a>
    </p>
  );
}

function History({ from }: { from: ReturnType<typeof useApi<List<Import>>> }) {
  const more = useMore<Import>(from.data, `${API}/imports`);
  return (
    <section aria-labelledby="history-title">
      <h2 id="history-title">Imported before</h2>
      <Show from={from} what="imports">
        {(list) => {
          const rows = [...list.items, ...more.items];
          return rows.length === 0 ? (
            <Empty title="Nothing imported yet" />
          ) : (
            <>
              <Scroll label="Imports">
                <table class="data">
                  <thead>
                    <tr>
                      <th scope="col">import</th>
                      <th scope="col">file</th>
                      <th scope="col">format</th>
                      <th scope="col">experiment</th>
                      <th scope="col">runs</th>
                      <th scope="col">when</th>
                      <th scope="col">undo</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((i) => (
                      <tr key={i.id} id={i.id ?? undefined}>
                        <th scope="row">{i.id}</th>
                        <td>
                          <a
                            href={`${API}/imports/${i.id}/bytes`}
                            download={i.source ?? `${i.id}.bin`}
                          >
                            {i.source ?? "file"}
                          </a>{" "}
                          <span class="muted">{fmtBytes(i.bytes)}</span>
                        </td>
                        <td>{i.format}</td>
                        <td>{i.experiment}</td>
                        <td>
                          {i.runs.slice(0, 4).map((r) => (
                            <a key={r.id} class="factor" href={`/runs/${r.id}`}>
                              {r.id}
                            </a>
                          ))}
                          {i.runs.length > 4 && (
                            <span class="muted"> and {i.runs.length - 4} more</span>
                          )}
                        </td>
                        <td class="nowrap">
                          <Time at={i.created} />
                        </td>
                        <td>{i.id && <Undo id={i.id} onUndone={from.retry} />}</td>
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
    </section>
  );
}
