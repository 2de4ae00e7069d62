/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drawing marks and guides of a model onto a canvas, given the two scales. */

import { DASHES, type ChartModel, type Mark, type Tone } from "./model";

export interface Palette {
  tone: Record<Tone, string>;
  text: string;
  muted: string;
  grid: string;
  surface: string;
}

export function readPalette(el: Element): Palette {
  const css = getComputedStyle(el);
  const get = (name: string) => css.getPropertyValue(name).trim();
  return {
    tone: {
      a: get("--a"),
      b: get("--b"),
      c: get("--c"),
      d: get("--d"),
      e: get("--e"),
      f: get("--f"),
      ink: get("--text"),
    },
    text: get("--text"),
    muted: get("--muted"),
    grid: get("--grid"),
    surface: get("--surface"),
  };
}

export interface Scales {
  x(v: number): number | null; // data units to canvas pixels
  y(v: number | null | undefined): number | null;
  box: { left: number; top: number; width: number; height: number };
  ratio: number; // device pixels in a CSS pixel
}

export function paint(
  ctx: CanvasRenderingContext2D,
  m: ChartModel,
  s: Scales,
  hidden: ReadonlySet<string>,
  p: Palette,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(s.box.left, s.box.top, s.box.width, s.box.height);
  ctx.clip();
  ctx.lineJoin = "round";
  const shown = m.marks.filter((mark) => !hidden.has(mark.id));
  for (const mark of shown) if (mark.kind === "band") paintBand(ctx, mark, s, p);
  paintGuides(ctx, m, s, p);
  for (const mark of shown) {
    ctx.strokeStyle = ctx.fillStyle = p.tone[mark.tone];
    ctx.lineWidth = 1.75 * s.ratio;
    ctx.setLineDash(mark.kind === "dots" ? [] : DASHES[mark.tone].map((d) => d * s.ratio));
    if (mark.kind === "steps") paintSteps(ctx, mark, s);
    else if (mark.kind === "line") paintLine(ctx, mark, s, m.id === "runs");
    else if (mark.kind === "dots") paintDots(ctx, mark, s, p);
  }
  ctx.restore();
}

function paintGuides(ctx: CanvasRenderingContext2D, m: ChartModel, s: Scales, p: Palette): void {
  ctx.strokeStyle = p.muted;
  ctx.fillStyle = p.muted;
  ctx.lineWidth = s.ratio;
  ctx.font = `${11 * s.ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "top";
  for (const g of m.guides) {
    const at = g.axis === "x" ? s.x(g.at) : s.y(g.at);
    if (at === null) continue;
    ctx.setLineDash(g.axis === "x" ? [2 * s.ratio, 3 * s.ratio] : []);
    ctx.beginPath();
    if (g.axis === "x") {
      ctx.moveTo(at, s.box.top);
      ctx.lineTo(at, s.box.top + s.box.height);
    } else {
      ctx.moveTo(s.box.left, at);
      ctx.lineTo(s.box.left + s.box.width, at);
    }
    ctx.stroke();
    if (g.label && g.axis === "x") {
      const room = at + 6 * s.ratio + ctx.measureText(g.label).width < s.box.left + s.box.width;
      ctx.textAlign = room ? "left" : "right";
      ctx.fillText(g.label, at + (room ? 5 : -5) * s.ratio, s.box.top + 3 * s.ratio);
    }
  }
}

function paintSteps(
  ctx: CanvasRenderingContext2D,
  mark: Extract<Mark, { kind: "steps" }>,
  s: Scales,
): void {
  const bottom = s.box.top + s.box.height;
  const line = new Path2D();
  const fill = new Path2D();
  let penX = NaN;
  let open = false;
  const close = () => {
    if (!open) return;
    line.lineTo(penX, bottom);
    fill.lineTo(penX, bottom);
    open = false;
  };
  for (let i = 0; i < mark.x.length; i++) {
    const x1 = s.x(mark.x[i]!);
    const x2 = s.x(mark.x2[i]!);
    const y = s.y(mark.y[i]);
    if (x1 === null || x2 === null || y === null) {
      close();
      continue;
    }
    if (!open || Math.abs(x1 - penX) > 0.5) {
      close();
      line.moveTo(x1, bottom);
      fill.moveTo(x1, bottom);
      open = true;
    }
    line.lineTo(x1, y);
    line.lineTo(x2, y);
    fill.lineTo(x1, y);
    fill.lineTo(x2, y);
    penX = x2;
  }
  close();
  ctx.save();
  ctx.globalAlpha = 0.07;
  ctx.fill(fill);
  ctx.restore();
  ctx.stroke(line);
}

function paintLine(
  ctx: CanvasRenderingContext2D,
  mark: Extract<Mark, { kind: "line" }>,
  s: Scales,
  faint: boolean,
): void {
  ctx.save();
  if (faint) ctx.globalAlpha = 0.35;
  ctx.beginPath();
  let down = false;
  for (let i = 0; i < mark.x.length; i++) {
    const x = s.x(mark.x[i]!);
    const y = s.y(mark.y[i]);
    if (x === null || y === null) {
      down = down && faint; // the line of a side skips the runs of the other
      continue;
    }
    if (down) ctx.lineTo(x, y);
    else ctx.moveTo(x, y);
    down = true;
  }
  ctx.stroke();
  ctx.restore();
  if (!mark.dots) return;
  ctx.setLineDash([]);
  for (let i = 0; i < mark.x.length; i++) {
    const x = s.x(mark.x[i]!);
    const y = s.y(mark.y[i]);
    if (x === null || y === null) continue;
    ctx.beginPath();
    ctx.arc(x, y, 2.5 * s.ratio, 0, 2 * Math.PI);
    ctx.fill();
  }
}

function paintDots(
  ctx: CanvasRenderingContext2D,
  mark: Extract<Mark, { kind: "dots" }>,
  s: Scales,
  p: Palette,
): void {
  const r = (mark.shape === "circle" ? 4 : mark.shape === "square" ? 3.6 : 5.5) * s.ratio;
  for (let i = 0; i < mark.x.length; i++) {
    const x = s.x(mark.x[i]!);
    const y = s.y(mark.y[i]);
    if (x === null || y === null) continue;
    ctx.beginPath();
    if (mark.shape === "circle") ctx.arc(x, y, r, 0, 2 * Math.PI);
    else if (mark.shape === "square") ctx.rect(x - r, y - r, 2 * r, 2 * r);
    else {
      ctx.moveTo(x, y - r);
      ctx.lineTo(x + r, y);
      ctx.lineTo(x, y + r);
      ctx.lineTo(x - r, y);
      ctx.closePath();
    }
    ctx.fill();
    ctx.save();
    ctx.strokeStyle = p.surface;
    ctx.lineWidth = 1.2 * s.ratio;
    ctx.stroke();
    ctx.restore();
  }
}

function paintBand(
  ctx: CanvasRenderingContext2D,
  mark: Extract<Mark, { kind: "band" }>,
  s: Scales,
  p: Palette,
): void {
  const bottom = s.box.top + s.box.height;
  ctx.save();
  ctx.fillStyle = p.tone[mark.tone];
  ctx.globalAlpha = 0.18;
  let run: number[] = [];
  const flush = () => {
    if (run.length > 1) {
      ctx.beginPath();
      for (const i of run) ctx.lineTo(s.x(mark.x[i]!)!, s.y(mark.y2[i])!);
      // A lower end of zero lies below any log axis: the band goes down to the edge.
      for (const i of [...run].reverse()) ctx.lineTo(s.x(mark.x[i]!)!, s.y(mark.y[i]) ?? bottom);
      ctx.closePath();
      ctx.fill();
    }
    run = [];
  };
  for (let i = 0; i < mark.x.length; i++) {
    if (s.x(mark.x[i]!) !== null && s.y(mark.y2[i]) !== null && mark.y[i] !== null) run.push(i);
    else flush();
  }
  flush();
  ctx.restore();
}
