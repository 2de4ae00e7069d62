/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A box for a selector, with suggestions and completion of keys and values from the runs there are.
 * A combobox by the ARIA pattern: focus stays in the input, arrows move through the list. */

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { API, useApi } from "../api/client";
import type { FacetList } from "../api/types";
import { openTerm, quoteValue } from "../lib/selector";
import { encodeValue } from "../lib/urlstate";

export interface Choice {
  value: string; // the whole selector
  text: string;
  note?: string;
}

interface Props {
  label: string;
  labelHidden?: boolean;
  value: string;
  onCommit(value: string): void;
  choices?: readonly Choice[];
  placeholder?: string;
  inputId?: string;
}

export function SelectorInput({
  label,
  labelHidden,
  value,
  onCommit,
  choices = [],
  placeholder,
  inputId,
}: Props) {
  const own = useId();
  const id = inputId ?? own;
  const [text, setText] = useState(value);
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState(false);
  const [active, setActive] = useState(-1);
  const inputRef = useRef<HTMLInputElement>(null);
  useEffect(() => setText(value), [value]);

  const term = openTerm(text);
  const facets = useApi<FacetList>(
    open ? `${API}/runs/facets${term.before ? `?q=${encodeValue(term.before)}` : ""}` : null,
  );
  const list = useMemo(
    () => completions(text, typed, choices, facets.data),
    [text, typed, choices, facets.data],
  );

  const commit = (v: string) => {
    setText(v);
    setOpen(false);
    setTyped(false);
    setActive(-1);
    if (v !== value) onCommit(v);
  };
  const choose = (c: Choice) => {
    if (c.value.endsWith("=")) {
      setText(c.value); // a key: its values come next
      setActive(-1);
      setTyped(true);
      inputRef.current?.focus();
    } else commit(c.value);
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      setOpen(true);
      const step = e.key === "ArrowDown" ? 1 : -1;
      setActive((i) =>
        list.length === 0
          ? -1
          : (i + step + list.length + (i < 0 && step < 0 ? 1 : 0)) % list.length,
      );
    } else if (e.key === "Enter") {
      e.preventDefault();
      const c = open ? list[active] : undefined;
      if (c) choose(c);
      else commit(text.trim());
    } else if (e.key === "Escape") {
      if (open) e.stopPropagation();
      setOpen(false);
      setText(value);
      setTyped(false);
    }
  };

  return (
    <div class="combo">
      <label for={id} class={labelHidden ? "sr-only" : undefined}>
        {label}
      </label>
      <input
        ref={inputRef}
        id={id}
        type="text"
        role="combobox"
        aria-expanded={open && list.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `${id}-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        value={text}
        placeholder={placeholder}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setTyped(true);
          setOpen(true);
          setActive(-1);
        }}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={() => {
          setOpen(false);
          if (typed) commit(text.trim());
        }}
        onKeyDown={onKey}
      />
      <ul id={`${id}-list`} role="listbox" aria-label={label} hidden={!open || list.length === 0}>
        {list.map((c, i) => (
          <li
            key={c.value}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === active}
            onMouseDown={(e) => {
              e.preventDefault(); // keeps the focus in the box
              choose(c);
            }}
          >
            <span>{c.text}</span>
            {c.note && <span class="muted">{c.note}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

const SHOWN = 12;

function completions(
  text: string,
  typed: boolean,
  choices: readonly Choice[],
  facets: FacetList | null,
): Choice[] {
  const offered = choices.filter(
    (c) => c.value !== text && (!typed || c.value.includes(text) || c.text.includes(text)),
  );
  const term = openTerm(text);
  const lead = term.before ? `${term.before},` : "";
  const found: Choice[] = [];
  if (facets && (typed || text === "")) {
    if (term.value === null) {
      for (const f of facets.items)
        if (f.key.startsWith(term.key))
          found.push({
            value: `${lead}${f.key}=`,
            text: `${f.key}=`,
            note: f.values
              .map((v) => v.value)
              .slice(0, 4)
              .join(", "),
          });
    } else {
      const facet = facets.items.find((f) => f.key === term.key);
      for (const v of facet?.values ?? [])
        if (v.value.startsWith(term.value.replace(/^"/, "")))
          found.push({
            value: `${lead}${term.key}=${quoteValue(v.value)}`,
            text: `${term.key}=${v.value}`,
            note: `${v.runs} runs`,
          });
    }
  }
  const seen = new Set<string>();
  return [...offered, ...found]
    .filter((c) => c.value !== text && !seen.has(c.value) && seen.add(c.value))
    .slice(0, SHOWN);
}
