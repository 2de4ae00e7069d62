/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency over time: a canvas of columns and rows, with p99 and max as lines, a colour key, and the
 * keyboard, Table, CSV and PNG of every chart. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { axisText, log10 } from "../lib/axis";
import { fmtTime, group, zoneName } from "../lib/format";
import { useTheme, useZone } from "../lib/prefs";
import { saveBlob, saveText } from "../lib/save";
import { Rows } from "./Chart";
import { colour, columnsOf, columnText, heatTable, shade, type HeatModel } from "./heat";
import { csvOf } from "./model";
import { readPalette, type Palette } from "./paint";

const HEIGHT = 280;
const LEFT = 62;
const BOTTOM = 30;
const TOP = 10;
const RIGHT = 12;

interface Props {
  model: HeatModel;
  title: string;
  about: string;
  tableOpen: boolean;
  onTable(): void;
  brush?: [number, number] | null; // ms since 1970
  onBrush?(range: [number, number] | null): void;
}

export function HeatMap({ model, title, about, tableOpen, onTable, brush, onBrush }: Props) {
  const zone = useZone();
  const theme = useTheme();
  const hostRef = useRef<HTMLDivElement>(null);
  const canvasRef = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [index, setIndex] = useState<number | null>(null);
  const columns = useMemo(() => columnsOf(model), [model]);
  const table = useMemo(() => heatTable(model, zone), [model, zone]);

  useLayoutEffect(() => {
    const host = hostRef.current!;
    const look = () => setWidth(host.clientWidth);
    look();
    const watch = new ResizeObserver(look);
    watch.observe(host);
    return () => watch.disconnect();
  }, []);
  useEffect(() => {
    const canvas = canvasRef.current;
    if (canvas && width > 100)
      draw(canvas, width, model, readPalette(canvas), theme === "dark", zone === "utc");
  }, [model, width, theme, zone]);

  const [mark, setMark] = useState<number | null>(null); // where Enter began a range
  const at = (i: number) => Math.max(0, Math.min(columns.length - 1, i));
  const onKey = (e: KeyboardEvent) => {
    const step = e.shiftKey ? 10 : 1;
    if (e.key === "ArrowRight") setIndex(at((index ?? -1) + step));
    else if (e.key === "ArrowLeft") setIndex(at((index ?? 1) - step));
    else if (e.key === "Home") setIndex(0);
    else if (e.key === "End") setIndex(columns.length - 1);
    else if (e.key === "Enter" && onBrush && index !== null) {
      const b = columns[index]!;
      const t = b.block.t[b.i]!;
      setMark(mark === null ? t : null);
      if (mark !== null) onBrush([Math.min(mark, t), Math.max(mark, t) + b.block.step]);
    } else if (e.key === "Escape" && brush) onBrush?.(null);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const timeAt = (e: PointerEvent) => {
    const x = e.clientX - hostRef.current!.getBoundingClientRect().left;
    const share = Math.max(0, Math.min(1, (x - LEFT) / (width - LEFT - RIGHT)));
    return model.t[0] + share * (model.t[1] - model.t[0]);
  };
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const onDown = (e: PointerEvent) => {
    if (!onBrush || e.button !== 0 || e.pointerType === "touch") return;
    (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
    const t = timeAt(e);
    setDrag([t, t]);
  };
  const onUp = () => {
    if (!drag) return;
    const [lo, hi] = drag[0] < drag[1] ? drag : [drag[1], drag[0]];
    setDrag(null);
    // A click is no range: it drops the one that is there.
    onBrush?.(hi - lo > (model.t[1] - model.t[0]) / 100 ? [lo, hi] : null);
  };
  const shown = drag ? [Math.min(...drag), Math.max(...drag)] : brush;
  const place = (t: number) =>
    LEFT +
    Math.max(0, Math.min(1, (t - model.t[0]) / (model.t[1] - model.t[0]))) * (width - LEFT - RIGHT);
  const onMove = (e: PointerEvent) => {
    const t = timeAt(e);
    if (drag) setDrag([drag[0], t]);
    const i = columns.findIndex((c) => t >= c.block.t[c.i]! && t < c.block.t[c.i]! + c.block.step);
    setIndex(i < 0 ? null : i);
  };
  const column = index === null ? null : (columns[index] ?? null);
  const left = column
    ? LEFT +
      ((column.block.t[column.i]! - model.t[0]) / (model.t[1] - model.t[0])) *
        (width - LEFT - RIGHT)
    : 0;
  const cell = column
    ? (column.block.step / (model.t[1] - model.t[0])) * (width - LEFT - RIGHT)
    : 0;

  return (
    <section class="card chart" aria-labelledby="chart-heat" data-chart="heat">
      <header>
        <h2 id="chart-heat">{title}</h2>
        <div class="tools">
          <button type="button" class="small" aria-pressed={tableOpen} onClick={onTable}>
            Table
          </button>
          <button
            type="button"
            class="small"
            onClick={() => saveText(csvOf(table), "over-time.csv", "text/csv")}
          >
            CSV
          </button>
          <button
            type="button"
            class="small"
            onClick={() => canvasRef.current?.toBlob((b) => b && saveBlob(b, "over-time.png"))}
          >
            PNG
          </button>
        </div>
      </header>
      <p class="about">{about}</p>
      <div
        class="plot"
        role="group"
        aria-roledescription="chart"
        aria-label={`${title}. ${about} Left and right arrow keys read columns.${onBrush ? " Enter begins and ends a range." : ""}`}
        tabIndex={0}
        onKeyDown={onKey}
      >
        <div
          ref={hostRef}
          class="canvas h280"
          onPointerDown={onDown}
          onPointerUp={onUp}
          onPointerMove={onMove}
          onPointerLeave={() => setIndex(null)}
        >
          <canvas ref={canvasRef} />
          {shown && (
            <div
              class="heat-brush"
              style={{
                left: `${place(shown[0]!)}px`,
                width: `${Math.max(1, place(shown[1]!) - place(shown[0]!))}px`,
              }}
            />
          )}
          {column && (
            <div
              class="heat-cursor"
              style={{ left: `${left}px`, width: `${Math.max(2, cell)}px` }}
            />
          )}
        </div>
      </div>
      <div class="legend">
        <ul>
          <li>
            <Key most={model.most} dark={theme === "dark"} />
          </li>
          <li>
            <svg class="swatch tone-ink" width="22" height="10" aria-hidden="true">
              <line x1="0" y1="5" x2="22" y2="5" />
            </svg>{" "}
            p99
          </li>
          <li>
            <svg class="swatch tone-b" width="22" height="10" aria-hidden="true">
              <line x1="0" y1="5" x2="22" y2="5" stroke-dasharray="3 3" />
            </svg>{" "}
            max
          </li>
        </ul>
        <span class="at" aria-live="polite">
          {column ? columnText(model, column, zone) : `times in ${zoneName(zone)}`}
        </span>
      </div>
      {tableOpen && <Rows table={table} title={title} />}
    </section>
  );
}

function Key({ most, dark }: { most: number; dark: boolean }) {
  const steps = Array.from({ length: 9 }, (_, i) => i / 8);
  return (
    <span class="heat-key">
      <span>1</span>
      <svg width="108" height="10" aria-hidden="true">
        {steps.map((v, i) => (
          <rect key={i} x={i * 12} y="0" width="12" height="10" fill={colour(v, dark)} />
        ))}
      </svg>
      <span>{group(most)} samples in a cell</span>
    </span>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  m: HeatModel,
  p: Palette,
  dark: boolean,
  utc: boolean,
): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  const ctx = canvas.getContext("2d")!;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = p.surface;
  ctx.fillRect(0, 0, width, HEIGHT);
  const x = (t: number) => LEFT + ((t - m.t[0]) / (m.t[1] - m.t[0])) * (width - LEFT - RIGHT);
  const y = (log: number) =>
    TOP + (1 - (log - m.y[0]) / (m.y[1] - m.y[0] || 1)) * (HEIGHT - TOP - BOTTOM);
  drawAxes(ctx, width, m, p, x, y, utc);
  for (const b of m.blocks) {
    for (let i = 0; i < b.t.length; i++) {
      const left = x(b.t[i]!);
      const w = Math.max(1, x(b.t[i]! + b.step) - left + 0.3);
      ctx.globalAlpha = b.phase[i] === 2 || b.phase[i] === 0 ? 1 : 0.35;
      b.counts[i]!.forEach((n, row) => {
        if (n <= 0) return;
        const top = y(Math.log10(b.edges[row + 1]!));
        const bottom = y(b.edges[row]! > 0 ? Math.log10(b.edges[row]!) : m.y[0]);
        ctx.fillStyle = colour(shade(n, m.most), dark);
        ctx.fillRect(left, top, w, Math.max(1, bottom - top + 0.3));
      });
    }
    ctx.globalAlpha = 1;
    const measured = b.t
      .map((t, i) => ({ x: x(t + b.step / 2), i }))
      .filter(({ i }) => b.phase[i] !== 1 && b.phase[i] !== 3);
    const height = (v: number | null | undefined) =>
      v !== null && v !== undefined && v > 0 ? y(Math.log10(v)) : null;
    line(
      ctx,
      measured.map((c) => c.x),
      measured.map((c) => height(b.p99[c.i])),
      p.text,
      [],
    );
    line(
      ctx,
      measured.map((c) => c.x),
      measured.map((c) => height(b.max[c.i])),
      p.tone.b,
      [3, 3],
    );
  }
}

function line(
  ctx: CanvasRenderingContext2D,
  xs: number[],
  ys: (number | null)[],
  stroke: string,
  dash: number[],
): void {
  ctx.strokeStyle = stroke;
  ctx.lineWidth = 1.4;
  ctx.setLineDash(dash);
  ctx.beginPath();
  let down = false;
  ys.forEach((v, i) => {
    if (v === null) down = false;
    else if (down) ctx.lineTo(xs[i]!, v);
    else {
      ctx.moveTo(xs[i]!, v);
      down = true;
    }
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

function drawAxes(
  ctx: CanvasRenderingContext2D,
  width: number,
  m: HeatModel,
  p: Palette,
  x: (t: number) => number,
  y: (log: number) => number,
  utc: boolean,
): void {
  ctx.font = "12px system-ui, sans-serif";
  ctx.fillStyle = p.muted;
  ctx.strokeStyle = p.grid;
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const tick of log10(m.unit).ticks(m.y[0], m.y[1], 7)) {
    if (!tick.label) continue;
    ctx.beginPath();
    ctx.moveTo(LEFT, y(tick.at));
    ctx.lineTo(width - RIGHT, y(tick.at));
    ctx.stroke();
    ctx.fillText(axisText(Math.pow(10, tick.at), m.unit), LEFT - 6, y(tick.at));
  }
  ctx.textBaseline = "top";
  for (const t of timeTicks(m.t[0], m.t[1], Math.max(2, Math.floor((width - LEFT) / 90)))) {
    ctx.beginPath();
    ctx.moveTo(x(t), HEIGHT - BOTTOM);
    ctx.lineTo(x(t), HEIGHT - BOTTOM + 5);
    ctx.stroke();
    ctx.textAlign = x(t) > width - RIGHT - 18 ? "right" : "center";
    ctx.fillText(
      fmtTime(new Date(t).toISOString(), utc ? "utc" : "local").slice(11),
      x(t),
      HEIGHT - BOTTOM + 8,
    );
  }
}

const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440];

export function timeTicks(from: number, to: number, room: number): number[] {
  const step = (STEPS_MIN.find((s) => (to - from) / (s * 60000) <= room) ?? 1440) * 60000;
  const out: number[] = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
  return out;
}
