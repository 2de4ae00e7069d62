/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a reading. Good and bad are a word, a symbol and a colour, never a colour alone;
 * the symbol says where the value went, the word whether that is good. */

import type { Better, Delta, Reading, VerdictWord } from "../api/types";

export type Tone = "good" | "bad" | "mixed" | "neutral" | "weak";

export interface Word {
  text: string;
  symbol: string;
  tone: Tone;
}

export function verdictWord(word: VerdictWord): Word {
  switch (word) {
    case "better":
      return { text: "Better", symbol: "✓", tone: "good" };
    case "worse":
      return { text: "Worse", symbol: "✕", tone: "bad" };
    case "mixed":
      return { text: "Mixed", symbol: "±", tone: "mixed" };
    case "same":
      return { text: "Same", symbol: "=", tone: "neutral" };
    case "unclear":
      return { text: "Unclear", symbol: "?", tone: "weak" };
    case "not_enough_runs":
      return { text: "Not enough runs", symbol: "…", tone: "weak" };
    case "not_comparable":
      return { text: "Not comparable", symbol: "≠", tone: "bad" };
  }
}

/** Readings that say of no direction. */
export const NOT_MOVED: Record<"same" | "below_margin" | "unclear" | "not_enough_runs", Word> = {
  same: { text: "same", symbol: "=", tone: "neutral" },
  below_margin: { text: "below the margin", symbol: "≈", tone: "neutral" },
  unclear: { text: "unclear", symbol: "?", tone: "weak" },
  not_enough_runs: { text: "too few runs", symbol: "…", tone: "weak" },
};

export function readingWord(delta: Delta | null): Word {
  const arrow = !delta || delta.abs === null || delta.abs === 0 ? "●" : delta.abs > 0 ? "▲" : "▼";
  switch (delta?.reading) {
    case "better":
      return { text: "better", symbol: arrow, tone: "good" };
    case "worse":
      return { text: "worse", symbol: arrow, tone: "bad" };
    case "higher":
      return { text: "higher", symbol: "▲", tone: "mixed" };
    case "lower":
      return { text: "lower", symbol: "▼", tone: "mixed" };
    case "same":
    case "below_margin":
    case "unclear":
    case "not_enough_runs":
      return NOT_MOVED[delta.reading];
    case "not_resolvable":
      return { text: "not judged", symbol: "–", tone: "weak" };
    case undefined:
      return { text: "n/a", symbol: "–", tone: "weak" };
  }
}

/** Worst first: the order a person wants to read rows in when something may have broken. */
export function severity(delta: Delta | null, better: Better): number {
  const sign = better === "higher" ? -1 : 1;
  const size = Math.max(-1, Math.min(1, sign * (delta?.rel ?? 0)));
  const rank: Record<Reading, number> = {
    worse: 6,
    higher: 5,
    lower: 5,
    unclear: 4,
    below_margin: 3,
    same: 3,
    better: 2,
    not_enough_runs: 1,
    not_resolvable: 0,
  };
  return delta ? rank[delta.reading] * 10 + size : -1;
}

export type Group = "worse" | "better" | "changed" | "unclear" | "same" | "unread";

/** Filter chips: what a row counts as. */
export function readingGroup(delta: Delta | null): Group {
  switch (delta?.reading) {
    case "worse":
      return "worse";
    case "better":
      return "better";
    case "higher":
    case "lower":
      return "changed";
    case "unclear":
      return "unclear";
    case "same":
    case "below_margin":
      return "same";
    default:
      return "unread";
  }
}

export const GROUPS: readonly { id: Group; text: string }[] = [
  { id: "worse", text: "worse" },
  { id: "better", text: "better" },
  { id: "changed", text: "changed" },
  { id: "unclear", text: "unclear" },
  { id: "same", text: "same" },
  { id: "unread", text: "no reading" },
];

export function betterText(better: Better): string {
  return better === "none" ? "neither direction is better" : `${better} is better`;
}

const STAT_TITLES: Record<string, string> = {
  mean: "mean",
  p50: "p50 (median)",
  max: "max",
  min: "min",
  sdev: "sdev between runs",
};

export function statTitle(stat: string): string {
  return STAT_TITLES[stat] ?? stat;
}
