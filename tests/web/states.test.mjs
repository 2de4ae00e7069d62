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
const fixture = () =>
  JSON.parse(readFileSync(new URL("fixtures/compare-full.json", import.meta.url)));

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
  return on(
    RQ,
    { "/api/v1/compare": async () => (slow ? new Promise(() => {}) : fixture()) },
    async (page) => {
      await page.locator(".skeleton").waitFor({ state: "attached" });
      await page.getByText("Still comparing the runs").waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("heading", { name: "Cancelled" }).waitFor();
      slow = false;
      await page.getByRole("button", { name: "Retry" }).click();
      await page.locator(".verdict").waitFor();
    },
  );
});

test("a failure names the problem, the hint and the request, and the pickers stay usable", () =>
  on(
    RQ,
    {
      "/api/v1/compare": () => ({
        type: "/problems/busy",
        status: 503,
        title: "Busy: try again later",
        detail: "All query connections are in use.",
        hint: "Try again in a few seconds.",
        request_id: "r77",
      }),
    },
    async (page) => {
      const alert = page.getByRole("alert");
      await alert.waitFor();
      for (const text of [
        "Busy: try again later",
        "All query connections are in use.",
        "Try again in a few seconds.",
        "r77",
      ])
        assert.ok((await alert.innerText()).includes(text));
      assert.ok(await page.locator("#side-a").isEditable());
      assert.deepEqual(await axe(page), []);
    },
  ));

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
    for (const text of [
      "from the shape alone",
      "recorded on the box",
      "irq 142-nvme0q8",
      "61.0 %",
      "41 of 388",
    ])
      assert.ok(tail.includes(text), text);
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
  blocked.verdict = {
    word: "not_comparable",
    sentence: "Not comparable: the CPU model differs.",
    primary: "p99",
    reasons: [{ code: "environment", text: "cpu.model: AMD EPYC 7543 / Intel Xeon Gold 6338" }],
  };
  blocked.environment.blocking = [
    { key: "cpu.model", a: "AMD EPYC 7543", b: "Intel Xeon Gold 6338" },
  ];
  return on(
    RQ,
    { "/api/v1/compare": (q) => (q.get("anyway") ? fixture() : blocked) },
    async (page) => {
      await page.getByText("Not comparable").first().waitFor();
      assert.match(await page.locator("#environment").innerText(), /blocks[\s\S]*cpu\.model/);
      assert.deepEqual(await axe(page), []);
      await page.getByRole("button", { name: "Compare anyway" }).click();
      await page.waitForFunction(
        () =>
          /anyway=1/.test(location.search) &&
          /Mixed/.test(document.querySelector(".verdict h2").textContent),
      );
    },
  );
});

test("every reading and verdict has its word", () => {
  const doc = fixture();
  const readings = [
    "better",
    "worse",
    "same",
    "unclear",
    "below_margin",
    "not_enough_runs",
    "not_resolvable",
    "higher",
    "lower",
  ];
  readings.forEach((r, i) => (doc.rows[i].delta.reading = r));
  return on(RQ, { "/api/v1/compare": () => doc }, async (page) => {
    await page.locator("table.compare").waitFor();
    const words = await page.$$eval("td.reading .word", (l) =>
      l.map((e) => e.textContent.replace(/^\S+ /, "")),
    );
    assert.deepEqual([...words].sort(), [
      "below the margin",
      "better",
      "higher",
      "lower",
      "not judged",
      "same",
      "too few runs",
      "unclear",
      "worse",
    ]);
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
      "/api/v1/status": () => ({
        version: "0.1.0",
        method: 1,
        now: null,
        database: { version: "15.8", bytes: 1, schema: 2 },
        counts: { demo_runs: 0 },
      }),
    },
    async (page) => {
      await page.getByRole("heading", { name: "Three steps to a first verdict" }).waitFor();
      await page.getByText("rigstat-agent run --server").waitFor();
      assert.deepEqual(await axe(page), []);
    },
  ));

test("fleet: stale, offline and lossy boxes need attention and say why; every column sorts", () => {
  const host = (name, state, extra = {}) => ({
    name,
    state,
    last_seen: "2026-11-30T20:00:00Z",
    age_ns: 1e9,
    agent_version: "0.1.0",
    kernel: "6.12.9",
    runs: 3,
    last_run: null,
    tags: {},
    note: null,
    lost_1h: 0,
    ...extra,
  });
  const items = [
    host("a1", "online"),
    host("b2", "stale"),
    host("c3", "offline", { kernel: null }),
    host("d4", "online", {
      lost_1h: 212,
      last_run: {
        id: "r_9",
        state: "running",
        started: "2026-11-30T20:00:00Z",
        experiment: "rq",
        factors: { x: "1" },
      },
    }),
  ];
  return on("/", { "/api/v1/hosts": () => ({ items, next: null }) }, async (page) => {
    const need = page.locator("section[aria-labelledby=attention-title]");
    await need.waitFor();
    const text = await need.innerText();
    assert.match(text, /b2 is stale/);
    assert.match(text, /c3 is offline/);
    assert.match(text, /d4 lost 212 samples/);
    const names = () =>
      page.$$eval("section[aria-labelledby=hosts-title] tbody th", (l) =>
        l.map((e) => e.textContent),
      );
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

test("a server that asks for a token gets one, and the page goes on", () => {
  let token = "";
  const locked = () =>
    token
      ? { items: [], next: null }
      : {
          type: "/problems/auth-missing",
          status: 401,
          title: "A token is needed",
          detail: "This server wants a token.",
          request_id: "r1",
        };
  return on(
    "/experiments",
    {
      "/api/v1/experiments": locked,
      "POST /api/v1/session": (_, body) => ((token = JSON.parse(body).token), null),
    },
    async (page) => {
      await page.getByRole("heading", { name: "A token is needed" }).waitFor();
      assert.deepEqual(await axe(page), []);
      await page.getByLabel("Token").fill("rs_abc_secret");
      await page.keyboard.press("Enter");
      await page.getByText("No experiment yet").waitFor();
      assert.equal(token, "rs_abc_secret");
      assert.ok(!page.url().includes("secret"));
      assert.equal(
        await page.evaluate(() => JSON.stringify(localStorage).includes("secret")),
        false,
      );
    },
  );
});

test("tokens are made, shown once and revoked", () => {
  const made = {
    id: "t1",
    name: "agent",
    scopes: ["ingest"],
    host: null,
    created: "2026-11-30T20:00:00Z",
    expires: null,
    revoked: null,
    last_used: null,
  };
  const list = [];
  let asked = null;
  const overrides = {
    "/api/v1/tokens": () => ({ items: list, next: null }),
    "POST /api/v1/tokens": (_, body) => (
      (asked = JSON.parse(body)),
      list.push(made),
      { id: "t1", token: "rs_t1_s3cret" }
    ),
    "DELETE /api/v1/tokens/t1": () => ((made.revoked = "2026-11-30T20:01:00Z"), null),
  };
  return on("/settings", overrides, async (page) => {
    await page.getByText("There are no tokens").waitFor();
    await page.getByText("New token").click();
    await page.getByLabel("Name").fill("agent");
    await page.getByLabel("read", { exact: true }).uncheck();
    await page.getByLabel("ingest", { exact: true }).check();
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("rs_t1_s3cret").waitFor();
    assert.deepEqual(asked, { name: "agent", scopes: ["ingest"], expires_days: 90 });
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.locator(".badge", { hasText: "revoked" }).waitFor();
  });
});

const BOX = {
  name: "olab-12",
  state: "online",
  last_seen: "2026-11-30T20:00:00Z",
  age_ns: 1e9,
  agent_version: "0.1.0",
  kernel: "6.12.9",
  runs: 3,
  last_run: null,
  tags: {},
  note: null,
  lost_1h: 0,
  environment: null,
};

test("an experiment is asked from the form: the plan, its length, the same as a command, a refusal", () => {
  let asked = null;
  const overrides = {
    "/api/v1/hosts": () => ({ items: [BOX], next: null }),
    "POST /api/v1/experiments": (_, body) => {
      asked = JSON.parse(body);
      return {
        type: "/problems/invalid",
        status: 400,
        title: "The request cannot be understood",
        detail: "'fio' is not a workload of olab-12",
        request_id: "r2",
      };
    },
  };
  return on("/experiments?new=1", overrides, async (page) => {
    await page.getByLabel("Name", { exact: true }).fill("rq");
    await page.getByLabel("Factor", { exact: true }).fill("rq_affinity");
    await page.getByLabel("Levels").fill("0, 1");
    await page.getByLabel("Tunable").fill("rq_affinity");
    await page.getByLabel("Workload").fill("fio");
    await page.getByLabel("olab-12").check();
    await page.getByText("2 combinations × 10 runs, at least 10 min 40 s").waitFor();
    await page.getByText("The same from a shell").click();
    await page.getByText("--tune rq_affinity=rq_affinity").waitFor();
    assert.deepEqual(await axe(page), []);
    await page.getByLabel("Order").selectOption("sequential");
    await page.getByText("cannot be told from what the factor does").waitFor();
    await page.getByRole("button", { name: "Ask olab-12" }).click();
    await page.getByText("'fio' is not a workload of olab-12").waitFor();
    assert.deepEqual(asked.factors, [
      { name: "rq_affinity", levels: ["0", "1"], tune: "rq_affinity" },
    ]);
    assert.equal(asked.order, "sequential");
    assert.equal(asked.workload, "fio");
  });
});

test("a watched box: the heat map is read by keyboard, as a table and as CSV", () => {
  const run = {
    id: "r_5",
    uid: "0".repeat(32),
    host: "olab-12",
    experiment: null,
    experiment_id: null,
    kind: "watch",
    state: "running",
    started: "2026-11-30T19:00:00Z",
    ended: null,
    measured_ns: null,
    factors: {},
    tags: {},
    order: null,
    block: null,
    excluded: null,
    metrics: ["wakeup_latency"],
    demo: false,
    summary: null,
  };
  const n = 30;
  const at = (f) => Array.from({ length: n }, (_, i) => f(i));
  const edges = Array.from({ length: 41 }, (_, i) => Math.round(1000 * 10 ** (i / 10)));
  const heat = {
    host: "olab-12",
    metric: "wakeup_latency",
    unit: "ns",
    labels: {},
    from: "2026-11-30T19:00:00Z",
    to: "2026-11-30T20:00:00Z",
    step_ns: 60e9,
    source: "minutes",
    t: at((i) => i),
    count: at(() => 60000),
    lost: at((i) => (i === 3 ? 17 : 0)),
    overflow: at(() => 0),
    negative: at(() => 0),
    p50: at(() => 6400),
    p99: at((i) => 11600 + 100 * i),
    max: at((i) => 60000 + 9000 * (i % 7)),
    edges,
    counts: at((i) =>
      edges.slice(1).map((_, r) => Math.round(6e4 * Math.exp(-(((r - 8) / (1.5 + i / 20)) ** 2)))),
    ),
  };
  return on(
    "/hosts/olab-12",
    {
      "/api/v1/hosts/olab-12": () => BOX,
      "/api/v1/runs": () => ({ items: [run], next: null }),
      "/api/v1/hosts/olab-12/heatmap/wakeup_latency": () => heat,
    },
    async (page) => {
      const chart = page.locator("[data-chart=heat]");
      await chart.locator("canvas").waitFor();
      const painted = await chart.locator("canvas").evaluate((c) => {
        const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
        return new Set(new Uint32Array(data.buffer)).size;
      });
      assert.ok(painted > 20, `${painted} colours`);
      await chart.locator(".plot").focus();
      await page.keyboard.press("Home");
      for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
      await page
        .getByText("2026-11-30 19:03; p50 6.40 µs; p99 11.9 µs; max 87.0 µs; 17 lost")
        .waitFor();
      await chart.getByRole("button", { name: "Table" }).click();
      assert.equal(await chart.locator(".rows tbody tr").count(), n);
      for (const scheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.waitForTimeout(100);
        assert.deepEqual(await axe(page), [], scheme);
      }
      await page.setViewportSize({ width: 390, height: 844 });
      await page.waitForTimeout(100);
      assert.ok((await page.evaluate(() => document.scrollingElement.scrollWidth)) <= 390);
    },
  );
});

test("boxes that were asked say how far they are, and can be told to stop", () => {
  const a = {
    id: "a_1",
    host: "olab-12",
    state: "running",
    text: "run 3/20 rq_affinity=0",
    cancel: false,
    created: "2026-11-30T20:00:00Z",
    taken: "2026-11-30T20:00:01Z",
    seen: "2026-11-30T20:00:30Z",
    ended: null,
    plan: {},
  };
  const e = JSON.parse(readFileSync(new URL("fixtures/experiments.json", import.meta.url)))
    .items[0];
  const overrides = {
    "/api/v1/experiments/e_3": () => e,
    "/api/v1/experiments/e_3/assignments": () => ({ items: [a], next: null }),
    "DELETE /api/v1/experiments/e_3/assignments": () => ((a.cancel = true), { cancelled: 1 }),
  };
  return on("/experiments/e_3", overrides, async (page) => {
    await page.getByText("run 3/20 rq_affinity=0").waitFor();
    assert.deepEqual(await axe(page), []);
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.getByText("1 box told to stop").waitFor();
    await page.getByText("is being taken back").waitFor();
    a.state = "cancelled";
    await page.reload(); // no stream here that would tell it
    await page.locator(".word", { hasText: "cancelled" }).waitFor();
  });
});
