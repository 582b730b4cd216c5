import type {ComponentChildren} from 'preact';
import {useMemo, useRef, useState} from 'preact/hooks';
import {number} from '../format';
import {Canvas, useWidth} from './canvas';
import {token} from './color';
import {clamp, linear, log, type Scale} from './scale';

export interface PlotAxis {
  label: string;
  min: number;
  max: number;
  log?: boolean;                             // REQUIRES min > 0
  ticks?: {at: number; text: string}[];      // in place of round numbers
  format?(value: number): string;
}

// Colours are tokens ("--accent") or CSS colours.
interface Common {
  color: string;
  alpha?: number;
  hidden?: boolean;
}
export interface LineLayer extends Common {
  kind: 'line';
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  width?: number;
  dash?: number[];
  step?: boolean;   // holds each value until the next one
  dots?: boolean;   // at the values
  quiet?: boolean;  // is not found by the pointer
}
export interface BandLayer extends Common {
  kind: 'band';
  x: ArrayLike<number>;
  low: ArrayLike<number>;
  high: ArrayLike<number>;
}
export interface PointLayer extends Common {
  kind: 'points';
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  colors?: string[];  // of each, in place of `color`
  size?: number;      // radius, px
  shape?: 'dot' | 'cross' | 'ring';
  quiet?: boolean;
}
export interface DrawLayer extends Common {
  kind: 'draw';
  draw(context: CanvasRenderingContext2D, px: (x: number) => number, py: (y: number) => number, box: Box): void;
}
export type Layer = LineLayer | BandLayer | PointLayer | DrawLayer;
export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
export interface Hit {
  layer: number;
  index: number;
}

interface PlotProps {
  label: string;  // what is to be seen, in words
  height: number;
  x: PlotAxis;
  y: PlotAxis;
  layers: Layer[];
  tip?(hit: Hit): ComponentChildren;
  onPick?(hit: Hit): void;
  compact?: boolean;  // fewer ticks, no axis titles
}

const kHitPx = 28;
const kFont = '11.5px system-ui, sans-serif';

function scaleOf(axis: PlotAxis): Scale {
  return axis.log && axis.min > 0 ? log(axis.min, axis.max) : linear(axis.min, axis.max);
}
const colorOf = (name: string) => (name.startsWith('--') ? token(name) : name);

export function Plot({label, height, x, y, layers, tip, onPick, compact}: PlotProps) {
  const [box, width] = useWidth<HTMLDivElement>();
  const [hit, setHit] = useState<(Hit & {px: number; py: number}) | null>(null);
  const frame = useRef<HTMLDivElement>(null);
  const xScale = useMemo(() => scaleOf(x), [x.min, x.max, x.log]);
  const yScale = useMemo(() => scaleOf(y), [y.min, y.max, y.log]);
  const inner: Box = {left: compact ? 44 : 56, top: compact ? 8 : 26, right: Math.max(60, width - 10), bottom: height - (compact ? 22 : 40)};
  const px = (value: number) => inner.left + xScale.to(value) * (inner.right - inner.left);
  const py = (value: number) => inner.bottom - yScale.to(value) * (inner.bottom - inner.top);

  const xTicks = x.ticks ?? xScale.ticks(Math.max(2, Math.floor((inner.right - inner.left) / 64))).map((at) => ({at, text: (x.format ?? number)(at)}));
  const yTicks = y.ticks ?? yScale.ticks(Math.max(2, Math.floor((inner.bottom - inner.top) / 30))).map((at) => ({at, text: (y.format ?? number)(at)}));

  const draw = (c: CanvasRenderingContext2D) => {
    c.font = kFont;
    c.lineWidth = 1;
    c.strokeStyle = token('--line');
    c.fillStyle = token('--ink-3');
    c.textAlign = 'right';
    c.textBaseline = 'middle';
    for (const {at, text} of yTicks) {
      const place = Math.round(py(at)) + 0.5;
      if (place < inner.top - 1 || place > inner.bottom + 1) continue;
      c.beginPath();
      c.moveTo(inner.left, place);
      c.lineTo(inner.right, place);
      c.stroke();
      c.fillText(text, inner.left - 8, place);
    }
    c.textAlign = 'center';
    c.textBaseline = 'top';
    let lastEnd = -Infinity;
    for (const {at, text} of xTicks) {
      const place = px(at);
      if (place < inner.left - 1 || place > inner.right + 1) continue;
      const half = c.measureText(text).width / 2;
      const middle = clamp(place, inner.left - 8 + half, width - half - 1);
      if (middle - half < lastEnd + 8) continue;
      lastEnd = middle + half;
      c.fillText(text, middle, inner.bottom + 7);
    }
    c.strokeStyle = token('--line-strong');
    c.beginPath();
    c.moveTo(inner.left, inner.bottom + 0.5);
    c.lineTo(inner.right, inner.bottom + 0.5);
    c.stroke();
    if (!compact) {
      c.textAlign = 'right';
      c.textBaseline = 'bottom';
      c.fillText(x.label, inner.right, height - 1);
    }
    c.save();
    c.beginPath();
    c.rect(inner.left - 6, inner.top - 6, inner.right - inner.left + 12, inner.bottom - inner.top + 9);
    c.clip();
    for (const layer of layers) if (!layer.hidden) drawLayer(c, layer, px, py, inner);
    if (hit && layers[hit.layer]) drawHit(c, layers[hit.layer], hit);
    c.restore();
  };

  const drawHit = (c: CanvasRenderingContext2D, layer: Layer, at: {px: number; py: number}) => {
    if (layer.kind === 'line') drawLayer(c, {...layer, width: (layer.width ?? 1.5) + 1.5, alpha: 1}, px, py, inner);
    c.globalAlpha = 1;
    c.beginPath();
    c.arc(at.px, at.py, 5, 0, 7);
    c.fillStyle = token('--surface');
    c.fill();
    c.lineWidth = 2.5;
    c.strokeStyle = token('--ink');
    c.stroke();
  };

  const find = (event: PointerEvent | MouseEvent) => {
    const bounds = frame.current!.getBoundingClientRect();
    const mouseX = event.clientX - bounds.left;
    const mouseY = event.clientY - bounds.top;
    let best: (Hit & {px: number; py: number}) | null = null;
    let nearest = kHitPx * kHitPx;
    layers.forEach((layer, which) => {
      if (layer.hidden || (layer.kind !== 'line' && layer.kind !== 'points') || layer.quiet) return;
      for (let i = 0; i < layer.x.length; i++) {
        const dx = px(layer.x[i]) - mouseX;
        if (dx > kHitPx || dx < -kHitPx) continue;
        const dy = py(layer.y[i]) - mouseY;
        const distance = dx * dx + dy * dy;
        if (distance < nearest) {
          nearest = distance;
          best = {layer: which, index: i, px: dx + mouseX, py: dy + mouseY};
        }
      }
    });
    return best as (Hit & {px: number; py: number}) | null;
  };
  // Left and right go through the points of a layer, up and down through the layers.
  const keys = (event: KeyboardEvent) => {
    const right = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    const up = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
    if (event.key === 'Enter' && hit) onPick?.(hit);
    if (event.key === 'Escape') setHit(null);
    if (!right && !up) return;
    const found = layers.flatMap((layer, which) => ((layer.kind === 'line' || layer.kind === 'points') && !layer.quiet && !layer.hidden && layer.x.length ? [which] : []));
    if (!found.length) return;
    event.preventDefault();
    const old = hit ? found.indexOf(hit.layer) : -1;
    const which = found[old < 0 ? found.length - 1 : (old + up + found.length) % found.length];
    const layer = layers[which] as LineLayer;
    const index = clamp((hit?.index ?? -1) + right, 0, layer.x.length - 1);
    setHit({layer: which, index, px: px(layer.x[index]), py: py(layer.y[index])});
  };

  const content = hit && tip ? tip(hit) : null;
  return (
    <div class="plot" ref={box} style={{height: `${height}px`}}>
      {!compact && <span class="plot-y">{y.label}</span>}
      <div
        ref={frame}
        class="plot-frame"
        role="img"
        aria-label={label}
        tabIndex={tip ? 0 : undefined}
        style={{cursor: hit && onPick ? 'pointer' : undefined}}
        onPointerMove={(event) => tip && setHit(find(event))}
        onPointerLeave={() => setHit(null)}
        onBlur={() => setHit(null)}
        onKeyDown={keys}
        onClick={(event) => {
          const found = find(event);
          if (found) onPick?.(found);
        }}
      >
        {width > 0 && <Canvas width={width} height={height} draw={draw} of={[layers, hit, xScale, yScale, x.label]} />}
      </div>
      {content && hit && (
        <div class="tip" role="status" style={tipPlace(hit.px, hit.py, width, height)}>
          {content}
        </div>
      )}
    </div>
  );
}

// Beside a point, away from the edge that is nearer.
export function tipPlace(x: number, y: number, width: number, height: number): Record<string, string> {
  const place: Record<string, string> = {};
  if (x > width / 2) place.right = `${width - x + 12}px`;
  else place.left = `${x + 12}px`;
  if (y > height / 2) place.bottom = `${height - y + 8}px`;
  else place.top = `${y + 8}px`;
  return place;
}

function drawLayer(c: CanvasRenderingContext2D, layer: Layer, px: (x: number) => number, py: (y: number) => number, box: Box): void {
  c.globalAlpha = layer.alpha ?? 1;
  if (layer.kind === 'draw') {
    layer.draw(c, px, py, box);
    c.globalAlpha = 1;
    return;
  }
  const color = colorOf(layer.color);
  if (layer.kind === 'band') {
    c.fillStyle = color;
    c.beginPath();
    let begun = false;
    for (let i = 0; i < layer.x.length; i++) {
      if (!Number.isFinite(layer.high[i]) || !Number.isFinite(layer.low[i])) continue;
      if (begun) c.lineTo(px(layer.x[i]), py(layer.high[i]));
      else c.moveTo(px(layer.x[i]), py(layer.high[i]));
      begun = true;
    }
    for (let i = layer.x.length - 1; i >= 0; i--) {
      if (Number.isFinite(layer.high[i]) && Number.isFinite(layer.low[i])) c.lineTo(px(layer.x[i]), py(layer.low[i]));
    }
    c.closePath();
    c.fill();
  } else if (layer.kind === 'line') {
    c.strokeStyle = color;
    c.lineWidth = layer.width ?? 1.5;
    c.lineJoin = 'round';
    c.setLineDash(layer.dash ?? []);
    c.beginPath();
    let last = Number.NaN;
    for (let i = 0; i < layer.x.length; i++) {
      const at = py(layer.y[i]);
      if (!Number.isFinite(at)) continue;
      const place = px(layer.x[i]);
      if (Number.isNaN(last)) c.moveTo(place, at);
      else if (layer.step) {
        c.lineTo(place, last);
        c.lineTo(place, at);
      } else c.lineTo(place, at);
      last = at;
    }
    c.stroke();
    c.setLineDash([]);
    if (layer.dots) {
      c.fillStyle = color;
      for (let i = 0; i < layer.x.length; i++) {
        c.beginPath();
        c.arc(px(layer.x[i]), py(layer.y[i]), (layer.width ?? 1.5) + 1, 0, 7);
        c.fill();
      }
    }
  } else {
    const size = layer.size ?? 3;
    c.lineWidth = 1.3;
    for (let i = 0; i < layer.x.length; i++) {
      const place = px(layer.x[i]);
      const at = py(layer.y[i]);
      if (!Number.isFinite(at) || !Number.isFinite(place)) continue;
      c.fillStyle = c.strokeStyle = layer.colors ? layer.colors[i] : color;
      c.beginPath();
      if (layer.shape === 'cross') {
        c.moveTo(place - size, at - size);
        c.lineTo(place + size, at + size);
        c.moveTo(place + size, at - size);
        c.lineTo(place - size, at + size);
        c.stroke();
      } else {
        c.arc(place, at, size, 0, 7);
        if (layer.shape === 'ring') c.stroke();
        else c.fill();
      }
    }
  }
  c.globalAlpha = 1;
}
