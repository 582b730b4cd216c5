import type {ComparisonRow} from '../../api/types';
import {token} from '../../charts/color';
import {type Layer, Plot, type PlotAxis} from '../../charts/plot';
import {extent} from '../../charts/scale';
import {duration, number} from '../../format';
import {durationTicks} from '../duration_ticks';
import {seriesStyle} from '../series';
import {front} from './front';

const kHeightPx = 300;
const kMostNames = 14;
// Costs that differ by more than this are laid on a logarithmic axis.
const kLogRatio = 30;

export interface Cost {
  label: string;
  of(row: ComparisonRow): number;
}

interface Props {
  rows: ComparisonRow[];
  colorOf(row: ComparisonRow): number;  // the row's number, which gives its colour
  metric: string;
  lowerIsBetter: boolean;
  cost: Cost;
  nameOf(row: ComparisonRow): string;
  onPick(row: ComparisonRow): void;
}

// Quality against a cost: rows, filled if the server has them on the Pareto front of all costs, and the best value for each cost.
export function Scatter({rows, colorOf, metric, lowerIsBetter, cost, nameOf, onPick}: Props) {
  const shown = rows.filter((row) => row.best !== undefined && Number.isFinite(row.best) && cost.of(row) >= 0);
  const xs = extent(shown.map(cost.of)) ?? [0, 1];
  const ys = extent(shown.map((row) => row.best!)) ?? [0, 1];
  const isLog = xs[0] > 0 && xs[1] / xs[0] > kLogRatio;
  const pad = (ys[1] - ys[0] || Math.abs(ys[0]) || 1) * 0.12;
  const x: PlotAxis = isLog
    ? {label: cost.label, min: xs[0] / 1.5, max: xs[1] * 2, log: true, format: duration}
    : {label: cost.label, min: 0, max: xs[1] * 1.18 || 1, ticks: durationTicks(xs[1] * 1.18, 6)};
  const y: PlotAxis = {label: metric, min: ys[0] - pad, max: ys[1] + pad};

  const stair = front(shown.map((row) => ({cost: cost.of(row), quality: row.best!})), lowerIsBetter);
  const layers: Layer[] = [
    {
      kind: 'line',
      x: [...stair.map((i) => cost.of(shown[i])), x.max],
      y: [...stair.map((i) => shown[i].best!), stair.length ? shown[stair[stair.length - 1]].best! : Number.NaN],
      color: '--best',
      width: 1.5,
      dash: [5, 4],
      step: true,
      quiet: true,
    },
    ...shown.map(
      (row): Layer => ({
        kind: 'points',
        x: [cost.of(row)],
        y: [row.best!],
        color: seriesStyle(colorOf(row)).color,
        size: row.pareto ? 6.5 : 5,
        shape: row.pareto ? 'dot' : 'ring',
      }),
    ),
  ];
  if (shown.length <= kMostNames) {
    layers.push({
      kind: 'draw',
      color: '--ink-2',
      draw(context, px, py, box) {
        context.font = '12px system-ui, sans-serif';
        context.fillStyle = token('--ink-2');
        context.textBaseline = 'middle';
        for (const row of shown) {
          const name = nameOf(row);
          const at = px(cost.of(row));
          const right = at + 12 + context.measureText(name).width < box.right;
          context.textAlign = right ? 'left' : 'right';
          context.lineWidth = 4;
          context.strokeStyle = token('--surface');
          context.strokeText(name, at + (right ? 11 : -11), py(row.best!) - 9);
          context.fillText(name, at + (right ? 11 : -11), py(row.best!) - 9);
        }
      },
    });
  }
  return (
    <Plot
      label={`${metric} against ${cost.label}; on the Pareto front: ${shown.filter((row) => row.pareto).map(nameOf).join(', ') || 'none'}`}
      height={kHeightPx}
      x={x}
      y={y}
      layers={layers}
      tip={(hit) => {
        const row = shown[hit.layer - 1];
        if (!row) return null;
        return (
          <>
            <strong>{nameOf(row)}</strong>
            <br />
            {metric} {number(row.best)}
            <br />
            {duration(cost.of(row))} <span class="quiet">{cost.label}</span>
          </>
        );
      }}
      onPick={(hit) => {
        const row = shown[hit.layer - 1];
        if (row) onPick(row);
      }}
    />
  );
}
