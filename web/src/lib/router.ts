/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address bar as a store: pages read it, links and controls change it. Deliberate choices push
 * (Back undoes them), zoom and typing replace. */

import { useEffect, useState } from "preact/hooks";
import { formatQuery, parseQuery, patchQuery, type Patch, type Query } from "./urlstate";

export interface Place {
  path: string;
  query: Query;
}

const listeners = new Set<() => void>();

export function here(): Place {
  return { path: location.pathname, query: parseQuery(location.search) };
}

function changed(): void {
  for (const f of [...listeners]) f();
}

export function navigate(url: string, how: "push" | "replace" = "push"): void {
  const before = location.pathname;
  if (how === "push") history.pushState(null, "", url);
  else history.replaceState(null, "", url);
  changed();
  if (how === "push" && location.pathname !== before) {
    window.scrollTo(0, 0);
    // A screen reader hears the new page's heading, as it would after a page load.
    requestAnimationFrame(() =>
      document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true }),
    );
  }
}

/** The present address with some query names replaced. */
export function urlWith(patch: Patch, place: Place = here()): string {
  return place.path + formatQuery(patchQuery(place.query, patch));
}

export function setQuery(patch: Patch, how: "push" | "replace" = "push"): void {
  const url = urlWith(patch);
  if (url !== location.pathname + location.search) navigate(url, how);
}

export function usePlace(): Place {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace(here());
    listeners.add(update);
    return () => {
      listeners.delete(update);
    };
  }, []);
  return place;
}

/** Plain links stay plain <a href>; a click without modifiers on one of ours does not reload. */
export function startRouter(isPage: (path: string) => boolean): void {
  window.addEventListener("popstate", changed);
  document.addEventListener("click", (e) => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey)
      return;
    const link = (e.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin)
      return;
    const raw = link.getAttribute("href") ?? "";
    if (raw.startsWith("#") || !isPage(link.pathname)) return;
    e.preventDefault();
    navigate(link.pathname + link.search + link.hash);
  });
}
