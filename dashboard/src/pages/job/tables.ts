import type {LearningCurves, ObjectivePoints, ParallelCoordinates, ParetoFront, Sieve, Slice} from '../../api/types';
import {valueAt} from '../../charts/axis';
import {type Cell, type DataTable, tableOf} from '../../data_table';
import type {Axis} from '../../api/types';

// What the cards of a job draw, as tables to be downloaded. Pure.

// A value on an axis by its position there.
export function axisValue(axis: Axis, position: number): Cell {
  if (Number.isNaN(position)) return undefined;
  if (axis.values.length) return axis.values[Math.min(axis.values.length - 1, Math.floor(position * axis.values.length))];
  const value = valueAt(axis, position);
  return axis.kind === 'integer' ? Math.round(value) : Number(value.toPrecision(6));
}

// The trials that are drawn; brackets and rungs are counted from 1, as on the page.
export function sieveTable({cells}: Sieve): DataTable {
  const table: DataTable = {columns: ['bracket', 'rung', 'level', 'cutoff', 'trial', 'state', 'trained_to', 'best', 'reason'], rows: []};
  for (const cell of cells) {
    cell.trial.forEach((trial, i) =>
      table.rows.push([cell.bracket < 0 ? undefined : cell.bracket + 1, cell.rung + 1, cell.resource, cell.cutoff, trial, cell.state[i], cell.atResource[i], cell.best[i], cell.why[i]]),
    );
  }
  return table;
}

// The lines: the best trials.
export function parallelTable({axes, trial, position}: ParallelCoordinates): DataTable {
  return {
    columns: ['trial', ...axes.map((axis) => axis.name)],
    rows: trial.map((number, i) => [number, ...axes.map((axis, k) => axisValue(axis, position[i * axes.length + k]))]),
  };
}

export function slicesTable(slices: readonly Slice[]): DataTable {
  return {
    columns: ['hyperparameter', 'trial', 'value', 'objective', 'level'],
    rows: slices.flatMap((slice) => slice.trial.map((trial, i): Cell[] => [slice.axis.name, trial, axisValue(slice.axis, slice.x[i]), axisValue(slice.objective, slice.y[i]), slice.resource[i]])),
  };
}

// The curves that are drawn, and the quantiles of all.
export function curvesTable({metric, envelope, curves}: LearningCurves): DataTable {
  const quantiles = envelope ? (['min', 'lower', 'median', 'upper', 'max'] as const).map((name) => ({series: name as string, resource: envelope.resource, value: envelope[name]})) : [];
  const all = [...curves.map((curve) => ({series: `trial ${curve.trial}`, resource: curve.resource, value: curve.value})), ...quantiles];
  return tableOf({
    series: all.flatMap((each) => each.resource.map(() => each.series)),
    resource: all.flatMap((each) => each.resource),
    [metric]: all.flatMap((each) => each.value),
  });
}

export function objectivesTable(points: ObjectivePoints): DataTable {
  return tableOf({trial: points.trial, state: points.state, [points.xMetric]: points.xValue, [points.yMetric]: points.yValue, violation: points.violation, front: points.front.map((is) => (is ? 1 : 0))});
}

export function frontTable({objectives, trials}: ParetoFront): DataTable {
  return {
    columns: ['trial', ...objectives.map(({metric}) => metric), 'own_hypervolume'],
    rows: trials.map(({trial, values, ownHypervolume}) => [trial.number, ...values, ownHypervolume]),
  };
}
