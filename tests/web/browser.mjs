// SPDX-License-Identifier: GPL-2.0-or-later
// Chromium for the tests: every page records console errors, CSP violations and requests that leave
// the machine; a test that ends with any of them fails.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { existsSync } from "node:fs";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
export const AXE = require.resolve("axe-core/axe.min.js");

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export async function launch() {
  if (!existsSync(CHROMIUM))
    throw new Error(`${CHROMIUM} is missing: apt-get install chromium, or set CHROMIUM`);
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

const pending = new WeakMap();

/** Waits until nothing is asked for during 200 ms and no skeleton is shown. */
export async function settled(page) {
  let quiet = 0;
  for (let i = 0; quiet < 5; i++) {
    if (i > 500) throw new Error("the page does not come to rest");
    await page.waitForTimeout(40);
    quiet = pending.get(page).size === 0 ? quiet + 1 : 0;
  }
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
}

/** A page of a fresh context and the list of its faults. */
export async function open(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (m) => {
    // A failed fetch is reported by Chromium itself; the pages show it, and tests provoke it on purpose.
    if (m.type() === "error" && !/Failed to load resource/.test(m.text()))
      faults.push(`console: ${m.text()}`);
  });
  page.on("pageerror", (e) => faults.push(`exception: ${e.message}`));
  page.on("request", (r) => {
    const u = new URL(r.url());
    if (!["data:", "blob:"].includes(u.protocol) && u.hostname !== "127.0.0.1")
      faults.push(`request leaves the machine: ${r.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (e) =>
      console.error(`CSP ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`),
    );
  });
  // An open stream is no loading: Playwright's "networkidle" would wait for its end.
  page.on("requestfinished", (r) => pending.get(page)?.delete(r));
  page.on("requestfailed", (r) => pending.get(page)?.delete(r));
  pending.set(page, new Set());
  page.on("request", (r) => !/\/api\/v1\/stream/.test(r.url()) && pending.get(page).add(r));
  return { page, faults, context };
}

/** axe-core on the page as it stands: a list of "rule: element". */
export async function axe(page) {
  const { readFileSync } = await import("node:fs");
  await page.evaluate(readFileSync(AXE, "utf8"));
  return page.evaluate(async () => {
    const result = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return result.violations.flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} ${n.failureSummary.split("\n")[1] ?? ""}`),
    );
  });
}

/** Opens a page, runs the body, and fails if the page complained about anything. */
export async function visit(browser, url, body, options) {
  const { page, faults, context } = await open(browser, options);
  try {
    await page.goto(url);
    await body(page, context);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}
