// SPDX-License-Identifier: GPL-2.0-or-later
// Trends and changes in the browser, on the server that tests/web/test_trends.py filled:
// node trends.mjs BASE SERIES CHANGE [FOLDER FOR PICTURES]
import assert from "node:assert/strict";
import { axe, launch, open, settled } from "./browser.mjs";

const [base, series, change, pictures] = process.argv.slice(2);
const browser = await launch();
try {
  for (const path of ["/trends", `/trends/${series}`, "/changes", `/changes/${change}`]) {
    for (const [name, options] of [
      ["light", { colorScheme: "light" }],
      ["dark", { colorScheme: "dark" }],
      ["narrow", { viewport: { width: 390, height: 800 } }],
    ]) {
      const { page, faults, context } = await open(browser, options);
      await page.goto(base + path);
      await settled(page);
      assert.deepEqual(await axe(page), [], `${path} ${name}`);
      assert.deepEqual(faults, [], `${path} ${name}`);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth + 1);
      assert.equal(wide, false, `${path} ${name}: the page scrolls sideways`);
      if (pictures)
        await page.screenshot({ path: `${pictures}${path.replace(/\//g, "_")}-${name}.png`, fullPage: true });
      await context.close();
    }
  }
  const { page, faults } = await open(browser);
  await page.goto(`${base}/trends/${series}`);
  await settled(page);
  const text = await page.textContent("main");
  assert.match(text, /1 change is known in 40 points/);
  assert.match(text, /c22/);
  await page.getByRole("button", { name: "Table" }).first().click();
  assert.match(page.url(), /tables=trend/);
  assert.equal((await page.locator("table").first().locator("tbody tr").count()) >= 30, true);
  await page.getByRole("link", { name: change }).first().click();
  await settled(page);
  assert.match(await page.textContent("main"), /rose by/);
  await page.getByLabel("Your name").fill("anna");
  await page.getByLabel("Note").fill("known");
  await page.getByRole("button", { name: /^Accept/ }).click();
  await page.waitForFunction(() => /anna: accepted/.test(document.querySelector("main").textContent));
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
console.log("ok");
