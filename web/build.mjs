// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles the pages: hashed files in OUT/assets, OUT/index.html, a .gz beside each, and OUT/manifest.txt
// ("path type hashed|page" a line) for the server's build. Usage: node build.mjs [OUT]
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const TYPES = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };
const BUDGET = 120 * 1024; // gzip bytes of all JavaScript

const result = await build({
  absWorkingDir: here,
  entryPoints: { main: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  outdir: "/out",
  write: false,
  logLevel: "warning",
});

rmSync(out, { recursive: true, force: true });
mkdirSync(join(out, "assets"), { recursive: true });

const manifest = [];
function emit(path, bytes, type, kind) {
  writeFileSync(join(out, path), bytes);
  writeFileSync(join(out, path + ".gz"), gzipSync(bytes, { level: 9 }));
  manifest.push(`${path} ${kind} ${type}`);
}
function hashed(name, ext, bytes) {
  const file = `${name}-${createHash("sha256").update(bytes).digest("hex").slice(0, 12)}.${ext}`;
  emit(`assets/${file}`, bytes, TYPES[ext], "hashed");
  return file;
}

const names = { ICON: hashed("icon", "svg", readFileSync(join(here, "icon.svg"))) };
let js = 0;
for (const file of result.outputFiles) {
  const ext = file.path.split(".").pop();
  names[ext.toUpperCase()] = hashed("main", ext, file.contents);
  if (ext === "js") js += gzipSync(file.contents, { level: 9 }).length;
}
if (js > BUDGET) throw new Error(`JavaScript is ${js} bytes gzip, more than the ${BUDGET} allowed`);

const html = readFileSync(join(here, "index.html"), "utf8").replace(/@([A-Z]+)@/g, (_, name) => {
  if (!names[name]) throw new Error(`index.html names @${name}@, which the build did not make`);
  return names[name];
});
emit("index.html", html, "text/html; charset=utf-8", "page");
writeFileSync(join(out, "manifest.txt"), manifest.join("\n") + "\n");
console.log(`${manifest.length} files, ${js} bytes of JavaScript (gzip)`);
