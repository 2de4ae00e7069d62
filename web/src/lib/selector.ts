/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The selector text as a person edits it: cut into terms for chips and completion. The server
 * alone decides what it means. */

/** Terms at the top level: commas inside parentheses or quotes do not cut. */
export function splitTerms(text: string): string[] {
  const out: string[] = [];
  let depth = 0;
  let quoted = false;
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === "\\") i++;
      else if (c === '"') quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === "(") depth++;
    else if (c === ")") depth--;
    else if (c === "," && depth <= 0) {
      out.push(text.slice(from, i));
      from = i + 1;
    }
  }
  out.push(text.slice(from));
  return out.map((t) => t.trim()).filter((t) => t !== "");
}

export function withoutTerm(text: string, term: string): string {
  return splitTerms(text)
    .filter((t) => t !== term)
    .join(",");
}

export function withTerm(text: string, term: string): string {
  const terms = splitTerms(text);
  return terms.includes(term) ? text : [...terms, term].join(",");
}

/** A value as the grammar wants it: quoted where a comma, space, quote or parenthesis is in it. */
export function quoteValue(value: string): string {
  return value === "" || /[\s,()"\\]/.test(value)
    ? `"${value.replace(/(["\\])/g, "\\$1")}"`
    : value;
}

/** Where completion stands: the term under the caret, cut at its "=". */
export function openTerm(text: string): { before: string; key: string; value: string | null } {
  const terms = splitTerms(text);
  const ended = text.trim() === "" || /,\s*$/.test(text);
  const last = ended ? "" : (terms.pop() ?? "");
  const m = /^([^=!~<>]*?)\s*=\s*(.*)$/.exec(last);
  return { before: terms.join(","), key: m ? m[1]! : last, value: m ? m[2]! : null };
}

/** Runs as a selector: one id, or a list. */
export function runsSelector(ids: readonly string[]): string {
  return ids.length === 1 ? `run=${ids[0]}` : `run in (${ids.join(",")})`;
}
