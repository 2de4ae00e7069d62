/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and times as people read them. Three significant figures, a unit on every value, a real
 * minus sign. Exact values belong in tooltips and CSV. Nothing here computes statistics. */

export const NONE = "n/a";

const TIME_UNITS: readonly [name: string, ns: number][] = [
  ["ns", 1],
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
];

/** Three significant figures without an exponent; a value that rounds up to the next power of ten keeps three. */
export function sig3(v: number): string {
  const size = Math.abs(v);
  if (size === 0) return "0";
  if (size >= 999.5) return group(Number(v.toPrecision(3)));
  if (size < 1e-6) return minus(v.toExponential(1));
  const rounded = Number(size.toPrecision(3));
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(rounded)));
  return minus((v < 0 ? -rounded : rounded).toFixed(decimals));
}

/** Thousands separated by commas. */
export function group(n: number): string {
  const [whole = "", fraction] = Math.abs(n).toString().split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return (n < 0 ? "−" : "") + grouped + (fraction ? "." + fraction : "");
}

function minus(text: string): string {
  return text.replace("-", "−");
}

/** The unit a time is shown in: the largest that keeps three figures at 1 or more. */
export function timeUnit(ns: number): [name: string, ns: number] {
  const size = Math.abs(ns);
  let best = TIME_UNITS[0]!;
  for (const unit of TIME_UNITS) {
    if (Number((size / unit[1]).toPrecision(3)) >= 1) best = unit;
  }
  return best;
}

const BYTE_UNITS: readonly [name: string, bytes: number][] = [
  ["bytes", 1],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
];

function byteUnit(bytes: number): [name: string, bytes: number] {
  return [...BYTE_UNITS].reverse().find(([, n]) => Math.abs(bytes) >= n) ?? BYTE_UNITS[0]!;
}

/** A value with its unit: fmt(7070, "ns") is "7.07 µs"; counts are grouped, never abbreviated. */
export function fmt(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
  if (unit === "ns") {
    const [name, ns] = timeUnit(v);
    const scaled = v / ns;
    // A whole number of ns has no figures to invent after the point.
    return `${ns === 1 && Number.isInteger(scaled) ? minus(String(scaled)) : sig3(scaled)} ${name}`;
  }
  if (unit === "ns/s") {
    const [name, ns] = timeUnit(v);
    return `${sig3(v / ns)} ${name}/s`;
  }
  if (unit === "bytes" || unit === "bytes/s") {
    const [name, bytes] = byteUnit(v);
    return `${sig3(v / bytes)} ${name}${unit.slice(5)}`;
  }
  if (unit === "%") return `${sig3(v)} %`;
  if (unit === "share") return `${sig3(v * 100)} %`;
  if (unit === "1/h") return `${sig3(v)} / h`;
  if (unit === "count" || unit === "1" || unit === "")
    return Number.isInteger(v) ? group(v) : sig3(v);
  return `${sig3(v)} ${unit}`;
}

/** The exact stored value, for tooltips: "7,071.5 ns". */
export function exact(v: number | null | undefined, unit: string): string {
  if (v === null || v === undefined || !Number.isFinite(v)) return NONE;
  const shown = Number.isInteger(v) ? v : Number(v.toPrecision(12));
  return `${group(shown)} ${unit}`.trim();
}

/** A difference of two percentages is in percentage points; "+1.29 %" would mean something else. */
export function differenceUnit(unit: string): { unit: string; scale: number } {
  if (unit === "%") return { unit: "pp", scale: 1 };
  if (unit === "share") return { unit: "pp", scale: 100 };
  return { unit, scale: 1 };
}

export function fmtDifference(v: number | null | undefined, unit: string): string {
  const d = differenceUnit(unit);
  return fmtSigned(v === null || v === undefined ? null : v * d.scale, d.unit);
}

/** The server's plain-ASCII sentences with the signs that these pages use. */
export function pretty(text: string): string {
  const signs = text
    .replace(/(\d) us\b/g, "$1 µs")
    .replace(/(\d) 1\/h\b/g, "$1 / h")
    .replace(/(^|[\s([])-(?=\d)/g, "$1−");
  return signs.replace(/(\d) (?=(?:ns|µs|ms|s|%)(?:\W|$))/g, "$1\u00a0"); // a unit stays on the line of its number
}

export function fmtSigned(v: number | null | undefined, unit: string): string {
  const text = fmt(v, unit);
  return v !== null && v !== undefined && v > 0 ? `+${text}` : text;
}

/** A relative change: fmtRel(-0.099) is "−9.90 %". */
export function fmtRel(rel: number | null | undefined): string {
  return fmtSigned(rel === null || rel === undefined ? null : rel * 100, "%");
}

export function fmtRelInterval(
  ci: readonly [number | null, number | null] | null | undefined,
): string {
  return ci && ci[0] !== null && ci[1] !== null ? `${fmtRel(ci[0])} to ${fmtRel(ci[1])}` : NONE;
}

/** Two ends of an interval of a difference in one unit: "−0.710 to −0.700 µs". */
export function fmtInterval(
  ci: readonly [number | null, number | null] | null | undefined,
  unit: string,
): string {
  if (!ci || ci[0] === null || ci[1] === null) return NONE;
  const d = differenceUnit(unit);
  const [lo, hi] = [ci[0] * d.scale, ci[1] * d.scale];
  if (unit !== "ns") {
    unit = d.unit === "1/h" ? "/ h" : d.unit;
    const suffix = unit === "count" || unit === "1" || unit === "" ? "" : ` ${unit}`;
    return `${plus(lo)}${sig3(lo)} to ${plus(hi)}${sig3(hi)}${suffix}`;
  }
  const [name, ns] = timeUnit(Math.max(Math.abs(lo), Math.abs(hi)));
  return `${plus(lo)}${sig3(lo / ns)} to ${plus(hi)}${sig3(hi / ns)} ${name}`;
}

function plus(v: number): string {
  return v > 0 ? "+" : "";
}

/** A quantile known to lie in [lo, hi]: one value when the bin is narrow, both ends when it is not. */
export function fmtBetween(lo: number | null, hi: number | null, unit: string): string {
  if (lo === null && hi === null) return NONE;
  if (hi === null) return `≥ ${fmt(lo, unit)}`;
  if (lo === null) return `≤ ${fmt(hi, unit)}`;
  const a = fmt(lo, unit);
  const b = fmt(hi, unit);
  if (a === b || hi - lo <= 0.01 * Math.abs(hi)) return b;
  if (unit !== "ns") return `${a} to ${b}`;
  const [name, ns] = timeUnit(hi);
  return `${sig3(lo / ns)} to ${sig3(hi / ns)} ${name}`;
}

/** "p99.9" for 0.999, without binary noise. */
export function quantileName(q: number): string {
  if (q === 0) return "min";
  if (q === 1) return "max";
  return `p${Number((q * 100).toPrecision(12))}`;
}

export function fmtShare(v: number | null | undefined): string {
  return v === null || v === undefined ? NONE : fmt(v * 100, "%");
}

/** A span in words: "1 h 53 min", "4.20 s". */
export function fmtSpan(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return NONE;
  const s = ns / 1e9;
  if (s < 60) return fmt(ns, "ns");
  const whole = Math.round(s);
  const d = Math.floor(whole / 86400);
  const h = Math.floor((whole % 86400) / 3600);
  const min = Math.floor((whole % 3600) / 60);
  if (d > 0) return h > 0 ? `${d} d ${h} h` : `${d} d`;
  if (h > 0) return min > 0 ? `${h} h ${min} min` : `${h} h`;
  return whole % 60 > 0 ? `${min} min ${whole % 60} s` : `${min} min`;
}

export function fmtBytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  let v = n;
  while (i < units.length - 1 && Number(v.toPrecision(3)) >= 1000) {
    v /= 1000;
    i++;
  }
  return `${i === 0 ? group(v) : sig3(v)} ${units[i]}`;
}

export type Zone = "utc" | "local";

function pad(n: number): string {
  return String(n).padStart(2, "0");
}

/** "2026-11-30 17:02" in UTC or in the browser's zone; the offset is shown once on the page. */
export function fmtTime(iso: string | null | undefined, zone: Zone, seconds = false): string {
  if (!iso) return NONE;
  const t = new Date(iso);
  if (Number.isNaN(t.getTime())) return NONE;
  const u = zone === "utc" ? t : new Date(t.getTime() - t.getTimezoneOffset() * 60000);
  const day = `${u.getUTCFullYear()}-${pad(u.getUTCMonth() + 1)}-${pad(u.getUTCDate())}`;
  return `${day} ${pad(u.getUTCHours())}:${pad(u.getUTCMinutes())}${seconds ? ":" + pad(u.getUTCSeconds()) : ""}`;
}

export function zoneName(zone: Zone, at = new Date()): string {
  if (zone === "utc") return "UTC";
  const m = -at.getTimezoneOffset();
  return `${m < 0 ? "−" : "+"}${pad(Math.floor(Math.abs(m) / 60))}:${pad(Math.abs(m) % 60)}`;
}

export function fmtAgo(iso: string | null | undefined, now: number): string {
  if (!iso) return "never";
  const s = (now - new Date(iso).getTime()) / 1000;
  if (Number.isNaN(s)) return NONE;
  if (s < 0) return "just now";
  if (s < 90) return `${s < 10 ? Math.max(0, s).toFixed(1) : Math.round(s)} s ago`;
  if (s < 5400) return `${Math.round(s / 60)} min ago`;
  if (s < 129600) return `${Math.round(s / 3600)} h ago`;
  return `${Math.round(s / 86400)} d ago`;
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${group(n)} ${n === 1 ? one : many}`;
}
