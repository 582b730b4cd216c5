import {useEffect, useLayoutEffect, useRef, useState} from 'preact/hooks';
import type {GetWorkerUsageResponse, WorkerUsage} from '../../api/types';
import {theme} from '../../app/theme';
import {count, number, percent} from '../../format';
import {type Measure, parts, steps, summary, timeTicks} from './heat';

const kRowPx = 26;
const kGapPx = 2;
const kAxisPx = 24;
const kTickPx = 84;

export const kMeasures: {value: Measure; label: string}[] = [
  {value: 'cpu', label: 'CPU'},
  {value: 'memory', label: 'Memory'},
  {value: 'slots', label: 'Slots'},
];
const kWords: Record<Measure, string> = {cpu: 'CPU in use', memory: 'memory in use', slots: 'slots in use'};

interface Cell {
  row: number;
  step: number;
}

// Workers as rows, time from left to right.
export function HeatMap({answer, measure}: {answer: GetWorkerUsageResponse; measure: Measure}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const plot = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [cell, setCell] = useState<Cell | null>(null);
  const count_ = steps(answer);
  const rows = answer.workers;
  const shown = theme.value;
  const start = new Date(answer.startTime).getTime();
  const height = rows.length * kRowPx;

  useLayoutEffect(() => {
    const box = plot.current!;
    setWidth(box.clientWidth);
    const watcher = new ResizeObserver(() => setWidth(box.clientWidth));
    watcher.observe(box);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, width, rows, measure, count_);
  }, [width, answer, measure, shown]);

  const at = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / kRowPx);
    const step = Math.floor(((event.clientX - box.left) / box.width) * count_);
    setCell(row >= 0 && row < rows.length && step >= 0 && step < count_ ? {row, step} : null);
  };
  const keys = (event: KeyboardEvent) => {
    const moves: Record<string, [number, number]> = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]};
    if (event.key === 'Escape') setCell(null);
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    // The first key goes to the first worker's newest figure.
    const newest = parts(rows[0], measure).reduce((last, value, step) => (Number.isFinite(value) ? step : last), 0);
    const next = cell ? {row: cell.row + move[0], step: cell.step + move[1]} : {row: 0, step: newest};
    setCell({row: Math.min(rows.length - 1, Math.max(0, next.row)), step: Math.min(count_ - 1, Math.max(0, next.step))});
  };
  const ticks = width > 0 ? timeTicks(start, answer.stepSeconds * count_, Math.max(2, Math.floor(width / kTickPx))).filter(({place}) => Math.min(place, 1 - place) * width > kTickPx / 4) : [];
  const told = cell && rows[cell.row] ? tell(rows[cell.row], measure, cell.step, start, answer.stepSeconds) : null;
  const left = cell && width > 0 ? ((cell.step + 0.5) / count_) * width : 0;
  return (
    <div class="heat">
      <ul class="heat-names" aria-hidden="true">
        {rows.map((row) => (
          <li key={row.worker} title={`${row.worker} on ${row.host}`}>
            {row.worker}
          </li>
        ))}
      </ul>
      <div class="heat-plot" ref={plot}>
        <canvas
          ref={canvas}
          class="heat-canvas"
          style={{height: `${height}px`}}
          tabIndex={0}
          role="img"
          aria-label={`${kWords[measure]} by worker over time; arrow keys read single steps, and a table with the figures follows`}
          onPointerMove={at}
          onPointerDown={at}
          onPointerLeave={() => setCell(null)}
          onKeyDown={keys}
          onBlur={() => setCell(null)}
        />
        <div class="heat-axis" aria-hidden="true" style={{height: `${kAxisPx}px`}}>
          {ticks.map((tick) => (
            <span key={tick.text} style={{left: `${tick.place * 100}%`}}>
              {tick.text}
            </span>
          ))}
        </div>
        {cell && told && (
          <>
            <i class="heat-mark" style={{left: `${(cell.step / count_) * width}px`, top: `${cell.row * kRowPx}px`, width: `${Math.max(3, width / count_)}px`, height: `${kRowPx - kGapPx}px`}} />
            <div class="tip" role="status" style={{left: `${Math.min(Math.max(0, left - 90), Math.max(0, width - 190))}px`, top: `${(cell.row + 1) * kRowPx + 4}px`}}>
              <strong>{rows[cell.row].worker}</strong> <span class="quiet">{told.time}</span>
              <br />
              {told.text}
            </div>
          </>
        )}
      </div>
      <table class="sr">
        <caption>{kWords[measure]} by worker</caption>
        <thead>
          <tr>
            <th>Worker</th>
            <th>Now</th>
            <th>Mean</th>
            <th>Highest</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const {now, mean, high} = summary(parts(row, measure));
            return (
              <tr key={row.worker}>
                <th>{row.worker}</th>
                <td>{percent(now)}</td>
                <td>{percent(mean)}</td>
                <td>{percent(high)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function tell(row: WorkerUsage, measure: Measure, step: number, start: number, stepSeconds: number) {
  const value = parts(row, measure)[step];
  const time = new Date(start + step * stepSeconds * 1000).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit', second: stepSeconds < 60 ? '2-digit' : undefined});
  if (!Number.isFinite(value)) return {time, text: 'No sample.'};
  const detail = measure === 'slots' ? `${number(row.slotsUsed[step], 2)} of ${count(row.slots)} slots` : percent(value);
  return {time, text: `${detail} ${measure === 'slots' ? '' : kWords[measure]}`};
}

function rgb(text: string): [number, number, number] {
  const value = Number.parseInt(text.trim().slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

// Between the colours of nothing and of all; a step without a sample is left out, and a thin line runs through it.
function draw(canvas: HTMLCanvasElement, width: number, rows: WorkerUsage[], measure: Measure, count: number): void {
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(rows.length * kRowPx * scale);
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const from = rgb(style.getPropertyValue('--surface-2'));
  const to = rgb(style.getPropertyValue('--accent'));
  const missing = style.getPropertyValue('--line');
  rows.forEach((row, index) => {
    const values = parts(row, measure);
    const y = index * kRowPx;
    context.fillStyle = missing;
    context.fillRect(0, y + (kRowPx - kGapPx) / 2, width, 1);
    for (let step = 0; step < count; step++) {
      const value = values[step];
      if (!Number.isFinite(value)) continue;
      const part = Math.min(1, Math.max(0, value));
      const channel = (i: number) => Math.round(from[i] + (to[i] - from[i]) * part);
      context.fillStyle = `rgb(${channel(0)} ${channel(1)} ${channel(2)})`;
      // On whole pixels of the screen, so that neighbours leave no seam.
      const x0 = Math.round((step / count) * width * scale) / scale;
      const x1 = Math.round(((step + 1) / count) * width * scale) / scale;
      context.fillRect(x0, y, Math.max(1 / scale, x1 - x0), kRowPx - kGapPx);
    }
  });
}
