/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A short message that goes away by itself; screen readers hear it. */

import { useEffect, useState } from "preact/hooks";

let show: (text: string) => void = () => {};

export function toast(text: string): void {
  show(text);
}

export function Toasts() {
  const [message, setMessage] = useState<{ text: string; n: number } | null>(null);
  useEffect(() => {
    let n = 0;
    show = (text) => setMessage({ text, n: ++n });
    return () => {
      show = () => {};
    };
  }, []);
  useEffect(() => {
    if (!message) return;
    const timer = setTimeout(() => setMessage(null), 4000);
    return () => clearTimeout(timer);
  }, [message?.n]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {message && <p key={message.n}>{message.text}</p>}
    </div>
  );
}
