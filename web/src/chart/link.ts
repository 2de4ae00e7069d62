/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts over the same axis show the same place: reading one moves the others. */

type Listener = (x: number | null) => void;

const groups = new Map<string, Map<string, Listener>>();

export function join(group: string, chart: string, listener: Listener): () => void {
  const members = groups.get(group) ?? new Map<string, Listener>();
  groups.set(group, members);
  members.set(chart, listener);
  return () => {
    members.delete(chart);
  };
}

export function tell(group: string, from: string, x: number | null): void {
  for (const [chart, listener] of groups.get(group) ?? []) if (chart !== from) listener(x);
}
