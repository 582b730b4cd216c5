import type {BestTrial, TrialCounts, TuningJob, TuningJobSpec} from '../api/types';
import {count, counted, number, secondsOf} from '../format';

// What trials are ranked by: "loss", "mean loss", "last loss". `best`: "best loss" where it is the best of a trial's values.
export function objectiveName({metric, value}: TuningJobSpec['objective'], best = ''): string {
  if (value === 'MEAN') return `mean ${metric}`;
  return value === 'LAST' ? `last ${metric}` : `${best}${metric}`;
}
// In the order in which they are read out.
export const kStates = ['running', 'pending', 'paused', 'completed', 'pruned', 'failed', 'cancelled'] as const satisfies readonly (keyof TrialCounts)[];

export function trialsOf(counts: TrialCounts): number {
  return kStates.reduce((sum, name) => sum + counts[name], 0);
}
export function endedOf(counts: TrialCounts): number {
  return counts.completed + counts.pruned + counts.failed + counts.cancelled;
}

export const isLive = (job: TuningJob) => job.state === 'RUNNING' || job.state === 'STOPPING';

// Why a job with one objective has no best trial (yet).
export function noBestText(job: TuningJob): string {
  const {trialCounts: counts, spec} = job;
  const live = isLive(job);
  const trials = trialsOf(counts);
  if (trials > 0 && counts.failed === trials) return live ? 'all trials so far have failed' : 'all trials failed';
  if (spec.metricConstraints?.length && counts.completed + counts.pruned > 0) return live ? 'no trial satisfies the constraints yet' : 'no trial satisfies the constraints';
  return live ? `no trial has reported ${spec.objective.metric} yet` : `no trial reported ${spec.objective.metric}`;
}
// "at 9 units", or with repeats "mean of 4 repeats".
export function bestLevelText({spec}: TuningJob, {resource}: BestTrial): string {
  return spec.repeats ? `mean of ${counted(resource, 'repeat')}` : `at ${counted(resource, 'unit')}`;
}
// "0.781"; with repeats "0.781 ± 0.002", the standard error of the mean.
export function bestValueText({objective, standardError}: BestTrial): string {
  return standardError === undefined ? number(objective) : `${number(objective)} ± ${number(standardError, 2)}`;
}

export interface JobProgress {
  part: number;  // 0 to 1; NaN: the end is not known beforehand
  text: string;  // what `part` is the part of: "20 / 40 trials"
}

const ratioText = (done: number, of: number, unit: string) => `${done.toLocaleString('en-US')} / ${of.toLocaleString('en-US')} ${unit}`;

// How far a job is, by the limit that it is nearest to. A job that completed is through, however many of its trials it
// needed; of one that was stopped or failed, the trials that came to an end of their own count.
export function progressOf(job: TuningJob): JobProgress {
  const {trialCounts: counts, spend} = job;
  const trials = trialsOf(counts);
  if (job.state === 'COMPLETED') return {part: 1, text: ratioText(endedOf(counts), trials, 'trials')};
  const planned = Math.max(job.plannedTrials, trials);
  const finished = counts.completed + counts.pruned + counts.failed;
  const byTrials = {part: planned > 0 ? finished / planned : Number.NaN, text: ratioText(finished, planned, 'trials')};
  if (job.state === 'STOPPED' || job.state === 'FAILED') return byTrials;

  const {limits} = job.spec;
  // Where a person has changed limits, job.limits has all of them.
  const {maxTotalResource, maxNodeSeconds, maxCost} = job.limits ?? limits ?? {};
  const wall = job.limits ? (job.limits.maxWallSeconds ?? 0) : secondsOf(limits?.maxWallTime);
  const measures: JobProgress[] = [];
  if (job.plannedResource > 0) measures.push({part: spend.resource / job.plannedResource, text: ratioText(spend.resource, job.plannedResource, 'units')});
  if (maxTotalResource) measures.push({part: spend.resource / maxTotalResource, text: ratioText(spend.resource, maxTotalResource, 'units')});
  if (measures.length === 0 && job.plannedTrials > 0) measures.push(byTrials);
  if (maxNodeSeconds) measures.push({part: spend.billableNodeSeconds / maxNodeSeconds, text: ratioText(Math.round(spend.billableNodeSeconds), maxNodeSeconds, 'node seconds')});
  if (maxCost) measures.push({part: spend.cost / maxCost, text: ratioText(Number(spend.cost.toFixed(2)), maxCost, 'of cost')});
  if (wall > 0) measures.push({part: spend.elapsedSeconds / wall, text: ratioText(Math.round(spend.elapsedSeconds), wall, 'seconds')});
  const nearest = measures.reduce<JobProgress | undefined>((most, each) => (!most || each.part > most.part ? each : most), undefined);
  return nearest ? {...nearest, part: Math.min(1, nearest.part)} : {part: Number.NaN, text: `${finished.toLocaleString('en-US')} trials`};
}

// What a badge shows: a paused job is RUNNING to the server.
export function shownState(job: TuningJob): string {
  return job.paused && job.state === 'RUNNING' ? 'PAUSED' : job.state;
}

// The seconds until a job ends if it goes on as it has; NaN: not to be told.
export function secondsLeft(job: TuningJob): number {
  if (job.paused) return Number.NaN;
  const {part} = progressOf(job);
  return part > 0 && part < 0.99 && job.spend.elapsedSeconds > 0 ? job.spend.elapsedSeconds / part - job.spend.elapsedSeconds : Number.NaN;
}

export interface Saving {
  units: number;  // that pruned trials were not trained
  part: number;   // of what those and all that was trained come to
}
export function savedOf(job: TuningJob): Saving {
  const units = job.spend.savedResource;
  return {units, part: units > 0 ? units / (units + job.spend.resource) : 0};
}

// "12 completed, 3 pruned"
export function countsText(counts: TrialCounts): string {
  return kStates
    .filter((name) => counts[name] > 0)
    .map((name) => `${counts[name].toLocaleString('en-US')} ${name}`)
    .join(', ');
}

// Jobs that are named where several are spoken of.
export const kNamedJobs = 5;

// "2 jobs deleted, 1 was not. a: it runs". `problems`: of each job; "": it was deleted.
export function deletedText(jobs: readonly {id: string}[], problems: readonly string[]): string {
  const kept = jobs.flatMap(({id}, i) => (problems[i] ? [`${id}: ${problems[i]}`] : []));
  const done = counted(jobs.length - kept.length, 'job');
  if (!kept.length) return `${done} deleted.`;
  return `${done} deleted, ${count(kept.length)} ${kept.length === 1 ? 'was' : 'were'} not. ${kept.slice(0, kNamedJobs).join('; ')}`;
}
