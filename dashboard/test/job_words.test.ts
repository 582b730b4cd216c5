import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {JobSpend, JobState, TrialCounts, TuningJob} from '../src/api/types';
import {bestLevelText, bestValueText, countsText, deletedText, endedOf, noBestText, progressOf, savedOf, secondsLeft, shownState, trialsOf} from '../src/pages/job_words';

const kNone: TrialCounts = {pending: 0, running: 0, paused: 0, completed: 0, pruned: 0, failed: 0, cancelled: 0};
const kSpend: JobSpend = {resource: 0, fullResource: 0, elapsedSeconds: 0, trainingSeconds: 0, billableNodeSeconds: 0, savedResource: 0, startupSeconds: 0, cost: 0};
interface Said {
  counts?: Partial<TrialCounts>;
  spend?: Partial<JobSpend>;
  limits?: TuningJob['spec']['limits'];
  plannedTrials?: number;
  plannedResource?: number;
}
function job(state: JobState, {counts, spend, limits, plannedTrials = 0, plannedResource = 0}: Said): TuningJob {
  return {state, trialCounts: {...kNone, ...counts}, spend: {...kSpend, ...spend}, spec: {name: 'a', parameters: [], objective: {metric: 'm', goal: 'MINIMIZE'}, limits}, plannedTrials, plannedResource} as unknown as TuningJob;
}

test('Saved: only what pruned trials were not trained counts, not failures nor trials that go on', () => {
  assert.deepEqual(savedOf(job('COMPLETED', {counts: {completed: 22, failed: 8}, spend: {resource: 490, fullResource: 600}})), {units: 0, part: 0});
  assert.deepEqual(savedOf(job('RUNNING', {counts: {running: 11, pruned: 15}, spend: {resource: 100, fullResource: 702, savedResource: 50}})).units, 50);
  assert.deepEqual(savedOf(job('COMPLETED', {counts: {completed: 4, pruned: 6}, spend: {resource: 35, fullResource: 100, savedResource: 65}})), {units: 65, part: 0.65});
});

test('Progress: a job that did not come to its end is not through', () => {
  assert.deepEqual(progressOf(job('STOPPED', {counts: {completed: 3, pruned: 1, cancelled: 2}, plannedTrials: 8})), {part: 0.5, text: '4 / 8 trials'});
  assert.deepEqual(progressOf(job('FAILED', {counts: {failed: 9}, plannedTrials: 50})), {part: 0.18, text: '9 / 50 trials'});
  assert.deepEqual(progressOf(job('COMPLETED', {counts: {completed: 60}, plannedTrials: 100})), {part: 1, text: '60 / 60 trials'});
});

test('Progress: of a job that runs the text says what the bar is a part of', () => {
  const counts = {completed: 20, running: 4};
  assert.deepEqual(progressOf(job('RUNNING', {counts, plannedTrials: 40})), {part: 0.5, text: '20 / 40 trials'});
  assert.deepEqual(progressOf(job('RUNNING', {counts, plannedTrials: 40, plannedResource: 1000, spend: {resource: 400}})), {part: 0.4, text: '400 / 1,000 units'});
  const wall = progressOf(job('RUNNING', {counts, plannedTrials: 40, limits: {maxWallTime: '100s'}, spend: {elapsedSeconds: 80}}));
  assert.deepEqual(wall, {part: 0.8, text: '80 / 100 seconds'});
  assert.ok(Number.isNaN(progressOf(job('RUNNING', {counts})).part));
  const changed = {...job('RUNNING', {counts, limits: {maxWallTime: '100s', maxCost: 3}, spend: {elapsedSeconds: 80}}), limits: {maxWallSeconds: 800}};
  assert.deepEqual(progressOf(changed), {part: 0.1, text: '80 / 800 seconds'});
});

test('Progress: what is left is as long as it took so far for as much', () => {
  const spend = {elapsedSeconds: 30};
  assert.equal(secondsLeft(job('RUNNING', {counts: {completed: 10}, plannedTrials: 40, spend})), 90);
  assert.ok(Number.isNaN(secondsLeft(job('RUNNING', {plannedTrials: 40, spend}))));
  assert.ok(Number.isNaN(secondsLeft(job('COMPLETED', {counts: {completed: 40}, plannedTrials: 40, spend}))));
});

test('Paused: a paused job is shown as PAUSED, without a remaining time', () => {
  const paused = {...job('RUNNING', {counts: {completed: 10}, plannedTrials: 40, spend: {elapsedSeconds: 30}}), paused: true};
  assert.ok(Number.isNaN(secondsLeft(paused)));
  assert.equal(shownState(paused), 'PAUSED');
  assert.equal(shownState({...paused, state: 'STOPPING'}), 'STOPPING');
  assert.equal(shownState(job('RUNNING', {})), 'RUNNING');
});

test('Counts: pruned and cancelled are two states, and both have ended', () => {
  const counts = {...kNone, running: 1, completed: 2, pruned: 3, failed: 4, cancelled: 5};
  assert.equal(countsText(counts), '1 running, 2 completed, 3 pruned, 4 failed, 5 cancelled');
  assert.deepEqual([trialsOf(counts), endedOf(counts)], [15, 14]);
});

test('Best: why there is none, and with repeats how sure the mean is', () => {
  assert.equal(noBestText(job('RUNNING', {})), 'no trial has reported m yet');
  assert.equal(noBestText(job('RUNNING', {counts: {failed: 2}})), 'all trials so far have failed');
  assert.equal(noBestText(job('FAILED', {counts: {failed: 2}})), 'all trials failed');
  assert.equal(noBestText(job('FAILED', {counts: {failed: 2, cancelled: 1}})), 'no trial reported m');
  const bounded = job('COMPLETED', {counts: {completed: 2, failed: 1}});
  bounded.spec.metricConstraints = [{metric: 'size', atMost: 5}];
  assert.equal(noBestText(bounded), 'no trial satisfies the constraints');

  const repeated = job('COMPLETED', {});
  repeated.spec.repeats = {seeds: 4};
  const best = {trial: 3, objective: 0.5, resource: 4, standardError: 0.0123};
  assert.equal(`${bestValueText(best)}, ${bestLevelText(repeated, best)}`, '0.5 ± 0.012, mean of 4 repeats');
  assert.equal(`${bestValueText({trial: 3, objective: 0.5, resource: 1})}, ${bestLevelText(job('RUNNING', {}), {trial: 3, objective: 0.5, resource: 1})}`, '0.5, at 1 unit');
});

test('Deleted: what was not deleted is named with its reason', () => {
  const jobs = [{id: 'a'}, {id: 'b'}, {id: 'c'}];
  assert.equal(deletedText(jobs, ['', '', '']), '3 jobs deleted.');
  assert.equal(deletedText(jobs, ['', 'it runs', '']), '2 jobs deleted, 1 was not. b: it runs');
  assert.equal(deletedText(jobs.slice(0, 2), ['it is gone', 'it runs']), '0 jobs deleted, 2 were not. a: it is gone; b: it runs');
});
