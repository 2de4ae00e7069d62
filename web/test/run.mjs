// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles test/*.test.ts for Node and runs them with node --test.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = mkdtempSync(join(tmpdir(), "rigstat-web-test-"));
const entries = readdirSync(here).filter((f) => f.endsWith(".test.ts"));
await build({
  absWorkingDir: here,
  entryPoints: entries,
  bundle: true,
  platform: "node",
  format: "esm",
  outdir: out,
  outExtension: { ".js": ".mjs" },
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "empty" },
  banner: {
    js: "globalThis.matchMedia ??= () => ({ matches: false }); globalThis.localStorage ??= { getItem: () => null };",
  },
  logLevel: "warning",
});
const files = entries.map((f) => join(out, f.replace(/\.ts$/, ".mjs")));
const run = spawnSync(process.execPath, ["--test", "--test-reporter=tap", ...files], {
  stdio: "inherit",
});
rmSync(out, { recursive: true });
process.exit(run.status ?? 1);
