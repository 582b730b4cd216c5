// Numbers to places and back, and where ticks stand. Pure.

export interface Scale {
  to(value: number): number;    // value -> 0 … 1 (beyond for values beyond)
  from(place: number): number;  // and back
  ticks(most: number): number[];
  kind: 'linear' | 'log';
}

export function linear(min: number, max: number): Scale {
  const span = max - min || 1;
  return {
    kind: 'linear',
    to: (value) => (value - min) / span,
    from: (place) => min + place * span,
    ticks: (most) => linearTicks(min, max, most),
  };
}

// REQUIRES: 0 < min.
export function log(min: number, max: number): Scale {
  const low = Math.log(min);
  const span = Math.log(max) - low || 1;
  return {
    kind: 'log',
    to: (value) => (Math.log(value) - low) / span,
    from: (place) => Math.exp(low + place * span),
    ticks: (most) => logTicks(min, max, most),
  };
}

// A step of 1, 2 or 5 times a power of ten.
export function niceStep(span: number, most: number): number {
  const rough = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const lead = rough / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

export function linearTicks(min: number, max: number, most: number): number[] {
  if (!(max > min)) return Number.isFinite(min) ? [min] : [];
  const step = niceStep(max - min, most);
  // Ticks are written with 12 digits: where these cannot tell them apart, there is one.
  if (!(step > Math.max(Math.abs(min), Math.abs(max)) * 1e-11)) return [min];
  const ticks = [];
  for (let i = Math.ceil(min / step - 1e-9); i * step <= max + step * 1e-9; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

export function logTicks(min: number, max: number, most: number): number[] {
  if (!(max > min) || !(min > 0)) return min > 0 ? [min] : [];
  const decades = Math.log10(max / min);
  const leads = decades * 3 <= most ? [1, 2, 5] : [1];
  const every = leads.length === 1 ? Math.max(1, Math.ceil(decades / most)) : 1;
  const ticks = [];
  for (let exponent = Math.floor(Math.log10(min)); exponent <= Math.ceil(Math.log10(max)); exponent++) {
    if (exponent % every !== 0) continue;
    for (const lead of leads) {
      const value = Number((lead * 10 ** exponent).toPrecision(12));
      if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) ticks.push(value);
    }
  }
  return ticks.length >= 2 ? ticks : linearTicks(min, max, most);
}

// Smallest and largest of the numbers that are some.
export function extent(values: Iterable<number>): [number, number] | null {
  let min = Infinity;
  let max = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? [min, max] : null;
}

export function clamp(value: number, min: number, max: number): number {
  return value < min ? min : value > max ? max : value;
}

// The quantile of numbers in rising order, linear between neighbours.
export function quantile(sorted: readonly number[], part: number): number {
  if (sorted.length === 0) return Number.NaN;
  const at = part * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

// Of numbers, how good each is among them: 0 the worst, 1 the best, by rank, so that a few outliers take no colours away.
export function ranksOf(values: ArrayLike<number>, minimize: boolean): Float32Array {
  const order = Array.from({length: values.length}, (_, i) => i).filter((i) => Number.isFinite(values[i]));
  order.sort((a, b) => (minimize ? values[b] - values[a] : values[a] - values[b]));
  const ranks = new Float32Array(values.length).fill(Number.NaN);
  order.forEach((index, rank) => {
    // Equal values are equally good.
    const before = rank > 0 && values[order[rank - 1]] === values[index] ? ranks[order[rank - 1]] : rank / Math.max(1, order.length - 1);
    ranks[index] = before;
  });
  return ranks;
}
