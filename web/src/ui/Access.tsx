/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens: who may read, send, write. Seen by admins; everybody else can sign in and out. */

import { useState } from "preact/hooks";
import { API, ApiError, sendJson, useApi } from "../api/client";
import type { List, Token } from "../api/types";
import { Command, Scroll, Time } from "./bits";
import { SignIn } from "./SignIn";
import { toast } from "./toast";

const SCOPES = ["read", "ingest", "write", "admin"];

export function Access() {
  const tokens = useApi<List<Token>>(`${API}/tokens`);
  const status = tokens.error?.problem.status;
  const signOut = async () => {
    await attempt(() => sendJson("DELETE", `${API}/session`, undefined), "Signed out.");
    location.reload();
  };
  return (
    <section aria-labelledby="access-title">
      <div class="list-head">
        <h2 id="access-title">Access</h2>
        <button type="button" class="small" onClick={signOut}>
          Sign out
        </button>
      </div>
      {tokens.error && status !== 401 && status !== 403 && (
        <p class="muted">Tokens cannot be listed: {tokens.error.problem.title}.</p>
      )}
      {(status === 401 || status === 403) && (
        <>
          <p class="muted">
            Tokens are listed for admins. Sign in with a token of scope admin to manage them.
          </p>
          <SignIn onDone={() => location.reload()} />
        </>
      )}
      {tokens.data && <Tokens list={tokens.data.items} onChange={tokens.retry} />}
    </section>
  );
}

async function attempt(action: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await action();
    toast(done);
    return true;
  } catch (e) {
    if (!(e instanceof ApiError)) throw e;
    toast(`Not done: ${e.problem.detail ?? e.problem.title}`);
    return false;
  }
}

function Tokens({ list, onChange }: { list: readonly Token[]; onChange: () => void }) {
  const revoke = async (t: Token) => {
    if (
      await attempt(
        () => sendJson("DELETE", `${API}/tokens/${encodeURIComponent(t.id)}`, undefined),
        `Token ${t.name} is revoked.`,
      )
    )
      onChange();
  };
  return (
    <>
      {list.length === 0 ? (
        <p class="muted">
          There are no tokens: on a server that listens on this machine only, none are needed.
        </p>
      ) : (
        <Scroll label="Tokens">
          <table class="data">
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col">allows</th>
                <th scope="col">box</th>
                <th scope="col">made</th>
                <th scope="col">last used</th>
                <th scope="col">expires</th>
                <th scope="col">end</th>
              </tr>
            </thead>
            <tbody>
              {list.map((t) => (
                <tr key={t.id}>
                  <th scope="row">{t.name}</th>
                  <td>{t.scopes.join(", ")}</td>
                  <td>{t.host ?? <span class="na">any</span>}</td>
                  <td>
                    <Time at={t.created} />
                  </td>
                  <td>{t.last_used ? <Time at={t.last_used} /> : <span class="na">never</span>}</td>
                  <td>{t.expires ? <Time at={t.expires} /> : <span class="na">never</span>}</td>
                  <td>
                    {t.revoked ? (
                      <span class="badge bad">revoked</span>
                    ) : (
                      <button type="button" class="small" onClick={() => revoke(t)}>
                        Revoke
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      <NewToken onMade={onChange} />
    </>
  );
}

function NewToken({ onMade }: { onMade: () => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read"]);
  const [host, setHost] = useState("");
  const [days, setDays] = useState("90");
  const [made, setMade] = useState("");
  const add = async (e: Event) => {
    e.preventDefault();
    try {
      const body: Record<string, unknown> = { name, scopes, expires_days: Number(days) || 0 };
      if (host) body.host = host;
      const t = await sendJson<{ id: string; token: string }>("POST", `${API}/tokens`, body);
      setMade(t.token);
      setName("");
      onMade();
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      toast(`Not made: ${err.problem.detail ?? err.problem.title}`);
    }
  };
  return (
    <details class="card panel">
      <summary>New token</summary>
      <form class="flow" onSubmit={add}>
        <div class="import-options">
          <label>
            Name
            <input
              type="text"
              required
              maxLength={128}
              value={name}
              placeholder="agent of olab-12"
              onInput={(e) => setName(e.currentTarget.value)}
            />
          </label>
          <label>
            Only for this box
            <input
              type="text"
              value={host}
              placeholder="any"
              onInput={(e) => setHost(e.currentTarget.value.trim())}
            />
          </label>
          <label>
            Days until it ends (0: never)
            <input
              type="number"
              min="0"
              value={days}
              onInput={(e) => setDays(e.currentTarget.value)}
            />
          </label>
        </div>
        <fieldset class="row">
          <legend>Allows</legend>
          {SCOPES.map((s) => (
            <label key={s} class="inline">
              <input
                type="checkbox"
                checked={scopes.includes(s)}
                onChange={(e) =>
                  setScopes(
                    e.currentTarget.checked ? [...scopes, s] : scopes.filter((x) => x !== s),
                  )
                }
              />{" "}
              {s}
            </label>
          ))}
        </fieldset>
        <p>
          <button disabled={scopes.length === 0}>Make the token</button>
        </p>
      </form>
      {made && (
        <div role="status">
          <p>Copy it now: it is shown only once.</p>
          <Command text={made} />
        </div>
      )}
    </details>
  );
}
