/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan of a new experiment: what the form holds, and what is asked of the server. Pure. */

export interface Factor {
  name: string;
  levels: string; // as typed: "0, 1"
  tune: string; // "" = a label for the workload
}

export interface Plan {
  name: string;
  hosts: string[];
  factors: Factor[];
  runs: number;
  warmup: number; // s
  duration: number; // s
  order: "abba" | "alternate" | "random" | "sequential";
  workload: string;
  onFailure: "stop" | "continue";
  quiet: boolean;
}

export function emptyPlan(): Plan {
  return {
    name: "",
    hosts: [],
    factors: [{ name: "", levels: "", tune: "" }],
    runs: 10,
    warmup: 2,
    duration: 30,
    order: "abba",
    workload: "",
    onFailure: "stop",
    quiet: false,
  };
}

export function levelsOf(f: Factor): string[] {
  return f.levels
    .split(",")
    .map((l) => l.trim())
    .filter((l) => l !== "");
}

function named(p: Plan): Factor[] {
  return p.factors.filter((f) => f.name !== "");
}

export function cellsOf(p: Plan): number {
  return named(p).reduce((n, f) => n * Math.max(1, levelsOf(f).length), 1);
}

/** Seconds on one box, without what starting and stopping takes. */
export function spanOf(p: Plan): number {
  return cellsOf(p) * p.runs * (p.warmup + p.duration);
}

export function askOf(p: Plan): Record<string, unknown> {
  return {
    name: p.name.trim(),
    hosts: p.hosts,
    factors: named(p).map((f) => ({ name: f.name, levels: levelsOf(f), tune: f.tune || null })),
    order: p.order,
    runs_per_cell: p.runs,
    warmup_ns: Math.round(p.warmup * 1e9),
    duration_ns: Math.round(p.duration * 1e9),
    workload: p.workload || null,
    on_failure: p.onFailure,
    quiet: p.quiet,
  };
}

/** A word for a POSIX shell. */
function quote(word: string): string {
  return /^[A-Za-z0-9_./:=,@%+-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\\''")}'`;
}

export function commandOf(p: Plan, server: string): string {
  const parts = [
    `rigstat-agent run --server ${server} --experiment ${quote(p.name.trim() || "NAME")}`,
  ];
  for (const f of named(p)) {
    parts.push(`--factor ${quote(`${f.name}=${levelsOf(f).join(",")}`)}`);
    if (f.tune) parts.push(`--tune ${quote(`${f.name}=${f.tune}`)}`);
  }
  parts.push(`--runs ${p.runs} --order ${p.order} --warmup ${p.warmup}s --duration ${p.duration}s`);
  if (p.onFailure === "continue") parts.push("--on-failure continue");
  if (p.quiet) parts.push("--quiet");
  if (p.workload) parts.push(`--workload ${quote(p.workload)}`);
  return parts.join(" \\\n  ");
}
