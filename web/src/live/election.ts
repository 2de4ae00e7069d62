/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One tab of a browser leads: it holds the stream for all. Web Locks where the page is secure
 * (https, or this machine); else a lease in localStorage, because labs serve plain http. */

const LEASE_MS = 5000;
const RENEW_MS = 1500;

/** Calls onLead when this tab has become the leader; it stays so until the page goes. */
export function elect(name: string, me: string, onLead: () => void): void {
  if (navigator.locks) {
    void navigator.locks.request(name, () => {
      onLead();
      return new Promise<never>(() => {});
    });
    return;
  }
  byLease(name, me, onLead);
}

interface Lease {
  tab: string;
  until: number;
}

function read(name: string): Lease | null {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") as Lease | null;
  } catch {
    return null; // storage is off, or somebody else's text: no lease
  }
}

function byLease(name: string, me: string, onLead: () => void): void {
  let leads = false;
  const take = () =>
    localStorage.setItem(name, JSON.stringify({ tab: me, until: Date.now() + LEASE_MS }));
  const look = () => {
    const lease = read(name);
    if (lease && lease.tab !== me && lease.until > Date.now()) return;
    take();
    if (leads) return;
    // Two may have taken it at once: the one whose name stands a moment later leads.
    setTimeout(() => {
      if (leads || read(name)?.tab !== me) return;
      leads = true;
      onLead();
    }, 60);
  };
  setInterval(look, RENEW_MS);
  addEventListener("storage", (e) => e.key === name && e.newValue === null && look());
  addEventListener("pagehide", () => leads && localStorage.removeItem(name));
  look();
}
