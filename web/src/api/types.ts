/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The documents of /api/v1 as the pages use them (docs/openapi.yaml has them in full).
 * null: not defined. Times are ns. */

export type VerdictWord =
  | "better"
  | "worse"
  | "mixed"
  | "same"
  | "unclear"
  | "not_enough_runs"
  | "not_comparable";
export type Reading =
  | "better"
  | "worse"
  | "same"
  | "unclear"
  | "below_margin"
  | "not_enough_runs"
  | "not_resolvable"
  | "higher"
  | "lower";
export type Better = "lower" | "higher" | "none";
export type Interval = [number | null, number | null];

export interface Note {
  code: string;
  text: string;
}

export interface Metric {
  name: string;
  title: string;
  unit: string;
  better: Better;
  margin_rel: number;
  primary: string;
}

export interface SideRun {
  id: string;
  host: string;
  order: number | null;
  block: number | null;
  started: string | null;
  state: string;
  factors: Record<string, string>;
  excluded: string | null;
  notes: Note[];
}

export interface Side {
  name: string;
  selector: string | null;
  factors?: Record<string, string>;
  n: number;
  replicate: "run" | "boot" | "host";
  data: "full" | "coarse" | "values" | "summary_only";
  samples: number | null;
  lost: number | null;
  missed: number | null;
  overflow: number | null;
  negative: number | null;
  hosts: (string | null)[];
  runs: SideRun[];
}

export interface Spread {
  n: number;
  min: number | null;
  avg: number | null;
  max: number | null;
  sdev: number | null;
  range: number | null;
  bounds?: [number, number]; // one run read from a table of bins: the truth lies in here
  at_least?: boolean; // the rank is in the overflow: the values are lower bounds
}

export interface Delta {
  abs: number | null;
  rel: number | null;
  ci: Interval | null;
  ci_rel: Interval | null;
  p: number | null;
  p_adjusted: number | null;
  reading: Reading;
  test: string | null;
  mde_rel: number | null;
  more_blocks: [number, number] | null;
}

export interface Row {
  stat: string;
  unit: string;
  role: "primary" | "location" | "tail" | "spread" | "extra";
  a: Spread | null;
  b: Spread | null;
  delta: Delta | null;
  caution: string | null;
}

export interface Bins {
  lo: number[];
  hi: (number | null)[];
  n: number[];
  overflow?: number;
  overflow_lo?: number;
}

export interface Charts {
  histogram?: { unit: string; a: Bins; b: Bins } | null;
  percentiles?: { q: number[]; a: Bounds; b: Bounds } | null;
  ccdf?: {
    x: number[];
    a: (number | null)[];
    b: (number | null)[];
    a_band?: Interval[];
    b_band?: Interval[];
  } | null;
  shift?: {
    q: number[];
    delta: (number | null)[];
    lo: (number | null)[];
    hi: (number | null)[];
  } | null;
  runs?: { stat: string; unit?: string; points: RunPoint[] } | null;
}

export interface Bounds {
  lo: (number | null)[];
  hi: (number | null)[];
  band?: Interval[]; // least and most of the single runs
}

export interface RunPoint {
  side: "a" | "b";
  id: string;
  order: number | null;
  started: string | null;
  value: number | null;
}

export interface TailSide {
  above: number | null;
  above_at_most?: number | null; // when the threshold cuts a bin
  rate_per_h: number | null;
  exceedance: number | null;
}

export interface Tail {
  threshold_ns: number;
  basis?: string;
  a: TailSide;
  b: TailSide;
  naive_ratio?: { ratio: number; ci: Interval | null } | null; // single runs: by counting alone
  hypothesis: { text: string; a?: TailShape | null; b?: TailShape | null } | null;
  blame: { causes: Cause[]; basis: string } | null;
}

interface Rate {
  n: number;
  avg: number | null;
  ci: Interval | null;
}

/** What held the CPU, as a share of the breaches that were read, and per hour over runs. */
export interface Cause {
  name: string;
  a_share: number | null;
  b_share: number | null;
  a_per_hour?: Rate;
  b_per_hour?: Rate;
  delta?: { abs: number | null; ci: Interval | null; p: number | null; reading: string };
}

/** Samples of the tail in classes of equal width: flat means even spread. */
export interface TailShape {
  flat?: boolean | null;
  p_flat?: number | null;
  classes?: { from: number; n: number }[];
}

export interface EnvItem {
  key: string;
  a: unknown;
  b: unknown;
  note?: string;
}

export interface Environment {
  blocking: EnvItem[];
  intended: EnvItem[];
  unexpected: EnvItem[];
  known?: boolean;
  within: { side: "a" | "b"; key: string; values: unknown[] }[];
  equal: number;
}

export interface Comparison {
  method: number;
  metric: Metric;
  confidence: number;
  a: Side;
  b: Side;
  design: {
    order: "alternating" | "abba" | "random" | "sequential" | "unknown";
    blocks: number | null;
    paired: boolean;
    confounded: boolean;
    drift: {
      reading: "none" | "drift" | "not_tested";
      p: number | null;
      slope_rel_per_run: number | null;
    } | null;
    text: string;
  };
  verdict: { word: VerdictWord; sentence: string; primary: string; reasons: Note[] };
  rows: Row[];
  charts: Charts;
  tail: Tail | null;
  environment: Environment | null;
  methods?: Record<string, unknown>;
  hosts?: HostsTable | null;
  gate: unknown;
  links?: Links;
}

/** Several boxes: the comparison within each. */
export interface HostsTable {
  stat: string;
  items: { host: string; a: Spread; b: Spread; delta: Delta }[];
  better: number;
  worse: number;
  heterogeneity: { p: number | null; i2: number | null } | null;
}

export interface Links {
  ui?: string;
  text?: string;
  csv?: string;
  pin?: string;
}

export interface Many {
  items: Comparison[];
  trend: { stat: string; p: number | null; reading: string; text?: string } | null;
  prediction?: { text: string } | null; // do the ends of the tails follow the levels? A hypothesis
  sides?: string[];
  links?: Links;
}

export type CompareAnswer = Comparison | Many;

export interface List<T> {
  items: T[];
  next: string | null;
  total?: number;
}

export type Labels = Record<string, string>;

export interface RunSummary {
  metric: string;
  unit: string;
  p50?: number | null;
  p99?: number | null;
  max?: number | null;
  mean?: number | null;
  value?: number | null; // the run's number, or the average of a summary-only source
  count?: number | null;
  lost?: number;
  missed?: number;
  n?: number | null; // runs behind a summary-only source
}

export interface RunItem {
  id: string;
  uid: string;
  host: string | null;
  experiment: string | null;
  experiment_id: string | null;
  kind: "measured" | "watch" | "imported";
  state: "running" | "ok" | "failed" | "aborted";
  started: string | null;
  ended: string | null;
  measured_ns: number | null;
  factors: Labels;
  tags: Labels;
  order: number | null;
  block: number | null;
  kernel?: string | null;
  excluded: string | null;
  metrics: string[];
  demo: boolean;
  notes?: number;
  summary: RunSummary | null;
}

export interface SeriesItem {
  metric: string;
  labels: Labels;
  unit: string;
  kind: "hist" | "value" | "counter" | "summary" | "absent";
  method: string | null;
  omission: string;
  state: string;
  reason: string | null;
  interval_ns?: number | null;
  resolution_ns?: number | null;
  count?: number | null;
  lost: number;
  missed: number;
  overflow?: number | null;
  negative?: number | null;
  min?: number | null;
  max?: number | null;
  mean?: number | null;
  value?: number | null;
  sdev?: number | null;
  n?: number | null;
}

export interface Run extends RunItem {
  source: string | null;
  import?: string | null;
  boot_id: string | null;
  attempt?: number | null;
  agent_version?: string | null;
  environment: string | null;
  workload?: Record<string, unknown> | null;
  cost?: Record<string, unknown> | null;
  reason?: string | null;
  note: string | null;
  note_list: Note[];
  series: SeriesItem[];
  gaps: Record<string, unknown>[];
  breaches: { count: number; read?: number; worst_ns?: number | null };
  pins: string[];
}

export interface Histogram {
  run: string;
  metric: string;
  unit: string;
  scheme: string;
  coarsened: boolean;
  count: number;
  overflow: number;
  overflow_lo: number | null;
  negative: number;
  lost: number;
  min: number | null;
  max: number | null;
  mean: number | null;
  lo: number[];
  hi: number[];
  n: number[];
}

/** A distribution over time: one entry a minute and phase in every column. */
export interface Minutes {
  run: string;
  metric: string;
  unit: string;
  step_ns: number;
  t: string[];
  phase: number[];
  count: number[];
  lost: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  max: (number | null)[];
  edges: number[];
  counts: number[][];
}

export interface Token {
  id: string;
  name: string;
  scopes: string[];
  host: string | null;
  created: string;
  expires: string | null;
  revoked: string | null;
  last_used: string | null;
}

export interface Progress {
  total?: number | null;
  ok?: number | null;
  failed?: number | null;
  order?: number | null;
  cell?: string | null;
  left_ns?: number | null;
}

export interface Assignment {
  id: string;
  host: string;
  state: "queued" | "taken" | "running" | "paused" | "done" | "failed" | "refused" | "cancelled";
  text: string;
  cancel: boolean;
  pause?: boolean;
  by?: string | null;
  waits_for?: string | null;
  progress?: Progress | null;
  created: string | null;
  taken: string | null;
  seen: string | null;
  ended: string | null;
}

export interface QuantileList {
  run: string;
  metric: string;
  unit: string;
  count: number;
  lost: number;
  items: {
    q: number;
    answer: string;
    lo: number | null;
    hi: number | null;
    rank: number;
    count: number;
    text: string;
  }[];
}

export interface BreachList {
  count: number;
  read: number;
  items: {
    t: string | null;
    cpu: number | null;
    late_ns: number;
    holders: { name: string; kind: string; ns: number | null; reason?: string | null }[];
  }[];
}

export interface EnvironmentDoc {
  sha256: string;
  facts: Record<string, string | number>;
  runs: number;
  hosts?: string[];
}

export interface HostHeat {
  host: string;
  metric: string;
  unit: string;
  labels: Labels;
  from: string;
  to: string;
  step_ns: number;
  source: "intervals" | "minutes";
  edges: number[];
  t: number[]; // number of the column
  count: number[];
  lost: number[];
  overflow: number[];
  p50: (number | null)[];
  p99: (number | null)[];
  max: (number | null)[];
  counts: number[][];
}

/** The last heartbeat of an agent. */
export interface AgentReport {
  version?: string | null;
  reported?: string | null;
  uptime_ns?: number | null;
  box_uptime_ns?: number | null;
  clock_offset_ns?: number | null;
  clock_error_ns?: number | null;
  spool?: { bytes?: number | null; records?: number | null; problem?: string | null };
  dropped?: { records?: number | null; samples?: number | null; refused?: number | null };
  error?: { text: string; time?: string | null } | null;
}

export interface Host {
  name: string;
  state: "online" | "stale" | "offline" | "imported" | "retired";
  last_seen: string | null;
  lag_ns?: number | null;
  now?: { state: string; text: string; experiment?: string | null; run?: string | null } | null;
  agent?: AgentReport | null;
  reserved?: { by: string; reason: string | null; since: string; until: string | null } | null;
  age_ns?: number | null;
  agent_version: string | null;
  kernel: string | null;
  cpu?: string | null;
  cpus?: number | null;
  environment?: string | null;
  lost_1h?: number;
  runs: number;
  last_run: {
    id: string;
    state: string;
    started?: string | null;
    experiment?: string | null;
    factors?: Labels;
  } | null;
  tags: Labels;
  note: string | null;
}

export interface HostList extends List<Host> {
  counts?: Record<string, number>;
}

export interface Experiment {
  id: string;
  name: string;
  uid: string | null;
  hosts: string[];
  factors: { name: string; levels: string[] }[];
  order: string | null;
  runs_per_cell?: number | null;
  total_runs?: number | null;
  runs: { total: number; ok: number; running: number; failed: number; excluded: number };
  metrics: string[];
  started: string | null;
  ended: string | null;
  demo: boolean;
  note?: string | null;
  cells: { factors: Labels; runs: number; selector: string }[];
  compare: string | null;
}

export interface FacetList {
  items: {
    key: string;
    kind: "field" | "factor" | "tag";
    values: { value: string; runs: number; selector?: string }[];
    more?: boolean;
  }[];
}

export interface SuggestionList {
  items: { b: string; text: string; runs: number; ui?: string }[];
}

export interface Pin {
  id: string;
  created: string | null;
  title: string | null;
  note: string | null;
  query: string;
  method: number;
  server: string;
  runs: string[][];
  word?: VerdictWord | null;
  sentence?: string | null;
  links: { ui: string; json: string; text: string; csv: string; live: string };
  result?: CompareAnswer;
}

export interface Import {
  id: string | null;
  dry_run: boolean;
  already: boolean;
  format: string;
  source: string | null;
  sha256: string;
  bytes: number;
  created: string | null;
  experiment?: string | null;
  runs: {
    id: string | null;
    already?: boolean;
    host?: string | null;
    factors: Labels;
    tags?: Labels;
    metrics: {
      metric: string;
      kind: string;
      unit: string;
      labels?: Labels;
      count?: number | null;
      n?: number | null;
    }[];
    notes: Note[];
  }[];
}

export interface MetricItem extends Metric {
  description: string;
  edited: boolean;
  runs: number;
}

export interface Status {
  version: string;
  method: number;
  now: string | null;
  database: { version: string; bytes: number; schema: number };
  counts: Record<string, number>;
  staging?: { rows: number; bytes: number; oldest?: string | null };
}

/** A share of a side in percent: somewhere from lo to hi, which are equal when it is known. */
export interface ProfileShare {
  n: number;
  seen: number;
  lo: number | null;
  hi: number | null;
  avg: number | null;
  min?: number | null;
  max?: number | null;
}

export type Moved =
  | "higher"
  | "lower"
  | "unclear"
  | "same"
  | "below_margin"
  | "not_enough_runs"
  | "not_tested";

export interface ProfileRow {
  kind: "symbol" | "object" | "command" | "app" | "idle" | "unattributed" | "agent";
  name: string;
  of: "non-idle" | "all";
  a: ProfileShare;
  b: ProfileShare;
  delta: {
    abs: number | null;
    between: [number | null, number | null];
    ci: Interval | null;
    p: number | null;
    p_adjusted: number | null;
    reading: Moved;
    test: string;
  };
}

export interface ProfileTable {
  name: "code" | "programs" | "applications" | "whole";
  title: string;
  covered: [number | null, number | null] | null;
  rare: number;
  rows: ProfileRow[];
}

export interface ProfileDiff {
  state: "tested" | "not_enough_runs" | "confounded" | "not_comparable" | "no_profile";
  basis: "cycle" | "time" | null;
  confidence?: number;
  sentence: string;
  reasons: Note[];
  design?: { text: string };
  tables: ProfileTable[];
  links?: Record<string, string>;
}

/* ---- regression tracking ---- */

export interface Trend {
  id: string;
  host: string;
  metric: string;
  title: string;
  stat: string;
  unit: string;
  better: Better;
  context: { experiment?: string; branch?: string; factors?: Record<string, string> };
  labels: Record<string, string>;
  order_by: string | null;
  points: number;
  reading: "none" | "steps" | "drift" | "history_too_short" | null;
  stale: boolean;
  level: number | null;
  needed: number | null;
  drift: { per_point: number; p: number } | null;
  last: { run: string; started: string; version: string | null; value: number | null } | null;
  open_changes: number;
}

export interface ChangeMember {
  series: string;
  title: string;
  stat: string;
  unit: string;
  before: number;
  after: number;
  rel: number | null;
  p: number | null;
  direction: "worse" | "better" | "none";
  first_after: string;
  from_version: string | null;
  to_version: string | null;
  fixed: string | null;
  change: string;
  state: string;
}

export interface Annotation {
  id: string;
  from: string;
  text: string;
  tags: string[];
  by: string | null;
}

export interface SeriesPoints {
  series: Trend;
  changes: ChangeMember[];
  annotations: Annotation[];
  points: {
    run: string;
    started: string | null;
    version: string | null;
    value: number | null;
    lo: number | null;
    hi: number | null;
    answer: string;
    outlier: boolean;
    placed: boolean;
    run_kept: boolean;
  }[];
}

export interface Change {
  id: string;
  host: string;
  state: string;
  direction: "worse" | "better" | "none";
  reason: string | null;
  note: string | null;
  owner: string | null;
  issue: string | null;
  sentence: string;
  at: string | null;
  members: ChangeMember[];
  events?: { at: string; who: string; from: string | null; to: string; text: string }[];
  annotations?: Annotation[];
  links: { ui: string; compare: string | null };
}

export interface ChangeList extends List<Change> {
  triage: { real: number; noise: number; open: number; precision: number | null } | null;
}
