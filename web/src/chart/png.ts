/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A picture that stands alone: title, sentence, chart, legend, verdict, address and date. */

import { DASHES, type ChartModel } from "./model";
import type { Palette } from "./paint";

const PAD = 20;
const FONT = "system-ui, sans-serif";

export async function composePng(
  plot: HTMLCanvasElement,
  m: ChartModel,
  hidden: ReadonlySet<string>,
  caption: string,
  p: Palette,
): Promise<Blob> {
  const ratio = plot.width / plot.clientWidth;
  const width = Math.max(plot.clientWidth, 480) + 2 * PAD;
  const canvas = document.createElement("canvas");
  const ctx = canvas.getContext("2d")!;
  ctx.font = `12px ${FONT}`;
  const foot = wrap(ctx, caption, width - 2 * PAD);
  const about = wrap(ctx, m.about, width - 2 * PAD);
  const legend = m.legend.filter((l) => !hidden.has(l.id));
  const height =
    46 +
    about.length * 17 +
    plot.clientHeight +
    12 +
    legend.length * 18 +
    foot.length * 17 +
    2 * PAD;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  ctx.scale(ratio, ratio);
  ctx.fillStyle = p.surface;
  ctx.fillRect(0, 0, width, height);
  ctx.fillStyle = p.text;
  ctx.font = `600 17px ${FONT}`;
  ctx.fillText(m.title, PAD, PAD + 16);
  ctx.font = `12px ${FONT}`;
  ctx.fillStyle = p.muted;
  let y = PAD + 38;
  for (const line of about) ctx.fillText(line, PAD, (y += 17) - 17);
  ctx.drawImage(plot, PAD, y, plot.clientWidth, plot.clientHeight);
  y += plot.clientHeight + 20;
  for (const l of legend) {
    ctx.strokeStyle = p.tone[l.tone];
    ctx.lineWidth = 2;
    ctx.setLineDash(DASHES[l.tone]);
    ctx.beginPath();
    ctx.moveTo(PAD, y - 4);
    ctx.lineTo(PAD + 26, y - 4);
    ctx.stroke();
    ctx.fillStyle = p.text;
    ctx.fillText(l.label, PAD + 34, y);
    y += 18;
  }
  ctx.fillStyle = p.muted;
  for (const line of foot) ctx.fillText(line, PAD, (y += 17) - 13);
  return new Promise((done, fail) =>
    canvas.toBlob(
      (b) => (b ? done(b) : fail(new Error("the picture could not be encoded"))),
      "image/png",
    ),
  );
}

/** An address may be longer than the picture is wide. */
function pieces(ctx: CanvasRenderingContext2D, word: string, width: number): string[] {
  const out: string[] = [];
  let rest = word;
  while (ctx.measureText(rest).width > width) {
    let n = rest.length - 1;
    while (n > 1 && ctx.measureText(rest.slice(0, n)).width > width) n--;
    out.push(rest.slice(0, n));
    rest = rest.slice(n);
  }
  return [...out, rest];
}

function wrap(ctx: CanvasRenderingContext2D, text: string, width: number): string[] {
  const out: string[] = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.split(" ").flatMap((w) => pieces(ctx, w, width))) {
      const next = line ? `${line} ${word}` : word;
      if (line && ctx.measureText(next).width > width) {
        out.push(line);
        line = word;
      } else line = next;
    }
    out.push(line);
  }
  return out;
}
