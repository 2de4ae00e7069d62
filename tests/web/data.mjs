// SPDX-License-Identifier: GPL-2.0-or-later
// What the tests put into a real server: the two published results, and a synthetic A/B whose truth is
// known: B is faster in the middle of the distribution and slower in the far tail.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const data = join(dirname(fileURLToPath(import.meta.url)), "..", "data");

let seed = 20261130;
function random() {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return (seed + 1) / 2 ** 32;
}
const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());

/** Buckets of the log128 layout that hold `count` samples spread over log-normal parts. */
function histogram(parts) {
  const bins = new Map();
  let [min, max, sum, count] = [Infinity, 0, 0, 0];
  for (const { median, sigma, n } of parts) {
    for (let i = 0; i < n; i++) {
      const v = Math.round(median * Math.exp(sigma * normal()));
      const shift = Math.max(0, Math.floor(Math.log2(v)) - 7);
      const lo = Math.floor(v / 2 ** shift) * 2 ** shift;
      bins.set(lo, { hi: lo + 2 ** shift, n: (bins.get(lo)?.n ?? 0) + 1 });
      min = Math.min(min, v);
      max = Math.max(max, v);
      sum += v;
      count++;
    }
  }
  const lo = [...bins.keys()].sort((a, b) => a - b);
  return {
    scheme: "log128",
    lo_ns: lo,
    hi_ns: lo.map((l) => bins.get(l).hi),
    n: lo.map((l) => bins.get(l).n),
    count,
    overflow: 0,
    overflow_lo_ns: null,
    negative: 0,
    lost: 0,
    min_ns: min,
    max_ns: max,
    sum_ns: sum,
  };
}

function runDocument(i, level) {
  const b = level === "1";
  const drift = 1 + 0.004 * normal();
  const start = Date.UTC(2026, 10, 30, 10, 2 + 6 * i);
  const hist = histogram([
    { median: (b ? 6370 : 7070) * drift, sigma: 0.2, n: 40000 },
    { median: (b ? 60000 : 24000) * (1 + 0.05 * normal()), sigma: 0.45, n: 220 },
    { median: 800000, sigma: 0.25, n: b ? 6 : 2 },
  ]);
  if (i === 7) hist.lost = 212;
  return {
    uid: (0xa0000000 + i).toString(16).padStart(32, "0"),
    kind: "measured",
    state: "ok",
    host: "olab-12",
    experiment: "rq",
    boot_id: "b1",
    factors: { rq_affinity: level },
    tags: {},
    started: new Date(start).toISOString(),
    ended: new Date(start + 300e3).toISOString(),
    measured_ns: 300e9,
    order: i + 1,
    block: (i >> 1) + 1,
    series: [
      {
        metric: "wakeup_latency",
        kind: "hist",
        unit: "ns",
        labels: {},
        method: "rigstat-wakeup/1",
        omission: "keeps_deadlines",
        interval_ns: 1000000,
        resolution_ns: 1,
        missed: 0,
        hist,
      },
    ],
    environment: {
      "kernel.release": "6.12.9-rt7",
      "cpu.model": "AMD EPYC 7543",
      "cpu.online": 32,
      "cpu.microcode": b && i > 11 ? "0x2b0005b0" : "0x2b000590",
      "block.nvme0n1.queue.rq_affinity": level,
      clocksource: "tsc",
    },
  };
}

export function syntheticRuns() {
  return Array.from({ length: 20 }, (_, i) => runDocument(i, String(i % 2)));
}

async function send(base, params, body) {
  const response = await fetch(`${base}/api/v1/imports?${new URLSearchParams(params)}`, {
    method: "POST",
    body,
    headers: { "Content-Type": "application/octet-stream" },
  });
  if (!response.ok)
    throw new Error(
      `import ${JSON.stringify(params)}: ${response.status} ${await response.text()}`,
    );
  return response.json();
}

export async function load(base) {
  for (const n of ["64", "32", "16"])
    await send(
      base,
      {
        set: `max_sectors_kb=${n}`,
        experiment: "wakeup-2004",
        source: `iozone-${n}.txt`,
        demo: "1",
      },
      readFileSync(join(data, "wakeup-delay-2004", `iozone-${n}.txt`)),
    );
  await send(
    base,
    { source: "summary.csv", experiment: "rq_affinity", demo: "1" },
    readFileSync(join(data, "rq-affinity-2008", "summary.csv")),
  );
  await send(base, { source: "rq.json" }, JSON.stringify({ runs: syntheticRuns() }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await load(process.argv[2]);
