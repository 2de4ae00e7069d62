/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a person chose for this browser: theme, time zone, single-key shortcuts. A link may set tz. */

import { useEffect, useState } from "preact/hooks";
import type { Zone } from "./format";
import { usePlace } from "./router";
import { one } from "./urlstate";

export type Theme = "auto" | "light" | "dark";

interface Prefs {
  theme: Theme;
  zone: Zone;
  keys: boolean;
}

const KEY = "rigstat.prefs";
const listeners = new Set<() => void>();
let prefs = load();

function load(): Prefs {
  const start: Prefs = { theme: "auto", zone: "utc", keys: true };
  try {
    const saved = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>;
    if (saved.theme === "light" || saved.theme === "dark") start.theme = saved.theme;
    if (saved.zone === "local") start.zone = "local";
    if (saved.keys === false) start.keys = false;
  } catch {
    // Storage switched off or unreadable: the defaults hold.
  }
  return start;
}

export function setPrefs(patch: Partial<Prefs>): void {
  prefs = { ...prefs, ...patch };
  try {
    localStorage.setItem(KEY, JSON.stringify(prefs));
  } catch {
    // Kept for this page only.
  }
  applyTheme();
  for (const f of [...listeners]) f();
}

export function usePrefs(): Prefs {
  const [value, set] = useState(prefs);
  useEffect(() => {
    const update = () => set(prefs);
    listeners.add(update);
    return () => {
      listeners.delete(update);
    };
  }, []);
  return value;
}

const darkQuery = matchMedia("(prefers-color-scheme: dark)");

export function effectiveTheme(): "light" | "dark" {
  return prefs.theme === "auto" ? (darkQuery.matches ? "dark" : "light") : prefs.theme;
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = effectiveTheme();
}

/** The theme in effect; charts redraw when it changes. */
export function useTheme(): "light" | "dark" {
  const [theme, set] = useState(effectiveTheme);
  useEffect(() => {
    const update = () => {
      applyTheme();
      set(effectiveTheme());
    };
    darkQuery.addEventListener("change", update);
    listeners.add(update);
    return () => {
      darkQuery.removeEventListener("change", update);
      listeners.delete(update);
    };
  }, []);
  return theme;
}

export function useZone(): Zone {
  const chosen = usePrefs().zone;
  const link = one(usePlace().query, "tz");
  return link === "utc" || link === "local" ? link : chosen;
}

export function keysOn(): boolean {
  return prefs.keys;
}
