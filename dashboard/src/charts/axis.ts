import type {Axis} from '../api/types';

// Where numbers lie on an axis as the server sends it, and back (insight/axis_scale.h). Pure.

export function isDiscrete(axis: Axis): boolean {
  return axis.values.length > 0;
}

function toScale(axis: Axis, value: number): number {
  if (axis.scaling === 'log') return Math.log(value);
  if (axis.scaling === 'reverse_log') return axis.kind === 'integer' ? -Math.log(axis.max - value + 1) : -Math.log1p(-value);
  return value;
}

function fromScale(axis: Axis, at: number): number {
  if (axis.scaling === 'log') return Math.exp(at);
  if (axis.scaling === 'reverse_log') return axis.kind === 'integer' ? axis.max + 1 - Math.exp(-at) : -Math.expm1(-at);
  return at;
}

// 0 to 1 of a number.
export function positionOf(axis: Axis, value: number): number {
  if (!(axis.min < axis.max)) return 0.5;
  const low = toScale(axis, axis.min);
  const high = toScale(axis, axis.max);
  return (toScale(axis, Math.min(axis.max, Math.max(axis.min, value))) - low) / (high - low);
}

export function valueAt(axis: Axis, position: number): number {
  const bounded = Math.min(1, Math.max(0, position));
  const low = toScale(axis, axis.min);
  const high = toScale(axis, axis.max);
  return fromScale(axis, low + bounded * (high - low));
}

// Of n values: those whose places are within.
export function valuesWithin(axis: Axis, from: number, to: number): string[] {
  return axis.values.filter((_, i) => {
    const at = (i + 0.5) / axis.values.length;
    return at >= from && at <= to;
  });
}

// Ticks for a plot whose x or y is a position.
export function positionTicks(axis: Axis, most = Infinity): {at: number; text: string}[] {
  const every = Math.ceil(axis.tickPosition.length / most);
  return axis.tickPosition.map((at, i) => ({at, text: axis.tickText[i]})).filter((_, i) => i % every === 0);
}
