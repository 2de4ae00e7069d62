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
    if (takesText(target) || document.querySelector("dialog[open]")) return;
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

function takesText(el: HTMLElement): boolean {
  if (el instanceof HTMLInputElement) return !/^(checkbox|radio|button|submit|file)$/.test(el.type);
  return (
    el.isContentEditable || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement
  );
}

/** Adds shortcuts; returns how to take them away again. */
export function onKeys(layer: Record<string, Handler>): () => void {
  layers.push(layer);
  return () => {
    layers.splice(layers.indexOf(layer), 1);
  };
}
