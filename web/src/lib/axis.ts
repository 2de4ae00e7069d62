/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Axis transforms. A chart draws in "plot space", where every scale is linear: fwd() maps a value
 * there and inv() back. Ticks are chosen by the room there is, so labels never overlap. */

import { fmt, group, quantileName, sig3 } from "./format";

export interface Tick {
  at: number; // plot space
  label: string | null; // null: a small tick without text
}

export interface AxisSpec {
  fwd(v: number): number | null; // null: the value cannot be drawn on this axis (zero on a log axis)
  inv(p: number): number;
  ticks(lo: number, hi: number, room: number): Tick[]; // lo and hi in plot space; room = labels that fit
  text(v: number): string; // a value with its unit, for readings
}

const EPS = 1e-9;

/** 1, 2 or 5 times a power of ten, at least span / room. */
export function niceStep(span: number, room: number): number {
  if (!(span > 0)) return 1;
  const raw = span / Math.max(1, room);
  const mag = Math.pow(10, Math.floor(Math.log10(raw)));
  for (const m of [1, 2, 5, 10]) {
    if (m * mag >= raw * (1 - EPS)) return m * mag;
  }
  return 10 * mag;
}

export function linear(unit: string): AxisSpec {
  return {
    fwd: (v) => v,
    inv: (p) => p,
    text: (v) => fmt(v, unit),
    ticks(lo, hi, room) {
      const step = niceStep(hi - lo, room);
      const out: Tick[] = [];
      for (let i = Math.ceil(lo / step - EPS); i * step <= hi + step * EPS; i++) {
        const v = Number((i * step).toPrecision(12));
        out.push({ at: v, label: axisText(v, unit) });
      }
      return out;
    },
  };
}

/** Tick text: short, whole where possible ("10 µs", not "10.0 µs"). */
export function axisText(v: number, unit: string): string {
  const text = fmt(v, unit);
  return text.replace(/^([−+]?[\d,]+)\.(\d*?)0+(?=\s|$)/, (_, whole: string, rest: string) =>
    rest ? `${whole}.${rest}` : whole,
  );
}

export function log10(unit: string): AxisSpec {
  return {
    fwd: (v) => (v > 0 ? Math.log10(v) : null),
    inv: (p) => Math.pow(10, p),
    text: (v) => fmt(v, unit),
    ticks: (lo, hi, room) => logTicks(lo, hi, room, (v) => axisText(v, unit)),
  };
}

/** Counts and shares on a log axis: 10, 100, 1,000 … */
export function logCount(suffix = ""): AxisSpec {
  const text = (v: number) => (v >= 1 ? group(Number(v.toPrecision(3))) : sig3(v)) + suffix;
  return {
    fwd: (v) => (v > 0 ? Math.log10(v) : null),
    inv: (p) => Math.pow(10, p),
    text,
    ticks: (lo, hi, room) =>
      logTicks(
        lo,
        hi,
        room,
        (v) => (v >= 1 ? group(Number(v.toPrecision(3))) : shortPower(v)) + suffix,
      ),
  };
}

function shortPower(v: number): string {
  return v < 1e-4
    ? `10${superscript(Math.round(Math.log10(v)))}`
    : String(Number(v.toPrecision(3)));
}

function superscript(n: number): string {
  const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  return (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map((c) => digits[Number(c)]).join("");
}

function logTicks(lo: number, hi: number, room: number, label: (v: number) => string): Tick[] {
  const decades = hi - lo;
  const first = Math.floor(lo - EPS);
  const last = Math.ceil(hi + EPS);
  const every = Math.max(1, Math.ceil((decades + 1) / Math.max(1, room)));
  // With few decades there is room for 2 and 5 as well.
  const named = decades * 3 <= room ? [1, 2, 5] : [1];
  const out: Tick[] = [];
  for (let d = first; d <= last; d++) {
    for (let m = 1; m <= 9; m++) {
      const at = d + Math.log10(m);
      if (at < lo - EPS || at > hi + EPS) continue;
      const major = named.includes(m) && (m !== 1 || ((d % every) + every) % every === 0);
      if (!major && every > 1 && m !== 1) continue;
      out.push({ at, label: major ? label(m * Math.pow(10, d)) : null });
    }
  }
  return out;
}

/** The percentile axis 1/(1 - q): each step to the right is ten times rarer; q = 1 has no place on it. */
export function percentile(): AxisSpec {
  return {
    fwd: (q) => (q >= 0 && q < 1 ? -Math.log10(1 - q) : null),
    inv: (p) => 1 - Math.pow(10, -p),
    text: (q) => quantileName(q),
    ticks(lo, hi, room) {
      const out: Tick[] = [];
      const every = Math.max(1, Math.ceil((hi - lo + 1) / Math.max(1, room)));
      for (let d = Math.max(0, Math.floor(lo)); d <= hi + EPS; d++) {
        if (d >= lo - EPS) out.push({ at: d, label: d % every === 0 ? nines(d) : null });
      }
      if (hi - lo < 2.5 && lo < 0.31 && room >= 5)
        out.splice(1, 0, { at: -Math.log10(0.5), label: "50 %" });
      return out.filter((t) => t.at >= lo - EPS && t.at <= hi + EPS);
    },
  };
}

function nines(d: number): string {
  if (d === 0) return "0 %";
  return d === 1 ? "90 %" : d === 2 ? "99 %" : `99.${"9".repeat(d - 2)} %`;
}

/** Signed log axis for differences: linear within ±unit0, logarithmic outside. */
export function asinh(unit: string, unit0: number): AxisSpec {
  const k = unit0 > 0 ? unit0 : 1;
  const fwd = (v: number) => Math.asinh(v / k);
  return {
    fwd,
    inv: (p) => Math.sinh(p) * k,
    text: (v) => (v > 0 ? "+" : "") + fmt(v, unit),
    ticks(lo, hi, room) {
      const edge = Math.max(Math.abs(lo), Math.abs(hi));
      const top = Math.ceil(Math.log10(Math.sinh(Math.max(edge, 1)))) + 1;
      const values: number[] = [0];
      for (let d = 0; d <= top; d++) values.push(Math.pow(10, d), -Math.pow(10, d));
      const inside = values
        .map((m) => ({ v: m * k, at: fwd(m * k), m }))
        .filter((t) => t.at >= lo - EPS && t.at <= hi + EPS);
      inside.sort((a, b) => a.at - b.at);
      const every = Math.max(1, Math.ceil(inside.length / Math.max(1, room)));
      return inside.map((t) => {
        const d = t.m === 0 ? 0 : Math.round(Math.log10(Math.abs(t.m)));
        const named = t.m === 0 || d % every === 0;
        return { at: t.at, label: named ? (t.v > 0 ? "+" : "") + axisText(t.v, unit) : null };
      });
    },
  };
}

/** Whole run numbers: 1, 2, 3 … */
export function ordinal(): AxisSpec {
  return {
    fwd: (v) => v,
    inv: (p) => p,
    text: (v) => `run ${Math.round(v)}`,
    ticks(lo, hi, room) {
      const step = Math.max(1, Math.round(niceStep(hi - lo, room)));
      const out: Tick[] = [];
      for (let v = Math.ceil(lo / step) * step; v <= hi + EPS; v += step)
        out.push({ at: v, label: String(v) });
      return out;
    },
  };
}
