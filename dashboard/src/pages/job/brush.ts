import type {Axis} from '../../api/types';
import {isDiscrete, positionOf, valueAt, valuesWithin} from '../../charts/axis';
import type {Filter} from './filters';

// What is brushed on an axis as a filter, and back. Positions are 0 to 1. Pure.

export function fieldOf(axis: Axis): string {
  return axis.kind === 'objective' ? '#objective' : axis.name;
}

// Nearer to an end than this is the end.
const kEdge = 0.004;

// Where a pointer was, with few enough digits to be read, and enough to tell places of the axis apart.
function legible(axis: Axis, value: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  const digits = 4 + Math.ceil(Math.log10(Math.abs(value) / (axis.max - axis.min || 1)));
  return Number(value.toPrecision(Math.min(17, Math.max(6, digits))));
}

// null: all of the axis is chosen, or none of its values.
export function filterFrom(axis: Axis, from: number, to: number): Filter | null {
  const low = Math.min(from, to);
  const high = Math.max(from, to);
  const field = fieldOf(axis);
  if (isDiscrete(axis)) {
    const oneOf = valuesWithin(axis, low, high);
    return oneOf.length === 0 || oneOf.length === axis.values.length ? null : {field, oneOf};
  }
  let min = low <= kEdge ? undefined : valueAt(axis, low);
  let max = high >= 1 - kEdge ? undefined : valueAt(axis, high);
  if (axis.kind !== 'integer') {
    min = legible(axis, min);
    max = legible(axis, max);
  } else {
    if (min !== undefined) min = Math.ceil(min - 1e-9);
    if (max !== undefined) max = Math.floor(max + 1e-9);
    if (min !== undefined && max !== undefined && min > max) {
      // Between two numbers: the nearer one.
      min = max = Math.round(valueAt(axis, (low + high) / 2));
    }
  }
  return min === undefined && max === undefined ? null : {field, min, max};
}

// The brushed parts of the axis.
export function spansOf(axis: Axis, filter: Filter | null): [number, number][] {
  if (!filter) return [];
  if (!isDiscrete(axis)) {
    // An integer's line is seen at its brush's edge.
    return [[filter.min === undefined ? 0 : positionOf(axis, filter.min), filter.max === undefined ? 1 : positionOf(axis, filter.max)]];
  }
  const half = 0.5 / axis.values.length;
  const spans: [number, number][] = [];
  axis.values.forEach((value, i) => {
    const chosen = filter.oneOf ? filter.oneOf.includes(value) : Number(value) >= (filter.min ?? -Infinity) && Number(value) <= (filter.max ?? Infinity);
    if (!chosen) return;
    const at = (i + 0.5) / axis.values.length;
    const last = spans[spans.length - 1];
    if (last && Math.abs(last[1] - (at - half)) < 1e-9) last[1] = at + half;
    else spans.push([at - half, at + half]);
  });
  return spans;
}

// A click on one of an axis's values adds it to the chosen ones, or takes it away.
export function toggled(axis: Axis, filter: Filter | null, position: number): Filter | null {
  const value = axis.values[Math.min(axis.values.length - 1, Math.max(0, Math.floor(position * axis.values.length)))];
  const chosen = new Set(filter?.oneOf ?? []);
  if (!chosen.delete(value)) chosen.add(value);
  const oneOf = axis.values.filter((each) => chosen.has(each));
  return oneOf.length === 0 || oneOf.length === axis.values.length ? null : {field: fieldOf(axis), oneOf};
}

// Whether a line passes all brushes. `row`: its positions; a place that is not there passes none.
export function passes(row: ArrayLike<number>, spans: readonly [number, number][][]): boolean {
  const slack = 1e-6;
  for (let i = 0; i < spans.length; i++) {
    if (spans[i].length && !spans[i].some(([low, high]) => row[i] >= low - slack && row[i] <= high + slack)) return false;
  }
  return true;
}
