// SPDX-License-Identifier: GPL-2.0-or-later
// Pages that follow the server: changes without a reload, one stream for all tabs, a loss that is seen
// at once, and going on after a restart.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { axe, launch, open, settled } from "./browser.mjs";
import { startServer } from "./server.mjs";

let browser, server;
before(async () => {
  [browser, server] = await Promise.all([launch(), startServer()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

const patch = async (path, body) => {
  const r = await fetch(server.url + path, {
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(r.status, 200, await r.text());
};
const watchers = async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(/^rigstat_live_watchers (\d+)/m.exec(text)[1]);
};
async function until(what, condition, ms = 20000) {
  for (const end = Date.now() + ms; !(await condition()); ) {
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((r) => setTimeout(r, 100));
  }
}

test("an exclusion made elsewhere appears on the run, the experiment and the list, without a reload", async () => {
  const { page, faults, context } = await open(browser);
  const [experiment, list] = [await context.newPage(), await context.newPage()];
  await page.goto(`${server.url}/runs/r_6`);
  await experiment.goto(`${server.url}/experiments/rq`);
  await list.goto(`${server.url}/runs?q=experiment=rq`);
  await settled(page);
  await experiment.locator(".strip a").nth(19).waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await patch("/api/v1/runs/r_6", { excluded: "fan failed" });
  await page.bringToFront();
  await page.getByText("Excluded from comparisons:").waitFor();
  await experiment.bringToFront();
  await experiment.getByText("fan failed").waitFor();
  await list.bringToFront();
  await list.locator("table.runs").getByText("excluded").first().waitFor();
  await patch("/api/v1/runs/r_6", { excluded: null });
  await page.bringToFront();
  await page.getByRole("button", { name: "Exclude …" }).waitFor();
  assert.deepEqual(faults, []);
});

test("ten tabs share one stream, and another tab takes over when the leader is closed", async () => {
  const { page, context } = await open(browser);
  await until("the streams before are gone", async () => (await watchers()) === 0);
  await page.goto(`${server.url}/`);
  await page.getByText("live", { exact: true }).waitFor();
  const tabs = [];
  for (const path of ["/", "/runs", "/experiments", "/hosts/olab-12", "/runs/r_6", "/experiments/rq"])
    tabs.push(await context.newPage().then((p) => p.goto(server.url + path).then(() => p)));
  for (let i = 0; i < 3; i++)
    tabs.push(await context.newPage().then((p) => p.goto(`${server.url}/runs`).then(() => p)));
  await tabs[8].getByText("live", { exact: true }).waitFor();
  // The stream is opened anew when a tab wants more; the server finds the old one's end within a beat.
  await until("one stream", async () => (await watchers()) === 1);
  await page.close(); // what changes while nobody leads is not missed
  await patch("/api/v1/hosts/olab-12", { note: "moved to rack 7" });
  await tabs[3].bringToFront();
  await tabs[3].getByText("moved to rack 7").waitFor();
});

test("where the page is not secure, tabs elect a leader by a lease", async () => {
  const { page, context } = await open(browser);
  await context.addInitScript(() =>
    Object.defineProperty(navigator, "locks", { value: undefined }),
  );
  await until("the streams before are gone", async () => (await watchers()) === 0);
  const other = await context.newPage();
  await page.goto(`${server.url}/`);
  await other.goto(`${server.url}/runs`);
  await page.getByText("live", { exact: true }).waitFor();
  await other.getByText("live", { exact: true }).waitFor();
  await until("one stream", async () => (await watchers()) === 1);
  await page.close();
  await other.bringToFront();
  await patch("/api/v1/runs/r_7", { tags: { seen: "yes" } });
  await until("the other leads", async () => (await watchers()) === 1, 15000);
});

test("a restart of the server: not live at once, then live again with what has changed", async () => {
  const { page } = await open(browser);
  await page.goto(`${server.url}/hosts/olab-12`);
  await page.getByText("live", { exact: true }).waitFor();
  await server.down();
  await page.getByText("not live", { exact: true }).waitFor({ timeout: 3000 });
  await page.getByText("the server does not answer").waitFor();
  assert.deepEqual(await axe(page), []);
  await server.up();
  await patch("/api/v1/hosts/olab-12", { note: "new power supply" });
  await page.getByText("live", { exact: true }).waitFor({ timeout: 30000 });
  await page.getByText("new power supply").waitFor();
  assert.equal(await page.locator(".stalled-note").count(), 0);
});

test("a server that falls silent is found out, and reading goes on", async () => {
  const { startMock } = await import("./mock.mjs");
  const mock = await startMock();
  const { page } = await open(browser);
  await page.clock.install();
  await page.goto(`${mock.url}/runs`);
  await page.getByText("live", { exact: true }).waitFor();
  await page.clock.runFor(14000); // the mock never beats
  await page.getByText("not live", { exact: true }).waitFor();
  await page.getByText("nothing is heard").waitFor();
  await page.locator("table.runs tbody tr").first().waitFor();
  mock.close();
});
