// What the heat map shows, without drawing it. Pure.
import type {GetWorkerUsageResponse, WorkerUsage} from '../../api/types';

export type Measure = 'cpu' | 'memory' | 'slots';

// 0 … 1 for each step; NaN: nothing was said in it.
export function parts(usage: WorkerUsage, measure: Measure): number[] {
  if (measure === 'cpu') return usage.cpu;
  if (measure === 'memory') return usage.memory;
  return usage.slotsUsed.map((used) => (usage.slots > 0 ? used / usage.slots : Number.NaN));
}

export interface Summary {
  now: number;   // the newest step that has a sample
  mean: number;
  high: number;
}
export function summary(values: readonly number[]): Summary {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return {now: Number.NaN, mean: Number.NaN, high: Number.NaN};
  return {
    now: known[known.length - 1],
    mean: known.reduce((sum, value) => sum + value, 0) / known.length,
    high: Math.max(...known),
  };
}

const kTickSteps = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

export interface TimeTick {
  place: number;  // 0 … 1
  text: string;
}
// At whole minutes, hours or days of the viewer's clock.
export function timeTicks(start: number, seconds: number, most: number): TimeTick[] {
  const step = kTickSteps.find((each) => seconds / each <= most) ?? kTickSteps[kTickSteps.length - 1];
  const zone = new Date(start).getTimezoneOffset() * 60;
  const first = Math.ceil((start / 1000 - zone) / step) * step + zone;
  const ticks = [];
  for (let at = first; at <= start / 1000 + seconds; at += step) {
    const date = new Date(at * 1000);
    const options: Intl.DateTimeFormatOptions =
      step >= 86_400 ? {day: 'numeric', month: 'short'} : {hour: '2-digit', minute: '2-digit', second: step < 60 ? '2-digit' : undefined};
    ticks.push({place: (at - start / 1000) / seconds, text: date.toLocaleString('en-GB', options)});
  }
  return ticks;
}

export function steps(answer: GetWorkerUsageResponse): number {
  return Math.max(0, ...answer.workers.map((worker) => worker.cpu.length));
}
