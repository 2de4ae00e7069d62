/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the comparison page, all of it in the URL: what is asked of the server and how it
 * is shown. */

import { API } from "../api/client";
import { formatRange, formatQuery, one, parseRange, type Query } from "../lib/urlstate";

/** Parameters that change the answer, with the names of the API. */
export const ASKED = [
  "metric",
  "stat",
  "ci",
  "margin",
  "primary",
  "factor",
  "labels",
  "anyway",
  "corrected",
] as const;

export interface Asked {
  a: string;
  b: string[];
  params: Query; // a, b and the ASKED names, ready for the API
}

export function askedOf(q: Query): Asked {
  const a = one(q, "a");
  const b = (q.get("b") ?? []).filter((v) => v !== "");
  const params = new Map<string, readonly string[]>();
  if (a) params.set("a", [a]);
  if (b.length > 0) params.set("b", b);
  for (const name of ASKED) {
    const v = one(q, name);
    if (v) params.set(name, [v]);
  }
  return { a, b, params };
}

export function compareUrl(params: Query, extra: Record<string, string> = {}): string {
  const all = new Map(params);
  for (const [k, v] of Object.entries(extra)) all.set(k, [v]);
  return `${API}/compare${formatQuery(all)}`;
}

export function pageUrl(a: string, b: readonly string[]): string {
  return `/compare${formatQuery(
    new Map([
      ["a", [a]],
      ["b", b],
    ]),
  )}`;
}

/** Comma lists such as hide=a,b. */
export function listOf(q: Query, name: string): string[] {
  return one(q, name).split(",").filter(Boolean);
}

export function toggled(list: readonly string[], item: string): string {
  return (list.includes(item) ? list.filter((v) => v !== item) : [...list, item]).join(",");
}

export function zoomOf(q: Query, chart: string): [number, number] | null {
  return parseRange(one(q, `z.${chart}`));
}

export function zoomPatch(
  chart: string,
  range: [number, number] | null,
): Record<string, string | null> {
  return { [`z.${chart}`]: range ? formatRange(range[0], range[1]) : null };
}
