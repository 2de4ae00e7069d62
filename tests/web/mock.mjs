// SPDX-License-Identifier: GPL-2.0-or-later
// A stand-in for rigstat-server: web/dist with the server's headers, and fixture answers. For page
// states that the real server is hard to bring into (slow, failing, odd data); real data is tested on
// the real server. Usage: node mock.mjs [PORT]
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const dist = process.env.RIGSTAT_WEB_DIST ?? join(root, "web", "dist");
const CSP =
  "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'";
const TYPES = {
  js: "text/javascript",
  css: "text/css",
  svg: "image/svg+xml",
  html: "text/html; charset=utf-8",
};
const fixture = (name) => JSON.parse(readFileSync(join(here, "fixtures", `${name}.json`), "utf8"));
const PAGES =
  /^\/($|compare$|c\/|runs(\/|$)|experiments(\/|$)|hosts\/|import$|docs\/api$|problems\/|settings$|about$)/;

function compareFor(q) {
  const a = q.get("a") ?? "";
  if (a.includes("=>"))
    return {
      status: 400,
      type: "/problems/selector-syntax",
      title: "Selector cannot be read",
      detail: 'a: unknown operator "=>" at column 8',
      hint: 'Write ">=".',
      request_id: "01c4f2a90b7d",
      errors: [{ parameter: "a", column: 8, detail: 'unknown operator "=>"' }],
    };
  if (a.includes("wakeup-2004"))
    return fixture(q.getAll("b").length > 1 ? "compare-2004" : "compare-2004-one");
  if (a.includes("experiment=rq_affinity"))
    return fixture(
      q.get("metric") === "cycles_in_application" ? "compare-2008-cycles" : "compare-2008",
    );
  return fixture("compare-full");
}

/** Answers of the API; `overrides` ("/path" or "POST /path" -> function of query and body) come first. */
function answer(method, path, query, body, overrides) {
  const own = overrides[method === "GET" ? path : `${method} ${path}`];
  if (own) return own(query, body);
  if (path === "/api/v1/compare") return compareFor(query);
  if (path === "/api/v1/profile/diff")
    return {
      method: 1,
      state: "no_profile",
      basis: null,
      sentence: "No profile: no run of either side was sampled.",
      reasons: [],
      tables: [],
    };
  if (path === "/api/v1/compare/suggest")
    return {
      items: [
        {
          b: "experiment=rq,rq_affinity=1",
          text: "rq_affinity = 1 in the same experiment",
          runs: 10,
        },
      ],
    };
  if (path === "/api/v1/experiments") return fixture("experiments");
  if (path === "/api/v1/runs") return fixture("runs");
  if (path === "/api/v1/runs/facets")
    return {
      items: [
        { key: "experiment", kind: "field", values: [{ value: "rq", runs: 20 }] },
        {
          key: "rq_affinity",
          kind: "factor",
          values: [
            { value: "0", runs: 10 },
            { value: "1", runs: 10 },
          ],
        },
      ],
    };
  if (path === "/api/v1/metrics-catalog") return { items: [] };
  if (path === "/api/v1/comparisons") return { items: [], next: null };
  return {
    status: 404,
    type: "/problems/not-found",
    title: "Not found",
    detail: `Nothing at ${path}.`,
    request_id: "000000000000",
  };
}

export function startMock(port = 0, overrides = {}) {
  const server = createServer(async (req, res) => {
    const url = new URL(req.url, "http://mock");
    const common = {
      "Content-Security-Policy": CSP,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "same-origin",
    };
    if (url.pathname === "/api/v1/stream" && !overrides["/api/v1/stream"]) {
      res.writeHead(200, { ...common, "Content-Type": "text/event-stream" });
      res.write('event: hello\ndata: {"version":"0","listening":true,"unknown":[]}\n\n');
      return;
    }
    if (url.pathname.startsWith("/api/")) {
      const parts = [];
      for await (const part of req) parts.push(part);
      const doc = await answer(
        req.method,
        url.pathname,
        url.searchParams,
        Buffer.concat(parts).toString(),
        overrides,
      );
      if (doc === null) return res.writeHead(204, common).end();
      if (typeof doc === "string")
        return res
          .writeHead(200, { ...common, "Content-Type": "text/plain; charset=utf-8" })
          .end(doc);
      const status = doc.status >= 400 && doc.title ? doc.status : 200;
      return res
        .writeHead(status, {
          ...common,
          "Content-Type": status === 200 ? "application/json" : "application/problem+json",
        })
        .end(JSON.stringify(doc));
    }
    const file = url.pathname.startsWith("/assets/")
      ? url.pathname
      : PAGES.test(url.pathname)
        ? "/index.html"
        : null;
    try {
      if (!file) throw new Error("no such page");
      res
        .writeHead(200, { ...common, "Content-Type": TYPES[file.split(".").pop()] })
        .end(readFileSync(join(dist, file)));
    } catch {
      res.writeHead(404, common).end("not found\n");
    }
  });
  return new Promise((done) =>
    server.listen(port, "127.0.0.1", () =>
      done({ url: `http://127.0.0.1:${server.address().port}`, close: () => (server.close(), server.closeAllConnections()) }),
    ),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  console.log((await startMock(Number(process.argv[2] ?? 0))).url);
