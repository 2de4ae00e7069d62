/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single-key shortcuts: never while typing, never with a modifier, and they can be switched off. */

type Handler = () => void;

const layers: Record<string, Handler>[] = [];
let enabled: () => boolean = () => true;
let pending = "";
let pendingAt = 0;

export function startKeys(isOn: () => boolean): void {
  enabled = isOn;
  document.addEventListener("keydown", (e) => {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !enabled()) return;
    const target = e.target as HTMLElement;
    if (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName)) return;
    const key = pending && Date.now() - pendingAt < 1200 ? `${pending} ${e.key}` : e.key;
    pending = "";
    for (const layer of [...layers].reverse()) {
      const run = layer[key];
      if (run) {
        e.preventDefault();
        run();
        return;
      }
    }
    if (e.key === "g") {
      pending = "g";
      pendingAt = Date.now();
    }
  });
}

/** Adds shortcuts; returns how to take them away again. */
export function onKeys(layer: Record<string, Handler>): () => void {
  layers.push(layer);
  return () => {
    layers.splice(layers.indexOf(layer), 1);
  };
}
