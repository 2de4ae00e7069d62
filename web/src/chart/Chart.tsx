/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One chart with everything around it: title, sentence, legend with readings, keyboard, Table, CSV
 * and PNG. The only file that knows uPlot, which draws axes, cursor and zoom; marks are ours. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { AxisSpec, Tick } from "../lib/axis";
import { group } from "../lib/format";
import { useTheme } from "../lib/prefs";
import { saveBlob, saveText } from "../lib/save";
import { join, tell } from "./link";
import {
  DASHES,
  csvOf,
  nearest,
  xExtent,
  yExtent,
  type ChartModel,
  type DataTable,
  type Tone,
} from "./model";
import { paint, readPalette, type Palette, type Scales } from "./paint";
import { composePng } from "./png";

export interface ChartProps {
  model: ChartModel;
  zoom: [number, number] | null; // data units
  onZoom(range: [number, number] | null): void;
  hidden: ReadonlySet<string>;
  onToggle(id: string): void;
  tableOpen: boolean;
  onTable(open: boolean): void;
  options?: ComponentChildren; // mode menus
  caption: string; // goes into the PNG: the verdict and the address
  height?: number;
  svgUrl?: string;
}

const PAGE = 200;

export function Chart(props: ChartProps) {
  const { model, zoom, hidden, tableOpen } = props;
  const [index, setIndex] = useState<number | null>(null);
  const [spoken, setSpoken] = useState("");
  const plotRef = useRef<uPlot | null>(null);
  const reading = index === null ? null : index < model.grid.length ? model.reading(index) : null;
  const follow = (i: number | null) => {
    setIndex(i);
    if (model.link) tell(model.link, model.id, i === null ? null : (model.grid[i] ?? null));
  };
  useEffect(() => {
    if (!model.link) return;
    return join(model.link, model.id, (x) => {
      const u = plotRef.current;
      const p = x === null ? null : model.x.fwd(x);
      if (!u || p === null) {
        u?.setCursor({ left: -10, top: -10 }, false);
        setIndex(null);
        return;
      }
      u.setCursor({ left: u.valToPos(p, "x"), top: 10 }, false);
      setIndex(nearest(model, p));
    });
  }, [model]);

  const move = (to: number) => {
    const i = Math.max(0, Math.min(model.grid.length - 1, to));
    const u = plotRef.current;
    const at = model.x.fwd(model.grid[i]!);
    if (!u || at === null) return;
    u.setCursor({ left: u.valToPos(at, "x"), top: u.rect.height / 2 }, false);
    follow(i);
    const r = model.reading(i);
    const said = r.values
      .filter((v) => v.text && !hidden.has(v.id))
      .map((v) => `${legendLabel(model, v.id)} ${v.text}`);
    setSpoken(`${r.x}: ${said.join("; ")}`);
  };

  const onKey = (e: KeyboardEvent) => {
    const step = e.shiftKey ? 10 : 1;
    const from = index ?? -1;
    if (e.key === "ArrowRight") move(from + step);
    else if (e.key === "ArrowLeft") move(index === null ? 0 : from - step);
    else if (e.key === "Home") move(0);
    else if (e.key === "End") move(model.grid.length - 1);
    else if (e.key === "Escape" && zoom) props.onZoom(null);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const png = async () => {
    const u = plotRef.current;
    if (u)
      saveBlob(
        await composePng(u.ctx.canvas, model, hidden, props.caption, readPalette(u.root)),
        `${model.id}.png`,
      );
  };

  return (
    <section class="card chart" aria-labelledby={`chart-${model.id}`} data-chart={model.id}>
      <header>
        <h3 id={`chart-${model.id}`}>{model.title}</h3>
        <div class="tools">
          {props.options}
          {zoom && (
            <button type="button" class="small" onClick={() => props.onZoom(null)}>
              Reset zoom
            </button>
          )}
          <button
            type="button"
            class="small"
            aria-pressed={tableOpen}
            onClick={() => props.onTable(!tableOpen)}
          >
            Table
          </button>
          <button
            type="button"
            class="small"
            onClick={() => saveText(csvOf(model.table), `${model.id}.csv`, "text/csv")}
          >
            CSV
          </button>
          <button type="button" class="small" onClick={png}>
            PNG
          </button>
          {props.svgUrl && (
            <a class="button small" href={props.svgUrl} download={`${model.id}.svg`}>
              SVG
            </a>
          )}
        </div>
      </header>
      <p class="about">{model.about}</p>
      <div
        class="plot"
        role="group"
        aria-roledescription="chart"
        aria-label={`${model.title}. ${model.about} Left and right arrow keys read values.`}
        tabIndex={0}
        onKeyDown={onKey}
      >
        <Canvas {...props} plotRef={plotRef} onIndex={(i) => i !== index && follow(i)} />
      </div>
      <Legend model={model} hidden={hidden} onToggle={props.onToggle} reading={reading} />
      <p class="sr-only" aria-live="polite">
        {spoken}
      </p>
      {tableOpen && <Rows table={model.table} title={model.title} />}
    </section>
  );
}

function legendLabel(m: ChartModel, id: string): string {
  return m.legend.find((l) => l.id === id)?.label ?? id;
}

interface CanvasProps extends ChartProps {
  plotRef: { current: uPlot | null };
  onIndex(i: number | null): void;
}

function Canvas({ model, zoom, onZoom, hidden, height = 300, plotRef, onIndex }: CanvasProps) {
  const hostRef = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const theme = useTheme();
  const zoomRef = useRef(onZoom);
  zoomRef.current = onZoom;
  const indexRef = useRef(onIndex);
  indexRef.current = onIndex;

  useLayoutEffect(() => {
    const host = hostRef.current!;
    setWidth(host.clientWidth);
    const watch = new ResizeObserver(() => setWidth(host.clientWidth));
    watch.observe(host);
    return () => watch.disconnect();
  }, []);

  useEffect(() => {
    const host = hostRef.current!;
    if (width < 50) return;
    const palette = readPalette(host);
    const u = makePlot(host, model, width, height, zoom, hidden, palette, zoomRef, indexRef);
    const undo = touchInput(u, (lo, hi) => zoomRef.current([lo, hi]), model.x);
    plotRef.current = u;
    return () => {
      undo();
      plotRef.current = null;
      u.destroy();
    };
  }, [model, width, height, theme, zoom?.[0], zoom?.[1], hidden]);

  // Room is kept while the width is unknown, so that nothing jumps.
  return <div ref={hostRef} class={`canvas h${height}`} />;
}

function makePlot(
  host: HTMLElement,
  m: ChartModel,
  width: number,
  height: number,
  zoom: [number, number] | null,
  hidden: ReadonlySet<string>,
  palette: Palette,
  onZoom: { current: (r: [number, number] | null) => void },
  onIndex: { current: (i: number | null) => void },
): uPlot {
  const zoomed = zoom && m.x.fwd(zoom[0]) !== null && m.x.fwd(zoom[1]) !== null;
  const xr: [number, number] = zoomed ? [m.x.fwd(zoom[0])!, m.x.fwd(zoom[1])!] : xExtent(m);
  const yr = yExtent(m, hidden, xr);
  const grid = m.grid.map((v) => m.x.fwd(v) ?? 0);
  const blank = grid.map(() => null);
  const narrow = width < 420;
  return new uPlot(
    {
      width,
      height,
      padding: [8, 30, 0, 0], // room for half of the last label
      legend: { show: false },
      scales: { x: { time: false, range: () => xr }, y: { range: () => yr } },
      series: [{}, { show: true, paths: () => null, points: { show: false } }],
      axes: [
        axis(
          m.x,
          m.xLabel,
          palette,
          Math.max(2, Math.floor((width - 80) / (narrow ? 66 : 72))),
          34,
          0,
        ),
        axis(m.y, m.yLabel, palette, Math.max(2, Math.floor(height / 42)), 0, 1),
      ],
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 6 },
        bind: { dblclick: () => () => (onZoom.current(null), null) },
      },
      hooks: {
        draw: [(u) => paint(u.ctx, m, scalesOf(u, m), hidden, palette)],
        setSelect: [
          (u) => {
            if (u.select.width < 6) return;
            const lo = m.x.inv(u.posToVal(u.select.left, "x"));
            const hi = m.x.inv(u.posToVal(u.select.left + u.select.width, "x"));
            onZoom.current([lo, hi]);
          },
        ],
        setCursor: [
          (u) =>
            onIndex.current(
              (u.cursor.left ?? -1) < 0 ? null : nearest(m, u.posToVal(u.cursor.left!, "x")),
            ),
        ],
      },
    },
    [grid, blank],
    host,
  );
}

function scalesOf(u: uPlot, m: ChartModel): Scales {
  const at = (p: number | null, scale: string) => (p === null ? null : u.valToPos(p, scale, true));
  return {
    x: (v) => at(m.x.fwd(v), "x"),
    y: (v) => (v === null || v === undefined ? null : at(m.y.fwd(v), "y")),
    box: u.bbox,
    ratio: uPlot.pxRatio,
  };
}

function axis(
  spec: AxisSpec,
  label: string,
  p: Palette,
  room: number,
  size: number,
  side: 0 | 1,
): uPlot.Axis {
  let ticks: Tick[] = [];
  const named = new Map<number, string | null>();
  return {
    stroke: p.muted,
    font: "12px system-ui, sans-serif",
    label,
    labelFont: "12px system-ui, sans-serif",
    labelSize: 20,
    labelGap: 2,
    gap: 4,
    size:
      side === 0
        ? size
        : (_u, values) => 16 + 6.6 * Math.max(3, ...(values ?? []).map((v) => (v ?? "").length)),
    splits: (_u, _i, lo, hi) => {
      ticks = spec.ticks(lo, hi, room);
      named.clear();
      for (const t of ticks) named.set(t.at, t.label);
      return ticks.map((t) => t.at);
    },
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((v) => named.get(v) ?? null),
    grid: {
      stroke: p.grid,
      width: 1,
      filter: (_u, splits) => splits.map((v) => (named.get(v) ? v : null)),
    },
    ticks: { stroke: p.grid, width: 1, size: 5, filter: (_u, splits) => splits },
    border: { show: true, stroke: p.grid, width: 1 },
  };
}

/** Touch: a horizontal drag selects, a vertical swipe scrolls the page (touch-action: pan-y). */
function touchInput(u: uPlot, onZoom: (lo: number, hi: number) => void, x: AxisSpec): () => void {
  let start: number | null = null;
  const left = (e: PointerEvent) => e.clientX - u.over.getBoundingClientRect().left;
  const down = (e: PointerEvent) => {
    if (e.pointerType !== "touch") return;
    start = left(e);
    u.setCursor({ left: start, top: 10 });
  };
  const moved = (e: PointerEvent) => {
    if (start === null) return;
    const now = left(e);
    u.setCursor({ left: now, top: 10 });
    u.setSelect(
      {
        left: Math.min(start, now),
        top: 0,
        width: Math.abs(now - start),
        height: u.over.clientHeight,
      },
      false,
    );
  };
  const up = (e: PointerEvent) => {
    if (start === null) return;
    const [lo, hi] = [Math.min(start, left(e)), Math.max(start, left(e))];
    start = null;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    if (e.type === "pointerup" && hi - lo > 24)
      onZoom(x.inv(u.posToVal(lo, "x")), x.inv(u.posToVal(hi, "x")));
  };
  u.over.addEventListener("pointerdown", down);
  u.over.addEventListener("pointermove", moved);
  u.over.addEventListener("pointerup", up);
  u.over.addEventListener("pointercancel", up);
  return () => u.over.replaceChildren();
}

interface LegendProps {
  model: ChartModel;
  hidden: ReadonlySet<string>;
  onToggle(id: string): void;
  reading: ReturnType<ChartModel["reading"]> | null;
}

function Legend({ model, hidden, onToggle, reading }: LegendProps) {
  return (
    <div class="legend">
      <ul>
        {model.legend.map((l) => (
          <li key={l.id}>
            <button
              type="button"
              class="series"
              aria-pressed={!hidden.has(l.id)}
              onClick={() => onToggle(l.id)}
              title={hidden.has(l.id) ? "Show" : "Hide"}
            >
              <Swatch tone={l.tone} glyph={l.glyph} /> {l.label}
            </button>
            <span class="value">{reading?.values.find((v) => v.id === l.id)?.text ?? ""}</span>
          </li>
        ))}
      </ul>
      <span class="at">{reading ? reading.x : ""}</span>
    </div>
  );
}

export function Swatch({
  tone,
  glyph = "line",
}: {
  tone: Tone;
  glyph?: "line" | "band" | "circle" | "square";
}) {
  return (
    <svg
      class={`swatch tone-${tone}`}
      width="22"
      height="10"
      viewBox="0 0 22 10"
      aria-hidden="true"
    >
      {glyph === "circle" && <circle cx="11" cy="5" r="4" class="fill" />}
      {glyph === "square" && <rect x="7.5" y="1.5" width="7" height="7" class="fill" />}
      {glyph === "band" && <rect x="0" y="1" width="22" height="8" class="soft" />}
      {(glyph === "line" || glyph === "band") && (
        <line x1="0" y1="5" x2="22" y2="5" stroke-dasharray={DASHES[tone].join(" ") || undefined} />
      )}
    </svg>
  );
}

export function Rows({ table, title }: { table: DataTable; title: string }) {
  const [page, setPage] = useState(0);
  const pages = Math.max(1, Math.ceil(table.rows.length / PAGE));
  const shown = useMemo(() => table.rows.slice(page * PAGE, page * PAGE + PAGE), [table, page]);
  return (
    <div class="rows">
      <div class="scroll" tabIndex={0} role="region" aria-label={`${title} as a table`}>
        <table class="data">
          <thead>
            <tr>
              {table.head.map((h, i) => (
                <th key={i} scope="col">
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((r, i) => (
              <tr key={i}>
                {r.map((c, j) => (
                  <td key={j}>{c}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pages > 1 && (
        <p class="pager">
          Rows {group(page * PAGE + 1)} to {group(Math.min(table.rows.length, (page + 1) * PAGE))}{" "}
          of {group(table.rows.length)}
          <button
            type="button"
            class="small"
            disabled={page === 0}
            onClick={() => setPage(page - 1)}
          >
            Previous
          </button>
          <button
            type="button"
            class="small"
            disabled={page + 1 >= pages}
            onClick={() => setPage(page + 1)}
          >
            Next
          </button>
        </p>
      )}
    </div>
  );
}
