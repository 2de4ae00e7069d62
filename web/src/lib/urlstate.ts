/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State in the URL: a query string is an ordered list of names and values, kept readable
 * ("a=experiment=rq,rq_affinity=0", not percent signs), so a link says what it shows. */

export type Query = ReadonlyMap<string, readonly string[]>;
export type Patch = Record<
  string,
  string | number | boolean | readonly string[] | null | undefined
>;

export function parseQuery(search: string): Query {
  const out = new Map<string, string[]>();
  const text = search.startsWith("?") ? search.slice(1) : search;
  for (const part of text.split("&")) {
    if (!part) continue;
    const cut = part.indexOf("=");
    const name = decode(cut < 0 ? part : part.slice(0, cut));
    const value = cut < 0 ? "" : decode(part.slice(cut + 1));
    const list = out.get(name);
    if (list) list.push(value);
    else out.set(name, [value]);
  }
  return out;
}

function decode(text: string): string {
  const spaced = text.replace(/\+/g, " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced; // a hand-typed "%": shown as typed
  }
}

/** Escapes only what would change the meaning of the query. */
export function encodeValue(text: string): string {
  return encodeURIComponent(text).replace(/%(3D|2C|3A|2F|40|7E|3B)/g, (m) => decodeURIComponent(m));
}

export function formatQuery(q: Query): string {
  const parts: string[] = [];
  for (const [name, values] of q)
    for (const v of values) parts.push(`${encodeURIComponent(name)}=${encodeValue(v)}`);
  return parts.length > 0 ? "?" + parts.join("&") : "";
}

/** An address of the server's making, in the readable spelling of these pages. */
export function tidy(url: string): string {
  const cut = url.indexOf("?");
  return cut < 0 ? url : url.slice(0, cut) + formatQuery(parseQuery(url.slice(cut)));
}

/** A copy with some names replaced; null, undefined, "" and false remove a name. */
export function patchQuery(q: Query, patch: Patch): Query {
  const out = new Map(q);
  for (const [name, v] of Object.entries(patch)) {
    const list = Array.isArray(v)
      ? (v as readonly string[])
      : v === null || v === undefined || v === false || v === ""
        ? []
        : [String(v)];
    if (list.length === 0) out.delete(name);
    else out.set(name, list);
  }
  return out;
}

export function one(q: Query, name: string, fallback = ""): string {
  return q.get(name)?.[0] ?? fallback;
}

/** "lo..hi" as two numbers, or null. */
export function parseRange(text: string): [number, number] | null {
  const m = /^(-?[\d.eE+-]+)\.\.(-?[\d.eE+-]+)$/.exec(text);
  if (!m) return null;
  const lo = Number(m[1]);
  const hi = Number(m[2]);
  return Number.isFinite(lo) && Number.isFinite(hi) && lo < hi ? [lo, hi] : null;
}

export function formatRange(lo: number, hi: number): string {
  return `${Number(lo.toPrecision(6))}..${Number(hi.toPrecision(6))}`;
}
