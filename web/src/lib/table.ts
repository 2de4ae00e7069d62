/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorting by keys that are apart from the text shown. A missing key is last in both directions. */

export type Dir = "asc" | "desc";
export type SortKey = number | string | null | undefined;

export function compareKeys(a: SortKey, b: SortKey): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true, sensitivity: "base" });
}

function missing(k: SortKey): boolean {
  return k === null || k === undefined || k === "" || (typeof k === "number" && Number.isNaN(k));
}

export function sortBy<T>(rows: readonly T[], key: (row: T) => SortKey, dir: Dir): T[] {
  const keyed = rows.map((row, i) => ({ row, i, k: key(row) }));
  keyed.sort((x, y) => {
    const mx = missing(x.k);
    const my = missing(y.k);
    if (mx || my) return mx === my ? x.i - y.i : mx ? 1 : -1;
    const c = compareKeys(x.k, y.k);
    return c === 0 ? x.i - y.i : dir === "asc" ? c : -c;
  });
  return keyed.map((e) => e.row);
}

/** "p99" / "-p99" in the URL. */
export function parseSort(text: string, fallback: string): { key: string; dir: Dir } {
  const s = text || fallback;
  return s.startsWith("-") ? { key: s.slice(1), dir: "desc" } : { key: s, dir: "asc" };
}

export function formatSort(key: string, dir: Dir): string {
  return dir === "desc" ? `-${key}` : key;
}
