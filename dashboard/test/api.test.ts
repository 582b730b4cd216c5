import assert from 'node:assert/strict';
import {test} from 'node:test';
import {address} from '../src/api/client';
import {decode} from '../src/api/decode';
import {SseParser} from '../src/api/sse';
import type {DescribeTrialResponse, Sieve, TuningJob, Worker} from '../src/api/types';

test('Decode: names_like_this become namesLikeThis, however deep', () => {
  const job = decode<TuningJob>({id: 'a', state_reason: '', trial_counts: {running: 2}, spend: {billable_node_seconds: 1.5}, brackets: [{end_reason: 'weak'}]});
  assert.deepEqual(job, {id: 'a', stateReason: '', trialCounts: {running: 2}, spend: {billableNodeSeconds: 1.5}, brackets: [{endReason: 'weak'}]});
});

test('Decode: a user\'s own names stay as they are, and so do their texts', () => {
  const answer = decode<{trial: Record<string, unknown>; spec: Record<string, unknown>}>({
    trial: {configuration: {learning_rate: 0.1, n_1: 3, max: '3'}},
    spec: {
      static_hyperparameters: {eval_metric: 'auc', max: '3'},
      trainer: {environment: {MY_VAR_x: '1'}, secrets: {hf_token: 'site_token'}},
      cluster: {labels: {gpu_type: 'a_100'}},
      sampler: {grid_points: {n_layers: '4'}},
      constraints: [{coefficients: {learning_rate: 1, n_1: 'Infinity'}, upper_bound: 3}],
      channels: {train_set: {split_seed: 1, label: 'y_yes'}},
      initial_configurations: [{hyperparameters: {n_layers: '4', max_x: '1'}}],
    },
  });
  assert.deepEqual(answer.trial.configuration, {learning_rate: 0.1, n_1: 3, max: '3'});
  assert.deepEqual(answer.spec, {
    staticHyperparameters: {eval_metric: 'auc', max: '3'},
    trainer: {environment: {MY_VAR_x: '1'}, secrets: {hf_token: 'site_token'}},
    cluster: {labels: {gpu_type: 'a_100'}},
    sampler: {gridPoints: {n_layers: 4}},
    constraints: [{coefficients: {learning_rate: 1, n_1: Infinity}, upperBound: 3}],
    channels: {train_set: {splitSeed: 1, label: 'y_yes'}},
    initialConfigurations: [{hyperparameters: {n_layers: '4', max_x: '1'}}],
  });
});

test('Decode: what is no number in JSON is one here, one by one and in columns', () => {
  const sieve = decode<Sieve>({trials: 100000, cells: [{cutoff: 'NaN', best: [0.5, 'NaN', '-Infinity'], trial: [1, 2, 3], why: ['12', '', '']}]});
  assert.equal(sieve.trials, 100000);
  assert.ok(Number.isNaN(sieve.cells[0].cutoff));
  assert.deepEqual(sieve.cells[0].best.slice(0, 1), [0.5]);
  assert.ok(Number.isNaN(sieve.cells[0].best[1]));
  assert.equal(sieve.cells[0].best[2], -Infinity);
  assert.deepEqual(sieve.cells[0].why, ['12', '', '']);
});

test('Decode: what has a number\'s name and is a message is read as one', () => {
  const answer = decode<DescribeTrialResponse>({trial: {number: 7, hyperparameters: [{name: 'a_b', integer: '9007199254740993'}, {name: 'b', categorical: '3'}]}, attempts: [{number: 1}], events: []});
  assert.equal(answer.trial.number, 7);
  assert.equal(answer.trial.hyperparameters[0].name, 'a_b');
  assert.equal(answer.trial.hyperparameters[0].integer, 9007199254740992);
  assert.equal(answer.trial.hyperparameters[1].categorical, '3');
  assert.equal(answer.attempts[0].number, 1);
});

test('Decode: a spec is kept as it came, and read beside', () => {
  const spec = {name: 'a', parameters: [{name: 'depth', integer: {min: 1, max: '9007199254740993'}}], seed: '9223372036854775807', working_directory: '/x'};
  const job = decode<TuningJob>({id: 'a', spec});
  assert.equal(job.spec.parameters[0].integer!.max, 9007199254740992);
  assert.equal((job.rawSpec.parameters as {integer: {max: string}}[])[0].integer.max, '9007199254740993');
  assert.equal(job.spec.seed, '9223372036854775807');
  assert.equal(job.rawSpec.workingDirectory, '/x');
});

test('Decode: labels are texts whatever they are called', () => {
  assert.deepEqual(decode<Worker>({labels: {slots: '4'}, used_slots: '4'}), {labels: {slots: '4'}, usedSlots: 4});
});

test('Address: repeated values are repeated, nothing is left out', () => {
  assert.equal(address('/v1/x', {filters: ['a:1..2', 'b:x|y'], maxMarks: 5, metric: '', other: undefined}), '/v1/x?filters=a%3A1..2&filters=b%3Ax%7Cy&maxMarks=5');
  assert.equal(address('/v1/x', {}), '/v1/x');
});

test('Sse: events come whole, however they are cut', () => {
  const text = ': hello\n\nid: 4\ndata: {"a":1}\n\nevent: end\ndata: {}\n\n';
  for (let cut = 1; cut < text.length; cut++) {
    const parser = new SseParser();
    const events = [...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))];
    assert.deepEqual(events, [{id: '4', event: 'message', data: '{"a":1}'}, {id: '4', event: 'end', data: '{}'}]);
  }
});

test('Sse: lines of data are joined, carriage returns end lines too', () => {
  const parser = new SseParser();
  assert.deepEqual(parser.push('data: a\r\ndata: b\r\n\r\n'), [{id: '', event: 'message', data: 'a\nb'}]);
});
