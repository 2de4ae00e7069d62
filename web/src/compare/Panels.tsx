/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Below the charts: where the tail comes from, what else differed, how it was computed. */

import { useState } from "preact/hooks";
import type { Cause, Comparison, EnvItem, Tail } from "../api/types";
import { letter, sideText } from "../chart/compare";
import { SIDE_TONES } from "../chart/model";
import { Swatch } from "../chart/Chart";
import {
  fmt,
  fmtDifference,
  fmtRel,
  fmtRelInterval,
  fmtShare,
  group,
  NONE,
  pretty,
  sig3,
} from "../lib/format";
import { readingWord } from "../lib/words";
import { Scroll, WordMark } from "../ui/bits";

export function TailPanel({ docs }: { docs: readonly Comparison[] }) {
  const withTail = docs.filter(
    (d): d is Comparison & { tail: Tail } => d.tail !== null && d.tail !== undefined,
  );
  const first = withTail[0];
  if (!first) return null;
  const sides = [
    { index: 0, d: first, t: first.tail.a, text: sideText(first, "a") },
    ...withTail.map((d) => ({
      index: docs.indexOf(d) + 1,
      d,
      t: d.tail.b,
      text: sideText(d, "b"),
    })),
  ];
  return (
    <section class="card panel" aria-labelledby="tail-title">
      <h2 id="tail-title">Where does the tail come from?</h2>
      <p class="about">
        Samples of {fmt(first.tail.threshold_ns, "ns")} and more.
        {first.tail.basis && ` Threshold: ${pretty(first.tail.basis)}.`}
      </p>
      <Scroll label="Samples in the tail">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">side</th>
              <th scope="col" class="num">
                samples
              </th>
              <th scope="col" class="num">
                per hour
              </th>
              <th scope="col" class="num">
                share
              </th>
            </tr>
          </thead>
          <tbody>
            {sides.map(({ index, t, text }) => (
              <tr key={index}>
                <th scope="row">
                  <Swatch tone={SIDE_TONES[index]!} /> {letter(index)}{" "}
                  <span class="wide-only">{text}</span>
                </th>
                <td class="num">{aboveText(t)}</td>
                <td class="num">{t.rate_per_h === null ? NONE : `${sig3(t.rate_per_h)} / h`}</td>
                <td class="num">{fmtShare(t.exceedance)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {withTail.map(
        (d) =>
          d.tail.naive_ratio?.ci && (
            <NaiveRatio
              key={docs.indexOf(d)}
              side={letter(docs.indexOf(d) + 1)}
              r={d.tail.naive_ratio}
            />
          ),
      )}
      <div class="tail-split">
        <div>
          <h3>
            Hypothesis <span class="badge weak">from the shape alone</span>
          </h3>
          {withTail.some((d) => d.tail.hypothesis) ? (
            [
              ...new Set(
                withTail.flatMap((d) => (d.tail.hypothesis ? [d.tail.hypothesis.text] : [])),
              ),
            ].map((text) => <p key={text}>{pretty(text)}</p>)
          ) : (
            <p class="muted">The shape suggests no single cause.</p>
          )}
          <Shapes docs={withTail} all={docs} />
        </div>
        <div>
          <h3>
            Blame <span class="badge">recorded on the box</span>
          </h3>
          {withTail.some((d) => d.tail.blame) ? (
            withTail.map(
              (d, i) =>
                d.tail.blame && <Blame key={i} tail={d.tail} side={letter(docs.indexOf(d) + 1)} />,
            )
          ) : (
            <p class="muted">No blame was recorded: these runs did not note what held the CPU.</p>
          )}
        </div>
      </div>
    </section>
  );
}

function NaiveRatio({ side, r }: { side: string; r: NonNullable<Tail["naive_ratio"]> }) {
  const [lo, hi] = r.ci ?? [null, null];
  if (lo === null || hi === null) return null;
  return (
    <p class="muted">
      By counting alone {side} has {sig3(r.ratio)} times as many ({sig3(lo)} to {sig3(hi)}); how
      runs differ is not in that.
    </p>
  );
}

/** The tail of each side in classes of equal width: one code path of one length gives equal bars. */
function Shapes({
  docs,
  all,
}: {
  docs: readonly (Comparison & { tail: Tail })[];
  all: readonly Comparison[];
}) {
  const first = docs[0];
  const shapes = [
    { index: 0, shape: first?.tail.hypothesis?.a },
    ...docs.map((d) => ({ index: all.indexOf(d) + 1, shape: d.tail.hypothesis?.b })),
  ].filter((s) => (s.shape?.classes?.length ?? 0) > 1);
  if (shapes.length === 0) return null;
  return (
    <ul class="shapes">
      {shapes.map(({ index, shape }) => {
        const classes = shape!.classes!;
        const most = Math.max(...classes.map((c) => c.n));
        const said = classes.map((c) => `${group(c.n)} from ${fmt(c.from, "ns")}`).join(", ");
        return (
          <li key={index}>
            <span
              class={`bars tone-${SIDE_TONES[index]}`}
              role="img"
              aria-label={`Tail of ${letter(index)} in classes of equal width: ${said}`}
              title={said}
            >
              {classes.map((c) => (
                <span
                  key={c.from}
                  style={{ height: `${most > 0 ? Math.round((36 * c.n) / most) : 0}px` }}
                />
              ))}
            </span>
            <span class="muted">
              {letter(index)} from {fmt(classes[0]!.from, "ns")}, {classes.length} equal classes
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function aboveText(t: Tail["a"]): string {
  if (t.above === null) return NONE;
  const most = t.above_at_most ?? t.above;
  return most > t.above ? `${group(t.above)} to ${group(most)}` : group(t.above);
}

/** Several boxes: what each says by itself. */
export function HostsPanel({ docs }: { docs: readonly Comparison[] }) {
  const with_ = docs.filter((d) => d.hosts && d.hosts.items.length > 0);
  if (with_.length === 0) return null;
  return (
    <section class="card panel" aria-labelledby="hosts-title">
      <h2 id="hosts-title">Within each box</h2>
      {with_.map((d, i) => {
        const t = d.hosts!;
        return (
          <div key={i}>
            <p class="about">
              {t.stat} on {t.items.length} boxes: {t.better} better, {t.worse} worse.
              {t.heterogeneity?.p !== null &&
                t.heterogeneity?.p !== undefined &&
                t.heterogeneity.p < 0.05 &&
                " The boxes disagree by more than chance."}
            </p>
            <Scroll label="Within each box">
              <table class="data">
                <thead>
                  <tr>
                    <th scope="col">box</th>
                    <th scope="col" class="num">
                      A avg
                    </th>
                    <th scope="col" class="num">
                      {letter(docs.indexOf(d) + 1)} avg
                    </th>
                    <th scope="col" class="num">
                      Δ
                    </th>
                    <th scope="col" class="num">
                      interval
                    </th>
                    <th scope="col">reading</th>
                  </tr>
                </thead>
                <tbody>
                  {t.items.map((h) => {
                    const unit = d.rows.find((r) => r.stat === t.stat)?.unit ?? d.metric.unit;
                    return (
                      <tr key={h.host}>
                        <th scope="row">
                          <a href={`/hosts/${encodeURIComponent(h.host)}`}>{h.host}</a>
                        </th>
                        <td class="num">{fmt(h.a.avg, unit)}</td>
                        <td class="num">{fmt(h.b.avg, unit)}</td>
                        <td class="num">{fmtRel(h.delta.rel)}</td>
                        <td class="num">{fmtRelInterval(h.delta.ci_rel)}</td>
                        <td>
                          <WordMark word={readingWord(h.delta)} />
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </Scroll>
          </div>
        );
      })}
    </section>
  );
}

function Blame({ tail, side }: { tail: Tail; side: string }) {
  const blame = tail.blame!;
  const [all, setAll] = useState(false);
  const rated = blame.causes.some((c) => c.a_per_hour);
  const shown = all ? blame.causes : blame.causes.slice(0, 6);
  return (
    <>
      <Scroll label="What held the CPU">
        <table class="data blame">
          <thead>
            <tr>
              <th scope="col">held by</th>
              <th scope="col">A</th>
              <th scope="col">{side}</th>
              {rated && <th scope="col">{side} an hour</th>}
            </tr>
          </thead>
          <tbody>
            {shown.map((c) => (
              <tr key={c.name}>
                <th scope="row">{c.name}</th>
                <td>
                  <Bar share={c.a_share} tone="a" />
                  <PerHour rate={c.a_per_hour?.avg} />
                </td>
                <td>
                  <Bar share={c.b_share} tone="b" />
                  <PerHour rate={c.b_per_hour?.avg} />
                </td>
                {rated && (
                  <td>
                    <CauseReading c={c} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {blame.causes.length > shown.length && (
        <button type="button" class="small" onClick={() => setAll(true)}>
          Show all {blame.causes.length} causes
        </button>
      )}
      <p class="muted">Basis: {blame.basis}.</p>
    </>
  );
}

function PerHour({ rate }: { rate: number | null | undefined }) {
  return rate === null || rate === undefined ? null : (
    <span class="muted per-hour">{sig3(rate)} / h</span>
  );
}

/** More or fewer breaches of this cause: fewer is better, whatever the metric. */
function CauseReading({ c }: { c: Cause }) {
  const d = c.delta;
  if (!d || d.abs === null) return <span class="na">n/a</span>;
  const word =
    d.reading === "higher"
      ? { text: "more", symbol: "▲", tone: "bad" as const }
      : d.reading === "lower"
        ? { text: "fewer", symbol: "▼", tone: "good" as const }
        : {
            text: d.reading === "unclear" ? "unclear" : "not tested",
            symbol: "?",
            tone: "weak" as const,
          };
  return (
    <>
      <WordMark word={word} /> <span class="muted per-hour">{fmtDifference(d.abs, "1/h")}</span>
    </>
  );
}

function Bar({ share, tone }: { share: number | null; tone: "a" | "b" }) {
  if (share === null) return <span class="na">n/a</span>;
  return (
    <span class="bar-cell">
      <span
        class={`meter tone-${tone}`}
        style={{ width: `${Math.max(1, Math.round(60 * share))}px` }}
      />
      {fmtShare(share)}
    </span>
  );
}

export function EnvironmentPanel({ docs }: { docs: readonly Comparison[] }) {
  return (
    <section class="card panel" id="environment" aria-labelledby="env-title">
      <h2 id="env-title">What else differed?</h2>
      {docs.map((d, i) => (
        <EnvironmentDiff key={i} doc={d} index={i + 1} many={docs.length > 1} />
      ))}
    </section>
  );
}

const CLASSES: readonly {
  key: "blocking" | "unexpected" | "intended";
  word: string;
  tone: string;
}[] = [
  { key: "blocking", word: "✕ blocks", tone: "bad" },
  { key: "unexpected", word: "▲ unexpected", tone: "mixed" },
  { key: "intended", word: "✓ intended", tone: "neutral" },
];

function EnvironmentDiff({ doc, index, many }: { doc: Comparison; index: number; many: boolean }) {
  const env = doc.environment;
  const title = many && (
    <h3>
      <Swatch tone={SIDE_TONES[index]!} /> {letter(index)} {sideText(doc, "b")} against A
    </h3>
  );
  if (!env)
    return (
      <>
        {title}
        <p class="muted">The runs carry no record of their environment.</p>
      </>
    );
  const rows = CLASSES.flatMap((c) => env[c.key].map((item) => ({ ...c, item })));
  const total = rows.length + env.within.length + env.equal;
  return (
    <>
      {title}
      <p class="about">
        {total === 0 || env.known === false
          ? "The runs carry no record of their environment."
          : `${env.blocking.length} blocking · ${env.unexpected.length} unexpected · ${env.intended.length} intended · ${group(env.equal)} equal`}
      </p>
      {(rows.length > 0 || env.within.length > 0) && (
        <Scroll label="Environment differences">
          <table class="data env">
            <thead>
              <tr>
                <th scope="col">class</th>
                <th scope="col">item</th>
                <th scope="col">A</th>
                <th scope="col">{letter(index)}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((r) => (
                <tr key={r.key + r.item.key}>
                  <td>
                    <span class={`word tone-${r.tone}`}>{r.word}</span>
                  </td>
                  <th scope="row">
                    <code>{r.item.key}</code>
                  </th>
                  <td data-side="A">
                    <Fact item={r.item} side="a" />
                  </td>
                  <td data-side={letter(index)}>
                    <Fact item={r.item} side="b" />
                  </td>
                </tr>
              ))}
              {env.within.map((w) => (
                <tr key={`within${w.side}${w.key}`}>
                  <td>
                    <span class="word tone-mixed">
                      ≈ varies within {w.side === "a" ? "A" : letter(index)}
                    </span>
                  </td>
                  <th scope="row">
                    <code>{w.key}</code>
                  </th>
                  <td colSpan={2}>{w.values.map(String).join(" · ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </>
  );
}

function Fact({ item, side }: { item: EnvItem; side: "a" | "b" }) {
  const v = item[side];
  return v === null || v === undefined ? <span class="na">not set</span> : <code>{String(v)}</code>;
}

export function HowToRead({ doc }: { doc: Comparison }) {
  const ci = fmt(doc.confidence * 100, "%");
  return (
    <details class="card panel" id="how-to-read">
      <summary>How to read this</summary>
      <div class="prose">
        <p>
          <strong>The {doc.a.replicate ?? "run"} is the unit, never the sample.</strong> Millions of
          samples of one run say a lot about that run and nothing about the next. Each statistic is
          taken per {doc.a.replicate ?? "run"}; the sides are compared through those values.
        </p>
        <p>
          <strong>Δ</strong> is the side minus A, in the unit of the metric and in percent of A. A
          plus sign means a higher value; the words <em>better</em> and <em>worse</em> say whether
          that is good. The interval covers the true difference in {ci} of such comparisons.
        </p>
        <dl>
          <dt>better, worse</dt>
          <dd>
            The interval lies wholly past the margin of {fmt(doc.metric.margin_rel * 100, "%")}, in
            the good or the bad direction.
          </dd>
          <dt>same</dt>
          <dd>The interval lies wholly inside the margin: a change that matters is ruled out.</dd>
          <dt>below the margin</dt>
          <dd>There is a change, and it is too small to care about.</dd>
          <dt>unclear</dt>
          <dd>
            The interval holds both "no change" and a change that matters. More runs would tell.
          </dd>
          <dt>too few runs</dt>
          <dd>
            Numbers are shown, no reading: with one run per side nobody knows how much two equal
            runs differ.
          </dd>
          <dt>not judged</dt>
          <dd>
            Too few samples lie beyond this percentile to say anything about it; the numbers are
            shown.
          </dd>
          <dt>mixed</dt>
          <dd>One part of the distribution became better, another worse.</dd>
        </dl>
        <p>
          One statistic (<code>{doc.verdict.primary}</code>) decides the word. The others are read
          beside it, corrected for being many.
        </p>
        {doc.methods && <Methods methods={doc.methods} />}
      </div>
    </details>
  );
}

/** Every test that was computed, as it came. */
function Methods({ methods }: { methods: NonNullable<Comparison["methods"]> }) {
  const note = typeof methods.note === "string" ? methods.note : null;
  const rows = Object.entries(methods).flatMap(([stat, tests]) =>
    typeof tests === "object" && tests !== null
      ? Object.entries(tests).map(([test, result]) => ({ stat, test, result: result as unknown }))
      : [],
  );
  if (rows.length === 0) return null;
  return (
    <>
      <h3>All tests that were computed</h3>
      {note && <p>Note: {note}.</p>}
      <Scroll label="All tests">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">statistic</th>
              <th scope="col">test</th>
              <th scope="col">result</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((r) => (
              <tr key={r.stat + r.test}>
                <th scope="row">{r.stat}</th>
                <td>{r.test.replace(/_/g, " ")}</td>
                <td>
                  <code>{resultText(r.result)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  );
}

function resultText(v: unknown): string {
  if (v === null || v === undefined) return NONE;
  if (typeof v === "number") return String(Number(v.toPrecision(4)));
  if (Array.isArray(v)) return `[${v.map(resultText).join(", ")}]`;
  if (typeof v === "object")
    return Object.entries(v)
      .map(([k, w]) => `${k} ${resultText(w)}`)
      .join("; ");
  return String(v);
}
