// SPDX-License-Identifier: GPL-2.0-or-later
// States that a real server is hard to bring into, on the mock: slow, failing, unreachable, odd data.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { axe, launch, open } from "./browser.mjs";
import { startMock } from "./mock.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const RQ = "/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1";
const fixture = () => JSON.parse(readFileSync(new URL("fixtures/compare-full.json", import.meta.url)));

async function on(path, overrides, body, options) {
  const mock = await startMock(0, overrides);
  const { page, faults, context } = await open(browser, options);
  try {
    await page.goto(mock.url + path);
    await body(page, mock);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
    mock.close();
  }
}

test("slow: nothing at first, a skeleton, after 2 s a sentence with Cancel, and Retry after it", () => {
  let slow = true;
  return on(RQ, { "/api/v1/compare": async () => (slow ? new Promise(() => {}) : fixture()) }, async (page) => {
    await page.locator(".skeleton").waitFor({ state: "attached" });
    await page.getByText("Still comparing the runs").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("heading", { name: "Cancelled" }).waitFor();
    slow = false;
    await page.getByRole("button", { name: "Retry" }).click();
    await page.locator(".verdict").waitFor();
  });
});

test("a failure names the problem, the hint and the request, and the pickers stay usable", () =>
  on(RQ, { "/api/v1/compare": () => ({ type: "/problems/busy", status: 503, title: "Busy: try again later", detail: "All query connections are in use.", hint: "Try again in a few seconds.", request_id: "r77" }) }, async (page) => {
    const alert = page.getByRole("alert");
    await alert.waitFor();
    for (const text of ["Busy: try again later", "All query connections are in use.", "Try again in a few seconds.", "r77"]) assert.ok((await alert.innerText()).includes(text));
    assert.ok(await page.locator("#side-a").isEditable());
    assert.deepEqual(await axe(page), []);
  }));

test("unreachable: said in words, and Retry works when it is back", async () => {
  const mock = await startMock(0, {});
  const { page, context } = await open(browser);
  await page.goto(mock.url + "/runs");
  await page.locator("table.runs").waitFor();
  await page.route("**/api/v1/runs?**", (r) => r.abort());
  await page.locator("table.runs thead a", { hasText: "started" }).click();
  await page.getByRole("heading", { name: "The server cannot be reached" }).waitFor();
  await page.unroute("**/api/v1/runs?**");
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator("table.runs").waitFor();
  await context.close();
  mock.close();
});

test("blame beside the hypothesis, lost samples beside the side, what varies within a side", () =>
  on(RQ, {}, async (page) => {
    await page.locator(".verdict").waitFor();
    const tail = await page.locator("section[aria-labelledby=tail-title]").innerText();
    for (const text of ["from the shape alone", "recorded on the box", "irq 142-nvme0q8", "61.0 %", "41 of 388"]) assert.ok(tail.includes(text), text);
    assert.match(await page.locator(".side-facts").innerText(), /212 lost/);
    assert.match(await page.locator("#environment").innerText(), /varies within B/);
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(100);
      assert.deepEqual(await axe(page), [], scheme);
    }
  }));

test("not comparable: the blocking item is named, and Compare anyway asks for it", () => {
  const blocked = fixture();
  blocked.verdict = { word: "not_comparable", sentence: "Not comparable: the CPU model differs.", primary: "p99", reasons: [{ code: "environment", text: "cpu.model: AMD EPYC 7543 / Intel Xeon Gold 6338" }] };
  blocked.environment.blocking = [{ key: "cpu.model", a: "AMD EPYC 7543", b: "Intel Xeon Gold 6338" }];
  return on(RQ, { "/api/v1/compare": (q) => (q.get("anyway") ? fixture() : blocked) }, async (page) => {
    await page.getByText("Not comparable").first().waitFor();
    assert.match(await page.locator("#environment").innerText(), /blocks[\s\S]*cpu\.model/);
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Compare anyway" }).click();
    await page.waitForFunction(() => /anyway=1/.test(location.search) && /Mixed/.test(document.querySelector(".verdict h2").textContent));
  });
});

test("every reading and verdict has its word", () => {
  const doc = fixture();
  const readings = ["better", "worse", "same", "unclear", "below_margin", "not_enough_runs", "not_resolvable", "higher", "lower"];
  readings.forEach((r, i) => (doc.rows[i].delta.reading = r));
  return on(RQ, { "/api/v1/compare": () => doc }, async (page) => {
    await page.locator("table.compare").waitFor();
    const words = await page.$$eval("td.reading .word", (l) => l.map((e) => e.textContent.replace(/^\S+ /, "")));
    assert.deepEqual([...words].sort(), ["below the margin", "better", "higher", "lower", "not judged", "same", "too few runs", "unclear", "worse"]);
    assert.deepEqual(await axe(page), []);
  });
});

test("text from files cannot become markup", () => {
  const doc = fixture();
  const evil = '<img src=x onerror="console.error(1)">';
  doc.verdict.sentence = evil;
  doc.a.factors = { [evil]: evil };
  doc.environment.unexpected[0].key = evil;
  doc.tail.blame.causes[0].name = evil;
  return on(RQ, { "/api/v1/compare": () => doc }, async (page) => {
    await page.locator(".verdict").waitFor();
    assert.ok((await page.locator(".verdict .sentence").innerText()).includes("<img"));
    assert.equal(await page.locator("img").count(), 0);
  });
});

test("an empty installation leads to a first verdict", () =>
  on(
    "/",
    {
      "/api/v1/hosts": () => ({ items: [], next: null }),
      "/api/v1/experiments": () => ({ items: [], next: null }),
      "/api/v1/status": () => ({ version: "0.1.0", method: 1, now: null, database: { version: "15.8", bytes: 1, schema: 2 }, counts: { demo_runs: 0 } }),
    },
    async (page) => {
      await page.getByRole("heading", { name: "Three steps to a first verdict" }).waitFor();
      await page.getByText("rigstat-agent run --server").waitFor();
      assert.deepEqual(await axe(page), []);
    },
  ));

test("fleet: stale, offline and lossy boxes need attention and say why; every column sorts", () => {
  const host = (name, state, extra = {}) => ({ name, state, last_seen: "2026-11-30T20:00:00Z", age_ns: 1e9, agent_version: "0.1.0", kernel: "6.12.9", runs: 3, last_run: null, tags: {}, note: null, lost_1h: 0, ...extra });
  const items = [host("a1", "online"), host("b2", "stale"), host("c3", "offline", { kernel: null }), host("d4", "online", { lost_1h: 212, last_run: { id: "r_9", state: "running", started: "2026-11-30T20:00:00Z", experiment: "rq", factors: { x: "1" } } })];
  return on("/", { "/api/v1/hosts": () => ({ items, next: null }) }, async (page) => {
    const need = page.locator("section[aria-labelledby=attention-title]");
    await need.waitFor();
    const text = await need.innerText();
    assert.match(text, /b2 is stale/);
    assert.match(text, /c3 is offline/);
    assert.match(text, /d4 lost 212 samples/);
    const names = () => page.$$eval("section[aria-labelledby=hosts-title] tbody th", (l) => l.map((e) => e.textContent));
    assert.deepEqual(await names(), ["c3", "b2", "d4", "a1"]);
    await page.locator("thead a", { hasText: "kernel" }).click();
    await page.waitForFunction(() => /sort=kernel/.test(location.search));
    assert.equal((await names()).at(-1), "c3");
    await page.locator("thead a", { hasText: "kernel" }).click();
    await page.waitForFunction(() => /sort=-kernel/.test(location.search));
    assert.equal((await names()).at(-1), "c3");
    assert.deepEqual(await axe(page), []);
  });
});
