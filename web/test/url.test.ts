/* SPDX-License-Identifier: GPL-2.0-or-later */
import assert from "node:assert/strict";
import test from "node:test";
import { askedOf, compareUrl, pageUrl, toggled, zoomOf, zoomPatch } from "../src/compare/state";
import {
  openTerm,
  quoteValue,
  runsSelector,
  splitTerms,
  withoutTerm,
  withTerm,
} from "../src/lib/selector";
import { formatQuery, parseQuery, parseRange, patchQuery } from "../src/lib/urlstate";
import { formatSort, parseSort, sortBy } from "../src/lib/table";

test("a selector survives the address and stays readable", () => {
  for (const a of [
    "experiment=rq,rq_affinity=0",
    'tag.note="a, b & c"',
    "host in (x,y),kernel~6.12*",
    "note=50%+1#é",
  ]) {
    const text = formatQuery(
      new Map([
        ["a", [a]],
        ["b", [a, "run=r_1"]],
      ]),
    );
    assert.deepEqual(parseQuery(text).get("a"), [a]);
    assert.deepEqual(parseQuery(text).get("b"), [a, "run=r_1"]);
  }
  assert.equal(
    pageUrl("experiment=rq,x=0", ["experiment=rq,x=1"]),
    "/compare?a=experiment=rq,x=0&b=experiment=rq,x=1",
  );
});

test("URLSearchParams, which the server's peers use, reads the same", () => {
  const text = formatQuery(new Map([["a", ["experiment=rq,x=0"]]]));
  assert.equal(new URLSearchParams(text).get("a"), "experiment=rq,x=0");
});

test("a hand-typed address does not break the page", () => {
  assert.deepEqual(parseQuery("?a=100%&b=x+y&c").get("a"), ["100%"]);
  assert.deepEqual(parseQuery("?a=100%&b=x+y&c").get("b"), ["x y"]);
  assert.deepEqual(parseQuery("?c").get("c"), [""]);
});

test("patches remove with null and keep the rest in order", () => {
  const q = parseQuery("?a=1&sort=p99&b=2");
  assert.equal(formatQuery(patchQuery(q, { sort: null, z: "1..2" })), "?a=1&b=2&z=1..2");
  assert.equal(formatQuery(patchQuery(q, { b: ["3", "4"] })), "?a=1&sort=p99&b=3&b=4");
});

test("only what changes the answer goes to the API", () => {
  const asked = askedOf(parseQuery("?a=x=0&b=x=1&margin=5%25&sort=-p&z.ccdf=1..9&tables=ccdf"));
  assert.equal(
    compareUrl(asked.params, { format: "text" }),
    "/api/v1/compare?a=x=0&b=x=1&margin=5%25&format=text",
  );
});

test("zoom and lists", () => {
  assert.deepEqual(zoomOf(parseQuery("?z.ccdf=1000..20000"), "ccdf"), [1000, 20000]);
  assert.deepEqual(zoomPatch("ccdf", null), { "z.ccdf": null });
  assert.equal(parseRange("5..5"), null);
  assert.equal(parseRange("a..b"), null);
  assert.equal(toggled(["a", "b"], "a"), "b");
});

test("terms are cut at commas that separate", () => {
  assert.deepEqual(splitTerms('a=1, host in (x,y),tag.n="p, q",'), [
    "a=1",
    "host in (x,y)",
    'tag.n="p, q"',
  ]);
  assert.equal(withoutTerm("a=1,b=2", "a=1"), "b=2");
  assert.equal(withTerm("a=1", "b=2"), "a=1,b=2");
  assert.equal(withTerm("a=1", "a=1"), "a=1");
  assert.equal(quoteValue('a "b"'), '"a \\"b\\""');
  assert.equal(quoteValue("olab-12"), "olab-12");
  assert.deepEqual(openTerm("a=1,rq_aff"), { before: "a=1", key: "rq_aff", value: null });
  assert.deepEqual(openTerm("a=1,b="), { before: "a=1", key: "b", value: "" });
  assert.deepEqual(openTerm("a=1,"), { before: "a=1", key: "", value: null });
  assert.equal(runsSelector(["r_1", "r_2"]), "run in (r_1,r_2)");
});

test("n/a is last in both directions, and equal rows keep their order", () => {
  const rows = [{ v: 3 }, { v: null }, { v: 1 }, { v: NaN }, { v: 2 }];
  const keys = (d: "asc" | "desc") => sortBy(rows, (r) => r.v, d).map((r) => r.v);
  assert.deepEqual(keys("asc"), [1, 2, 3, null, NaN]);
  assert.deepEqual(keys("desc"), [3, 2, 1, null, NaN]);
  assert.deepEqual(
    sortBy(["r_10", "r_9"], (r) => r, "asc"),
    ["r_9", "r_10"],
  );
  assert.deepEqual(parseSort("-p99", "id"), { key: "p99", dir: "desc" });
  assert.equal(formatSort("p99", "desc"), "-p99");
});
