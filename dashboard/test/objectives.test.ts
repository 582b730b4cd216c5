import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Trial, TuningJobSpec} from '../src/api/types';
import {attainment, bestName, constraintText, figuresOf, objectiveText, violationsText} from '../src/pages/objectives';

test('Objectives: objectives and constraints are named with what is wanted', () => {
  assert.equal(objectiveText({metric: 'auc', goal: 'MAXIMIZE'}), 'auc (highest)');
  assert.equal(objectiveText({metric: 'ms', goal: 'MINIMIZE', threshold: 5}), 'ms (lowest, below 5)');
  assert.equal(constraintText({metric: 'size', atMost: 10}), 'size at most 10');
  assert.equal(constraintText({metric: 'size', atLeast: 1, atMost: 10}), 'size at least 1 and at most 10');
});

test('Objectives: the stair through a front has a corner between two members, on the side that is worse in both', () => {
  // Accuracy up, size down: going to larger sizes, accuracy stays until the next member.
  assert.deepEqual(attainment([3, 1, 2], [0.9, 0.7, 0.8], true, false), {x: [1, 2, 2, 3, 3], y: [0.7, 0.7, 0.8, 0.8, 0.9]});
  // Both down.
  assert.deepEqual(attainment([1, 2], [5, 3], true, true), {x: [1, 2, 2], y: [5, 5, 3]});
  // Both up, from the right.
  assert.deepEqual(attainment([1, 2], [5, 3], false, false), {x: [2, 1, 1], y: [3, 3, 5]});
  // A member of a front of three objectives may be behind in these two.
  assert.deepEqual(attainment([1, 2, 3], [5, 6, 3], true, true), {x: [1, 3, 3], y: [5, 5, 3]});
});

test('Constraints: a violation names the metric, its value and the bound', () => {
  const spec = {metricConstraints: [{metric: 'size', atMost: 10}, {metric: 'auc', atLeast: 0.5, atMost: 1}, {metric: 'ms', atMost: 3}]} as TuningJobSpec;
  const trial = {metrics: [{metric: 'size', value: 12}, {metric: 'auc', value: 0.25}]} as Trial;
  assert.equal(violationsText(spec, trial), 'size = 12, expected at most 10; auc = 0.25, expected at least 0.5; ms has no value');
});

test('Objectives: a trial of a job with several is shown by the newest value of each, and the best is that in the first', () => {
  const one = {objective: {metric: 'loss', goal: 'MINIMIZE'}} as TuningJobSpec;
  const two = {objective: {metric: 'loss', goal: 'MINIMIZE'}, objectives: [{metric: 'loss', goal: 'MINIMIZE'}, {metric: 'auc', goal: 'MAXIMIZE'}]} as TuningJobSpec;
  const trial = {value: 0.1, metrics: [{metric: 'loss', value: 0.3}, {metric: 'auc', value: 0.7}]} as Trial;
  const shown = (spec: TuningJobSpec) => figuresOf(spec, 'best ').map(({name, goal, of}) => [name, goal, of(trial)]);
  assert.deepEqual(shown(one), [['best loss', 'MINIMIZE', 0.1]]);
  assert.deepEqual(shown(two), [['loss', 'MINIMIZE', 0.3], ['auc', 'MAXIMIZE', 0.7]]);
  assert.deepEqual([bestName(one), bestName(two)], ['best', 'best in loss']);
});
