/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run counted by name: interrupts, softirqs, disks, run queues, locks. One table for the
 * metrics of the same things. */

import { useState } from "preact/hooks";
import type { SeriesItem } from "../api/types";
import { sortBy } from "../lib/table";
import { Num, Scroll } from "../ui/bits";

interface Family {
  title: string;
  what: string; // heading of the names
  columns: readonly (readonly [metric: string, heading: string])[]; // the first one orders
}

const FAMILIES: readonly Family[] = [
  {
    title: "Waits for kernel locks",
    what: "caller",
    columns: [
      ["lock_wait_rate", "waiting"],
      ["lock_contentions", "waits"],
      ["lock_wait_max", "longest"],
    ],
  },
  {
    title: "Lock classes",
    what: "lock",
    columns: [
      ["lockstat_wait", "waiting"],
      ["lockstat_hold", "held"],
      ["lockstat_contentions", "contentions"],
      ["lockstat_acquisitions", "acquisitions"],
      ["lockstat_contention_bounces", "contended across CPUs"],
      ["lockstat_acquisition_bounces", "acquired across CPUs"],
    ],
  },
  {
    title: "Disks",
    what: "device",
    columns: [
      ["disk_busy", "busy"],
      ["disk_queue", "in queue"],
      ["disk_reads", "reads"],
      ["disk_read_bytes", "read"],
      ["disk_read_time", "time in reads"],
      ["disk_writes", "writes"],
      ["disk_written_bytes", "written"],
      ["disk_write_time", "time in writes"],
      ["disk_discards", "discards"],
      ["disk_flushes", "flushes"],
    ],
  },
  {
    title: "Run queues",
    what: "CPU",
    columns: [
      ["sched_run_delay", "waiting for the CPU"],
      ["sched_timeslices", "time slices"],
    ],
  },
  { title: "Interrupts", what: "handler", columns: [["interrupts", "rate"]] },
  { title: "Interrupts by CPU", what: "handler", columns: [["interrupts_by_cpu", "rate"]] },
  { title: "Softirqs", what: "kind", columns: [["softirqs", "rate"]] },
  { title: "Softirqs by CPU", what: "kind", columns: [["softirqs_by_cpu", "rate"]] },
];

const METRICS = new Set(FAMILIES.flatMap((f) => f.columns.map(([metric]) => metric)));
const SHOWN = 8;
const REST = "[rest]";

export function isSystem(s: SeriesItem): boolean {
  return Object.keys(s.labels).length > 0 && METRICS.has(s.metric);
}

export function System({ list }: { list: readonly SeriesItem[] }) {
  return (
    <>
      {FAMILIES.map((f) => (
        <FamilyTable key={f.title} family={f} list={list} />
      ))}
    </>
  );
}

interface Row {
  name: string;
  cells: Map<string, SeriesItem>;
}

/** "virtio1-req.0" or, by CPU, "virtio1-req.0 on CPU 1". */
function nameOf(s: SeriesItem): string {
  const { cpu, ...others } = s.labels;
  const name = Object.values(others).join(" ");
  if (cpu === undefined) return name;
  if (name === REST) return REST;
  return name ? `${name} on CPU ${cpu}` : cpu;
}

function rowsOf(family: Family, list: readonly SeriesItem[]): Row[] {
  const rows = new Map<string, Row>();
  for (const s of list) {
    if (!family.columns.some(([metric]) => metric === s.metric)) continue;
    const name = nameOf(s);
    const row = rows.get(name) ?? { name, cells: new Map<string, SeriesItem>() };
    row.cells.set(s.metric, s);
    rows.set(name, row);
  }
  const first = family.columns[0]![0];
  const sorted = sortBy([...rows.values()], (r) => r.cells.get(first)?.value ?? null, "desc");
  return [...sorted.filter((r) => r.name !== REST), ...sorted.filter((r) => r.name === REST)];
}

function FamilyTable({ family, list }: { family: Family; list: readonly SeriesItem[] }) {
  const [all, setAll] = useState(false);
  const rows = rowsOf(family, list);
  const id = `system-${family.columns[0]![0]}`;
  if (rows.length === 0) return null;
  const columns = family.columns.filter(([metric]) => rows.some((r) => r.cells.has(metric)));
  const shown = all ? rows : rows.slice(0, SHOWN);
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{family.title}</h2>
      <Scroll label={family.title}>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">{family.what}</th>
              {columns.map(([metric, heading]) => (
                <th key={metric} scope="col" class="num">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((r) => (
              <tr key={r.name}>
                <th scope="row">{r.name === REST ? "the rest" : r.name}</th>
                {columns.map(([metric]) => (
                  <td key={metric} class="num">
                    <Cell s={r.cells.get(metric)} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {rows.length > shown.length && (
        <button type="button" class="small" onClick={() => setAll(true)}>
          Show all {rows.length}
        </button>
      )}
    </section>
  );
}

function Cell({ s }: { s: SeriesItem | undefined }) {
  if (!s) return null;
  if (s.kind === "absent") return <span class="na" title={s.reason ?? ""}>n/a</span>;
  return <Num v={s.value} unit={s.unit} />;
}
