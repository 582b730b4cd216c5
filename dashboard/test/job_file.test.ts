import assert from 'node:assert/strict';
import {test} from 'node:test';
import {jobFile, jobFileText} from '../src/pages/job/job_file';

const kSpec = {
  name: 'direct-marketing',
  trainer: {builtin: 'gbdt', command: [], metrics: [], resourceRegex: '', resourceOffset: '0', environment: {}, external: false, resumes: false},
  channels: {train_set: {path: 'train.csv', label: 'y_yes', weight: '', maxLevels: 0, splitSeed: '0', categorical: false}},
  staticHyperparameters: {evalMetric: 'auc', max: '3'},
  parameters: [
    {name: 'eta', continuous: {min: 0, max: 1, scaling: 'LINEAR'}},
    {name: 'maxDepth', integer: {min: '0', max: '10', scaling: 'LOG'}},
  ],
  objective: {metric: 'auc', goal: 'MAXIMIZE'},
  strategy: 'STRATEGY_UNSPECIFIED',
  pruner: {kind: 'KIND_UNSPECIFIED', minChance: 0},
  limits: {maxTrials: '30', maxTotalResource: '0'},
  seed: '18446744073709551615',
  workingDirectory: '/home/me',
};

test('Job file: names as they are written, defaults left out, what was meant kept', () => {
  assert.deepEqual(jobFile(kSpec), {
    name: 'direct-marketing',
    trainer: {builtin: 'gbdt', resumes: false},
    channels: {train_set: {path: 'train.csv', label: 'y_yes'}},
    static_hyperparameters: {evalMetric: 'auc', max: '3'},
    parameters: [{name: 'eta', continuous: {min: 0, max: 1}}, {name: 'maxDepth', integer: {min: 0, max: 10, scaling: 'LOG'}}],
    objective: {metric: 'auc', goal: 'MAXIMIZE'},
    pruner: {min_chance: 0},
    limits: {max_trials: 30},
    seed: '18446744073709551615',
  });
});

test('Job file: the text reads back the same', () => {
  assert.deepEqual(JSON.parse(jobFileText(kSpec)), jobFile(kSpec));
  assert.ok(jobFileText(kSpec).split('\n').every((line) => line.length <= 102));
});
