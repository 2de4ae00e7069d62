/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What surrounds every page: navigation, search, theme, help. */

import { useEffect, useRef } from "preact/hooks";
import { zoneName } from "../lib/format";
import { onKeys } from "../lib/keys";
import { LiveMark, StalledNote } from "../live/LiveMark";
import { setPrefs, usePrefs, useTheme, useZone, type Theme } from "../lib/prefs";
import { navigate, setQuery, usePlace } from "../lib/router";
import { encodeValue, one } from "../lib/urlstate";
import { NAV, pageAt } from "../pages";
import { Toasts } from "./toast";

export function Frame() {
  const { path, query } = usePlace();
  const { nav, body } = pageAt(path);
  const helpRef = useRef<HTMLDialogElement>(null);
  const searchRef = useRef<HTMLInputElement>(null);
  const help = () => helpRef.current?.showModal();

  useEffect(() => {
    const layer: Record<string, () => void> = {
      "?": help,
      "/": () => searchRef.current?.focus(),
    };
    for (const n of NAV) layer[`g ${n.key}`] = () => navigate(n.href);
    return onKeys(layer);
  }, []);

  const search = (e: Event) => {
    e.preventDefault();
    const text = searchRef.current?.value.trim() ?? "";
    if (text) navigate(`/runs?q=${encodeValue(asSelector(text))}`);
    if (searchRef.current) searchRef.current.value = "";
  };

  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="frame">
        <a class="brand" href="/">
          <Logo /> rigstat
        </a>
        <nav aria-label="Pages">
          {NAV.map((n) => (
            <a key={n.href} href={n.href} aria-current={n.href === nav ? "page" : undefined}>
              {n.text}
            </a>
          ))}
        </nav>
        <form role="search" onSubmit={search}>
          <input
            ref={searchRef}
            type="search"
            aria-label="Find runs"
            placeholder="Find runs: host or selector  ( / )"
          />
        </form>
        <div class="frame-tools">
          <LiveMark />
          <ZoneButton onPick={(tz) => one(query, "tz") && setQuery({ tz })} />
          <ThemeButton />
          <button
            type="button"
            class="icon"
            aria-label="Help and keys"
            title="Help and keys ( ? )"
            onClick={help}
          >
            ?
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <StalledNote />
        {body}
      </main>
      <Toasts />
      <Help dialog={helpRef} />
    </>
  );
}

/** A bare word is a host's name. */
function asSelector(text: string): string {
  return /[=~<>]|\bin\b/.test(text) ? text : `host~${text}`;
}

function Logo() {
  return (
    <svg class="logo" width="24" height="20" viewBox="0 0 24 20" aria-hidden="true">
      <path class="la" d="M1 18 C5 18 5 3 8.5 3 C12 3 12 18 17 18" />
      <path class="lb" d="M7 18 C11 18 11 7 14 7 C17.5 7 17 17 23 17.5" />
    </svg>
  );
}

function ZoneButton({ onPick }: { onPick: (tz: string) => void }) {
  const zone = useZone();
  const next = zone === "utc" ? "local" : "utc";
  return (
    <button
      type="button"
      class="icon wide"
      title={`Times are in ${zoneName(zone)}; click for ${zoneName(next)}`}
      onClick={() => {
        setPrefs({ zone: next });
        onPick(next);
      }}
    >
      {zoneName(zone)}
    </button>
  );
}

const NEXT_THEME: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
const THEME_SIGN: Record<Theme, string> = { auto: "◐", light: "☀", dark: "☾" };

function ThemeButton() {
  const { theme } = usePrefs();
  useTheme();
  return (
    <button
      type="button"
      class="icon"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}; click for ${NEXT_THEME[theme]}`}
      onClick={() => setPrefs({ theme: NEXT_THEME[theme] })}
    >
      <span aria-hidden="true">{THEME_SIGN[theme]}</span>
    </button>
  );
}

const KEYS: readonly [string, string][] = [
  ["/", "find runs"],
  ["g then f e c u i a s b", "go to fleet, experiments, compare, runs, import, API, settings, about"],
  ["x", "swap A and B"],
  ["t", "tables of all charts"],
  ["← → Home End, with Shift by ten", "read values in a chart that has the focus"],
  ["Esc", "whole chart again after a zoom"],
  ["?", "this help"],
];

function Help({ dialog }: { dialog: { current: HTMLDialogElement | null } }) {
  const { keys } = usePrefs();
  return (
    <dialog ref={dialog} aria-labelledby="help-title">
      <h2 id="help-title">Help</h2>
      <dl class="keys">
        {KEYS.map(([k, text]) => (
          <div key={k}>
            <dt>
              <kbd>{k}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p>
        <label class="inline">
          <input
            type="checkbox"
            checked={keys}
            onChange={(e) => setPrefs({ keys: e.currentTarget.checked })}
          />{" "}
          single-key shortcuts
        </label>
      </p>
      <p>
        Drag in a chart to zoom, double-click for the whole. Every view is in its address: copy the
        address to share it, or pin a comparison for a link that never changes.{" "}
        <a href="/docs/api">API and selectors</a>
      </p>
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}
