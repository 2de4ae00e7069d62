/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentence that the page exists for, and what each side is made of. */

import type { Comparison, Many, Note, Side } from "../api/types";
import { letter, sideText } from "../chart/compare";
import { SIDE_TONES } from "../chart/model";
import { Swatch } from "../chart/Chart";
import { fmtShare, group, plural, pretty } from "../lib/format";
import { setQuery } from "../lib/router";
import { verdictWord } from "../lib/words";

export function Verdicts({
  docs,
  many,
  canWaive,
}: {
  docs: readonly Comparison[];
  many: Many | null;
  canWaive: boolean;
}) {
  return (
    <div class={`verdicts ${docs.length > 1 ? "many" : ""}`}>
      {docs.map((d, i) => (
        <Verdict key={i} doc={d} index={i + 1} many={docs.length > 1} canWaive={canWaive} />
      ))}
      {many?.trend && (
        <p class="trend">
          <strong>In the order of the levels:</strong>{" "}
          {pretty(
            many.trend.text?.replace(" (not_enough_runs)", ": too few runs") ??
              `${many.trend.stat} ${many.trend.reading}`,
          )}
          .
          {many.prediction && (
            <>
              <br />
              <span class="badge weak">hypothesis</span> {pretty(many.prediction.text)}.
            </>
          )}
        </p>
      )}
    </div>
  );
}

function Verdict({
  doc,
  index,
  many,
  canWaive,
}: {
  doc: Comparison;
  index: number;
  many: boolean;
  canWaive: boolean;
}) {
  const word = verdictWord(doc.verdict.word);
  const env = doc.environment;
  const differs = env ? env.unexpected.length : 0;
  const drift = doc.design.drift?.reading;
  return (
    <section
      class={`verdict tone-${word.tone}`}
      aria-label={many ? `Verdict for ${letter(index)}` : "Verdict"}
    >
      <h2>
        <span class="mark" aria-hidden="true">
          {word.symbol}
        </span>
        {word.text}
        {many && (
          <span class="of">
            <Swatch tone={SIDE_TONES[index]!} /> {letter(index)} {sideText(doc, "b")} against A{" "}
            {sideText(doc, "a")}
          </span>
        )}
      </h2>
      <p class="sentence">{pretty(withoutWord(doc.verdict.sentence, word.text))}</p>
      {doc.verdict.reasons.length > 0 && (
        <ul class="reasons">
          {doc.verdict.reasons.map((r) => (
            <li key={r.code + r.text}>{pretty(r.text)}</li>
          ))}
        </ul>
      )}
      <p class="basis">
        {doc.design.text}
        {drift === "none" && "; no drift seen"}
        {drift === "drift" && "; the runs drift over time"}
        {". "}
        {differs > 0 && (
          <a href="#environment">
            {plural(differs, "environment item")} {differs === 1 ? "differs" : "differ"}{" "}
            unexpectedly.
          </a>
        )}
      </p>
      {doc.verdict.word === "not_comparable" && canWaive && (
        <p>
          <button type="button" onClick={() => setQuery({ anyway: "1" })}>
            Compare anyway
          </button>{" "}
          <span class="muted">
            shows the numbers; the difference stays named here and in a pin.
          </span>
        </p>
      )}
    </section>
  );
}

/** The heading says the word already. */
function withoutWord(sentence: string, word: string): string {
  if (!sentence.toLowerCase().startsWith(`${word.toLowerCase()}: `)) return sentence;
  const rest = sentence.slice(word.length + 2);
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

/** Each side with what it lost: the numbers that every other number hangs on. */
export function SideFacts({ docs }: { docs: readonly Comparison[] }) {
  const first = docs[0]!;
  const sides: { side: Side; text: string; index: number }[] = [
    { side: first.a, text: sideText(first, "a"), index: 0 },
    ...docs.map((d, i) => ({ side: d.b, text: sideText(d, "b"), index: i + 1 })),
  ];
  const common = notesOf(first.a).filter((n) =>
    sides.every((s) => notesOf(s.side).some((m) => m.text === n.text)),
  );
  return (
    <ul class="side-facts">
      {sides.map(({ side, text, index }) => (
        <li key={index}>
          <Swatch tone={SIDE_TONES[index]!} />
          <strong>
            {letter(index)} {text}
          </strong>
          <span>{sideSummary(side)}</span>
          {side.selector && side.selector !== text && <code class="selector">{side.selector}</code>}
          {notesOf(side)
            .filter((n) => !common.some((c) => c.text === n.text))
            .map((n) => (
              <span key={n.code + n.text} class="caution">
                {n.text}
              </span>
            ))}
          {side.runs.some((r) => r.excluded) && (
            <span class="caution">
              {plural(side.runs.filter((r) => r.excluded).length, "run")} excluded
            </span>
          )}
        </li>
      ))}
      {common.map((n) => (
        <li key={n.code + n.text} class="caution">
          All sides: {n.text}
        </li>
      ))}
    </ul>
  );
}

const NOTES_SHOWN = 6;

/** What was inferred, doubted or disturbed the runs: each kind once, with how many runs say it. */
function notesOf(side: Side): Note[] {
  const kinds = new Map<string, { texts: Set<string>; runs: number }>();
  for (const run of side.runs)
    for (const n of run.notes) {
      const kind = kinds.get(n.code) ?? { texts: new Set(), runs: 0 };
      if (!kinds.has(n.code)) kinds.set(n.code, kind);
      if (!kind.texts.has(n.text)) kind.texts.add(n.text);
      kind.runs += 1;
    }
  return [...kinds]
    .map(([code, { texts, runs }]) => {
      const [text = ""] = texts;
      return texts.size === 1
        ? { code, text }
        : { code, text: `${text}; ${plural(runs, "run")} have such a note` };
    })
    .slice(0, NOTES_SHOWN);
}

const DATA_TEXT: Record<Side["data"], string> = {
  full: "",
  coarse: "coarse bins",
  values: "values without a distribution",
  summary_only: "published summary only",
};

function sideSummary(s: Side): string {
  const parts = [plural(s.n, s.replicate ?? "run")];
  if (s.samples) parts.push(plural(s.samples, "sample"));
  if (DATA_TEXT[s.data]) parts.push(DATA_TEXT[s.data]);
  const damage = (n: number | null | undefined, what: string) => {
    if (n) parts.push(`${group(n)} ${what}${s.samples ? ` (${fmtShare(n / s.samples)})` : ""}`);
  };
  damage(s.lost, "lost");
  damage(s.missed, "periods missed");
  damage(s.overflow, "above the histogram");
  damage(s.negative, "negative");
  if (s.samples && s.lost === 0 && !s.missed && !s.overflow && !s.negative)
    parts.push("nothing lost");
  return parts.join(" · ");
}
