/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /docs/api: the API as the server itself describes it (/api/v1/openapi.json), without a network. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { API, ApiError, curlOf, request, useApi } from "../api/client";
import { encodeValue } from "../lib/urlstate";
import { Command, CopyButton, Heading, Scroll, Show, useTitle } from "../ui/bits";

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: (string | null)[];
  default?: unknown;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  anyOf?: Schema[];
  allOf?: Schema[];
  additionalProperties?: boolean | Schema;
  examples?: unknown[];
  minimum?: number;
  maximum?: number;
  format?: string;
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
}

interface Media {
  schema?: Schema;
}

interface Operation {
  operationId: string;
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<
    string,
    { $ref?: string; description?: string; content?: Record<string, Media> }
  >;
}

interface OpenApi {
  info: { title: string; version: string; summary?: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, unknown>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses?: Record<string, unknown>;
  };
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export function ApiPage() {
  useTitle("API");
  const doc = useApi<OpenApi>(`${API}/openapi.json`);
  return (
    <>
      <header class="page-head">
        <div>
          <Heading>API</Heading>
          <p class="sub">
            Everything on these pages, for scripts. One grammar for selectors, JSON by default,
            errors that say what to do.
          </p>
        </div>
        <div class="actions">
          <a class="button" href={`${API}/openapi.json`} download="rigstat-openapi.json">
            OpenAPI 3.1
          </a>
        </div>
      </header>
      <Show from={doc} what="the API's description">
        {(d) => <Doc doc={d} />}
      </Show>
    </>
  );
}

function Doc({ doc }: { doc: OpenApi }) {
  const ops = Object.entries(doc.paths).flatMap(([path, item]) =>
    METHODS.filter((m) => item[m]).map((method) => {
      const op = item[method] as Operation;
      const shared = (item.parameters as Parameter[] | undefined) ?? [];
      return {
        path,
        method,
        op,
        params: [...shared, ...(op.parameters ?? [])].map((p) => resolveParam(doc, p)),
      };
    }),
  );
  const tags = doc.tags ?? [{ name: "server" }];
  return (
    <div class="api">
      <nav aria-label="API sections" class="chips">
        {tags.map((t) => (
          <a key={t.name} class="button small" href={`#tag-${t.name}`}>
            {t.name}
          </a>
        ))}
        <a class="button small" href="#selectors">
          selectors
        </a>
      </nav>
      <section id="selectors" class="card panel prose">
        <h2>In general</h2>
        <Markdown text={doc.info.description ?? ""} />
        <h3>For example</h3>
        <Command
          text={`curl -s '${location.origin}${API}/compare?a=experiment=rq,rq_affinity=0&b=experiment=rq,rq_affinity=1&format=text'`}
        />
        <Command
          text={`rigstat compare --server ${location.origin} --a experiment=rq,rq_affinity=0 --b experiment=rq,rq_affinity=1`}
        />
      </section>
      {tags.map((t) => (
        <section key={t.name} id={`tag-${t.name}`} aria-labelledby={`h-${t.name}`}>
          <h2 id={`h-${t.name}`}>
            {t.name} <span class="muted">{t.description}</span>
          </h2>
          {ops
            .filter((o) => (o.op.tags ?? ["server"]).includes(t.name))
            .map((o) => (
              <Op key={o.op.operationId} doc={doc} {...o} />
            ))}
        </section>
      ))}
    </div>
  );
}

function Op({
  doc,
  path,
  method,
  op,
  params,
}: {
  doc: OpenApi;
  path: string;
  method: string;
  op: Operation;
  params: Parameter[];
}) {
  const [open, setOpen] = useState(false);
  return (
    <details
      class="card op"
      id={`op-${op.operationId}`}
      onToggle={(e) => setOpen(e.currentTarget.open)}
    >
      <summary>
        <span class={`verb ${method}`}>{method.toUpperCase()}</span> <code>{path}</code>{" "}
        <span class="muted">{op.summary}</span>
      </summary>
      {open && (
        <div class="op-body">
          {op.description && <Markdown text={op.description} />}
          {params.length > 0 && <Params doc={doc} params={params} />}
          {op.requestBody && (
            <>
              <h3>Body</h3>
              {Object.entries(op.requestBody.content).map(([type, m]) => (
                <div key={type}>
                  <p>
                    <code>{type}</code>
                  </p>
                  {m.schema && <SchemaTree doc={doc} schema={m.schema} />}
                </div>
              ))}
            </>
          )}
          <h3>Answers</h3>
          {Object.entries(op.responses).map(([code, r]) => (
            <Answer
              key={code}
              doc={doc}
              code={code}
              r={r.$ref ? (lookup(doc, r.$ref) as typeof r) : r}
            />
          ))}
          {method === "get" && <TryIt path={path} params={params} />}
        </div>
      )}
    </details>
  );
}

function Answer({
  doc,
  code,
  r,
}: {
  doc: OpenApi;
  code: string;
  r: { description?: string; content?: Record<string, Media> };
}) {
  const types = Object.entries(r.content ?? {});
  return (
    <div class="answer">
      <p>
        <span
          class={`badge ${code.startsWith("2") ? "good" : code === "default" ? "bad" : "weak"}`}
        >
          {code}
        </span>{" "}
        {r.description}{" "}
        {types.map(([t]) => (
          <code key={t} class="factor muted">
            {t}
          </code>
        ))}
      </p>
      {types.map(
        ([t, m]) =>
          m.schema &&
          (m.schema.$ref || m.schema.properties || m.schema.anyOf) &&
          code !== "default" && <SchemaTree key={t} doc={doc} schema={m.schema} />,
      )}
    </div>
  );
}

function Params({ doc, params }: { doc: OpenApi; params: Parameter[] }) {
  return (
    <Scroll label="Parameters">
      <table class="data">
        <thead>
          <tr>
            <th scope="col">parameter</th>
            <th scope="col">in</th>
            <th scope="col">type</th>
            <th scope="col">meaning</th>
          </tr>
        </thead>
        <tbody>
          {params.map((p) => (
            <tr key={p.in + p.name}>
              <th scope="row">
                <code>{p.name}</code> {p.required && <span class="badge">required</span>}
              </th>
              <td>{p.in}</td>
              <td>
                <code>{typeText(doc, p.schema)}</code>
              </td>
              <td>
                <Inline text={p.description ?? ""} />
                {p.schema.default !== undefined && (
                  <span class="muted"> default {JSON.stringify(p.schema.default)}</span>
                )}
                {p.example !== undefined && (
                  <>
                    {" "}
                    <span class="muted">e.g.</span>{" "}
                    <code>
                      {typeof p.example === "string" ? p.example : JSON.stringify(p.example)}
                    </code>
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

/** Members of a schema, and its example. One level; a nested schema is named. */
function SchemaTree({ doc, schema }: { doc: OpenApi; schema: Schema }) {
  const named = schema.$ref ? schema.$ref.split("/").pop() : undefined;
  const s = resolveSchema(doc, schema);
  const members = Object.entries(membersOf(doc, s));
  if (s.anyOf)
    return (
      <p>
        one of{" "}
        {s.anyOf.map((o, i) => (
          <code key={i} class="factor">
            {typeText(doc, o)}
          </code>
        ))}
      </p>
    );
  return (
    <details class="schema">
      <summary>
        {named ?? typeText(doc, s)}{" "}
        <span class="muted">{members.length > 0 ? `${members.length} members` : ""}</span>
      </summary>
      {members.length > 0 && (
        <Scroll label={`Members of ${named ?? "the body"}`}>
          <table class="data">
            <tbody>
              {members.map(([name, m]) => (
                <tr key={name}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  <td>
                    <code>{typeText(doc, m)}</code>
                  </td>
                  <td>
                    <Inline text={m.description ?? ""} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {s.examples?.[0] !== undefined && (
        <pre class="example" tabIndex={0}>
          {JSON.stringify(s.examples[0], null, 2)}
        </pre>
      )}
    </details>
  );
}

function membersOf(doc: OpenApi, s: Schema): Record<string, Schema> {
  const out: Record<string, Schema> = {};
  for (const part of s.allOf ?? []) Object.assign(out, membersOf(doc, resolveSchema(doc, part)));
  return Object.assign(out, s.properties);
}

function lookup(doc: OpenApi, ref: string): unknown {
  let at: unknown = doc;
  for (const part of ref.replace(/^#\//, "").split("/"))
    at = (at as Record<string, unknown> | undefined)?.[part];
  return at;
}

function resolveSchema(doc: OpenApi, s: Schema): Schema {
  return s.$ref
    ? {
        ...(lookup(doc, s.$ref) as Schema),
        description: s.description ?? (lookup(doc, s.$ref) as Schema).description,
      }
    : s;
}

function resolveParam(doc: OpenApi, p: Parameter): Parameter {
  return p.$ref ? (lookup(doc, p.$ref) as Parameter) : p;
}

function typeText(doc: OpenApi, s: Schema): string {
  if (s.$ref) return s.$ref.split("/").pop()!;
  if (s.enum) return s.enum.map((v) => v ?? "null").join(" | ");
  if (s.anyOf) return s.anyOf.map((o) => typeText(doc, o)).join(" | ");
  const type = Array.isArray(s.type) ? s.type.join(" | ") : (s.type ?? "any");
  return type === "array" && s.items ? `${typeText(doc, s.items)}[]` : type;
}

/** GET only: fills the parameters in and shows what comes back. */
function TryIt({ path, params }: { path: string; params: Parameter[] }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const [answer, setAnswer] = useState("");
  const usable = params.filter((p) => p.in === "path" || p.in === "query");
  const url =
    path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? "")) +
    usable
      .filter((p) => p.in === "query" && values[p.name])
      .map((p, i) => `${i === 0 ? "?" : "&"}${p.name}=${encodeValue(values[p.name]!)}`)
      .join("");
  const run = async (e: Event) => {
    e.preventDefault();
    try {
      const response = await request(url);
      const text = await response.text();
      const json = (response.headers.get("Content-Type") ?? "").includes("json");
      setAnswer(
        json ? JSON.stringify(JSON.parse(text), null, 2).slice(0, 20000) : text.slice(0, 20000),
      );
    } catch (err) {
      if (!(err instanceof ApiError)) throw err;
      setAnswer(JSON.stringify(err.problem, null, 2));
    }
  };
  return (
    <form class="try" onSubmit={run}>
      <h3>Try it</h3>
      <div class="import-options">
        {usable.map((p) => (
          <label key={p.name}>
            {p.name}
            <input
              type="text"
              required={p.required}
              value={values[p.name] ?? ""}
              placeholder={
                p.example === undefined
                  ? ""
                  : Array.isArray(p.example)
                    ? String(p.example[0])
                    : String(p.example)
              }
              onInput={(e) => setValues({ ...values, [p.name]: e.currentTarget.value })}
            />
          </label>
        ))}
      </div>
      <p class="row">
        <button>Send</button>
        <CopyButton text={curlOf(url)} what="curl command">
          Copy as curl
        </CopyButton>
        <code class="muted">{url}</code>
      </p>
      {answer && (
        <pre class="example" tabIndex={0} aria-label="Answer">
          {answer}
        </pre>
      )}
    </form>
  );
}

/** The little Markdown that descriptions use: paragraphs, a table, `code`, **bold**. */
export function Markdown({ text }: { text: string }) {
  const blocks = text.trim().split(/\n\s*\n/);
  return (
    <>
      {blocks.map((b, i) => {
        const lines = b.split("\n").map((l) => l.trim());
        if (lines.length > 2 && lines.every((l) => l.startsWith("|")))
          return <MarkdownTable key={i} lines={lines} />;
        return (
          <p key={i}>
            <Inline text={lines.join(" ")} />
          </p>
        );
      })}
    </>
  );
}

function MarkdownTable({ lines }: { lines: string[] }) {
  const cells = (l: string) =>
    l
      .slice(1, -1)
      .split("|")
      .map((c) => c.trim());
  return (
    <Scroll label="Terms">
      <table class="data">
        <thead>
          <tr>
            {cells(lines[0]!).map((c) => (
              <th key={c} scope="col">
                {c}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.slice(2).map((l) => (
            <tr key={l}>
              {cells(l).map((c, i) => (
                <td key={i}>
                  <Inline text={c} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  );
}

function Inline({ text }: { text: string }): ComponentChildren {
  return (
    <>
      {text
        .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
        .map((part, i) =>
          part.startsWith("`") ? (
            <code key={i}>{part.slice(1, -1)}</code>
          ) : part.startsWith("**") ? (
            <strong key={i}>{part.slice(2, -2)}</strong>
          ) : (
            part
          ),
        )}
    </>
  );
}
