import {useEffect, useLayoutEffect, useRef} from 'preact/hooks';
import type {Goal} from '../../api/types';
import {reducedMotion, theme} from '../../app/theme';
import {prepare} from '../../charts/canvas';
import {token} from '../../charts/color';
import {shortCount} from '../../format';
import {hasRungs, kAxisPx, levelsText, type PlacedMark, type SieveLayout} from './sieve_layout';
import {cutoffText} from './sieve_table';

// A mark takes this long to its new place, ms.
const kMoveMs = 700;

interface Moving {
  x: number;
  y: number;
  alpha: number;
}

interface Props {
  layout: SieveLayout;
  best: number;   // trial
  hover: number;  // trial; -1: none
  goal: Goal;
}

// Draws a layout; when there is a new one, marks go from where they were to where they belong.
export function SieveCanvas({layout, best, hover, goal}: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = useRef(new Map<number, Moving>());
  const frame = useRef(0);
  const shown = useRef<SieveLayout | null>(null);
  const args = useRef({best, hover, goal});
  args.current = {best, hover, goal};
  const colorsOf = theme.value;

  useLayoutEffect(() => {
    cancelAnimationFrame(frame.current);
    const old = places.current;
    // Nothing moves on the first picture, nor when the picture has another size.
    const still = reducedMotion.matches || shown.current === null || shown.current.width !== layout.width;
    shown.current = layout;
    const from = new Map<number, Moving>();
    for (const mark of layout.marks) from.set(mark.trial, still ? {x: mark.x, y: mark.y, alpha: 1} : (old.get(mark.trial) ?? {x: mark.x, y: mark.y + 26, alpha: 0}));
    const start = performance.now();
    const step = (now: number) => {
      const part = still ? 1 : Math.min(1, (now - start) / kMoveMs);
      const eased = 1 - (1 - part) ** 3;
      const current = new Map<number, Moving>();
      for (const mark of layout.marks) {
        const begin = from.get(mark.trial)!;
        current.set(mark.trial, {
          x: begin.x + (mark.x - begin.x) * eased,
          y: begin.y + (mark.y - begin.y) * eased,
          alpha: begin.alpha + (1 - begin.alpha) * eased,
        });
      }
      places.current = current;
      if (canvas.current) paint(prepare(canvas.current, layout.width, layout.height), layout, current, args.current);
      if (part < 1) frame.current = requestAnimationFrame(step);
    };
    step(start);
    return () => cancelAnimationFrame(frame.current);
  }, [layout]);

  useLayoutEffect(() => {
    if (canvas.current) paint(prepare(canvas.current, layout.width, layout.height), layout, places.current, args.current);
  }, [best, hover, goal, colorsOf]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return <canvas ref={canvas} aria-hidden="true" style={{width: `${layout.width}px`, height: `${layout.height}px`}} />;
}

function paint(c: CanvasRenderingContext2D, layout: SieveLayout, places: Map<number, Moving>, {best, hover, goal}: {best: number; hover: number; goal: Goal}): void {
  c.font = '11.5px system-ui, sans-serif';
  paintLevels(c, layout);
  paintFlows(c, layout);
  paintShelves(c, layout, goal);
  let bestMark: PlacedMark | undefined;
  let hovered: PlacedMark | undefined;
  for (const mark of layout.marks) {
    if (mark.trial === best) bestMark = mark;
    else paintMark(c, mark, places.get(mark.trial)!, layout.radius);
    if (mark.trial === hover) hovered = mark;
  }
  if (bestMark) paintBest(c, places.get(bestMark.trial)!, layout.radius);
  if (hovered) {
    const place = places.get(hovered.trial)!;
    c.strokeStyle = token('--ink');
    c.lineWidth = 2;
    c.beginPath();
    c.arc(place.x, place.y, layout.radius + 4, 0, 7);
    c.stroke();
  }
}

function paintLevels(c: CanvasRenderingContext2D, layout: SieveLayout): void {
  c.textAlign = 'right';
  c.textBaseline = 'middle';
  c.lineWidth = 1;
  layout.levels.forEach(({resource, y}, i) => {
    c.fillStyle = token('--ink-2');
    c.fillText(shortCount(resource), kAxisPx - 14, y);
    if (i === 0) {
      c.fillStyle = token('--ink-3');
      c.fillText('units', kAxisPx - 14, y + 14);
    }
    c.strokeStyle = token('--line');
    c.setLineDash([2, 5]);
    c.beginPath();
    c.moveTo(kAxisPx - 6, Math.round(y) + 0.5);
    c.lineTo(layout.width, Math.round(y) + 0.5);
    c.stroke();
  });
  c.setLineDash([]);
}

// What went on from each shelf to the next, as a stream that narrows.
function paintFlows(c: CanvasRenderingContext2D, layout: SieveLayout): void {
  for (const {column, shelves} of layout.columns) {
    if (!hasRungs(column)) continue;
    for (let i = 0; i + 1 < shelves.length; i++) {
      const low = shelves[i];
      const high = shelves[i + 1];
      if (low.shelf.passed === 0) continue;
      const middle = (low.y + high.y) / 2;
      const fill = c.createLinearGradient(0, low.y, 0, high.y);
      fill.addColorStop(0, token('--pruned-soft'));
      fill.addColorStop(1, token('--completed-soft'));
      c.fillStyle = fill;
      c.globalAlpha = 0.85;
      c.beginPath();
      c.moveTo(low.left, low.y);
      c.bezierCurveTo(low.left, middle, high.left, middle, high.left, high.y);
      c.lineTo(high.right, high.y);
      c.bezierCurveTo(high.right, middle, low.right, middle, low.right, low.y);
      c.closePath();
      c.fill();
      c.globalAlpha = 1;
    }
  }
}

function paintShelves(c: CanvasRenderingContext2D, layout: SieveLayout, goal: Goal): void {
  for (const {column, left, width, shelves} of layout.columns) {
    shelves.forEach(({shelf, y, left: shelfLeft, right, more}, i) => {
      if (shelf.entered === 0) {
        c.strokeStyle = token('--line-strong');
        c.setLineDash([3, 3]);
      } else c.strokeStyle = token('--ink-3');
      c.lineWidth = shelf.entered === 0 ? 1 : 1.5;
      c.beginPath();
      c.moveTo(shelfLeft, y);
      c.lineTo(right, y);
      c.stroke();
      c.setLineDash([]);
      if (shelf.entered === 0) return;
      const words: string[] = [];
      if (hasRungs(column)) {
        const top = i + 1 === shelves.length;
        words.push(`${shortCount(shelf.entered)} in`);
        if (!top) words.push(`${shortCount(shelf.passed)} on`);
        const cutoff = cutoffText(shelf.cutoffs);
        if (cutoff && !top) words.push(`${goal === 'MINIMIZE' ? '≤' : '≥'} ${cutoff}`);
      } else {
        words.push(`${shortCount(shelf.entered)} ${shelf.entered === 1 ? 'trial' : 'trials'}`, `${levelsText(shelf)} units`);
      }
      if (more > 0) words.push(`${shortCount(more)} not drawn`);
      // What does not fit the column is left out from the end.
      while (words.length > 1 && c.measureText(words.join('  ·  ')).width > width + 12) words.pop();
      const text = words.join('  ·  ');
      c.textAlign = 'center';
      c.textBaseline = 'top';
      c.lineJoin = 'round';
      c.lineWidth = 4;
      c.strokeStyle = token('--surface');
      c.globalAlpha = 0.75;
      c.strokeText(text, left + width / 2, y + 3.5);
      c.globalAlpha = 1;
      c.fillStyle = token('--ink-2');
      c.fillText(text, left + width / 2, y + 3.5);
    });
  }
}

function paintMark(c: CanvasRenderingContext2D, mark: PlacedMark, {x, y, alpha}: Moving, radius: number): void {
  c.globalAlpha = alpha;
  c.beginPath();
  switch (mark.state) {
    case 'FAILED':
      c.strokeStyle = token('--failed');
      c.lineWidth = Math.max(1.5, radius * 0.45);
      c.moveTo(x - radius * 0.8, y - radius * 0.8);
      c.lineTo(x + radius * 0.8, y + radius * 0.8);
      c.moveTo(x + radius * 0.8, y - radius * 0.8);
      c.lineTo(x - radius * 0.8, y + radius * 0.8);
      c.stroke();
      break;
    case 'PRUNED':
      c.fillStyle = token('--pruned');
      c.arc(x, y, radius * 0.8, 0, 7);
      c.fill();
      break;
    case 'CANCELLED':
      c.fillStyle = token('--cancelled');
      c.fillRect(x - radius, y - radius * 0.4, radius * 2, radius * 0.8);
      break;
    case 'PAUSED':
    case 'PENDING':
      c.strokeStyle = token(mark.state === 'PAUSED' ? '--paused' : '--pending');
      c.lineWidth = Math.max(1.4, radius * 0.42);
      c.arc(x, y, radius * 0.82, 0, 7);
      c.stroke();
      break;
    default:
      c.fillStyle = token(mark.state === 'RUNNING' ? '--running' : '--completed');
      c.arc(x, y, radius, 0, 7);
      c.fill();
      if (mark.state === 'RUNNING') {
        c.globalAlpha = alpha * 0.25;
        c.beginPath();
        c.arc(x, y, radius * 1.6, 0, 7);
        c.fill();
      }
  }
  c.globalAlpha = 1;
}

function paintBest(c: CanvasRenderingContext2D, {x, y, alpha}: Moving, radius: number): void {
  const size = Math.max(radius * 1.25, 4.5);
  c.fillStyle = token('--best');
  c.globalAlpha = alpha * 0.25;
  c.beginPath();
  c.arc(x, y, size * 1.9, 0, 7);
  c.fill();
  c.globalAlpha = alpha;
  c.beginPath();
  c.arc(x, y, size, 0, 7);
  c.fill();
  c.lineWidth = 1.5;
  c.strokeStyle = token('--surface');
  c.stroke();
  c.globalAlpha = 1;
}

