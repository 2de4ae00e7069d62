// SPDX-License-Identifier: GPL-2.0-or-later
// "What did the CPUs do?" on a real server: runs whose profiles are known, compared and shown.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { axe, launch, visit } from "./browser.mjs";
import { startServer } from "./server.mjs";

let browser, server;
const A = "experiment=prof,engine=sync";
const B = "experiment=prof,engine=uring";
const COMPARE = `/compare?a=${A}&b=${B}`;

/** Sync writes by buffered ext4; uring spends less on it and shows a symbol that sync never kept. */
function profile(block, uring) {
  const wobble = 1 + 0.02 * Math.sin(7 * block + (uring ? 2 : 0));
  const value = (metric, v, labels = {}) => ({
    metric,
    kind: "value",
    unit: "%",
    value: v * wobble,
    labels,
    method: "rigstat-shares-time/1",
  });
  const symbols = {
    ext4_mark_inode_dirty: uring ? 3.1 : 5.4,
    copy_user_enhanced_fast_string: uring ? 8.2 : 12.6,
    _raw_spin_unlock_irqrestore: 4.1,
    ...(uring ? { io_submit_sqes: 6.3 } : { ksys_pwrite64: 2.2 }),
  };
  for (let i = Object.keys(symbols).length; i < 20; i++) symbols[`do_work_${i}`] = 2 - 0.08 * i;
  const order = 2 * block + 1 + (block % 2 ? Number(!uring) : Number(uring));
  return {
    uid: (0xb0000000 + 2 * block + Number(uring)).toString(16).padStart(32, "0"),
    kind: "measured",
    state: "ok",
    host: "olab-12",
    experiment: "prof",
    factors: { engine: uring ? "uring" : "sync" },
    started: new Date(Date.UTC(2026, 10, 30, 10, order)).toISOString(),
    order,
    block: block + 1,
    series: [
      { metric: "elapsed", kind: "value", unit: "ns", value: (uring ? 8.1e9 : 9.2e9) * wobble },
      value("time_idle", 40),
      value("time_unattributed", 0),
      value("time_agent", 0.12),
      value("time_share", 61, { app: "fio" }),
      value("time_object", uring ? 24 : 19, { object: "/usr/bin/fio" }),
      value("time_object", 9, { object: "/usr/lib/x86_64-linux-gnu/libc.so.6" }),
      value("time_command", 61, { comm: "fio" }),
      value("time_command", uring ? 6 : 2.5, { comm: "iou-wrk-812" }),
      ...Object.entries(symbols).map(([symbol, v]) => value("time_symbol", v, { symbol })),
    ],
  };
}

before(async () => {
  [browser, server] = await Promise.all([launch(), startServer()]);
  const runs = [0, 1, 2, 3, 4, 5].flatMap((b) => [profile(b, false), profile(b, true)]);
  const reply = await fetch(`${server.url}/api/v1/runs`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Requested-With": "rigstat" },
    body: JSON.stringify({ runs }),
  });
  assert.equal(reply.status, 201, await reply.text());
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const on = (path, body, options) => visit(browser, server.url + path, body, options);

const panel = (page) => page.getByRole("region", { name: "What did the CPUs do?" });
async function shown(page) {
  await panel(page).scrollIntoViewIfNeeded();
  await panel(page).locator("table.profile").first().waitFor();
}
const shot = async (page, name) => {
  if (process.env.SHOTS)
    await panel(page).screenshot({ path: `${process.env.SHOTS}/${name}.png` });
};
const row = (page, name) =>
  panel(page).getByRole("row").filter({ has: page.getByText(name, { exact: true }) });

test("the panel names what moved, largest first, with bounds for what a side did not keep", () =>
  on(COMPARE, async (page) => {
    await shown(page);
    const doc = await (
      await fetch(`${server.url}/api/v1/profile/diff?a=${A}&b=${B}`)
    ).json();
    assert.match(await panel(page).locator(".sentence").innerText(), /rose|fell/);
    const names = await panel(page)
      .locator("table.profile")
      .first()
      .locator("tbody th code")
      .allInnerTexts();
    const code = doc.tables.find((t) => t.name === "code");
    assert.deepEqual(names.slice(0, 4), code.rows.slice(0, 4).map((r) => r.name));
    assert.match(await row(page, "io_submit_sqes").innerText(), /≤ 0\.\d+ %/);
    assert.match(await row(page, "io_submit_sqes").innerText(), /≥ \+\d/);
    assert.match(await row(page, "io_submit_sqes").innerText(), /rose/);
    assert.match(await row(page, "copy_user_enhanced_fast_string").innerText(), /fell/);
    const before = await panel(page).getByRole("row").count();
    await panel(page).getByRole("button", { name: /Show all \d+ names/ }).first().click();
    assert.ok((await panel(page).getByRole("row").count()) > before);
  }));

test("the panel in light, dark and at 390 px passes axe and stays inside the page", async () => {
  const views = [
    ["light", {}],
    ["dark", { colorScheme: "dark" }],
    ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ];
  for (const [name, options] of views)
    await on(
      COMPARE,
      async (page) => {
        await shown(page);
        await shot(page, `profile-${name}`);
        assert.deepEqual(await axe(page), [], name);
        const wide = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(wide, 0, `${name}: the page scrolls sideways`);
      },
      options,
    );
});

test("the profile is asked for only when its panel comes into view", () =>
  on(COMPARE, async (page) => {
    const asked = [];
    page.on("request", (r) => r.url().includes("/profile/diff") && asked.push(r.url()));
    await page.setViewportSize({ width: 1280, height: 300 });
    await page.reload();
    await page.locator(".verdict").waitFor();
    await page.waitForTimeout(300);
    assert.equal(asked.length, 0);
    await shown(page);
    assert.equal(asked.length, 1);
  }));

test("runs without a profile say so in one sentence", () =>
  on(
    "/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1",
    async (page) => {
      await panel(page).scrollIntoViewIfNeeded();
      await panel(page).getByText(/No profile: no run of either side was sampled/).waitFor();
    },
  ));

test("of several sides one is chosen, and a side that is no comparison says why", () =>
  on(`${COMPARE}&b=${A}`, async (page) => {
    await shown(page);
    assert.match(await row(page, "io_submit_sqes").innerText(), /rose/);
    await panel(page).getByLabel("A against").selectOption("2");
    await panel(page).getByText(/on both sides/).first().waitFor();
    assert.match(page.url(), /profile=2/);
    assert.match(await panel(page).locator(".sentence").innerText(), /^Not comparable/);
    assert.equal(await row(page, "io_submit_sqes").count(), 0);
  }));

test("a pinned comparison shows the profiles of its own runs", () =>
  on(COMPARE, async (page) => {
    await page.getByRole("button", { name: "Pin" }).click();
    await page.waitForURL(/\/c\//);
    await shown(page);
    assert.match(await panel(page).innerText(), /from the runs of this pin/);
    assert.match(await row(page, "io_submit_sqes").innerText(), /rose/);
  }));

test("the page of a run shows its profile, largest first", () =>
  on("/runs?q=experiment=prof", async (page) => {
    const { items } = await (
      await fetch(`${server.url}/api/v1/runs?q=experiment=prof,engine=sync`)
    ).json();
    await page.goto(`${server.url}/runs/${items[0].id}`);
    const ranking = page.getByRole("region", { name: "CPU time by kernel symbol" });
    await ranking.waitFor();
    assert.equal(
      await ranking.locator("tbody th").first().innerText(),
      "copy_user_enhanced_fast_string",
    );
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/run.png`, fullPage: true });
  }));
