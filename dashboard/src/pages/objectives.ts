import type {Goal, Trial, TuningJob, TuningJobSpec} from '../api/types';
import {number} from '../format';
import {objectiveName} from './job_words';

type Objective = NonNullable<TuningJobSpec['objectives']>[number];

// The objectives of a job with several; none where there is one.
export function objectivesOf(job: TuningJob): Objective[] {
  return job.spec.objectives ?? [];
}

// "validation:auc (highest)"; "model:leaves (lowest, at most 500)", with its threshold.
export function objectiveText({metric, goal, threshold}: Objective): string {
  const lowest = goal === 'MINIMIZE';
  const bound = threshold === undefined ? '' : `, ${lowest ? 'below' : 'above'} ${number(threshold)}`;
  return `${metric} (${lowest ? 'lowest' : 'highest'}${bound})`;
}

// "latency at most 5"; a constraint may have both ends.
export function constraintText({metric, atMost, atLeast}: NonNullable<TuningJobSpec['metricConstraints']>[number]): string {
  const ends = [atLeast === undefined ? '' : `at least ${number(atLeast)}`, atMost === undefined ? '' : `at most ${number(atMost)}`];
  return `${metric} ${ends.filter(Boolean).join(' and ')}`;
}

// A value by which trials are ranked.
export interface Figure {
  name: string;
  goal: Goal;
  of(trial: Trial): number | undefined;
}
const readingOf = (metric: string) => (trial: Trial) => trial.metrics?.find((each) => each.metric === metric)?.value;

// The objective, or each of several by its newest value. `best`: as of objectiveName.
export function figuresOf(spec: TuningJobSpec, best: string): Figure[] {
  if (!spec.objectives?.length) return [{name: objectiveName(spec.objective, best), goal: spec.objective.goal, of: (trial) => trial.value}];
  return spec.objectives.map(({metric, goal}) => ({name: metric, goal, of: readingOf(metric)}));
}

// What the trial is that pages show beside others: with several objectives the best in the first of them.
export function bestName(spec: TuningJobSpec): string {
  return spec.objectives?.length ? `best in ${spec.objective.metric}` : 'best';
}

// "size = 12, expected at most 10; latency has no value": the constraints that a trial violates, or whose metric it has not
// reported. "": none.
export function violationsText(spec: TuningJobSpec, trial: Trial): string {
  const texts: string[] = [];
  for (const {metric, atMost, atLeast} of spec.metricConstraints ?? []) {
    const value = trial.metrics?.find((each) => each.metric === metric)?.value;
    if (value === undefined) texts.push(`${metric} has no value`);
    else if (atLeast !== undefined && value < atLeast) texts.push(`${metric} = ${number(value)}, expected at least ${number(atLeast)}`);
    else if (atMost !== undefined && value > atMost) texts.push(`${metric} = ${number(value)}, expected at most ${number(atMost)}`);
  }
  return texts.join('; ');
}

// Indices of the points in the order in which a stair goes through them, x rising, and its corners: between two members of a
// front nothing better than either is known.
export function attainment(x: readonly number[], y: readonly number[], lowerX: boolean, lowerY: boolean): {x: number[]; y: number[]} {
  const order = x.map((_, i) => i).sort((a, b) => x[a] - x[b] || y[a] - y[b]);
  // Of two objectives among more, some members are behind others.
  const better = (a: number, b: number) => (lowerY ? a < b : a > b);
  const walk = lowerX ? order : [...order].reverse();
  const kept: number[] = [];
  for (const i of walk) if (kept.length === 0 || better(y[i], y[kept[kept.length - 1]])) kept.push(i);
  const corners = {x: [] as number[], y: [] as number[]};
  kept.forEach((i, k) => {
    if (k > 0) {
      corners.x.push(x[i]);
      corners.y.push(y[kept[k - 1]]);
    }
    corners.x.push(x[i]);
    corners.y.push(y[i]);
  });
  return corners;
}
