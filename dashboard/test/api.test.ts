import assert from 'node:assert/strict';
import {test} from 'node:test';
import {address} from '../src/api/client';
import {decode} from '../src/api/decode';
import {SseParser} from '../src/api/sse';
import type {DescribeTrialResponse, Sieve, TuningJob, Worker} from '../src/api/types';

test('Decode: int64 and NaN become numbers, one by one and in columns', () => {
  const sieve = decode<Sieve>({trials: '100000', cells: [{cutoff: 'NaN', best: [0.5, 'NaN', '-Infinity'], trial: [1, 2, 3], why: ['12', '', '']}]});
  assert.equal(sieve.trials, 100000);
  assert.ok(Number.isNaN(sieve.cells[0].cutoff));
  assert.deepEqual(sieve.cells[0].best.slice(0, 1), [0.5]);
  assert.ok(Number.isNaN(sieve.cells[0].best[1]));
  assert.equal(sieve.cells[0].best[2], -Infinity);
  assert.deepEqual(sieve.cells[0].why, ['12', '', '']);
});

test('Decode: what has a number\'s name and is a message is read as one', () => {
  const answer = decode<DescribeTrialResponse>({trial: {number: '7', hyperparameters: [{name: 'a', integer: '3'}, {name: 'b', categorical: '3'}]}, attempts: [{number: '1'}], events: []});
  assert.equal(answer.trial.number, 7);
  assert.equal(answer.trial.hyperparameters[0].integer, 3);
  assert.equal(answer.trial.hyperparameters[1].categorical, '3');
  assert.equal(answer.attempts[0].number, 1);
});

test('Decode: a spec is kept as it came, and read beside', () => {
  const spec = {name: 'a', parameters: [{name: 'depth', integer: {min: '1', max: '9'}}], seed: '9223372036854775807', staticHyperparameters: {max: '3'}};
  const job = decode<TuningJob>({id: 'a', spec});
  assert.equal(job.spec.parameters[0].integer!.max, 9);
  assert.equal((job.rawSpec.parameters as {integer: {max: string}}[])[0].integer.max, '9');
  assert.equal(job.spec.seed, '9223372036854775807');
  assert.deepEqual((job.spec as unknown as {staticHyperparameters: object}).staticHyperparameters, {max: '3'});
});

test('Decode: labels are texts whatever they are called', () => {
  assert.deepEqual(decode<Worker>({labels: {slots: '4'}, slots: '4'}), {labels: {slots: '4'}, slots: 4});
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
