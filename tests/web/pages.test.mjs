// SPDX-License-Identifier: GPL-2.0-or-later
// Every page on a real server: it opens without a fault in light, dark and at 390 px, passes axe-core,
// asks nobody else for anything; and the ways from page to page that people take.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { axe, launch, settled, visit } from "./browser.mjs";
import { startServer } from "./server.mjs";

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([launch(), startServer()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const on = (path, body, options) => visit(browser, server.url + path, body, options);
const get = async (path, headers = {}) => fetch(server.url + path, { headers });
const json = async (path) => (await get(path)).json();

const PAGES = {
  "/": "Fleet",
  "/hosts/olab-12": "olab-12",
  "/experiments": "Experiments",
  "/experiments/rq": "rq",
  "/compare": "Compare",
  "/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1": "rq_affinity: 0 vs 1",
  "/compare?a=experiment=wakeup-2004,max_sectors_kb=64&b=experiment=wakeup-2004,max_sectors_kb=32&b=experiment=wakeup-2004,max_sectors_kb=16":
    "max_sectors_kb: 64 vs 32, 16",
  "/compare?a=experiment=rq_affinity,rq_affinity=0&b=experiment=rq_affinity,rq_affinity=1":
    "rq_affinity: 0 vs 1",
  "/compare?a=experiment%3D%3E&b=run=r_1": "Compare",
  "/runs": "Runs",
  "/runs?q=experiment=rq&sel=r_6,r_7": "Runs",
  "/runs?q=host=nobody": "Runs",
  "/runs/r_7": "Run r_7",
  "/runs/r_1": "Run r_1",
  "/import": "Import",
  "/docs/api": "API",
  "/problems/not-found": "Problem: not found",
  "/settings": "Settings",
  "/about": "About this server",
};
for (const [path, title] of Object.entries(PAGES))
  test(`${path} opens: light, dark, 390 px; axe-core finds nothing`, () =>
    on(path, async (page) => {
      await page.getByRole("heading", { level: 1, name: title }).waitFor();
      await settled(page);
      assert.match(await page.title(), /rigstat$/);
      assert.deepEqual(await axe(page), [], "light");
      await page.emulateMedia({ colorScheme: "dark" });
      await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
      assert.deepEqual(await axe(page), [], "dark");
      await page.setViewportSize({ width: 390, height: 844 });
      await page.waitForTimeout(150);
      assert.deepEqual(await axe(page), [], "390 px");
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth);
      assert.ok(wide <= 390, `${wide} px wide on a screen of 390`);
    }));

test("an address that is no page says so, with ways out", async () => {
  assert.equal((await get("/nope")).status, 404);
  await on("/runs", async (page) => {
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    await page.evaluate(() => history.pushState(null, "", "/nope"));
    await page.evaluate(() => dispatchEvent(new PopStateEvent("popstate")));
    await page.getByRole("heading", { name: "No such page" }).waitFor();
  });
});

test("two runs are selected and compared; the selection is in the address", () =>
  on("/runs?q=experiment=rq", async (page) => {
    await page.getByLabel("Select r_6").check();
    await page.getByText("Select another one").waitFor();
    await page.getByLabel("Select r_7", { exact: true }).check();
    assert.match(page.url(), /sel=r_6,r_7/);
    await page.reload();
    await page.getByRole("button", { name: "Compare A: r_6 | B: r_7" }).click();
    await page.locator(".verdict").waitFor();
    assert.match(await page.locator(".verdict h2").innerText(), /Not enough runs/);
    await page.goBack();
    await page.getByRole("button", { name: "Compare A: r_6 | B: r_7" }).waitFor();
  }));

test("runs: every column sorts with n/a last both ways, filters are chips, an empty list says why", () =>
  on("/runs", async (page) => {
    await page.locator("table.runs tbody tr").first().waitFor();
    const heads = await page.$$eval("table.runs thead a", (l) =>
      l.map((a) => a.firstChild.textContent),
    );
    assert.ok(heads.length >= 12);
    for (const name of heads) {
      const head = page.locator("table.runs thead a").nth(heads.indexOf(name));
      for (let i = 0; i < 2; i++) {
        const before = page.url();
        await head.click();
        await page.waitForFunction((b) => location.href !== b, before);
        await settled(page);
        const column = await page.$$eval(
          "table.runs tbody tr",
          (rows, at) => rows.map((r) => r.children[at].textContent),
          heads.indexOf(name) + 1,
        );
        const first = column.findIndex((c) => c === "n/a" || c === "unknown" || c === "none");
        if (first >= 0)
          assert.ok(
            column.slice(first).every((c) => ["n/a", "unknown", "none"].includes(c)),
            `${name}: ${column}`,
          );
      }
    }
    await page.getByRole("combobox", { name: "Filter" }).fill("host=nobody");
    await page.keyboard.press("Enter");
    await page.getByText("there are 25 runs without this filter").waitFor();
    await page.getByRole("button", { name: "Remove filter host=nobody" }).click();
    await page.locator("table.runs tbody tr").first().waitFor();
  }));

test("import: paste, dry run, setting, import, the same again, compare, undo", () =>
  on("/import", async (page) => {
    const table = (rows) =>
      `Delay\tCount\n-----\t-----\n${rows.map((r) => r.join("\t")).join("\n")}\n`;
    await page.getByLabel("Experiment").fill("pasted");
    await page.keyboard.press("Tab");
    await page.getByText("or paste text").click();
    for (const rows of [
      [
        [6, 100],
        [7, 50],
      ],
      [
        [8, 90],
        [9, 60],
      ],
    ]) {
      await page.getByLabel("Text to import").fill(table(rows));
      await page.getByRole("button", { name: "Read the text" }).click();
    }
    await page.getByText("Read as").nth(1).waitFor();
    assert.equal(
      (await json("/api/v1/runs?q=experiment=pasted")).items.length,
      0,
      "a dry run stores nothing",
    );
    const settings = page.getByLabel("Setting of this file");
    await settings.nth(0).fill("level=0");
    await page.keyboard.press("Tab");
    await settings.nth(1).fill("level=1");
    await page.keyboard.press("Tab");
    await page.locator(".imports code", { hasText: "level=1" }).waitFor();
    await page.getByRole("button", { name: "Import 2 files" }).click();
    await page.getByRole("link", { name: "Compare level=0 vs level=1" }).waitFor();
    assert.equal((await json("/api/v1/runs?q=experiment=pasted")).items.length, 2);
    await page.getByLabel("Text to import").fill(
      table([
        [6, 100],
        [7, 50],
      ]),
    );
    await page.getByRole("button", { name: "Read the text" }).click();
    await settings.fill("level=0");
    await page.keyboard.press("Tab");
    await page.getByText("already here").waitFor();
    await page.locator(".imports").getByRole("button", { name: "Undo" }).first().click();
    await page.getByText("Undone").waitFor();
    assert.equal((await json("/api/v1/runs?q=experiment=pasted")).items.length, 1);
  }));

test("a file that cannot be read says where it goes wrong", () =>
  on("/import", async (page) => {
    await page.getByText("or paste text").click();
    await page.getByLabel("Text to import").fill("Delay\tCount\n-----\t-----\n6\t2257\n7\t12x\n");
    await page.getByRole("button", { name: "Read the text" }).click();
    const text = await page.getByRole("alert").innerText();
    assert.match(text, /pasted\.txt:4:\d/);
    assert.match(text, /12x/);
    assert.ok(await page.getByRole("button", { name: "Import 0 files" }).isDisabled());
  }));

test("a run is excluded with a reason and counted again; both are said everywhere", () =>
  on("/runs/r_6", async (page) => {
    await page.getByRole("button", { name: "Exclude …" }).click();
    await page.getByLabel("Reason for excluding the run").fill("fan failed");
    await page.keyboard.press("Enter");
    await page.getByText("Excluded from comparisons:").waitFor();
    await page.goto(`${server.url}/experiments/rq`);
    await page.getByText("fan failed").waitFor();
    await page.goto(`${server.url}/runs/r_6`);
    await page.getByRole("button", { name: "Count it again" }).click();
    await page.getByRole("button", { name: "Exclude …" }).waitFor();
  }));

test("a pin keeps the page: its address is short, and it is listed where one starts", () =>
  on("/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1", async (page) => {
    await page.getByRole("button", { name: "Pin" }).click();
    await page.waitForURL(/\/c\/[0-9A-Z]+$/);
    assert.ok(new URL(page.url()).pathname.length <= 32);
    await page.locator(".verdict").waitFor();
    await page.getByText("fixed runs, fixed result").waitFor();
    const before = await (
      await get(`/api/v1/comparisons/${page.url().split("/").pop()}?format=result`)
    ).text();
    assert.ok(before.includes('"verdict"'));
    assert.deepEqual(await axe(page), []);
    const path = new URL(page.url()).pathname;
    await page.goto(`${server.url}/compare`);
    await page.locator(`a[href="${path}"]`).click();
    await page.locator(".verdict").waitFor();
  }));

test("experiment: cells, order of runs, and the way to the comparison", () =>
  on("/experiments", async (page) => {
    await page.getByRole("link", { name: "rq", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "rq" }).waitFor();
    await page.locator(".strip a").nth(19).waitFor(); // the runs come after the heading
    const strip = await page.$$eval(".strip a", (l) => l.map((a) => a.textContent).join(""));
    assert.equal(strip, "AB".repeat(10));
    await page.getByRole("link", { name: "Compare the levels" }).click();
    await page.getByRole("heading", { level: 1, name: "rq_affinity: 0 vs 1" }).waitFor();
  }));

test("the API page describes every operation and tries a GET", () =>
  on("/docs/api", async (page) => {
    const doc = await json("/api/v1/openapi.json");
    const ids = Object.values(doc.paths).flatMap((p) =>
      Object.values(p).flatMap((o) => (o.operationId ? [o.operationId] : [])),
    );
    await page.locator(".op").first().waitFor();
    const shown = await page.$$eval(".op", (l) => l.map((d) => d.id.replace(/^op-/, "")));
    assert.deepEqual([...shown].sort(), [...ids].sort());
    await page.locator("#op-runs > summary").click();
    await page.locator("#op-runs").getByLabel("limit").fill("1");
    await page.locator("#op-runs").getByRole("button", { name: "Send" }).click();
    await page.locator("#op-runs [aria-label=Answer]").waitFor();
    assert.equal(
      JSON.parse(await page.locator("#op-runs [aria-label=Answer]").innerText()).items.length,
      1,
    );
    assert.deepEqual(await axe(page), []);
  }));

test("a metric's margin is a person's choice, and comparisons use it", () =>
  on("/settings", async (page) => {
    await page.getByRole("button", { name: "Change wake-up latency", exact: true }).click();
    await page.getByLabel("Margin in percent").fill("15");
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("edited").waitFor();
    const doc = await json(
      "/api/v1/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1",
    );
    assert.equal(doc.metric.margin_rel, 0.15);
    await page.getByRole("button", { name: "Change wake-up latency", exact: true }).click();
    await page.getByLabel("Margin in percent").fill("1");
    await page.keyboard.press("Enter");
    await page.waitForFunction(
      async () =>
        (await (await fetch("/api/v1/metrics-catalog/wakeup_latency")).json()).margin_rel === 0.01,
    );
  }));

test("keys: help, going places, and they can be switched off", () =>
  on("/about", async (page) => {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await axe(page), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.keyboard.press("u");
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
    await page.keyboard.press("/");
    await page.keyboard.type("olab-12");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /q=host~olab-12/.test(location.search));
    await page.locator("table.runs tbody tr").first().waitFor();
    await page.getByRole("button", { name: "Help and keys" }).click();
    await page.getByLabel("single-key shortcuts").uncheck();
    await page.getByRole("button", { name: "Close" }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("f");
    await page.waitForTimeout(200);
    assert.match(page.url(), /\/runs/);
  }));

test("theme and time zone are chosen and kept", () =>
  on(
    "/runs",
    async (page) => {
      const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
      assert.equal(await theme(), "light");
      await page.getByRole("button", { name: "Theme: auto" }).click();
      await page.getByRole("button", { name: "Theme: light" }).click();
      assert.equal(await theme(), "dark");
      await page.reload();
      assert.equal(await theme(), "dark");
      await page.locator("time").first().waitFor();
      const utc = await page.locator("time").first().innerText();
      await page.getByRole("button", { name: "UTC" }).click();
      await page.getByRole("button", { name: "+05:30" }).waitFor();
      assert.notEqual(await page.locator("time").first().innerText(), utc);
      await page.goto(`${server.url}/runs?tz=utc`);
      assert.equal(await page.locator("time").first().innerText(), utc);
    },
    { timezoneId: "Asia/Kolkata" },
  ));

test("headers: hashed files are immutable and compressed, tags are strong, the policy is strict", async () => {
  const html = await get("/compare");
  assert.equal(
    html.headers.get("content-security-policy"),
    "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'",
  );
  assert.equal(html.headers.get("x-content-type-options"), "nosniff");
  assert.equal(html.headers.get("referrer-policy"), "same-origin");
  assert.match(html.headers.get("cache-control"), /no-cache/);
  const text = await html.text();
  assert.doesNotMatch(text, /https?:\/\//);
  const assets = [...text.matchAll(/"(\/assets\/[^"]+)"/g)].map((m) => m[1]);
  assert.equal(assets.length, 3);
  let js = 0;
  for (const path of assets) {
    const plain = await get(path, { "Accept-Encoding": "identity" });
    const etag = plain.headers.get("etag");
    assert.match(plain.headers.get("cache-control"), /immutable/);
    assert.match(etag, /^"[0-9a-f]{32}"$/);
    assert.equal(
      (await get(path, { "If-None-Match": etag, "Accept-Encoding": "identity" })).status,
      304,
    );
    const zipped = await rawGet(path);
    assert.equal(zipped.headers["content-encoding"], "gzip");
    assert.notEqual(zipped.headers.etag, etag);
    assert.equal(gunzipSync(zipped.body).toString(), await plain.text());
    if (path.endsWith(".js")) js += zipped.body.length;
  }
  console.log(`# JavaScript: ${js} bytes gzip`);
  assert.ok(js <= 120 * 1024);
  assert.equal((await get("/assets/none.js")).status, 404);
});

async function rawGet(path) {
  const http = await import("node:http");
  return new Promise((done, fail) => {
    http
      .get(server.url + path, { headers: { "Accept-Encoding": "gzip" } }, (res) => {
        const parts = [];
        res.on("data", (d) => parts.push(d));
        res.on("end", () => done({ headers: res.headers, body: Buffer.concat(parts) }));
      })
      .on("error", fail);
  });
}

test("the server knows the same pages as the program", () => {
  const source = readFileSync(new URL("../../web/src/pages/index.tsx", import.meta.url), "utf8");
  const routes = readFileSync(new URL("../../server/routes.c", import.meta.url), "utf8");
  const pages = [...source.matchAll(/pattern: \/\^(.+?)\$\/,/g)].map((m) =>
    m[1].replace(/\\\//g, "/").replace(/\(\[\^\/\]\+\)/g, "{}"),
  );
  const served = [...routes.matchAll(/"([^"]+)", SCOPE_NONE, 0, 0, assets_page/g)].map((m) =>
    m[1].replace(/\{\w+\}/g, "{}"),
  );
  assert.ok(pages.length >= 12);
  assert.deepEqual(pages.sort(), served.sort());
});
