// SPDX-License-Identifier: GPL-2.0-or-later
// A real rigstat-server with a private database and port. RIGSTAT_BUILD names the build (default build-test).
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { load } from "./data.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const binary = resolve(root, process.env.RIGSTAT_BUILD ?? "build-test", "server", "rigstat-server");

function freePort() {
  return new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

export async function startServer({ empty = false } = {}) {
  if (!existsSync(binary))
    throw new Error(`${binary} is missing: cmake --preset dev && ninja -C build-test`);
  const dir = mkdtempSync(join(tmpdir(), "rigstat-web-"));
  chmodSync(dir, 0o755); // the private PostgreSQL runs as another user when we are root
  const url = `http://127.0.0.1:${await freePort()}`;
  let child, ended;
  let log = "";
  /** The same data and port, also after down(). */
  const up = async () => {
    child = spawn(
      binary,
      ["serve", "--embedded", join(dir, "db"), "--listen", url.slice("http://".length)],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    child.stderr.on("data", (d) => (log += d));
    ended = new Promise((done) => child.on("exit", done));
    for (let i = 0; ; i++) {
      if (child.exitCode !== null || i > 600) throw new Error(`the server did not start:\n${log}`);
      const ready = await fetch(`${url}/readyz`).then(
        (r) => r.ok,
        () => false,
      );
      if (ready) break;
      await new Promise((r) => setTimeout(r, 100));
    }
  };
  const down = async () => {
    child.kill("SIGTERM");
    const code = await ended;
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${log}`);
  };
  const stop = async () => {
    if (child.exitCode === null) await down();
    rmSync(dir, { recursive: true, force: true });
  };
  await up();
  if (!empty) await load(url);
  return { url, up, down, stop, dir, log: () => log };
}
