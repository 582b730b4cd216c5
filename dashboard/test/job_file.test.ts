import assert from 'node:assert/strict';
import {test} from 'node:test';
import {jobFile, jobFileText, kOptional} from '../src/pages/job/job_file';
import proto from '../../proto/winnow/v1/tuning.proto';

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

test('Job file: a zero that was given stays, and so do texts that look like defaults', () => {
  assert.deepEqual(jobFile({
    name: 'zeros',
    trainer: {builtin: '', command: ['true'], resumes: false, resourceOffset: 0},
    channels: {train: {path: 'a.csv', label: '0', weight: '', group: '1', maxLevels: 0}, validation: {path: 'b.csv', label: '0'}},
    parameters: [
      {name: 'layers', integer: {min: 0, max: 4, scaling: 'LINEAR'}, prior: {value: '0', confidence: 'CONFIDENCE_UNSPECIFIED'}},
      {name: 'kind', categorical: {values: ['LINEAR', 'RBF'], ordered: false}, prior: {value: 'LINEAR', confidence: 'LOW'}},
    ],
    objectives: [{metric: 'a', goal: 'MINIMIZE', threshold: 0}, {metric: 'b', goal: 'MAXIMIZE'}],
    metricConstraints: [{metric: 'drift', atLeast: 0, atMost: 0}],
    hyperband: {minResource: 0, maxResource: 0, reductionFactor: 0},
    sampler: {kind: 'KIND_UNSPECIFIED', startupTrials: 0, gridPoints: {}},
    scheduling: {priority: 0, weight: 1},
    limits: {maxTrials: 0, maxFirstFailures: 0},
    tags: [],
  }), {
    name: 'zeros',
    trainer: {command: ['true'], resumes: false},
    channels: {train: {path: 'a.csv', label: '0', group: '1'}, validation: {path: 'b.csv', label: '0'}},
    parameters: [
      {name: 'layers', integer: {min: 0, max: 4}, prior: {value: '0'}},
      {name: 'kind', categorical: {values: ['LINEAR', 'RBF']}, prior: {value: 'LINEAR', confidence: 'LOW'}},
    ],
    objectives: [{metric: 'a', goal: 'MINIMIZE', threshold: 0}, {metric: 'b', goal: 'MAXIMIZE'}],
    metric_constraints: [{metric: 'drift', at_least: 0, at_most: 0}],
    hyperband: {},
    sampler: {},
    scheduling: {priority: 0, weight: 1},
    limits: {max_first_failures: 0},
  });
});

test('Job file: the fields of which a zero is kept are those that the proto calls optional', () => {
  const spec = proto.slice(proto.indexOf('message TuningJobSpec {'), proto.indexOf('message TuningJob {'));
  const optional = [...spec.matchAll(/^ *optional \w+ (\w+) = /gm)].map(([, name]) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()));
  assert.deepEqual([...kOptional].sort(), [...new Set(optional)].sort());
});
