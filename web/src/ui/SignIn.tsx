/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A token is pasted once; the server keeps it in a cookie that scripts cannot read. */

import { useState } from "preact/hooks";
import { API, ApiError, sendJson } from "../api/client";

export function SignIn({ onDone }: { onDone: () => void }) {
  const [token, setToken] = useState("");
  const [failed, setFailed] = useState("");
  const send = async (e: Event) => {
    e.preventDefault();
    try {
      await sendJson("POST", `${API}/session`, { token: token.trim() });
      onDone();
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      setFailed(err.problem.detail ?? err.problem.title);
    }
  };
  return (
    <form class="row" onSubmit={send}>
      <input
        type="password"
        aria-label="Token"
        autocomplete="current-password"
        placeholder="rs_…"
        value={token}
        onInput={(e) => setToken(e.currentTarget.value)}
        required
      />
      <button class="primary">Sign in</button>
      <span class="muted">An admin makes tokens: rigstat token add.</span>
      {failed && <span class="word tone-bad">✕ {failed}</span>}
    </form>
  );
}
