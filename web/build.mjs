// SPDX-License-Identifier: GPL-2.0-or-later
// Bundles the pages: hashed files in OUT/assets and OUT/index.html with a .gz beside each, and for the
// server's build OUT/embed (the same bytes under fixed names) and OUT/assets_table.c.
// Usage: node build.mjs [OUT]
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
mkdirSync(join(out, "embed"));

const entries = [];
/** `name` is fixed, for the linker; `path` is the address below the root. */
function emit(name, path, bytes, type) {
  const gz = gzipSync(bytes, { level: 9 });
  for (const [suffix, data] of [["", bytes], [".gz", gz]]) {
    writeFileSync(join(out, path + suffix), data);
    writeFileSync(join(out, "embed", name + suffix), data);
  }
  entries.push({ symbol: `web_${name.replace(/\W/g, "_")}`, path, type, etag: digest(bytes).slice(0, 32), immutable: path !== "index.html" });
}
function digest(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
function hashed(name, ext, bytes) {
  const file = `${name}-${digest(bytes).slice(0, 12)}.${ext}`;
  emit(`${name}.${ext}`, `assets/${file}`, bytes, TYPES[ext]);
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
emit("index.html", "index.html", Buffer.from(html), "text/html; charset=utf-8");

const externs = entries.flatMap(({ symbol }) => [symbol, `${symbol}_gz`]).map((n) => `extern const unsigned char ${n}[];\nextern const unsigned long long ${n}_len;\n`);
const rows = entries.map((e) => `\t{"/${e.path}", "${e.type}", "${e.etag}", ${e.immutable}, ${e.symbol}, &${e.symbol}_len, ${e.symbol}_gz, &${e.symbol}_gz_len},\n`);
writeFileSync(
  join(out, "assets_table.c"),
  `/* Made by web/build.mjs. */\n#include "server/assets.h"\n\n${externs.join("")}\nconst struct asset assets[] = {\n${rows.join("")}\t{0},\n};\n`,
);
console.log(`${entries.length} files, ${js} bytes of JavaScript (gzip)`);
