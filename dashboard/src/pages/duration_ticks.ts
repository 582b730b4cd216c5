import {duration} from '../format';

const kSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800];

// Where a linear axis of seconds from 0 has its marks: at whole seconds, minutes, hours or days. Pure.
export function durationTicks(seconds: number, most: number): {at: number; text: string}[] {
  const step = seconds < 2 ? seconds / 2 : (kSteps.find((each) => seconds / each <= most) ?? seconds / most);
  const ticks = [];
  for (let i = 0; step > 0 && i * step <= seconds * 1.0001; i++) ticks.push({at: i * step, text: duration(i * step)});
  return ticks;
}
