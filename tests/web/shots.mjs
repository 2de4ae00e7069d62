// SPDX-License-Identifier: GPL-2.0-or-later
// Pictures of pages for a person to look at: node shots.mjs DIR BASE_URL [NAME=PATH …]; light, dark and 390 px.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, open, settled } from "./browser.mjs";

const [dir, base, ...pages] = process.argv.slice(2);
const only = process.env.VIEWS?.split(",");
mkdirSync(dir, { recursive: true });
const browser = await launch();
const VIEWS = {
  light: {},
  dark: { colorScheme: "dark" },
  phone: {
    viewport: { width: 390, height: 844 },
    deviceScaleFactor: 2,
    hasTouch: true,
    isMobile: true,
  },
};
for (const [view, options] of Object.entries(VIEWS)) {
  if (only && !only.includes(view)) continue;
  for (const spec of pages) {
    const cut = spec.indexOf("=");
    const { page, faults, context } = await open(browser, options);
    await page.goto(base + spec.slice(cut + 1));
    await settled(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(dir, `${spec.slice(0, cut)}-${view}.png`), fullPage: true });
    if (faults.length > 0) console.log(spec, view, faults);
    await context.close();
  }
}
await browser.close();
