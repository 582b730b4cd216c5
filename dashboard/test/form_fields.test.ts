import assert from 'node:assert/strict';
import test from 'node:test';
import {freshParameter, joinWords, kindOf, listOf, numberOf, splitWords, valueAt, withKind, withValue} from '../src/pages/submit/form_fields';

test('Form: a value is found and replaced under either spelling, and the rest stays', () => {
  const spec = {name: 'a', limits: {maxTrials: 5, max_wall_time: '9s'}, extra: [1]};
  assert.equal(valueAt(spec, ['limits', 'max_trials']), 5);
  assert.deepEqual(withValue(spec, ['limits', 'max_trials'], 7), {name: 'a', limits: {maxTrials: 7, max_wall_time: '9s'}, extra: [1]});
  assert.deepEqual(withValue({limits: {max_trials: 5}}, ['limits', 'max_trials'], undefined), {});
  assert.deepEqual(withValue({}, ['parameters', 0, 'name'], 'x'), {parameters: [{name: 'x'}]});
});

test('Form: a command is words as a shell has them', () => {
  const words = ['sh', '-c', `echo "it's" {{x}} $A`, '', 'a\\b'];
  assert.deepEqual(splitWords(joinWords(words)), words);
  assert.deepEqual(splitWords('python3  train.py --name="a b"'), ['python3', 'train.py', '--name=a b']);
  assert.equal(splitWords('echo "open'), null);
});

test('Form: another kind of range keeps the bounds where it can', () => {
  const number = {name: 'x', continuous: {min: 0.5, max: 3.2, scaling: 'LOG'}, condition: {parameter: 'k', values: ['a']}};
  assert.equal(kindOf(number), 'continuous');
  assert.deepEqual(withKind(number, 'integer'), {name: 'x', condition: {parameter: 'k', values: ['a']}, integer: {min: 0, max: 4}});
  assert.deepEqual(withKind(number, 'categorical'), {name: 'x', condition: {parameter: 'k', values: ['a']}, categorical: {values: ['a', 'b']}});
  assert.equal(freshParameter(['parameter_2']).name, 'parameter_3');
  assert.deepEqual(listOf('8, 16,x', 'discrete'), [8, 16, 'x']);
  assert.deepEqual(listOf('8, 16', 'categorical'), ['8', '16']);
  assert.equal(numberOf(''), undefined);
  assert.equal(numberOf('1e-3'), 0.001);
  assert.equal(numberOf('abc'), 'abc');
  assert.equal(numberOf(' 9007199254740993 '), '9007199254740993');
});
