import type {ParallelCoordinates} from '../../api/types';
import {goodness, type Rgb, rgbOf, token} from '../../charts/color';
import {ranksOf} from '../../charts/scale';
import {densityField, kBend} from './parallel_density';

export const kTopPx = 40;
const kBottomPx = 46;
// Where a trial's line passes an axis on which it has no value.
const kNonePx = 30;
const kSidePx = 66;
const kHitPx = 7;
// Of a density along each axis.
export const kBins = 28;
// How dense the densest place is, 0 to 1.
const kStrength = 0.75;
const kAllStrength = 0.45;
// A place of a density is so wide: they change little from left to right, and what lies between is smoothed.
const kDensityPx = 2;
// Colours of densities, as parts of goodness: the ripest ones are the lines'.
const kBehindLines = Array.from({length: 32}, (_, i) => (0.7 * i) / 31);

export interface Places {
  x: number[];       // of the axes
  gap: number;
  width: number;
  height: number;
  bottom: number;
  y: Float32Array;   // of each line on each axis, as position
}

export function placesOf(data: ParallelCoordinates, width: number, height: number): Places {
  const n = data.axes.length;
  const bottom = height - kBottomPx;
  const gap = n > 1 ? (width - 2 * kSidePx) / (n - 1) : 0;
  const x = data.axes.map((_, i) => (n > 1 ? kSidePx + i * gap : width / 2));
  const y = new Float32Array(data.position.length);
  for (let i = 0; i < y.length; i++) y[i] = Number.isNaN(data.position[i]) ? bottom + kNonePx : bottom - data.position[i] * (bottom - kTopPx);
  return {x, gap, width, height, bottom, y};
}

// What stands behind: all trials, as densities where they are too many for lines.
export function paintBehind(c: CanvasRenderingContext2D, {data, all, places, minimize}: {data: ParallelCoordinates; all?: ParallelCoordinates; places: Places; minimize: boolean}): void {
  if (all && all.trials > all.trial.length) paintDensities(c, all, places, () => null, [rgbOf(token('--line-strong'))], kAllStrength);
  else if (all) {
    // The places of all lines are those of their own answer, on the same axes.
    const behind = placesOf(all, places.width, places.height);
    c.strokeStyle = token('--line-strong');
    c.globalAlpha = 0.45;
    c.lineWidth = 1;
    for (let i = 0; i < all.trial.length; i++) strokeLine(c, behind, i, all.axes.length);
  }
  if (data.trials > data.trial.length) {
    const goods = () => data.densities.map((density) => ranksOf(density.best, minimize));
    paintDensities(c, data, places, goods, kBehindLines.map((part) => rgbOf(goodness(part))), kStrength);
  }
  c.globalAlpha = 1;
}

interface Lines {
  data: ParallelCoordinates;
  places: Places;
  alive: Uint8Array;
  minimize: boolean;
  best: number;  // trial
}
export function paintLines(c: CanvasRenderingContext2D, {data, places, alive, minimize, best}: Lines): void {
  const n = data.axes.length;
  const lines = data.trial.length;
  const goods = ranksOf(Float64Array.from({length: lines}, (_, i) => data.position[i * n + n - 1]), minimize);
  // Hairlines, which browsers draw several times faster than wider ones. Worst first: the best are on top.
  c.lineWidth = 1;
  for (let i = lines - 1; i >= 0; i--) {
    if (!alive[i]) {
      c.strokeStyle = token('--line');
      c.globalAlpha = 0.6;
    } else {
      c.strokeStyle = goodness(goods[i]);
      c.globalAlpha = lines > 120 ? 0.65 : 0.85;
    }
    strokeLine(c, places, i, n);
  }
  const first = data.trial.indexOf(best);
  if (first >= 0 && alive[first]) {
    c.globalAlpha = 1;
    c.strokeStyle = token('--best');
    c.lineWidth = 2.75;
    strokeLine(c, places, first, n);
  }
  c.globalAlpha = 1;
}

// The line under the pointer, and the axes.
export function paintOver(c: CanvasRenderingContext2D, {data, places, hover}: {data: ParallelCoordinates; places: Places; hover: number}): void {
  const n = data.axes.length;
  if (hover >= 0 && hover < data.trial.length) {
    c.strokeStyle = token('--surface');
    c.lineWidth = 6;
    strokeLine(c, places, hover, n);
    c.strokeStyle = token('--ink');
    c.lineWidth = 2.5;
    strokeLine(c, places, hover, n);
  }
  paintAxes(c, data, places);
}

function strokeLine(c: CanvasRenderingContext2D, places: Places, line: number, n: number): void {
  c.beginPath();
  for (let k = 0; k < n; k++) {
    const y = places.y[line * n + k];
    if (k === 0) c.moveTo(places.x[0], y);
    else {
      const bend = (places.x[k] - places.x[k - 1]) * kBend;
      c.bezierCurveTo(places.x[k - 1] + bend, places.y[line * n + k - 1], places.x[k] - bend, y, places.x[k], y);
    }
  }
  c.stroke();
}

// What was drawn of an answer, by how: it stays on the page while others come and go before it.
const drawn = new WeakMap<ParallelCoordinates, Map<string, HTMLCanvasElement>>();

function paintDensities(c: CanvasRenderingContext2D, data: ParallelCoordinates, places: Places, goods: () => ArrayLike<number>[] | null, colors: Rgb[], strength: number): void {
  const key = [places.width, places.bottom, strength, ...colors].join();
  let pictures = drawn.get(data);
  if (!pictures) drawn.set(data, (pictures = new Map()));
  let picture = pictures.get(key);
  if (!picture) {
    // Of other sizes and themes none is needed any more.
    for (const old of pictures.keys()) if (!old.startsWith(`${places.width},${places.bottom}`)) pictures.delete(old);
    pictures.set(key, (picture = pictureOf(data, places, goods(), colors, strength)));
  }
  c.drawImage(picture, 0, kTopPx, picture.width * kDensityPx, picture.height);
}

// The more trials pass a place, the denser; colours by how good they are, or the one there is.
function pictureOf(data: ParallelCoordinates, places: Places, goods: ArrayLike<number>[] | null, colors: Rgb[], strength: number): HTMLCanvasElement {
  const height = Math.round(places.bottom - kTopPx);
  const width = Math.ceil(places.width / kDensityPx);
  const image = new ImageData(width, height);
  // A pixel is a number of red, green, blue and alpha, from its lowest byte up.
  const pixels = new Uint32Array(image.data.buffer);
  const inks = colors.map(([red, green, blue]) => red | (green << 8) | (blue << 16));
  data.densities.forEach((density, k) => {
    if (density.count.length === 0 || k + 1 >= places.x.length) return;
    const left = Math.round(places.x[k] / kDensityPx);
    const field = densityField(density, goods?.[k] ?? [], kBins, Math.round(places.x[k + 1] / kDensityPx) - left, height);
    for (let y = 0, from = 0; y < height; y++) {
      for (let x = 0, to = y * width + left; x < field.width; x++, from++, to++) {
        const trials = field.trials[from];
        if (trials < 0.5) continue;
        // By the root, so that a few beside many are still seen.
        const alpha = (255 * strength * Math.sqrt(trials / field.most)) | 0;
        pixels[to] = inks[Math.min(inks.length - 1, (field.good[from] * inks.length) | 0)] | (alpha << 24);
      }
    }
  });
  const picture = document.createElement('canvas');
  picture.width = width;
  picture.height = height;
  picture.getContext('2d')!.putImageData(image, 0, 0);
  return picture;
}

function paintAxes(c: CanvasRenderingContext2D, data: ParallelCoordinates, places: Places): void {
  const n = data.axes.length;
  c.font = '11.5px system-ui, sans-serif';
  c.textBaseline = 'middle';
  data.axes.forEach((axis, k) => {
    const x = Math.round(places.x[k]) + 0.5;
    c.strokeStyle = token('--ink-3');
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(x, kTopPx);
    c.lineTo(x, places.bottom);
    c.stroke();
    const atLeft = k === 0 || k + 1 < n;
    c.textAlign = atLeft ? 'right' : 'left';
    const most = Math.max(2, Math.floor((places.bottom - kTopPx) / 26));
    const every = Math.ceil(axis.tickPosition.length / most);
    const room = places.gap > 0 ? places.gap - 22 : 200;
    axis.tickPosition.forEach((position, i) => {
      if (i % every !== 0) return;
      const y = places.bottom - position * (places.bottom - kTopPx);
      label(c, shortened(c, axis.tickText[i], k === 0 ? kSidePx - 14 : Math.min(room, 74)), x + (atLeft ? -13 : 13), y);
      c.beginPath();
      c.moveTo(x - 3, y);
      c.lineTo(x + 3, y);
      c.stroke();
    });
    let missing = false;
    for (let i = k; i < data.position.length && !missing; i += n) missing = Number.isNaN(data.position[i]);
    if (missing) label(c, 'inactive', x + (atLeft ? -13 : 13), places.bottom + kNonePx);
  });
}

function shortened(c: CanvasRenderingContext2D, text: string, room: number): string {
  if (c.measureText(text).width <= room) return text;
  while (text.length > 2 && c.measureText(`${text}…`).width > room) text = text.slice(0, -1);
  return `${text}…`;
}

// On a ground of its own, so that it is read over the lines.
function label(c: CanvasRenderingContext2D, text: string, x: number, y: number): void {
  const width = c.measureText(text).width;
  c.fillStyle = token('--surface');
  c.globalAlpha = 0.88;
  c.beginPath();
  c.roundRect((c.textAlign === 'right' ? x - width : x) - 3, y - 8, width + 6, 16, 4);
  c.fill();
  c.globalAlpha = 1;
  c.fillStyle = token('--ink');
  c.fillText(text, x, y);
  c.lineWidth = 1;
  c.strokeStyle = token('--ink-3');
}

// The line that passes nearest to a place; -1: none is near.
export function lineAt(data: ParallelCoordinates, places: Places, alive: Uint8Array, x: number, y: number): number {
  const n = data.axes.length;
  let right = places.x.findIndex((each) => each >= x);
  if (right < 0) right = n - 1;
  if (right === 0) right = 1;
  if (n < 2 || y < kTopPx - 8) return -1;
  const left = right - 1;
  const part = Math.min(1, Math.max(0, (x - places.x[left]) / (places.x[right] - places.x[left] || 1)));
  // A line is a cubic of nearly this shape between two axes.
  const eased = part * part * (3 - 2 * part);
  let found = -1;
  let nearest = kHitPx;
  for (let i = 0; i < data.trial.length; i++) {
    if (!alive[i]) continue;
    const at = places.y[i * n + left] + (places.y[i * n + right] - places.y[i * n + left]) * eased;
    const distance = Math.abs(at - y);
    if (distance < nearest) {
      nearest = distance;
      found = i;
    }
  }
  return found;
}
