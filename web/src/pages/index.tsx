/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which page an address shows. The server answers exactly these with index.html (server/assets.c). */

import type { ComponentChildren } from "preact";
import { AboutPage } from "./About";
import { ApiPage } from "./ApiPage";
import { ChangePage, ChangesPage } from "./Changes";
import { ComparePage } from "./Compare";
import { ExperimentPage, ExperimentsPage } from "./Experiments";
import { FleetPage } from "./Fleet";
import { HostPage } from "./HostPage";
import { ImportPage } from "./ImportPage";
import { NotFound } from "./NotFound";
import { PinPage } from "./PinPage";
import { ProblemPage } from "./ProblemPage";
import { RunPage } from "./RunPage";
import { RunsPage } from "./Runs";
import { SettingsPage } from "./Settings";
import { TrendPage, TrendsPage } from "./Trends";

interface Page {
  pattern: RegExp;
  nav: string; // entry of the navigation that is lit
  show(args: string[]): ComponentChildren;
}

const PAGES: readonly Page[] = [
  { pattern: /^\/$/, nav: "/", show: () => <FleetPage /> },
  {
    pattern: /^\/hosts\/([^/]+)$/,
    nav: "/",
    show: ([name]) => <HostPage key={name} name={name!} />,
  },
  { pattern: /^\/experiments$/, nav: "/experiments", show: () => <ExperimentsPage /> },
  {
    pattern: /^\/experiments\/([^/]+)$/,
    nav: "/experiments",
    show: ([id]) => <ExperimentPage key={id} id={id!} />,
  },
  { pattern: /^\/compare$/, nav: "/compare", show: () => <ComparePage /> },
  { pattern: /^\/c\/([^/]+)$/, nav: "/compare", show: ([id]) => <PinPage key={id} id={id!} /> },
  { pattern: /^\/runs$/, nav: "/runs", show: () => <RunsPage /> },
  { pattern: /^\/runs\/([^/]+)$/, nav: "/runs", show: ([id]) => <RunPage key={id} id={id!} /> },
  { pattern: /^\/trends$/, nav: "/trends", show: () => <TrendsPage /> },
  {
    pattern: /^\/trends\/([^/]+)$/,
    nav: "/trends",
    show: ([id]) => <TrendPage key={id} id={id!} />,
  },
  { pattern: /^\/changes$/, nav: "/trends", show: () => <ChangesPage /> },
  {
    pattern: /^\/changes\/([^/]+)$/,
    nav: "/trends",
    show: ([id]) => <ChangePage key={id} id={id!} />,
  },
  { pattern: /^\/import$/, nav: "/import", show: () => <ImportPage /> },
  { pattern: /^\/docs\/api$/, nav: "/docs/api", show: () => <ApiPage /> },
  {
    pattern: /^\/problems\/([^/]+)$/,
    nav: "/docs/api",
    show: ([slug]) => <ProblemPage slug={slug!} />,
  },
  { pattern: /^\/about$/, nav: "/about", show: () => <AboutPage /> },
  { pattern: /^\/settings$/, nav: "/settings", show: () => <SettingsPage /> },
];

export const NAV: readonly { href: string; text: string; key: string }[] = [
  { href: "/", text: "Fleet", key: "f" },
  { href: "/experiments", text: "Experiments", key: "e" },
  { href: "/compare", text: "Compare", key: "c" },
  { href: "/trends", text: "Trends", key: "t" },
  { href: "/runs", text: "Runs", key: "u" },
  { href: "/import", text: "Import", key: "i" },
  { href: "/docs/api", text: "API", key: "a" },
  { href: "/settings", text: "Settings", key: "s" },
  { href: "/about", text: "About", key: "b" },
];

export function isPage(path: string): boolean {
  return PAGES.some((p) => p.pattern.test(path));
}

export function pageAt(path: string): { nav: string; body: ComponentChildren } {
  for (const p of PAGES) {
    const m = p.pattern.exec(path);
    if (m) return { nav: p.nav, body: p.show(m.slice(1).map(decodeURIComponent)) };
  }
  return { nav: "", body: <NotFound path={path} /> };
}
