/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changes on the server, as it changes: one stream of server-sent events a browser, shared by
 * its tabs. The leading tab (election.ts) holds it and passes events on through a BroadcastChannel;
 * every tab says what it wants. Silence is not taken for peace: the server beats every 5 s. */

import { useEffect, useRef, useState } from "preact/hooks";
import { API } from "../api/client";
import { elect } from "./election";

export interface Change {
  topic: string;
  changes: string[]; // "data", "run.end", …; "reset": anything may have changed
  run: string | null;
}

/** off: nobody wants anything; stalled: what is shown may be old, `why` says it. */
export interface LiveState {
  kind: "off" | "connecting" | "live" | "stalled";
  why: string;
  since: number; // ms since 1970
}

type Message =
  | { t: "want"; tab: string; topics: string[]; again: boolean }
  | { t: "bye"; tab: string }
  | { t: "who" }
  | { t: "id"; id: string }
  | { t: "change"; change: Change }
  | { t: "reset" }
  | { t: "state"; state: LiveState };

const SILENT_MS = 12000; // two beats are missing
const ANNOUNCE_MS = 20000;
const FORGET_MS = 150000; // tabs in the background wake once a minute

const me = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
const channel =
  typeof window !== "undefined" && "BroadcastChannel" in window
    ? new BroadcastChannel("rigstat-live")
    : null;
const listeners = new Map<string, Set<(c: Change) => void>>();
const watchers = new Set<(s: LiveState) => void>();
let state: LiveState = { kind: "off", why: "", since: Date.now() };
let lead: Leader | null = null;
let lastId = ""; // every tab knows it: the next leader asks for what came since
let started = false;

function post(m: Message): void {
  channel?.postMessage(m);
}

function setState(next: LiveState): void {
  if (next.kind === state.kind && next.why === state.why) return;
  state = next;
  for (const f of watchers) f(state);
}

function deliver(c: Change): void {
  for (const f of listeners.get(c.topic) ?? []) f(c);
}

function resetAll(): void {
  for (const topic of listeners.keys()) deliver({ topic, changes: ["reset"], run: null });
}

/* `again`: to a new leader; what changed while nobody led was told to nobody. */
function announce(again = false): void {
  const topics = [...listeners.keys()].sort();
  post({ t: "want", tab: me, topics, again });
  lead?.want(me, topics, again);
  if (topics.length === 0) setState({ kind: "off", why: "", since: Date.now() });
}

function onMessage(m: Message): void {
  if (m.t === "who") {
    announce(true);
    if (lead && lastId) post({ t: "id", id: lastId });
  } else if (m.t === "want") lead?.want(m.tab, m.topics, m.again);
  else if (m.t === "bye") lead?.want(m.tab, [], false);
  else if (m.t === "id") lastId = m.id;
  else if (m.t === "change") deliver(m.change);
  else if (m.t === "reset") resetAll();
  else if (listeners.size > 0) setState(m.state);
}

function start(): void {
  started = true;
  channel?.addEventListener("message", (e: MessageEvent<Message>) => onMessage(e.data));
  addEventListener("pagehide", () => post({ t: "bye", tab: me }));
  setInterval(() => announce(), ANNOUNCE_MS);
  const onLead = () => {
    lead = new Leader();
    announce(state.kind !== "off");
    post({ t: "who" });
  };
  if (channel) elect("rigstat-live", me, onLead);
  else onLead(); // no way to share: each tab has its own
}

/** Holds the stream. Its own tab hears it by calls, the others through the channel. */
class Leader {
  private wanted = new Map<string, { topics: string[]; at: number }>();
  private behind = new Set<string>(); // topics whose news may have been missed
  private topics = "";
  private source: EventSource | null = null;
  private heard = Date.now();
  private settling = 0; // timers: wishes come in bunches; another attempt after a loss
  private retrying = 0;
  private wait = 1000;

  constructor() {
    setInterval(() => this.watch(), 1000);
  }

  want(tab: string, topics: string[], again: boolean): void {
    if (again) for (const t of topics) this.behind.add(t);
    if (topics.length > 0) this.wanted.set(tab, { topics, at: Date.now() });
    else this.wanted.delete(tab);
    // Pages that replace each other leave and come: one stream less and more is saved by a moment.
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => this.follow(), 30);
  }

  private follow(): void {
    for (const [tab, w] of this.wanted)
      if (Date.now() - w.at > FORGET_MS) this.wanted.delete(tab);
    const all = [...new Set([...this.wanted.values()].flatMap((w) => w.topics))].sort().slice(0, 32);
    const topics = all.join(",");
    if (topics === this.topics) {
      this.tell(state); // to a tab that has just come
      return;
    }
    this.topics = topics;
    this.open();
  }

  private open(): void {
    clearTimeout(this.retrying);
    this.source?.close();
    this.source = null;
    if (!this.topics) {
      this.tell({ kind: "off", why: "", since: Date.now() });
      return;
    }
    if (state.kind !== "stalled") this.tell({ kind: "connecting", why: "", since: Date.now() });
    this.heard = Date.now();
    const after = lastId ? `&after=${encodeURIComponent(lastId)}` : "";
    const s = new EventSource(`${API}/stream?topics=${encodeURIComponent(this.topics)}${after}`);
    this.source = s;
    s.addEventListener("hello", (e) => {
      const { listening } = this.hear<{ listening: boolean }>(e);
      this.wait = 1000;
      this.listening(listening);
      for (const topic of this.behind) this.pass({ topic, changes: ["reset"], run: null });
      this.behind.clear();
    });
    s.addEventListener("beat", (e) => this.hear(e));
    s.addEventListener("state", (e) =>
      this.listening(this.hear<{ listening: boolean }>(e).listening),
    );
    s.addEventListener("change", (e) => {
      this.pass(this.hear<Change>(e));
    });
    s.addEventListener("reset", (e) => {
      this.hear(e);
      resetAll();
      post({ t: "reset" });
    });
    s.addEventListener("denied", () => this.lost("this browser may no longer read here"));
    s.addEventListener("error", () => this.lost("the server does not answer"));
  }

  private pass(change: Change): void {
    deliver(change);
    post({ t: "change", change });
  }

  private hear<T>(e: Event): T {
    const m = e as MessageEvent<string>;
    this.heard = Date.now();
    if (m.lastEventId && m.lastEventId !== lastId) {
      lastId = m.lastEventId;
      post({ t: "id", id: lastId });
    }
    if (state.kind === "stalled" && m.type === "beat") this.listening(true);
    return JSON.parse(m.data) as T;
  }

  private listening(yes: boolean): void {
    this.tell(
      yes
        ? { kind: "live", why: "", since: Date.now() }
        : { kind: "stalled", why: "the server has lost its database", since: Date.now() },
    );
  }

  /* The browser's own attempts end for good at an answer that is no stream (503, 401): ours do not. */
  private lost(why: string): void {
    this.tell({ kind: "stalled", why, since: this.heard });
    this.source?.close();
    this.source = null;
    this.wait = Math.min(5000, this.wait * 1.6);
    clearTimeout(this.retrying);
    this.retrying = window.setTimeout(() => this.open(), this.wait * (0.7 + 0.6 * Math.random()));
  }

  private watch(): void {
    if (this.source && Date.now() - this.heard > SILENT_MS) this.lost("nothing is heard");
  }

  private tell(s: LiveState): void {
    setState(s);
    post({ t: "state", state: s });
  }
}

function listen(topic: string, f: (c: Change) => void): () => void {
  if (!started) start();
  const set = listeners.get(topic) ?? new Set();
  listeners.set(topic, set.add(f));
  announce();
  return () => {
    set.delete(f);
    if (set.size === 0) listeners.delete(topic);
    announce();
  };
}

/** Calls f soon after the topic has changed in a way that `wanted` accepts, at most every minMs and
 * only while the page is seen; a hidden page catches up when it is shown. */
export function useLive(
  topic: string | null,
  f: () => void,
  minMs = 1000,
  wanted: (changes: string[]) => boolean = () => true,
): void {
  const latest = useRef({ f, wanted });
  latest.current = { f, wanted };
  useEffect(() => {
    if (!topic) return;
    let last = 0;
    let timer = 0;
    let due = false;
    const run = () => {
      timer = 0;
      if (document.visibilityState === "hidden") return;
      due = false;
      last = Date.now();
      latest.current.f();
    };
    const soon = () => {
      due = true;
      if (!timer) timer = window.setTimeout(run, Math.max(0, last + minMs - Date.now()));
    };
    const onShow = () => due && !timer && run();
    document.addEventListener("visibilitychange", onShow);
    const leave = listen(topic, (c) => {
      if (c.changes[0] === "reset" || latest.current.wanted(c.changes)) soon();
    });
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onShow);
      leave();
    };
  }, [topic, minMs]);
}

export function useLiveState(): LiveState {
  const [s, set] = useState(state);
  useEffect(() => {
    watchers.add(set);
    set(state);
    return () => {
      watchers.delete(set);
    };
  }, []);
  return s;
}
