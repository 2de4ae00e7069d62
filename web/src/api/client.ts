/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to /api/v1. Every failure becomes a Problem (RFC 9457) that the page can show. */

import { useCallback, useEffect, useState } from "preact/hooks";

export const API = "/api/v1";

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  hint?: string;
  request_id?: string;
  errors?: { parameter?: string; column?: number; detail: string }[];
}

export class ApiError extends Error {
  readonly problem: Problem;
  readonly url: string;
  constructor(problem: Problem, url: string) {
    super(problem.title);
    this.problem = problem;
    this.url = url;
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.includes("json")) {
    const body = (await response.json()) as Partial<Problem>;
    return {
      type: body.type ?? "about:blank",
      title: body.title ?? response.statusText,
      status: response.status,
      ...body,
    } as Problem;
  }
  const text = (await response.text()).slice(0, 300).trim();
  return {
    type: "about:blank",
    title: `The server answered ${response.status}`,
    status: response.status,
    detail: text,
  };
}

const UNREACHABLE = "The server cannot be reached";

export async function request(url: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, {
      ...init,
      headers: { Accept: "application/json", "X-Requested-With": "rigstat", ...init.headers },
    });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new ApiError(
      {
        type: "about:blank",
        title: UNREACHABLE,
        status: 0,
        detail: "No answer came back.",
        hint: "Is rigstat-server running? Retry when it is.",
      },
      url,
    );
  }
  if (!response.ok) throw new ApiError(await problemOf(response), url);
  return response;
}

export async function getJson<T>(url: string, init?: RequestInit): Promise<T> {
  const response = await request(url, init);
  return (await response.json()) as T;
}

export async function getText(url: string): Promise<string> {
  const response = await request(url, { headers: { Accept: "text/plain" } });
  return response.text();
}

export async function sendJson<T>(
  method: string,
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const response = await request(url, {
    method,
    body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", ...headers },
  });
  return (response.status === 204 ? null : await response.json()) as T;
}

export interface Loaded<T> {
  data: T | null; // kept from the last answer while the next one loads
  error: ApiError | null;
  loading: boolean;
  retry: () => void;
  cancel: () => void;
}

const REPLACED = "replaced by a newer request";

/** Loads a URL and again whenever it changes; null loads nothing. A newer request cancels the older. */
export function useApi<T>(url: string | null): Loaded<T> {
  const [state, setState] = useState<{
    url: string | null;
    data: T | null;
    error: ApiError | null;
    loading: boolean;
  }>({
    url: null,
    data: null,
    error: null,
    loading: url !== null,
  });
  const [round, setRound] = useState(0);
  const [controller, setController] = useState<AbortController | null>(null);

  useEffect(() => {
    if (url === null) {
      setState({ url, data: null, error: null, loading: false });
      return;
    }
    const abort = new AbortController();
    setController(abort);
    setState((s) => ({ ...s, url, error: null, loading: true }));
    getJson<T>(url, { signal: abort.signal }).then(
      (data) => setState({ url, data, error: null, loading: false }),
      (e: unknown) => {
        if (abort.signal.reason === REPLACED) return;
        if (abort.signal.aborted)
          setState((s) => ({ ...s, error: cancelled(url), loading: false }));
        else if (e instanceof ApiError) setState((s) => ({ ...s, error: e, loading: false }));
        else throw e;
      },
    );
    return () => abort.abort(REPLACED);
  }, [url, round]);

  const retry = useCallback(() => setRound((n) => n + 1), []);
  const cancel = useCallback(() => controller?.abort("cancelled"), [controller]);
  // An answer to another question is never shown as the answer to this one without being marked.
  return {
    data: state.data,
    error: state.error,
    loading: state.loading || (url !== null && state.url !== url),
    retry,
    cancel,
  };
}

function cancelled(url: string): ApiError {
  return new ApiError(
    {
      type: "about:blank",
      title: "Cancelled",
      status: 0,
      detail: "You cancelled this request.",
      hint: "Retry asks again.",
    },
    url,
  );
}

/** The command that asks the same question in a shell. */
export function curlOf(url: string): string {
  const full = new URL(url, location.href).href;
  return `curl -s '${full.replace(/'/g, "%27")}'`;
}
